//! SQLite, natively, over files in memory that fail on demand.

use std::ffi::CString;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use rusqlite::{Connection, OpenFlags, ffi};

use crate::storage::memory::{Memory, Operation};
use crate::storage::{ErrorCode, Role};

static LAYERS: AtomicUsize = AtomicUsize::new(0);
static SLEPT: AtomicU32 = AtomicU32::new(0);

fn sleep(milliseconds: u32) {
    SLEPT.fetch_add(milliseconds, Ordering::SeqCst);
}

fn layer(storage: &Memory) -> CString {
    let name = CString::new(format!(
        "sqlarium-{}",
        LAYERS.fetch_add(1, Ordering::SeqCst)
    ))
    .unwrap();
    let name: &'static CString = Box::leak(Box::new(name));
    super::register(name, Box::leak(Box::new(storage.clone())), sleep, false).unwrap();
    name.clone()
}

fn open_with(storage: &Memory, name: &str, flags: OpenFlags) -> rusqlite::Result<Connection> {
    Connection::open_with_flags_and_vfs(name, flags, layer(storage).as_c_str())
}

fn open(storage: &Memory) -> Connection {
    let connection = open_with(storage, "shop.db", OpenFlags::default()).unwrap();
    // Everything that can spill to a file does.
    connection
        .execute_batch("PRAGMA temp_store = file; PRAGMA cache_size = 5")
        .unwrap();
    connection
}

fn text(connection: &Connection, sql: &str) -> String {
    connection
        .query_row(sql, [], |row| {
            row.get::<_, rusqlite::types::Value>(0)
                .map(|value| match value {
                    rusqlite::types::Value::Integer(number) => number.to_string(),
                    rusqlite::types::Value::Text(text) => text,
                    other => format!("{other:?}"),
                })
        })
        .unwrap()
}

fn code(error: &rusqlite::Error) -> i32 {
    match error {
        rusqlite::Error::SqliteFailure(error, _) => error.extended_code,
        other => panic!("{other}"),
    }
}

const FILL: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
    INSERT INTO item SELECT i, hex(zeroblob(100)) FROM n";

fn filled(storage: &Memory) -> Connection {
    let connection = open(storage);
    connection
        .execute_batch("CREATE TABLE item (id INTEGER PRIMARY KEY, note TEXT)")
        .unwrap();
    connection.execute_batch(FILL).unwrap();
    connection
}

#[test]
fn every_journal_mode_keeps_what_was_committed() {
    for mode in ["delete", "truncate", "persist", "memory", "off"] {
        let storage = Memory::default();
        let connection = open(&storage);
        assert_eq!(
            text(&connection, &format!("PRAGMA journal_mode = {mode}")),
            mode
        );
        connection
            .execute_batch("CREATE TABLE item (id INTEGER PRIMARY KEY, note TEXT)")
            .unwrap();
        connection.execute_batch(FILL).unwrap();
        connection.close().unwrap();
        assert_eq!(storage.open_files(), 0, "{mode}");
        let journal = storage.size_of("shop.db-journal");
        assert_eq!(
            journal.is_some(),
            matches!(mode, "truncate" | "persist"),
            "{mode}: {journal:?}"
        );
        let connection = open(&storage);
        assert_eq!(
            text(&connection, "SELECT count(*) FROM item"),
            "2000",
            "{mode}"
        );
        assert_eq!(text(&connection, "PRAGMA integrity_check"), "ok", "{mode}");
    }
}

#[test]
fn what_was_rolled_back_was_never_there() {
    let storage = Memory::default();
    let connection = filled(&storage);
    connection
        .execute_batch("BEGIN; DELETE FROM item; DROP TABLE item; CREATE TABLE other (x); ROLLBACK")
        .unwrap();
    assert_eq!(text(&connection, "SELECT count(*) FROM item"), "2000");
    connection
        .execute_batch(
            "BEGIN; UPDATE item SET note = 'a';
             SAVEPOINT s; UPDATE item SET note = 'b'; DELETE FROM item WHERE id > 10; ROLLBACK TO s; RELEASE s;
             DELETE FROM item WHERE id > 1000; COMMIT",
        )
        .unwrap();
    assert_eq!(
        text(
            &connection,
            "SELECT group_concat(DISTINCT note) || count(*) FROM item"
        ),
        "a1000"
    );
    assert_eq!(text(&connection, "PRAGMA integrity_check"), "ok");
}

#[test]
fn a_crash_in_a_transaction_is_rolled_back_by_the_next_connection() {
    let storage = Memory::default();
    let connection = filled(&storage);
    connection
        .execute_batch("BEGIN IMMEDIATE; UPDATE item SET note = 'half done'")
        .unwrap();
    assert!(
        storage.size_of("shop.db-journal").unwrap() > 100_000,
        "the cache has spilled"
    );

    let crashed = storage.after_crash(true);
    let reader = open_with(&crashed, "shop.db", OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let refused = reader
        .query_row("SELECT count(*) FROM item", [], |_| Ok(()))
        .unwrap_err();
    assert_eq!(code(&refused), ffi::SQLITE_READONLY_ROLLBACK);

    let crashed = storage.after_crash(false);
    let next = open(&crashed);
    assert_eq!(
        text(&next, "SELECT count(*) FROM item WHERE note = 'half done'"),
        "0"
    );
    assert_eq!(text(&next, "PRAGMA integrity_check"), "ok");
    assert_eq!(crashed.size_of("shop.db-journal"), None);
}

#[test]
fn without_shared_memory_wal_works_in_exclusive_mode_and_is_not_switched_to_otherwise() {
    let storage = Memory::default();
    let connection = filled(&storage);
    assert_eq!(text(&connection, "PRAGMA journal_mode = wal"), "delete");
    assert_eq!(
        text(&connection, "PRAGMA locking_mode = exclusive"),
        "exclusive"
    );
    assert_eq!(text(&connection, "PRAGMA journal_mode = wal"), "wal");
    connection
        .execute_batch("UPDATE item SET note = 'logged'")
        .unwrap();
    assert!(storage.size_of("shop.db-wal").unwrap() > 100_000);

    let crashed = storage.after_crash(false);
    let next = open_with(&crashed, "shop.db", OpenFlags::default()).unwrap();
    let refused = next
        .query_row("SELECT count(*) FROM item", [], |_| Ok(()))
        .unwrap_err();
    assert_eq!(code(&refused), ffi::SQLITE_CANTOPEN);
    text(&next, "PRAGMA locking_mode = exclusive");
    assert_eq!(
        text(&next, "SELECT count(*) FROM item WHERE note = 'logged'"),
        "2000"
    );
    assert_eq!(text(&next, "PRAGMA integrity_check"), "ok");
    next.close().unwrap();
    assert_eq!(
        crashed.size_of("shop.db-wal"),
        None,
        "the last one to close moves the log into the database"
    );
}

#[test]
fn vacuum_makes_the_file_small_again() {
    let storage = Memory::default();
    let connection = filled(&storage);
    let before = storage.size_of("shop.db").unwrap();
    connection
        .execute_batch("DELETE FROM item WHERE id > 100; VACUUM")
        .unwrap();
    assert!(storage.size_of("shop.db").unwrap() < before / 5);
    assert_eq!(text(&connection, "SELECT count(*) FROM item"), "100");
    assert_eq!(text(&connection, "PRAGMA integrity_check"), "ok");
}

#[test]
fn a_large_sort_goes_through_temporary_files_that_are_closed_again() {
    let storage = Memory::default();
    let connection = open(&storage);
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
        SELECT x FROM (SELECT hex(randomblob(100)) AS x FROM n ORDER BY x) LIMIT 1 OFFSET 29999";
    let named = storage.open_files();
    assert_eq!(text(&connection, sql).len(), 200);
    let opened = storage.opened();
    assert!(
        opened
            .iter()
            .any(|(name, role, _)| name.is_empty() && *role == Role::Temporary),
        "{opened:?}"
    );
    assert_eq!(storage.open_files(), named);
    connection
        .execute_batch("CREATE TEMP TABLE t AS SELECT 1 AS x")
        .unwrap();
    assert_eq!(text(&connection, "SELECT x FROM t"), "1");
}

/// Runs a large transaction that meets the failure earlier and earlier, and
/// looks at the database after each.
fn survives(deed: Operation, error: ErrorCode, expected: &[i32]) {
    let mut failed = 0;
    for after in (0..400).step_by(7) {
        let storage = Memory::default();
        let connection = filled(&storage);
        storage.fail(deed, after, error);
        let result = connection.execute_batch("BEGIN; UPDATE item SET note = 'new' || id; COMMIT");
        let met = storage.heal();
        assert_eq!(met, result.is_err(), "{deed:?} {after}");
        if let Err(error) = result {
            failed += 1;
            assert!(
                expected.contains(&code(&error)),
                "{deed:?} {after}: {error:?}"
            );
            let _ = connection.execute_batch("ROLLBACK");
            assert_eq!(
                text(
                    &connection,
                    "SELECT count(*) FROM item WHERE note LIKE 'new%'"
                ),
                "0",
                "{deed:?} {after}"
            );
        }
        assert_eq!(text(&connection, "SELECT count(*) FROM item"), "2000");
        assert_eq!(
            text(&connection, "PRAGMA integrity_check"),
            "ok",
            "{deed:?} {after}"
        );
        let next = open(&storage.after_crash(false));
        assert_eq!(
            text(&next, "PRAGMA integrity_check"),
            "ok",
            "{deed:?} {after}, after a crash"
        );
    }
    assert!(failed > 0, "the failure was never met");
}

#[test]
fn a_full_disk_at_any_write_leaves_the_database_as_it_was() {
    survives(Operation::Write, ErrorCode::Full, &[ffi::SQLITE_FULL]);
}

#[test]
fn a_failing_disk_at_any_write_leaves_the_database_as_it_was() {
    survives(
        Operation::Write,
        ErrorCode::Io,
        &[ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_IOERR_TRUNCATE],
    );
}

#[test]
fn a_failing_read_leaves_the_database_as_it_was() {
    survives(Operation::Read, ErrorCode::Io, &[ffi::SQLITE_IOERR_READ]);
}

#[test]
fn a_failure_is_called_by_what_was_tried() {
    let update = "UPDATE item SET note = 'x' WHERE id = 1";
    for (deed, error, sql, expected) in [
        (
            Operation::Sync,
            ErrorCode::Io,
            update,
            ffi::SQLITE_IOERR_FSYNC,
        ),
        (
            Operation::Size,
            ErrorCode::Io,
            update,
            ffi::SQLITE_IOERR_FSTAT,
        ),
        (
            Operation::Lock,
            ErrorCode::Io,
            update,
            ffi::SQLITE_IOERR_LOCK,
        ),
        (Operation::Lock, ErrorCode::Busy, update, ffi::SQLITE_BUSY),
        (
            Operation::Lock,
            ErrorCode::ReadOnly,
            update,
            ffi::SQLITE_READONLY,
        ),
        (
            Operation::Delete,
            ErrorCode::Io,
            update,
            ffi::SQLITE_IOERR_DELETE,
        ),
        (
            Operation::Exists,
            ErrorCode::Denied,
            update,
            ffi::SQLITE_IOERR_ACCESS,
        ),
        (Operation::Open, ErrorCode::Io, update, ffi::SQLITE_CANTOPEN),
        (
            Operation::Open,
            ErrorCode::ReadOnly,
            update,
            ffi::SQLITE_READONLY_DIRECTORY,
        ),
        (
            Operation::Open,
            ErrorCode::Denied,
            "ATTACH 'other.db' AS other",
            ffi::SQLITE_CANTOPEN,
        ),
        (
            Operation::Write,
            ErrorCode::ReadOnly,
            update,
            ffi::SQLITE_READONLY,
        ),
    ] {
        let storage = Memory::default();
        let connection = filled(&storage);
        storage.fail(deed, 0, error);
        let result = connection.execute_batch(sql).unwrap_err();
        assert_eq!(code(&result), expected, "{deed:?} {error:?}: {result}");
        storage.heal();
        assert_eq!(
            text(&connection, "PRAGMA integrity_check"),
            "ok",
            "{deed:?} {error:?}"
        );
    }
}

#[test]
fn a_read_past_the_end_is_filled_with_zeros_and_called_short() {
    let storage = Memory::default();
    let connection = filled(&storage);
    let size = storage.size_of("shop.db").unwrap();
    let mut buffer = [0xaa_u8; 100];
    let mut read = |offset: i64| {
        buffer.fill(0xaa);
        let mut file: *mut ffi::sqlite3_file = std::ptr::null_mut();
        // SAFETY: the connection is open, so SQLite hands out the file of its
        // main database, whose methods are called as SQLite calls them.
        let code = unsafe {
            let argument = (&raw mut file).cast();
            let main = c"main".as_ptr();
            let found = ffi::sqlite3_file_control(
                connection.handle(),
                main,
                ffi::SQLITE_FCNTL_FILE_POINTER,
                argument,
            );
            assert_eq!(found, ffi::SQLITE_OK);
            (*(*file).pMethods).xRead.unwrap()(file, buffer.as_mut_ptr().cast(), 100, offset)
        };
        (code, buffer)
    };
    let (code, whole) = read(0);
    assert_eq!(
        (code, &whole[..16]),
        (ffi::SQLITE_OK, b"SQLite format 3\0".as_slice())
    );
    let (code, partly) = read(size as i64 - 40);
    assert_eq!(
        (code, &partly[40..]),
        (ffi::SQLITE_IOERR_SHORT_READ, [0; 60].as_slice())
    );
    let (code, irreversible) = read(size as i64 + 1000);
    assert_eq!(
        (code, irreversible),
        (ffi::SQLITE_IOERR_SHORT_READ, [0; 100])
    );
    assert_eq!(read(-1).0, ffi::SQLITE_MISUSE);
}

#[test]
fn what_is_read_only_stays_as_it_is_and_a_reader_does_not_ask_for_a_log() {
    let storage = Memory::default();
    let connection = filled(&storage);
    text(&connection, "PRAGMA locking_mode = exclusive");
    text(&connection, "PRAGMA journal_mode = wal");
    connection
        .execute_batch("UPDATE item SET note = 'logged'")
        .unwrap();

    let storage = storage.after_crash(true);
    let connection = open_with(&storage, "shop.db", OpenFlags::default()).unwrap();
    text(&connection, "PRAGMA locking_mode = exclusive");
    let error = connection.execute_batch("DELETE FROM item").unwrap_err();
    assert_eq!(code(&error), ffi::SQLITE_READONLY);
    for (_, role, options) in storage.opened() {
        assert!(
            role != Role::Wal || !options.read_write && !options.create,
            "{role:?} {options:?}"
        );
    }
}

#[test]
fn a_name_that_was_not_granted_cannot_be_opened() {
    let storage = Memory::default();
    let error = open_with(&storage, "../secret.db", OpenFlags::default()).unwrap_err();
    assert_eq!(code(&error), ffi::SQLITE_CANTOPEN);
    let long = "x".repeat(5000);
    assert!(open_with(&storage, &long, OpenFlags::default()).is_err());
}

#[test]
fn the_clock_and_the_dice_are_real() {
    let storage = Memory::default();
    let connection = open(&storage);
    let now = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .unwrap()
        .as_secs();
    let told: u64 = text(&connection, "SELECT strftime('%s', 'now')")
        .parse()
        .unwrap();
    assert!(told.abs_diff(now) <= 1, "{told} {now}");
    let dice = "SELECT hex(randomblob(16))";
    assert_ne!(text(&connection, dice), text(&connection, dice));
}

#[test]
fn waiting_for_a_lock_is_left_to_the_host() {
    let storage = Memory::default();
    let connection = filled(&storage);
    connection
        .busy_timeout(std::time::Duration::from_millis(50))
        .unwrap();
    storage.fail(Operation::Lock, 0, ErrorCode::Busy);
    let begun = std::time::Instant::now();
    assert_eq!(
        code(&connection.execute_batch("DELETE FROM item").unwrap_err()),
        ffi::SQLITE_BUSY
    );
    assert!(SLEPT.load(Ordering::SeqCst) >= 40);
    assert!(
        begun.elapsed() < std::time::Duration::from_millis(40),
        "it has not slept by itself"
    );
}
