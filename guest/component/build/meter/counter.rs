//! The instructions that are added.

use std::collections::HashSet;

use anyhow::{Result, anyhow, bail};
use wasm_encoder::{BlockType, BranchHint, Function, ValType};
use wasmparser::{FunctionBody, Operator};

/// What may be used between two calls, while arguments are handed over: nobody counts it.
pub const BETWEEN: i64 = 1_000_000;

/// What may be used where the component may not ask its host: paid for at the next count.
const DEBT: i64 = 1_000_000;

/// Copies of no more bytes than this are like any instruction.
const SMALL_COPY: i32 = 4096;

/// The bytes that are copied for one unit, as a power of two.
const COPY_SHIFT: i64 = 6;

/// What a call tells the meter that begins: what was left before is not its own.
const BEGINS: i64 = i64::MIN;

/// The indices of what is added.
pub struct Counter {
    /// The import that answers the next slice.
    pub meter: u32,
    /// What is left, an `i64`.
    pub left: u32,
    /// Whether the host may not be asked, an `i32`.
    pub quiet: u32,
    /// The function for a counter that is used up.
    pub refill: u32,
    /// An import, and what is called in its place.
    pub exact: Option<(u32, u32)>,
    /// Imports that nothing in the component calls while it does what it should: they drop a resource
    /// of its own, and what destroys that is an entrance, where the meter begins anew.
    pub drops: HashSet<u32>,
    /// By function: that it is unlikely for a counter to be used up.
    pub hints: Vec<(u32, Vec<BranchHint>)>,
}

impl Counter {
    /// Counts one unit.
    fn count(&self, body: &mut Function, hints: &mut Vec<BranchHint>) {
        body.instructions()
            .global_get(self.left)
            .i64_const(1)
            .i64_sub()
            .global_set(self.left)
            .global_get(self.left)
            .i64_const(0)
            .i64_lt_s();
        hints.push(unlikely(body));
        body.instructions()
            .if_(BlockType::Empty)
            .call(self.refill)
            .end();
    }

    /// Counts one unit where a local holds what is left: no turn of a loop has to wait until what the
    /// last one stored can be loaded again.
    fn count_kept(&self, local: u32, body: &mut Function, hints: &mut Vec<BranchHint>) {
        body.instructions()
            .local_get(local)
            .i64_const(1)
            .i64_sub()
            .local_tee(local)
            .global_set(self.left)
            .local_get(local)
            .i64_const(0)
            .i64_lt_s();
        hints.push(unlikely(body));
        body.instructions()
            .if_(BlockType::Empty)
            .call(self.refill)
            .global_get(self.left)
            .local_set(local)
            .end();
    }

    /// Asks for more; in a call that may not, goes on for a while.
    pub fn refill_body(&self) -> Function {
        let mut body = Function::new([]);
        body.instructions()
            .global_get(self.quiet)
            .if_(BlockType::Empty)
            .global_get(self.left)
            .i64_const(-DEBT)
            .i64_lt_s()
            .if_(BlockType::Empty)
            .unreachable()
            .end()
            .return_()
            .end();
        self.settle(&mut body);
        body.instructions().end();
        body
    }

    /// Tells what is left, and takes the next slice.
    fn settle(&self, body: &mut Function) {
        body.instructions()
            .global_get(self.left)
            .call(self.meter)
            .global_set(self.left);
    }

    /// Calls an import after settling.
    pub fn exact_body(&self, import: u32, parameters: u32) -> Function {
        let mut body = Function::new([]);
        self.settle(&mut body);
        call(&mut body, import, parameters);
        body.instructions().end();
        body
    }

    /// What is exported in place of a function. A call of the host begins and ends with the meter;
    /// what is called while arguments and results are handed over may not ask its host for anything.
    pub fn entrance_body(&self, name: &str, function: u32, parameters: u32) -> Function {
        let mut body = Function::new([]);
        if name.starts_with("cabi_") || name.starts_with('_') {
            body.instructions().i32_const(1).global_set(self.quiet);
            call(&mut body, function, parameters);
            body.instructions().i32_const(0).global_set(self.quiet);
        } else {
            body.instructions()
                .i64_const(BEGINS)
                .call(self.meter)
                .global_set(self.left);
            call(&mut body, function, parameters);
            body.instructions()
                .global_get(self.left)
                .call(self.meter)
                .drop()
                .i64_const(BETWEEN)
                .global_set(self.left);
        }
        body.instructions().end();
        body
    }

    /// A function that counts its loops, its copies and, if it has to, its calls.
    pub fn metered(
        &mut self,
        index: u32,
        parameters: u32,
        original: &FunctionBody<'_>,
        counts: bool,
    ) -> Result<Function> {
        let copies = copies(original)?;
        let mut locals = Vec::new();
        let mut length = parameters;
        for local in original.get_locals_reader()? {
            let (count, ty) = local?;
            let ty = ValType::try_from(ty);
            locals.push((
                count,
                ty.map_err(|_| anyhow!("it has a local of an unknown type"))?,
            ));
            length += count;
        }
        // Their places do not depend on whether they are needed.
        let (copied, kept) = (length, length + 1);
        locals.extend([(1, ValType::I32), (1, ValType::I64)]);
        let mut tight = tight_loops(original)?.into_iter();
        let mut body = Function::new(locals);
        let mut hints = Vec::new();
        if counts {
            self.count(&mut body, &mut hints);
        }
        // What stays as it is is passed on byte by byte, up to here.
        let mut done = 0;
        let mut operators = original.get_operators_reader()?;
        let start = operators.original_position();
        let code = &original.as_bytes()[start - original.range().start..];
        while !operators.eof() {
            let at = operators.original_position() - start;
            let operator = operators.read()?;
            let next = operators.original_position() - start;
            match operator {
                Operator::Loop { .. } if tight.next() == Some(true) => {
                    body.raw(code[done..at].iter().copied());
                    body.instructions().global_get(self.left).local_set(kept);
                    body.raw(code[at..next].iter().copied());
                    self.count_kept(kept, &mut body, &mut hints);
                    done = next;
                }
                Operator::Loop { .. } => {
                    body.raw(code[done..next].iter().copied());
                    self.count(&mut body, &mut hints);
                    done = next;
                }
                Operator::Call { function_index }
                    if function_index == self.meter || self.drops.contains(&function_index) =>
                {
                    body.raw(code[done..at].iter().copied());
                    body.instructions().unreachable();
                    done = next;
                }
                Operator::Call { function_index } => {
                    if let Some((import, instead)) = self.exact
                        && import == function_index
                    {
                        body.raw(code[done..at].iter().copied());
                        body.instructions().call(instead);
                        done = next;
                    }
                }
                Operator::MemoryCopy { .. } | Operator::MemoryFill { .. }
                    if copies.contains(&at) =>
                {
                    body.raw(code[done..at].iter().copied());
                    self.charge(&mut body, copied);
                    done = at;
                }
                _ => {}
            }
        }
        body.raw(code[done..].iter().copied());
        if !hints.is_empty() {
            self.hints.push((index, hints));
        }
        Ok(body)
    }

    /// Takes what a copy costs whose length is on the stack, by way of a local.
    fn charge(&self, body: &mut Function, local: u32) {
        body.instructions()
            .local_tee(local)
            .global_get(self.left)
            .local_get(local)
            .i64_extend_i32_u()
            .i64_const(COPY_SHIFT)
            .i64_shr_u()
            .i64_sub()
            .global_set(self.left);
    }
}

/// Says of the branch that comes next that it is hardly ever taken.
fn unlikely(body: &Function) -> BranchHint {
    BranchHint {
        branch_func_offset: u32::try_from(body.byte_len()).expect("a function is short"),
        branch_hint_value: 0,
    }
}

/// For each loop of a function, in its order, whether nothing in it counts but its turns.
fn tight_loops(body: &FunctionBody<'_>) -> Result<Vec<bool>> {
    let mut tight = Vec::new();
    // Which loop each block is, from the outermost to the one that is gone through.
    let mut blocks: Vec<Option<usize>> = vec![None];
    for operator in body.get_operators_reader()? {
        match operator? {
            Operator::Block { .. } | Operator::If { .. } => blocks.push(None),
            Operator::Loop { .. } => {
                for outer in blocks.iter().flatten() {
                    tight[*outer] = false;
                }
                blocks.push(Some(tight.len()));
                tight.push(true);
            }
            Operator::End => drop(blocks.pop()),
            Operator::Call { .. }
            | Operator::CallIndirect { .. }
            | Operator::MemoryCopy { .. }
            | Operator::MemoryFill { .. } => {
                for outer in blocks.iter().flatten() {
                    tight[*outer] = false;
                }
            }
            other @ (Operator::TryTable { .. } | Operator::Try { .. }) => bail!("it has {other:?}"),
            _ => {}
        }
    }
    Ok(tight)
}

/// Where a function copies memory, unless it is known to be little.
///
/// # Errors
///
/// If it does what nobody would count.
fn copies(body: &FunctionBody<'_>) -> Result<Vec<usize>> {
    let mut copies = Vec::new();
    let mut operators = body.get_operators_reader()?;
    let start = operators.original_position();
    let mut small = false;
    while !operators.eof() {
        let at = operators.original_position() - start;
        let operator = operators.read()?;
        match operator {
            Operator::MemoryCopy { .. } | Operator::MemoryFill { .. } if !small => copies.push(at),
            Operator::TableGrow { .. }
            | Operator::TableFill { .. }
            | Operator::TableCopy { .. }
            | Operator::TableInit { .. }
            | Operator::RefFunc { .. }
            | Operator::CallRef { .. }
            | Operator::ReturnCall { .. }
            | Operator::ReturnCallIndirect { .. }
            | Operator::ReturnCallRef { .. } => bail!("it has {operator:?}"),
            _ => {}
        }
        small =
            matches!(operator, Operator::I32Const { value } if (0..=SMALL_COPY).contains(&value));
    }
    Ok(copies)
}

/// Calls a function with the parameters of the one around it.
fn call(body: &mut Function, function: u32, parameters: u32) {
    for parameter in 0..parameters {
        body.instructions().local_get(parameter);
    }
    body.instructions().call(function);
}
