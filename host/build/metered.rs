//! Proves of a component that it counts its work, before it is embedded: whatever data it meets, it
//! cannot run for long without asking `control.meter`.
//!
//! Written apart from what puts the counter in (`guest/component/build/meter`), and sharing no code
//! with it. What holds of each module that is metered:
//!
//! - each loop begins by counting, and so does a function of each cycle of calls, by tables too; where a
//!   local stands for the counter in a loop, that loop does nothing else that counts or writes the local;
//! - from one count to the next there is a bounded number of instructions, and copies of memory
//!   take from the counter by their length;
//! - nothing else writes the counter, and nothing but its functions calls `control.meter`;
//! - the host enters by functions that begin and end with the meter, or may not ask it and have a
//!   bounded debt; nothing enters by them from within (`resources.rs`).
//!
//! Other modules of the component do nothing but pass calls on.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use anyhow::{Context, Result, bail, ensure};
use wasmparser::{
    BlockType, ElementItems, ExternalKind, FunctionBody, Operator, Parser, Payload, TypeRef,
    Validator,
};

mod flow;
mod resources;

use flow::{Counter, Flow, flow};

/// The most that may be used uncounted at a time, in units.
const MOST_UNCOUNTED: i64 = 1_000_000;

/// The most instructions from one count to the next.
const LONGEST: u64 = 1_000_000_000;

/// Checks every module of a component.
///
/// # Errors
///
/// What is not counted.
pub fn check(component: &[u8]) -> Result<()> {
    Validator::new()
        .validate_all(component)
        .context("the component is not valid")?;
    resources::check(component)?;
    let mut metered = 0;
    for payload in Parser::new(0).parse_all(component) {
        if let Payload::ModuleSection {
            unchecked_range, ..
        } = payload?
        {
            let module = Module::read(&component[unchecked_range])?;
            match module.meter {
                Some(meter) => {
                    module.check(meter)?;
                    metered += 1;
                }
                None => module.check_passes_on()?,
            }
        }
    }
    ensure!(
        metered == 1,
        "{metered} modules of the component are metered, and not one"
    );
    Ok(())
}

/// What there is to know of a module.
#[derive(Default)]
struct Module<'a> {
    /// The number of parameters of each type.
    parameters: Vec<u32>,
    /// The type of each function.
    functions: Vec<u32>,
    imported: u32,
    globals: u32,
    meter: Option<u32>,
    /// Imports that drop a resource of the component's own.
    drops: HashSet<u32>,
    exports: Vec<(&'a str, u32)>,
    /// Functions that may be called through a table.
    table: HashSet<u32>,
    bodies: Vec<FunctionBody<'a>>,
    starts: bool,
}

type Code<'a> = Vec<Operator<'a>>;

impl<'a> Module<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self> {
        let mut module = Self::default();
        for payload in Parser::new(0).parse_all(bytes) {
            match payload? {
                Payload::TypeSection(types) => {
                    for ty in types.into_iter_err_on_gc_types() {
                        module.parameters.push(u32::try_from(ty?.params().len())?);
                    }
                }
                Payload::ImportSection(imports) => {
                    for import in imports.into_imports() {
                        let import = import?;
                        match import.ty {
                            TypeRef::Func(ty) => {
                                if import.module.starts_with("sqlarium:sandbox/control@")
                                    && import.name == "meter"
                                {
                                    module.meter = Some(module.imported);
                                }
                                if resources::is_own_drop(import.module, import.name) {
                                    module.drops.insert(module.imported);
                                }
                                module.functions.push(ty);
                                module.imported += 1;
                            }
                            TypeRef::Global(_) => module.globals += 1,
                            _ => {}
                        }
                    }
                }
                Payload::FunctionSection(functions) => {
                    for ty in functions {
                        module.functions.push(ty?);
                    }
                }
                Payload::GlobalSection(globals) => module.globals += globals.count(),
                Payload::ExportSection(exports) => {
                    for export in exports {
                        let export = export?;
                        match export.kind {
                            ExternalKind::Func => module.exports.push((export.name, export.index)),
                            ExternalKind::Memory | ExternalKind::Table => {}
                            _ => bail!("{} is exported", export.name),
                        }
                    }
                }
                Payload::ElementSection(elements) => {
                    for element in elements {
                        let ElementItems::Functions(items) = element?.items else {
                            bail!("a table is filled by expressions");
                        };
                        for function in items {
                            module.table.insert(function?);
                        }
                    }
                }
                Payload::StartSection { .. } => module.starts = true,
                Payload::CodeSectionEntry(body) => module.bodies.push(body),
                _ => {}
            }
        }
        Ok(module)
    }

    /// A module without the meter has neither loops nor calls of its own functions.
    fn check_passes_on(&self) -> Result<()> {
        ensure!(
            self.drops.is_empty(),
            "a module that is not metered drops a resource of the component's own"
        );
        for body in &self.bodies {
            for operator in body.get_operators_reader()? {
                match operator? {
                    Operator::LocalGet { .. }
                    | Operator::I32Const { .. }
                    | Operator::CallIndirect { .. }
                    | Operator::End => {}
                    Operator::Call { function_index } if function_index < self.imported => {}
                    other => bail!("a module that is not metered has {other:?}"),
                }
            }
        }
        Ok(())
    }

    /// A module with the meter.
    fn check(&self, meter: u32) -> Result<()> {
        ensure!(!self.starts, "it has a start function");
        let counter = self.counter(meter)?;
        let mut flows = Vec::with_capacity(self.bodies.len());
        let mut own = HashSet::from([meter, counter.refill]);
        for (at, body) in self.bodies.iter().enumerate() {
            let index = self.imported + u32::try_from(at)?;
            let code = code(body)?;
            if index == counter.refill {
                flows.push(Flow::default());
            } else if self.is_entrance(&counter, &code) || self.is_exact(&counter, &code) {
                own.insert(index);
                flows.push(Flow::default());
            } else {
                let flow = flow(&counter, &code);
                let flow = flow.with_context(|| format!("in function {index}"))?;
                ensure!(
                    !flow.calls.iter().any(|call| self.drops.contains(call)),
                    "function {index} drops a resource of the component's own"
                );
                flows.push(flow);
            }
        }
        for (name, function) in &self.exports {
            let entrance = own.contains(function) && *function != counter.refill;
            ensure!(entrance, "{name} does not begin with the meter");
        }
        for function in &self.table {
            let entered = own.contains(function) || self.drops.contains(function);
            ensure!(!entered, "function {function} is in a table");
        }
        self.check_calls(&flows)
    }

    /// Finds the function that refills, and with it the rest.
    fn counter(&self, meter: u32) -> Result<Counter> {
        let mut found = None;
        for (at, body) in self.bodies.iter().enumerate() {
            let code = code(body)?;
            let [
                Operator::GlobalGet {
                    global_index: quiet,
                },
                Operator::If {
                    blockty: BlockType::Empty,
                },
                Operator::GlobalGet { global_index: left },
                Operator::I64Const { value: debt },
                Operator::I64LtS,
                Operator::If {
                    blockty: BlockType::Empty,
                },
                Operator::Unreachable,
                Operator::End,
                Operator::Return,
                Operator::End,
                Operator::GlobalGet {
                    global_index: asked,
                },
                Operator::Call { function_index },
                Operator::GlobalSet { global_index: set },
                Operator::End,
            ] = code[..]
            else {
                continue;
            };
            if function_index == meter && left == asked && left == set {
                ensure!((-MOST_UNCOUNTED..0).contains(&debt), "a debt of {debt}");
                // The last two, which nothing had before.
                ensure!(left + 2 == self.globals && quiet == left + 1, "the globals");
                let refill = self.imported + u32::try_from(at)?;
                ensure!(found.is_none(), "two functions refill");
                found = Some(Counter {
                    meter,
                    left,
                    quiet,
                    refill,
                });
            }
        }
        found.context("no function refills the counter")
    }

    /// A function that calls another with its own parameters, between what is given.
    fn wraps<'c>(
        &self,
        code: &'c [Operator<'a>],
        before: &[Operator<'a>],
    ) -> Option<(u32, &'c [Operator<'a>])> {
        let rest = code.strip_prefix(before)?;
        let call = rest
            .iter()
            .position(|operator| matches!(operator, Operator::Call { .. }))?;
        let Operator::Call { function_index } = rest[call] else {
            return None;
        };
        let ty = *self.functions.get(function_index as usize)?;
        let passed = rest[..call].iter().enumerate().all(|(at, operator)| {
            matches!(operator, Operator::LocalGet { local_index } if *local_index as usize == at)
        });
        (passed && self.parameters[ty as usize] as usize == call)
            .then_some((function_index, &rest[call + 1..]))
    }

    /// Whether this is how the host may enter.
    fn is_entrance(&self, counter: &Counter, code: &[Operator<'a>]) -> bool {
        let &Counter {
            meter, left, quiet, ..
        } = counter;
        let ask = Operator::Call {
            function_index: meter,
        };
        let get = Operator::GlobalGet { global_index: left };
        let set = Operator::GlobalSet { global_index: left };
        let begin = [
            Operator::I64Const { value: i64::MIN },
            ask.clone(),
            set.clone(),
        ];
        if let Some((called, rest)) = self.wraps(code, &begin) {
            let end = [get, ask, Operator::Drop];
            return called >= self.imported
                && rest.strip_prefix(&end[..]).is_some_and(|rest| {
                    matches!(rest, [Operator::I64Const { value }, last, Operator::End]
                        if (1..=MOST_UNCOUNTED).contains(value) && *last == set)
                });
        }
        let begin = [
            Operator::I32Const { value: 1 },
            Operator::GlobalSet {
                global_index: quiet,
            },
        ];
        let end = [
            Operator::I32Const { value: 0 },
            Operator::GlobalSet {
                global_index: quiet,
            },
            Operator::End,
        ];
        self.wraps(code, &begin)
            .is_some_and(|(called, rest)| called >= self.imported && *rest == end)
    }

    /// Whether this settles, and calls an import.
    fn is_exact(&self, counter: &Counter, code: &[Operator<'a>]) -> bool {
        let settle = [
            Operator::GlobalGet {
                global_index: counter.left,
            },
            Operator::Call {
                function_index: counter.meter,
            },
            Operator::GlobalSet {
                global_index: counter.left,
            },
        ];
        self.wraps(code, &settle).is_some_and(|(called, rest)| {
            let passes = called < self.imported && called != counter.meter;
            passes && !self.drops.contains(&called) && *rest == [Operator::End]
        })
    }

    /// Without those that count, no function comes back to itself, and none leads far.
    fn check_calls(&self, flows: &[Flow]) -> Result<()> {
        let defined = |function: u32| function.checked_sub(self.imported).map(|at| at as usize);
        // Through a table a call leads to any function in one.
        let tabled: Vec<usize> = self.table.iter().copied().filter_map(defined).collect();
        // None while a function is gone through.
        let mut lengths: HashMap<usize, Option<u64>> = HashMap::new();
        let mut stack: Vec<(usize, bool)> = (0..flows.len()).map(|at| (at, false)).collect();
        while let Some((function, left)) = stack.pop() {
            let flow = &flows[function];
            // Those that count end what came before them.
            let uncounted = |&at: &usize| !flows[at].counts;
            let direct = flow.calls.iter().copied().filter_map(defined);
            let direct: Vec<usize> = direct.filter(uncounted).collect();
            let indirect = tabled.iter().copied().filter(uncounted);
            let indirect: Vec<usize> = indirect.filter(|_| flow.indirect > 0).collect();
            if left {
                let length = |at: &usize| lengths.get(at).copied().flatten().unwrap_or(0);
                let farthest = indirect.iter().map(length).max().unwrap_or(0);
                let length = direct
                    .iter()
                    .map(length)
                    .fold(flow.instructions, u64::saturating_add)
                    .saturating_add(flow.indirect.saturating_mul(farthest));
                ensure!(
                    length <= LONGEST,
                    "function {function} leads to {length} instructions that nobody counts"
                );
                lengths.insert(function, Some(length));
            } else if let Entry::Vacant(place) = lengths.entry(function) {
                place.insert(None);
                stack.push((function, true));
                for &callee in direct.iter().chain(&indirect) {
                    match lengths.get(&callee) {
                        None => stack.push((callee, false)),
                        Some(Some(_)) => {}
                        Some(None) => bail!("function {callee} comes back to itself uncounted"),
                    }
                }
            }
        }
        Ok(())
    }
}

fn code<'a>(body: &FunctionBody<'a>) -> Result<Code<'a>> {
    Ok(body
        .get_operators_reader()?
        .into_iter()
        .collect::<Result<_, _>>()?)
}
