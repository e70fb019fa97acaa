//! Writing with a look at what it changes: a dry run, which keeps nothing.

use std::collections::BTreeSet;

use rusqlite::Connection;

use super::recorded::WriteCall;
use super::report::report;
use super::{Database, recorded};
use crate::answer::failure::Failure;
use crate::answer::output::Output;
use crate::engine::guard::authorizer::{Mode, Observed};
use crate::engine::schema::catalogue::{Count, Counter, relations};
use crate::engine::statement::errors;
use crate::engine::statement::params::Params;
use crate::engine::undo::schema_diff::Object;
use crate::engine::undo::{Parts, Step, Summary, Tracker};
use crate::text::scan;

/// What becomes of what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// It is committed.
    Keep,
    /// It is rolled back, and what it would have changed is the answer.
    DryRun,
}

/// Statements that take no part in a transaction.
const OUTSIDE: [&str; 2] = ["VACUUM", "PRAGMA"];

/// A transaction that is followed.
pub(super) struct Tracked<'c> {
    tracker: Tracker<'c>,
    parts: Parts,
    pub(super) ending: WriteMode,
}

/// What was done in a transaction that was followed.
#[derive(Debug, Default)]
pub(super) struct TrackedWrite {
    pub(super) steps: Vec<Step>,
    /// Tables that have rows that are not recorded.
    null_keys: BTreeSet<String>,
    parts: Parts,
    /// Why it cannot be undone, if it could not be tracked.
    lost: Option<String>,
    /// What the steps of several statements take.
    bytes: u64,
}

impl TrackedWrite {
    /// What could not be followed.
    pub(super) fn lost(why: &str) -> Self {
        Self {
            lost: Some(why.to_owned()),
            ..Self::default()
        }
    }

    /// Whether nothing was done.
    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.lost.is_none()
    }

    /// Adds what was done behind it, as far as there is room.
    pub(super) fn add(&mut self, next: Self, room: Option<u64>) {
        self.bytes += recorded::bytes(&next.steps);
        self.steps.extend(next.steps);
        if let Some(room) = room.filter(|room| self.bytes > *room) {
            self.lost
                .get_or_insert_with(|| recorded::too_large(self.bytes, room));
            self.steps.clear();
        }
        self.null_keys.extend(next.null_keys);
        self.parts.add(next.parts);
        self.lost = self.lost.take().or(next.lost);
    }

    /// Why it is irreversible, if it is.
    fn irreversible(&self, room: Option<u64>) -> Option<String> {
        let why = recorded::irreversible(&self.steps, self.null_keys.iter().cloned(), room?);
        self.lost.clone().or(why)
    }
}

impl Database {
    /// Runs one statement in a transaction of its own and follows it.
    pub(super) fn write_tracked(
        &self,
        sql: &str,
        params: &Params,
        ending: WriteMode,
    ) -> Result<Output, Failure> {
        if is_outside_transactions(sql) {
            let word = scan::first_word(sql).to_uppercase();
            return Err(errors::no_dry_run(&word));
        }
        if ending == WriteMode::Keep {
            self.recover()?;
        }
        self.trusted("BEGIN IMMEDIATE")?;
        let mut tracked = self.track(ending)?;
        let wanted = match ending {
            WriteMode::Keep => Mode::Write,
            WriteMode::DryRun => Mode::Try,
        };
        let (mut statement, mode) = self.prepare(sql, wanted)?;
        params.bind(&mut statement)?;
        let seen = self.authorizer.seen();
        tracked.before(self, &seen, sql, 0)?;
        let before = self.changes()?;
        self.authorizer.run(if mode == Mode::Explain {
            Mode::Read
        } else {
            mode
        });
        let result_set = self.step(&mut statement, sql, 0)?;
        let writes = mode != Mode::Explain && !statement.readonly();
        drop(statement);
        let mut output = super::run::answer(result_set);
        if writes {
            self.count(&mut output, sql, before)?;
        }
        tracked.after(self, &seen, sql, 0)?;
        let call = WriteCall::new(sql, params);
        let (done, irreversible) = self.finish(tracked, &call)?;
        self.conclude(&done, irreversible, ending, &call, &mut output)?;
        Ok(output)
    }

    /// Whether a statement is one whose changes can be recorded, rather than one that cannot run in
    /// a transaction or that only reads.
    pub(super) fn records(&self, sql: &str) -> bool {
        // Its errors are reported when it runs.
        !is_outside_transactions(sql)
            && self
                .prepare(sql, Mode::Write)
                .is_ok_and(|(statement, _)| !statement.readonly())
    }

    /// Follows the transaction that has begun.
    pub(super) fn track(&self, ending: WriteMode) -> Result<Tracked<'_>, Failure> {
        self.authorizer.enter(Mode::Trusted);
        let connection = self.connection()?;
        let mut parts = Parts::default();
        parts
            .look(connection)
            .map_err(|error| self.failure(&error, "", 0))?;
        let tracker =
            Tracker::start(connection, self.room()).map_err(|error| self.failure(&error, "", 0))?;
        Ok(Tracked {
            tracker,
            parts,
            ending,
        })
    }

    /// What was done in a tracked transaction, and why it is irreversible if it is.
    ///
    /// # Errors
    ///
    /// `invalid_state` if it is, and the client was not warned before.
    pub(super) fn finish(
        &self,
        tracked: Tracked<'_>,
        call: &WriteCall<'_>,
    ) -> Result<(TrackedWrite, Option<String>), Failure> {
        let ending = tracked.ending;
        let done = self.followed(tracked)?;
        let irreversible = match ending {
            WriteMode::Keep => self.admit(&done, call)?,
            WriteMode::DryRun => done.irreversible(self.room()).inspect(|_| self.warn(call)),
        };
        Ok((done, irreversible))
    }

    /// What was done in a transaction that was followed.
    pub(super) fn followed(&self, tracked: Tracked<'_>) -> Result<TrackedWrite, Failure> {
        self.authorizer.enter(Mode::Trusted);
        let Tracked {
            tracker,
            mut parts,
            ending,
        } = tracked;
        let fail = |error: rusqlite::Error| self.failure(&error, "", 0);
        let (steps, null_keys) = match tracker.finish() {
            Err(error) if ending == WriteMode::Keep && is_out_of_memory(&error) => {
                return Ok(TrackedWrite::lost(
                    "it changed too many rows to record within --memory",
                ));
            }
            finished => finished.map_err(fail)?,
        };
        parts.look(self.connection()?).map_err(fail)?;
        Ok(TrackedWrite {
            steps,
            null_keys,
            parts,
            ..TrackedWrite::default()
        })
    }

    /// Why the write is irreversible, if it is.
    ///
    /// # Errors
    ///
    /// As for [`Database::finish`].
    pub(super) fn admit(
        &self,
        done: &TrackedWrite,
        call: &WriteCall<'_>,
    ) -> Result<Option<String>, Failure> {
        let irreversible = done.irreversible(self.room());
        if let Some(why) = &irreversible {
            self.confirm(call, why)?;
        }
        Ok(irreversible)
    }

    /// Ends a transaction that was followed.
    pub(super) fn conclude(
        &self,
        done: &TrackedWrite,
        irreversible: Option<String>,
        ending: WriteMode,
        call: &WriteCall<'_>,
        output: &mut Output,
    ) -> Result<(), Failure> {
        self.authorizer.enter(Mode::Trusted);
        let connection = self.connection()?;
        let fail = |error: rusqlite::Error| self.failure(&error, "", 0);
        let summary = Summary::new(&done.steps, &done.parts).map_err(fail)?;
        match ending {
            WriteMode::Keep => {
                self.commit_recorded(call, &done.steps, &summary, irreversible, output)
            }
            WriteMode::DryRun => {
                // What holds at the commit alone would be refused there.
                let broken = broken_references(connection).map_err(fail)?;
                let made = count(connection, &summary.schema.made).map_err(fail)?;
                self.roll_back_open()?;
                report(&summary, &made, output);
                for table in &done.null_keys {
                    output.notes.push(format!(
                        "{table} has rows whose primary key is NULL; changes to such rows are not \
                         counted."
                    ));
                }
                if let Some(why) = irreversible {
                    output
                        .notes
                        .push(format!("The write could not be undone: {why}."));
                }
                if broken {
                    output.notes.push(
                        "The commit would be refused, because rows would violate foreign keys."
                            .into(),
                    );
                }
                Ok(())
            }
        }
    }
}

impl Tracked<'_> {
    /// Before a statement runs.
    pub(super) fn before(
        &mut self,
        database: &Database,
        seen: &Observed,
        sql: &str,
        start: usize,
    ) -> Result<(), Failure> {
        let mode = database.authorizer.enter(Mode::Trusted);
        let done = self
            .tracker
            .before(seen, &sql[start..])
            .map_err(|error| database.failure(&error, sql, start));
        database.authorizer.enter(mode);
        done
    }

    /// After it has run.
    pub(super) fn after(
        &mut self,
        database: &Database,
        seen: &Observed,
        sql: &str,
        start: usize,
    ) -> Result<(), Failure> {
        database.authorizer.enter(Mode::Trusted);
        self.tracker
            .after(seen, &self.parts)
            .map_err(|error| database.failure(&error, sql, start))
    }
}

/// Whether a statement takes no part in a transaction.
pub(super) fn is_outside_transactions(sql: &str) -> bool {
    let word = scan::first_word(sql).to_uppercase();
    OUTSIDE.contains(&word.as_str())
}

fn is_out_of_memory(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(rusqlite::ErrorCode::OutOfMemory | rusqlite::ErrorCode::TooBig)
    )
}

/// Whether a deferred foreign key is violated at the end of a transaction.
fn broken_references(connection: &Connection) -> rusqlite::Result<bool> {
    // SQLite counts them in the transaction, and says it of none but a COMMIT.
    let (mut now, mut high) = (0, 0);
    // SAFETY: the connection is open, and both places outlive the call.
    #[expect(unsafe_code, reason = "rusqlite has no call for it")]
    let code = unsafe {
        rusqlite::ffi::sqlite3_db_status(
            connection.handle(),
            rusqlite::ffi::SQLITE_DBSTATUS_DEFERRED_FKS,
            &raw mut now,
            &raw mut high,
            0,
        )
    };
    if code == rusqlite::ffi::SQLITE_OK {
        Ok(now > 0)
    } else {
        Err(rusqlite::Error::SqliteFailure(
            rusqlite::ffi::Error::new(code),
            None,
        ))
    }
}

/// The rows of those objects that are tables.
fn count(connection: &Connection, objects: &[Object]) -> rusqlite::Result<Vec<Option<u64>>> {
    let tables = relations(connection)?;
    let mut counter = Counter::default();
    objects
        .iter()
        .map(|object| {
            let table = tables.iter().find(|table| {
                object.kind == "table" && table.schema == "main" && table.name == object.name
            });
            Ok(match table {
                Some(table) => match counter.count(connection, table)? {
                    Count::Exact(rows) => Some(rows),
                    _ => None,
                },
                None => None,
            })
        })
        .collect()
}
