//! A transaction is cut off in the middle of its work, at a great many points: fuel decides
//! where, so that every point is the same in every run.

use std::fs;
use std::path::Path;

use serde_json::json;
use sqlarium_tests::{Folder, Server};

use crate::{form, text};

/// Rows in pages as small as they get, with an index. The file asks for so small a cache that a
/// transaction writes to the file long before it commits.
const SMALL: &str = "
    PRAGMA page_size = 512;
    PRAGMA default_cache_size = 10;
";

const ROWS: &str = "
    CREATE TABLE t (id INTEGER PRIMARY KEY, k INTEGER, v TEXT);
    CREATE INDEX by_k ON t (k);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100)
        INSERT INTO t SELECT i, i * 7919 % 1009, printf('%.*c', i, 'v') FROM n;";

/// Changes all of it: rows, indexes, the schema, and the length of the file.
const CHANGE: &str = "
    INSERT INTO t SELECT id + 1000, k * 3, v || v FROM t;
    CREATE INDEX by_v ON t (v, k);
    UPDATE t SET k = k + 1, v = v || 'x';
    DELETE FROM t WHERE id % 3 = 0;
    CREATE TABLE u AS SELECT * FROM t;
    DROP INDEX by_k;";

/// All that `ROWS` and `CHANGE` make, as one text: the schema, and every row by way of the
/// table and by way of an index.
const CONTENT: &str = "SELECT group_concat(line, char(10)) FROM (
    SELECT sql AS line FROM (SELECT sql FROM sqlite_schema ORDER BY name)
    UNION ALL SELECT id || ' ' || k || ' ' || v FROM (SELECT * FROM t ORDER BY id)
    UNION ALL SELECT k FROM (SELECT k FROM t ORDER BY k))";

#[test]
fn a_cut_transaction_leaves_a_file_with_a_rollback_journal_as_it_was() {
    cut_a_file("delete");
}

#[test]
fn a_cut_transaction_leaves_a_file_with_a_write_ahead_log_as_it_was() {
    cut_a_file("wal");
}

fn cut_a_file(mode: &str) {
    let folder = Folder::new();
    let sql = format!("{SMALL} {ROWS} PRAGMA journal_mode = {mode};");
    let template = folder.database("template.db", &sql);
    let before = Folder::native(&template, CONTENT);
    let changed = folder.database("changed.db", &format!("{sql} {CHANGE}"));
    let after = Folder::native(&changed, CONTENT);
    assert_ne!(before, after);

    let path = folder.path("t.db");
    let whole = fuel_of(&copy(&template, &path), CHANGE);
    assert_eq!(Folder::native(&path, CONTENT), after);

    let points = form(150, 3000);
    let (mut cut, mut recovered) = (0, 0);
    for point in 1..=points {
        // Beyond what it takes, since the reserve for a good end comes on top.
        let fuel = whole * 6 / 5 * point / points;
        copy(&template, &path);
        let mut server = Server::start(["--fuel", &fuel.to_string(), text(&path)]);
        let answer = server.call("batch", json!({ "sql": CHANGE }));
        if answer.refused {
            cut += 1;
            assert!(answer.text.contains("--fuel"), "{}", answer.text);
        }
        // Half of the time it is itself the next to open the file, half of the time native SQLite.
        if point % 2 == 0 {
            let next = server.call("query", json!({ "sql": "SELECT count(*) FROM t" }));
            let starved = next.text.contains("--fuel") && fuel < whole / 4;
            assert!(!next.refused || starved, "{fuel}: {}", next.text);
            assert_eq!(server.ask("ping", json!({}))["result"], json!({}));
        }
        drop(server);
        let left = folder.path(&format!(
            "t.db{}",
            if mode == "wal" { "-wal" } else { "-journal" }
        ));
        recovered += u64::from(left.metadata().is_ok_and(|left| left.len() > 0));
        Folder::assert_whole(&path);
        let found = Folder::native(&path, CONTENT);
        let expected = if answer.refused { &before } else { &after };
        assert!(
            found == *expected || found == after,
            "with fuel {fuel} it is neither as before nor as after"
        );
        if answer.refused && found == after {
            println!("{mode}: fuel {fuel} was cut after its commit");
        }
    }
    println!("{mode}: of {points}, {cut} were cut, {recovered} left something to recover from");
    assert!(cut > points / 2, "only {cut} of {points} were cut");
    assert!(cut < points, "the change was never made");
    assert!(
        recovered > points / 8,
        "only {recovered} had written to the file"
    );
}

/// What `sql` takes, in fuel.
fn fuel_of(path: &Path, sql: &str) -> u64 {
    let mut server = Server::ready([text(path)]);
    let answer = server.call("batch", json!({ "sql": sql, "output": "json" }));
    assert!(!answer.refused, "{}", answer.text);
    answer.object["fuel"].as_u64().expect("the fuel")
}

/// A fresh copy of a database, without anything that belonged to the last one.
fn copy(from: &Path, to: &Path) -> std::path::PathBuf {
    for end in ["-journal", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{end}", text(to)));
    }
    fs::copy(from, to).expect("a copy");
    to.to_owned()
}

#[test]
fn a_cut_transaction_leaves_a_database_in_memory_as_it_was() {
    let whole = fuel_of(Path::new(":memory:"), &format!("{ROWS} {CHANGE}"));
    let points = form(300, 5000);
    // Both halves of the work are within it, and not both together with idle work before them.
    let mut server = Server::ready(["--fuel", &whole.to_string()]);
    server.batch(ROWS);
    let before = server.rows(CONTENT);
    let mut cut = 0;
    for point in 0..points {
        // Idle work moves the point at which the change is cut.
        let idle = whole / 3000 * point / points;
        let sql = format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {idle})
                 SELECT count(*) FROM n;
             {CHANGE}"
        );
        let answer = server.call("batch", json!({ "sql": sql }));
        if answer.refused {
            cut += 1;
            assert!(answer.text.contains("--fuel"), "{}", answer.text);
            assert!(server.rows(CONTENT) == before, "{point} changed something");
            if point % 10 == 0 {
                assert_eq!(server.rows("PRAGMA integrity_check"), json!([["ok"]]));
            }
        } else {
            server = Server::ready(["--fuel", &whole.to_string()]);
            server.batch(ROWS);
        }
    }
    println!("memory: of {points}, {cut} were cut");
    assert!(cut > points / 2, "only {cut} of {points} were cut");
}
