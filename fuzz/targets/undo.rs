//! Writes of every kind, then undo of each: the dump is as it was before it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::json;
use sqlarium_fuzz::{call, context, files, settings};
use sqlarium_guest::command::interface::context::Context;
use sqlarium_guest::settings::Undo;

/// What there is at first.
const START: &str = "CREATE TABLE t(id INTEGER PRIMARY KEY, k INT UNIQUE, name TEXT);
    CREATE TABLE child(t INT REFERENCES t(id) ON DELETE CASCADE ON UPDATE SET NULL, n);
    CREATE TABLE code(c TEXT PRIMARY KEY COLLATE NOCASE, v);
    CREATE TABLE w(a, b, PRIMARY KEY(b, a)) WITHOUT ROWID;
    CREATE INDEX by_name ON t(name) WHERE k > 1;
    CREATE TRIGGER logs AFTER UPDATE ON t BEGIN INSERT INTO w VALUES(new.id, new.k); END;
    CREATE VIRTUAL TABLE f USING fts5(body); CREATE VIRTUAL TABLE r USING rtree(id, x0, x1);
    INSERT INTO t VALUES(1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c'); INSERT INTO child VALUES(1, 1), (2, 2);
    INSERT INTO code VALUES('x', 1), ('y', 2); INSERT INTO f VALUES('some words');";

/// Writes; `{}` is a number of the input's.
const WRITES: [&str; 24] = [
    "INSERT INTO t(k, name) VALUES({}, hex(zeroblob({} * 9)))",
    "INSERT OR REPLACE INTO t VALUES({} % 5, {} % 7, 'z')",
    "UPDATE t SET id = id + {} WHERE id % 2",
    "UPDATE OR IGNORE t SET k = {} % 4, name = name || '!'",
    "DELETE FROM t WHERE id = {} % 6",
    "DELETE FROM t",
    "UPDATE code SET c = upper(c) WHERE v % 2 = {} % 2",
    "DELETE FROM code",
    "INSERT OR IGNORE INTO w VALUES({}, {} % 3)",
    "INSERT INTO child SELECT id, {} FROM t",
    "INSERT INTO f VALUES('word{} more')",
    "DELETE FROM f WHERE rowid = {} % 4",
    "INSERT OR REPLACE INTO r VALUES({} % 9, 1, {} + 1)",
    "ALTER TABLE t ADD COLUMN c{} DEFAULT 5",
    "ALTER TABLE w RENAME TO w{}",
    "DROP INDEX IF EXISTS by_name",
    "CREATE TABLE IF NOT EXISTS n{} AS SELECT * FROM t",
    "DROP TABLE IF EXISTS child",
    "DROP TABLE IF EXISTS f",
    "VACUUM",
    "REINDEX",
    "PRAGMA user_version = {}",
    "CREATE VIEW IF NOT EXISTS v{} AS SELECT * FROM t",
    "INSERT INTO t(name) WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s LIMIT {}) SELECT i FROM s",
];

fn dump(context: &mut Context) -> String {
    call(context, "dump", &json!({})).text
}

fuzz_target!(|input: &[u8]| {
    let files = files();
    files.replace([("shop.db", &b""[..])]);
    let mut settings = settings();
    settings.command.output.text_bytes = 1 << 20;
    settings.command.engine.undo = Some(Undo {
        file: "undo.db".into(),
        bytes: 8 << 20,
        required: false,
    });
    let mut context = context(settings);
    if input.first().is_some_and(|first| first & 0x80 != 0) {
        call(
            &mut context,
            "exec",
            &json!({"sql": "PRAGMA auto_vacuum = 1"}),
        );
    }
    call(&mut context, "batch", &json!({ "sql": START }));
    let mut before = Vec::new();
    for pair in input.as_chunks::<2>().0.iter().take(4) {
        let [which, number] = *pair;
        let sql = WRITES[usize::from(which) % WRITES.len()].replace("{}", &number.to_string());
        let was = dump(&mut context);
        let answer = call(&mut context, "exec", &json!({"sql": sql, "output": "json"}));
        let told = answer.object.as_ref().map_or("", |_| answer.text.as_str());
        if told.contains("cannot be undone") {
            before.clear();
        } else if told.contains("\"history\":") {
            before.push(was);
        }
    }
    while let Some(was) = before.pop() {
        let answer = call(&mut context, "undo", &json!({}));
        assert_eq!(answer.failure, None);
        let is = dump(&mut context);
        assert_eq!(is, was);
    }
    drop(context);
    assert_eq!(files.open_files(), 0, "a file was left open");
});
