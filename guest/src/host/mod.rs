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

/// A call of a tool, for the owner's audit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditCall {
    /// The id of its request as JSON.
    pub request: String,
    /// The client's thread, if it named one.
    pub thread: Option<String>,
    /// The tool.
    pub tool: String,
    /// The arguments by name, each as JSON.
    pub arguments: Vec<(String, String)>,
    /// The SQL that it runs.
    pub sql: Option<String>,
}

/// How a call ended, for the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditOutcome {
    /// `ok`, `failed`, or the status of the failure.
    pub status: &'static str,
    /// Rows that it gave.
    pub rows: u64,
    /// Rows inserted, updated or deleted.
    pub changes: u64,
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
    /// The last entries of a client's thread, oldest first.
    fn recall(&self, _thread: &str) -> Vec<Vec<u8>> {
        Vec::new()
    }
    /// Appends an entry to a thread; whether the thread holds others that this instance does not know.
    fn append(&self, _thread: &str, _entry: &[u8]) -> bool {
        false
    }
    /// A call begins that the owner wants recorded.
    fn audit_begin(&self, _call: AuditCall) {}
    /// It has ended.
    fn audit_end(&self, _outcome: &AuditOutcome) {}
    /// What is wrong with that record, if something is; a sentence.
    fn audit_trouble(&self) -> Option<String> {
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
