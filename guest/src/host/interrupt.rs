//! The interrupt check of a running call: asks the host whether to go on, reports progress to the
//! client, and remembers why the call has to end.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::json;

use super::{Host, Interruption, Usage, Verdict};

/// What is called now and then while a call runs, with the time it has run for and how far it is.
pub type Notify = Box<dyn FnMut(Duration, &Progress) + Send>;

/// How far a call is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// What it does, such as `importing`; empty if it said nothing.
    pub phase: String,
    /// How many are done of what the phase goes through: rows, unless it said otherwise.
    pub done: u64,
    /// How many there are, where that is known.
    pub total: Option<u64>,
    /// What they are.
    pub unit: &'static str,
}

/// SQLite's progress handler ticks once per this many of its instructions.
pub const INSTRUCTIONS_PER_TICK: i32 = 1_000;

#[cfg(test)]
thread_local! {
    /// After how many more looks a statement of this thread is stopped, for tests of what is left then.
    pub static STOP: std::cell::Cell<Option<u32>> = const { std::cell::Cell::new(None) };
}

#[cfg(test)]
fn stops_now() -> bool {
    let left = STOP.get();
    STOP.set(left.map(|left| left.saturating_sub(1)));
    left == Some(0)
}

impl Progress {
    /// It as a line of JSON, as the host of a person takes it.
    pub fn line(&self) -> String {
        let Self {
            phase,
            done,
            total,
            unit,
        } = self;
        json!({ "phase": phase, "done": done, "total": total, "unit": unit }).to_string()
    }
}

/// How often a call reports its progress to a client, and how long it has run then at least.
pub const TO_A_CLIENT: Duration = Duration::from_secs(1);

/// The same to a person, who sees something move.
pub const TO_A_PERSON: Duration = Duration::from_millis(500);

/// How long one wait for a lock takes at most, so that a cancellation is heard soon.
const LONGEST_WAIT_MS: u32 = 50;

/// One call's line to the host; shared by all connections of an engine.
pub struct InterruptCheck {
    host: &'static dyn Host,
    call: Mutex<Call>,
    /// How many the call has done of what its phase goes through.
    done: AtomicU64,
}

/// What is known of the running call.
#[derive(Default)]
struct Call {
    command: &'static str,
    notify: Option<Notify>,
    /// How often that is called.
    every: Duration,
    /// How long it had run when that was last called.
    notified: Duration,
    phase: String,
    unit: &'static str,
    total: Option<u64>,
    interruption: Option<Interruption>,
    pace: Pace,
    /// Ticks of all calls.
    ticks: u64,
    /// What the host last said of the fuel.
    fuel: u64,
    ceiling: Option<Work>,
    exhausted: bool,
    muted: bool,
    waited: bool,
}

/// An amount of work, in ticks and in the host's fuel.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    ticks: u64,
    fuel: u64,
}

impl InterruptCheck {
    /// The checks of calls that `host` runs.
    pub fn new(host: &'static dyn Host) -> Self {
        Self {
            host,
            call: Mutex::default(),
            done: AtomicU64::new(0),
        }
    }

    /// The host's side of the call.
    pub fn host(&self) -> &'static dyn Host {
        self.host
    }

    /// A call begins. `notify` is called about once in `every` after that time.
    pub fn begin(&self, notify: Option<Notify>, every: Duration) {
        self.phase("", "row", None);
        let mut call = self.call();
        call.every = every;
        call.notified = Duration::ZERO;
        call.notify = notify;
        call.interruption = None;
        call.fuel = 0;
    }

    /// The call begins to go through so many things of a kind, named in the singular.
    pub fn phase(&self, phase: &str, unit: &'static str, total: Option<u64>) {
        let mut call = self.call();
        phase.clone_into(&mut call.phase);
        (call.unit, call.total) = (unit, total);
        self.done.store(0, Ordering::Relaxed);
    }

    /// One of them is done.
    pub fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// So many of so many are done.
    pub fn reach(&self, done: u64, total: u64) {
        self.done.store(done, Ordering::Relaxed);
        self.call().total = Some(total);
    }

    /// Names the command that the call runs.
    pub fn name(&self, command: &'static str) {
        self.call().command = command;
    }

    /// The command that the call runs; empty if it was not named.
    pub fn command(&self) -> &'static str {
        self.call().command
    }

    /// The call has ended: nothing more is sent for it.
    pub fn end(&self) {
        self.call().notify = None;
    }

    /// Asks the host whether the next piece of work may start, and forgets what it said to the last.
    pub fn start(&self) -> Option<Interruption> {
        {
            let mut call = self.call();
            call.interruption = None;
            call.pace = Pace::default();
            call.ceiling = None;
            call.exhausted = false;
            call.muted = false;
            call.waited = false;
        }
        self.heed(self.host.check());
        self.interruption()
    }

    /// Whether a lock was waited for.
    pub fn has_waited(&self) -> bool {
        self.call().waited
    }

    /// Called from SQLite's progress handler: whether to stop.
    pub fn tick(&self) -> bool {
        let ceiling = {
            let mut call = self.call();
            call.ticks += 1;
            if call.muted {
                return false;
            }
            #[cfg(test)]
            if stops_now() {
                return true;
            }
            if call
                .ceiling
                .is_some_and(|ceiling| call.ticks > ceiling.ticks)
            {
                call.exhausted = true;
                return true;
            }
            if !call.pace.is_due() {
                return false;
            }
            call.ceiling
        };
        let usage = self.usage();
        self.call().pace.asked(&usage);
        let spent = ceiling.is_some_and(|ceiling| usage.fuel > ceiling.fuel);
        if spent {
            self.call().exhausted = true;
        }
        spent || usage.verdict.is_err()
    }

    /// Waits for a lock, up to `budget_ms` in all when `waited_ms` have gone by; whether to try again.
    pub fn wait(&self, waited_ms: &mut u32, budget_ms: u32) -> bool {
        // A lock that others take in turn is free for moments, so it is tried often at first.
        let step = (*waited_ms / 64)
            .clamp(1, LONGEST_WAIT_MS)
            .min(budget_ms.saturating_sub(*waited_ms));
        if step == 0 {
            return false;
        }
        *waited_ms += step;
        self.call().waited = true;
        self.heed(self.host.wait(step))
    }

    /// Why the work has to end, if the host said so.
    pub fn interruption(&self) -> Option<Interruption> {
        self.call().interruption.clone()
    }

    /// Why work that was halted has to end.
    pub fn halted(&self) -> Interruption {
        self.interruption()
            .unwrap_or_else(|| Interruption::Stopped("The operation was interrupted.".into()))
    }

    /// What the call has used so far, by the host's word, and whether it may go on.
    pub fn usage(&self) -> Usage {
        let usage = self.host.usage();
        self.call().fuel = usage.fuel;
        self.heed(usage.verdict.clone());
        usage
    }

    /// The work done so far, as far as it is known without asking.
    pub fn work(&self) -> Work {
        let call = self.call();
        Work {
            ticks: call.ticks,
            fuel: call.fuel,
        }
    }

    /// From now on stops by itself after about as much work again as since `since`, and a little.
    pub fn limit(&self, since: Work) {
        self.usage();
        let now = self.work();
        // A little: 200,000 instructions, or about 6 ms of fuel.
        let ceiling = Work {
            ticks: now.ticks + (now.ticks - since.ticks) + 200,
            fuel: now.fuel + now.fuel.saturating_sub(since.fuel) + 1_500_000,
        };
        self.call().ceiling = Some(ceiling);
    }

    /// Lifts [`InterruptCheck::limit`] and says whether it was reached.
    pub fn unlimit(&self) -> bool {
        let mut call = self.call();
        call.ceiling = None;
        std::mem::take(&mut call.exhausted)
    }

    /// Whether ticks stop nothing for now: a rollback has to run to its end.
    pub fn mute(&self, muted: bool) {
        self.call().muted = muted;
    }

    /// Takes the host's word, and passes the time on; whether to go on.
    fn heed(&self, verdict: Verdict) -> bool {
        match verdict {
            Ok(elapsed) => {
                self.notify(elapsed);
                true
            }
            Err(interruption) => {
                self.call().interruption = Some(interruption);
                false
            }
        }
    }

    fn notify(&self, elapsed: Duration) {
        let (mut notify, progress) = {
            let mut call = self.call();
            if elapsed < call.notified + call.every {
                return;
            }
            call.notified = elapsed;
            let Some(notify) = call.notify.take() else {
                return;
            };
            let progress = Progress {
                phase: call.phase.clone(),
                done: self.done.load(Ordering::Relaxed),
                total: call.total,
                unit: call.unit,
            };
            (notify, progress)
        };
        // Outside the lock, so that it may do what it likes.
        notify(elapsed, &progress);
        self.call().notify = Some(notify);
    }

    fn call(&self) -> MutexGuard<'_, Call> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for InterruptCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InterruptCheck")
            .field("interruption", &self.interruption())
            .finish_non_exhaustive()
    }
}

/// How often the host is asked while SQLite works: about once a millisecond, by what the last ticks
/// took. That is measured in fuel where it is metered: by the clock, the questions would make the same
/// call use more fuel at one time than at another. Where there is neither, every tick asks.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// Ticks from one question to the next.
    stride: u32,
    /// Ticks until the next question.
    left: u32,
    /// What the call had used at the last one: fuel, or microseconds.
    asked_at: u64,
}

impl Pace {
    /// What is aimed at, in fuel and in microseconds.
    const FUEL: u64 = 200_000;
    const MICROS: u64 = 1_000;
    /// The longest stride: work that suddenly becomes twenty times as slow is still heard of
    /// within a host's grace.
    const LONGEST: u32 = 64;

    /// Counts a tick; whether it is time to ask.
    fn is_due(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left == 0
    }

    /// The host was asked, and said this.
    fn asked(&mut self, usage: &Usage) {
        let (now, interval) = match usage.fuel {
            0 => {
                let micros = usage.time.as_micros();
                (u64::try_from(micros).unwrap_or(u64::MAX), Self::MICROS)
            }
            fuel => (fuel, Self::FUEL),
        };
        let since = now.saturating_sub(self.asked_at).max(1);
        let aimed = u64::from(self.stride) * interval / since;
        // Twice as long at most: what comes may be slower than what was.
        let longest = (self.stride * 2).min(Self::LONGEST);
        self.stride = match now {
            0 => 1,
            _ => u32::try_from(aimed).map_or(longest, |aimed| aimed.clamp(1, longest)),
        };
        self.left = self.stride;
        self.asked_at = now;
    }
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            stride: 1,
            left: 1,
            asked_at: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROCEEDS: Usage = Usage {
        fuel: 0,
        time: Duration::ZERO,
        verdict: Ok(Duration::ZERO),
    };

    /// How many of a thousand ticks ask, if each takes so many microseconds or so much fuel, and the most of
    /// that between two questions.
    fn asked(usage: impl Fn(u64) -> Usage, tick: impl Fn(u32) -> u64) -> (u32, u64) {
        let (mut pace, mut now, mut last) = (Pace::default(), 0, 0);
        let (mut count, mut longest) = (0, 0);
        for number in 0..1_000 {
            now += tick(number);
            if pace.is_due() {
                pace.asked(&usage(now));
                longest = longest.max(now - last);
                last = now;
                count += 1;
            }
        }
        (count, longest)
    }

    fn by_clock(micros: u64) -> Usage {
        Usage {
            time: Duration::from_micros(micros),
            ..PROCEEDS
        }
    }

    fn by_fuel(fuel: u64) -> Usage {
        // Whatever the clock says.
        let time = Duration::from_micros(fuel % 977);
        Usage {
            fuel,
            time,
            ..PROCEEDS
        }
    }

    #[test]
    fn the_host_is_asked_about_once_a_millisecond() {
        let (count, longest) = asked(by_clock, |_| 50);
        assert!((50..60).contains(&count), "{count} in 50 ms");
        assert!(longest <= 2_000, "{longest}");
        assert_eq!(asked(by_clock, |_| 3_000).0, 1_000);
    }

    #[test]
    fn where_fuel_is_metered_it_alone_decides_when_the_host_is_asked() {
        let (count, longest) = asked(by_fuel, |_| 10_000);
        assert!((50..60).contains(&count), "{count}");
        assert!(longest <= 400_000, "{longest}");
        assert_eq!(asked(by_fuel, |_| 600_000).0, 1_000);
    }

    #[test]
    fn work_that_becomes_slower_is_heard_of_soon() {
        let slower = |number| if number < 500 { 10 } else { 200 };
        let (_, longest) = asked(by_clock, slower);
        assert!(longest <= 20_000, "{longest}");
    }

    #[test]
    fn a_lock_is_tried_often_at_first_and_now_and_then_later() {
        let check = InterruptCheck::new(&crate::host::Alone);
        let (mut waited, mut steps) = (0, Vec::new());
        while let before = waited
            && check.wait(&mut waited, 5_000)
        {
            steps.push(waited - before);
        }
        assert_eq!(waited, 5_000);
        assert_eq!(steps[..64], [1; 64]);
        assert_eq!(steps.iter().max(), Some(&50));
        // By hosts that cannot block, too.
        assert!(steps.len() < 500, "{}", steps.len());
    }

    #[test]
    fn without_a_clock_every_tick_asks() {
        assert_eq!(asked(|_| PROCEEDS, |_| 0).0, 1_000);
    }
}
