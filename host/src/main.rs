//! A SQLite database in a sandbox, for AI agents.
//!
//! This is the host: it keeps the files, the clock and the budgets, and knows
//! neither the protocol nor a client's SQL. Both live in the component that it runs.
//!
//! - [`cli`]: flags and subcommands.
//! - [`shell`]: the shell, at a terminal or on a pipe.
//! - [`server`]: one client on standard input and output.
//! - [`sandbox`]: wasmtime, what the guest may ask for, and how calls end.
//! - [`storage`]: real files, real locks, memory files, quota, confinement.
//! - [`audit`]: the owner's record of calls. [`threads`]: what is remembered of a client's threads.
//! - [`budgets`]: what the owner allows: flags, defaults, and the sentences that name them.
//! - [`log`]: what a server has to say to its owner.
//! - [`demo`], [`clients`], [`terminal`]: for people.

#[cfg(not(unix))]
compile_error!("the host needs a Unix: its locks, signals and shared memory are POSIX");

mod audit;
mod budgets;
mod cli;
mod clients;
mod demo;
mod log;
mod sandbox;
mod server;
mod shell;
mod storage;
mod terminal;
mod threads;

use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    // A file that would exceed the process's limit is an error, and no reason to die.
    let _ = signal_hook::flag::register(libc::SIGXFSZ, Arc::default());
    let code = cli::run(std::env::args_os()).unwrap_or_else(|error| {
        terminal::complain(format_args!("{error:#}"));
        ExitCode::FAILURE
    });
    log::flush();
    code
}
