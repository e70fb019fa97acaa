//! Backups and restores.

use serde_json::json;

use super::Holds;
use crate::answer::failure::Status;
use crate::command::tests::{File, context, failure, json_of, text};
use crate::settings::EngineSettings;

#[test]
fn what_a_restore_would_replace_is_named() {
    let held = |sql: &str| {
        let file = File::new(sql);
        let connection = rusqlite::Connection::open(file.path()).unwrap();
        Holds::of(&connection).unwrap()
    };
    assert_eq!(held("").objects, 0);
    assert_eq!(
        held(
            "CREATE TABLE a(x); CREATE TABLE b(id INTEGER PRIMARY KEY AUTOINCREMENT);
             INSERT INTO a VALUES(1), (2); CREATE VIEW v AS SELECT 1;
             CREATE VIRTUAL TABLE f USING fts5(x); INSERT INTO f VALUES('w');"
        )
        .in_words(),
        "3 tables (a: 2 rows, b: 0 rows, f: 1 row)"
    );
    assert_eq!(held("CREATE VIEW v AS SELECT 1").in_words(), "1 object");
    let many: String = (0..12).map(|n| format!("CREATE TABLE t{n}(x);")).collect();
    let words = held(&many).in_words();
    assert!(words.starts_with("12 tables (t0: 0 rows, "), "{words}");
    assert!(words.ends_with(", …)"), "{words}");
}

#[test]
fn a_file_whose_list_of_free_pages_does_not_hold_is_migrated_and_not_restored() {
    let file = File::new(
        "CREATE TABLE a(x); CREATE TABLE b(y); CREATE INDEX i ON b(y);
         INSERT INTO a VALUES('one'), ('two'); INSERT INTO b VALUES(5)",
    );
    // Page 3, that of b, is said to be free.
    let mut bytes = std::fs::read(file.path()).unwrap();
    bytes[32..40].copy_from_slice(&[0, 0, 0, 3, 0, 0, 0, 1]);
    std::fs::write(file.path(), bytes).unwrap();
    let source = file.path().to_str().unwrap();
    let mut context = context(EngineSettings {
        root: true,
        ..EngineSettings::default()
    });
    let (status, said) = failure(&mut context, "restore", json!({"file": source}));
    assert_eq!(status, Status::Corrupt);
    assert!(
        said.contains("The list of free pages") && said.contains("sqlarium_migrate"),
        "{said}"
    );
    let name = format!("free-{}.db", std::process::id());
    let arguments = json!({"source": source, "destination": name});
    let migrated = text(&mut context, "migrate", arguments);
    let checked = json_of(&mut context, "integrity-check", json!({"db": name}));
    let rows = json_of(
        &mut context,
        "query",
        json!({"db": name, "sql": "SELECT x, y FROM a, b"}),
    );
    std::fs::remove_file(&name).unwrap();
    assert!(migrated.contains("The list of free pages"), "{migrated}");
    assert_eq!(checked["result"], "ok", "{checked}");
    assert_eq!(rows["rows"], json!([["one", 5], ["two", 5]]));
}
