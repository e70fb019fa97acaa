//! Files whose schema needs collations, functions, tokenizers and modules of the program that made them.

use std::cmp::Ordering;

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use serde_json::{Value, json};

use crate::command::interface::context::Context;
use crate::command::tests::{File, context, failure, json_of, text};
use crate::settings::EngineSettings;

/// The program: what it knows on each of its connections.
fn program(file: &File) -> Connection {
    let connection = Connection::open(file.path()).unwrap();
    // Backwards, so that no other order will do.
    connection
        .create_collation("mine", |a, b| match b.cmp(a) {
            Ordering::Equal => Ordering::Equal,
            other => other,
        })
        .unwrap();
    let flags = FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    connection
        .create_scalar_function("f", 1, flags, |values| Ok(values.len() as i64))
        .unwrap();
    connection
}

const NEEDS: [(&str, &str); 10] = [
    (
        "",
        "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT COLLATE mine UNIQUE, n INT); INSERT INTO t VALUES(1,'x',0),(2,'y',0),(3,'z',1)",
    ),
    (
        "",
        "CREATE TABLE t(id, a TEXT, n INT); INSERT INTO t VALUES(1,'x',0),(2,'y',0); CREATE INDEX i ON t(n, a COLLATE mine)",
    ),
    (
        "",
        "CREATE TABLE t(a TEXT COLLATE mine PRIMARY KEY, n) WITHOUT ROWID; INSERT INTO t VALUES('x',0),('y',1),('z',2); CREATE INDEX i ON t(n)",
    ),
    (
        "",
        "CREATE TABLE t(a TEXT COLLATE mine, n); INSERT INTO t VALUES('x',0),('y',1)",
    ),
    (
        "",
        "CREATE TABLE t(a, n); INSERT INTO t VALUES('x',0),('y',1); CREATE INDEX i ON t(f(a))",
    ),
    (
        "",
        "CREATE TABLE t(a, n); INSERT INTO t VALUES('x',0),('y',1); CREATE INDEX i ON t(n) WHERE f(a) = 1",
    ),
    (
        "",
        "CREATE TABLE t(a CHECK(f(a) = 1), n AS (f(a)) STORED); INSERT INTO t VALUES('x'),('y')",
    ),
    (
        "",
        "CREATE TABLE t(a, n INT NOT NULL AS (f(a))); INSERT INTO t VALUES('x'),('y'); CREATE INDEX i ON t(n)",
    ),
    (
        "fts5",
        "CREATE TABLE t(a, n); INSERT INTO t VALUES('x',0); CREATE VIRTUAL TABLE v USING fts5(b, tokenize='porter'); INSERT INTO v VALUES('one'),('two')",
    ),
    (
        "fts4",
        "CREATE TABLE t(a, n); INSERT INTO t VALUES('x',0); CREATE VIRTUAL TABLE v USING fts4(b, tokenize=porter); INSERT INTO v VALUES('one'),('two')",
    ),
];

/// A file of the program's, the program gone.
fn made(kind: &str, sql: &str) -> File {
    let file = File::new("CREATE TABLE good(a); INSERT INTO good VALUES(1)");
    let connection = program(&file);
    connection.execute_batch(sql).unwrap();
    if !kind.is_empty() {
        connection
            .execute_batch(
                "PRAGMA writable_schema=ON;
                 UPDATE sqlite_schema SET sql = replace(sql, 'porter', 'mine') WHERE name = 'v'",
            )
            .unwrap();
    }
    connection.close().unwrap();
    file
}

/// All rows of all tables, as the program sees them; and what its own check says.
fn seen_by_program(file: &File) -> Vec<String> {
    let connection = program(file);
    let mut statement = connection
        .prepare(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY name",
        )
        .unwrap();
    let names: Vec<String> = statement
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let mut all = vec![];
    for name in names {
        let mut statement = connection
            .prepare(&format!("SELECT * FROM \"{name}\""))
            .unwrap();
        let width = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let values: Vec<rusqlite::types::Value> =
                (0..width).map(|at| row.get(at).unwrap()).collect();
            all.push(format!("{name} {values:?}"));
        }
        let sound: String = connection
            .query_row(&format!("PRAGMA integrity_check(\"{name}\")"), [], |row| {
                row.get(0)
            })
            .unwrap();
        all.push(format!("{name}: {sound}"));
    }
    all
}

fn serve(file: &File) -> Context {
    context(EngineSettings {
        root: true,
        ..file.settings()
    })
}

fn path(file: &File) -> &str {
    file.path().to_str().unwrap()
}

#[test]
fn the_check_goes_on_without_the_program_and_names_what_it_could_not_compare() {
    let names = [
        Some(
            "Index sqlite_autoindex_t_1 of table t was not compared with its rows: collation mine belongs to the program that made the file.",
        ),
        Some("Index i of table t was not compared with its rows: collation mine belongs"),
        Some(
            "Index sqlite_autoindex_t_1 of table t was not compared with its rows: collation mine belongs",
        ),
        None,
        Some("Index i of table t was not compared with its rows: function f belongs"),
        Some("Index i of table t was not compared with its rows: function f belongs"),
        Some(
            "CHECK constraints and generated columns of table t were checked as far as possible: function f belongs",
        ),
        Some("Index i of table t was not compared with its rows: function f belongs"),
        Some("Virtual table v was not checked: tokenizer mine belongs to the program"),
        Some("Virtual table v was not checked: tokenizer mine belongs to the program"),
    ];
    for ((kind, sql), name) in NEEDS.into_iter().zip(names) {
        let file = made(kind, sql);
        let object = json_of(&mut serve(&file), "integrity-check", json!({}));
        assert_eq!(object["result"], "ok", "{sql}: {object}");
        let unchecked = object["unchecked"].as_array().cloned().unwrap_or_default();
        match name {
            Some(name) => assert!(
                !unchecked.is_empty() && unchecked[0].as_str().unwrap().starts_with(name),
                "{sql}: {unchecked:?}"
            ),
            None => assert!(unchecked.is_empty(), "{sql}: {unchecked:?}"),
        }
    }
}

#[test]
fn what_can_be_compared_without_the_program_is() {
    let file = made(
        "",
        "CREATE TABLE t(a TEXT COLLATE mine UNIQUE, n NOT NULL); CREATE INDEX i ON t(n); INSERT INTO t VALUES('x',0),('y',1);
         CREATE TABLE u(a); CREATE INDEX j ON u(a); INSERT INTO u VALUES(1);
         PRAGMA writable_schema=ON;
         UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'j') WHERE name = 'i';",
    );
    let object = json_of(&mut serve(&file), "integrity-check", json!({}));
    let rows = object["rows"].to_string();
    assert_eq!(object["result"], "problems", "{object}");
    assert!(rows.contains("wrong # of entries in index i"), "{rows}");
    assert!(!rows.contains("sqlite_autoindex_t_1"), "{rows}");
}

#[test]
fn a_restored_file_is_the_same_file_whatever_program_made_it() {
    for (kind, sql) in NEEDS {
        let file = made(kind, sql);
        let target = File::new("");
        let before = seen_by_program(&file);
        let answer = text(&mut serve(&target), "restore", json!({"file": path(&file)}));
        assert!(answer.starts_with("Restored shop.db"), "{sql}: {answer}");
        assert_eq!(seen_by_program(&target), before, "{sql}");
        assert_eq!(seen_by_program(&file), before, "{sql}");
    }
}

#[test]
fn a_migrated_file_is_whole_for_its_program() {
    for (at, (kind, sql)) in NEEDS.into_iter().enumerate() {
        let file = made(kind, sql);
        let target = File::new("");
        let name = format!("sqlarium-migrated-{}-{at}.db", std::process::id());
        let answer = json_of(
            &mut serve(&target),
            "migrate",
            json!({"source": path(&file), "destination": name}),
        );
        assert_eq!(answer["ok"], true, "{sql}: {answer}");
        std::fs::rename(&name, target.path()).unwrap();
        assert_eq!(seen_by_program(&target), seen_by_program(&file), "{sql}");
        let notes = answer["notes"].to_string();
        let copied = notes.contains("copied page by page");
        assert_eq!(copied, kind.is_empty(), "{sql}: {notes}");
        if copied {
            let named = notes.contains("mine") || notes.contains('f');
            assert!(named, "{notes}");
        }
    }
}

#[test]
fn a_dump_holds_every_row_whatever_orders_them() {
    for (kind, sql) in NEEDS {
        let file = made(kind, sql);
        let answer = text(&mut serve(&file), "dump", json!({}));
        let named = answer
            .contains("-- What only the program has that made the file, and this SQL needs: ");
        assert_eq!(named, kind.is_empty(), "{sql}: {answer}");
        let rows = answer.matches("INSERT INTO \"t\"").count();
        let connection = program(&file);
        let there: i64 = connection
            .query_row("SELECT count(*) FROM t", [], |row| row.get(0))
            .unwrap();
        assert_eq!(rows as i64, there, "{sql}: {answer}");
        assert!(
            answer.contains("INSERT INTO \"good\" VALUES(1)"),
            "{answer}"
        );
    }
}

#[test]
fn findings_that_are_no_damage_of_pages_do_not_keep_a_file_from_being_restored() {
    for sql in [
        "CREATE TABLE t(a); INSERT INTO t VALUES(NULL); PRAGMA writable_schema=ON;
         UPDATE sqlite_schema SET sql = 'CREATE TABLE t(a NOT NULL)' WHERE name = 't'",
        "CREATE TABLE t(a ANY) STRICT; INSERT INTO t VALUES('x'); PRAGMA writable_schema=ON;
         UPDATE sqlite_schema SET sql = 'CREATE TABLE t(a INT) STRICT' WHERE name = 't'",
        "CREATE TABLE t(a); CREATE TABLE gone(a); PRAGMA writable_schema=ON; DELETE FROM sqlite_schema WHERE name = 'gone'",
    ] {
        let file = made("", sql);
        let target = File::new("");
        let answer = text(&mut serve(&target), "restore", json!({"file": path(&file)}));
        assert!(answer.contains("The pages of"), "{sql}: {answer}");
        assert!(!answer.contains("damaged"), "{sql}: {answer}");
    }
}

#[test]
fn a_file_whose_trees_do_not_hold_is_called_damaged_and_not_used() {
    let file = made(
        "",
        "CREATE TABLE t(a); INSERT INTO t SELECT zeroblob(900) FROM (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9))",
    );
    let mut bytes = std::fs::read(file.path()).unwrap();
    // A pointer to another page.
    let page = bytes.len() - 4096;
    bytes[page + 3..page + 5].fill(0xff);
    std::fs::write(file.path(), bytes).unwrap();
    let target = File::new("CREATE TABLE old(a)");
    let call = json!({"file": path(&file)});
    let (_, said) = failure(&mut serve(&target), "restore", call);
    assert!(said.contains("is damaged and was not used"), "{said}");
    let call = json!({"source": path(&file), "destination": "sqlarium-never.db"});
    let (_, said) = failure(&mut serve(&target), "migrate", call);
    assert!(said.contains("is damaged and was not used"), "{said}");
    let kept: Value = json_of(&mut serve(&target), "tables", json!({}));
    assert!(kept["rows"].to_string().contains("old"), "{kept}");
}

#[test]
fn checks_of_a_schema_are_checked_in_a_file_that_was_only_read_so_far() {
    let file = made(
        "",
        "CREATE TABLE t(a); INSERT INTO t VALUES(-1); PRAGMA writable_schema=ON;
         UPDATE sqlite_schema SET sql = 'CREATE TABLE t(a CHECK(a > 0))' WHERE name = 't'",
    );
    let object = json_of(&mut serve(&file), "integrity-check", json!({}));
    let rows = object["rows"].to_string();
    assert!(rows.contains("CHECK constraint failed in t"), "{object}");
    let mut readonly = context(EngineSettings {
        readonly: true,
        ..file.settings()
    });
    let object = json_of(&mut readonly, "integrity-check", json!({}));
    assert_eq!(
        object["unchecked"],
        json!([
            "CHECK constraints were not checked: SQLite does not read them where a file may not be written."
        ])
    );
}

#[test]
fn what_a_file_holds_in_spite_of_its_constraints_is_migrated_as_it_is() {
    for (at, sql) in [
        "CREATE TABLE t(a); INSERT INTO t VALUES(NULL); PRAGMA writable_schema=ON;
         UPDATE sqlite_schema SET sql = 'CREATE TABLE t(a NOT NULL)' WHERE name = 't'",
        "CREATE TABLE t(a ANY) STRICT; INSERT INTO t VALUES('x'); PRAGMA writable_schema=ON;
         UPDATE sqlite_schema SET sql = 'CREATE TABLE t(a INT) STRICT' WHERE name = 't'",
    ]
    .into_iter()
    .enumerate()
    {
        let file = made("", sql);
        let name = format!("sqlarium-kept-{}-{at}.db", std::process::id());
        let answer = json_of(
            &mut serve(&File::new("")),
            "migrate",
            json!({"source": path(&file), "destination": name}),
        );
        assert_eq!(answer["ok"], true, "{answer}");
        assert!(
            answer["notes"].to_string().contains("copied page by page"),
            "{answer}"
        );
        let copy = File::new("");
        std::fs::rename(&name, copy.path()).unwrap();
        assert_eq!(seen_by_program(&copy), seen_by_program(&file));
    }
}

#[test]
fn a_virtual_table_that_is_damaged_is_a_problem_and_no_foreign_part() {
    let file = made(
        "",
        "CREATE VIRTUAL TABLE r USING rtree(id, x0, x1); INSERT INTO r VALUES(1, 0, 5); UPDATE r_node SET data = x'00'",
    );
    let object = json_of(&mut serve(&file), "integrity-check", json!({}));
    assert_eq!(object["result"], "problems", "{object}");
    assert!(
        object["rows"].to_string().contains("undersize RTree"),
        "{object}"
    );
}

#[test]
fn the_widest_table_is_migrated() {
    let columns: Vec<String> = (0..2_000).map(|at| format!("c{at}")).collect();
    let file = made(
        "",
        &format!(
            "CREATE TABLE t({}); INSERT INTO t(c1999) VALUES('last')",
            columns.join(",")
        ),
    );
    let name = format!("sqlarium-wide-{}.db", std::process::id());
    let call = json!({"source": path(&file), "destination": name});
    let answer = json_of(&mut serve(&File::new("")), "migrate", call);
    let copy = File::new("");
    std::fs::rename(&name, copy.path()).unwrap();
    assert_eq!(answer["ok"], true, "{answer}");
    assert_eq!(seen_by_program(&copy), seen_by_program(&file));
}
