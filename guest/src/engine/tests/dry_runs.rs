//! Dry runs: they report what would change, and roll it back.

use super::*;
use crate::engine::database::WriteMode;

fn try_batch(engine: &mut Engine, sql: &str) -> Result<Output, Failure> {
    engine.database(None)?.batch_to(sql, WriteMode::DryRun)
}

fn try_exec(engine: &mut Engine, sql: &str) -> Result<Output, Failure> {
    let database = engine.database(None)?;
    database.exec_to(sql, &Params::None, WriteMode::DryRun)
}

fn told(output: &Output) -> &str {
    output.text.as_deref().expect("a report")
}

#[test]
fn a_dry_run_counts_rows_by_table_and_keeps_nothing() {
    let mut engine = engine(
        "CREATE TABLE items(id INTEGER PRIMARY KEY, price INTEGER); INSERT INTO items VALUES(1, 5), (2, 6), (3, 7)",
    );
    let output = try_exec(
        &mut engine,
        "UPDATE items SET price = price + 1 WHERE id < 3",
    )
    .unwrap();
    assert_eq!(
        told(&output),
        "Dry run: everything was rolled back.\nThe SQL would change:\n  items: 2 rows updated\n"
    );
    // As the run itself tells it.
    assert_eq!(output.changes, Some(2));
    // Without a WHERE, SQLite has a quicker way to delete.
    let output = try_exec(&mut engine, "DELETE FROM items").unwrap();
    assert!(
        told(&output).contains("items: 3 rows deleted"),
        "{output:?}"
    );
    let output = try_batch(
        &mut engine,
        "DELETE FROM items WHERE id = 1; INSERT INTO items(price) VALUES(1), (2); UPDATE items SET price = 9 WHERE id = 2",
    )
    .unwrap();
    assert_eq!(
        output.extra["would_change"],
        json!([{"table": "items", "inserted": 2, "updated": 1, "deleted": 1}])
    );
    assert!(told(&output).contains("items: 2 rows inserted, 1 updated, 1 deleted"));
    assert_eq!(number(&mut engine, "SELECT sum(price) FROM items"), 18);
    // And the next write is committed as usual.
    exec(&mut engine, "DELETE FROM items").unwrap();
    assert_eq!(number(&mut engine, "SELECT count(*) FROM items"), 0);
}

#[test]
fn a_row_is_counted_each_time_that_it_changes() {
    let mut engine = engine("CREATE TABLE t(a PRIMARY KEY, b); INSERT INTO t VALUES(1, 1)");
    let sql = "UPDATE t SET b = 2; UPDATE t SET b = 1; INSERT INTO t VALUES(2, 2); DELETE FROM t WHERE a = 2";
    let output = try_batch(&mut engine, sql).unwrap();
    assert!(
        told(&output).contains("t: 1 row inserted, 2 updated, 1 deleted"),
        "{output:?}"
    );
}

#[test]
fn every_kind_of_table_is_counted_and_what_triggers_and_cascades_do() {
    let mut engine = engine(
        "CREATE TABLE plain(x); CREATE TABLE norowid(k TEXT PRIMARY KEY, v) WITHOUT ROWID;
         CREATE TABLE parts(id INTEGER PRIMARY KEY, a, b AS (a * 2), c AS (a + 1) STORED);
         CREATE TABLE parent(id INTEGER PRIMARY KEY);
         CREATE TABLE child(id INTEGER PRIMARY KEY, p REFERENCES parent(id) ON DELETE CASCADE);
         CREATE TABLE log(what);
         CREATE TRIGGER t AFTER INSERT ON plain BEGIN INSERT INTO log VALUES(new.x); END;
         INSERT INTO parent VALUES(1), (2); INSERT INTO child VALUES(1, 1), (2, 1), (3, 2)",
    );
    let sql = "INSERT INTO plain VALUES(1), (1); INSERT INTO norowid VALUES('a', 1);
               INSERT INTO parts(a) VALUES(3); DELETE FROM parent WHERE id = 1";
    let output = try_batch(&mut engine, sql).unwrap();
    let row = |table: &str, inserted: u64, deleted: u64| json!({"table": table, "inserted": inserted, "updated": 0, "deleted": deleted});
    assert_eq!(
        output.extra["would_change"],
        json!([
            row("child", 0, 2),
            row("log", 2, 0),
            row("norowid", 1, 0),
            row("parent", 0, 1),
            row("parts", 1, 0),
            row("plain", 2, 0),
        ])
    );
    assert_eq!(
        number(
            &mut engine,
            "SELECT (SELECT count(*) FROM child) + (SELECT count(*) FROM log)"
        ),
        3
    );
}

#[test]
fn what_would_be_made_dropped_and_altered_is_listed_with_its_rows() {
    let mut engine = engine(
        "CREATE TABLE old(x); INSERT INTO old VALUES(1), (2); CREATE INDEX i ON old(x); CREATE TABLE wide(a);
         CREATE TABLE parent(id INTEGER PRIMARY KEY); INSERT INTO parent VALUES(1);
         CREATE TABLE child(p REFERENCES parent(id) ON DELETE SET NULL); INSERT INTO child VALUES(1)",
    );
    let sql = "INSERT INTO old VALUES(3); CREATE TABLE fresh AS SELECT x FROM old; DROP TABLE old;
               ALTER TABLE wide ADD COLUMN b; INSERT INTO wide VALUES(1, 2); CREATE VIEW v AS SELECT 1; DROP TABLE parent";
    let output = try_batch(&mut engine, sql).unwrap();
    let text = told(&output);
    for line in [
        "wide: 1 row inserted",
        "child: 1 row updated",
        "table fresh: created with 3 rows",
        "view v: created",
        "table old: dropped with 2 rows",
        "index i: dropped",
        "table parent: dropped with 1 row",
        "table wide: altered",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert_eq!(
        output.extra["would_change_schema"][0],
        json!({"type": "table", "name": "fresh", "change": "created", "rows": 3})
    );
    assert_eq!(number(&mut engine, "SELECT count(*) FROM old"), 2);
}

#[test]
fn the_report_describes_the_state_at_the_end() {
    const BEFORE: &str =
        "CREATE TABLE ch(id INTEGER PRIMARY KEY); INSERT INTO ch VALUES(1), (2), (3);
               CREATE TABLE other(x); INSERT INTO other VALUES(1)";
    for (sql, lines) in [
        (
            "DROP TABLE ch; CREATE TABLE ch(id INTEGER PRIMARY KEY); INSERT INTO ch VALUES(1)",
            "The SQL would change:\n  ch: 1 row inserted, 3 deleted\n  table ch: dropped and created again\n",
        ),
        (
            "DELETE FROM ch WHERE id = 1; INSERT INTO ch VALUES(7), (8); DROP TABLE ch",
            "The SQL would change:\n  table ch: dropped with 3 rows\n",
        ),
        (
            "CREATE TABLE q1(x); INSERT INTO q1 VALUES(1), (2); DROP TABLE q1",
            "The SQL would change nothing.\n  table q1: created and dropped again\n",
        ),
        (
            "CREATE VIRTUAL TABLE f USING fts5(x); INSERT INTO f VALUES('a'); DROP TABLE f",
            "The SQL would change nothing.\n  table f: created and dropped again\n",
        ),
        (
            "ALTER TABLE ch RENAME TO aa; UPDATE aa SET id = 9 WHERE id = 3; ALTER TABLE aa RENAME TO bb",
            "The SQL would change:\n  bb: 1 row updated\n  table ch: renamed to bb\n",
        ),
        (
            "CREATE TABLE new(id INTEGER PRIMARY KEY, more); INSERT INTO new SELECT id, 0 FROM ch;
             DROP TABLE ch; ALTER TABLE new RENAME TO ch",
            "The SQL would change:\n  ch: 3 rows inserted, 3 deleted\n  table ch: dropped and created again\n",
        ),
        (
            "DROP TABLE ch; ALTER TABLE other RENAME TO ch",
            "The SQL would change:\n  table ch: dropped with 3 rows\n  table other: renamed to \
             ch\n",
        ),
        (
            "ALTER TABLE ch RENAME TO aa; CREATE TABLE ch(x); INSERT INTO ch VALUES(1)",
            "The SQL would change:\n  ch: 1 row inserted\n  table ch: created with 1 row\n  table ch: renamed to aa\n",
        ),
        (
            "ANALYZE",
            "The SQL would change:\n  statistics for the query planner: gathered or dropped\n",
        ),
    ] {
        let mut engine = engine_with(EngineSettings::default(), BEFORE);
        let output = try_batch(&mut engine, sql).unwrap();
        assert_eq!(
            told(&output),
            format!("Dry run: everything was rolled back.\n{lines}"),
            "{sql}"
        );
    }
    let mut engine = engine(BEFORE);
    let output = try_batch(&mut engine, "ALTER TABLE ch RENAME TO aa; ANALYZE").unwrap();
    assert_eq!(
        output.extra["would_change_schema"],
        json!([{"type": "table", "name": "ch", "change": "renamed", "to": "aa"}])
    );
    assert_eq!(output.extra["would_change_statistics"], true);
}

#[test]
fn rows_of_virtual_tables_are_reported_as_uncounted() {
    let mut engine = engine(
        "CREATE VIRTUAL TABLE docs USING fts5(body); CREATE VIRTUAL TABLE docs_2 USING rtree(id, a, b)",
    );
    let sql = "INSERT INTO docs VALUES('a red fox'); INSERT INTO docs_2 VALUES(1, 0, 1)";
    let output = try_batch(&mut engine, sql).unwrap();
    assert_eq!(
        output.extra["would_change"],
        json!([{"table": "docs", "virtual": true}, {"table": "docs_2", "virtual": true}])
    );
    assert!(told(&output).contains("docs: a virtual table, whose rows cannot be counted"));
    let output = try_exec(&mut engine, "CREATE VIRTUAL TABLE more USING fts5(x)").unwrap();
    assert_eq!(
        output.extra["would_change_schema"]
            .as_array()
            .unwrap()
            .len(),
        1,
        "{output:?}"
    );
    assert_eq!(number(&mut engine, "SELECT count(*) FROM docs"), 0);
}

#[test]
fn rows_without_a_key_are_counted_too() {
    let mut engine = engine("CREATE TABLE t(a TEXT PRIMARY KEY, b)");
    let output = try_exec(&mut engine, "INSERT INTO t VALUES(NULL, 1), ('x', 2)").unwrap();
    assert!(told(&output).contains("t: 2 rows inserted"), "{output:?}");
}

#[test]
fn a_failure_is_the_one_that_the_real_run_would_have() {
    let mut engine = engine(
        "CREATE TABLE t(a PRIMARY KEY CHECK (a > 0)); INSERT INTO t VALUES(1);
         CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE c(p REFERENCES p DEFERRABLE INITIALLY DEFERRED)",
    );
    refused(
        try_exec(&mut engine, "INSERT INTO t VALUES(1)"),
        Status::Constraint,
        "UNIQUE",
    );
    refused(
        try_batch(
            &mut engine,
            "INSERT INTO t VALUES(2); INSERT INTO t VALUES(-1)",
        ),
        Status::Constraint,
        "Statement 2",
    );
    let output = try_exec(&mut engine, "INSERT INTO c VALUES(7)").unwrap();
    assert!(
        output.notes[0].contains("The commit would be refused"),
        "{output:?}"
    );
    refused(
        exec(&mut engine, "INSERT INTO c VALUES(7)"),
        Status::Constraint,
        "FOREIGN KEY",
    );
    assert_eq!(number(&mut engine, "SELECT count(*) FROM t"), 1);
}

#[test]
fn what_a_rollback_does_not_undo_is_refused() {
    let mut engine = engine("CREATE TABLE t(a)");
    for sql in [
        "VACUUM",
        "PRAGMA user_version = 5",
        "/* x */ pragma journal_mode = wal",
    ] {
        refused(try_exec(&mut engine, sql), Status::Unsupported, "dry_run");
    }
    refused(
        try_batch(
            &mut engine,
            "INSERT INTO t VALUES(1); PRAGMA recursive_triggers = 1",
        ),
        Status::Unsupported,
        "cannot be used with dry_run",
    );
    refused(
        try_batch(&mut engine, "COMMIT"),
        Status::Unsupported,
        "one transaction",
    );
    assert_eq!(number(&mut engine, "PRAGMA recursive_triggers"), 0);
    assert_eq!(number(&mut engine, "PRAGMA user_version"), 0);
}

#[test]
fn rows_that_a_statement_returns_come_with_the_report() {
    let mut engine = engine("CREATE TABLE t(a INTEGER PRIMARY KEY, b)");
    let output = try_exec(&mut engine, "INSERT INTO t(b) VALUES('x') RETURNING a, b").unwrap();
    assert_eq!(
        output.rows.as_ref().unwrap().rows,
        [[Value::Integer(1), text("x")]]
    );
    assert!(told(&output).contains("t: 1 row inserted"));
    let output = try_exec(&mut engine, "SELECT 5").unwrap();
    assert!(told(&output).contains("The SQL would change nothing."));
}

#[test]
fn a_dry_run_passes_the_same_guards_as_a_write() {
    let mut engine = engine("CREATE TABLE t(a)");
    for sql in [
        "ATTACH 'x' AS y",
        "VACUUM INTO 'x'",
        "BEGIN",
        "INSERT INTO t VALUES(1); INSERT INTO t VALUES(2)",
    ] {
        let failure = try_exec(&mut engine, sql).expect_err(sql);
        assert_eq!(failure.status, Status::Unsupported, "{sql}");
    }
    let settings = EngineSettings {
        readonly: true,
        ..EngineSettings::default()
    };
    let mut readonly = engine_with(settings, "");
    let output = readonly.database(None).unwrap().exec_to(
        "CREATE TABLE t(a)",
        &Params::None,
        WriteMode::DryRun,
    );
    refused(output, Status::Readonly, "--readonly");
}
