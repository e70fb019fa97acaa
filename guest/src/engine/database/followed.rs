//! Writes that are followed from their first statement to their end: what they overwrite is kept so
//! that they can be undone, and what they change is counted for a reader.

use rusqlite::Connection;

use super::report::{Change, changes, lines};
use super::shell::{Counters, ShellError};
use super::{Access, Database, OpenConnection};
use crate::answer::failure::{Failure, Status};
use crate::answer::output::Output;
use crate::engine::connection;
use crate::engine::guard::authorizer::{Mode, Observed, TransactionControl};
use crate::engine::undo::Summary;
use crate::engine::undo::capture::{Capture, Images, Irreversible};
use crate::engine::undo::history::{Entry, History, NewEntry};
use crate::engine::undo::schema_diff::Object;
use crate::engine::undo::tally::Tally;
use crate::text::scan;

/// Characters of a write's SQL that are kept.
const SQL_CHARS: usize = 120;

/// A write that is followed.
#[derive(Debug)]
pub(super) struct Followed {
    tally: Tally,
    /// None in a dry run.
    capture: Option<Capture>,
    /// What a shell has written in the transaction that is open.
    sql: String,
    /// Its savepoints, each with the number of steps before it.
    savepoints: Vec<(String, usize)>,
}

/// What became of a write that was committed.
#[derive(Debug)]
pub(super) struct Written {
    /// Its number, if it was recorded.
    number: Option<i64>,
    /// Why it cannot be undone, if it cannot.
    irreversible: Option<Irreversible>,
    /// How many older writes were dropped for it.
    dropped: u64,
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

impl OpenConnection {
    /// Lets another connection read the database as it is, until [`OpenConnection::end_reading`].
    fn begin_reading(
        &self,
        open: impl FnOnce() -> rusqlite::Result<Connection>,
    ) -> rusqlite::Result<()> {
        let mut reader = self.reader.borrow_mut();
        let reader = match reader.take() {
            Some(there) => reader.insert(there),
            None => reader.insert(open()?),
        };
        if !reader.is_autocommit() {
            reader.execute_batch("ROLLBACK")?;
        }
        // A transaction begins with the first look.
        reader.execute_batch("BEGIN; SELECT count(*) FROM main.sqlite_schema")
    }

    fn end_reading(&self, log_is_long: bool) -> rusqlite::Result<()> {
        if let Some(reader) = &*self.reader.borrow()
            && !reader.is_autocommit()
        {
            reader.execute_batch("ROLLBACK")?;
        }
        if log_is_long {
            // As after every commit, when the reader stood in the way.
            self.connection
                .execute_batch("PRAGMA main.wal_checkpoint(PASSIVE)")?;
        }
        Ok(())
    }
}

impl Database {
    /// Whether what is written is kept, so that it can be undone.
    pub(super) fn is_recorded(&self) -> bool {
        self.settings.undo.is_some()
    }

    pub(super) fn history(&self) -> Result<&History, Failure> {
        if let Some(history) = self.history.get() {
            return Ok(history);
        }
        let undo = self.settings.undo.as_ref().ok_or_else(unrecorded)?;
        let room = undo.bytes.min(self.settings.limits.disk_bytes / 4);
        let history =
            History::open(&undo.file, room).map_err(|error| self.record_failure(&error))?;
        Ok(self.history.get_or_init(|| history))
    }

    pub(super) fn record_failure(&self, error: &rusqlite::Error) -> Failure {
        let failure = self.failure(error, "", 0);
        Failure {
            message: format!("The record for undo could not be used: {}", failure.message),
            ..failure
        }
    }

    /// Starts to follow what is written, and if `kept` so that it can be undone.
    pub(super) fn follow(&self, kept: bool) -> Result<(), Failure> {
        self.authorizer.enter(Mode::Trusted);
        let link = self.link()?;
        link.followed.take();
        let limits = &self.settings.limits;
        // All of one write is in memory once.
        let most = self.settings.undo.as_ref().map_or(0, |undo| undo.bytes);
        let room = most.min(limits.memory_bytes / 4);
        let start = || {
            Capture::start(&link.connection, room, || {
                link.begin_reading(|| connection::open_for_us(&self.file, limits, &self.interrupt))
            })
        };
        let capture = kept
            .then(start)
            .transpose()
            .map_err(|error| self.failure(&error, "", 0))?;
        link.followed.replace(Some(Followed {
            tally: Tally::start(&link.connection),
            capture,
            sql: String::new(),
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

    /// Runs what writes to its end, and keeps what undoes it.
    pub(super) fn recorded<T>(
        &self,
        sql: &str,
        output: &mut Output,
        run: impl FnOnce(&mut Output) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if !self.is_recorded() {
            return run(output);
        }
        if sets_journal_mode(sql) {
            let done = self.around_journal_mode(sql, || run(output));
            self.describe_writes(output);
            return done;
        }
        self.follow(true)?;
        let result = run(output);
        if result.is_err() && self.in_transaction() {
            self.roll_back_open()?;
        }
        // A statement that fails may have been committed in part.
        self.keep(sql);
        self.describe_writes(output);
        result
    }

    /// The same, for a client's statements.
    pub(super) fn kept(
        &self,
        sql: &str,
        run: impl FnOnce() -> Result<Output, Failure>,
    ) -> Result<Output, Failure> {
        let mut told = Output::default();
        let mut output = self.recorded(sql, &mut told, |_| run())?;
        output.warnings.append(&mut told.warnings);
        output.notes.append(&mut told.notes);
        output.extra.append(&mut told.extra);
        Ok(output)
    }

    /// Tells in `output` what was written since it was last told.
    pub fn describe_writes(&self, output: &mut Output) {
        let written = self.written.take();
        for write in &written {
            if let Some(why) = &write.irreversible {
                let name = write
                    .number
                    .map_or("This write".into(), |number| format!("Write {number}"));
                output.warnings.push(format!(
                    "{name} cannot be undone, nor can the writes before it: {why}."
                ));
            }
        }
        let numbers: Vec<i64> = written.iter().filter_map(|write| write.number).collect();
        match *numbers.as_slice() {
            [] => {}
            [number] => {
                output.notes.push(format!("Recorded as write {number}."));
                output.extra.insert("write".into(), number.into());
            }
            [first, .., last] => {
                output
                    .notes
                    .push(format!("Recorded as writes {first} to {last}."));
                output.extra.insert("writes".into(), numbers.into());
            }
        }
        match written.iter().map(|write| write.dropped).sum() {
            0_u64 => {}
            dropped => output.notes.push(format!(
                "The undo record is full: its {dropped} oldest writes were dropped and can no longer be undone."
            )),
        }
    }

    /// Runs what changes the journal mode: no pages undo that.
    fn around_journal_mode<T>(&self, sql: &str, run: impl FnOnce() -> T) -> T {
        let is_wal = || {
            let sql = "PRAGMA main.journal_mode";
            self.connection()
                .ok()?
                .query_row(sql, [], |row| {
                    row.get_ref(0)
                        .map(|mode| mode.as_bytes().ok() == Some(b"wal"))
                })
                .ok()
        };
        if let Ok(link) = self.link() {
            // It would be in the way.
            link.reader.take();
        }
        self.authorizer.enter(Mode::Trusted);
        let before = is_wal();
        let done = run();
        self.authorizer.enter(Mode::Trusted);
        if before != is_wal() {
            let why = "the journal mode was changed".to_owned();
            self.put_down(sql, &Summary::default(), Err(why));
        }
        done
    }

    /// Keeps what undoes the write that has ended, if it was committed. It is done, so that what
    /// goes wrong here makes it irreversible and no more.
    pub(super) fn keep(&self, sql: &str) {
        let Ok(link) = self.link() else { return };
        self.authorizer.enter(Mode::Trusted);
        self.interrupt.mute(true);
        let capture = link
            .followed
            .borrow_mut()
            .as_mut()
            .and_then(|followed| followed.capture.take());
        let summary = self.summary().unwrap_or_default();
        let Some(capture) = capture else {
            self.interrupt.mute(false);
            return;
        };
        let log_is_long = capture.log_is_long();
        let reads = capture.reads();
        let written = capture.finish(link.reader.borrow().as_ref());
        if reads {
            // It begins anew, if it cannot end.
            let _ = link.end_reading(log_is_long);
        }
        let written = written.unwrap_or_else(|error| Some(Err(error.to_string())));
        if let Some(written) = written {
            self.put_down(sql, &summary, written);
        }
        self.interrupt.mute(false);
    }

    fn put_down(&self, sql: &str, summary: &Summary, written: Result<Images, Irreversible>) {
        let mut told = lines(summary);
        told.extend(changes(summary).iter().map(Change::in_short));
        if told.is_empty() {
            told.push(format!("{}: no rows", scan::first_word(sql).to_uppercase()));
        }
        let start: String = sql.trim().chars().take(SQL_CHARS).collect();
        let draft = NewEntry {
            database: &self.title,
            command: self.interrupt.command(),
            sql: &start,
            summary: &told.join("; "),
        };
        let kept = self.history().and_then(|history| {
            let added = match &written {
                Ok(images) if summary.is_empty() && images.are_all_the_same() => {
                    history.go_on(&self.title, images.state).map(|()| None)
                }
                _ => history.add(&draft, &written).map(Some),
            };
            added.map_err(|error| self.record_failure(&error))
        });
        let irreversible = match (&kept, written) {
            (Err(failure), _) => Some(failure.message.trim_end_matches('.').to_owned()),
            (Ok(_), Err(why)) => Some(why),
            (Ok(_), Ok(_)) => None,
        };
        let (number, dropped) = match kept {
            Ok(Some((number, dropped))) => (Some(number), dropped),
            _ => (None, 0),
        };
        if number.is_some() || irreversible.is_some() {
            self.written.borrow_mut().push(Written {
                number,
                irreversible,
                dropped,
            });
        }
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
            return self.around_journal_mode(sql, run);
        }
        if !self.is_following() || !self.in_transaction() {
            self.follow(true).map_err(ShellError::Refused)?;
        }
        let link = self.link().map_err(ShellError::Refused)?;
        let steps = link
            .followed
            .borrow_mut()
            .as_mut()
            .map_or(0, |followed| followed.tally.steps());
        let changed = link.connection.total_changes();
        self.before(seen).map_err(ShellError::Refused)?;
        let result = run();
        self.after(seen).map_err(ShellError::Refused)?;
        if let Some(followed) = &mut *link.followed.borrow_mut() {
            if result.is_err() && link.connection.total_changes() == changed {
                // What it did before it failed was taken back.
                followed.tally.forget(steps);
            }
            match &seen.control {
                Some(control) if result.is_ok() => followed.control(control),
                Some(_) => {}
                None => {
                    followed.sql.push_str(sql.trim());
                    followed.sql.push(' ');
                }
            }
        }
        if !self.in_transaction() {
            let written = link
                .followed
                .borrow_mut()
                .as_mut()
                .map(|followed| std::mem::take(&mut followed.sql));
            self.keep(&written.unwrap_or_default());
        }
        result
    }

    fn is_following(&self) -> bool {
        self.link
            .as_ref()
            .is_some_and(|link| link.followed.borrow().is_some())
    }

    /// What was written to this database, the latest first.
    ///
    /// # Errors
    ///
    /// `unsupported` if nothing is kept, and whatever else SQLite or a budget refuses.
    pub fn past(&mut self, most: u32) -> Result<(Vec<Entry>, u64), Failure> {
        if !self.is_recorded() {
            return Err(unrecorded());
        }
        self.begin(Access::Read)?;
        let listed = self.history().and_then(|history| {
            history
                .list(&self.title, most)
                .and_then(|entries| Ok((entries, history.dropped()?)))
                .map_err(|error| self.record_failure(&error))
        });
        self.end(listed)
    }
}

/// Whether a statement may change the journal mode. What it is mistaken for is irreversible.
fn sets_journal_mode(sql: &str) -> bool {
    scan::first_word(sql).eq_ignore_ascii_case("PRAGMA")
        && scan::words(sql).any(|word| word == "journal_mode")
}

pub(super) fn unrecorded() -> Failure {
    Failure::new(
        Status::Unsupported,
        "Nothing is recorded that could be undone: only a server (sqlarium mcp) records the writes \
         of its session, unless it was started with --no-undo or --readonly.",
    )
    .hint("To see beforehand what a single write would change, use dry_run.")
}
