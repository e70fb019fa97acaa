//! Whatever is thrown at it: the process stays up, the files stay whole, and the next call works.
//!
//! - `live`: two applications keep the database open and write, and so do two servers.
//! - `cuts`: a transaction is aborted at every point that fuel can reach.
//! - `exits`: the server is shut down in the middle of a call.
//! - `kills`: the server is killed in a stream of writes.
//! - `files`: databases that are broken, odd, or made to do harm.
//! - `statements`: SQL that is made to do harm.
//! - `crowds`: very many calls, many servers, and clients that do not listen.
//!
//! `SQLARIUM_SURVIVAL=long` runs the long form, which takes many minutes. `--nocapture` shows
//! the figures of a run.

#[path = "survival/crowds.rs"]
mod crowds;
#[path = "survival/cuts.rs"]
mod cuts;
#[path = "survival/exits.rs"]
mod exits;
#[path = "survival/files.rs"]
mod files;
#[path = "survival/kills.rs"]
mod kills;
#[path = "survival/ledger.rs"]
mod ledger;
#[path = "survival/live.rs"]
mod live;
#[path = "survival/statements.rs"]
mod statements;

use std::env;
use std::fs;
use std::path::Path;

/// What the short form takes, or the long one.
fn form<T>(short: T, long: T) -> T {
    if env::var_os("SQLARIUM_SURVIVAL").is_some_and(|form| form == "long") {
        long
    } else {
        short
    }
}

/// The path as an argument.
fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// The value of a field of `/proc/PID/status`, in bytes; none where there is no such file.
fn memory(pid: u32, field: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with(field))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes << 10)
}

/// Numbers that look random and are the same in every run: `SplitMix64`,
/// after <https://prng.di.unimi.it/splitmix64.c>.
#[derive(Debug)]
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.roll() % end
    }
}
