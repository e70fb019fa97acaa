//! The shell: lines in, text out, as the sqlite3 program takes and prints them.
//!
//! One interpreter for a terminal, for a script on a pipe, and for the command `run`.
//! <https://www.sqlite.org/cli.html> says what it imitates; where a dot command would reach outside
//! of the sandbox, it says why not and what to use.
//!
//! - [`pending`]: lines until they are a statement.
//! - [`state`]: what dot commands set; [`words`]: how their arguments are read.
//! - [`statement`]: SQL, its results and its errors; [`explain`]: how plans are laid out.
//! - [`dot`]: the dot commands; [`set`], [`parameter`], [`listings`], [`lint`],
//!   [`expert`]: what they do; [`files`], [`commands`]: those that read and make files, and those that are commands
//!   of the table.
//! - [`console`]: where all of it is printed; [`redirect`]: results that go to a file instead.
//! - [`completion`]: how a line could continue. [`run`]: the command.

mod commands;
pub mod completion;
pub mod console;
mod dot;
#[cfg(test)]
mod dump_tests;
mod expert;
mod explain;
mod files;
mod lint;
mod listings;
mod parameter;
mod pending;
mod redirect;
#[cfg(test)]
mod round_trip_tests;
pub mod run;
mod set;
mod state;
mod statement;
#[cfg(test)]
mod tests;
mod words;

use std::io;

use crate::answer::failure::Failure;
use crate::answer::value::Value;
use crate::command::interface::context::Context;
use crate::engine::database::Database;
use console::Console;
use pending::Pending;
use redirect::{Redirect, RedirectedOutput};
use state::ShellState;

/// What the shell waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A statement or a dot command.
    Ready,
    /// The rest of a statement.
    More,
    /// Nothing: it is over, with this exit code.
    Quit(u8),
}

/// Why a dot command or a statement was given up.
#[derive(Debug)]
enum LineError {
    /// What to print, without a newline.
    Said(String),
    /// A dot command was not given what it takes.
    Usage,
    /// The output takes nothing more.
    Output(io::Error),
    /// Not refused: the shell is to end.
    Quit(u8),
}

impl From<io::Error> for LineError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<Failure> for LineError {
    fn from(failure: Failure) -> Self {
        Self::Said(format!("Error: {failure}"))
    }
}

fn error(message: impl std::fmt::Display) -> LineError {
    LineError::Said(format!("Error: {message}"))
}

/// What a line works with.
struct ShellContext<'a> {
    context: &'a mut Context,
    console: &'a mut dyn Console,
}

/// One session.
#[derive(Debug)]
pub struct Shell {
    state: ShellState,
    /// Lines of a statement that is not whole yet.
    pending: Pending,
    /// The number of its first line.
    pending_line: u64,
    /// The number of the last line.
    line: u64,
    errors: u64,
    interactive: bool,
    /// The database, unless it is the served one.
    db: Option<String>,
    /// Where rows go instead of the console.
    redirect: Option<Redirect>,
    /// How many files read one another.
    depth: usize,
    /// Fuel of the last statement.
    fuel: u64,
}

impl Shell {
    /// A shell with everything as the sqlite3 program starts. `interactive`: a user types at it, so
    /// that errors need no line number, and an error is no reason to fail in the end.
    pub fn new(interactive: bool, db: Option<&str>) -> Self {
        Self {
            state: ShellState::default(),
            pending: Pending::default(),
            pending_line: 0,
            line: 0,
            errors: 0,
            interactive,
            db: db.map(ToOwned::to_owned),
            redirect: None,
            depth: 0,
            fuel: 0,
        }
    }

    /// A shell that continues from the saved state of an earlier one, and says what was lost with it.
    pub fn resume(interactive: bool, saved_state: &str, console: &mut dyn Console) -> Self {
        let mut shell = Self::new(interactive, None);
        if let Some((state, open, line)) = ShellState::read(saved_state) {
            shell.state = state;
            shell.line = line;
            if open {
                let _ = console.complain(
                    "The open transaction was rolled back, and temporary tables are lost.",
                );
            }
        }
        shell
    }

    /// What a later shell needs to continue.
    pub fn saved_state(&self, context: &mut Context) -> String {
        let open = self.database(context).is_ok_and(|db| db.in_transaction());
        self.state.write(open, self.line)
    }

    /// How many statements and dot commands failed.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// Whether an error has ended it all.
    pub fn bails(&self) -> bool {
        self.state.bail && self.errors > 0 && !self.interactive
    }

    /// The exit code, unless another is asked for.
    fn code(&self) -> u8 {
        u8::from(self.errors > 0 && !self.interactive)
    }

    /// Takes one line, without its newline.
    pub fn feed(&mut self, line: &[u8], context: &mut Context, console: &mut dyn Console) -> Next {
        self.line += 1;
        let mut cx = ShellContext { context, console };
        if let Ok(database) = self.database(cx.context) {
            database.keep_transactions(true);
        }
        let mut taken = self.take(line, &mut cx);
        if matches!(taken, Err(LineError::Said(_))) {
            taken = self.settle(taken, &mut cx).and(Err(LineError::Quit(1)));
        }
        if matches!(taken, Err(LineError::Quit(_))) {
            let closed = self.close_redirect();
            if let Err(refusal) = self.settle(closed, &mut cx) {
                taken = Err(refusal);
            }
        }
        let flushed = cx.console.flush();
        match taken.and(flushed.map_err(LineError::from)) {
            // Whoever closed the pipe has seen enough.
            Err(LineError::Output(_)) => Next::Quit(0),
            // As in the sqlite3 program, to exit with 0 is to exit like the end of the lines.
            Err(LineError::Quit(0)) => Next::Quit(self.code()),
            Err(LineError::Quit(code)) => Next::Quit(code),
            _ if self.bails() => Next::Quit(1),
            _ if self.pending.is_empty() => Next::Ready,
            _ => Next::More,
        }
    }

    /// The lines are over: runs what is left of a statement, and answers the exit code.
    pub fn finish(&mut self, context: &mut Context, console: &mut dyn Console) -> u8 {
        let mut cx = ShellContext { context, console };
        let ended = self.flush_pending(&mut cx);
        let closed = self.close_redirect();
        let _ = self.settle(closed, &mut cx);
        let _ = cx.console.flush();
        match ended {
            Err(LineError::Quit(code)) => code,
            _ => self.code(),
        }
    }

    /// Rolls back what is still open, and takes no transaction across calls any more; answers whether
    /// there was one.
    pub fn close(&mut self, context: &mut Context) -> bool {
        self.redirect = None;
        self.database(context).is_ok_and(|database| {
            let open = database.roll_back();
            database.keep_transactions(false);
            open
        })
    }

    /// Forgets the statement that is not whole yet, as Ctrl-C asks for.
    pub fn forget(&mut self) {
        self.pending = Pending::default();
    }

    /// Where results go.
    fn out<'s>(&'s mut self, cx: &'s mut ShellContext<'_>) -> RedirectedOutput<'s> {
        RedirectedOutput {
            redirect: self.redirect.as_mut(),
            console: cx.console,
        }
    }

    /// The line that a statement started on; none where a user has just typed it.
    fn line_number(&self) -> Option<u64> {
        (!self.interactive || self.depth > 0).then_some(self.pending_line)
    }

    /// Ends what `.once` began.
    fn end_once(&mut self, cx: &mut ShellContext<'_>) -> Result<(), LineError> {
        let Some(left) = self.redirect.as_mut().and_then(|to| to.left.as_mut()) else {
            return Ok(());
        };
        *left -= 1;
        if *left > 0 {
            return Ok(());
        }
        let closed = self.close_redirect();
        self.settle(closed, cx)
    }

    /// Gives the file that results went to its name.
    fn close_redirect(&mut self) -> Result<(), LineError> {
        match self.redirect.take() {
            Some(redirect) => Ok(redirect.file.borrow_mut().publish()?),
            None => Ok(()),
        }
    }

    /// Whether a budget or the client has stopped the call.
    fn stopped(&self, cx: &ShellContext<'_>) -> bool {
        cx.context.engine.interrupt().interruption().is_some()
    }

    fn database<'c>(&self, context: &'c mut Context) -> Result<&'c mut Database, Failure> {
        context.engine.database(self.db.as_deref())
    }

    /// # Errors
    ///
    /// What ends the lines; what else fails is printed.
    fn take(&mut self, line: &[u8], cx: &mut ShellContext<'_>) -> Result<(), LineError> {
        let mut line = line.strip_suffix(b"\r").unwrap_or(line);
        if self.line == 1 {
            if line.starts_with(b"\xff\xfe") || line.starts_with(b"\xfe\xff") {
                return Err(error(
                    "the script is UTF-16; convert it to UTF-8, with iconv for example. Nothing \
                     of it was run.",
                ));
            }
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if self.pending.is_empty() {
            // Nothing, or the end of nothing.
            if line.trim_ascii().is_empty() || line.starts_with(b"#") || terminates(line) {
                return self.echo(&String::from_utf8_lossy(line), cx);
            }
            if let Some(command) = line.strip_prefix(b".") {
                let result = match std::str::from_utf8(command) {
                    Ok(command) => {
                        self.echo(&format!(".{command}"), cx)?;
                        dot::run(self, command, cx)
                    }
                    Err(_) => Err(error(format!("line {} is not UTF-8", self.line))),
                };
                self.settle(result, cx)?;
                return self.end_once(cx);
            }
            self.pending_line = self.line;
            self.pending.push(line);
        } else if terminates(line) && self.pending.lacks_semicolon() {
            self.pending.push(b";");
        } else {
            self.pending.push(line);
        }
        if self.pending.is_whole() {
            return self.flush_pending(cx);
        }
        if self.pending.is_comment() {
            let comments = self.pending.take(self.pending_line);
            return self.echo(&comments.unwrap_or_default(), cx);
        }
        Ok(())
    }

    /// Runs what was gathered, whole or not.
    fn flush_pending(&mut self, cx: &mut ShellContext<'_>) -> Result<(), LineError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let bytes = self.pending.has_strays();
        let result = match self.pending.take(self.pending_line) {
            Ok(_) if bytes && let Err(refusal) = self.takes_bytes(cx) => Err(refusal),
            Ok(sql) => {
                self.echo(&sql, cx)?;
                statement::group(self, &sql, cx)
            }
            Err(refusal) => Err(refusal),
        };
        let settled = self.settle(result, cx);
        self.end_once(cx)?;
        settled
    }

    /// Refuses texts that are written by their bytes where those would be read as UTF-16.
    fn takes_bytes(&mut self, cx: &mut ShellContext<'_>) -> Result<(), LineError> {
        let rows = statement::collect(self, "PRAGMA encoding", cx)?;
        match rows.first().and_then(|row| row.first()) {
            Some(Value::Text(encoding)) if encoding != "UTF-8" => Err(error(format!(
                "line {}: the text is not UTF-8, and the database, which is {encoding}, cannot \
                 hold its bytes. Convert the script to UTF-8, with iconv for example.",
                self.pending_line
            ))),
            _ => Ok(()),
        }
    }

    fn echo(&self, text: &str, cx: &mut ShellContext<'_>) -> Result<(), LineError> {
        if self.state.echo {
            writeln!(cx.console, "{text}")?;
        }
        Ok(())
    }

    /// Prints why something failed, and counts it.
    fn settle(
        &mut self,
        result: Result<(), LineError>,
        cx: &mut ShellContext<'_>,
    ) -> Result<(), LineError> {
        match result {
            Err(LineError::Said(message)) => {
                self.errors += 1;
                cx.console.complain(&message)?;
                Ok(())
            }
            // Not the console, then: the file that results go to. It is given up, and gone.
            Err(LineError::Output(failed)) if failed.kind() != io::ErrorKind::BrokenPipe => {
                self.errors += 1;
                self.redirect = None;
                cx.console.complain(&format!("Error: {failed}"))?;
                Ok(())
            }
            other => other,
        }
    }
}

/// Whether the line ends a statement as other systems have it: `/` or `go` alone.
fn terminates(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line == b"/" || line.eq_ignore_ascii_case(b"go")
}
