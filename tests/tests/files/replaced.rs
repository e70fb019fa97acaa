//! Files that other programs replace, delete, or leave in the middle of a write.

use std::fs;
use std::path::PathBuf;

use rusqlite::Connection;
use serde_json::json;
use sqlarium_tests::{Folder, Server};

use crate::{rooted, text};

const OLD: &str = "CREATE TABLE t (a); INSERT INTO t VALUES ('old');";
const NEW: &str = "CREATE TABLE t (a); INSERT INTO t VALUES ('new');";

#[test]
fn a_file_that_was_replaced_is_read_anew_and_the_answer_says_so() {
    for mode in ["delete", "wal"] {
        for readonly in [false, true] {
            let folder = Folder::new();
            let path = folder.database("x.db", &format!("PRAGMA journal_mode = {mode}; {OLD}"));
            let mut arguments = vec!["--db", text(&path)];
            if readonly {
                arguments.push("--readonly");
            }
            let mut server = Server::ready(arguments);
            assert_eq!(server.rows("SELECT a FROM t"), json!([["old"]]));
            if !readonly {
                // So that there is a log that belongs to the old file.
                server.batch("INSERT INTO t VALUES ('written')");
            }
            fs::rename(folder.database("y.db", NEW), &path).expect("renamed over it");
            let answer = server.call("query", json!({ "sql": "SELECT a FROM t" }));
            assert!(answer.text.contains("new"), "{mode}: {}", answer.text);
            assert!(answer.text.contains("x.db was replaced"), "{}", answer.text);
            assert_eq!(server.rows("PRAGMA integrity_check"), json!([["ok"]]));
            fs::remove_file(&path).expect("removed");
            let (status, said) = server.refusal("query", json!({ "sql": "SELECT a FROM t" }));
            assert_eq!(status, "not_found", "{said}");
            assert!(said.contains("was deleted or renamed"), "{said}");
            folder.database("x.db", NEW);
            assert_eq!(server.rows("SELECT a FROM t"), json!([["new"]]));
        }
    }
}

#[test]
fn a_database_below_the_root_is_read_anew_too() {
    let folder = Folder::new();
    let served = folder.database("shop.db", OLD);
    let other = folder.database("other.db", OLD);
    let mut server = rooted(&folder, &served, &[]);
    let ask = json!({ "db": "other.db", "sql": "SELECT a FROM t" });
    assert!(server.call("query", ask.clone()).text.contains("old"));
    fs::rename(folder.database("y.db", NEW), other).expect("renamed over it");
    assert!(server.call("query", ask).text.contains("new"));
}

/// A database as a program leaves it that dies in a transaction.
fn unfinished(folder: &Folder, name: &str) -> PathBuf {
    let live = folder.database(
        "live.db",
        "CREATE TABLE t (a); WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 200)
         INSERT INTO t SELECT randomblob(500) FROM n;",
    );
    let connection = Connection::open(&live).expect("the database");
    connection
        .execute_batch("PRAGMA cache_size = 5; BEGIN; UPDATE t SET a = randomblob(600)")
        .expect("a transaction");
    for end in ["", "-journal"] {
        fs::copy(
            folder.path(&format!("live.db{end}")),
            folder.path(&format!("{name}{end}")),
        )
        .expect("a copy");
    }
    drop(connection);
    fs::remove_file(live).expect("removed");
    folder.path(name)
}

#[test]
fn an_unfinished_write_is_rolled_back_in_the_served_file_alone_and_told_once() {
    let folder = Folder::new();
    let path = unfinished(&folder, "dead.db");
    let mut server = rooted(&folder, &path, &[]);
    let count = json!({ "sql": "SELECT count(*) FROM t WHERE length(a) = 500" });
    let answer = server.call("query", count.clone());
    assert!(answer.text.contains("200"), "{}", answer.text);
    assert!(answer.text.contains("was rolled back"), "{}", answer.text);
    assert!(!server.call("query", count).text.contains("rolled back"));

    let source = unfinished(&folder, "source.db");
    let before = fs::read(&source).expect("the file");
    for (command, arguments) in [
        ("restore", json!({ "file": "source.db", "overwrite": true })),
        (
            "migrate",
            json!({ "source": "source.db", "destination": "copy.db" }),
        ),
    ] {
        let (status, said) = server.refusal(command, arguments);
        assert_eq!(status, "invalid_state", "{said}");
        assert!(said.contains("in the middle of a write"), "{said}");
    }
    assert_eq!(fs::read(&source).expect("the file"), before);
    assert!(folder.path("source.db-journal").exists());
}

#[test]
fn small_memory_is_enough_for_indexes_groups_and_sorts_that_go_through_files() {
    let folder = Folder::new();
    let path = folder.database(
        "big.db",
        "CREATE TABLE t (a); WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 300000)
         INSERT INTO t SELECT hex(randomblob(50)) FROM n;",
    );
    let mut server = Server::ready(["--memory", "32M", "--timeout", "300s", "--db", text(&path)]);
    for sql in [
        "CREATE INDEX i ON t(a)",
        "DROP INDEX i; CREATE VIRTUAL TABLE f USING fts5(a, content='t'); INSERT INTO f(f) VALUES('rebuild')",
    ] {
        server.batch(sql);
    }
    for sql in [
        "SELECT count(*) FROM (SELECT a FROM t GROUP BY a)",
        "SELECT count(*) FROM (SELECT DISTINCT a || 'x' FROM t)",
        "SELECT count(*) FROM (SELECT a FROM t ORDER BY a DESC LIMIT 300000)",
    ] {
        assert_eq!(server.rows(sql), json!([[300_000]]), "{sql}");
    }
    let answer = server.call("exec", json!({ "sql": "VACUUM" }));
    assert!(!answer.refused, "{}", answer.text);
}
