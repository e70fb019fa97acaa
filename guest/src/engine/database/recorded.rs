//! The record of what is written (`--undo`), and taking the last write back.

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use serde_json::json;

use super::tracked::lines;
use super::{Access, Database};
use crate::command::output::Output;
use crate::command::status::{Failure, Status};
use crate::engine::authorizer::Mode;
use crate::engine::history::{Draft, Entry, History, State};
use crate::engine::statement;
use crate::engine::track::inverse::{Act, Inverse, columns, same};
use crate::engine::track::saved::{Print, Saved};
use crate::engine::track::schema::objects;
use crate::engine::track::session::{Conflict, ConflictKind};
use crate::engine::track::{Step, Summary};

/// The record as a whole takes no more than this, nor than a quarter of `--disk`, in bytes.
const RECORD_BYTES: u64 = 256 << 20;

/// Characters of a write's SQL that are recorded.
const SQL_CHARS: usize = 120;

/// Why something was not taken back: a sentence's middle, or a failure.
type Taken = Result<Result<(), String>, Failure>;

impl Database {
    /// Whether what is written is recorded.
    pub(super) fn is_recorded(&self) -> bool {
        self.settings.record.is_some()
    }

    /// How many bytes of one write are recorded at most; none if nothing is.
    pub(super) fn room(&self) -> Option<u64> {
        let memory = self.settings.limits.memory_bytes;
        self.is_recorded().then_some(memory / 8)
    }

    fn history(&self) -> Result<&History, Failure> {
        if let Some(history) = self.history.get() {
            return Ok(history);
        }
        let name = self.settings.record.as_deref().ok_or_else(unrecorded)?;
        let room = RECORD_BYTES.min(self.settings.limits.disk_bytes / 4);
        let history = History::open(name, room).map_err(|error| self.record_failure(&error))?;
        Ok(self.history.get_or_init(|| history))
    }

    fn record_failure(&self, error: &rusqlite::Error) -> Failure {
        let failure = self.failure(error, "", 0);
        Failure {
            message: format!(
                "The record that --undo keeps of writes could not be used: {}",
                failure.message
            ),
            ..failure
        }
    }

    /// Commits a transaction whose steps are known, and records it.
    pub(super) fn commit_recorded(
        &self,
        sql: &str,
        steps: &[Step],
        summary: &Summary,
        beyond: Option<String>,
        output: &mut Output,
    ) -> Result<(), Failure> {
        if steps.is_empty() && beyond.is_none() {
            return self.trusted("COMMIT");
        }
        let history = self.history()?;
        let mut told = lines(summary);
        let schema = &summary.schema;
        for (objects, change) in [(&schema.made, "made"), (&schema.dropped, "dropped")] {
            told.extend(
                objects
                    .iter()
                    .map(|o| format!("{} {} {change}", o.kind, o.name)),
            );
        }
        told.extend(
            schema
                .altered
                .iter()
                .map(|(o, _)| format!("{} {} altered", o.kind, o.name)),
        );
        let start: String = sql.trim().chars().take(SQL_CHARS).collect();
        let draft = Draft {
            database: &self.title,
            command: self.pulse.command(),
            sql: &start,
            summary: &told.join("; "),
            beyond: beyond.as_deref(),
        };
        let (number, dropped) = history
            .add(&draft, steps)
            .map_err(|error| self.record_failure(&error))?;
        if let Err(failure) = self.trusted("COMMIT") {
            // It came to nothing, and so must its entry.
            let _ = history.forget(number);
            return Err(failure);
        }
        history
            .mark(number, State::Done)
            .map_err(|error| self.record_failure(&error))?;
        output.extra.insert("history".into(), number.into());
        if let Some(why) = beyond {
            output
                .notes
                .push(format!("This write is beyond undo: {why}."));
        }
        if dropped > 0 {
            output.notes.push(format!(
                "The record of writes is full, so its {dropped} oldest were dropped from it and can no \
                 longer be undone."
            ));
        }
        Ok(())
    }

    /// What was written to this database, the latest first.
    ///
    /// # Errors
    ///
    /// `unsupported` if nothing is recorded, and whatever else SQLite or a budget refuses.
    pub fn past(&mut self, most: u32) -> Result<(Vec<Entry>, u64), Failure> {
        if !self.is_recorded() {
            return Err(unrecorded());
        }
        self.begin(Access::Write)?;
        let listed = self.settle_doubt().and_then(|()| {
            let history = self.history()?;
            history
                .list(&self.title, most)
                .and_then(|entries| Ok((entries, history.dropped()?)))
                .map_err(|error| self.record_failure(&error))
        });
        self.end(listed)
    }

    /// Takes the last write back, or says why not and leaves everything as it is.
    ///
    /// # Errors
    ///
    /// `invalid_state` if there is none, if it is beyond undo, or if later changes are in the way.
    pub fn undo(&mut self) -> Result<Output, Failure> {
        if !self.is_recorded() {
            return Err(unrecorded());
        }
        self.begin(Access::Write)?;
        let result = self.settle_doubt().and_then(|()| self.undo_last());
        let result = self.end(result);
        // FTS5 and its like remember pages that were changed below them.
        if self.file.is_some() {
            self.link = None;
        }
        result
    }

    fn undo_last(&self) -> Result<Output, Failure> {
        let history = self.history()?;
        let fail = |error: rusqlite::Error| self.record_failure(&error);
        let Some(entry) = history.last(&self.title).map_err(fail)? else {
            let dropped = history.dropped().map_err(fail)?;
            return Err(Failure::new(
                Status::InvalidState,
                if dropped > 0 {
                    "There is no write left to undo; older ones were dropped from the record."
                } else {
                    "There is no write to undo: this session has made none, or all were undone."
                },
            ));
        };
        let what = format!("Write {} ({}, {})", entry.number, entry.command, entry.at);
        if let Some(why) = &entry.beyond {
            return Err(Failure::new(
                Status::InvalidState,
                format!("{what} is beyond undo: {why}. Nothing was changed."),
            )
            .hint("What was written before it cannot be undone either."));
        }
        let steps = history.steps(entry.number).map_err(fail)?;
        let refs = steps.iter().any(|step| matches!(step, Step::Schema { .. }));
        if let Err(why) = self.all_back(&steps, refs, || {
            history.mark(entry.number, State::Leaving).map_err(fail)?;
            self.trusted("COMMIT")
        })? {
            history.mark(entry.number, State::Done).map_err(fail)?;
            return Err(Failure::new(
                Status::InvalidState,
                format!("{what} cannot be undone: {why}. Nothing was changed."),
            )
            .hint("Look at what is there now, and put it right with a write of your own."));
        }
        history.mark(entry.number, State::Undone).map_err(fail)?;
        let mut output = Output {
            text: Some(format!("{what} was undone: {}.\n", entry.summary)),
            ..Output::default()
        };
        output.extra.insert("undone".into(), json!({
            "number": entry.number, "command": entry.command, "when": entry.at, "changes": entry.summary,
        }));
        Ok(output)
    }

    /// Takes steps back in a transaction that `end` ends if they could be; otherwise it is rolled back.
    fn all_back(
        &self,
        steps: &[Step],
        schema: bool,
        end: impl FnOnce() -> Result<(), Failure>,
    ) -> Taken {
        let connection = self.connection()?;
        let fail = |error: rusqlite::Error| self.failure(&error, "", 0);
        self.gate.enter(Mode::Trusted);
        // What triggers and foreign keys did is recorded like the rest, and the tables of virtual
        // tables are put back as they were.
        let configure = |on: bool| {
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, on)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, on)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, on || !schema)
        };
        configure(false).map_err(fail)?;
        let taken = self.trusted("BEGIN IMMEDIATE").and_then(|()| {
            let astray = if schema {
                astray(connection).map_err(fail)?
            } else {
                0
            };
            for step in steps.iter().rev() {
                if let Err(why) = self.take_back(connection, step)? {
                    return Ok(Err(why));
                }
            }
            self.gate.enter(Mode::Trusted);
            if schema && astray_more(connection, astray).map_err(fail)? {
                return Ok(Err("foreign keys would lead nowhere".to_owned()));
            }
            end().map(Ok)
        });
        let ended = if connection.is_autocommit() {
            Ok(())
        } else {
            self.pulse.mute(true);
            let undone = self.trusted("ROLLBACK");
            self.pulse.mute(false);
            undone
        };
        configure(true).map_err(fail)?;
        ended?;
        taken
    }

    fn take_back(&self, connection: &Connection, step: &Step) -> Taken {
        let fail = |error: rusqlite::Error| self.failure(&error, "", 0);
        self.gate.enter(Mode::Trusted);
        match step {
            Step::Rows {
                changes,
                columns: then,
            } => {
                for (table, then) in then {
                    if columns(connection, table).map_err(fail)? != *then {
                        return Ok(Err(format!("the table {table} has other columns by now")));
                    }
                }
                let taken = changes.take_back(connection).map_err(fail)?;
                Ok(taken.map_err(|conflict| in_words(&conflict)))
            }
            Step::Schema {
                inverse: Some(Ok(inverse)),
                saved,
                ..
            } => self.take_back_schema(connection, inverse, saved),
            Step::Schema { .. } => Ok(Err("how to take it back was not recorded".into())),
        }
    }

    fn take_back_schema(
        &self,
        connection: &Connection,
        inverse: &Inverse,
        saved: &[Saved],
    ) -> Taken {
        let fail = |error: rusqlite::Error| self.failure(&error, "", 0);
        let now = objects(connection).map_err(fail)?;
        for object in &inverse.expect {
            match now.iter().find(|other| other.is(object)) {
                None => {
                    return Ok(Err(format!(
                        "the {} {} is gone by now",
                        object.kind, object.name
                    )));
                }
                Some(other) if !same(&other.sql, &object.sql) => {
                    return Ok(Err(format!(
                        "the {} {} was changed since",
                        object.kind, object.name
                    )));
                }
                Some(_) => {}
            }
        }
        if let Some(object) = inverse
            .absent
            .iter()
            .find(|object| now.iter().any(|other| other.is(object)))
        {
            return Ok(Err(format!(
                "there is another {} {} by now",
                object.kind, object.name
            )));
        }
        for (table, print) in &inverse.prints {
            if Print::of(connection, table).map_err(fail)? != *print {
                return Ok(Err(format!("the rows of {table} were changed since")));
            }
        }
        for act in &inverse.acts {
            match act {
                Act::Run(sql) => {
                    // It may come from the file's schema, so it passes the guards of a client's.
                    self.gate.enter(Mode::Batch);
                    let mut prepared = match statement::one(connection, sql, &self.gate, true) {
                        Ok(prepared) => prepared,
                        Err(unprepared) => {
                            let failure = self.unprepared(unprepared, sql, 0);
                            if failure.status == Status::Interrupted {
                                return Err(failure);
                            }
                            return Ok(Err(failure.message.trim_end_matches('.').to_owned()));
                        }
                    };
                    self.gate.run(Mode::Batch);
                    if let Err(error) = prepared.raw_execute() {
                        let failure = self.failure(&error, sql, 0);
                        if failure.status == Status::Interrupted {
                            return Err(failure);
                        }
                        return Ok(Err(failure.message.trim_end_matches('.').to_owned()));
                    }
                }
                Act::Fill(place) => {
                    self.gate.enter(Mode::Trusted);
                    let Some(saved) = saved.get(*place) else {
                        return Ok(Err("its rows were not recorded".into()));
                    };
                    saved.fill(connection).map_err(fail)?;
                }
            }
        }
        Ok(Ok(()))
    }

    /// Finds out what became of a write, or of an undo, that was cut off around its commit.
    pub(super) fn settle_doubt(&self) -> Result<(), Failure> {
        let history = self.history()?;
        let fail = |error: rusqlite::Error| self.record_failure(&error);
        let Some(entry) = history.last(&self.title).map_err(fail)? else {
            return Ok(());
        };
        if !matches!(entry.state, State::Doubtful | State::Leaving) {
            return Ok(());
        }
        let steps = history.steps(entry.number).map_err(fail)?;
        let schema = steps.iter().any(|step| matches!(step, Step::Schema { .. }));
        // It is in place if it could be taken back.
        let in_place = !steps.is_empty()
            && self
                .all_back(&steps, schema, || self.trusted("ROLLBACK"))?
                .is_ok();
        let settled = match entry.state {
            _ if in_place => history.mark(entry.number, State::Done),
            State::Leaving => history.mark(entry.number, State::Undone),
            _ if self.never_came(&steps)? => history.forget(entry.number),
            _ => history
                .put_beyond(
                    entry.number,
                    "it was cut off around its commit, and other changes hide what became of it",
                )
                .and_then(|()| history.mark(entry.number, State::Done)),
        };
        settled.map_err(fail)
    }

    /// Whether a write that was cut off left nothing: the database is as it was before it.
    fn never_came(&self, steps: &[Step]) -> Result<bool, Failure> {
        let connection = self.connection()?;
        let fail = |error: rusqlite::Error| self.failure(&error, "", 0);
        self.gate.enter(Mode::Trusted);
        match steps.first() {
            None => Ok(false),
            Some(Step::Schema { before, .. }) => Ok(objects(connection).map_err(fail)? == *before),
            Some(Step::Rows { changes, .. }) => {
                self.trusted("BEGIN IMMEDIATE")?;
                let made = changes.make(connection).map_err(fail);
                self.trusted("ROLLBACK")?;
                Ok(made?.is_ok())
            }
        }
    }
}

/// Rows whose foreign keys lead nowhere.
fn astray(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| {
        row.get(0)
    })
}

fn astray_more(connection: &Connection, before: i64) -> rusqlite::Result<bool> {
    Ok(astray(connection)? > before)
}

fn in_words(conflict: &Conflict) -> String {
    let table = conflict.table.as_deref().unwrap_or("a table");
    match conflict.kind {
        ConflictKind::Changed => {
            format!("a row of {table} that it changed holds other values by now")
        }
        ConflictKind::Gone => format!("a row of {table} that it changed is no longer there"),
        ConflictKind::Back => format!("a row of {table} that it deleted is there again"),
        ConflictKind::Constraint => format!("a constraint of {table} would be violated"),
        ConflictKind::Reference => "foreign keys would lead nowhere".to_owned(),
    }
}

fn unrecorded() -> Failure {
    Failure::new(
        Status::Unsupported,
        "Writes are not recorded here: the history belongs to the session of a server that was \
         started with --undo, and ends with it.",
    )
    .hint("Start it as: sqlarium mcp --undo FILE. For a single write, dry_run tells before what it would change.")
}

/// Why these steps are beyond undo, if they are.
pub(super) fn beyond(
    steps: &[Step],
    nameless: impl IntoIterator<Item = String>,
    room: u64,
) -> Option<String> {
    if let Some(table) = nameless.into_iter().next() {
        return Some(format!(
            "{table} has rows whose primary key is NULL, and changes of such rows are not recorded"
        ));
    }
    steps.iter().find_map(|step| match step {
        Step::Schema {
            inverse: Some(Err(why)),
            ..
        } => Some(why.clone()),
        Step::Rows { changes, .. } if changes.bytes().len() as u64 > room => Some(format!(
            "the rows that it changed take {} bytes, and {room} are kept of one write",
            changes.bytes().len()
        )),
        _ => None,
    })
}
