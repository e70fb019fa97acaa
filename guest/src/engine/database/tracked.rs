//! Writing with a look at what it changes: a dry run, which keeps nothing.

use rusqlite::Connection;

use super::told::report;
use super::{Database, recorded};
use crate::command::catalogue::{Count, Counter, relations};
use crate::command::output::Output;
use crate::command::status::Failure;
use crate::engine::authorizer::{Mode, Seen};
use crate::engine::params::Params;
use crate::engine::track::schema::Object;
use crate::engine::track::{Parts, Summary, Tracker};
use crate::engine::{failure, text};

/// What becomes of what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
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
    pub(super) ending: Ending,
}

impl Database {
    /// Runs one statement in a transaction of its own and follows it.
    pub(super) fn write_tracked(
        &self,
        sql: &str,
        params: &Params,
        ending: Ending,
    ) -> Result<Output, Failure> {
        let word = text::first_word(sql).to_uppercase();
        if OUTSIDE.contains(&word.as_str()) {
            return Err(failure::untried(&word));
        }
        if ending == Ending::Keep {
            self.settle_doubt()?;
        }
        self.trusted("BEGIN IMMEDIATE")?;
        let mut tracked = self.track(ending)?;
        let wanted = match ending {
            Ending::Keep => Mode::Write,
            Ending::DryRun => Mode::Try,
        };
        let (mut statement, mode) = self.prepare(sql, wanted)?;
        params.bind(&mut statement)?;
        let seen = self.gate.seen();
        tracked.before(self, &seen, sql, 0)?;
        let before = self.changes()?;
        self.gate.run(if mode == Mode::Explain {
            Mode::Read
        } else {
            mode
        });
        let harvest = self.step(&mut statement, sql, 0)?;
        let writes = mode != Mode::Explain && !statement.readonly();
        drop(statement);
        let mut output = super::run::answer(harvest);
        if writes {
            self.count(&mut output, sql, before)?;
        }
        tracked.after(self, &seen, sql, 0)?;
        self.conclude(tracked, ending, sql, &mut output)?;
        Ok(output)
    }

    /// Whether a statement is one whose changes can be recorded, rather than one that cannot run in
    /// a transaction or that only reads.
    pub(super) fn records(&self, sql: &str) -> bool {
        let word = text::first_word(sql).to_uppercase();
        if OUTSIDE.contains(&word.as_str()) {
            return false;
        }
        // What is wrong with it is said when it is run.
        self.prepare(sql, Mode::Write)
            .is_ok_and(|(statement, _)| !statement.readonly())
    }

    /// Follows the transaction that has begun.
    pub(super) fn track(&self, ending: Ending) -> Result<Tracked<'_>, Failure> {
        self.gate.enter(Mode::Trusted);
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

    /// Ends a transaction that was followed.
    pub(super) fn conclude(
        &self,
        tracked: Tracked<'_>,
        ending: Ending,
        sql: &str,
        output: &mut Output,
    ) -> Result<(), Failure> {
        self.gate.enter(Mode::Trusted);
        let connection = self.connection()?;
        let Tracked {
            tracker, mut parts, ..
        } = tracked;
        let fail = |error: rusqlite::Error| self.failure(&error, "", 0);
        let mut too_much = None;
        let (steps, nameless) = match tracker.finish() {
            Err(error) if ending == Ending::Keep && is_out_of_memory(&error) => {
                too_much = Some("the rows that it changed are too many for --memory".to_owned());
                Default::default()
            }
            finished => finished.map_err(fail)?,
        };
        let beyond = self
            .room()
            .and_then(|room| recorded::beyond(&steps, nameless.iter().cloned(), room))
            .or(too_much);
        parts.look(connection).map_err(fail)?;
        let summary = Summary::new(&steps, &parts).map_err(fail)?;
        match ending {
            Ending::Keep => self.commit_recorded(sql, &steps, &summary, beyond, output),
            Ending::DryRun => {
                // What holds at the commit alone would be refused there.
                let broken = broken_references(connection).map_err(fail)?;
                let made = count(connection, &summary.schema.made).map_err(fail)?;
                self.pulse.mute(true);
                let undone = self.trusted("ROLLBACK");
                self.pulse.mute(false);
                undone?;
                report(&summary, &made, output);
                for table in nameless {
                    output.notes.push(format!(
                        "{table} has rows whose primary key is NULL; changes of such rows are not counted."
                    ));
                }
                if let Some(why) = beyond {
                    output
                        .notes
                        .push(format!("It would be beyond undo: {why}."));
                }
                if broken {
                    output.notes.push(
                        "Foreign keys would lead nowhere, so that the commit would be refused."
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
        seen: &Seen,
        sql: &str,
        start: usize,
    ) -> Result<(), Failure> {
        let mode = database.gate.enter(Mode::Trusted);
        let done = self
            .tracker
            .before(seen, &sql[start..])
            .map_err(|error| database.failure(&error, sql, start));
        database.gate.enter(mode);
        done
    }

    /// After it has run.
    pub(super) fn after(
        &mut self,
        database: &Database,
        seen: &Seen,
        sql: &str,
        start: usize,
    ) -> Result<(), Failure> {
        database.gate.enter(Mode::Trusted);
        self.tracker
            .after(seen, &self.parts)
            .map_err(|error| database.failure(&error, sql, start))
    }
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
