//! Real files with real locks: native SQLite and sqlarium on one database.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use serde_json::json;
use sqlarium_tests::{Answer, Folder, PATIENCE, Server};

/// How long the writers contend.
const CONTENTION: Duration = Duration::from_secs(10);

/// Set for the process that is started to be the native writer.
const NATIVE_WRITER: &str = "SQLARIUM_TEST_NATIVE_WRITER";

/// Every writer moves money between accounts and logs what it did, in one transaction.
const BANK: &str = "
    CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL);
    INSERT INTO accounts VALUES (1, 1000), (2, 1000), (3, 1000), (4, 1000);
    CREATE TABLE log (who TEXT NOT NULL, n INTEGER NOT NULL, filler TEXT, PRIMARY KEY (who, n));";

fn transfer(who: &str, n: u32) -> String {
    let (from, to) = (n % 4 + 1, (n + 1) % 4 + 1);
    format!(
        "UPDATE accounts SET balance = balance - 1 WHERE id = {from};
         UPDATE accounts SET balance = balance + 1 WHERE id = {to};
         INSERT INTO log VALUES ('{who}', {n}, hex(randomblob(400)));"
    )
}

/// Not a test of its own: what the other process runs. Prints how many transfers were committed.
#[test]
fn native_writer() {
    let Some(path) = env::var_os(NATIVE_WRITER) else {
        return;
    };
    let mut connection = Connection::open(path).expect("the database");
    connection.busy_timeout(Duration::ZERO).expect("no waiting");
    let started = Instant::now();
    let (mut committed, mut busy) = (0, 0);
    while started.elapsed() < CONTENTION {
        let result = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .and_then(|transaction| {
                transaction.execute_batch(&transfer("native", committed))?;
                transaction.commit()
            });
        match result {
            Ok(()) => committed += 1,
            Err(error) => {
                assert_eq!(
                    error.sqlite_error_code(),
                    Some(ErrorCode::DatabaseBusy),
                    "{error}"
                );
                busy += 1;
            }
        }
        // Room for the other.
        std::thread::sleep(Duration::from_millis(1));
    }
    eprintln!("native committed {committed}, busy {busy}");
}

/// Starts this test executable again as the native writer.
fn start_native_writer(path: &Path) -> std::process::Child {
    Command::new(env::current_exe().expect("this executable"))
        .args([
            "--exact",
            "native_writer",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(NATIVE_WRITER, path)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the native writer")
}

#[test]
fn an_index_that_another_process_leaves_unfinished_is_waited_for_as_long_as_for_a_lock() {
    let folder = Folder::new();
    let path = folder.database("t.db", "PRAGMA journal_mode = wal; CREATE TABLE t (a);");
    let native = Connection::open(&path).expect("the database");
    native
        .execute_batch("INSERT INTO t VALUES (1); BEGIN IMMEDIATE; INSERT INTO t VALUES (2);")
        .expect("begun");
    // It holds the lock of writers, and the header of the index is not what it should be. Another
    // process does this, since closing a file would end this one's locks on it.
    let index = format!("of={}", folder.path("t.db-shm").display());
    let zeros = ["if=/dev/zero", &index, "bs=96", "count=1", "conv=notrunc"];
    let status = std::process::Command::new("dd")
        .args(zeros)
        .arg("status=none")
        .status();
    assert!(status.expect("dd").success());

    for ms in [200, 1500] {
        let timeout = format!("{ms}ms");
        let path = path.display().to_string();
        let mut server = Server::ready(["--busy-timeout", &timeout, &path]);
        let started = Instant::now();
        let (status, said) = server.refusal("query", json!({ "sql": "SELECT * FROM t" }));
        let elapsed = started.elapsed();
        assert_eq!(status, "busy", "{said}");
        assert!(
            said.contains("write-ahead log") && said.contains("--busy-timeout"),
            "{said}"
        );
        assert!(elapsed >= Duration::from_millis(ms), "{elapsed:?}");
        assert!(elapsed < Duration::from_millis(ms + 3000), "{elapsed:?}");
    }
    drop(native);
    let mut server = Server::ready([path.display().to_string()]);
    assert_eq!(server.rows("SELECT a FROM t"), json!([[1]]));
}

#[test]
fn native_sqlite_and_sqlarium_write_one_file_at_once() {
    let folder = Folder::new();
    let path = folder.database("bank.db", BANK);
    let arguments = [
        "--busy-timeout",
        "20ms",
        "--db",
        path.to_str().expect("a path"),
    ];
    let mut server = Server::ready(arguments);
    let native = start_native_writer(&path);

    let started = Instant::now();
    let (mut committed, mut busy) = (0_u32, 0_u32);
    while started.elapsed() < CONTENTION {
        let sql = transfer("sqlarium", committed);
        let answer = server.call("batch", json!({ "sql": sql, "output": "json" }));
        if answer.refused {
            assert_eq!(answer.object["status"], "busy", "{}", answer.text);
            busy += 1;
        } else {
            committed += 1;
        }
        let sum = server.call(
            "query",
            json!({ "sql": "SELECT sum(balance) FROM accounts", "output": "json" }),
        );
        assert_sum(&sum);
    }
    let native = native.wait_with_output().expect("the native writer's end");
    let report = String::from_utf8_lossy(&native.stderr).into_owned();
    assert!(native.status.success(), "{report}");
    assert_eq!(server.finish().code, Some(0));

    let natively: u32 = report
        .split("native committed ")
        .nth(1)
        .and_then(|rest| rest.split(',').next())
        .and_then(|count| count.parse().ok())
        .unwrap_or_else(|| panic!("no count in {report}"));
    assert!(
        committed > 20,
        "sqlarium committed {committed}, was busy {busy} times"
    );
    assert!(natively > 20, "{report}");
    Folder::assert_whole(&path);
    let logged = "SELECT count(*) FROM log WHERE who = ";
    assert_eq!(
        Folder::native(&path, &format!("{logged}'sqlarium'")),
        [committed.to_string()]
    );
    assert_eq!(
        Folder::native(&path, &format!("{logged}'native'")),
        [natively.to_string()]
    );
    assert_eq!(
        Folder::native(&path, "SELECT sum(balance) FROM accounts"),
        ["4000"]
    );
}

/// Nobody ever sees half a transfer.
fn assert_sum(sum: &Answer) {
    if sum.refused {
        assert_eq!(sum.object["status"], "busy", "{}", sum.text);
    } else {
        assert_eq!(sum.object["rows"], json!([[4000]]));
    }
}

#[test]
fn they_take_turns_in_one_file() {
    let folder = Folder::new();
    let path = folder.database("bank.db", BANK);
    let mut server = Server::ready([&path]);
    let native = Connection::open(&path).expect("the database");
    for n in 0..100 {
        server.batch(&transfer("sqlarium", n));
        let sql = format!("BEGIN; {} COMMIT;", transfer("native", n));
        native.execute_batch(&sql).expect("a transfer");
        // Each sees what the other has just written.
        let count = json!([[2 * (n + 1), 4000]]);
        let sql = "SELECT (SELECT count(*) FROM log), (SELECT sum(balance) FROM accounts)";
        assert_eq!(server.rows(sql), count);
    }
    Folder::assert_whole(&path);
}

#[test]
fn a_transaction_that_another_process_left_open_is_busy_and_then_over() {
    let folder = Folder::new();
    let path = folder.database("bank.db", BANK);
    let arguments = [
        "--busy-timeout",
        "100ms",
        "--db",
        path.to_str().expect("a path"),
    ];
    let mut server = Server::ready(arguments);
    let native = Connection::open(&path).expect("the database");
    native.execute_batch("BEGIN EXCLUSIVE").expect("a lock");
    let (status, _) = server.refusal("query", json!({ "sql": "SELECT * FROM accounts" }));
    assert_eq!(status, "busy");
    native.execute_batch("ROLLBACK").expect("no lock");
    assert_eq!(
        server.rows("SELECT sum(balance) FROM accounts"),
        json!([[4000]])
    );
}

#[test]
fn sqlarium_holds_no_lock_between_calls() {
    let folder = Folder::new();
    let path = folder.database("bank.db", BANK);
    let mut server = Server::ready([&path]);
    server.batch(&transfer("sqlarium", 0));
    server.rows("SELECT * FROM accounts");
    let native = Connection::open(&path).expect("the database");
    native.busy_timeout(Duration::ZERO).expect("no waiting");
    native
        .execute_batch("BEGIN EXCLUSIVE; DELETE FROM log; COMMIT;")
        .expect("no lock is in the way");
    assert_eq!(server.rows("SELECT count(*) FROM log"), json!([[0]]));
}

#[test]
fn a_killed_server_leaves_a_journal_that_native_sqlite_rolls_back() {
    let folder = Folder::new();
    let path = folder.database("bank.db", BANK);
    let mut server = Server::ready([&path]);
    // So much that the cache spills into the file before the commit.
    let sql = "UPDATE accounts SET balance = 0;
        INSERT INTO log SELECT 'lost', i, hex(randomblob(400)) FROM
          (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n)";
    server.begin("batch", json!({ "sql": sql }));
    let started = Instant::now();
    while !folder.files().iter().any(|name| name == "bank.db-journal")
        || path.metadata().expect("the file").len() < 1 << 20
    {
        assert!(
            started.elapsed() < PATIENCE,
            "the file does not grow: {:?}",
            folder.files()
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(server);
    assert_eq!(
        Folder::native(&path, "SELECT sum(balance) FROM accounts"),
        ["4000"]
    );
    assert_eq!(Folder::native(&path, "SELECT count(*) FROM log"), ["0"]);
    Folder::assert_whole(&path);
}

#[test]
fn a_hot_journal_of_another_process_is_rolled_back() {
    let folder = Folder::new();
    let path = folder.database("bank.db", BANK);
    let crashed = folder.path("crashed.db");
    let native = Connection::open(&path).expect("the database");
    native
        .execute_batch("PRAGMA cache_size = 5; BEGIN; UPDATE accounts SET balance = 0;")
        .expect("begun");
    for n in 0..200 {
        let sql = format!("INSERT INTO log VALUES ('lost', {n}, hex(randomblob(2000)))");
        native.execute_batch(&sql).expect("a row");
    }
    // What a power cut at this moment would leave.
    std::fs::copy(&path, &crashed).expect("a copy");
    std::fs::copy(
        folder.path("bank.db-journal"),
        folder.path("crashed.db-journal"),
    )
    .expect("a copy");
    let mut server = Server::ready([&crashed]);
    let sql = "SELECT (SELECT count(*) FROM log), (SELECT sum(balance) FROM accounts)";
    assert_eq!(server.rows(sql), json!([[0, 4000]]));
    drop(server);
    Folder::assert_whole(&crashed);
}

#[test]
fn a_wal_database_that_nobody_has_open_is_read_and_written() {
    let folder = Folder::new();
    let path = folder.database("bank.db", &format!("PRAGMA journal_mode = wal; {BANK}"));
    let mut server = Server::ready([&path]);
    assert_eq!(server.rows("PRAGMA journal_mode"), json!([["wal"]]));
    for n in 0..50 {
        server.batch(&transfer("sqlarium", n));
    }
    let sql = "SELECT (SELECT count(*) FROM log), (SELECT sum(balance) FROM accounts)";
    assert_eq!(server.rows(sql), json!([[50, 4000]]));
    assert_eq!(server.finish().code, Some(0));
    assert_eq!(Folder::native(&path, "SELECT count(*) FROM log"), ["50"]);
    assert_eq!(
        Folder::native(&path, "PRAGMA journal_mode"),
        ["wal"],
        "it stays what it was"
    );
    Folder::assert_whole(&path);
}

#[test]
fn a_wal_that_a_crash_left_behind_is_recovered() {
    let folder = Folder::new();
    let path = folder.database("bank.db", &format!("PRAGMA journal_mode = wal; {BANK}"));
    let native = Connection::open(&path).expect("the database");
    native
        .execute_batch(&format!("BEGIN; {} COMMIT;", transfer("native", 1)))
        .expect("a transfer");
    let crashed = folder.path("crashed.db");
    std::fs::copy(&path, &crashed).expect("a copy");
    std::fs::copy(folder.path("bank.db-wal"), folder.path("crashed.db-wal")).expect("a copy");
    let mut server = Server::ready([&crashed]);
    assert_eq!(server.rows("SELECT count(*) FROM log"), json!([[1]]));
    server.batch(&transfer("sqlarium", 2));
    assert_eq!(server.finish().code, Some(0));
    assert_eq!(Folder::native(&crashed, "SELECT count(*) FROM log"), ["2"]);
    Folder::assert_whole(&crashed);
}
