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
    /// A budget is used up; the sentence for the client.
    Because(String),
    /// The host is closing; the sentence for the client, if it is still there.
    Closing(String),
}

impl Stop {
    /// How long a guest that was told may take to end in good order. Where nobody waits for
    /// it, it shall not leave a journal for want of some milliseconds.
    pub fn grace(&self) -> Duration {
        match self {
            Self::Cancelled | Self::Because(_) => Duration::from_millis(50),
            Self::Closing(_) => Duration::from_secs(1),
        }
    }
}

/// A line that waits for its turn, without its newline.
pub type Line = Vec<u8>;

#[derive(Debug, Default)]
struct Inner {
    /// Why the call has to end, and since when.
    stop: Option<(Stop, Instant)>,
    /// When it has to.
    deadline: Option<Instant>,
    /// When its supervisor last looked in.
    looked_at: Option<Instant>,
    /// When the guest asked to be woken, while it waits in `poll`.
    wake_at: Option<Instant>,
    last_words: Vec<String>,
    kept: String,
    waiting: VecDeque<Line>,
    waiting_bytes: usize,
    /// Lines to the client that the running call sends now.
    outbox: Vec<String>,
    fuel_at_start: u64,
    /// Whether the work of the call itself has begun.
    metered: bool,
    /// How long the call has waited for someone to read what it prints.
    paused: Duration,
}

/// Shared by a call and its supervisor.
#[derive(Debug, Default)]
pub struct Control(Mutex<Inner>);

/// How a call stands with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// There is some left.
    Left,
    /// It is up, and the call was not told yet.
    Up,
    /// The call was told to end, and has had time to.
    Over,
}

/// How long a call that was told to end may go on to ask its host for things, after the time
/// in which its supervisor sees to its end by itself.
const LAST_REQUESTS: Duration = Duration::from_millis(450);

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
        inner.deadline = None;
        inner.looked_at = None;
        inner.wake_at = None;
        inner.last_words.clear();
        inner.fuel_at_start = fuel;
        inner.metered = false;
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
        self.inner()
            .stop
            .get_or_insert_with(|| (stop, Instant::now()));
    }

    /// Why the call has to end, if it has to.
    pub fn stopped(&self) -> Option<Stop> {
        self.inner().stop.as_ref().map(|(stop, _)| stop.clone())
    }

    /// Whether the call was told to end and has not done so in time.
    pub fn lingers(&self) -> bool {
        let inner = self.inner();
        let stop = inner.stop.as_ref();
        stop.is_some_and(|(stop, since)| since.elapsed() > stop.grace())
    }

    /// The call has to end at `deadline`.
    pub fn due(&self, deadline: Instant) {
        self.inner().deadline = Some(deadline);
    }

    /// How the call stands with its time.
    pub fn time(&self) -> Time {
        let inner = self.inner();
        let now = Instant::now();
        match (&inner.stop, inner.deadline) {
            (Some((stop, since)), _) if now > *since + stop.grace() + LAST_REQUESTS => Time::Over,
            (None, Some(deadline)) if now > deadline + inner.paused => Time::Up,
            _ => Time::Left,
        }
    }

    /// The supervisor has just looked in.
    pub fn looked(&self) {
        self.inner().looked_at = Some(Instant::now());
    }

    /// Whether the supervisor has not looked in for that long.
    pub fn unattended(&self, time: Duration) -> bool {
        self.inner()
            .looked_at
            .is_some_and(|looked_at| looked_at.elapsed() > time)
    }

    /// What the running call has used, given what is left.
    pub fn fuel_used(&self, left: u64) -> u64 {
        self.inner().fuel_at_start.saturating_sub(left)
    }

    /// The work of the call begins, now that it would not be cut off in silence. Answers its
    /// fuel, `budget` at most, unless it had begun before.
    pub fn start_meter(&self, left: u64, budget: u64) -> Option<u64> {
        let mut inner = self.inner();
        if std::mem::replace(&mut inner.metered, true) {
            return None;
        }
        inner.fuel_at_start = left.min(budget);
        Some(inner.fuel_at_start)
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

    /// What the client gets if the call is cut off for `reason`; none if there is nothing to
    /// say, or if it would be longer than `limit` bytes.
    pub fn last_words(&self, reason: &str, limit: u64) -> Option<String> {
        let inner = self.inner();
        let quoted = serde_json::Value::from(reason).to_string();
        let quoted = &quoted[1..quoted.len() - 1];
        let gaps = inner.last_words.len().checked_sub(1)?;
        let length = inner.last_words.iter().map(String::len).sum::<usize>()
            + gaps.saturating_mul(quoted.len());
        (length as u64 <= limit).then(|| inner.last_words.join(quoted))
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
