//! Dry runs, the record of a session's writes, and taking the last of them back.

use std::path::Path;

use serde_json::{Value, json};
use sqlarium_tests::{Folder, ONE_FUNCTION, Server, run};

const SHOP: &str = "
    CREATE TABLE items(id INTEGER PRIMARY KEY, name TEXT);
    INSERT INTO items VALUES(1, 'lamp'), (2, 'pen');
    CREATE TABLE log(what);
    CREATE TRIGGER logged AFTER DELETE ON items BEGIN INSERT INTO log VALUES(old.name); END;";

fn names(path: &Path) -> Vec<String> {
    Folder::native(
        path,
        "SELECT name FROM items UNION ALL SELECT what FROM log",
    )
}

fn exec(server: &mut Server, sql: &str) {
    let answer = server.call("exec", json!({ "sql": sql }));
    assert!(!answer.refused, "{sql}: {}", answer.text);
}

fn history(server: &mut Server) -> Vec<Value> {
    let answer = server.call("history", json!({ "output": "json" }));
    answer.object["rows"].as_array().expect("rows").clone()
}

fn undo(server: &mut Server) -> String {
    let answer = server.call("undo", json!({}));
    assert!(!answer.refused, "{}", answer.text);
    answer.text
}

#[test]
fn a_dry_run_reports_what_would_change_and_leaves_the_file_unchanged() {
    let folder = Folder::new();
    let path = folder.database("shop.db", SHOP);
    let before = std::fs::read(&path).expect("the file");
    let mut server = Server::ready([&path]);
    let answer = server.call(
        "exec",
        json!({ "sql": "DELETE FROM items", "dry_run": true }),
    );
    assert_eq!(
        answer.text,
        "Dry run: everything was rolled back.\nThe SQL would change:\n  items: 2 rows deleted\n  log: 2 rows inserted\n\
         2 rows changed.\nChanged: all 2 rows of items (no WHERE).\nBy triggers: log: 2 rows inserted.\n"
    );
    let sql = "DROP TABLE log; CREATE TABLE fresh(a); INSERT INTO items VALUES(3, 'ink')";
    let answer = server.call(
        "batch",
        json!({ "sql": sql, "dry_run": true, "output": "json" }),
    );
    assert_eq!(answer.object["dry_run"], true);
    assert_eq!(
        answer.object["would_change_schema"]
            .as_array()
            .expect("objects")
            .len(),
        2
    );
    drop(server);
    assert_eq!(std::fs::read(&path).expect("the file"), before);
    assert_eq!(folder.files(), ["shop.db"]);
}

#[test]
fn the_last_write_is_undone_on_disk_with_the_changes_of_its_triggers() {
    let folder = Folder::new();
    let path = folder.database("shop.db", SHOP);
    let mut server = Server::ready([&path]);
    exec(&mut server, "DELETE FROM items WHERE id = 1");
    server.batch("CREATE TABLE more(a); INSERT INTO more VALUES(1); DROP TABLE log");
    let rows = history(&mut server);
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[1][3], "items: 1 row deleted; log: 1 row inserted");
    assert!(undo(&mut server).contains("Write 2 (batch"));
    assert_eq!(names(&path), ["pen", "lamp"]);
    undo(&mut server);
    assert_eq!(names(&path), ["lamp", "pen"]);
    assert_eq!(server.refusal("undo", json!({})).0, "invalid_state");
    let rows = history(&mut server);
    let state = |row: usize| rows[row][4].as_str().expect("a state");
    assert!(
        state(0).starts_with("refused, invalid_state"),
        "{}",
        state(0)
    );
    assert_eq!([state(1), state(2)], ["undone", "undone"]);
    Folder::assert_whole(&path);
    // The record is no file in the owner's folder.
    assert_eq!(folder.files(), ["shop.db"]);
}

#[test]
fn the_record_survives_an_aborted_instance() {
    let folder = Folder::new();
    let path = folder.database("shop.db", SHOP);
    for database in [path.to_str().expect("a path"), ":memory:"] {
        let mut server = Server::ready(["--db", database, "--timeout", "700ms"]);
        if database == ":memory:" {
            server.batch(SHOP);
        }
        exec(&mut server, "UPDATE items SET name = 'other'");
        assert_eq!(
            server.refusal("query", json!({ "sql": ONE_FUNCTION })).0,
            "interrupted"
        );
        // And once more, in the middle of a write.
        let sql = format!("INSERT INTO log {ONE_FUNCTION}");
        assert_eq!(
            server.refusal("exec", json!({ "sql": sql })).0,
            "interrupted"
        );
        assert_eq!(history(&mut server)[0][3], "items: 2 rows updated");
        undo(&mut server);
        assert_eq!(
            server.rows("SELECT name FROM items"),
            json!([["lamp"], ["pen"]])
        );
    }
}

#[test]
fn lines_of_the_shell_and_statistics_are_writes_like_others() {
    let folder = Folder::new();
    let path = folder.database("shop.db", SHOP);
    let mut server = Server::ready([&path]);
    exec(&mut server, "INSERT INTO items VALUES(3, 'ink')");
    let input = "INSERT INTO items VALUES(4, 'cup');\nBEGIN;\nDELETE FROM items WHERE id = 1;\nDROP TABLE log;\nCOMMIT;";
    let answer = server.call("run", json!({ "input": input }));
    assert!(!answer.refused, "{}", answer.text);
    server.call("analyze", json!({}));
    assert_eq!(history(&mut server).len(), 4);
    undo(&mut server);
    undo(&mut server);
    assert_eq!(names(&path), ["lamp", "pen", "ink", "cup"]);
    undo(&mut server);
    assert_eq!(names(&path), ["lamp", "pen", "ink"]);
    undo(&mut server);
    assert_eq!(names(&path), ["lamp", "pen"]);
    Folder::assert_whole(&path);
}

#[test]
fn an_import_is_undone_too_and_an_irreversible_write_says_so() {
    let folder = Folder::new();
    let path = folder.database("shop.db", SHOP);
    std::fs::write(folder.path("more.csv"), "id,name\n3,ink\n").expect("a file");
    let root = path.parent().expect("a folder");
    let root = root.to_str().expect("a path");
    let file = path.to_str().expect("a path");
    let mut server = Server::ready(["--db", file, "--root", root]);
    let answer = server.call("import", json!({ "file": "more.csv", "table": "items" }));
    assert!(!answer.refused, "{}", answer.text);
    assert_eq!(names(&path), ["lamp", "pen", "ink"]);
    undo(&mut server);
    assert_eq!(names(&path), ["lamp", "pen"]);
    let answer = server.call("exec", json!({ "sql": "PRAGMA journal_mode = wal" }));
    assert!(
        answer.text.starts_with("Write 2 cannot be undone"),
        "{}",
        answer.text
    );
    assert_eq!(server.refusal("undo", json!({})).0, "invalid_state");
}

#[test]
fn writes_to_a_log_are_undone_and_the_log_does_not_grow_for_ever() {
    let folder = Folder::new();
    let path = folder.database("shop.db", &format!("PRAGMA journal_mode = wal; {SHOP}"));
    let mut server = Server::ready([&path]);
    for _ in 0..30 {
        exec(&mut server, "INSERT INTO log VALUES(randomblob(200000))");
    }
    let log = std::fs::metadata(folder.path("shop.db-wal")).expect("a log");
    assert!(log.len() < 10_000_000, "{}", log.len());
    exec(&mut server, "DELETE FROM items");
    assert_eq!(Folder::native(&path, "SELECT count(*) FROM items"), ["0"]);
    server.call("checkpoint", json!({}));
    for _ in 0..31 {
        undo(&mut server);
    }
    assert_eq!(names(&path), ["lamp", "pen"]);
    Folder::assert_whole(&path);
}

#[test]
fn changes_by_another_process_conflict_and_stay() {
    let folder = Folder::new();
    let path = folder.database("shop.db", SHOP);
    let mut server = Server::ready([&path]);
    exec(&mut server, "UPDATE items SET name = 'mine' WHERE id = 1");
    Folder::native(
        &path,
        "UPDATE items SET name = 'theirs' WHERE id = 1 RETURNING 1",
    );
    let (status, sentences) = server.refusal("undo", json!({}));
    assert_eq!(status, "invalid_state");
    assert!(
        sentences.contains("the database was written to since, by another connection"),
        "{sentences}"
    );
    assert!(!sentences.contains("theirs"), "{sentences}");
    assert_eq!(names(&path), ["theirs", "pen"]);
    server.assert_well();
}

#[test]
fn undo_is_served_unless_nothing_is_recorded_and_history_always() {
    let tools = |flags: &[&str]| {
        let list = Server::ready(flags).ask("tools/list", json!({}));
        list["result"]["tools"].to_string()
    };
    for (flags, served) in [
        (vec![], true),
        (vec!["--undo"], true),
        (vec!["--undo", "required"], true),
        (vec!["--undo=required"], true),
        (vec!["--tools", "core"], true),
        (vec!["--no-undo"], false),
        (vec!["--readonly"], false),
        (vec!["--undo", "--readonly"], false),
    ] {
        let tools = tools(&flags);
        assert_eq!(tools.contains("sqlarium_undo"), served, "{flags:?}");
        assert!(tools.contains("sqlarium_history"), "{flags:?}");
    }
    for (flags, part) in [
        (vec!["mcp", "--undo", "--no-undo"], "cannot be used with"),
        (vec!["mcp", "--undo=never"], "invalid value"),
        (
            vec!["mcp", "--no-undo", "--tools", "query,undo"],
            "--tools: undo is not served with --no-undo",
        ),
    ] {
        let finished = run(flags);
        assert_eq!(finished.code, Some(2));
        assert!(finished.stderr.contains(part), "{}", finished.stderr);
    }
}

#[test]
fn the_file_behind_the_flag_is_the_database() {
    let folder = Folder::new();
    let path = folder.database("shop.db", SHOP);
    let mut server = Server::ready(["--undo", path.to_str().expect("a path")]);
    exec(&mut server, "DELETE FROM items");
    assert_eq!(Folder::native(&path, "SELECT count(*) FROM items"), ["0"]);
}

#[test]
fn nothing_is_recorded_where_nothing_can_be_undone() {
    for flags in [["--no-undo", "--tools=all"], ["--tools", "exec,query"]] {
        let mut server = Server::ready(flags);
        let answer = server.call("exec", json!({ "sql": "CREATE TABLE t(a)" }));
        assert_eq!(answer.text, "Done.\n", "{flags:?}");
    }
}

#[test]
fn each_write_tells_its_number_and_can_be_undone_by_it() {
    let folder = Folder::new();
    let path = folder.database("shop.db", SHOP);
    let mut server = Server::ready([&path]);
    let answer = server.call(
        "exec",
        json!({ "sql": "DELETE FROM items WHERE id = 1", "output": "json" }),
    );
    assert_eq!(answer.object["write"], 1);
    let lines = "INSERT INTO items VALUES(3, 'ink'); INSERT INTO items VALUES(4, 'cup');";
    let answer = server.call("run", json!({ "input": lines }));
    assert!(
        answer.text.contains("Recorded as writes 2 to 3."),
        "{}",
        answer.text
    );
    let (status, sentences) = server.refusal("undo", json!({ "write": 1 }));
    assert_eq!(status, "invalid_state");
    assert!(sentences.contains("Write 3 (run, "), "{sentences}");
    assert!(sentences.contains("Undo write 3 first."), "{sentences}");
    for write in [3, 2, 1] {
        let answer = server.call("undo", json!({ "write": write }));
        assert!(
            answer.text.starts_with(&format!("Write {write} (")),
            "{}",
            answer.text
        );
    }
    assert_eq!(names(&path), ["lamp", "pen"]);
}

#[test]
fn the_command_line_explains_where_the_history_is() {
    let folder = Folder::new();
    let path = folder.database("shop.db", SHOP);
    for command in ["undo", "history"] {
        let finished = run([command, path.to_str().expect("a path")]);
        assert_eq!(finished.code, Some(1));
        assert!(
            finished.stderr.contains("only a server (sqlarium mcp)"),
            "{}",
            finished.stderr
        );
    }
}

#[test]
fn the_record_counts_against_the_disk_budget_and_drops_its_oldest() {
    let mut server = Server::ready(["--disk", "4M"]);
    server.batch("CREATE TABLE t(a); INSERT INTO t VALUES(zeroblob(300000))");
    let mut said = false;
    for _ in 0..6 {
        let answer = server.call(
            "exec",
            json!({ "sql": "UPDATE t SET a = randomblob(300000)" }),
        );
        assert!(!answer.refused, "{}", answer.text);
        said |= answer.text.contains("oldest writes were dropped");
    }
    assert!(said);
    assert_eq!(history(&mut server).len(), 3);
}

#[test]
fn without_undo_history_remembers_writes_and_refusals_also_after_an_abort() {
    let mut server = Server::ready(["--no-undo", "--timeout", "500ms"]);
    server.call("exec", json!({ "sql": "CREATE TABLE t(a UNIQUE)" }));
    server.call("exec", json!({ "sql": "INSERT INTO t VALUES (1), (2)" }));
    server.call("exec", json!({ "sql": "INSERT INTO t VALUES (2)" }));
    // One function of SQLite that asks nobody: its instance is aborted.
    server.call("query", json!({ "sql": sqlarium_tests::ONE_FUNCTION }));
    let told: Vec<String> = history(&mut server)
        .iter()
        .map(|row| format!("{} {} {}", row[2], row[3], row[4]))
        .collect();
    assert_eq!(told.len(), 4, "{told:#?}");
    assert!(
        told[0].starts_with("\"query\" \"\" \"refused, interrupted: "),
        "{told:#?}"
    );
    assert!(
        told[1].starts_with("\"exec\" \"\" \"refused, constraint: "),
        "{told:#?}"
    );
    assert_eq!(told[2], "\"exec\" \"2 rows changed\" \"done\"");
    assert_eq!(told[3], "\"exec\" \"schema changed\" \"done\"");
}
