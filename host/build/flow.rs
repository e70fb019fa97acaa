//! What one function of a metered module does between counting.

use anyhow::{Result, bail, ensure};
use wasmparser::{BlockType, Operator};

/// The longest copy that costs nothing, in bytes.
const SMALL_COPY: i32 = 4096;

/// The functions and globals of the counter.
pub struct Counter {
    pub meter: u32,
    pub left: u32,
    pub quiet: u32,
    pub refill: u32,
}

/// What one function does between counting.
#[derive(Default)]
pub struct Flow {
    pub counts: bool,
    pub instructions: u64,
    pub calls: Vec<u32>,
    pub indirect: u64,
}

/// Walks through a function: its loops count, its copies pay, and nothing else touches the counter.
pub fn flow(counter: &Counter, code: &[Operator<'_>]) -> Result<Flow> {
    let &Counter {
        meter,
        left,
        quiet,
        refill,
    } = counter;
    let get = Operator::GlobalGet { global_index: left };
    let set = Operator::GlobalSet { global_index: left };
    let count = [
        get.clone(),
        Operator::I64Const { value: 1 },
        Operator::I64Sub,
        set.clone(),
        get.clone(),
        Operator::I64Const { value: 0 },
        Operator::I64LtS,
        Operator::If {
            blockty: BlockType::Empty,
        },
        Operator::Call {
            function_index: refill,
        },
        Operator::End,
    ];
    let counts = |at: usize| code[at..].starts_with(&count);
    let count_kept = |local_index: u32| {
        [
            Operator::LocalGet { local_index },
            Operator::I64Const { value: 1 },
            Operator::I64Sub,
            Operator::LocalTee { local_index },
            set.clone(),
            Operator::LocalGet { local_index },
            Operator::I64Const { value: 0 },
            Operator::I64LtS,
            Operator::If {
                blockty: BlockType::Empty,
            },
            Operator::Call {
                function_index: refill,
            },
            get.clone(),
            Operator::LocalSet { local_index },
            Operator::End,
        ]
    };
    let mut flow = Flow {
        counts: counts(0),
        ..Flow::default()
    };
    let mut at = if flow.counts { count.len() } else { 0 };
    while at < code.len() {
        flow.instructions += 1;
        match &code[at] {
            // A local that stands for the counter in the loop that follows.
            first if *first == get => {
                let [
                    Operator::LocalSet { local_index },
                    Operator::Loop { .. },
                    rest @ ..,
                ] = &code[at + 1..]
                else {
                    bail!("the counter is read");
                };
                let count = count_kept(*local_index);
                ensure!(rest.starts_with(&count), "a loop does not count");
                check_kept(&rest[count.len()..], *local_index, left)?;
                at += 2 + count.len();
            }
            Operator::Loop { .. } => {
                ensure!(counts(at + 1), "a loop does not count");
                at += count.len();
            }
            Operator::LocalTee { local_index } if code[at + 1..].first() == Some(&get) => {
                let pay = [
                    get.clone(),
                    Operator::LocalGet {
                        local_index: *local_index,
                    },
                    Operator::I64ExtendI32U,
                    Operator::I64Const { value: 6 },
                    Operator::I64ShrU,
                    Operator::I64Sub,
                    set.clone(),
                ];
                ensure!(code[at + 1..].starts_with(&pay), "the counter is read");
                at += pay.len();
                ensure!(
                    matches!(
                        code[at + 1],
                        Operator::MemoryCopy { .. } | Operator::MemoryFill { .. }
                    ),
                    "something pays that copies nothing"
                );
                at += 1;
            }
            Operator::MemoryCopy { .. } | Operator::MemoryFill { .. } => {
                let small = at > 0
                    && matches!(code[at - 1], Operator::I32Const { value } if (0..=SMALL_COPY).contains(&value));
                ensure!(small, "a copy does not pay");
            }
            Operator::GlobalGet { global_index } | Operator::GlobalSet { global_index } => {
                ensure!(
                    ![left, quiet].contains(global_index),
                    "the counter is touched"
                );
            }
            Operator::Call { function_index } => {
                ensure!(
                    ![meter, refill].contains(function_index),
                    "the meter is called"
                );
                flow.calls.push(*function_index);
            }
            Operator::CallIndirect { .. } => flow.indirect += 1,
            Operator::TableGrow { .. }
            | Operator::TableFill { .. }
            | Operator::TableCopy { .. }
            | Operator::TableInit { .. }
            | Operator::TableSet { .. }
            | Operator::RefFunc { .. }
            | Operator::CallRef { .. }
            | Operator::ReturnCall { .. }
            | Operator::ReturnCallIndirect { .. }
            | Operator::ReturnCallRef { .. } => bail!("{:?} is not metered", code[at]),
            _ => {}
        }
        at += 1;
    }
    Ok(flow)
}

/// Checks the rest of a loop in which a local stands for the counter: nothing else may change either.
fn check_kept(code: &[Operator<'_>], local: u32, left: u32) -> Result<()> {
    let mut depth = 1;
    for operator in code {
        match operator {
            Operator::Block { .. } | Operator::If { .. } => depth += 1,
            Operator::End => depth -= 1,
            Operator::LocalSet { local_index } | Operator::LocalTee { local_index } => {
                ensure!(*local_index != local, "what is left is overwritten");
            }
            Operator::GlobalSet { global_index } => {
                ensure!(*global_index != left, "the counter is touched");
            }
            Operator::Loop { .. }
            | Operator::Call { .. }
            | Operator::CallIndirect { .. }
            | Operator::CallRef { .. }
            | Operator::ReturnCall { .. }
            | Operator::ReturnCallIndirect { .. }
            | Operator::ReturnCallRef { .. }
            | Operator::MemoryCopy { .. }
            | Operator::MemoryFill { .. }
            | Operator::Try { .. }
            | Operator::TryTable { .. } => bail!("{operator:?} is in a loop that keeps its count"),
            _ => {}
        }
        if depth == 0 {
            return Ok(());
        }
    }
    bail!("a loop does not end")
}
