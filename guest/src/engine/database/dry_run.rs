//! Dry runs, which count what a write changes and keep nothing.

use rusqlite::Connection;

use super::Database;
use super::report::report;
use crate::answer::failure::Failure;
use crate::answer::output::Output;
use crate::engine::guard::authorizer::Mode;
use crate::engine::schema::catalogue::{Count, Counter, relations};
use crate::engine::statement::errors;
use crate::engine::undo::schema_diff::Object;
use crate::text::scan;

/// What becomes of what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// It is committed.
    Keep,
    /// It is rolled back, and what it would have changed is the answer.
    DryRun,
}

/// Refuses a statement that takes no part in a transaction.
pub(super) fn untried(sql: &str) -> Result<(), Failure> {
    let word = scan::first_word(sql).to_uppercase();
    match word.as_str() {
        "VACUUM" | "PRAGMA" => Err(errors::no_dry_run(&word)),
        _ => Ok(()),
    }
}

impl Database {
    /// Runs what writes in a transaction that is rolled back, and answers what it would change.
    pub(super) fn dry_run(
        &self,
        run: impl FnOnce() -> Result<Output, Failure>,
    ) -> Result<Output, Failure> {
        self.trusted("BEGIN IMMEDIATE")?;
        self.follow(None)?;
        let mut output = run()?;
        self.authorizer.enter(Mode::Trusted);
        let connection = self.connection()?;
        let fail = |error: rusqlite::Error| self.failure(&error, "", 0);
        let summary = self.summary()?;
        // What holds at the commit alone would be refused there.
        let broken = broken_references(connection).map_err(fail)?;
        let made = count(connection, &summary.schema.made).map_err(fail)?;
        self.roll_back_open()?;
        report(&summary, &made, &mut output);
        if broken {
            output.notes.push(
                "The commit would be refused, because rows would violate foreign keys.".into(),
            );
        }
        Ok(output)
    }
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
