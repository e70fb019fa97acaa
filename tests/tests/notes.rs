//! The owner's notes on tables and columns: where they show, and what is said of a file that is wrong.

use std::fs;
use std::path::PathBuf;

use serde_json::json;
use sqlarium_tests::{Folder, Server, run};

const NOTES: &str = "
    [tables.orders]
    note = 'One for each sale.'
    [tables.orders.columns]
    st = 'o: open, p: paid'";

fn shop(notes: &str) -> (Folder, [String; 4]) {
    let folder = Folder::new();
    let file = folder.path("notes.toml");
    fs::write(&file, notes).expect("the notes");
    let sql =
        "CREATE TABLE orders(id INTEGER PRIMARY KEY, st TEXT); INSERT INTO orders VALUES(1, 'o')";
    let text = |path: PathBuf| path.to_str().expect("a path").to_owned();
    let database = text(folder.database("shop.db", sql));
    let flags = ["--db".into(), database, "--notes".into(), text(file)];
    (folder, flags)
}

#[test]
fn notes_are_shown_beside_tables_and_columns_to_agents_and_on_the_command_line() {
    let (_folder, flags) = shop(NOTES);
    let mut server = Server::ready(&flags);
    assert!(
        server
            .call("tables", json!({}))
            .text
            .contains("One for each sale.")
    );
    let answer = server.call("describe", json!({ "table": "orders", "output": "json" }));
    assert_eq!(answer.object["note"], "One for each sale.");
    assert_eq!(answer.object["rows"][1][5], "o: open, p: paid");

    for (command, part) in [
        (vec!["tables"], "One for each sale."),
        (vec!["describe", "orders"], "o: open, p: paid"),
    ] {
        let finished = run(command
            .iter()
            .copied()
            .chain(flags.iter().map(String::as_str)));
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        assert!(finished.stdout.contains(part), "{}", finished.stdout);
    }
}

#[test]
fn the_toolset_that_only_looks_has_them_too() {
    let (_folder, flags) = shop(NOTES);
    let mut flags = flags.to_vec();
    flags.extend(["--tools".into(), "select".into()]);
    let mut server = Server::ready(&flags);
    for (tool, arguments, part) in [
        ("list_tables", json!({}), "One for each sale."),
        (
            "describe_table",
            json!({ "table": "orders" }),
            "o: open, p: paid",
        ),
    ] {
        let reply = server.ask(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        );
        let text = reply["result"]["content"][0]["text"]
            .as_str()
            .expect("a text");
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn notes_are_no_part_of_the_tools_or_of_the_instructions() {
    let (_folder, with) = shop(NOTES);
    let without = with[..2].to_vec();
    let hello = |flags: &[String]| {
        let mut server = Server::start(flags);
        let hello = server.initialize()["result"].clone();
        let tools = server.ask("tools/list", json!({}))["result"].clone();
        (hello, tools)
    };
    assert_eq!(hello(&with), hello(&without));
}

#[test]
fn a_file_that_cannot_be_read_is_a_sentence_at_the_start() {
    for (notes, part) in [
        (
            "[tables.orders]\nst = 'x'",
            "--notes: line 2: unknown field `st`",
        ),
        ("# Orders\n- st: state", "--notes: line 2: "),
        (&"#".repeat((1 << 20) + 1), "longer than 1048576 bytes"),
    ] {
        let (_folder, flags) = shop(notes);
        for command in ["mcp", "tables"] {
            let finished = run([command]
                .into_iter()
                .chain(flags.iter().map(String::as_str)));
            assert_ne!(finished.code, Some(0));
            assert!(finished.stderr.contains(part), "{}", finished.stderr);
        }
    }
    let (folder, flags) = shop(NOTES);
    fs::remove_file(folder.path("notes.toml")).expect("the notes");
    let finished = run(["mcp"].into_iter().chain(flags.iter().map(String::as_str)));
    assert!(
        finished.stderr.contains("cannot read the notes in"),
        "{}",
        finished.stderr
    );
}

#[test]
fn a_note_on_a_missing_object_is_reported_to_the_owner() {
    let (_folder, flags) = shop("[tables.ordres]\nnote = 'x'");
    let mut server = Server::ready(&flags);
    server.assert_well();
    let ended = server.finish();
    assert!(
        ended
            .stderr
            .contains("a note on the table ordres, which does not exist; did you mean orders?"),
        "{}",
        ended.stderr
    );
}
