//! What a running call and its supervisor say to each other.
//!
//! The call runs inside a future that owns the store; its supervisor looks in
//! at every yield. Both hold this.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Why a call has to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The client took it back; nobody waits for the answer.
    Cancelled,
    /// A budget is used up or the host is closing; the sentence for the client.
    Because(String),
}

/// A line that waits for its turn, without its newline.
pub type Line = Vec<u8>;

#[derive(Debug, Default)]
struct Inner {
    stop: Option<Stop>,
    /// When the guest asked to be woken, while it waits in `poll`.
    wake_at: Option<Instant>,
    last_words: Vec<String>,
    kept: String,
    waiting: VecDeque<Line>,
    waiting_bytes: usize,
    /// Lines to the client that the running call sends now.
    outbox: Vec<String>,
    fuel_at_start: u64,
    /// How long the call has waited for someone to read what it prints.
    paused: Duration,
}

/// Shared by a call and its supervisor.
#[derive(Debug, Default)]
pub struct Control(Mutex<Inner>);

/// The longest state that `mailbox.keep` takes, in bytes.
pub const KEPT_BYTES: usize = 64 << 10;

impl Control {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        // One thread at a time uses it; a panic elsewhere leaves it usable.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets the last call. `fuel` is what the new one starts with.
    pub fn begin(&self, fuel: u64) {
        let mut inner = self.inner();
        inner.stop = None;
        inner.wake_at = None;
        inner.last_words.clear();
        inner.fuel_at_start = fuel;
        inner.paused = Duration::ZERO;
    }

    /// Time that does not count against the call.
    pub fn pause(&self, time: Duration) {
        self.inner().paused += time;
    }

    /// All of that time.
    pub fn paused(&self) -> Duration {
        self.inner().paused
    }

    /// Tells the call to end. The first reason stays.
    pub fn stop(&self, stop: Stop) {
        self.inner().stop.get_or_insert(stop);
    }

    /// Why the call has to end, if it has to.
    pub fn stopped(&self) -> Option<Stop> {
        self.inner().stop.clone()
    }

    /// What the running call has used, given what is left.
    pub fn fuel_used(&self, left: u64) -> u64 {
        self.inner().fuel_at_start.saturating_sub(left)
    }

    /// The guest waits until `at`, or no longer.
    pub fn wait_until(&self, at: Option<Instant>) {
        self.inner().wake_at = at;
    }

    /// How long the guest wants to be left alone.
    pub fn nap(&self) -> Option<Duration> {
        self.inner()
            .wake_at
            .map(|at| at.saturating_duration_since(Instant::now()))
    }

    /// Takes the guest's last words.
    pub fn set_last_words(&self, parts: Vec<String>) {
        self.inner().last_words = parts;
    }

    /// What the client gets if the call is cut off for `reason`; none if there is nothing to say.
    pub fn last_words(&self, reason: &str) -> Option<String> {
        let inner = self.inner();
        if inner.last_words.is_empty() {
            return None;
        }
        let quoted = serde_json::Value::from(reason).to_string();
        Some(inner.last_words.join(&quoted[1..quoted.len() - 1]))
    }

    /// Keeps the guest's state for the next instance.
    pub fn keep(&self, state: String) {
        self.inner().kept = state;
    }

    /// What the last instance kept.
    pub fn kept(&self) -> String {
        self.inner().kept.clone()
    }

    /// Sends a line to the client as soon as the supervisor looks in; answers
    /// how many wait for that.
    pub fn send(&self, line: String) -> usize {
        let mut inner = self.inner();
        inner.outbox.push(line);
        inner.outbox.len()
    }

    /// What the call has sent since last asked.
    pub fn take_outbox(&self) -> Vec<String> {
        std::mem::take(&mut self.inner().outbox)
    }

    /// Bytes and lines that wait for their turn.
    pub fn backlog(&self) -> (usize, usize) {
        let inner = self.inner();
        (inner.waiting_bytes, inner.waiting.len())
    }

    /// Puts a line at the end of the queue.
    pub fn push(&self, line: Line) {
        let mut inner = self.inner();
        inner.waiting_bytes += line.len();
        inner.waiting.push_back(line);
    }

    /// The line whose turn it is.
    pub fn pop(&self) -> Option<Line> {
        self.withdraw(0)
    }

    /// Takes the line at `index` out of the queue.
    pub fn withdraw(&self, index: usize) -> Option<Line> {
        let mut inner = self.inner();
        let line = inner.waiting.remove(index)?;
        inner.waiting_bytes -= line.len();
        Some(line)
    }

    /// A copy of the line at `index`.
    pub fn waiting(&self, index: usize) -> Option<Line> {
        self.inner().waiting.get(index).cloned()
    }
}
