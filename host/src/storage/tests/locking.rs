//! Locks that native SQLite sees and takes.

use std::time::{Duration, Instant};

use super::sandbox::Sandbox;
use super::*;

const BUSY: i32 = rusqlite::ffi::SQLITE_BUSY;

#[test]
fn each_side_keeps_out_the_other() {
    let folder = folder();
    let path = folder.path().join("shop.db");
    let mut native = Native::open(&path);
    native.sql("CREATE TABLE t (x); INSERT INTO t VALUES (1)");
    let sandbox = Sandbox::new(&serving(folder.path(), false, 100 * MIB));
    let ours = sandbox.open("shop.db");

    native.sql("BEGIN IMMEDIATE; INSERT INTO t VALUES (2)");
    assert_eq!(run(&ours, "SELECT count(*) FROM t").unwrap(), "1");
    assert_eq!(
        code(&run(&ours, "INSERT INTO t VALUES (3)").unwrap_err()),
        BUSY
    );
    native.sql("COMMIT; BEGIN EXCLUSIVE");
    assert_eq!(
        code(&run(&ours, "SELECT count(*) FROM t").unwrap_err()),
        BUSY
    );
    native.sql("COMMIT");
    assert_eq!(run(&ours, "SELECT count(*) FROM t").unwrap(), "2");

    run(&ours, "BEGIN IMMEDIATE; INSERT INTO t VALUES (3)").unwrap();
    assert_eq!(native.sql("SELECT count(*) FROM t"), "2");
    assert_eq!(native.try_sql("INSERT INTO t VALUES (4)"), Err(BUSY));
    run(&ours, "COMMIT; BEGIN EXCLUSIVE").unwrap();
    assert_eq!(native.try_sql("SELECT count(*) FROM t"), Err(BUSY));
    run(&ours, "COMMIT; BEGIN; SELECT * FROM t").unwrap();
    assert_eq!(
        native.try_sql("INSERT INTO t VALUES (5)"),
        Err(BUSY),
        "we are reading"
    );
    // A second connection of ours, closed: its end must not end the lock of the first.
    let second = Sandbox::new(&serving(folder.path(), false, 100 * MIB));
    assert_eq!(
        run(&second.open("shop.db"), "SELECT count(*) FROM t").unwrap(),
        "3"
    );
    assert_eq!(
        native.try_sql("INSERT INTO t VALUES (5)"),
        Err(BUSY),
        "we are still reading"
    );
    run(&ours, "COMMIT").unwrap();
    native.sql("INSERT INTO t VALUES (5)");
    native.close();
}

#[test]
fn an_aborted_guest_leaves_no_lock_and_native_sqlite_rolls_its_journal_back() {
    let folder = folder();
    let mut native = Native::open(&folder.path().join("shop.db"));
    let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)";
    native.sql(&format!("CREATE TABLE t (id INTEGER PRIMARY KEY, x); {rows} INSERT INTO t SELECT i, 'old' || i FROM n"));
    let sandbox = Sandbox::new(&serving(folder.path(), false, 100 * MIB));
    let ours = sandbox.open("shop.db");
    run(
        &ours,
        "PRAGMA cache_size = 5; BEGIN; UPDATE t SET x = 'new'",
    )
    .unwrap();
    assert_eq!(
        native.try_sql("SELECT count(*) FROM t"),
        Err(BUSY),
        "the cache has spilled into the file"
    );
    sandbox.cut([ours]);
    assert_eq!(
        native.sql("SELECT count(*) FROM t WHERE x LIKE 'old%'"),
        "5000"
    );
    assert_eq!(native.sql("PRAGMA integrity_check"), "ok");
    assert!(!folder.path().join("shop.db-journal").exists());
    native.close();
}

#[test]
fn a_native_process_that_crashed_is_rolled_back_by_us() {
    let folder = folder();
    let mut native = Native::open(&folder.path().join("shop.db"));
    let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)";
    native.sql(&format!("CREATE TABLE t (id INTEGER PRIMARY KEY, x); {rows} INSERT INTO t SELECT i, 'old' || i FROM n"));
    native.sql("PRAGMA cache_size = 5; BEGIN; UPDATE t SET x = 'new'");
    native.crash();
    assert!(folder.path().join("shop.db-journal").exists());
    let sandbox = Sandbox::new(&serving(folder.path(), false, 100 * MIB));
    let ours = sandbox.open("shop.db");
    assert_eq!(
        run(&ours, "SELECT count(*) FROM t WHERE x LIKE 'old%'").unwrap(),
        "5000"
    );
    assert_eq!(run(&ours, "PRAGMA integrity_check").unwrap(), "ok");
    assert!(!folder.path().join("shop.db-journal").exists());
}

/// Two that write at once for a while: only `busy` keeps one from it, and nothing is lost.
pub fn both_write(folder: &Path, seconds: u64) {
    let mut native = Native::open(&folder.join("shop.db"));
    native.sql("CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, who, x)");
    let sandbox = Sandbox::new(&serving(folder, false, 1000 * MIB));
    let ours = sandbox.open("shop.db");
    let insert =
        |who: &str| format!("INSERT INTO t (who, x) VALUES ('{who}', hex(randomblob(500)))");
    let (mut native_done, mut ours_done, mut busy) = (0, 0, 0);
    let begun = Instant::now();
    // On a loaded machine one may find it busy for long.
    while begun.elapsed() < Duration::from_secs(seconds) || native_done < 10 || ours_done < 10 {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "{native_done} {ours_done} {busy}"
        );
        native.begin(&insert("native"));
        for _ in 0..3 {
            match run(&ours, &insert("ours")) {
                Ok(_) => ours_done += 1,
                Err(error) => {
                    assert_eq!(code(&error) & 0xff, BUSY, "{error}");
                    busy += 1;
                }
            }
            match run(&ours, "SELECT count(*) FROM t WHERE who = 'ours'") {
                Ok(count) => assert_eq!(count, ours_done.to_string()),
                Err(error) => assert_eq!(code(&error) & 0xff, BUSY, "{error}"),
            }
        }
        match native.answer() {
            Ok(_) => native_done += 1,
            Err(code) => {
                assert_eq!(code & 0xff, BUSY);
                busy += 1;
            }
        }
    }
    assert!(
        native_done >= 10 && ours_done >= 10,
        "{native_done} {ours_done} {busy}"
    );
    for (who, done) in [("native", native_done), ("ours", ours_done)] {
        let sql = format!("SELECT count(*) FROM t WHERE who = '{who}'");
        assert_eq!(run(&ours, &sql).unwrap(), done.to_string());
        assert_eq!(native.sql(&sql), done.to_string());
    }
    assert_eq!(run(&ours, "PRAGMA integrity_check").unwrap(), "ok");
    assert_eq!(native.sql("PRAGMA integrity_check"), "ok");
    native.close();
}

#[test]
fn two_that_write_at_once_lose_nothing() {
    let folder = folder();
    both_write(folder.path(), 3);
}
