//! What a call asks of its host and hears from it while it runs (`wit/control.wit`).

use std::time::Duration;

pub mod interrupt;

/// Why a call has to end before its work is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interruption {
    /// The client no longer wants the answer.
    Cancelled,
    /// A budget is used up, the host is closing, or an instance failed; the sentence names which
    /// and what to do.
    Stopped(String),
}

/// Whether the running call may go on: how long it has run for, zero where there is no clock; or
/// why it has to end.
pub type Verdict = Result<Duration, Interruption>;

/// What the running call has used.
#[derive(Clone, Debug)]
pub struct Usage {
    /// Work in the host's units; 0 where it is not metered.
    pub fuel: u64,
    /// Time since the call began; zero where there is no clock.
    pub time: Duration,
    /// Whether it may go on.
    pub verdict: Verdict,
}

/// Where printed text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Errors,
}

/// The host's side of a running call. Shared and stateless from the guest's view; what a host
/// does not define is answered as a minimal one does.
pub trait Host: Sync {
    /// Asks whether to go on; never blocks.
    fn check(&self) -> Verdict {
        Ok(Duration::ZERO)
    }
    /// Waits up to `ms` milliseconds as long as the answer is to go on.
    fn wait(&self, _ms: u32) -> Verdict {
        self.check()
    }
    /// What the call has used so far, and whether it may go on.
    fn usage(&self) -> Usage {
        let verdict = self.check();
        Usage {
            fuel: 0,
            time: verdict.clone().unwrap_or_default(),
            verdict,
        }
    }
    /// Sends one line to the client now, without its newline.
    fn notify(&self, _line: &str) {}
    /// Saves the state for the instance that takes over, and for the one that triages.
    fn save_state(&self, _state: &[u8]) {}
    /// Appends to the saved state.
    fn extend_state(&self, _part: &[u8]) {}
    /// The line that is being answered.
    fn running(&self) -> Option<Vec<u8>> {
        None
    }
    /// The `index`-th line that waits for its turn, oldest first.
    fn queued(&self, _index: u32) -> Option<Vec<u8>> {
        None
    }
    /// Prints bytes unchanged; whether anyone reads them.
    fn print(&self, _stream: Stream, _bytes: &[u8]) -> bool {
        false
    }
}

/// A host that never interferes, for unit tests.
#[derive(Debug)]
pub struct Alone;

impl Host for Alone {}
