//! What SQLite uses, in the figures that the sqlite3 program shows.

use std::ffi::c_int;

use rusqlite::{Connection, ffi};

/// The memory and the pages of a connection, each with its name and its unit.
///
/// # Errors
///
/// None that SQLite documents.
pub(crate) fn counters(connection: &Connection) -> rusqlite::Result<Vec<(&'static str, String)>> {
    let of = |operation| counter(connection, operation);
    #[expect(unsafe_code, reason = "rusqlite does not wrap it")]
    // SAFETY: they take no pointer.
    let (used, most) = unsafe { (ffi::sqlite3_memory_used(), ffi::sqlite3_memory_highwater(0)) };
    Ok(vec![
        ("Memory Used:", format!("{used} (max {most}) bytes")),
        (
            "Pager Heap Usage:",
            format!("{} bytes", of(ffi::SQLITE_DBSTATUS_CACHE_USED)?),
        ),
        (
            "Page cache hits:",
            of(ffi::SQLITE_DBSTATUS_CACHE_HIT)?.to_string(),
        ),
        (
            "Page cache misses:",
            of(ffi::SQLITE_DBSTATUS_CACHE_MISS)?.to_string(),
        ),
        (
            "Page cache writes:",
            of(ffi::SQLITE_DBSTATUS_CACHE_WRITE)?.to_string(),
        ),
        (
            "Page cache spills:",
            of(ffi::SQLITE_DBSTATUS_CACHE_SPILL)?.to_string(),
        ),
        (
            "Schema Heap Usage:",
            format!("{} bytes", of(ffi::SQLITE_DBSTATUS_SCHEMA_USED)?),
        ),
        (
            "Statement Heap/Lookaside Usage:",
            format!("{} bytes", of(ffi::SQLITE_DBSTATUS_STMT_USED)?),
        ),
    ])
}

/// The most that SQLite's heap has held since it was last reset, in bytes: caches, sorters, statements and
/// what a row is made of, of all connections. `reset` begins anew from what it holds now.
pub(crate) fn heap_peak(reset: bool) -> u64 {
    #[expect(unsafe_code, reason = "rusqlite does not wrap it")]
    // SAFETY: it takes no pointer.
    let peak = unsafe { ffi::sqlite3_memory_highwater(c_int::from(reset)) };
    peak.unsigned_abs()
}

fn counter(connection: &Connection, operation: c_int) -> rusqlite::Result<c_int> {
    let (mut current, mut most) = (0, 0);
    #[expect(unsafe_code, reason = "rusqlite does not wrap it")]
    // SAFETY: the connection is open, and both places outlive the call.
    let code = unsafe {
        ffi::sqlite3_db_status(connection.handle(), operation, &mut current, &mut most, 0)
    };
    match code {
        ffi::SQLITE_OK => Ok(current),
        code => Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)),
    }
}
