//! What an exec does, and what it leaves behind.

use super::*;

#[test]
fn an_exec_commits_and_counts() {
    let mut engine = engine("CREATE TABLE t(a)");
    let output = exec(&mut engine, "INSERT INTO t VALUES (1), (2)").unwrap();
    assert_eq!(
        (output.changes, output.last_insert_rowid),
        (Some(2), Some(2))
    );
    assert!(output.rows.is_none());
    let output = exec(&mut engine, "UPDATE t SET a = a + 1").unwrap();
    assert_eq!((output.changes, output.last_insert_rowid), (Some(2), None));
    let output = exec(&mut engine, "UPDATE t SET a = 0 WHERE a = 99").unwrap();
    assert_eq!(output.changes, Some(0));
    let output = exec(&mut engine, "DELETE FROM t").unwrap();
    assert_eq!((output.changes, output.last_insert_rowid), (Some(2), None));
    let output = exec(&mut engine, "CREATE TABLE u(a)").unwrap();
    assert_eq!((output.changes, output.last_insert_rowid), (Some(0), None));
    let output = exec(&mut engine, "CREATE TABLE w(k PRIMARY KEY) WITHOUT ROWID").unwrap();
    assert_eq!(output.changes, Some(0));
    let output = exec(&mut engine, "INSERT INTO w VALUES ('x')").unwrap();
    assert_eq!((output.changes, output.last_insert_rowid), (Some(1), None));
    // Rows that a trigger inserts are not the statement's own, wherever they go.
    let sql = "CREATE TABLE log(what); CREATE VIRTUAL TABLE words USING fts5(body);
        CREATE TRIGGER logged AFTER INSERT ON w BEGIN
            INSERT INTO log VALUES (new.k); INSERT INTO words VALUES (new.k);
        END;
        CREATE TRIGGER logged_too AFTER INSERT ON t BEGIN INSERT INTO log VALUES ('t'), ('t'); END;";
    batch(&mut engine, sql).unwrap();
    let output = exec(&mut engine, "INSERT INTO w VALUES ('y')").unwrap();
    assert_eq!((output.changes, output.last_insert_rowid), (Some(1), None));
    let output = exec(&mut engine, "INSERT INTO t(rowid, a) VALUES (77, 1)").unwrap();
    assert_eq!(output.last_insert_rowid, Some(77));
    let output = exec(
        &mut engine,
        "INSERT INTO words(rowid, body) VALUES (88, 'more')",
    )
    .unwrap();
    assert_eq!(output.last_insert_rowid, Some(88));
    // The rows that a virtual table makes for itself are not counted.
    let output = exec(&mut engine, "CREATE VIRTUAL TABLE f USING fts5(t)").unwrap();
    assert_eq!((output.changes, output.last_insert_rowid), (Some(0), None));
}

#[test]
fn returning_gives_its_rows_and_commits_once() {
    let mut engine = engine("CREATE TABLE t(id INTEGER PRIMARY KEY, a)");
    let output = exec(
        &mut engine,
        "INSERT INTO t(a) VALUES ('x'), ('y') RETURNING id, a",
    )
    .unwrap();
    assert_eq!(
        (output.changes, output.last_insert_rowid),
        (Some(2), Some(2))
    );
    assert_eq!(
        table(output).rows,
        [
            [Value::Integer(1), text("x")],
            [Value::Integer(2), text("y")]
        ]
    );
    let output = exec(&mut engine, "DELETE FROM t WHERE id = 1 RETURNING a").unwrap();
    assert_eq!((output.changes, table(output).rows.len()), (Some(1), 1));
    assert_eq!(number(&mut engine, "SELECT count(*) FROM t"), 1);
}

#[test]
fn returning_more_rows_than_are_kept_still_writes_them_all() {
    let output = OutputLimits {
        rows: 3,
        max_rows: 5,
        ..OutputLimits::default()
    };
    let mut engine = engine_within(EngineSettings::default(), output, "CREATE TABLE t(a)");
    let output = exec(
        &mut engine,
        "INSERT INTO t SELECT value FROM generate_series(1, 50) RETURNING a",
    )
    .unwrap();
    assert_eq!(output.changes, Some(50));
    let rows = table(output);
    assert_eq!(
        (rows.rows.len(), rows.total, rows.more),
        (3, Some(50), true)
    );
    assert_eq!(number(&mut engine, "SELECT count(*) FROM t"), 50);
}

#[test]
fn an_exec_that_only_reads_gives_its_rows() {
    let mut engine = engine("CREATE TABLE t(a); INSERT INTO t VALUES (1)");
    let output = exec(&mut engine, "SELECT a FROM t").unwrap();
    assert_eq!(output.changes, None);
    assert_eq!(table(output).rows, [[Value::Integer(1)]]);
}

#[test]
fn every_kind_of_schema_change_works() {
    let mut engine = engine("");
    for sql in [
        "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b, c AS (a || b))",
        "INSERT INTO t(a, b) VALUES (1, 2)",
        "CREATE TABLE copy AS SELECT * FROM t",
        "CREATE INDEX i ON t(a)",
        "CREATE VIEW v AS SELECT a FROM t",
        "CREATE TRIGGER tr INSTEAD OF INSERT ON v BEGIN INSERT INTO t(a) VALUES (new.a); END",
        "INSERT INTO v VALUES (9)",
        "ALTER TABLE t RENAME COLUMN b TO d",
        "ALTER TABLE t ADD COLUMN e DEFAULT 5",
        "ALTER TABLE t DROP COLUMN e",
        "ALTER TABLE copy RENAME TO copied",
        "REINDEX",
        "REINDEX i",
        "ANALYZE",
        "ANALYZE t",
        "VACUUM",
        "DROP INDEX i",
        "DROP VIEW v",
        "DROP TABLE copied",
        "CREATE TEMP TABLE passing(a)",
        "INSERT INTO passing VALUES (1)",
        "CREATE VIRTUAL TABLE docs USING fts5(body)",
        "INSERT INTO docs VALUES ('quick fox')",
        "INSERT INTO docs(docs) VALUES ('rebuild')",
        "INSERT INTO docs(docs) VALUES ('integrity-check')",
        "UPDATE docs SET body = 'slow fox' WHERE docs MATCH 'quick'",
        "ALTER TABLE docs RENAME TO papers",
        "DROP TABLE papers",
        "CREATE VIRTUAL TABLE old USING fts4(body)",
        "INSERT INTO old VALUES ('quick fox')",
        "INSERT INTO old(old) VALUES ('optimize')",
        "DROP TABLE old",
        "CREATE VIRTUAL TABLE tree USING rtree(id, x0, x1)",
        "INSERT INTO tree VALUES (1, 0, 1)",
        "DELETE FROM tree",
        "DROP TABLE tree",
        "PRAGMA user_version = 7",
        "PRAGMA application_id = 5",
        "PRAGMA optimize",
        "PRAGMA foreign_keys = OFF",
        "PRAGMA foreign_keys = ON",
        "PRAGMA incremental_vacuum",
        "PRAGMA synchronous = FULL",
        "VACUUM",
    ] {
        exec(&mut engine, sql).unwrap_or_else(|failure| panic!("{sql}: {failure}"));
    }
    assert_eq!(number(&mut engine, "PRAGMA user_version"), 7);
    assert_eq!(number(&mut engine, "SELECT count(*) FROM t"), 2);
    assert_eq!(value(&mut engine, "PRAGMA integrity_check"), text("ok"));
}

#[test]
fn a_failed_statement_leaves_nothing_half_done() {
    let mut engine = engine("CREATE TABLE t(a UNIQUE); INSERT INTO t VALUES (3)");
    let failure = refused(
        exec(&mut engine, "INSERT INTO t VALUES (1), (2), (3)"),
        Status::Constraint,
        "UNIQUE constraint failed: t.a",
    );
    assert!(failure.hint.unwrap().contains("ON CONFLICT"));
    assert_eq!(number(&mut engine, "SELECT count(*) FROM t"), 1);
    // Even a conflict clause that would keep the first rows leaves no transaction open.
    exec(&mut engine, "INSERT OR FAIL INTO t VALUES (4), (3)").unwrap_err();
    exec(&mut engine, "INSERT OR ROLLBACK INTO t VALUES (5), (3)").unwrap_err();
    exec(&mut engine, "INSERT INTO t VALUES (6)").unwrap();
    assert_eq!(number(&mut engine, "SELECT count(*) FROM t WHERE a > 4"), 1);
}

#[test]
fn foreign_keys_are_enforced() {
    let mut engine =
        engine("CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE c(p REFERENCES p);");
    refused(
        exec(&mut engine, "INSERT INTO c VALUES (1)"),
        Status::Constraint,
        "FOREIGN KEY",
    );
    exec(&mut engine, "PRAGMA foreign_keys = OFF").unwrap();
    exec(&mut engine, "INSERT INTO c VALUES (1)").unwrap();
    exec(&mut engine, "PRAGMA foreign_keys = ON").unwrap();
    assert_eq!(
        table(query(&mut engine, "PRAGMA foreign_key_check").unwrap())
            .rows
            .len(),
        1
    );
}

#[test]
fn params_bind_by_position_and_by_name() {
    let mut engine = engine("");
    let row = |engine: &mut Engine, sql: &str, params| {
        table(query_with(engine, sql, params).unwrap())
            .rows
            .remove(0)
    };
    assert_eq!(
        row(&mut engine, "SELECT ?1, ?2, ?", json!([null, true, "007"])),
        [Value::Null, Value::Integer(1), text("007")]
    );
    assert_eq!(
        row(
            &mut engine,
            "SELECT :a, @b, $c, :a",
            json!({"a": 1, "@b": 2.5, "c": 3.0})
        ),
        [
            Value::Integer(1),
            Value::Real(2.5),
            Value::Real(3.0),
            Value::Integer(1)
        ]
    );
    assert_eq!(
        row(
            &mut engine,
            "SELECT ?2, ?1, typeof(?2)",
            json!({"1": "a", "2": "b"})
        ),
        [text("b"), text("a"), text("text")]
    );
    assert_eq!(
        row(&mut engine, "SELECT ?, :x", json!({"1": "a", "x": "b"})),
        [text("a"), text("b")]
    );
    assert_eq!(row(&mut engine, "SELECT 1", json!([])), [Value::Integer(1)]);
    assert_eq!(row(&mut engine, "SELECT 1", json!({})), [Value::Integer(1)]);
    assert_eq!(
        row(&mut engine, "SELECT 1", json!(null)),
        [Value::Integer(1)]
    );
    assert_eq!(
        row(&mut engine, "SELECT ?", json!("[5]")),
        [Value::Integer(5)]
    );
    assert_eq!(
        row(&mut engine, "SELECT 'a:b', '?'", json!([])),
        [text("a:b"), text("?")]
    );
}

#[test]
fn params_of_every_storage_class_arrive_exactly() {
    let mut engine = engine("");
    let params = json!([
        i64::MAX,
        i64::MIN,
        {"integer": "9223372036854775807"},
        {"blob": "00fF"},
        {"blob": ""},
        "",
        "a\u{0}b",
        {"real": "Infinity"},
        {"real": "-Infinity"},
        {"real": "0.1"},
        [0.5, 1, -2],
        -0.0
    ]);
    let sql = "SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12";
    let row = table(query_with(&mut engine, sql, params).unwrap())
        .rows
        .remove(0);
    let vector = [0.5_f32, 1.0, -2.0]
        .iter()
        .flat_map(|float| float.to_le_bytes())
        .collect();
    assert_eq!(
        row,
        [
            Value::Integer(i64::MAX),
            Value::Integer(i64::MIN),
            Value::Integer(i64::MAX),
            Value::Blob(vec![0, 255]),
            Value::Blob(vec![]),
            text(""),
            text("a\0b"),
            Value::Real(f64::INFINITY),
            Value::Real(f64::NEG_INFINITY),
            Value::Real(0.1),
            Value::Blob(vector),
            Value::Real(-0.0),
        ]
    );
    assert!(matches!(row[11], Value::Real(zero) if zero.is_sign_negative()));
}

#[test]
fn params_that_do_not_match_are_named() {
    let mut engine = engine("");
    for (sql, params, part) in [
        (
            "SELECT ?1",
            json!(null),
            "one parameter, ?1, but params has no value",
        ),
        ("SELECT :a", json!(null), "Give params as an object"),
        (
            "SELECT ?, ?",
            json!([1]),
            "2 parameters, ?, ?, but params has one value",
        ),
        (
            "SELECT ?",
            json!([1, 2]),
            "one parameter, ?, but params has 2 values",
        ),
        ("SELECT 1", json!([1]), "no parameters"),
        ("SELECT 1", json!({"a": 1}), "no parameters"),
        (
            "SELECT :name",
            json!({"nme": 1}),
            "Did you mean :name instead of \"nme\"?",
        ),
        (
            "SELECT :name",
            json!({"name": 1, "age": 2}),
            "a value for \"age\"",
        ),
        (
            "SELECT :a, :b",
            json!({"a": 1}),
            "no value for the parameter :b",
        ),
        ("SELECT ?", json!({"x": 1}), "no value for the parameter ?1"),
        ("SELECT ?", json!([{"blob": "0"}]), "number 1, is an object"),
        (
            "SELECT ?",
            json!([{"blob": "zz"}]),
            "number 1, is an object",
        ),
        (
            "SELECT ?",
            json!([{"a": 1, "b": 2}]),
            "no value for the parameter ?1",
        ),
        (
            "SELECT ?",
            json!([{"integer": "1.5"}]),
            "number 1, is an object",
        ),
        ("SELECT ?", json!([["a"]]), "number 1, is an array"),
        (
            "SELECT :v",
            json!({"v": 18_446_744_073_709_551_615_u64}),
            "64-bit",
        ),
        ("SELECT ?", json!(5), "array of values"),
        ("SELECT ?", json!("five"), "array of values"),
    ] {
        refused(query_with(&mut engine, sql, params), Status::Syntax, part);
    }
}
