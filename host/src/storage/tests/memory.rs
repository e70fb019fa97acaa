//! The database in the host's memory.

use super::sandbox::Sandbox;
use super::*;

#[test]
fn it_outlives_the_guest_and_an_aborted_transaction_is_rolled_back() {
    let folder = folder();
    let storage = with_root(folder.path(), false, 100 * MIB);
    let fill = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
        INSERT INTO t SELECT i, 'old' || i FROM n";
    let first = Sandbox::new(&storage);
    let connection = first.open("memory");
    run(
        &connection,
        "PRAGMA cache_size = 5; CREATE TABLE t (id INTEGER PRIMARY KEY, x)",
    )
    .unwrap();
    run(&connection, fill).unwrap();
    run(
        &connection,
        "BEGIN; UPDATE t SET x = 'new'; DELETE FROM t WHERE id > 100",
    )
    .unwrap();
    assert_eq!(storage.exists("memory-journal", false), Ok(true));
    first.cut([connection]);

    let second = Sandbox::new(&storage);
    let connection = second.open("memory");
    assert_eq!(
        run(&connection, "SELECT count(*) FROM t WHERE x LIKE 'old%'").unwrap(),
        "5000"
    );
    assert_eq!(run(&connection, "PRAGMA integrity_check").unwrap(), "ok");
    assert_eq!(storage.exists("memory-journal", false), Ok(false));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn two_connections_take_turns() {
    let folder = folder();
    let storage = with_root(folder.path(), false, 100 * MIB);
    let (one, other) = (Sandbox::new(&storage), Sandbox::new(&storage));
    let (one, other) = (one.open("memory"), other.open("memory"));
    run(
        &one,
        "CREATE TABLE t (x); BEGIN IMMEDIATE; INSERT INTO t VALUES (1)",
    )
    .unwrap();
    assert_eq!(
        code(&run(&other, "BEGIN IMMEDIATE").unwrap_err()),
        rusqlite::ffi::SQLITE_BUSY
    );
    assert_eq!(run(&other, "SELECT count(*) FROM t").unwrap(), "0");
    run(&one, "COMMIT").unwrap();
    assert_eq!(run(&other, "BEGIN; SELECT count(*) FROM t").unwrap(), "1");
    assert_eq!(
        code(&run(&one, "INSERT INTO t VALUES (2)").unwrap_err()),
        rusqlite::ffi::SQLITE_BUSY
    );
    run(&other, "COMMIT").unwrap();
    run(&one, "INSERT INTO t VALUES (2)").unwrap();
    assert_eq!(run(&other, "SELECT count(*) FROM t").unwrap(), "2");
    assert_eq!(
        run(&one, "PRAGMA journal_mode = wal").unwrap(),
        "delete",
        "there is no shared memory for it"
    );
}

#[test]
fn a_writer_that_waits_keeps_new_readers_out() {
    let folder = folder();
    let storage = with_root(folder.path(), false, MIB);
    let open = || storage.open("memory", Role::MainDatabase, CREATE).unwrap();
    let (mut reader, mut writer, mut late) = (open(), open(), open());
    reader.lock(LockLevel::Shared).unwrap();
    writer.lock(LockLevel::Shared).unwrap();
    writer.lock(LockLevel::Reserved).unwrap();
    assert_eq!(late.check_reserved(), Ok(true));
    late.lock(LockLevel::Shared).unwrap();
    assert_eq!(late.lock(LockLevel::Reserved), Err(ErrorCode::Busy));
    late.unlock(LockLevel::None).unwrap();
    assert_eq!(writer.lock(LockLevel::Exclusive), Err(ErrorCode::Busy));
    assert_eq!(
        late.lock(LockLevel::Shared),
        Err(ErrorCode::Busy),
        "the writer is waiting"
    );
    drop(reader);
    assert_eq!(writer.lock(LockLevel::Exclusive), Ok(()));
    assert_eq!(late.lock(LockLevel::Shared), Err(ErrorCode::Busy));
    writer.unlock(LockLevel::Shared).unwrap();
    assert_eq!(late.lock(LockLevel::Shared), Ok(()));
    assert_eq!(late.check_reserved(), Ok(false));
    drop(writer);
    assert_eq!(late.lock(LockLevel::Exclusive), Ok(()));
}

#[test]
fn one_transaction_changes_one_file() {
    let folder = folder();
    let storage = with_root(folder.path(), false, 100 * MIB);
    let sandbox = Sandbox::new(&storage);
    for name in ["one.db", "other.db"] {
        run(&sandbox.open(name), "CREATE TABLE t (x)").unwrap();
    }
    let both = "BEGIN; INSERT INTO main.t VALUES (1); INSERT INTO other.t VALUES (1); COMMIT";
    let connection = sandbox.open("one.db");
    run(&connection, "ATTACH 'other.db' AS other").unwrap();
    // It would take a super-journal, which native SQLite could not follow after a crash.
    assert_eq!(
        code(&run(&connection, both).unwrap_err()),
        rusqlite::ffi::SQLITE_CANTOPEN
    );
    assert!(connection.is_autocommit(), "it is rolled back");
    let rows = "SELECT (SELECT count(*) FROM main.t) + (SELECT count(*) FROM other.t)";
    assert_eq!(run(&connection, rows).unwrap(), "0");

    // Memory survives no crash that a file must agree with it after, so it need not be counted.
    let connection = sandbox.open("memory");
    run(
        &connection,
        "PRAGMA synchronous = off; CREATE TABLE t (x); ATTACH 'other.db' AS other",
    )
    .unwrap();
    run(&connection, both).unwrap();
    assert_eq!(run(&connection, rows).unwrap(), "2");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}
