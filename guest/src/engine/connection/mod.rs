//! One connection: how it is opened, and what is fixed on it before any SQL of a client is seen.
//!
//! - [`functions`]: SQL functions that SQLite is without. [`vector`]: how vectors are stored.
//! - [`db_status`]: what SQLite uses. [`stand_in`]: in the place of what a file's program would bring.
//! - [`insert_hook`]: whether a statement inserts a row.

pub(crate) mod db_status;
mod functions;
pub(crate) mod insert_hook;
pub(crate) mod stand_in;
pub(crate) mod vector;

use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags, ffi};

use super::guard::authorizer::{Authorizer, Mode};
use super::vfs;
use crate::host::interrupt::{INSTRUCTIONS_PER_TICK, InterruptCheck};
use crate::settings::EngineLimits;

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// SQLITE_OPEN_READONLY.
    Read,
    /// SQLITE_OPEN_READWRITE. Never so that it is created.
    Write,
    /// SQLITE_OPEN_READWRITE and SQLITE_OPEN_CREATE, for a staged one.
    Make,
}

/// How deep an expression may be, and the parser's own stack: SQLite's defaults, so that every schema
/// is read which the sqlite3 program reads. The sandbox's stack is measured by them.
const EXPRESSION_DEPTH: i32 = 1_000;
const PARSER_DEPTH: i32 = 2_500;

/// How many triggers may set each other off.
const TRIGGER_DEPTH: i32 = 100;

/// The matcher of LIKE and GLOB calls itself for every wildcard of a pattern. In bytes.
pub(crate) const PATTERN_LENGTH: i32 = 5_000;

/// Opens `name` and fixes everything on it. `None` is a private database in memory.
///
/// # Errors
///
/// Whatever SQLite says about the file; opening itself reads nothing of it.
pub(crate) fn open(
    name: Option<&str>,
    access: Access,
    limits: &EngineLimits,
    authorizer: &Arc<Authorizer>,
    interrupt: &Arc<InterruptCheck>,
) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX
        | match access {
            Access::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
            Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
            Access::Make => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        };
    let mut connection = match name {
        #[cfg(test)]
        Some(name) if access == Access::Make => {
            Connection::open_with_flags_and_vfs(name, flags, vfs::local())?
        }
        #[cfg(test)]
        Some(name) if vfs::is_faulty() => {
            Connection::open_with_flags_and_vfs(name, flags, vfs::faulty::NAME)?
        }
        Some(name) if is_in_memory(name) => {
            let flags = flags | OpenFlags::SQLITE_OPEN_CREATE;
            Connection::open_with_flags_and_vfs(name, flags, c"memdb")?
        }
        Some(name) => Connection::open_with_flags(name, flags)?,
        None => Connection::open_in_memory_with_flags(flags)?,
    };
    authorizer.enter(Mode::Trusted);
    authorizer.guard(&mut connection)?;
    set_limits(&connection, limits)?;
    watch(&mut connection, limits, interrupt)?;
    set_configuration(&connection, access)?;
    rusqlite::vtab::series::load_module(&connection)?;
    functions::register(&connection)?;
    vector::register(&connection)?;
    Ok(connection)
}

/// What the name of a database in memory starts with natively, where the host keeps none.
const MEMORY: &str = "/memory/";

/// A new name for a database in memory, for native tests: it lives as long as a connection to it.
pub(crate) fn in_memory() -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    format!("{MEMORY}{}", NUMBER.fetch_add(1, Ordering::Relaxed))
}

/// Whether a name is one of those.
pub(crate) fn is_in_memory(name: &str) -> bool {
    cfg!(not(target_family = "wasm")) && name.starts_with(MEMORY)
}

/// Opens a database for our own use alone, behind an authorizer of its own that allows everything.
///
/// # Errors
///
/// As for [`open`].
pub(crate) fn open_for_us(
    name: &str,
    limits: &EngineLimits,
    interrupt: &Arc<InterruptCheck>,
) -> rusqlite::Result<Connection> {
    open(
        Some(name),
        Access::Write,
        limits,
        &Authorizer::new(),
        interrupt,
    )
}

/// SQLite's run-time limits, <https://www.sqlite.org/limits.html>.
fn set_limits(connection: &Connection, limits: &EngineLimits) -> rusqlite::Result<()> {
    let length = (limits.memory_bytes / 4).clamp(1 << 20, 1_000_000_000);
    let to_i32 = |bytes: u64| i32::try_from(bytes).unwrap_or(i32::MAX);
    for (limit, value) in [
        (Limit::SQLITE_LIMIT_LENGTH, to_i32(length)),
        // A schema may hold longer statements than a client can send.
        (Limit::SQLITE_LIMIT_SQL_LENGTH, to_i32(length)),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, EXPRESSION_DEPTH),
        (Limit::SQLITE_LIMIT_PARSER_DEPTH, PARSER_DEPTH),
        (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, TRIGGER_DEPTH),
        (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, PATTERN_LENGTH),
        // The one that VACUUM attaches to itself.
        (Limit::SQLITE_LIMIT_ATTACHED, 1),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ] {
        connection.set_limit(limit, value)?;
    }
    Ok(())
}

/// What <https://www.sqlite.org/security.html> advises for untrusted SQL and untrusted files.
fn set_configuration(connection: &Connection, access: Access) -> rusqlite::Result<()> {
    use DbConfig as C;
    for (config, on) in [
        (C::SQLITE_DBCONFIG_DEFENSIVE, true),
        (C::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (C::SQLITE_DBCONFIG_WRITABLE_SCHEMA, false),
        (C::SQLITE_DBCONFIG_DQS_DML, false),
        (C::SQLITE_DBCONFIG_DQS_DDL, false),
        (C::SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, false),
        // Counts each instruction; `explain` turns it on.
        (C::SQLITE_DBCONFIG_STMT_SCANSTATUS, false),
        // Off in the sqlite3 program, for compatibility's sake. A client that writes without
        // knowing the schema is better refused than left to break references.
        (C::SQLITE_DBCONFIG_ENABLE_FKEY, true),
        // A reader leaves the write-ahead log as it found it.
        (C::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, access == Access::Read),
    ] {
        connection.set_db_config(config, on)?;
    }
    set_digits(connection)?;
    // Nothing here may read the file: the caller is not ready yet for what that can bring.
    connection.execute_batch("PRAGMA cell_size_check=ON")
}

/// How many digits SQLite keeps of a real that it turns into text.
///
/// Before 3.52 it was always 15, and an index or a stored column of such a text is the file's: with 17 its
/// rows would be missed, and what is written here would be damage to the file's own program. Results
/// are written by [`crate::text::real`], with as many as it takes.
const DIGITS: c_int = 15;

pub(crate) fn set_digits(connection: &Connection) -> rusqlite::Result<()> {
    #[expect(unsafe_code, reason = "rusqlite wraps those alone that are switches")]
    // SAFETY: the connection is open, and the option takes a number and a pointer, which may be null.
    let code = unsafe {
        ffi::sqlite3_db_config(
            connection.handle(),
            ffi::SQLITE_DBCONFIG_FP_DIGITS,
            DIGITS,
            std::ptr::null_mut::<c_int>(),
        )
    };
    match code {
        ffi::SQLITE_OK => Ok(()),
        code => Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)),
    }
}

/// How often a lock is tried before each wait: for a third of a millisecond.
const TRIES_PER_WAIT: i32 = 16;

/// Makes a running statement hear the host, and a waiting one too.
fn watch(
    connection: &mut Connection,
    limits: &EngineLimits,
    interrupt: &Arc<InterruptCheck>,
) -> rusqlite::Result<()> {
    let ticking = Arc::clone(interrupt);
    // Where a test stops it at each point in turn, it has more of them.
    let instructions = match cfg!(test) && vfs::is_faulty() {
        true => 10,
        false => INSTRUCTIONS_PER_TICK,
    };
    connection.progress_handler(instructions, Some(move || ticking.tick()))?;
    let waiting = Arc::clone(interrupt);
    let budget_ms = limits.busy_ms;
    let mut waited_ms = 0;
    connection.busy_handler(Some(move |attempts: i32| {
        if attempts == 0 {
            waited_ms = 0;
        }
        // Who never pauses lets go of a lock for moments alone, which few of those that sleep meet.
        let at_once = budget_ms > 0 && (attempts + 1) % TRIES_PER_WAIT != 0;
        at_once || waiting.wait(&mut waited_ms, budget_ms)
    }))
}

/// What a cache of pages holds unless memory is scarce, in KiB, as in `.cargo/config.toml`.
const CACHE_KIB: u64 = 16_000;

/// Lets the cache of pages take an eighth of the sandbox's memory and no more: a sorter takes as much
/// before it goes on in a temporary file, and three times that while it grows.
pub(crate) fn limit_cache(connection: &Connection, limits: &EngineLimits) -> rusqlite::Result<()> {
    let kib = limits.memory_bytes / 8 / 1024;
    if kib >= CACHE_KIB {
        return Ok(());
    }
    connection.execute_batch(&format!("PRAGMA cache_size=-{kib}"))
}

/// What of the sandbox's memory is no heap, in bytes: the stack, which `guest/component` sets, and data.
const NO_HEAP: u64 = 4 << 20;

/// Sets SQLite's hard heap limit to three quarters of the sandbox's memory, so that SQLite says "out
/// of memory" before the host aborts the sandbox; and to half of it the one from which caches are
/// used again and sorters go on in temporary files.
///
/// Both hold for the whole process. SQLite lowers them on this request and never raises them.
pub(crate) fn limit_heap(connection: &Connection, limits: &EngineLimits) -> rusqlite::Result<()> {
    let heap = limits.memory_bytes.saturating_sub(NO_HEAP);
    let (hard, soft) = (heap / 4 * 3, heap / 2);
    connection.execute_batch(&format!(
        "PRAGMA hard_heap_limit={hard}; PRAGMA soft_heap_limit={soft}"
    ))
}
