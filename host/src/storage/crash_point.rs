//! Crashes of the host at a call of its storage that changes something. Compiled for unit
//! tests alone, and harmless there unless the process is told to crash.

use std::env;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// When to crash: the number of the call, and `torn` if the call is to be half done.
pub const VARIABLE: &str = "SQLARIUM_TEST_CRASH";

/// Calls that are left, the last one included; 0 for none.
static LEFT: AtomicU64 = AtomicU64::new(0);
static TORN: AtomicBool = AtomicBool::new(false);

/// Reads [`VARIABLE`].
pub fn arm() {
    let Ok(crash) = env::var(VARIABLE) else {
        return;
    };
    let number = crash.trim_end_matches(" torn");
    TORN.store(number != crash, Ordering::Relaxed);
    LEFT.store(number.parse().expect("a number"), Ordering::Relaxed);
}

/// Crashes if this is the call, after `half` of its work if it is to be torn.
pub fn reached(half: impl FnOnce()) {
    if LEFT.load(Ordering::Relaxed) > 0 && LEFT.fetch_sub(1, Ordering::Relaxed) == 1 {
        if TORN.load(Ordering::Relaxed) {
            half();
        }
        std::process::abort();
    }
}
