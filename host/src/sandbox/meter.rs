//! The work of one instance, in units that the component counts by itself.
//!
//! The build puts a counter into the component (`guest/component/build/meter`), which asks for
//! a slice of the call's budget whenever it has used up the last one. What the host has granted is
//! what counts: a slice that is not accounted for was used.

use wasmtime::{Result, Trap, bail};

/// Units after which the guest yields so that its supervisor looks at the clock and the client's
/// lines: about a millisecond.
const SLICE: i64 = 200_000;

/// What a call says that begins: nothing of its own was used before.
const BEGINS: i64 = i64::MIN;

/// What the running call may use, and has.
#[derive(Debug, Default)]
pub struct Meter {
    budget: u64,
    /// The last part of the budget, with which the call shall end in good order.
    reserve: u64,
    used: u64,
    /// The slice that the component works on.
    granted: i64,
}

impl Meter {
    /// Starts anew, for a call that may use `budget` units, and is to be heard of when `reserve` of
    /// them are left.
    pub fn reset(&mut self, budget: u64, reserve: u64) {
        self.budget = budget;
        self.reserve = reserve;
        self.used = 0;
    }

    /// What the call has used: exactly, right after it has settled.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// What the call may still use.
    pub fn left(&self) -> u64 {
        self.budget.saturating_sub(self.used)
    }

    /// The component says what is `left` of its slice, less than nothing if it needs more, and
    /// gets the next one.
    ///
    /// # Errors
    ///
    /// The trap that the budget is used up; or if more is left than was granted.
    pub fn settle(&mut self, left: i64) -> Result<i64> {
        if left != BEGINS {
            if left > self.granted {
                bail!("the guest claims more fuel than it was given");
            }
            self.used = self.used.saturating_add(self.granted.abs_diff(left));
        }
        if self.used > self.budget {
            return Err(Trap::OutOfFuel.into());
        }
        let left = self.left();
        let next = match left.saturating_sub(self.reserve) {
            0 => left,
            before => before,
        };
        self.granted = i64::try_from(next).map_or(SLICE, |next| next.min(SLICE));
        Ok(self.granted)
    }
}

/// Whether a counter that says this needs more, rather than settling.
pub fn is_empty(left: i64) -> bool {
    left < 0 && left != BEGINS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(budget: u64) -> Meter {
        let mut meter = Meter::default();
        meter.reset(budget, 0);
        meter.settle(BEGINS).unwrap();
        meter
    }

    #[test]
    fn a_call_may_use_its_budget_and_not_one_unit_more() {
        let mut all = meter(10);
        assert_eq!((all.settle(0).unwrap(), all.used()), (0, 10));
        let mut more = meter(10);
        let trap = more.settle(-1).unwrap_err();
        assert_eq!(trap.downcast_ref(), Some(&Trap::OutOfFuel));
    }

    #[test]
    fn it_asks_when_its_reserve_begins() {
        let mut meter = Meter::default();
        meter.reset(100, 10);
        assert_eq!(meter.settle(BEGINS).unwrap(), 90);
        assert_eq!(meter.settle(-1).unwrap(), 9);
        assert!(meter.settle(-1).is_err());
    }

    #[test]
    fn slices_add_up_to_the_unit() {
        let mut meter = meter(u64::MAX);
        for _ in 0..1000 {
            assert_eq!(meter.settle(-1).unwrap(), SLICE);
        }
        meter.settle(SLICE - 7).unwrap();
        assert_eq!(meter.used(), 1000 * (SLICE as u64 + 1) + 7);
    }

    #[test]
    fn a_debt_is_paid() {
        let mut meter = meter(1_000_000);
        meter.settle(-500_000).unwrap();
        assert_eq!(meter.used(), 700_000);
    }

    #[test]
    fn nothing_can_be_won_by_lying() {
        assert!(meter(10).settle(11).is_err());
        assert!(meter(10).settle(i64::MAX).is_err());
        assert!(meter(10).settle(i64::MIN + 1).is_err());
    }

    #[test]
    fn what_was_left_between_calls_is_nobodys() {
        let mut meter = meter(10);
        meter.reset(5, 0);
        assert_eq!((meter.settle(BEGINS).unwrap(), meter.used()), (5, 0));
    }
}
