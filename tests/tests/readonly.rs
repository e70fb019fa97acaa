//! What reads and what does not: `query`, `--readonly`, and files that are only read.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rusqlite::Connection;
use serde_json::json;
use sqlarium_tests::{Folder, Server, run};

const SHOP: &str = "
    CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT);
    INSERT INTO items VALUES (1, 'lamp'), (2, 'pen');
    CREATE VIEW cheap AS SELECT * FROM items;
    CREATE TRIGGER into_view INSTEAD OF INSERT ON cheap BEGIN INSERT INTO items (name) VALUES (new.name); END;
    CREATE VIRTUAL TABLE notes USING fts5(body);
    INSERT INTO notes VALUES ('a lamp for the desk'), ('a pen');
    CREATE VIRTUAL TABLE boxes USING rtree(id, x0, x1);
    INSERT INTO boxes VALUES (1, 0, 10);";

/// A server on the shop, in memory.
fn shop() -> Server {
    let mut server = Server::ready([""; 0]);
    server.batch(SHOP);
    server
}

/// What `query` refuses, and a word of the reason.
const REFUSED: [(&str, &str); 30] = [
    ("INSERT INTO items VALUES (3, 'clock')", "insert"),
    ("UPDATE items SET name = 'x'", "update"),
    ("DELETE FROM items", "delete"),
    ("REPLACE INTO items VALUES (1, 'x')", "insert"),
    ("INSERT INTO cheap (name) VALUES ('x')", "insert"),
    ("INSERT INTO items VALUES (9, 'x') RETURNING id", "insert"),
    (
        "WITH w AS (SELECT 9, 'x') INSERT INTO items SELECT * FROM w",
        "insert",
    ),
    (
        "WITH w AS (SELECT 1 AS id) DELETE FROM items WHERE id IN w",
        "delete",
    ),
    ("CREATE TABLE other (a)", "schema"),
    ("CREATE TEMP TABLE other (a)", "schema"),
    ("DROP TABLE items", "schema"),
    ("ALTER TABLE items ADD COLUMN price", "alter"),
    ("ALTER TABLE items RENAME TO things", "alter"),
    ("REINDEX", "rebuild the index"),
    ("ANALYZE", "schema"),
    ("VACUUM", "rewrite the whole database"),
    ("VACUUM INTO 'copy.db'", "no statement may create a file"),
    ("ATTACH 'other.db' AS other", "ATTACH"),
    ("DETACH main", "DETACH"),
    ("BEGIN", "transaction"),
    ("SAVEPOINT s", "transaction"),
    ("SELECT load_extension('evil.so')", "load_extension"),
    ("PRAGMA writable_schema = 1", "writable_schema"),
    ("PRAGMA query_only = OFF", "query_only"),
    ("PRAGMA user_version = 5", "user_version"),
    ("PRAGMA journal_mode = WAL", "journal_mode"),
    ("INSERT INTO notes (notes) VALUES ('optimize')", "insert"),
    ("UPDATE sqlite_schema SET sql = 'x'", "sqlite_"),
    ("SELECT 1; DELETE FROM items", "one statement"),
    ("SELECT 1; SELECT 2", "one statement"),
];

/// What `query` runs, and its first cell.
const ALLOWED: [(&str, &str); 20] = [
    ("SELECT 'delete'", "delete"),
    ("SELECT replace('insert', 'in', 're')", "resert"),
    ("SELECT 1;", "1"),
    ("SELECT 1; -- DELETE FROM items", "1"),
    ("SELECT 1 /* ; DROP TABLE items */ ;  ", "1"),
    ("-- a comment first\nSELECT 1", "1"),
    ("VALUES (7), (8)", "7"),
    ("WITH w(a) AS (VALUES (3)) SELECT a FROM w", "3"),
    ("SELECT name FROM items WHERE id = 2", "pen"),
    ("SELECT name FROM cheap ORDER BY id", "lamp"),
    (
        "SELECT body FROM notes WHERE notes MATCH 'lamp'",
        "a lamp for the desk",
    ),
    (
        "SELECT highlight(notes, 0, '[', ']') FROM notes WHERE notes MATCH 'pen'",
        "a [pen]",
    ),
    ("SELECT id FROM boxes WHERE x0 <= 5 AND x1 >= 5", "1"),
    ("PRAGMA user_version", "0"),
    ("PRAGMA integrity_check", "ok"),
    ("PRAGMA foreign_keys", "1"),
    ("SELECT name FROM pragma_table_info('items')", "id"),
    ("SELECT value FROM json_each('[5, 6]')", "5"),
    (
        "SELECT count(*) FROM sqlite_schema WHERE name = 'items'",
        "1",
    ),
    ("SELECT ';' || 'UPDATE'", ";UPDATE"),
];

#[test]
fn query_refuses_what_writes_and_says_why() {
    let mut server = shop();
    let before = server.rows("SELECT count(*), total(id), group_concat(name) FROM items");
    for (sql, reason) in REFUSED {
        let (status, sentences) = server.refusal("query", json!({ "sql": sql }));
        assert!(
            // A function that is not built in is not found.
            ["readonly", "unsupported", "not_found"].contains(&status.as_str()),
            "{sql}: {status}: {sentences}"
        );
        assert!(
            sentences.to_lowercase().contains(&reason.to_lowercase()),
            "{reason:?} is no reason in {sentences:?} for {sql}"
        );
        let after = server.rows("SELECT count(*), total(id), group_concat(name) FROM items");
        assert_eq!(after, before, "{sql}");
    }
    assert_eq!(
        server.rows("SELECT count(*) FROM sqlite_schema WHERE name = 'other'"),
        json!([[0]])
    );
}

#[test]
fn query_runs_what_reads_whatever_words_are_in_it() {
    let mut server = shop();
    for (sql, expected) in ALLOWED {
        let rows = server.rows(sql);
        let cell = &rows[0][0];
        let text = cell
            .as_str()
            .map_or_else(|| cell.to_string(), str::to_owned);
        assert_eq!(text, expected, "{sql}");
    }
    let plan = server.call(
        "query",
        json!({ "sql": "EXPLAIN QUERY PLAN SELECT * FROM items" }),
    );
    assert!(
        !plan.refused && plan.text.contains("items"),
        "{}",
        plan.text
    );
    let program = server.call("query", json!({ "sql": "EXPLAIN SELECT 1" }));
    assert!(
        !program.refused && program.text.contains("ResultRow"),
        "{}",
        program.text
    );
}

#[test]
fn a_nul_in_the_sql_hides_nothing() {
    let mut server = shop();
    let (_, sentences) = server.refusal(
        "query",
        json!({ "sql": "SELECT 1\u{0}; DELETE FROM items" }),
    );
    assert!(sentences.to_uppercase().contains("NUL"), "{sentences}");
}

#[test]
fn what_no_command_does_is_refused_in_exec_and_batch_too() {
    let mut server = shop();
    for sql in [
        "ATTACH 'other.db' AS other",
        "VACUUM INTO 'copy.db'",
        "PRAGMA writable_schema = 1",
        "SELECT load_extension('evil.so')",
        "COMMIT",
    ] {
        for command in ["exec", "batch"] {
            server.refusal(command, json!({ "sql": sql }));
        }
    }
    server.assert_well();
}

#[test]
fn readonly_refuses_every_write_everywhere() {
    let folder = Folder::new();
    let path = folder.database("shop.db", SHOP);
    let bytes = fs::read(&path).expect("the file");
    let mut server = Server::ready(["--readonly", "--db", path.to_str().expect("a path")]);
    for sql in [
        "INSERT INTO items VALUES (3, 'clock')",
        "UPDATE items SET name = 'x'",
        "DELETE FROM items",
        "CREATE TABLE other (a)",
        "DROP TABLE items",
        "VACUUM",
        "PRAGMA user_version = 5",
        "PRAGMA journal_mode = WAL",
    ] {
        let (status, sentences) = server.refusal("query", json!({ "sql": sql }));
        assert_eq!(status, "readonly", "{sql}: {sentences}");
        // A client has no tool for it; a person and the shell have.
        let lines = server.call("run", json!({ "input": format!("{sql};") }));
        assert!(
            lines.refused && lines.text.contains("--readonly"),
            "{sql}: {}",
            lines.text
        );
        for command in ["exec", "batch"] {
            let file = path.to_str().expect("a path");
            let ended = run([command, file, sql, "--readonly"]);
            assert_eq!(ended.code, Some(1), "{command} {sql}");
            assert!(ended.stderr.contains("--readonly"), "{}", ended.stderr);
        }
    }
    assert_eq!(server.rows("SELECT count(*) FROM items"), json!([[2]]));
    drop(server);
    assert_eq!(fs::read(&path).expect("the file"), bytes);
}

#[test]
fn readonly_makes_no_files() {
    let folder = Folder::new();
    let path = folder.database("shop.db", SHOP);
    let root = folder.path("");
    let arguments = ["--readonly", "--root", root.to_str().expect("a path")];
    let mut server = Server::ready(
        arguments
            .iter()
            .copied()
            .chain(["--db", path.to_str().expect("a path")]),
    );
    let lines = json!({ "input": ".backup new.db\n.save new.db\n.once new.txt\nSELECT 1;\n.output new.txt" });
    assert!(server.call("run", lines).refused);
    let (status, _) = server.refusal("dump", json!({ "out": "new.sql" }));
    assert_eq!(status, "syntax");
    for (command, file) in [("create", "new.db"), ("backup", "new.db")] {
        let shop = path.to_str().expect("a path");
        let mut arguments = vec![command];
        arguments.extend((command == "backup").then_some(shop));
        let new = root.join(file);
        arguments.extend([new.to_str().expect("a path"), "--readonly"]);
        let ended = run(&arguments);
        assert_eq!(ended.code, Some(1), "{command}: {}", ended.stderr);
    }
    assert_eq!(folder.files(), ["shop.db"]);
}

/// A session that only looks, with every command that does.
fn look_around(server: &mut Server) {
    assert_eq!(server.rows("SELECT count(*) FROM items"), json!([[2]]));
    for (command, arguments) in [
        ("tables", json!({})),
        ("describe", json!({ "table": "items" })),
        ("schema", json!({})),
        ("indexes", json!({})),
        ("databases", json!({})),
        ("explain", json!({ "sql": "DELETE FROM items" })),
        ("query", json!({ "sql": "PRAGMA integrity_check" })),
        ("query", json!({ "sql": "PRAGMA journal_mode" })),
        (
            "query",
            json!({ "sql": "SELECT * FROM items ORDER BY random()" }),
        ),
    ] {
        let answer = server.call(command, arguments.clone());
        assert!(!answer.refused, "{command} {arguments}: {}", answer.text);
    }
    server.refusal("query", json!({ "sql": "DELETE FROM items" }));
}

/// The bytes of the files and when they were written.
fn state(paths: &[&Path]) -> Vec<(Vec<u8>, SystemTime)> {
    let state = |path: &&Path| {
        let written = fs::metadata(path)
            .and_then(|about| about.modified())
            .expect("a time");
        (fs::read(path).expect("the file"), written)
    };
    paths.iter().map(state).collect()
}

/// Sets the time of writing to long ago, so that any write shows.
fn age(path: &Path) {
    let file = fs::File::options()
        .append(true)
        .open(path)
        .expect("the file");
    file.set_modified(SystemTime::now() - Duration::from_secs(86_400))
        .expect("a time");
}

#[test]
fn reading_leaves_bytes_and_times_as_they_were() {
    for mode in ["delete", "wal"] {
        for flags in [&[][..], &["--readonly"]] {
            let folder = Folder::new();
            let sql = format!("PRAGMA journal_mode = {mode}; {SHOP}");
            let path = folder.database("shop.db", &sql);
            age(&path);
            let before = state(&[&path]);
            assert_eq!(folder.files(), ["shop.db"]);
            let mut server = Server::ready(
                flags
                    .iter()
                    .copied()
                    .chain(["--db", path.to_str().expect("a path")]),
            );
            look_around(&mut server);
            assert_eq!(server.finish().code, Some(0));
            assert!(
                state(&[&path]) == before,
                "{mode} {flags:?}: the file was changed"
            );
            assert_eq!(folder.files(), ["shop.db"], "{mode} {flags:?}");
        }
    }
}

/// A WAL database whose folder nobody may write to, as seen by a user who is not root.
#[cfg(unix)]
#[test]
fn a_wal_file_in_a_folder_that_cannot_be_written_is_read() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;

    let folder = Folder::new();
    let path = folder.database("shop.db", &format!("PRAGMA journal_mode = wal; {SHOP}"));
    let home = folder.path("");
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions");
    };
    mode(&path, 0o444);
    mode(&home, 0o555);
    for flags in [&[][..], &["--readonly"]] {
        let mut command = sqlarium_tests::sqlarium();
        command.args(["mcp", "--db"]).arg(&path).args(flags);
        if is_root(&folder) {
            // Permissions do not hold root; nobody is held.
            command.uid(65_534).gid(65_534);
        }
        let mut server = Server::spawn(&mut command);
        server.initialize();
        look_around(&mut server);
        let command = if flags.is_empty() { "exec" } else { "query" };
        let (status, _) = server.refusal(command, json!({ "sql": "DELETE FROM items" }));
        assert_eq!(status, "readonly");
        assert_eq!(server.finish().code, Some(0));
        assert_eq!(folder.files(), ["shop.db"]);
    }
    mode(&home, 0o755);
}

/// Whether permissions mean nothing to this process.
#[cfg(unix)]
fn is_root(folder: &Folder) -> bool {
    let probe = folder.path("probe");
    let writes = fs::write(&probe, "").is_ok();
    if writes {
        fs::remove_file(probe).expect("removed");
    }
    writes
}

#[test]
fn a_wal_file_that_another_process_has_open_is_read_or_reported_busy() {
    let folder = Folder::new();
    let path = folder.database("shop.db", &format!("PRAGMA journal_mode = wal; {SHOP}"));
    // Held by this process, with a row that is in the -wal alone.
    let native = Connection::open(&path).expect("the database");
    native
        .execute_batch("INSERT INTO items VALUES (3, 'clock')")
        .expect("a row");
    let wal = folder.path("shop.db-wal");
    age(&path);
    age(&wal);
    let before = state(&[&path, &wal]);

    let mut server = Server::ready([
        "--busy-timeout",
        "300ms",
        "--db",
        path.to_str().expect("a path"),
    ]);
    let answer = server.call(
        "query",
        json!({ "sql": "SELECT count(*) FROM items", "output": "json" }),
    );
    if answer.refused {
        assert_eq!(answer.object["status"], "busy", "{}", answer.text);
        assert!(answer.text.contains("WAL"), "{}", answer.text);
    } else {
        assert_eq!(
            answer.object["rows"],
            json!([[3]]),
            "what is in the -wal counts"
        );
    }
    assert_eq!(server.finish().code, Some(0));
    assert!(state(&[&path, &wal]) == before, "the files were changed");

    native
        .execute_batch("INSERT INTO items VALUES (4, 'globe')")
        .expect("it is not disturbed");
    native.close().expect("closed");
    assert_eq!(Folder::native(&path, "SELECT count(*) FROM items"), ["4"]);
    Folder::assert_whole(&path);
}
