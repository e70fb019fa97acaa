//! A transaction is aborted in the middle of its work, at a great many points: fuel decides
//! where, so that every point is the same in every run.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use sqlarium_tests::{Answer, Folder, Server};

use crate::{form, text};

/// Pages as small as they get, so that a transaction has to do with many.
const SMALL: &str = "PRAGMA page_size = 512;";

/// Rows, with an index.
const ROWS: &str = "
    CREATE TABLE t (id INTEGER PRIMARY KEY, k INTEGER, v TEXT);
    CREATE INDEX by_k ON t (k);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100)
        INSERT INTO t SELECT i, i * 7919 % 1009, printf('%.*c', i, 'v') FROM n;";

/// Changes all of it: rows, indexes, the schema, and the length of the file. The long texts make
/// it much to write when it commits.
const CHANGE: &str = "
    INSERT INTO t SELECT id + 1000, k * 3, v || v FROM t;
    CREATE INDEX by_v ON t (v, k);
    UPDATE t SET k = k + 1, v = v || 'x';
    DELETE FROM t WHERE id % 3 = 0;
    CREATE TABLE u AS SELECT * FROM t;
    DROP INDEX by_k;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 12)
        INSERT INTO t SELECT i + 5000, i, hex(zeroblob(20000)) FROM n;";

/// All that `ROWS` and `CHANGE` make, as one text: the schema, and every row by way of the
/// table and by way of an index.
const CONTENT: &str = "SELECT group_concat(line, char(10)) FROM (
    SELECT sql AS line FROM (SELECT sql FROM sqlite_schema ORDER BY name)
    UNION ALL SELECT id || ' ' || k || ' ' || v FROM (SELECT * FROM t ORDER BY id)
    UNION ALL SELECT k FROM (SELECT k FROM t ORDER BY k))";

#[test]
fn an_aborted_transaction_leaves_a_file_with_a_rollback_journal_unchanged() {
    cut_a_file("delete");
}

#[test]
fn an_aborted_transaction_leaves_a_file_with_a_write_ahead_log_unchanged() {
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

    let points = form(100, 3000);
    let (mut cut, mut written) = (0, 0);
    for point in 1..=points {
        // Half of the points are in the last part, where the transaction commits. The reserve
        // for a good end makes all of it more than the whole.
        let fuel = if point % 2 == 0 {
            (whole * 6 / 5 * point / points).max(1)
        } else {
            whole * 97 / 100 + whole * 4 / 100 * point / points
        };
        copy(&template, &path);
        let mut server = Server::start(["--fuel", &fuel.to_string(), text(&path)]);
        server.begin("batch", json!({ "sql": CHANGE }));
        let reply = server
            .receive(Duration::from_secs(20))
            .unwrap_or_else(|| panic!("{mode}: no answer with fuel {fuel}"));
        let answer = Answer::of(&reply);
        if answer.refused {
            cut += 1;
            assert!(answer.text.contains("--fuel"), "{}", answer.text);
            written += u64::from(is_written_to(&template, &path));
        }
        // Half of the time it is itself the next to open the file, half of the time native SQLite.
        if point % 4 < 2 {
            let next = server.call("query", json!({ "sql": "SELECT count(*) FROM t" }));
            let starved = next.text.contains("--fuel") && fuel < whole / 4;
            assert!(!next.refused || starved, "{fuel}: {}", next.text);
            assert_eq!(server.ask("ping", json!({}))["result"], json!({}));
        }
        drop(server);
        Folder::assert_whole(&path);
        let found = Folder::native(&path, CONTENT);
        assert!(
            found == after || (found == before && answer.refused),
            "with fuel {fuel} it is neither as before nor as after, or what was answered is lost"
        );
    }
    println!("{mode}: of {points}, {cut} were cut, {written} of them while files were written to");
    assert!(cut > points / 2, "only {cut} of {points} were cut");
    assert!(cut < points, "the change was never made");
    assert!(written > 5, "only {written} had written to a file");
}

/// Whether the file differs from what it was, or has a log beside it.
fn is_written_to(template: &Path, path: &Path) -> bool {
    let read = |path: &Path| fs::read(path).expect("the file");
    read(template) != read(path)
        || fs::metadata(format!("{}-wal", text(path))).is_ok_and(|log| log.len() > 0)
}

/// More than SQLite keeps in memory of a transaction that has not been committed.
const LARGE: &str = "
    UPDATE t SET k = -k;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 24)
        INSERT INTO t SELECT i + 1000, i, hex(zeroblob(500000)) FROM n;
    DELETE FROM t WHERE id = 1001;";

#[test]
fn an_aborted_transaction_larger_than_memory_leaves_the_file_unchanged() {
    for mode in ["delete", "wal"] {
        let folder = Folder::new();
        let template = folder.database("t.db", &format!("{ROWS} PRAGMA journal_mode = {mode};"));
        let path = folder.path("copy.db");
        let before = Folder::native(&template, CONTENT);
        let whole = fuel_of(&copy(&template, &path), LARGE);
        let after = Folder::native(&path, CONTENT);
        let points = form(4, 200);
        let mut written = 0;
        for point in 0..points {
            let fuel = whole * 8 / 10 + whole * 2 / 10 * point / points;
            copy(&template, &path);
            let mut server = Server::start(["--fuel", &fuel.to_string(), text(&path)]);
            let answer = server.call("batch", json!({ "sql": LARGE }));
            assert!(answer.text.contains("--fuel"), "{}", answer.text);
            drop(server);
            written += u64::from(is_written_to(&template, &path));
            Folder::assert_whole(&path);
            // The cut may come after the commit, when the log goes into the file.
            let found = Folder::native(&path, CONTENT);
            assert!(
                found == before || found == after,
                "with fuel {fuel} it is half done"
            );
        }
        println!("{mode}, large: {written} of {points} were cut while files were written to");
        assert!(written > points / 4, "only {written} had written to a file");
    }
}

/// A row on each page, so that undoing a change of all is more work than the change.
const WIDE: &str = "CREATE TABLE w (id INTEGER PRIMARY KEY, n, v);
    INSERT INTO w SELECT id, 0, hex(zeroblob(200)) FROM t;";

#[test]
fn history_knows_of_a_write_and_of_an_undo_wherever_they_are_cut() {
    let update = json!({ "sql": "UPDATE w SET n = 1", "output": "json" });
    let open = json!({ "sql": "SELECT count(*) FROM w" });
    let (mut writes_cut, mut undos_cut) = (0, 0);
    for mode in ["delete", "wal"] {
        let folder = Folder::new();
        let sql = format!("{SMALL} {ROWS} {WIDE} PRAGMA journal_mode = {mode};");
        let template = folder.database("t.db", &sql);
        let path = folder.path("copy.db");
        let changed = || {
            Folder::assert_whole(&path);
            let rows = Folder::native(&path, "SELECT sum(n) FROM w");
            assert!(
                rows == ["0"] || rows == ["100"],
                "half of it is done: {rows:?}"
            );
            rows == ["100"]
        };
        // Whether a call with little fuel says that a write is done, if it says anything.
        let told = |server: &mut Server| {
            let history = server.call("history", json!({ "output": "json" }));
            let rows = history.object["rows"].as_array().cloned();
            rows.filter(|_| !history.refused)
                .map(|rows| rows.iter().any(|row| row[4] == "done"))
        };
        copy(&template, &path);
        let mut server = Server::ready([text(&path)]);
        // To open the file is no part of what the write takes.
        server.call("query", open.clone());
        let [write, undo] = [
            ("exec", update.clone()),
            ("undo", json!({ "output": "json" })),
        ]
        .map(|(command, arguments)| {
            let answer = server.call(command, arguments);
            assert!(!answer.refused, "{}", answer.text);
            answer.object["fuel"].as_u64().expect("the fuel")
        });
        drop(server);
        let points = form(60, 1500);
        for point in 1..=points {
            let whole = if point % 2 == 0 { write } else { undo };
            let fuel = whole / 2 + whole * point / points;
            copy(&template, &path);
            let mut server = Server::start(["--fuel", &fuel.to_string(), text(&path)]);
            server.call("query", open.clone());
            let written = server.call("exec", update.clone());
            let there = changed();
            assert!(
                there || written.refused,
                "{fuel}: what was answered is lost"
            );
            if let Some(told) = told(&mut server) {
                assert_eq!(told, there, "{mode}, {fuel}: {}", written.text);
            }
            writes_cut += u64::from(written.refused);
            if !there {
                continue;
            }
            let undone = server.call("undo", json!({}));
            let left = changed();
            assert!(!left || undone.refused, "{fuel}: {}", undone.text);
            // A log that somebody else has brought to its end does not tell of an undo that was cut behind its commit.
            let tells = mode == "delete" || !undone.refused;
            if let Some(told) = told(&mut server)
                && tells
            {
                assert_eq!(told, left, "{mode}, {fuel}: {}", undone.text);
            }
            undos_cut += u64::from(undone.refused);
        }
    }
    println!("{writes_cut} writes and {undos_cut} undos were cut");
    assert!(writes_cut > 0 && undos_cut > 0, "{writes_cut}, {undos_cut}");
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
fn an_aborted_transaction_leaves_a_database_in_memory_unchanged() {
    let whole = fuel_of(Path::new(":memory:"), &format!("{ROWS} {CHANGE}"));
    let points = form(300, 5000);
    // Both halves of the work are within it, and not both together with idle work before them.
    let fresh = || {
        let mut server = Server::ready(["--fuel", &whole.to_string()]);
        server.batch(ROWS);
        server
    };
    let mut server = fresh();
    let before = server.rows(CONTENT);
    let mut cut = 0;
    for point in 0..points {
        // Idle work moves the point at which the change is cut.
        let idle = whole / 40 * point / points;
        let sql = format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {idle})
                 SELECT count(*) FROM n;
             {CHANGE}"
        );
        let answer = server.call("batch", json!({ "sql": sql }));
        if answer.refused {
            cut += 1;
            assert!(answer.text.contains("--fuel"), "{}", answer.text);
            // The cut may come after the commit, while the answer is written.
            if server.rows("SELECT count(*) FROM sqlite_schema WHERE name = 'u'") == json!([[1]]) {
                println!("memory: committed, and then {}", answer.text);
                assert_eq!(server.rows("SELECT count(*) FROM u"), json!([[134]]));
                server = fresh();
                continue;
            }
            assert!(server.rows(CONTENT) == before, "{point} changed something");
            if point % 10 == 0 {
                assert_eq!(server.rows("PRAGMA integrity_check"), json!([["ok"]]));
            }
        } else {
            server = fresh();
        }
    }
    println!("memory: of {points}, {cut} were cut");
    assert!(cut > points / 2, "only {cut} of {points} were cut");
}

#[test]
fn a_call_that_runs_out_of_fuel_while_its_answer_is_handed_over_is_answered() {
    let answered = |fuel: u64| {
        let mut server = Server::start(["--fuel", &fuel.to_string()]);
        server.begin("query", json!({ "sql": "SELECT 1" }));
        let reply = server.receive(Duration::from_secs(5));
        reply.map(|reply| !Answer::of(&reply).refused)
    };
    let (mut little, mut enough) = (1_000_u64, 200_000_u64);
    while enough - little > 4 {
        let middle = little.midpoint(enough);
        match answered(middle) {
            Some(true) => enough = middle,
            _ => little = middle,
        }
    }
    let close = (0..600).step_by(form(20, 1)).map(|less| enough - less);
    for fuel in close.chain([1, 10, 1000, 10_000]) {
        assert!(answered(fuel).is_some(), "silence with fuel {fuel}");
    }
}
