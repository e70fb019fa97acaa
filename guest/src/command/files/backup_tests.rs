//! Backups and restores.

use super::Holds;
use crate::command::tests::File;

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
