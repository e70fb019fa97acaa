//! Each guard alone, with all the others taken away.

use super::*;
use crate::engine::database::Layers;

const NONE: Layers = Layers {
    single: false,
    authorizer: false,
    verdict: false,
    query_only: false,
    readonly_open: false,
};

/// An engine on a file, with these guards only.
fn guarded(path: &Path, layers: Layers) -> Engine {
    let mut engine = open(path);
    engine.database(None).unwrap().set_layers(layers);
    engine
}

fn shop() -> (Folder, PathBuf) {
    let folder = Folder::new();
    let path = folder.database(
        "shop.db",
        "CREATE TABLE t(a); INSERT INTO t VALUES (1); CREATE VIRTUAL TABLE docs USING fts5(body);",
    );
    (folder, path)
}

const WRITES: [&str; 5] = [
    "INSERT INTO t VALUES (2)",
    "WITH x AS (SELECT 2) INSERT INTO t SELECT * FROM x RETURNING a",
    "DROP TABLE t",
    "INSERT INTO docs(docs) VALUES ('rebuild')",
    "PRAGMA user_version = 7",
];

#[test]
fn without_any_guard_a_query_would_write() {
    for sql in WRITES {
        let (_folder, path) = shop();
        let before = std::fs::read(&path).unwrap();
        query(&mut guarded(&path, NONE), sql).unwrap();
        assert_ne!(std::fs::read(&path).unwrap(), before, "{sql}");
    }
}

#[test]
fn one_statement_alone_stops_a_second() {
    let (_folder, path) = shop();
    let mut engine = guarded(
        &path,
        Layers {
            single: true,
            ..NONE
        },
    );
    let stacked = "SELECT 1; INSERT INTO t VALUES (2)";
    refused(
        query(&mut engine, stacked),
        Status::Unsupported,
        "more than one statement",
    );
    refused(
        query(&mut engine, "SELECT 1\0; DROP TABLE t"),
        Status::Syntax,
        "NUL",
    );
    query(&mut engine, "SELECT 1; -- and nothing else ;").unwrap();
    assert_eq!(number(&mut engine, "SELECT count(*) FROM t"), 1);
}

#[test]
fn the_authorizer_alone_stops_writes() {
    let (_folder, path) = shop();
    let before = std::fs::read(&path).unwrap();
    let mut engine = guarded(
        &path,
        Layers {
            authorizer: true,
            ..NONE
        },
    );
    for sql in WRITES {
        refused(
            query(&mut engine, sql),
            Status::Readonly,
            "this call only reads",
        );
    }
    refused(
        query(&mut engine, "ATTACH 'x' AS x"),
        Status::Unsupported,
        "attach",
    );
    refused(
        query(&mut engine, "PRAGMA writable_schema = 1"),
        Status::Unsupported,
        "schema",
    );
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn the_verdict_on_the_compiled_statement_alone_stops_writes() {
    let (_folder, path) = shop();
    let before = std::fs::read(&path).unwrap();
    let mut engine = guarded(
        &path,
        Layers {
            verdict: true,
            ..NONE
        },
    );
    for sql in WRITES.iter().chain(&["PRAGMA journal_mode = wal"]) {
        refused(
            query(&mut engine, sql),
            Status::Readonly,
            "change the database",
        );
    }
    refused(
        query(&mut engine, "VACUUM"),
        Status::Readonly,
        "rewrite the whole database",
    );
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn query_only_alone_stops_writes() {
    let (_folder, path) = shop();
    let before = std::fs::read(&path).unwrap();
    let mut engine = guarded(
        &path,
        Layers {
            query_only: true,
            ..NONE
        },
    );
    for sql in WRITES {
        refused(
            query(&mut engine, sql),
            Status::Readonly,
            "write to the database",
        );
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn opening_for_reading_alone_stops_writes() {
    let (_folder, path) = shop();
    let before = std::fs::read(&path).unwrap();
    let mut engine = guarded(
        &path,
        Layers {
            readonly_open: true,
            ..NONE
        },
    );
    for sql in WRITES {
        refused(
            query(&mut engine, sql),
            Status::Readonly,
            "write to the database",
        );
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
}
