//! The host is killed at each call of its storage that changes something, between two calls and
//! in the middle of one: afterwards the file is as it was before the transaction, or as it is
//! after it.

use std::path::Path;
use std::time::Duration;
use std::{env, fs};

use rusqlite::Connection;
use serde_json::{Value, json};

use super::client::Host;

/// Rows, with an index, in pages as small as they get.
const ROWS: &str = "
    CREATE TABLE t (id INTEGER PRIMARY KEY, k INTEGER, v TEXT);
    CREATE INDEX by_k ON t (k);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100)
        INSERT INTO t SELECT i, i * 7919 % 1009, printf('%.*c', i, 'v') FROM n;";

/// Changes rows, indexes, the schema, and the length of the file.
const CHANGE: &str = "
    INSERT INTO t SELECT id + 1000, k * 3, v || v FROM t;
    CREATE INDEX by_v ON t (v, k);
    DELETE FROM t WHERE id % 3 = 0;
    DROP INDEX by_k;
    CREATE TABLE u AS SELECT * FROM t WHERE id < 9;";

/// All of it, by way of the tables and by way of an index.
const CONTENT: &str = "SELECT group_concat(line, char(10)) FROM (
    SELECT sql AS line FROM (SELECT sql FROM sqlite_schema ORDER BY name)
    UNION ALL SELECT id || ' ' || k || ' ' || v FROM (SELECT * FROM t ORDER BY id)
    UNION ALL SELECT k FROM (SELECT k FROM t ORDER BY k))";

fn native(path: &Path, sql: &str) -> String {
    let connection = Connection::open(path).unwrap();
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

fn call(command: &str, arguments: Value) -> String {
    let params = json!({ "name": format!("sqlarium_{command}"), "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
}

#[test]
fn a_host_that_dies_leaves_a_file_with_a_rollback_journal_as_it_was_or_as_it_is_to_be() {
    die_everywhere("delete", false);
}

#[test]
fn a_host_that_dies_leaves_a_file_with_a_write_ahead_log_as_it_was_or_as_it_is_to_be() {
    die_everywhere("wal", false);
}

#[test]
fn a_host_that_dies_in_a_checkpoint_loses_nothing() {
    die_everywhere("wal", true);
}

/// Dies at every call of the change; or, if it lies in the log already, of the `checkpoint` that
/// brings it into the file.
fn die_everywhere(mode: &str, checkpoint: bool) {
    let folder = tempfile::tempdir().unwrap();
    let sql = format!("PRAGMA page_size = 512; PRAGMA journal_mode = {mode}; {ROWS}");
    let template = folder.path().join("template.db");
    Connection::open(&template)
        .unwrap()
        .execute_batch(&sql)
        .unwrap();
    let before = native(&template, CONTENT);
    let changed = folder.path().join("changed.db");
    fs::copy(&template, &changed).unwrap();
    Connection::open(&changed)
        .unwrap()
        .execute_batch(CHANGE)
        .unwrap();
    let after = native(&changed, CONTENT);
    assert_ne!(before, after);

    let path = folder.path().join("shop.db");
    let mut seen_before = 0;
    let mut seen_after = 0;
    // Every call would take minutes; the last ones, where it commits, are all tried.
    let long = env::var_os("SQLARIUM_SURVIVAL").is_some_and(|form| form == "long");
    let step = if long { 1 } else { 6 };
    let mut number: u64 = 1;
    let mut at_the_end = false;
    loop {
        let mut survived = false;
        for torn in ["", " torn"] {
            for end in ["-journal", "-wal", "-shm"] {
                let _ = fs::remove_file(format!("{}{end}", path.display()));
            }
            fs::copy(&template, &path).unwrap();
            if checkpoint {
                leave_a_log(&path);
            }
            let what = format!("{mode}, call {number}{torn}");
            let mut host = Host::doomed(folder.path(), &format!("{number}{torn}"));
            host.say(&match checkpoint {
                true => call("checkpoint", json!({})),
                false => call("batch", json!({ "sql": CHANGE })),
            });
            let answer = host.hear(Duration::from_secs(60));
            survived = answer.is_some();
            if let Some(answer) = &answer {
                assert!(answer.contains("\"isError\":false"), "{what}: {answer}");
            } else {
                assert_eq!(host.ended(), None, "{what}: it was not killed");
            }
            drop(host);
            // Every other time sqlarium is the first to come upon what was left.
            if number.is_multiple_of(2) {
                let mut next = Host::doomed(folder.path(), "0");
                let told = next.ask(&call("query", json!({ "sql": "SELECT count(*) FROM t" })));
                assert!(told.contains("\"isError\":false"), "{what}: {told}");
            }
            assert_eq!(native(&path, "PRAGMA integrity_check"), "ok", "{what}");
            let found = native(&path, CONTENT);
            let whole = if checkpoint {
                found == after
            } else {
                found == after || found == before
            };
            assert!(whole, "{what}: neither as before nor as after:\n{found}");
            assert!(
                found == after || !survived,
                "{what}: what was answered is lost"
            );
            if found == after {
                seen_after += 1;
            } else {
                seen_before += 1;
            }
        }
        number = match (survived, at_the_end) {
            (true, true) => break,
            // Beyond the last call; those just before it are left.
            (true, false) => {
                at_the_end = true;
                number.saturating_sub(step).max(1)
            }
            (false, true) => number + 1,
            (false, false) => number + step,
        };
    }
    let deaths = number - 1;
    println!("{mode}: {deaths} calls; {seen_before} times as before, {seen_after} as after");
    assert!(deaths > 8, "only {deaths} calls");
    assert!(checkpoint || seen_before > 8, "only {seen_before}");
}

/// Makes the change, so that it lies in the log alone.
fn leave_a_log(path: &Path) {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(&format!("PRAGMA wal_autocheckpoint = 0; {CHANGE}"))
        .unwrap();
    // As a program leaves it that dies: nobody tidies up.
    let beside = |end: &str| format!("{}{end}", path.display());
    let (database, log) = (fs::read(path).unwrap(), fs::read(beside("-wal")).unwrap());
    drop(connection);
    fs::write(path, database).unwrap();
    fs::write(beside("-wal"), log).unwrap();
    let _ = fs::remove_file(beside("-shm"));
}
