//! Which functions have to count at their entry, so that nothing runs for long uncounted.
//!
//! Loops count by themselves. What is left is recursion, and calls that multiply: every cycle of
//! calls needs a function that counts, and so does a function from which more than a bounded number
//! of instructions could run without counting.

use std::collections::HashSet;

/// How many instructions a call may lead to without counting.
const LONGEST: u64 = 1_000_000;

/// What a function does, as far as it matters here. Calls are by index among those defined.
#[derive(Default)]
pub struct Body {
    pub instructions: u64,
    /// One for each place that calls.
    pub calls: Vec<usize>,
    /// How many places call through a table.
    pub indirect: u64,
}

/// For each function whether it has to count. `table` are those that can be called indirectly.
pub fn choose(bodies: &[Body], table: &HashSet<usize>) -> Vec<bool> {
    let mut counts = reach_a_table(bodies);
    for (function, counts) in counts.iter_mut().enumerate() {
        // An indirect cycle enters a function of the table that can call indirectly again.
        *counts &= table.contains(&function);
    }
    let order = break_cycles(bodies, &mut counts);
    limit(bodies, table, &order, &mut counts);
    counts
}

/// Which functions can come to call indirectly.
fn reach_a_table(bodies: &[Body]) -> Vec<bool> {
    let mut callers = vec![Vec::new(); bodies.len()];
    for (caller, body) in bodies.iter().enumerate() {
        for &callee in &body.calls {
            callers[callee].push(caller);
        }
    }
    let mut reach: Vec<bool> = bodies.iter().map(|body| body.indirect > 0).collect();
    let mut next: Vec<usize> = (0..bodies.len()).filter(|&at| reach[at]).collect();
    while let Some(function) = next.pop() {
        for &caller in &callers[function] {
            if !std::mem::replace(&mut reach[caller], true) {
                next.push(caller);
            }
        }
    }
    reach
}

/// Goes depth first through all functions, and lets those count that are called again while they
/// run. Answers an order in which callees come before their callers.
fn break_cycles(bodies: &[Body], counts: &mut [bool]) -> Vec<usize> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Running,
        Done,
    }
    let mut states = vec![State::New; bodies.len()];
    let mut order = Vec::with_capacity(bodies.len());
    for root in 0..bodies.len() {
        let mut stack = vec![(root, 0)];
        while let Some((function, next)) = stack.pop() {
            if next == 0 {
                if states[function] != State::New {
                    continue;
                }
                states[function] = State::Running;
            }
            let Some(&callee) = bodies[function].calls.get(next) else {
                states[function] = State::Done;
                order.push(function);
                continue;
            };
            stack.push((function, next + 1));
            match states[callee] {
                State::New => stack.push((callee, 0)),
                State::Running => counts[callee] = true,
                State::Done => {}
            }
        }
    }
    order
}

/// Lets those count from which too many instructions could run without counting.
fn limit(bodies: &[Body], table: &HashSet<usize>, order: &[usize], counts: &mut [bool]) {
    // What a call of each function leads to, its own loops taken once.
    let mut lengths = vec![0_u64; bodies.len()];
    // Functions of the table that do not count call nothing indirectly, so this is known in time.
    for through_tables in [false, true] {
        let longest = table.iter().map(|&function| lengths[function]).max();
        let indirect = if through_tables { longest } else { None }.unwrap_or(0);
        for &function in order {
            let body = &bodies[function];
            let called = body.calls.iter().map(|&callee| lengths[callee]);
            let length = called.fold(
                body.instructions
                    .saturating_add(body.indirect.saturating_mul(indirect)),
                u64::saturating_add,
            );
            counts[function] |= length > LONGEST;
            lengths[function] = if counts[function] { 0 } else { length };
        }
    }
}
