//! Writes that are followed from their first statement to their end: what they overwrite is kept so
//! that they can be undone, and what they change is counted for a reader.

use std::rc::Rc;

use rusqlite::Connection;

use super::Database;
use super::recorded::sets_journal_mode;
use super::shell::{Counters, ShellError};
use crate::answer::failure::Failure;
use crate::engine::guard::authorizer::{Mode, Observed, TransactionControl};
use crate::engine::undo::Summary;
use crate::engine::undo::capture::Capture;
use crate::engine::undo::recorder::Recorder;
use crate::engine::undo::schema_diff::Object;
use crate::engine::undo::tally::Tally;

/// A write that is followed.
#[derive(Debug)]
pub(super) struct Followed {
    pub(super) tally: Tally,
    /// None in a dry run.
    pub(super) recorded: Option<Recorded>,
    /// The savepoints of a shell, each with the number of steps before it.
    savepoints: Vec<(String, usize)>,
}

/// What records it.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) recorder: Rc<Recorder>,
    /// Or why it cannot be undone.
    pub(super) capture: Result<Capture, String>,
    /// What SQLite counts up at each commit.
    pub(super) version: u32,
}

impl Followed {
    /// Goes along with a statement that controls the transaction.
    fn control(&mut self, control: &TransactionControl) {
        let at = |name: &String| {
            let named = |(savepoint, _): &(String, usize)| savepoint.eq_ignore_ascii_case(name);
            self.savepoints.iter().rposition(named)
        };
        match control {
            TransactionControl::Save(name) => {
                self.savepoints.push((name.clone(), self.tally.steps()))
            }
            TransactionControl::Release(name) => {
                if let Some(at) = at(name) {
                    self.savepoints.truncate(at);
                }
            }
            TransactionControl::Return(name) => {
                if let Some(at) = at(name) {
                    self.tally.forget(self.savepoints[at].1);
                    self.savepoints.truncate(at + 1);
                }
            }
            TransactionControl::Begin
            | TransactionControl::Commit
            | TransactionControl::Rollback => {}
        }
    }
}

impl Database {
    /// Starts to follow what is written; what it is `recorded` by, if it is.
    pub(super) fn follow(&self, recorded: Option<Recorded>) -> Result<(), Failure> {
        let link = self.link()?;
        link.followed.replace(Some(Followed {
            tally: Tally::start(&link.connection),
            recorded,
            savepoints: Vec::new(),
        }));
        Ok(())
    }

    /// Before a statement runs that was `seen` while it was prepared.
    pub(super) fn before(&self, seen: &Observed) -> Result<(), Failure> {
        if !seen.ddl {
            return Ok(());
        }
        self.followed(|connection, followed| followed.tally.before(connection, seen))
    }

    /// After it has run.
    pub(super) fn after(&self, seen: &Observed) -> Result<(), Failure> {
        if !seen.ddl {
            return Ok(());
        }
        self.followed(|connection, followed| followed.tally.after(connection))
    }

    /// The schema as it was before a transaction whose statements were not seen alone.
    pub(super) fn after_all(&self, before: Vec<Object>) -> Result<(), Failure> {
        self.followed(|connection, followed| followed.tally.from(connection, before))
    }

    fn followed(
        &self,
        act: impl FnOnce(&Connection, &mut Followed) -> rusqlite::Result<()>,
    ) -> Result<(), Failure> {
        let link = self.link()?;
        let Some(followed) = &mut *link.followed.borrow_mut() else {
            return Ok(());
        };
        let mode = self.authorizer.enter(Mode::Trusted);
        let acted = act(&link.connection, followed).map_err(|error| self.failure(&error, "", 0));
        self.authorizer.enter(mode);
        acted
    }

    /// What was changed so far; ends counting.
    pub(super) fn summary(&self) -> Result<Summary, Failure> {
        let link = self.link()?;
        let Some(followed) = link.followed.take() else {
            return Ok(Summary::default());
        };
        self.authorizer.enter(Mode::Trusted);
        let (steps, parts) = followed
            .tally
            .stop(&link.connection)
            .map_err(|error| self.failure(&error, "", 0))?;
        Ok(Summary::new(&steps, &parts))
    }

    /// Lets a shell run a statement that writes or controls a transaction; `run` runs it, and
    /// compiles it before if it is told so.
    pub(super) fn recorded_in_shell(
        &self,
        sql: &str,
        seen: &Observed,
        run: impl FnOnce() -> Result<Counters, ShellError>,
    ) -> Result<Counters, ShellError> {
        if sets_journal_mode(sql) && !self.in_transaction() {
            return self
                .around_journal_mode(sql, run)
                .unwrap_or_else(|failure| Err(ShellError::Refused(failure)));
        }
        if !self.is_following() || !self.in_transaction() {
            self.record("", false).map_err(ShellError::Refused)?;
        }
        let link = self.link().map_err(ShellError::Refused)?;
        let steps = link
            .followed
            .borrow_mut()
            .as_mut()
            .map_or(0, |followed| followed.tally.steps());
        let changed = link.connection.total_changes();
        self.before(seen).map_err(ShellError::Refused)?;
        if let Some(followed) = &*link.followed.borrow()
            && let Some(recorded) = &followed.recorded
            && seen.control.is_none()
        {
            recorded.recorder.add_sql(sql);
        }
        let result = run();
        self.after(seen).map_err(ShellError::Refused)?;
        if let Some(followed) = &mut *link.followed.borrow_mut() {
            if result.is_err() && link.connection.total_changes() == changed {
                // What it did before it failed was taken back.
                followed.tally.forget(steps);
            }
            if let Some(control) = seen.control.as_ref().filter(|_| result.is_ok()) {
                followed.control(control);
            }
        }
        if !self.in_transaction()
            && let Some(refused) = self.keep()
        {
            return result.map_err(|_| ShellError::Refused(refused));
        }
        result
    }

    pub(super) fn is_following(&self) -> bool {
        self.link
            .as_ref()
            .is_some_and(|link| link.followed.borrow().is_some())
    }
}
