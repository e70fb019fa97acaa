//! Drives the built binary from outside, as its users do.
//!
//! - [`Server`]: an MCP server on a pipe, every wait bounded.
//! - [`run`]: one command line, run to its end; [`Terminal`]: one at a terminal.
//! - [`Folder`]: a folder for one test, with a native SQLite to fill and to check its files;
//!   [`load_sqlite_vec`] adds vectors to it.
//! - [`component`]: the component without its host. [`clients`]: what `tests/clients/setup` installs.
//!
//! The binary is `$SQLARIUM_BIN`, or the one beside the test's own executable.

mod folder;
mod run;
mod server;
mod terminal;
mod vectors;

use std::env;
use std::path::PathBuf;
use std::time::Duration;

pub use folder::Folder;
pub use run::{Finished, finish, run, sqlarium};
pub use server::{Answer, Ended, Server};
pub use terminal::Terminal;
pub use vectors::load_sqlite_vec;

/// Longer than anything takes that is not stuck, on a busy machine too.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A query that never ends by itself and looks around often.
pub const ENDLESS: &str =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

/// A query that spends many minutes in a single call of a single function, where
/// SQLite does not look around, and takes little memory: a needle of a million
/// characters that differs from the hay in its last one alone.
pub const ONE_FUNCTION: &str = "SELECT instr(hex(zeroblob(1000000)), hex(zeroblob(500000)) || '1')";

/// The sandboxed binary.
///
/// # Panics
/// If it was not built.
pub fn binary() -> PathBuf {
    let path = env::var_os("SQLARIUM_BIN").map_or_else(
        || {
            // target/release/deps/test-0123 -> target/release/sqlarium
            let test = env::current_exe().expect("the test's own path");
            let release = test.ancestors().nth(2).expect("target/release");
            release.join(format!("sqlarium{}", env::consts::EXE_SUFFIX))
        },
        PathBuf::from,
    );
    assert!(
        path.is_file(),
        "{} is not there: run `cargo build --release` first, or set SQLARIUM_BIN.",
        path.display()
    );
    path
}

/// The component that the host's build left behind, or `$SQLARIUM_COMPONENT`.
///
/// # Panics
/// If it was not built.
pub fn component() -> PathBuf {
    let path = env::var_os("SQLARIUM_COMPONENT").map_or_else(
        || {
            // target/release/deps/test-0123 -> target/sqlarium.wasm
            let test = env::current_exe().expect("the test's own path");
            let target = test.ancestors().nth(3).expect("the target directory");
            target.join("sqlarium.wasm")
        },
        PathBuf::from,
    );
    assert!(
        path.is_file(),
        "{} is not there: run `cargo build --release` first, or set SQLARIUM_COMPONENT.",
        path.display()
    );
    path
}

/// The folder into which `tests/clients/setup` installs programs of others. Where it was not
/// run the test is to be skipped, which is said loudly.
///
/// # Panics
/// If it was not run in CI.
pub fn clients() -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("clients");
    // Written last.
    if folder.join(".installed").exists() {
        return Some(folder);
    }
    let ci = env::var("CI").is_ok_and(|value| value == "true");
    assert!(
        !ci,
        "the clients are not installed: run tests/clients/setup"
    );
    // Not println!, which the test harness would swallow.
    let _ = std::io::Write::write_all(
        &mut std::io::stderr(),
        b"\n*** skipped: run tests/clients/setup ***\n",
    );
    None
}
