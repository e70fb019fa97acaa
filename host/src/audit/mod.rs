//! The owner's record of calls: lines of JSON, in a file or on standard error.
//!
//! What a call is, its guest says; what it took, the host knows. Nothing that goes wrong here stops
//! a call: it is logged once, and told to whoever asks [`Audit::trouble`]. `docs/audit.md` is what the
//! lines mean.
//!
//! - [`line`](mod@line): the lines. [`file`](mod@file): the file and its rotation. [`key`]: what digests are made with.

mod file;
mod key;
mod line;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use anyhow::{Result, bail};

use self::file::AuditFile;
use self::key::Key;
use self::line::{CallLine, StartLine};
use crate::budgets::Budgets;
use crate::log::{self, log};

/// Calls that one line of a client may hold, with the longest batch in mind.
const CALLS_AT_ONCE: usize = 100;

/// Where the lines go, and what stands in them.
#[derive(Clone, Debug)]
pub struct Options {
    /// The file; `-` is standard error.
    pub file: PathBuf,
    /// The size in bytes at which a file is rotated.
    pub size: u64,
    /// Whether statements stand in the lines.
    pub sql: bool,
}

/// What the first line of a server says.
#[derive(Debug)]
pub struct Start<'a> {
    /// What is served.
    pub database: &'a Path,
    /// Whether every write is refused.
    pub readonly: bool,
    /// Below which folder other files can be named.
    pub root: Option<&'a Path>,
    /// The owner's notes.
    pub notes: Option<&'a Path>,
    /// Where threads are remembered.
    pub state: Option<&'a Path>,
    /// The budgets.
    pub budgets: &'a Budgets,
}

/// A call as it begins, in the guest's words.
#[derive(Debug)]
pub struct Call {
    /// The id of its request as JSON.
    pub request: String,
    /// The client's thread.
    pub thread: Option<String>,
    /// The tool.
    pub tool: String,
    /// The names of the arguments, and their values as JSON.
    pub arguments: Vec<(String, String)>,
    /// What it runs.
    pub sql: Option<String>,
}

/// How a call ended, in the guest's words.
#[derive(Debug)]
pub struct Outcome {
    /// `ok`, or a status.
    pub status: String,
    /// Rows answered.
    pub rows: u64,
    /// Rows changed.
    pub changes: u64,
}

/// What a call has used up to some point.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// Work, in units of the meter.
    pub fuel: u64,
    /// Time.
    pub time: Duration,
}

/// The record of calls.
pub struct Audit {
    inner: Mutex<Inner>,
}

struct Inner {
    out: Out,
    name: String,
    key: Key,
    sql: bool,
    /// The last call that began with the line at hand, until its own line is written.
    call: Option<Recorded>,
    /// How many calls began with the line at hand.
    calls: usize,
    /// Lines that could not be written, and why the last of them could not.
    lost: Option<(u64, String)>,
    buffer: Vec<u8>,
}

enum Out {
    File(AuditFile),
    StandardError,
}

/// A call that has begun.
struct Recorded {
    line: CallLine,
    at: Spent,
    ended: bool,
}

impl Audit {
    /// Opens the file, and makes its key if there is none.
    ///
    /// # Errors
    ///
    /// If either cannot be opened: whoever wants a record learns at the start that there is none.
    pub fn open(options: &Options) -> Result<Self> {
        let (out, key) = if options.file == Path::new("-") {
            (Out::StandardError, Key::random()?)
        } else {
            let file = AuditFile::open(&options.file, options.size)?;
            (Out::File(file), Key::beside(&options.file)?)
        };
        Ok(Self {
            inner: Mutex::new(Inner {
                out,
                name: options.file.display().to_string(),
                key,
                sql: options.sql,
                call: None,
                calls: 0,
                lost: None,
                buffer: Vec::new(),
            }),
        })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // One thread at a time uses it; a panic elsewhere leaves it usable.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A server starts.
    pub fn start(&self, start: &Start<'_>) {
        let line = StartLine::new(start);
        self.inner().write(&line);
    }

    /// A call begins, after its line of the client has used so much.
    ///
    /// # Errors
    ///
    /// If another one has not ended, or one line holds more calls than any batch: no honest guest does that.
    pub fn begin(&self, call: Call, spent: Spent) -> Result<()> {
        let mut inner = self.inner();
        if inner.call.as_ref().is_some_and(|call| !call.ended) || inner.calls == CALLS_AT_ONCE {
            bail!("the guest reports a call that cannot be one");
        }
        // Its own reply shares a line with others.
        inner.write_call(None);
        inner.calls += 1;
        let line = CallLine::new(call, &inner.key, inner.sql, SystemTime::now());
        inner.call = Some(Recorded {
            line,
            at: spent,
            ended: false,
        });
        Ok(())
    }

    /// The call has ended.
    ///
    /// # Errors
    ///
    /// If none has begun.
    pub fn end(&self, outcome: Outcome, spent: Spent) -> Result<()> {
        let mut inner = self.inner();
        let Some(call) = inner.call.as_mut().filter(|call| !call.ended) else {
            bail!("the guest reports the end of a call that has not begun");
        };
        call.ended = true;
        call.line.end(outcome, call.at, spent);
        Ok(())
    }

    /// The client's line is answered, by so many bytes, or the guest was aborted: before anything is
    /// sent, what is left to write is written. `cut_by` is what ended the call from outside.
    pub fn finish(&self, reply: Option<u64>, spent: Spent, cut_by: Option<&'static str>) {
        let mut inner = self.inner();
        if let Some(call) = &mut inner.call {
            call.line.cut_by = cut_by;
            if !call.ended {
                call.line.abort(call.at, spent);
            }
        }
        let reply = reply.filter(|_| inner.calls == 1);
        inner.write_call(reply);
        inner.calls = 0;
    }

    /// What has gone wrong since the start, in a sentence.
    pub fn trouble(&self) -> Option<String> {
        let inner = self.inner();
        let (lost, why) = inner.lost.as_ref()?;
        let lines = if *lost == 1 { "line" } else { "lines" };
        Some(format!(
            "The audit lacks {lost} {lines} that could not be written: {why}."
        ))
    }
}

/// A value as the lines show it: JSON in printable ASCII, on one line.
pub fn ascii(value: &impl serde::Serialize) -> String {
    let mut text = Vec::new();
    match line::write(&mut text, value) {
        Ok(()) => String::from_utf8_lossy(&text).into_owned(),
        Err(error) => error.to_string(),
    }
}

impl Inner {
    fn write_call(&mut self, reply: Option<u64>) {
        if let Some(Recorded { mut line, .. }) = self.call.take() {
            line.bytes = reply;
            self.write(&line);
        }
    }

    fn write(&mut self, line: &impl serde::Serialize) {
        self.buffer.clear();
        let written = line::write(&mut self.buffer, line).and_then(|()| match &mut self.out {
            Out::File(file) => file.write(&self.buffer),
            Out::StandardError if log::pass_on(&self.buffer) => Ok(()),
            Out::StandardError => Err(io::Error::other("nobody reads standard error")),
        });
        if let Err(error) = written {
            let lost = self.lost.take().map_or(0, |(lost, _)| lost);
            if lost == 0 {
                log(format_args!(
                    "{}: {error}; calls go on without their line of the audit",
                    self.name
                ));
            }
            self.lost = Some((lost + 1, error.to_string()));
        }
    }
}
