//! The budget of one call: its time and its fuel, and why it has to end.
//!
//! The call runs inside a future that owns the store; its supervisor looks in whenever that yields.
//! Both hold this.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::budgets::Budgets;

/// Why a call has to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The client cancelled it; nobody waits for the answer.
    Cancelled,
    /// A budget is used up, which has this name; the sentence for the client.
    Because(&'static str, String),
    /// The host is closing; the sentence for the client, if it is still there.
    Closing(String),
}

impl Stop {
    /// What ends the call, in a word.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Because(budget, _) => budget,
            Self::Closing(_) => "shutdown",
        }
    }

    /// How long a guest that was told may take to end in good order. Where nobody waits for
    /// it, it shall not leave a journal for want of some milliseconds.
    pub fn grace(&self) -> Duration {
        match self {
            Self::Cancelled | Self::Because(..) => Duration::from_millis(50),
            Self::Closing(_) => Duration::from_secs(1),
        }
    }
}

/// How long a call that was told to end may go on to ask its host for things, after the time
/// in which its supervisor sees to its end by itself.
const LAST_REQUESTS: Duration = Duration::from_millis(450);

/// Shared by a call and its supervisor.
#[derive(Debug)]
pub struct CallBudget {
    budgets: Budgets,
    began: Instant,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// Why the call has to end, and since when.
    stop: Option<(Stop, Instant)>,
    /// How long it has waited for someone to read what it prints.
    paused: Duration,
    /// When its supervisor last looked in.
    polled: Instant,
    /// When the guest asked to be woken, while it waits.
    sleeps_until: Option<Instant>,
}

impl CallBudget {
    /// The budget of a call that begins now.
    pub fn new(budgets: Budgets) -> Self {
        let began = Instant::now();
        Self {
            budgets,
            began,
            inner: Mutex::new(Inner {
                stop: None,
                paused: Duration::ZERO,
                polled: began,
                sleeps_until: None,
            }),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // One thread at a time uses it; a panic elsewhere leaves it usable.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the owner allows.
    pub fn budgets(&self) -> &Budgets {
        &self.budgets
    }

    /// How long the call has run.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed().saturating_sub(self.inner().paused)
    }

    /// Tells the call to end if it runs low on fuel: the rest is for ending in good order.
    pub fn check_fuel(&self, left: u64) {
        if left < self.budgets.fuel_reserve() {
            self.stop(Stop::Because("fuel", self.budgets.out_of_fuel()));
        }
    }

    /// Tells the call to end if its time is up.
    pub fn check_time(&self) {
        if self.elapsed() >= self.budgets.timeout {
            self.stop(Stop::Because("timeout", self.budgets.out_of_time()));
        }
    }

    /// Time that does not count against the call.
    pub fn pause(&self, time: Duration) {
        self.inner().paused += time;
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
    pub fn grace_expired(&self) -> bool {
        self.stopped_for(Duration::ZERO)
    }

    /// Whether the call was told to end, and has long had time to.
    pub fn has_overstayed(&self) -> bool {
        self.stopped_for(LAST_REQUESTS)
    }

    fn stopped_for(&self, beyond_grace: Duration) -> bool {
        let inner = self.inner();
        let stop = inner.stop.as_ref();
        stop.is_some_and(|(stop, since)| since.elapsed() > stop.grace() + beyond_grace)
    }

    /// The supervisor has just looked in.
    pub fn mark_polled(&self) {
        self.inner().polled = Instant::now();
    }

    /// Whether the supervisor has not looked in for that long.
    pub fn unpolled_for(&self, time: Duration) -> bool {
        self.inner().polled.elapsed() > time
    }

    /// The guest waits until `at`, or no longer.
    pub fn sleep_until(&self, at: Option<Instant>) {
        self.inner().sleeps_until = at;
    }

    /// How long the guest wants to be left alone.
    pub fn sleep_hint(&self) -> Option<Duration> {
        self.inner()
            .sleeps_until
            .map(|at| at.saturating_duration_since(Instant::now()))
    }
}
