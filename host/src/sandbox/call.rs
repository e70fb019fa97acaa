//! Runs a call under its budgets, and cuts it off if need be.
//!
//! Two lines of defence. The guest is told to stop through `mailbox.poll` and
//! ends the call in good order, its session intact. If it does not, because it
//! is deep inside one opcode or hostile, its future is dropped in mid-flight
//! and its store with it.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use wasmtime::Trap;

use super::control::{Control, Stop};
use crate::budgets::Budgets;
use crate::log::log;

/// How often the supervisor looks in while the guest waits for something.
const LONGEST_NAP: Duration = Duration::from_millis(20);

/// A call that came to no good end. Its store is of no use any more.
#[derive(Debug)]
pub struct Cut {
    /// What wasmtime said, for the host's log; none if the supervisor did it.
    pub trap: Option<wasmtime::Error>,
}

/// Drives `call` to its end. `look` is the supervisor's chance to serve the
/// client meanwhile; it returns within the time it is given, sooner if it likes.
pub fn supervise<T>(
    call: impl Future<Output = wasmtime::Result<T>>,
    control: &Control,
    budgets: &Budgets,
    mut look: impl FnMut(Duration),
) -> Result<T, Cut> {
    let deadline = Instant::now() + budgets.timeout;
    control.due(deadline);
    control.looked();
    let mut context = Context::from_waker(Waker::noop());
    let mut call = pin!(call);
    loop {
        match call.as_mut().poll(&mut context) {
            Poll::Ready(Ok(answer)) => return Ok(answer),
            Poll::Ready(Err(trap)) => return Err(Cut { trap: Some(trap) }),
            Poll::Pending => {}
        }
        look(
            control
                .nap()
                .map_or(Duration::ZERO, |nap| nap.min(LONGEST_NAP)),
        );
        if Instant::now() >= deadline + control.paused() {
            control.stop(Stop::Because(budgets.out_of_time()));
        }
        if control.lingers() {
            return Err(Cut { trap: None });
        }
        control.looked();
    }
}

impl Cut {
    /// Tells the host's log what wasmtime said.
    pub fn log(&self, what: &str) {
        if let Some(trap) = &self.trap {
            // The root cause: above it stand addresses of a component without names.
            log(format_args!("{what}: {}", trap.root_cause()));
        }
    }

    /// The sentence for the client; none if it took the call back.
    pub fn reason(&self, control: &Control, budgets: &Budgets, starved: bool) -> Option<String> {
        match control.stopped() {
            Some(Stop::Cancelled) => return None,
            Some(Stop::Because(reason) | Stop::Closing(reason)) => return Some(reason),
            None => {}
        }
        let trap = self
            .trap
            .as_ref()
            .and_then(|trap| trap.downcast_ref::<Trap>());
        Some(match trap {
            Some(Trap::OutOfFuel) => budgets.out_of_fuel(),
            Some(Trap::StackOverflow) => budgets.too_deep(),
            _ if starved => budgets.out_of_memory(),
            _ => budgets.fault(),
        })
    }
}
