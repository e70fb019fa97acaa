//! Taking the last recorded write back.

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use serde_json::json;

use super::recorded::unrecorded;
use super::{Access, Database};
use crate::answer::failure::{Failure, Status};
use crate::answer::output::Output;
use crate::engine::guard::authorizer::Mode;
use crate::engine::schema::catalogue::quote;
use crate::engine::statement;
use crate::engine::undo::Step;
use crate::engine::undo::changeset::{Conflict, ConflictKind};
use crate::engine::undo::history::EntryState;
use crate::engine::undo::inverse::{Inverse, InverseOp, columns, same};
use crate::engine::undo::references::ForeignKeyViolations;
use crate::engine::undo::saved::{Fingerprint, Saved};
use crate::engine::undo::schema_diff::objects;
use crate::engine::undo::statistics;

/// Why something was not undone: the middle of a sentence, or a failure.
type Taken = Result<Result<(), String>, Failure>;

impl Database {
    /// Takes the last write back, or says why not and leaves everything as it is.
    ///
    /// # Errors
    ///
    /// `invalid_state` if there is none, if it is irreversible, or if later changes conflict.
    pub fn undo(&mut self) -> Result<Output, Failure> {
        if !self.is_recorded() {
            return Err(unrecorded());
        }
        self.begin(Access::Write)?;
        let result = self.recover().and_then(|()| self.undo_last());
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
                    "There is no write left to undo; older writes were dropped from the record."
                } else {
                    "There is no write to undo: this session has written nothing, or all its \
                     writes were undone."
                },
            ));
        };
        let what = format!("Write {} ({}, {})", entry.number, entry.command, entry.at);
        if let Some(why) = &entry.irreversible {
            return Err(Failure::new(
                Status::InvalidState,
                format!("{what} can never be undone: {why}. Nothing was changed."),
            )
            .hint("Writes before it cannot be undone either."));
        }
        let steps = history.steps(entry.number).map_err(fail)?;
        if let Err(why) = self.revert_all(&steps, || {
            history
                .mark(entry.number, EntryState::Undoing)
                .map_err(fail)?;
            self.trusted("COMMIT")
        })? {
            history.mark(entry.number, EntryState::Done).map_err(fail)?;
            return Err(Failure::new(
                Status::InvalidState,
                format!("{what} cannot be undone: {why}. Nothing was changed."),
            )
            .hint("Check the current state, then correct it with a new write."));
        }
        history
            .mark(entry.number, EntryState::Undone)
            .map_err(fail)?;
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
    pub(super) fn revert_all(
        &self,
        steps: &[Step],
        end: impl FnOnce() -> Result<(), Failure>,
    ) -> Taken {
        let connection = self.connection()?;
        let fail = |error: rusqlite::Error| self.failure(&error, "", 0);
        self.authorizer.enter(Mode::Trusted);
        let set = |config, on| connection.set_db_config(config, on).map(drop);
        // What triggers and foreign keys did is recorded like the rest, and the tables of virtual
        // tables are put back as they were.
        let configure = |on: bool| {
            set(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, on)?;
            set(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, on)
        };
        let fkey = DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY;
        let enforced = connection.db_config(fkey).map_err(fail)?;
        configure(false).map_err(fail)?;
        // SQLite looks at the rows at hand alone where it can enforce references.
        let compared = !enforceable(connection, steps);
        let taken = set(fkey, enforced && !compared)
            .map_err(fail)
            .and_then(|()| self.trusted("BEGIN IMMEDIATE"))
            .and_then(|()| {
                let look = || {
                    compared
                        .then(|| ForeignKeyViolations::look(connection))
                        .transpose()
                };
                let before = look().map_err(fail)?;
                for step in steps.iter().rev() {
                    if let Err(why) = self.revert(connection, step)? {
                        return Ok(Err(why));
                    }
                }
                self.authorizer.enter(Mode::Trusted);
                if let (Some(before), Some(now)) = (before, look().map_err(fail)?)
                    && let Some(why) = now.worse(&before)
                {
                    return Ok(Err(why));
                }
                end().map(Ok)
            });
        let ended = if connection.is_autocommit() {
            Ok(())
        } else {
            self.roll_back_open()
        };
        configure(true)
            .and_then(|()| set(fkey, enforced))
            .map_err(fail)?;
        ended?;
        taken
    }

    fn revert(&self, connection: &Connection, step: &Step) -> Taken {
        let fail = |error: rusqlite::Error| self.failure(&error, "", 0);
        self.authorizer.enter(Mode::Trusted);
        match step {
            Step::Rows {
                changes,
                columns: then,
            } => {
                for (table, then) in then {
                    if columns(connection, table).map_err(fail)? != *then {
                        return Ok(Err(format!(
                            "the columns of the table {table} have changed since"
                        )));
                    }
                }
                match changes.revert(connection) {
                    Ok(taken) => Ok(taken.map_err(|conflict| in_words(&conflict))),
                    Err(error) => in_the_way(self.failure(&error, "", 0)),
                }
            }
            Step::Schema {
                inverse: Some(Ok(inverse)),
                saved,
                ..
            } => self.revert_schema(connection, inverse, saved),
            Step::Statistics {
                before,
                after,
                alone,
            } => {
                if statistics::of(connection).map_err(fail)? == *after {
                    statistics::put(connection, before).map_err(fail)?;
                } else if *alone {
                    return Ok(Err("the statistics have changed since".to_owned()));
                }
                Ok(Ok(()))
            }
            Step::Schema { .. } => Ok(Err("its reverse was not recorded".into())),
        }
    }

    fn revert_schema(&self, connection: &Connection, inverse: &Inverse, saved: &[Saved]) -> Taken {
        let fail = |error: rusqlite::Error| self.failure(&error, "", 0);
        let now = objects(connection).map_err(fail)?;
        for object in &inverse.expect {
            match now.iter().find(|other| other.is(object)) {
                None => {
                    return Ok(Err(format!(
                        "the {} {} no longer exists",
                        object.kind, object.name
                    )));
                }
                Some(other) if !same(&other.sql, &object.sql) => {
                    return Ok(Err(format!(
                        "the {} {} has changed since",
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
                "another {} {} exists now",
                object.kind, object.name
            )));
        }
        for (table, print) in &inverse.prints {
            if Fingerprint::of(connection, table).map_err(fail)? != *print {
                return Ok(Err(format!("the rows of {table} have changed since")));
            }
        }
        for act in &inverse.acts {
            match act {
                InverseOp::Run(sql) => {
                    // It may come from the file's schema, so it passes the guards of a client's.
                    self.authorizer.enter(Mode::Batch);
                    let mut prepared = match statement::one(connection, sql, &self.authorizer, true)
                    {
                        Ok(prepared) => prepared,
                        Err(unprepared) => {
                            return in_the_way(self.unprepared(unprepared, sql, 0));
                        }
                    };
                    self.authorizer.run(Mode::Batch);
                    if let Err(error) = prepared.raw_execute() {
                        return in_the_way(self.failure(&error, sql, 0));
                    }
                }
                InverseOp::Fill(place) => {
                    self.authorizer.enter(Mode::Trusted);
                    let Some(saved) = saved.get(*place) else {
                        return Ok(Err("its rows were not recorded".into()));
                    };
                    if let Err(error) = saved.fill(connection) {
                        return in_the_way(self.failure(&error, "", 0));
                    }
                }
            }
        }
        Ok(Ok(()))
    }
}

/// Whether SQLite can enforce references while these steps are undone: the schema stays as it
/// is, and all keys from and to the tables fit.
fn enforceable(connection: &Connection, steps: &[Step]) -> bool {
    steps.iter().all(|step| match step {
        Step::Rows { columns, .. } => columns.iter().all(|(table, _)| {
            let sql = format!("DELETE FROM main.{}", quote(table));
            connection.prepare(&sql).is_ok()
        }),
        Step::Statistics { .. } => true,
        Step::Schema { .. } => false,
    })
}

/// A failure as what is in the way, unless it is the call or the disk that is at fault.
fn in_the_way(failure: Failure) -> Taken {
    let why = failure.message.trim_end_matches('.');
    match failure.status {
        Status::Syntax | Status::NotFound | Status::Constraint | Status::InvalidState => {
            Ok(Err(if why.is_empty() {
                "the current schema does not accept its rows".to_owned()
            } else {
                why.to_owned()
            }))
        }
        _ => Err(failure),
    }
}

fn in_words(conflict: &Conflict) -> String {
    let table = conflict.table.as_deref().unwrap_or("a table");
    match conflict.kind {
        ConflictKind::Changed => {
            format!("a row of {table} that it changed has other values now")
        }
        ConflictKind::Gone => format!("a row of {table} that it changed no longer exists"),
        ConflictKind::Back => format!("a row of {table} that it deleted exists again"),
        ConflictKind::Constraint => format!("a constraint of {table} would be violated"),
        ConflictKind::Reference => "foreign keys would be violated".to_owned(),
    }
}
