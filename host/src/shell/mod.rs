//! The shell: lines from a terminal or a pipe, handed to the sandbox one by one.
//!
//! What the lines mean is the guest's affair. The host edits and remembers them, asks the guest how
//! a word could continue, makes Ctrl-C stop a statement, and keeps the shell running after an abort.
//!
//! - [`editor`]: lines from a terminal. [`history`]: those that were typed.

mod editor;
mod history;

use std::io::{self, BufRead as _, IsTerminal as _, Read as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, bail};

use crate::sandbox::bindings::server::Interruption;
use crate::sandbox::bindings::shell::Next;
use crate::sandbox::budget::Stop;
use crate::sandbox::person::ShellRunner;
use crate::terminal;

/// What became of a line.
enum Fed {
    /// The guest's answer.
    Next(Next),
    /// The call was aborted; a fresh instance takes the next line.
    Aborted,
}

/// Runs the shell until its lines end. `remember`: keep a history of what is typed.
pub fn run(runner: ShellRunner, remember: bool) -> Result<ExitCode> {
    if io::stdin().is_terminal() && io::stdout().is_terminal() {
        editor::run(runner, remember)
    } else {
        pipe(runner)
    }
}

/// Takes the lines of a pipe or a file.
fn pipe(mut runner: ShellRunner) -> Result<ExitCode> {
    let limit = runner.budgets().statement();
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
            bail!(
                "a line is longer than {limit} bytes (--memory, --request); nothing after it was read"
            );
        }
        match feed(&mut runner, &line, false, None) {
            Fed::Next(Next::Quit(code)) => {
                runner.close();
                return Ok(ExitCode::from(code));
            }
            Fed::Next(Next::Ready | Next::More) => {}
            Fed::Aborted => failed = true,
        }
    }
    let code = finish(&mut runner, false);
    Ok(ExitCode::from(if failed { code.max(1) } else { code }))
}

/// Hands over one line. `interrupt` is set by Ctrl-C.
fn feed(
    runner: &mut ShellRunner,
    line: &[u8],
    interactive: bool,
    interrupt: Option<&Arc<AtomicBool>>,
) -> Fed {
    let fed = runner.feed(line, interactive, |time| {
        if interrupt.is_some_and(|flag| flag.swap(false, Ordering::Relaxed)) {
            return Some(Stop::Because("interrupt", "Interrupted by Ctrl-C.".into()));
        }
        std::thread::sleep(time);
        None
    });
    match fed {
        Ok(next) => Fed::Next(next),
        Err(reason) => {
            report_abort(&reason);
            Fed::Aborted
        }
    }
}

/// Ends the guest's shell; answers the exit code.
fn finish(runner: &mut ShellRunner, interactive: bool) -> u8 {
    let code = runner.finish(interactive).unwrap_or_else(|reason| {
        report_abort(&reason);
        1
    });
    runner.close();
    code
}

/// Says why a call was aborted.
fn report_abort(reason: &Interruption) {
    let reason = match reason {
        Interruption::Cancelled => "",
        Interruption::Stopped(sentence) => sentence,
    };
    terminal::note(format_args!("Error: {reason} The statement was aborted."));
}
