//! The pulse of a running call: asks the host whether to go on, tells the
//! client that work continues, and remembers why it was asked to stop.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{Host, Verdict};

/// What is called about once a second while a call runs, with the time it has run for.
pub type Notify = Box<dyn FnMut(Duration) + Send>;

/// SQLite's progress handler ticks once per this many of its instructions.
pub const INSTRUCTIONS_PER_TICK: i32 = 1_000;

/// How often a call reports its progress to the client.
const NOTIFY_EVERY: Duration = Duration::from_secs(1);

/// How long one wait for a lock takes at most, so that a cancellation is heard soon.
const WAIT_STEP_MS: u32 = 50;

/// One call's line to the host; shared by all connections of an engine.
pub struct Pulse {
    host: &'static dyn Host,
    state: Mutex<State>,
}

struct State {
    began: Instant,
    told: Duration,
    notify: Option<Notify>,
    verdict: Verdict,
    ticks: u64,
    ceiling: Option<Work>,
    exhausted: bool,
    muted: bool,
    waited: bool,
    command: &'static str,
}

/// An amount of work, in ticks and in the host's fuel.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    ticks: u64,
    fuel: u64,
}

impl Pulse {
    /// A pulse of no call yet.
    pub fn new(host: &'static dyn Host) -> Self {
        Self {
            host,
            state: Mutex::new(State {
                began: Instant::now(),
                told: Duration::ZERO,
                notify: None,
                verdict: Verdict::Proceed,
                ticks: 0,
                ceiling: None,
                exhausted: false,
                muted: false,
                waited: false,
                command: "",
            }),
        }
    }

    /// The host's side of the call.
    pub fn host(&self) -> &'static dyn Host {
        self.host
    }

    /// A call begins. `notify` is called about once a second once it has run longer than a second.
    pub fn begin(&self, notify: Option<Notify>) {
        let mut state = self.state();
        state.began = Instant::now();
        state.told = Duration::ZERO;
        state.notify = notify;
        state.verdict = Verdict::Proceed;
    }

    /// Names the command that the call runs.
    pub fn name(&self, command: &'static str) {
        self.state().command = command;
    }

    /// The command that the call runs; empty if it was not named.
    pub fn command(&self) -> &'static str {
        self.state().command
    }

    /// The call has ended.
    pub fn end(&self) {
        self.begin(None);
    }

    /// Asks the host whether the next piece of work may start, and forgets what it said to the last.
    pub fn start(&self) -> Verdict {
        let verdict = self.host.poll(0);
        let mut state = self.state();
        state.verdict = verdict.clone();
        state.ceiling = None;
        state.exhausted = false;
        state.muted = false;
        state.waited = false;
        verdict
    }

    /// Whether a lock was waited for.
    pub fn has_waited(&self) -> bool {
        self.state().waited
    }

    /// Called from SQLite's progress handler: whether to stop.
    pub fn tick(&self) -> bool {
        let (elapsed, ceiling) = {
            let mut state = self.state();
            state.ticks += 1;
            if state.muted {
                return false;
            }
            if state
                .ceiling
                .is_some_and(|ceiling| state.ticks > ceiling.ticks)
            {
                state.exhausted = true;
                return true;
            }
            (state.began.elapsed(), state.ceiling)
        };
        if ceiling.is_some_and(|ceiling| self.host.fuel() > ceiling.fuel) {
            self.state().exhausted = true;
            return true;
        }
        if !self.ask(0) {
            return true;
        }
        self.tell(elapsed);
        false
    }

    /// Waits for a lock, up to `budget_ms` in all when `waited_ms` have gone by; whether to try again.
    pub fn wait(&self, waited_ms: &mut u32, budget_ms: u32) -> bool {
        let step = WAIT_STEP_MS.min(budget_ms.saturating_sub(*waited_ms));
        if step == 0 {
            return false;
        }
        *waited_ms += step;
        self.state().waited = true;
        let go_on = self.ask(step);
        let elapsed = self.state().began.elapsed();
        self.tell(elapsed);
        go_on
    }

    /// Why the work was asked to stop; [`Verdict::Proceed`] if it was not.
    pub fn verdict(&self) -> Verdict {
        self.state().verdict.clone()
    }

    /// The work done so far.
    pub fn work(&self) -> Work {
        Work {
            ticks: self.state().ticks,
            fuel: self.host.fuel(),
        }
    }

    /// From now on stops by itself after about as much work again as since `since`, and a little.
    pub fn limit(&self, since: Work) {
        let now = self.work();
        // A little: 200,000 instructions, or about 6 ms of fuel.
        let ceiling = Work {
            ticks: now.ticks + (now.ticks - since.ticks) + 200,
            fuel: now.fuel + now.fuel.saturating_sub(since.fuel) + 100_000_000,
        };
        self.state().ceiling = Some(ceiling);
    }

    /// Lifts [`Pulse::limit`] and says whether it was reached.
    pub fn unlimit(&self) -> bool {
        let mut state = self.state();
        state.ceiling = None;
        std::mem::take(&mut state.exhausted)
    }

    /// Whether ticks stop nothing for now: a rollback has to run to its end.
    pub fn mute(&self, muted: bool) {
        self.state().muted = muted;
    }

    fn ask(&self, wait_ms: u32) -> bool {
        match self.host.poll(wait_ms) {
            Verdict::Proceed => true,
            verdict => {
                self.state().verdict = verdict;
                false
            }
        }
    }

    fn tell(&self, elapsed: Duration) {
        let Some(mut notify) = ({
            let mut state = self.state();
            if elapsed < state.told + NOTIFY_EVERY {
                return;
            }
            state.told = elapsed;
            state.notify.take()
        }) else {
            return;
        };
        // Outside the lock, so that it may do what it likes.
        notify(elapsed);
        self.state().notify = Some(notify);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Pulse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pulse")
            .field("verdict", &self.verdict())
            .finish_non_exhaustive()
    }
}
