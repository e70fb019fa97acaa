//! Several statements, all or nothing.

use super::*;

#[test]
fn a_batch_runs_all_its_statements_and_adds_up_what_changed() {
    let mut engine = engine("");
    let output = batch(
        &mut engine,
        "CREATE TABLE t(a); -- one; two\n INSERT INTO t VALUES (1), (2); /* ; */ UPDATE t SET a = 'x;y';\n\n
         CREATE TRIGGER tr AFTER DELETE ON t BEGIN SELECT 1; SELECT 2; END;
         DELETE FROM t WHERE rowid = 1 ; ;; ",
    )
    .unwrap();
    assert_eq!(output.changes, Some(5));
    assert_eq!(output.extra["statements"], 5);
    assert!(output.rows.is_none());
    assert_eq!(value(&mut engine, "SELECT a FROM t"), text("x;y"));
}

#[test]
fn a_batch_answers_the_rows_of_the_last_statement_that_has_any() {
    let mut engine = engine("");
    let output = batch(
        &mut engine,
        "CREATE TABLE t(a); SELECT 'first'; INSERT INTO t VALUES (7) RETURNING a; DELETE FROM t",
    )
    .unwrap();
    assert_eq!(table(output).rows, [[Value::Integer(7)]]);
}

#[test]
fn a_batch_that_fails_changes_nothing_and_names_the_statement() {
    let mut engine = engine("CREATE TABLE t(a UNIQUE)");
    let failure = refused(
        batch(
            &mut engine,
            "INSERT INTO t VALUES (1);\n-- again\nINSERT INTO t VALUES (1);\nDROP TABLE t;",
        ),
        Status::Constraint,
        "Statement 2 of the batch (line 3) failed: UNIQUE constraint failed: t.a.",
    );
    assert!(failure.message.ends_with("Nothing was changed."));
    assert_eq!(number(&mut engine, "SELECT count(*) FROM t"), 0);
    refused(
        batch(
            &mut engine,
            "CREATE TABLE u(a);\nCREATE TABLE w(a);\n  SELEC 1",
        ),
        Status::Syntax,
        "Statement 3 of the batch (line 3) failed: Near \"SELEC\": syntax error at line 3, column 3.",
    );
    assert_eq!(
        number(
            &mut engine,
            "SELECT count(*) FROM sqlite_schema WHERE name = 'u'"
        ),
        0
    );
    // A conflict clause that rolls back by itself changes nothing of that.
    batch(
        &mut engine,
        "INSERT INTO t VALUES (1); INSERT OR ROLLBACK INTO t VALUES (1)",
    )
    .unwrap_err();
    assert_eq!(number(&mut engine, "SELECT count(*) FROM t"), 0);
    batch(&mut engine, "INSERT INTO t VALUES (1)").unwrap();
}

#[test]
fn suggestions_know_what_the_batch_has_created() {
    let mut engine = engine("");
    refused(
        batch(
            &mut engine,
            "CREATE TABLE customers(name); SELECT nme FROM customers",
        ),
        Status::NotFound,
        "Did you mean name?",
    );
}

#[test]
fn a_batch_takes_no_transaction_of_its_own() {
    let mut engine = engine("CREATE TABLE t(a)");
    for sql in ["BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT s", "END"] {
        refused(
            batch(
                &mut engine,
                &format!("INSERT INTO t VALUES (1); {sql}; INSERT INTO t VALUES (2)"),
            ),
            Status::Unsupported,
            "Statement 2 of the batch (line 1) failed: A batch is already one transaction",
        );
    }
    assert_eq!(number(&mut engine, "SELECT count(*) FROM t"), 0);
}

#[test]
fn a_statement_that_cannot_be_part_of_a_transaction_is_refused() {
    let mut engine = engine("CREATE TABLE t(a)");
    for (sql, status, part) in [
        (
            "VACUUM",
            Status::InvalidState,
            "Run it alone with sqlarium_exec",
        ),
        (
            "PRAGMA foreign_keys = OFF",
            Status::InvalidState,
            "has no effect inside",
        ),
        (
            "PRAGMA journal_mode = wal",
            Status::InvalidState,
            "has no effect inside",
        ),
        ("ATTACH 'x' AS x", Status::Unsupported, "attach"),
        (
            "PRAGMA writable_schema = 1",
            Status::Unsupported,
            "CREATE, ALTER and DROP",
        ),
        ("SELECT ?1", Status::Syntax, "a batch binds no values"),
        (
            "UPDATE sqlite_schema SET sql = 'x'",
            Status::Readonly,
            "may not be modified",
        ),
        (
            "UPDATE t SET b = 1",
            Status::NotFound,
            "t has the columns a.",
        ),
    ] {
        refused(
            batch(&mut engine, &format!("INSERT INTO t VALUES (1); {sql};")),
            status,
            part,
        );
        assert_eq!(number(&mut engine, "SELECT count(*) FROM t"), 0, "{sql}");
    }
    for sql in ["", " -- nothing", ";;"] {
        refused(batch(&mut engine, sql), Status::Syntax, "no statement");
    }
    refused(
        batch(&mut engine, "SELECT 1;\0 SELECT 2"),
        Status::Syntax,
        "NUL",
    );
}

#[test]
fn a_commit_that_fails_changes_nothing() {
    let mut engine = engine(
        "CREATE TABLE p(id INTEGER PRIMARY KEY);
         CREATE TABLE c(p REFERENCES p DEFERRABLE INITIALLY DEFERRED);",
    );
    refused(
        batch(
            &mut engine,
            "INSERT INTO c VALUES (1); INSERT INTO c VALUES (2)",
        ),
        Status::Constraint,
        "could not be committed: FOREIGN KEY constraint failed. Nothing was changed.",
    );
    assert_eq!(number(&mut engine, "SELECT count(*) FROM c"), 0);
    batch(
        &mut engine,
        "INSERT INTO c VALUES (1); INSERT INTO p VALUES (1)",
    )
    .unwrap();
}

#[test]
fn an_explain_in_a_batch_explains() {
    let mut engine = engine("CREATE TABLE t(a)");
    let output = batch(
        &mut engine,
        "INSERT INTO t VALUES (1); EXPLAIN DELETE FROM t",
    )
    .unwrap();
    assert_eq!(output.changes, Some(1));
    assert_eq!(number(&mut engine, "SELECT count(*) FROM t"), 1);
}

#[test]
fn a_long_batch_is_not_copied_for_each_statement() {
    let mut engine = engine("CREATE TABLE t(a)");
    let sql = "INSERT INTO t VALUES (1);".repeat(20_000);
    let began = std::time::Instant::now();
    assert_eq!(batch(&mut engine, &sql).unwrap().changes, Some(20_000));
    // Copying would take a hundred times as long.
    assert!(began.elapsed() < std::time::Duration::from_secs(5));
}
