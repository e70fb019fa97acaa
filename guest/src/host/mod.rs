//! What a call says to its host and hears from it while it runs (`wit/mailbox.wit`).

pub mod interrupt;

use crate::storage::{NOWHERE, Storage};

/// Whether the running call may go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing is in the way.
    Proceed,
    /// The client no longer wants the answer.
    Cancelled,
    /// A budget is used up, or the host is closing; the sentence names which and what to do.
    Stop(String),
}

/// Where printed text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Errors,
}

/// The host's side of a running call. Shared and stateless from the guest's view.
pub trait Host: Sync {
    /// Asks whether to go on; waits up to `wait_ms` milliseconds while the answer is yes.
    fn poll(&self, wait_ms: u32) -> Verdict;
    /// Sends one line to the client now, without its newline.
    fn send(&self, line: &str);
    /// Leaves the last words: the parts that the host joins with its reason if it cuts this call off.
    fn bequeath(&self, parts: &[String]);
    /// Leaves a small string for the next instance and for the one that overhears.
    fn keep(&self, state: &str);
    /// The `index`-th line that waits for its turn, oldest first.
    fn waiting(&self, index: u32) -> Option<Vec<u8>>;
    /// Prints bytes unchanged; whether anyone reads them.
    fn print(&self, _stream: Stream, _bytes: &[u8]) -> bool {
        false
    }
    /// The fuel that the current call has used so far; 0 where it is not metered.
    fn fuel(&self) -> u64;
    /// The files; none by default.
    fn storage(&self) -> &dyn Storage {
        &NOWHERE
    }
}

/// A host that never interferes, for unit tests.
#[derive(Debug)]
pub struct Alone;

impl Host for Alone {
    fn poll(&self, _wait_ms: u32) -> Verdict {
        Verdict::Proceed
    }
    fn send(&self, _line: &str) {}
    fn bequeath(&self, _parts: &[String]) {}
    fn keep(&self, _state: &str) {}
    fn waiting(&self, _index: u32) -> Option<Vec<u8>> {
        None
    }
    fn fuel(&self) -> u64 {
        0
    }
    #[cfg(test)]
    fn storage(&self) -> &dyn Storage {
        &crate::storage::local::Local
    }
}
