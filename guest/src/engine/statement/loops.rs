//! The loops of a statement: what the planner expects of each, and what came of it when it ran
//! (<https://www.sqlite.org/c3ref/stmt_scanstatus.html>).

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, Statement, ffi};

/// One loop over a table, an index or a subquery.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Loop {
    /// The step of the plan that it is, as EXPLAIN QUERY PLAN numbers it.
    pub step: i64,
    /// The table or the index, by its own name; none for a subquery.
    pub object: Option<String>,
    /// Rows that the planner expects to go on with, each time that it runs.
    pub expected: f64,
    /// How many times it ran.
    pub runs: u64,
    /// Rows that it looked at, in all runs.
    pub rows: u64,
}

/// A statement of which the loops are known.
pub(crate) struct Counted<'c> {
    /// The statement.
    pub statement: Statement<'c>,
    connection: &'c Connection,
    handle: *mut ffi::sqlite3_stmt,
}

impl<'c> Counted<'c> {
    /// What `prepare` prepares on the connection, as one whose loops are counted, here and while it runs.
    ///
    /// # Errors
    ///
    /// What `prepare` says; `otherwise` if SQLite does not count.
    pub(crate) fn prepare<E>(
        connection: &'c Connection,
        prepare: impl FnOnce() -> Result<Statement<'c>, E>,
        otherwise: impl FnOnce(rusqlite::Error) -> E,
    ) -> Result<Self, E> {
        if let Err(error) = count(connection, true) {
            return Err(otherwise(error));
        }
        let before = statements(connection);
        match prepare() {
            Ok(statement) => {
                let made = statements(connection);
                // The latest come first, and those that a virtual table has made are later.
                let ours = made.into_iter().rfind(|one| !before.contains(one));
                Ok(Self {
                    statement,
                    connection,
                    handle: ours.unwrap_or(ptr::null_mut()),
                })
            }
            Err(error) => {
                let _ = count(connection, false);
                Err(error)
            }
        }
    }

    /// Its loops, the outer ones first.
    pub(crate) fn loops(&self) -> Vec<Loop> {
        let mut loops = Vec::new();
        for index in 0.. {
            let step: Option<c_int> = self.of(index, ffi::SQLITE_SCANSTAT_SELECTID, -1);
            let Some(step) = step else { break };
            let expected = self.of(index, ffi::SQLITE_SCANSTAT_EST, 0.0);
            let number = |what| self.of(index, what, -1_i64).unwrap_or(-1);
            let (runs, rows) = (
                number(ffi::SQLITE_SCANSTAT_NLOOP),
                number(ffi::SQLITE_SCANSTAT_NVISIT),
            );
            // A step that is none, such as a sorter.
            if step < 0 || runs < 0 || rows < 0 {
                continue;
            }
            loops.push(Loop {
                step: step.into(),
                object: self.object(index),
                expected: expected.unwrap_or_default(),
                runs: runs.unsigned_abs(),
                rows: rows.unsigned_abs(),
            });
        }
        loops
    }

    fn object(&self, index: c_int) -> Option<String> {
        let name = self.of::<*const c_char>(index, ffi::SQLITE_SCANSTAT_NAME, ptr::null())?;
        if name.is_null() {
            return None;
        }
        #[expect(unsafe_code, reason = "rusqlite does not wrap it")]
        // SAFETY: SQLite's text ends with NUL, and lives as long as the statement.
        let name = unsafe { CStr::from_ptr(name) };
        Some(name.to_string_lossy().into_owned())
    }

    /// A figure of the loop of that index; `T` has to be its type. None behind the last one.
    fn of<T>(&self, index: c_int, what: c_int, otherwise: T) -> Option<T> {
        if self.handle.is_null() {
            return None;
        }
        let mut found = otherwise;
        #[expect(unsafe_code, reason = "rusqlite does not wrap it")]
        // SAFETY: the statement lives in `self`, and SQLite writes a value of the type that belongs to `what`.
        let code = unsafe {
            ffi::sqlite3_stmt_scanstatus_v2(
                self.handle,
                index,
                what,
                ffi::SQLITE_SCANSTAT_COMPLEX,
                (&raw mut found).cast::<c_void>(),
            )
        };
        (code == 0).then_some(found)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        let _ = count(self.connection, false);
    }
}

/// Whether what is prepared and run from now on is counted.
fn count(connection: &Connection, on: bool) -> rusqlite::Result<()> {
    let config = DbConfig::SQLITE_DBCONFIG_STMT_SCANSTATUS;
    connection.set_db_config(config, on).map(drop)
}

/// The prepared statements of a connection, the latest first.
fn statements(connection: &Connection) -> Vec<*mut ffi::sqlite3_stmt> {
    let mut found = Vec::new();
    let mut last = ptr::null_mut();
    loop {
        #[expect(unsafe_code, reason = "rusqlite does not wrap it")]
        // SAFETY: the connection is open, and `last` is null or one of its statements.
        let next = unsafe { ffi::sqlite3_next_stmt(connection.handle(), last) };
        if next.is_null() {
            return found;
        }
        found.push(next);
        last = next;
    }
}
