//! What the lines of a shell write, recorded (`--undo`): a statement alone, or all that a
//! transaction of theirs has come to when it is committed.

use super::Database;
use super::recorded::WriteCall;
use super::shell::{Counters, ExplainKind, RowSink, ShellError};
use super::tracked::{TrackedWrite, WriteMode};
use crate::answer::failure::Failure;
use crate::answer::output::Output;
use crate::answer::value::Value;
use crate::engine::guard::authorizer::{Mode, TransactionControl};
use crate::engine::statement::params::Params;

/// The hint for an irreversible write: other lines of the call have been run.
const ALONE: &str = "Run this statement or transaction again, alone, to write anyway; then \
                     earlier writes cannot be undone either.";

/// A transaction that a shell has begun.
#[derive(Debug, Default)]
pub(super) struct ShellTransaction {
    done: TrackedWrite,
    /// What was written in it.
    sql: String,
    /// Whether BEGIN began it, so that no RELEASE commits it.
    begun: bool,
    /// Its savepoints, each with the number of steps before it.
    marks: Vec<(String, usize)>,
}

impl ShellTransaction {
    fn mark(&self, name: &str) -> Option<usize> {
        let named = |(mark, _): &(String, usize)| mark.eq_ignore_ascii_case(name);
        self.marks.iter().rposition(named)
    }

    /// Whether a statement commits it.
    fn is_ended_by(&self, control: &TransactionControl) -> bool {
        match control {
            TransactionControl::Commit => true,
            TransactionControl::Release(name) => !self.begun && self.mark(name) == Some(0),
            _ => false,
        }
    }

    /// Goes along with a statement that does not end it.
    fn follow(&mut self, control: &TransactionControl) {
        match control {
            TransactionControl::Begin => self.begun = true,
            TransactionControl::Save(name) => {
                self.marks.push((name.clone(), self.done.steps.len()))
            }
            TransactionControl::Release(name) => {
                if let Some(at) = self.mark(name) {
                    self.marks.truncate(at);
                }
            }
            TransactionControl::Return(name) => {
                if let Some(at) = self.mark(name) {
                    self.done.steps.truncate(self.marks[at].1);
                    self.marks.truncate(at + 1);
                }
            }
            TransactionControl::Commit | TransactionControl::Rollback => {}
        }
    }
}

impl Database {
    /// Lets a statement control the transaction; `run` runs it.
    pub(super) fn control_recorded(
        &self,
        control: &TransactionControl,
        run: impl FnOnce() -> Result<Counters, ShellError>,
    ) -> Result<Counters, ShellError> {
        if !self.in_transaction() {
            self.pending.take();
            self.recover().map_err(ShellError::Refused)?;
        }
        let ended = self
            .pending
            .borrow_mut()
            .take_if(|pending| pending.is_ended_by(control));
        if let Some(pending) = ended {
            return self
                .commit_pending(pending)
                .map(|()| Counters::default())
                .map_err(ShellError::Refused);
        }
        let result = run();
        if !self.in_transaction() {
            self.pending.take();
        } else if result.is_ok() {
            let mut pending = self.pending.borrow_mut();
            pending.get_or_insert_default().follow(control);
        }
        result
    }

    fn commit_pending(&self, pending: ShellTransaction) -> Result<(), Failure> {
        let call = WriteCall::new(&pending.sql, &Params::None);
        let irreversible = match self.admit(&pending.done, &call) {
            Ok(irreversible) => irreversible,
            Err(failure) => {
                self.roll_back_open()?;
                return Err(failure.hint(ALONE));
            }
        };
        let mut output = Output::default();
        let committed = self.conclude(
            &pending.done,
            irreversible,
            WriteMode::Keep,
            &call,
            &mut output,
        );
        if committed.is_err() && self.in_transaction() {
            self.pending.replace(Some(pending));
        }
        committed
    }

    /// Runs a statement that writes.
    pub(super) fn write_recorded(
        &self,
        sql: &str,
        values: &[(String, Value)],
        sink: &mut dyn RowSink,
    ) -> Result<Counters, ShellError> {
        let alone = !self.in_transaction();
        if alone {
            self.pending.take();
            self.recover()
                .and_then(|()| self.trusted("BEGIN IMMEDIATE"))
                .map_err(ShellError::Refused)?;
        }
        let (result, done) = self.write_followed(sql, values, sink);
        if !self.in_transaction() {
            // SQLite has rolled it back.
            self.pending.take();
            return result;
        }
        if !alone {
            let mut pending = self.pending.borrow_mut();
            let pending = pending.get_or_insert_default();
            pending.sql.push_str(sql.trim());
            pending.sql.push(' ');
            pending.done.add(done, self.room());
            return result;
        }
        if result.is_err() && done.is_empty() {
            self.roll_back_open().map_err(ShellError::Refused)?;
            return result;
        }
        let call = WriteCall::new(sql, &Params::None);
        let mut output = Output::default();
        let kept = self
            .admit(&done, &call)
            .map_err(|failure| failure.hint(ALONE))
            .and_then(|irreversible| {
                self.conclude(&done, irreversible, WriteMode::Keep, &call, &mut output)
            });
        if self.in_transaction() {
            self.roll_back_open().map_err(ShellError::Refused)?;
        }
        let counters = result?;
        kept.map(|()| counters).map_err(ShellError::Refused)
    }

    /// Runs it, and answers what it has done, too: one that fails may have changed rows before.
    fn write_followed(
        &self,
        sql: &str,
        values: &[(String, Value)],
        sink: &mut dyn RowSink,
    ) -> (Result<Counters, ShellError>, TrackedWrite) {
        let refused = |failure| (Err(ShellError::Refused(failure)), TrackedWrite::default());
        let mut tracked = match self.track(WriteMode::Keep) {
            Ok(tracked) => tracked,
            Err(failure) => return refused(failure),
        };
        // Compiled again, after the start of the recorder.
        let mut statement = match self.compile(sql, Mode::Shell) {
            Ok(statement) => statement,
            Err(unprepared) => {
                return (
                    Err(self.unprepared_error(unprepared, sql)),
                    TrackedWrite::default(),
                );
            }
        };
        let seen = self.authorizer.seen();
        if let Err(failure) = tracked.before(self, &seen, sql, 0) {
            return refused(failure);
        }
        let how = (Mode::Shell, ExplainKind::Nothing);
        let result = self.go(&mut statement, sql, how, values, sink);
        drop(statement);
        let done = tracked
            .after(self, &seen, sql, 0)
            .and_then(|()| self.followed(tracked));
        let done =
            done.unwrap_or_else(|_| TrackedWrite::lost("what it changed could not be recorded"));
        (result, done)
    }
}
