//! Whole databases.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rusqlite::Connection;
use serde_json::json;
use sqlarium_tests::{Folder, run};

use crate::{rooted, text};

/// One of every kind of object, and values that are hard to write down.
const EVERYTHING: &str = r#"
    PRAGMA user_version = 42;
    CREATE TABLE plain (a, b);
    INSERT INTO plain VALUES (NULL, 'it''s'), (1, 'two
lines'), (9223372036854775807, 'c' || char(13, 10)), (-9223372036854775808, 'nul' || char(0) || 'tail'),
        (0.1, X'00ff27'), (1e999, ''), (-1e999, X''), (1e-310, '-- no comment'), (1.7976931348623157e308, ';'),
        (5e-324, 'ünï'), (CAST(X'ff41' AS TEXT), 3.0), (123456789.12345679, -2.5), (1e23, 9007199254740993.0);
    CREATE TABLE autos (id INTEGER PRIMARY KEY AUTOINCREMENT, v);
    INSERT INTO autos (v) VALUES ('a'), ('b'), ('c'); DELETE FROM autos WHERE id = 3;
    CREATE TABLE keyed (k TEXT PRIMARY KEY, v) WITHOUT ROWID;
    INSERT INTO keyed VALUES ('z', 1), ('a', 2);
    CREATE TABLE strict (i INTEGER, r REAL, t TEXT, b BLOB, any ANY) STRICT;
    INSERT INTO strict VALUES (1, 2, '3', X'04', '05');
    CREATE TABLE generated (a INTEGER, twice AS (a * 2), half AS (a / 2.0) STORED, b);
    INSERT INTO generated (a, b) VALUES (5, 'x');
    CREATE TABLE "hostile ""name"" -- /* ' ;" ("select" INTEGER, "a""b" TEXT, "--" DEFAULT ';');
    INSERT INTO "hostile ""name"" -- /* ' ;" VALUES (1, '2', '3');
    CREATE TABLE parent (id INTEGER PRIMARY KEY); CREATE TABLE child (p REFERENCES parent ON DELETE CASCADE);
    INSERT INTO parent VALUES (1); INSERT INTO child VALUES (1);
    CREATE VIRTUAL TABLE texts USING fts5(title, body, tokenize = 'porter');
    INSERT INTO texts VALUES ('one', 'the quick brown foxes'), ('two', 'jumped over');
    CREATE TABLE source (body); INSERT INTO source VALUES ('gone'), ('stays'), ('here'); DELETE FROM source WHERE rowid = 1;
    CREATE VIRTUAL TABLE indexed USING fts5(body, content = 'source');
    INSERT INTO indexed (indexed) VALUES ('rebuild');
    CREATE VIRTUAL TABLE places USING rtree(id, x0, x1);
    INSERT INTO places VALUES (1, 0, 5), (2, 10, 20);
    CREATE INDEX by_b ON plain (b) WHERE a > 0; CREATE UNIQUE INDEX by_expression ON autos (lower(v));
    CREATE VIEW shown AS SELECT a, count(*) AS n FROM plain GROUP BY a;
    CREATE VIEW broken AS SELECT * FROM nowhere;
    CREATE TABLE log (what);
    CREATE TRIGGER noted AFTER INSERT ON autos BEGIN INSERT INTO log VALUES ('inserted; ' || new.v); END;
    CREATE TRIGGER through INSTEAD OF INSERT ON shown BEGIN INSERT INTO plain (a) VALUES (new.a); END;
    ANALYZE;"#;

/// What a database holds: its schema, and every value of every table with its storage class and all bits.
fn contents(path: &Path) -> Vec<String> {
    let connection = Connection::open(path).expect("the database");
    let strings = |sql: &str| -> Vec<String> {
        let mut statement = connection.prepare(sql).expect(sql);
        let width = statement.column_count();
        let rows = statement.query_map([], |row| {
            let mut line = String::new();
            for index in 0..width {
                line.push_str(&match row.get_ref(index)? {
                    rusqlite::types::ValueRef::Null => "null".into(),
                    rusqlite::types::ValueRef::Integer(number) => format!("i{number}"),
                    rusqlite::types::ValueRef::Real(number) => {
                        format!("r{:016x}", number.to_bits())
                    }
                    rusqlite::types::ValueRef::Text(bytes) => format!("t{}", bytes.escape_ascii()),
                    rusqlite::types::ValueRef::Blob(bytes) => format!("b{}", bytes.escape_ascii()),
                });
                line.push('|');
            }
            Ok(line)
        });
        let mut lines = rows.expect(sql).collect::<Result<Vec<_>, _>>().expect(sql);
        lines.sort();
        lines
    };
    let mut all = strings("SELECT type, name, tbl_name, sql FROM sqlite_schema");
    let names = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type <> 'view' \
                 AND name NOT LIKE 'sqlite_schema' ORDER BY name";
    let mut statement = connection.prepare(names).expect(names);
    let names: Vec<String> = statement
        .query_map([], |row| row.get(0))
        .expect("names")
        .collect::<Result<_, _>>()
        .expect("names");
    for name in names {
        let quoted = name.replace('"', "\"\"");
        all.push(format!("-- {name}"));
        all.extend(strings(&format!("SELECT * FROM \"{quoted}\"")));
    }
    all
}

#[test]
fn a_dump_makes_the_database_again() {
    let folder = Folder::new();
    let database = folder.database("shop.db", EVERYTHING);
    let mut server = rooted(&folder, &database, &[]);
    let answer = server.call("dump", json!({"out": "shop.sql"}));
    assert!(!answer.refused, "{}", answer.text);
    let sql = fs::read_to_string(folder.path("shop.sql")).expect("UTF-8");
    let before = contents(&database);
    let native = folder.database("native.db", &sql);
    assert_eq!(contents(&native), before);
    Folder::assert_whole(&native);
    assert_eq!(
        Folder::native(&native, "SELECT title FROM texts WHERE texts MATCH 'fox'"),
        ["one"]
    );
    assert_eq!(
        Folder::native(
            &native,
            "SELECT body FROM indexed WHERE indexed MATCH 'stays'"
        ),
        ["stays"]
    );
    assert_eq!(
        Folder::native(&native, "SELECT id FROM places WHERE x0 > 7"),
        ["2"]
    );
    let program = folder.path("program.db");
    let read = std::process::Command::new("sqlite3")
        .arg(&program)
        .stdin(fs::File::open(folder.path("shop.sql")).expect("the dump"))
        .output();
    if let Ok(output) = read {
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{output:?}"
        );
        assert_eq!(contents(&program), before);
        Folder::assert_whole(&program);
    }
}

#[test]
fn a_part_of_a_database_is_dumped_by_its_name() {
    let folder = Folder::new();
    let database = folder.database("shop.db", EVERYTHING);
    let shown = run(["dump", text(&database), "autos"]);
    assert!(
        shown.stdout.contains("CREATE TRIGGER noted"),
        "{}",
        shown.stdout
    );
    assert!(!shown.stdout.contains("plain"), "{}", shown.stdout);
    let shown = run(["dump", text(&database), "texts"]);
    let part = folder.database("part.db", &shown.stdout);
    assert_eq!(
        Folder::native(&part, "SELECT title FROM texts WHERE texts MATCH 'fox'"),
        ["one"]
    );
    let shown = run(["dump", text(&database), "keyed", "--data-only"]);
    assert_eq!(shown.stdout.lines().count(), 2, "{}", shown.stdout);
    assert_eq!(run(["dump", text(&database), "nothing"]).code, Some(1));
}

#[test]
fn a_migrated_database_is_the_same_and_reported_table_by_table() {
    let folder = Folder::new();
    let database = folder.database("shop.db", "CREATE TABLE served (a)");
    let other = folder.database("old.db", EVERYTHING);
    let before = contents(&other);
    let mut server = rooted(&folder, &database, &[]);
    let answer = server.call(
        "migrate",
        json!({"source": "old.db", "destination": "new.db", "output": "json"}),
    );
    assert!(!answer.refused, "{}", answer.text);
    assert!(
        answer.object["rows"]
            .as_array()
            .is_some_and(|rows| rows.iter().any(|row| row[0] == "plain" && row[1] == 13))
    );
    let new = folder.path("new.db");
    Folder::assert_whole(&new);
    assert_eq!(contents(&new), before);
    assert_eq!(Folder::native(&new, "PRAGMA user_version"), ["42"]);
    assert_eq!(contents(&other), before);
    assert_eq!(folder.files(), ["new.db", "old.db", "shop.db"]);
}

#[test]
fn a_backup_is_of_one_moment_while_another_process_writes() {
    for mode in ["delete", "wal"] {
        let folder = Folder::new();
        let database = folder.database(
            "shop.db",
            &format!(
                "PRAGMA journal_mode = {mode}; CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER, pad TEXT);
                 WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 4000)
                 INSERT INTO t SELECT i, 0, hex(zeroblob(500)) FROM n;"
            ),
        );
        let stop = Arc::new(AtomicBool::new(false));
        let writer = {
            let (database, stop) = (database.clone(), stop.clone());
            thread::spawn(move || {
                let connection = Connection::open(database).expect("the database");
                connection
                    .busy_timeout(std::time::Duration::from_secs(30))
                    .expect("a timeout");
                let mut commits = 0;
                while !stop.load(Ordering::Relaxed) {
                    // All rows have the same value at every moment.
                    connection
                        .execute_batch("UPDATE t SET v = v + 1")
                        .expect("a commit");
                    commits += 1;
                }
                commits
            })
        };
        let mut server = rooted(&folder, &database, &["--busy-timeout", "30s"]);
        for number in 0..5 {
            let name = format!("copy{number}.db");
            let answer = server.call("backup", json!({ "file": name }));
            assert!(!answer.refused, "{mode}: {}", answer.text);
            let copy = folder.path(&name);
            Folder::assert_whole(&copy);
            assert_eq!(
                Folder::native(&copy, "SELECT count(DISTINCT v) || ' ' || count(*) FROM t"),
                ["1 4000"]
            );
        }
        stop.store(true, Ordering::Relaxed);
        assert!(writer.join().expect("the writer") > 0);
        Folder::assert_whole(&database);
    }
}

#[test]
fn a_restore_brings_back_all_of_it_and_refuses_what_is_damaged() {
    let folder = Folder::new();
    let database = folder.database("shop.db", EVERYTHING);
    let before = contents(&database);
    let mut server = rooted(&folder, &database, &[]);
    assert!(!server.call("backup", json!({"file": "backup.db"})).refused);
    server.batch("DROP TABLE plain; CREATE TABLE late (x); DELETE FROM autos;");
    let (status, sentence) = server.refusal("restore", json!({"file": "backup.db"}));
    assert_eq!(status, "invalid_state", "{sentence}");
    assert!(
        sentence.contains("autos: 0 rows") && sentence.contains("late: 0 rows"),
        "{sentence}"
    );
    let answer = server.call("restore", json!({"file": "backup.db", "overwrite": true}));
    assert!(!answer.refused, "{}", answer.text);
    assert_eq!(contents(&database), before);
    assert_eq!(server.rows("SELECT count(*) FROM plain"), json!([[13]]));
    Folder::assert_whole(&database);
    // Nothing of a file that is no database, or a damaged one.
    fs::write(folder.path("text.db"), "no database at all".repeat(100)).expect("a file");
    let mut bytes = fs::read(folder.path("backup.db")).expect("the backup");
    let length = bytes.len();
    for byte in &mut bytes[length / 2..length / 2 + 3000] {
        *byte ^= 0x5a;
    }
    fs::write(folder.path("damaged.db"), &bytes).expect("a file");
    for name in ["text.db", "damaged.db"] {
        let (status, sentence) = server.refusal("restore", json!({ "file": name }));
        assert_eq!(status, "corrupt", "{name}: {sentence}");
        let (status, sentence) =
            server.refusal("migrate", json!({"source": name, "destination": "x.db"}));
        assert_eq!(status, "corrupt", "{name}: {sentence}");
    }
    let (status, _) = server.refusal("restore", json!({"file": "none.db"}));
    assert_eq!(status, "not_found");
    let (status, _) = server.refusal("restore", json!({"file": "shop.db"}));
    assert_eq!(status, "invalid_state");
    assert_eq!(contents(&database), before);
    assert!(!folder.path("x.db").exists());
}

#[test]
fn nothing_of_a_hostile_file_is_run() {
    let folder = Folder::new();
    let database = folder.database("shop.db", "CREATE TABLE t (a)");
    let hostile = folder.database(
        "hostile.db",
        "CREATE TABLE t (a); CREATE TABLE victim (a); INSERT INTO victim VALUES (1), (2); INSERT INTO t VALUES (1);
         CREATE TRIGGER boom AFTER INSERT ON t BEGIN DELETE FROM victim; END;
         CREATE VIEW v AS SELECT fts3_tokenizer('x') FROM t;",
    );
    let before = contents(&hostile);
    let mut server = rooted(&folder, &database, &[]);
    let answer = server.call(
        "migrate",
        json!({"source": "hostile.db", "destination": "new.db"}),
    );
    assert!(!answer.refused, "{}", answer.text);
    let new = folder.path("new.db");
    assert_eq!(Folder::native(&new, "SELECT count(*) FROM victim"), ["2"]);
    assert_eq!(contents(&new), before);
    // A schema that says one thing and does another is damage to SQLite.
    Connection::open(&hostile)
        .expect("the database")
        .execute_batch(
            "PRAGMA writable_schema = ON;
             UPDATE sqlite_schema SET sql = 'CREATE TABLE t (a); DROP TABLE victim' WHERE name = 't';",
        )
        .expect("written");
    for (command, arguments) in [
        (
            "migrate",
            json!({"source": "hostile.db", "destination": "newer.db"}),
        ),
        ("restore", json!({"file": "hostile.db", "overwrite": true})),
    ] {
        let (status, sentence) = server.refusal(command, arguments);
        assert_eq!(status, "corrupt", "{command}: {sentence}");
    }
    assert!(!folder.path("newer.db").exists());
    server.assert_well();
}
