//! Writes say what they did, and a dry run says the same in the same words.

use super::undo::recording;
use super::*;
use crate::engine::database::WriteMode;

const SCHEMA: &str = "
    CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT, n INT DEFAULT 0);
    CREATE TABLE log(what);
    CREATE TABLE parent(id INTEGER PRIMARY KEY, up REFERENCES parent(id) ON DELETE CASCADE);
    CREATE TABLE child(id INTEGER PRIMARY KEY, p REFERENCES parent(id) ON DELETE CASCADE ON UPDATE CASCADE);
    CREATE TABLE loose(p REFERENCES parent(id) ON DELETE SET NULL ON UPDATE CASCADE);
    CREATE TABLE plain(k TEXT PRIMARY KEY, v) WITHOUT ROWID;
    CREATE VIEW people AS SELECT id, name FROM customer;
    CREATE TRIGGER named AFTER INSERT ON customer WHEN new.name = 'logged' BEGIN
        INSERT INTO log VALUES(new.name); INSERT INTO log VALUES('again'); END;
    CREATE TRIGGER gone AFTER DELETE ON parent BEGIN INSERT INTO log VALUES(old.id); END;
    CREATE TRIGGER seen INSTEAD OF INSERT ON people BEGIN
        INSERT INTO customer(name) VALUES(new.name); END;
    CREATE TRIGGER stopped BEFORE UPDATE ON customer WHEN new.n = -1 AND old.id = 1 BEGIN
        SELECT raise(ignore); END;
    INSERT INTO customer(id, name) VALUES(1, 'Ada'), (2, 'Bob'), (3, 'Cid');
    INSERT INTO parent VALUES(1, NULL), (2, NULL), (3, 2);
    INSERT INTO child VALUES(10, 1), (11, 1), (12, 2);
    INSERT INTO loose VALUES(1);
    INSERT INTO plain VALUES('a', 1), ('b', 2)";

/// A statement, the rows that it changes itself, and what else is said.
const WRITES: &[(&str, u64, &[&str])] = &[
    ("INSERT INTO customer(name) VALUES('x'), ('y')", 2, &[]),
    (
        "INSERT INTO customer(name) VALUES('logged')",
        1,
        &["By triggers: log: 2 rows inserted."],
    ),
    (
        "DELETE FROM parent WHERE id = 1",
        1,
        &[
            "By triggers: log: 1 row inserted.",
            "By foreign keys: child: 2 rows deleted; loose: 1 row updated.",
        ],
    ),
    (
        "DELETE FROM parent WHERE id = 2",
        1,
        &[
            "By triggers: log: 2 rows inserted.",
            "By foreign keys: child: 1 row deleted; parent: 1 row deleted.",
        ],
    ),
    (
        "UPDATE parent SET id = 9 WHERE id = 1",
        1,
        &["By foreign keys: child: 2 rows updated; loose: 1 row updated."],
    ),
    (
        "INSERT INTO people(name) VALUES('logged'), ('Eve')",
        0,
        &[
            "By INSTEAD OF triggers: customer: 2 rows inserted.",
            "By triggers: log: 2 rows inserted.",
        ],
    ),
    (
        "UPDATE customer SET n = 1",
        3,
        &["Changed: all 3 rows of customer (no WHERE)."],
    ),
    (
        "UPDATE customer SET n = 1 WHERE true",
        3,
        &["Changed: all 3 rows of customer (its WHERE holds for every row)."],
    ),
    ("UPDATE customer SET n = -1", 2, &[]),
    ("UPDATE customer SET n = 1 WHERE id < 9", 3, &[]),
    (
        "UPDATE main.customer AS c SET n = (SELECT 1 WHERE 0), name = 'x'",
        3,
        &["Changed: all 3 rows of customer (no WHERE)."],
    ),
    (
        "DELETE FROM \"customer\" -- WHERE id = 1",
        3,
        &["Changed: all 3 rows of customer (no WHERE)."],
    ),
    (
        "DELETE FROM customer WHERE 1=1 RETURNING id",
        3,
        &["Changed: all 3 rows of customer (its WHERE holds for every row)."],
    ),
    ("DELETE FROM customer WHERE id > 1", 2, &[]),
    (
        "DELETE FROM loose",
        1,
        &["Changed: the only row of loose (no WHERE)."],
    ),
    ("UPDATE customer SET n = k.v FROM plain AS k", 3, &[]),
    (
        "REPLACE INTO customer(id, name) VALUES(1, 'x')",
        1,
        &["By REPLACE: customer: 1 row deleted."],
    ),
    (
        "REPLACE INTO plain VALUES('a', 2), ('c', 3)",
        2,
        &["By REPLACE: plain: 1 row deleted."],
    ),
    (
        "INSERT INTO plain VALUES('a', 5), ('z', 1) ON CONFLICT DO UPDATE SET v = excluded.v",
        2,
        &[],
    ),
    ("DELETE FROM customer WHERE id = 99", 0, &[]),
    ("CREATE TABLE more AS SELECT * FROM customer", 0, &[]),
    ("SELECT 1", 0, &[]),
];

fn settings(undo: bool) -> EngineSettings {
    if undo {
        recording()
    } else {
        EngineSettings::default()
    }
}

#[test]
fn a_write_and_its_dry_run_say_the_same_of_what_is_changed() {
    for undo in [false, true] {
        for (sql, direct, effects) in WRITES {
            let mut engine = engine_with(settings(undo), SCHEMA);
            let database = engine.database(None).unwrap();
            let tried = database
                .exec_to(sql, &Params::None, WriteMode::DryRun)
                .unwrap();
            let batched = database.batch_to(sql, WriteMode::DryRun).unwrap();
            let done = database.exec(sql, &Params::None).unwrap();
            for output in [&tried, &batched, &done] {
                assert_eq!(output.effects, *effects, "{sql}");
                assert_eq!(output.changes.unwrap_or_default(), *direct, "{sql}");
                let sum = |name: &str| output.extra.get(name).cloned();
                for name in [
                    "by_trigger",
                    "by_foreign_key",
                    "by_instead_of",
                    "all_rows_of",
                ] {
                    assert_eq!(sum(name), done.extra.get(name).cloned(), "{sql}");
                }
            }
        }
    }
}

#[test]
fn the_last_rowid_is_told_with_undo_and_without() {
    for undo in [false, true] {
        let mut engine = engine_with(settings(undo), SCHEMA);
        let output = exec(&mut engine, "INSERT INTO customer(name) VALUES('logged')").unwrap();
        assert_eq!(output.last_insert_rowid, Some(4));
        assert_eq!(output.extra["by_trigger"], 2);
        let output = exec(&mut engine, "UPDATE customer SET n = 1").unwrap();
        assert_eq!(output.last_insert_rowid, None);
        assert_eq!(output.extra["all_rows_of"], json!(["customer"]));
    }
}

#[test]
fn a_batch_tells_the_effects_of_all_its_statements() {
    let mut engine = engine(SCHEMA);
    let sql = "DELETE FROM parent WHERE id = 1; DELETE FROM log; INSERT INTO customer(name) VALUES('logged');
               UPDATE customer SET n = 2";
    let output = batch(&mut engine, sql).unwrap();
    assert_eq!(output.changes, Some(7));
    assert_eq!(
        output.effects,
        [
            "Changed: the only row of log (no WHERE).",
            "Changed: all 4 rows of customer (no WHERE).",
            "By triggers: log: 3 rows inserted.",
            "By foreign keys: child: 2 rows deleted; loose: 1 row updated.",
        ]
    );
    assert_eq!(output.extra["by_trigger"], 3);
    assert_eq!(output.extra["by_foreign_key"], 3);
}

#[test]
fn rows_that_replace_deletes_are_told() {
    let mut engine = engine_with(
        settings(true),
        "CREATE TABLE t(id INTEGER PRIMARY KEY, a UNIQUE, b); INSERT INTO t VALUES(1, 'x', 0), (2, 'y', 0), (3, 'z', 0)",
    );
    let mut effects = |sql: &str| exec(&mut engine, sql).unwrap().effects;
    assert_eq!(
        effects("REPLACE INTO t VALUES(1, 'y', 9)"),
        ["By REPLACE: t: 2 rows deleted."]
    );
    assert_eq!(
        effects("INSERT OR REPLACE INTO t VALUES(7, 'z', 9)"),
        ["By REPLACE: t: 1 row deleted."]
    );
    assert_eq!(
        effects("INSERT OR REPLACE INTO t VALUES(8, 'new', 9)"),
        [""; 0]
    );
    assert_eq!(
        effects("UPDATE OR REPLACE t SET a = 'z' WHERE id = 8"),
        ["By REPLACE: t: 1 row deleted."]
    );
    assert_eq!(
        effects("DELETE FROM t WHERE id = 8 AND a <> 'replace'"),
        [""; 0]
    );
}
