//! Writes that are recorded, so that they can be undone.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use super::followed::Recorded;
use super::report::{Change, changes, lines};
use super::{Access, Database};
use crate::answer::failure::{Failure, Status};
use crate::answer::output::Output;
use crate::engine::guard::authorizer::Mode;
use crate::engine::undo::capture::{Capture, Commit, End};
use crate::engine::undo::history::{Entry, Held, History};
use crate::engine::undo::recorder::{Outcome, Recorder};
use crate::engine::undo::restore;
use crate::engine::undo::{Summary, data_version};
use crate::storage::ErrorCode;
use crate::text::scan;

/// What was written to a database.
#[derive(Debug, Default)]
pub struct Past {
    /// The writes, the latest first.
    pub entries: Vec<Entry>,
    /// How many were dropped.
    pub dropped: u64,
    /// Whether somebody else has written since the last one.
    pub since: bool,
}

impl Database {
    /// Whether what is written is kept, so that it can be undone.
    pub(super) fn is_recorded(&self) -> bool {
        self.settings.undo.is_some()
    }

    /// How many bytes of pages may be kept.
    fn room(&self) -> u64 {
        let limits = &self.settings.limits;
        let most = self.settings.undo.as_ref().map_or(0, |undo| undo.bytes);
        most.min(limits.disk_bytes / 4)
    }

    pub(super) fn history(&self) -> Result<&Rc<History>, Failure> {
        if let Some(history) = self.history.get() {
            return Ok(history);
        }
        let undo = self.settings.undo.as_ref().ok_or_else(unrecorded)?;
        let history = History::open(&undo.file, self.room()).map_err(record_failure)?;
        Ok(self.history.get_or_init(|| Rc::new(history)))
    }

    /// Starts to record what is written; `replaces` says that it is everything.
    pub(super) fn record(&self, sql: &str, replaces: bool) -> Result<(), Failure> {
        self.authorizer.enter(Mode::Trusted);
        let link = self.link()?;
        link.followed.take();
        let required = self.is_required();
        let recorder = Rc::new(Recorder {
            history: Rc::clone(self.history()?),
            required,
            database: self.title.clone(),
            command: self.interrupt.command().to_owned(),
            sql: RefCell::default(),
            replaces,
            outcome: RefCell::default(),
        });
        recorder.add_sql(sql);
        if recorder.history.is_unseen(&self.title) {
            // What the state of the database does not tell, its pages do.
            self.look_back()?;
        }
        let interrupt = Arc::clone(&self.interrupt);
        let before_commit = recorder.before_commit(move |on| interrupt.mute(on));
        let history = Some(Rc::clone(&recorder.history));
        let capture = Capture::start(&link.connection, self.room(), history, before_commit)
            .map_err(|error| self.failure(&error, "", 0))?;
        if let Err(why) = &capture
            && required
        {
            return Err(refused(why));
        }
        self.follow(Some(Recorded {
            recorder,
            capture,
            version: data_version(&link.connection),
        }))
    }

    /// Whether a write that could not be undone is refused.
    fn is_required(&self) -> bool {
        self.settings
            .undo
            .as_ref()
            .is_some_and(|undo| undo.required)
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
            return done?;
        }
        self.record(sql, false)?;
        let result = run(output);
        if result.is_err() && self.in_transaction() {
            self.roll_back_open()?;
        }
        // A statement that fails may have been committed in part.
        let refused = self.keep();
        self.describe_writes(output);
        result.map_err(|failure| refused.unwrap_or(failure))
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

    /// Runs what changes the journal mode: no pages undo that.
    pub(super) fn around_journal_mode<T>(
        &self,
        sql: &str,
        run: impl FnOnce() -> T,
    ) -> Result<T, Failure> {
        const WHY: &str = "the journal mode was changed";
        if self.is_required() && sql.contains(['=', '(']) {
            return Err(refused("it would change the journal mode"));
        }
        let is_wal = || {
            let sql = "PRAGMA main.journal_mode";
            let ask = self.connection().ok()?.query_row(sql, [], |row| {
                row.get_ref(0)
                    .map(|mode| mode.as_bytes().ok() == Some(b"wal"))
            });
            ask.ok()
        };
        self.authorizer.enter(Mode::Trusted);
        let link = self.link()?;
        let before = is_wal();
        let state = || restore::state(&link.connection).unwrap_or_default();
        let from = state();
        let done = run();
        self.authorizer.enter(Mode::Trusted);
        if before != is_wal() {
            let recorder = Recorder {
                history: Rc::clone(self.history()?),
                required: false,
                database: self.title.clone(),
                command: self.interrupt.command().to_owned(),
                sql: RefCell::default(),
                replaces: false,
                outcome: RefCell::default(),
            };
            recorder.add_sql(sql);
            recorder.put_down(Commit {
                state: (from, state()),
                images: Err(WHY.into()),
            });
            self.note(&recorder, &Summary::default());
        }
        Ok(done)
    }

    /// Completes the record of the write that has ended, if it was committed. Otherwise, and if that
    /// was because it could not be undone, this is the refusal.
    pub(super) fn keep(&self) -> Option<Failure> {
        let link = self.link().ok()?;
        self.authorizer.enter(Mode::Trusted);
        self.interrupt.mute(true);
        let followed = link.followed.borrow_mut();
        let recorded = { followed }.as_mut()?.recorded.take();
        let summary = self.summary().unwrap_or_default();
        let refused = recorded.and_then(|recorded| self.complete(recorded, &summary));
        self.interrupt.mute(false);
        refused
    }

    fn complete(&self, recorded: Recorded, summary: &Summary) -> Option<Failure> {
        let Recorded {
            recorder,
            capture,
            version,
        } = recorded;
        let end = match capture {
            Ok(capture) => capture.finish(),
            Err(why) => {
                let connection = self.connection().ok()?;
                if data_version(connection) == version {
                    return None;
                }
                let state = restore::state(connection).unwrap_or_default();
                recorder.put_down(Commit {
                    state: (state, state),
                    images: Err(why),
                });
                End::Committed(state)
            }
        };
        let outcome = recorder.outcome.borrow().clone();
        match (end, outcome.number) {
            (End::Nothing, number) => {
                // Recorded, and not committed after all.
                if let Some(number) = number {
                    recorder.history.forget(number);
                }
                let why = outcome.irreversible.filter(|_| outcome.refused)?;
                Some(refused(&why))
            }
            (End::Committed(state), _) => {
                if outcome.state != Some(state) {
                    let states = (outcome.state.unwrap_or(state), state);
                    recorder.history.go_on(&self.title, states);
                }
                self.note(&recorder, summary);
                None
            }
        }
    }

    /// Notes what was recorded, for the record and for the answer.
    fn note(&self, recorder: &Recorder, summary: &Summary) {
        let outcome = recorder.outcome.borrow().clone();
        if let Some(number) = outcome.number {
            let mut told = lines(summary);
            told.extend(changes(summary).iter().map(Change::in_short));
            if told.is_empty() && recorder.replaces {
                told.push("everything was replaced".into());
            } else if told.is_empty() {
                let word = scan::first_word(&recorder.sql.borrow()).to_uppercase();
                told.push(format!("{word}: no rows"));
            }
            recorder.history.summarize(number, told.join("; "));
        }
        if outcome.number.is_some() || outcome.irreversible.is_some() || outcome.same {
            self.written.borrow_mut().push(outcome);
        }
    }

    /// Tells in `output` what was written since it was last told.
    pub fn describe_writes(&self, output: &mut Output) {
        let written: Vec<Outcome> = self.written.take();
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
        let is_open = |write: &&Outcome| write.irreversible.is_none();
        let open = written
            .iter()
            .filter(is_open)
            .filter_map(|write| write.number);
        match *open.collect::<Vec<_>>().as_slice() {
            [] if written.iter().any(|write| write.same) => output
                .notes
                .push("Everything is as it was before, so there is no write to undo.".into()),
            [] => {}
            [number] => output.notes.push(format!("Recorded as write {number}.")),
            [first, .., last] => output
                .notes
                .push(format!("Recorded as writes {first} to {last}.")),
        }
        match *numbers.as_slice() {
            [] => {}
            [number] => _ = output.extra.insert("write".into(), number.into()),
            _ => _ = output.extra.insert("writes".into(), numbers.into()),
        }
        match written.iter().map(|write| write.dropped).sum() {
            0_u64 => {}
            dropped => output.notes.push(format!(
                "The undo record is full: its {dropped} oldest writes were dropped and can no longer be undone."
            )),
        }
    }

    /// What was written to this database, the latest first.
    ///
    /// # Errors
    ///
    /// `unsupported` if nothing is kept, and whatever else SQLite or a budget refuses.
    pub fn past(&mut self, most: u32) -> Result<Past, Failure> {
        if !self.is_recorded() {
            return Err(unrecorded());
        }
        self.begin(Access::Read)?;
        let listed = self.look_back().map(|(history, state)| {
            let last = history.last(&self.title);
            Past {
                entries: history.list(&self.title, most),
                dropped: history.dropped(),
                since: last.is_some_and(|last| !history.leads_to(last.number, state)),
            }
        });
        self.end(listed)
    }

    /// The history, up to the database as it is, and what state that is.
    pub(super) fn look_back(&self) -> Result<(&Rc<History>, u64), Failure> {
        let (history, connection) = (self.history()?, self.connection()?);
        let fail = |error| self.failure(&error, "", 0);
        let state = restore::state(connection).map_err(fail)?;
        history.look(&self.title, state);
        if restore::tells_nothing(state)
            && let Some(last) = history.last(&self.title)
            && let Some(images) = history.images(last.number)
            && restore::is_not_made(connection, &images).map_err(fail)?
        {
            history.forget(last.number);
        }
        Ok((history, state))
    }

    /// What undo holds, if writes are recorded.
    ///
    /// # Errors
    ///
    /// What the record says.
    pub fn held(&self) -> Result<Option<Held>, Failure> {
        if !self.is_recorded() {
            return Ok(None);
        }
        Ok(Some(self.history()?.held()))
    }
}

/// Whether a statement may change the journal mode. What it is mistaken for is irreversible.
pub(super) fn sets_journal_mode(sql: &str) -> bool {
    scan::first_word(sql).eq_ignore_ascii_case("PRAGMA")
        && scan::words(sql).any(|word| word == "journal_mode")
}

/// The refusal of what could not be undone.
fn refused(why: &str) -> Failure {
    Failure::new(
        Status::InvalidState,
        format!(
            "The write was refused, because it could not be undone: {why}. Nothing was changed."
        ),
    )
    .hint("The server was started with --undo required; without it, such a write is made.")
}

/// The failure for a record that its storage does not give.
pub(super) fn record_failure(error: ErrorCode) -> Failure {
    let status = match error {
        ErrorCode::Full => Status::Full,
        _ => Status::Io,
    };
    let why = error.in_words();
    Failure::new(
        status,
        format!("The record for undo could not be used: {why}."),
    )
}

pub(super) fn unrecorded() -> Failure {
    Failure::new(
        Status::Unsupported,
        "Nothing is recorded that could be undone: only a server (sqlarium mcp) records the writes \
         of its session, unless it was started with --no-undo or --readonly.",
    )
    .hint("To see beforehand what a single write would change, use dry_run.")
}
