//! Runs a call under its budget, and aborts it if need be.
//!
//! Two lines of defence. The guest is told to stop through `control.check` and
//! ends the call in good order, its session intact. If it does not, because it
//! is deep inside one opcode or hostile, its future is dropped in mid-flight
//! and its store with it.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use wasmtime::Trap;

use super::bindings::server::Interruption;
use super::budget::{CallBudget, Stop};
use crate::log::log;

/// How often the supervisor looks in while the guest waits for something.
const LONGEST_SLEEP: Duration = Duration::from_millis(20);

/// A call that came to no good end. Its store is of no use any more.
#[derive(Debug)]
pub struct Aborted {
    /// What wasmtime said; none if the supervisor did it.
    trap: Option<wasmtime::Error>,
}

/// Drives `call` to its end. `attend` is the supervisor's chance to serve the client meanwhile; it
/// returns within the time it is given, sooner if it likes, and says if the call has to end.
pub fn supervise<T>(
    call: impl Future<Output = wasmtime::Result<T>>,
    budget: &CallBudget,
    mut attend: impl FnMut(Duration) -> Option<Stop>,
) -> Result<T, Aborted> {
    let mut context = Context::from_waker(Waker::noop());
    let mut call = pin!(call);
    loop {
        match call.as_mut().poll(&mut context) {
            Poll::Ready(Ok(answer)) => return Ok(answer),
            Poll::Ready(Err(trap)) => return Err(Aborted { trap: Some(trap) }),
            Poll::Pending => {}
        }
        let sleep = budget.sleep_hint().unwrap_or_default();
        if let Some(stop) = attend(sleep.min(LONGEST_SLEEP)) {
            budget.stop(stop);
        }
        budget.check_time();
        if budget.grace_expired() {
            return Err(Aborted { trap: None });
        }
        budget.mark_polled();
    }
}

impl Aborted {
    /// Tells the host's log what wasmtime said.
    pub fn log(&self, what: &str) {
        if let Some(trap) = &self.trap {
            // The root cause: above it stand addresses of a component without names.
            log(format_args!("{what}: {}", trap.root_cause()));
        }
    }

    /// Why, for the client and in a word. `starved`: the guest was refused memory.
    pub fn reason(&self, budget: &CallBudget, starved: bool) -> (Interruption, &'static str) {
        let budgets = budget.budgets();
        let trap = self.trap.as_ref().and_then(wasmtime::Error::downcast_ref);
        let stop = match (budget.stopped(), trap) {
            (Some(stop), _) => stop,
            (None, Some(Trap::OutOfFuel)) => Stop::Because("fuel", budgets.out_of_fuel()),
            (None, Some(Trap::StackOverflow)) => Stop::Because("stack", budgets.too_deep()),
            _ if starved => Stop::Because("memory", budgets.out_of_memory()),
            _ => Stop::Because("fault", budgets.fault()),
        };
        let name = stop.name();
        match stop {
            Stop::Cancelled => (Interruption::Cancelled, name),
            Stop::Because(_, reason) | Stop::Closing(reason) => {
                (Interruption::Stopped(reason), name)
            }
        }
    }
}
