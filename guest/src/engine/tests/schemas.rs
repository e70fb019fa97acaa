//! Schemas that use what only their program has, or what SQLite does not trust a file to use.

use rusqlite::functions::FunctionFlags;

use super::*;

/// A file made by a program with a collation and a function of its own.
fn made(folder: &Folder, sql: &str) -> PathBuf {
    let path = folder.file("made.db");
    let connection = Connection::open(&path).unwrap();
    connection
        .create_collation("mine", |a, b| b.cmp(a))
        .unwrap();
    let flags = FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    connection
        .create_scalar_function("f", 1, flags, |values| Ok(values.len() as i64))
        .unwrap();
    connection.execute_batch(sql).unwrap();
    path
}

#[test]
fn what_the_program_brings_is_named_with_where_it_is_used_and_what_still_works() {
    let folder = Folder::new();
    let path = made(
        &folder,
        "CREATE TABLE t(id INTEGER PRIMARY KEY, a, n); CREATE TABLE log(x);
         CREATE TRIGGER tr AFTER UPDATE ON t BEGIN INSERT INTO log VALUES(f(new.a)); END;
         CREATE VIEW v AS SELECT f(a) AS b FROM t;
         CREATE TABLE c(a TEXT COLLATE mine, n); CREATE INDEX ci ON c(a); INSERT INTO c VALUES('x', 1);
         CREATE TABLE e(a, n); CREATE INDEX ei ON e(f(a)); INSERT INTO e VALUES('x', 1);
         CREATE TABLE w(a TEXT COLLATE mine PRIMARY KEY) WITHOUT ROWID;
         INSERT INTO t VALUES(1, 'a', 1);",
    );
    let mut engine = open(&path);
    for (sql, part, works) in [
        (
            "UPDATE t SET n = 2",
            "Trigger tr uses function f",
            "SELECT * FROM t",
        ),
        (
            "SELECT * FROM v",
            "View v uses function f",
            "SELECT a FROM t",
        ),
        (
            "SELECT * FROM c WHERE a = 'x'",
            "uses collation mine",
            "SELECT * FROM c NOT INDEXED WHERE a = 'x' COLLATE BINARY",
        ),
        (
            "INSERT INTO c VALUES('y', 2)",
            "collation mine",
            "SELECT * FROM c ORDER BY a COLLATE NOCASE",
        ),
        (
            "INSERT INTO e VALUES('y', 2)",
            "Index ei of e uses function f",
            "SELECT * FROM e NOT INDEXED",
        ),
        (
            "SELECT * FROM w",
            "Table w is kept in the order of collation mine",
            "SELECT 1",
        ),
    ] {
        let failure = exec(&mut engine, sql).unwrap_err();
        assert_eq!(failure.status, Status::Unsupported, "{sql}: {failure}");
        let said = failure.to_string();
        assert!(said.contains(part), "{sql}: {said}");
        assert!(
            said.contains("belongs to the program that made the file"),
            "{sql}: {said}"
        );
        query(&mut engine, works).unwrap();
    }
    // A name of the client's own is another matter.
    refused(
        query(&mut engine, "SELECT g(1)"),
        Status::NotFound,
        "No such function: g",
    );
}

#[test]
fn vectors_full_text_search_and_medians_work_in_views_and_triggers() {
    let folder = Folder::new();
    let path = made(
        &folder,
        "CREATE TABLE n(x); INSERT INTO n VALUES(1), (2), (9)",
    );
    let mut engine = open(&path);
    for sql in [
        "CREATE VIRTUAL TABLE fa USING fts5(body)",
        "INSERT INTO fa VALUES('one red fox'), ('two')",
        "CREATE VIRTUAL TABLE fo USING fts4(body)",
        "INSERT INTO fo VALUES('one red fox'), ('two')",
        "CREATE VIRTUAL TABLE vec USING vec0(v float[2])",
        "INSERT INTO vec(rowid, v) VALUES(1, '[1, 2]')",
        "CREATE VIEW found AS SELECT body, bm25(fa) AS score, highlight(fa, 0, '<', '>') AS marked,
           snippet(fa, 0, '<', '>', '', 3) AS cut FROM fa WHERE fa MATCH 'fox'",
        "CREATE VIEW old AS SELECT snippet(fo) AS s, offsets(fo) AS o FROM fo WHERE fo MATCH 'fox'",
        "CREATE VIEW middle AS SELECT median(x) AS m, percentile(x, 50) AS p FROM n",
        "CREATE VIEW near AS SELECT rowid AS id, distance FROM vec WHERE v MATCH '[1, 2]' AND k = 1",
        "CREATE TABLE items(id INTEGER PRIMARY KEY, v)",
        "CREATE TRIGGER added AFTER INSERT ON items BEGIN INSERT INTO vec(rowid, v) VALUES(new.id, new.v); END",
        "INSERT INTO items VALUES(7, '[3, 4]')",
    ] {
        exec(&mut engine, sql).unwrap_or_else(|failure| panic!("{sql}: {failure}"));
    }
    assert_eq!(
        value(&mut engine, "SELECT marked FROM found"),
        text("one red <fox>")
    );
    assert_eq!(
        value(&mut engine, "SELECT s FROM old"),
        text("one red <b>fox</b>")
    );
    assert_eq!(value(&mut engine, "SELECT m FROM middle"), Value::Real(2.0));
    assert_eq!(number(&mut engine, "SELECT id FROM near"), 1);
    assert_eq!(number(&mut engine, "SELECT count(*) FROM vec"), 2);
}

#[test]
fn what_looks_into_the_engine_is_no_more_trusted_to_a_schema_than_before() {
    let folder = Folder::new();
    let path = made(
        &folder,
        "CREATE TABLE n(x); INSERT INTO n VALUES(1);
         CREATE VIEW a AS SELECT * FROM pragma_table_list;
         CREATE VIEW b AS SELECT median(x), (SELECT count(*) FROM pragma_table_list) FROM n;
         CREATE VIEW c AS SELECT median(x), rtreedepth(x'00') FROM n;
         CREATE VIEW d AS SELECT sqlite_log(1, 'x'), median(x) FROM n;",
    );
    let mut engine = open(&path);
    let failure = refused(
        query(&mut engine, "SELECT * FROM a"),
        Status::Unsupported,
        "View a uses pragma_table_list",
    );
    assert!(failure.hint.unwrap().contains("in a query of your own"));
    for view in ["b", "c", "d"] {
        refused(
            query(&mut engine, &format!("SELECT * FROM {view}")),
            Status::Unsupported,
            "",
        );
    }
    query(&mut engine, "SELECT count(*) FROM pragma_table_list").unwrap();
}

#[test]
fn a_full_text_index_out_of_step_is_named_with_its_cure() {
    let folder = Folder::new();
    let path = made(
        &folder,
        "CREATE TABLE docs(body); INSERT INTO docs VALUES('red fox'), ('blue fox');
         CREATE VIRTUAL TABLE fa USING fts5(body, content='docs'); INSERT INTO fa(fa) VALUES('rebuild');
         DELETE FROM docs WHERE rowid = 1;",
    );
    let mut engine = open(&path);
    let failure = refused(
        query(&mut engine, "SELECT body FROM fa WHERE fa MATCH 'red'"),
        Status::InvalidState,
        "The full-text index fa is out of step",
    );
    assert!(!failure.to_string().contains("is damaged:"), "{failure}");
    let cure = "INSERT INTO \"fa\"(\"fa\") VALUES('rebuild')";
    assert!(failure.hint.unwrap().contains(cure));
    exec(&mut engine, cure).unwrap();
    query(&mut engine, "SELECT body FROM fa WHERE fa MATCH 'fox'").unwrap();
}

#[test]
fn a_trigger_or_view_that_needs_what_is_not_there_is_named() {
    let folder = Folder::new();
    let path = made(
        &folder,
        "CREATE TABLE t(a, b); CREATE TRIGGER tg AFTER INSERT ON t BEGIN INSERT INTO gone2 VALUES(1); END;
         CREATE VIEW v AS SELECT * FROM gone; CREATE TABLE docs(id INTEGER PRIMARY KEY, body);
         CREATE VIRTUAL TABLE f5 USING fts5(body);
         CREATE TRIGGER dtr AFTER INSERT ON docs BEGIN INSERT INTO f5(rowid, body) VALUES(new.id, new.body); END;
         PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE VIRTUAL TABLE f5 USING fts5(body, tokenize=mytok)' WHERE name = 'f5'",
    );
    let mut engine = open(&path);
    for (sql, status, part) in [
        (
            "INSERT INTO t VALUES(1, 2)",
            Status::NotFound,
            "Trigger tg needs table gone2, which does not exist. Reading t works",
        ),
        (
            "SELECT * FROM v",
            Status::NotFound,
            "View v reads table gone, which does not exist.",
        ),
        (
            "INSERT INTO docs VALUES(2, 'x')",
            Status::Unsupported,
            "Trigger dtr uses f5, which uses tokenizer mytok; the tokenizer belongs to the program that made the file, and this build does not have it. Reading docs works",
        ),
        (
            "SELECT * FROM gone",
            Status::NotFound,
            "No such table: gone",
        ),
    ] {
        let failure = exec(&mut engine, sql).unwrap_err();
        assert_eq!(failure.status, status, "{sql}: {failure}");
        assert!(failure.to_string().contains(part), "{sql}: {failure}");
    }
}

#[test]
fn a_table_in_the_order_of_a_foreign_collation_can_be_dropped_and_restored() {
    let folder = Folder::new();
    let path = made(
        &folder,
        "CREATE TABLE w(k TEXT COLLATE mine PRIMARY KEY, v) WITHOUT ROWID; INSERT INTO w VALUES('a', 1);
         CREATE TABLE t(a TEXT COLLATE mine UNIQUE, b); INSERT INTO t VALUES('a', 1), ('b', 2)",
    );
    let mut engine = open(&path);
    for sql in [
        "UPDATE w SET v = 2",
        "INSERT INTO w VALUES('b', 2)",
        "REINDEX w",
    ] {
        let said = exec(&mut engine, sql).unwrap_err().to_string();
        assert!(
            said.contains("sqlarium_dump writes its rows") && !said.contains("NOT INDEXED"),
            "{sql}: {said}"
        );
    }
    exec(&mut engine, "DROP TABLE w").unwrap();
    exec(&mut engine, "DROP TABLE t").unwrap();
    assert_eq!(number(&mut engine, "SELECT count(*) FROM sqlite_schema"), 0);
}
