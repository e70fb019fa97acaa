//! The shell: lines from a terminal or a pipe, handed to the sandbox one by one.
//!
//! What the lines mean is the guest's affair. The host edits and remembers them, asks the guest how
//! a word could go on, makes Ctrl-C stop a statement, and sees that the shell goes on after an abort.

mod editor;
mod history;

use std::io::{self, BufRead as _, IsTerminal as _, Read as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, bail};

use crate::sandbox::bindings::shell::Next;
use crate::sandbox::control::Stop;
use crate::sandbox::instance::{Outcome, Vessel};
use crate::terminal;

/// What became of a line.
enum Fed {
    /// The guest's answer.
    Next(Next),
    /// The call was aborted; a fresh instance takes the next line.
    Aborted,
}

/// Runs the shell until its lines end. `remember`: keep a history of what is typed.
pub fn run(vessel: Vessel, remember: bool) -> Result<ExitCode> {
    if io::stdin().is_terminal() && io::stdout().is_terminal() {
        editor::run(vessel, remember)
    } else {
        pipe(vessel)
    }
}

/// Takes the lines of a pipe or a file.
fn pipe(mut vessel: Vessel) -> Result<ExitCode> {
    let limit = vessel.budgets().request;
    let mut input = io::stdin().lock();
    let mut failed = false;
    loop {
        let mut line = Vec::new();
        // One byte for the newline, or for being too long.
        let read = input
            .by_ref()
            .take(limit.saturating_add(1))
            .read_until(b'\n', &mut line)?;
        if read == 0 {
            break;
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        } else if line.len() as u64 > limit {
            bail!("a line is longer than {limit} bytes (--request); nothing after it was read");
        }
        match feed(&mut vessel, &line, false, None) {
            Fed::Next(Next::Quit(code)) => {
                vessel.close();
                return Ok(ExitCode::from(code));
            }
            Fed::Next(Next::Ready | Next::More) => {}
            Fed::Aborted => failed = true,
        }
    }
    let code = finish(&mut vessel, false);
    Ok(ExitCode::from(if failed { code.max(1) } else { code }))
}

/// Hands over one line. `interrupt` is set by Ctrl-C.
fn feed(
    vessel: &mut Vessel,
    line: &[u8],
    interactive: bool,
    interrupt: Option<&Arc<AtomicBool>>,
) -> Fed {
    let control = vessel.control().clone();
    let outcome = vessel.feed(line, interactive, |_, time| {
        if interrupt.is_some_and(|flag| flag.swap(false, Ordering::Relaxed)) {
            control.stop(Stop::Because("Interrupted by Ctrl-C.".into()));
        }
        std::thread::sleep(time);
    });
    match outcome {
        Outcome::Done(next) => Fed::Next(next),
        Outcome::Cut { reason, .. } => {
            report_abort(&reason.unwrap_or_default());
            Fed::Aborted
        }
    }
}

/// Tells the guest that the lines are over; answers the exit code.
fn finish(vessel: &mut Vessel, interactive: bool) -> u8 {
    let code = match vessel.finish(interactive) {
        Outcome::Done(code) => code,
        Outcome::Cut { reason, .. } => {
            report_abort(&reason.unwrap_or_default());
            1
        }
    };
    vessel.close();
    code
}

/// Says why a call was aborted.
fn report_abort(reason: &str) {
    terminal::note(format_args!("Error: {reason} The statement was aborted."));
}
