//! Only what can work is served, and nothing speaks of what is not.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sqlarium_tests::{Folder, Server};

const SHOP: &str = "
    CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, price REAL);
    INSERT INTO items VALUES (1, 'lamp', 49.0), (2, 'pen', NULL);
    CREATE VIRTUAL TABLE notes USING fts5(body); INSERT INTO notes VALUES ('a lamp');
    CREATE TABLE vectors (v); INSERT INTO vectors VALUES ('[1, 2]');";

/// For each tool calls of which one at least works wherever the tool is served, and others that go wrong in many ways.
fn calls(tool: &str) -> Vec<Value> {
    let sql = |sql: &str| json!({ "sql": sql });
    let mut calls = match tool {
        "sqlarium_query" => vec![
            sql("SELECT 1"),
            sql("DELETE FROM items"),
            sql("SELECT ?1, ?2"),
            sql("BEGIN"),
            sql("VACUUM INTO 'x'"),
            sql("ATTACH 'x' AS y"),
            sql("SELECT 1; SELECT 2"),
            sql("SELECT nmae FROM items"),
            sql("SELECT * FROM itmes"),
            sql("PRAGMA journal_mode = WAL"),
            sql("PRAGMA writable_schema = 1"),
            sql("SELEC"),
            sql("SELECT 1 \0"),
            sql(".tables"),
            sql(
                "SELECT replace(hex(zeroblob(30000)), '00', 'x') AS long FROM generate_series(1, 90)",
            ),
            sql("WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"),
            json!({ "sql": "SELECT 1", "params": [1] }),
            json!({ "sql": "SELECT 1", "params": 5 }),
        ],
        "sqlarium_exec" => vec![
            sql("UPDATE items SET price = 5 WHERE id = 1"),
            sql("SELECT 1"),
            sql("INSERT INTO items VALUES (1, 'x', 0)"),
            sql("COMMIT"),
            sql("DELETE FROM items; DELETE FROM items"),
            sql("ATTACH 'x' AS y"),
            json!({ "sql": "VACUUM", "dry_run": true }),
            json!({ "sql": "PRAGMA journal_mode = WAL", "dry_run": true }),
        ],
        "sqlarium_batch" => vec![
            sql("SELECT 1; SELECT 2"),
            sql("BEGIN; SELECT 1"),
            sql("VACUUM"),
            sql("SELECT ?1"),
            sql("PRAGMA journal_mode = WAL"),
        ],
        "sqlarium_run" => vec![
            json!({ "input": "SELECT 1;\n.tables" }),
            json!({ "input": "DELETE FROM items;\n.backup x.db\n.nonsense\nCREATE TABLE x (a);" }),
        ],
        "sqlarium_undo" => vec![json!({}), json!({ "write": 99 })],
        "sqlarium_describe" | "describe_table" => {
            vec![json!({ "table": "items" }), json!({ "table": "itmes" })]
        }
        "sqlarium_schema" => vec![json!({}), json!({ "pattern": "zzz" })],
        "sqlarium_explain" => vec![sql("SELECT * FROM items"), sql("SELECT * FROM itmes")],
        "sqlarium_search" => vec![
            json!({ "query": "lamp" }),
            json!({ "query": "x", "table": "items" }),
            json!({ "query": "\"" }),
        ],
        "sqlarium_index_text" => vec![
            json!({ "table": "items" }),
            json!({ "table": "items" }),
            json!({ "table": "itmes" }),
        ],
        "sqlarium_vector_search" => vec![
            json!({ "table": "vectors", "column": "v", "vector": [1, 2] }),
            json!({ "table": "vectors", "column": "w", "vector": [1, 2] }),
        ],
        "sqlarium_create" => vec![
            json!({ "path": "new.db" }),
            json!({ "file": "new.db" }),
            json!({ "db": "new.db" }),
        ],
        "sqlarium_import" => vec![
            json!({ "file": "items.csv", "table": "imported" }),
            json!({ "file": "none.csv", "table": "x" }),
        ],
        "sqlarium_export" => vec![
            json!({ "table": "items" }),
            json!({ "sql": "DELETE FROM items" }),
            json!({ "table": "items", "out": "items.csv" }),
            json!({ "sql": "SELECT replace(hex(zeroblob(90000)), '00', 'xy')" }),
        ],
        "sqlarium_dump" => vec![
            json!({}),
            json!({ "out": "../x" }),
            json!({ "objects": "zzz" }),
        ],
        "sqlarium_backup" => vec![json!({ "file": "copy.db" }), json!({ "file": "copy.db" })],
        "sqlarium_restore" => vec![
            json!({ "file": "items.csv" }),
            json!({ "file": "other.db" }),
            json!({ "file": "other.db", "overwrite": true }),
        ],
        "sqlarium_migrate" => vec![
            json!({ "source": "other.db", "destination": "moved.db" }),
            json!({ "source": "items.csv", "destination": "moved2.db" }),
        ],
        "sqlarium_help" => vec![
            json!({}),
            json!({ "topic": "query" }),
            json!({ "markdown": true }),
            json!({ "topic": "exec" }),
        ],
        "run_select" => vec![sql("SELECT 1"), sql("DELETE FROM items"), sql("SELECT ?1")],
        _ => vec![json!({})],
    };
    calls
        .push(json!({ "nonsense": 1, "out": "x", "overwrite": true, "db": "y.db", "params": [1] }));
    calls
}

/// Words that mean a tool, or an argument that is not always served, and nothing else.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-');
    words
        .filter(|word| {
            word.starts_with("sqlarium_")
                || [
                    "exec",
                    "index-text",
                    "integrity-check",
                    "dry_run",
                    "run_select",
                ]
                .contains(word)
        })
        .map(|word| match word {
            "dry_run" | "run_select" => word.to_owned(),
            word if word.starts_with("sqlarium_") => word.to_owned(),
            word => format!("sqlarium_{}", word.replace('-', "_")),
        })
        .collect()
}

#[test]
fn whatever_the_flags_what_is_served_works_and_nothing_else_is_spoken_of() {
    let folder = Folder::new();
    let mut worked: BTreeSet<String> = BTreeSet::new();
    for readonly in [false, true] {
        for root in [false, true] {
            for undo in [false, true] {
                for tools in [
                    "all",
                    "core",
                    "select",
                    "query",
                    "tables,describe",
                    "help,version",
                    "exec",
                    "run,search",
                    "dump,export",
                    "query,batch",
                ] {
                    let path = folder.path("root");
                    let _ = std::fs::remove_dir_all(&path);
                    std::fs::create_dir(&path).expect("a folder");
                    std::fs::write(path.join("items.csv"), "a,b\n1,2\n").expect("a file");
                    folder.database("root/other.db", SHOP);
                    folder.database("root/shop.db", SHOP);
                    let db = path.join("shop.db");
                    let db = db.to_str().expect("a path");
                    let mut flags = vec!["--db", db, "--tools", tools, "--timeout", "300ms"];
                    flags.extend(readonly.then_some("--readonly"));
                    flags.extend((!undo).then_some("--no-undo"));
                    if root {
                        flags.extend(["--root", path.to_str().expect("a path")]);
                    }
                    if readonly && tools == "exec" {
                        // Nothing would be left.
                        let ended = Server::start(&flags).finish();
                        assert_eq!(ended.code, Some(2));
                        assert!(
                            ended.stderr.contains("exec is not served with --readonly"),
                            "{}",
                            ended.stderr
                        );
                        continue;
                    }
                    look(&flags, &mut worked);
                }
            }
        }
    }
    assert!(worked.len() > 30, "{worked:?}");
}

/// Opens a session, calls each tool in many ways, and checks what is said.
fn look(flags: &[&str], worked: &mut BTreeSet<String>) {
    if flags.contains(&"--readonly") && flags.contains(&"query,batch") {
        return;
    }
    let mut server = Server::start(flags);
    let hello = server.initialize();
    let list = server.ask("tools/list", json!({}));
    let tools = list["result"]["tools"].as_array().expect("tools").clone();
    let served: BTreeSet<String> = tools
        .iter()
        .map(|tool| tool["name"].as_str().expect("a name").to_owned())
        .collect();
    let properties: BTreeSet<String> = tools
        .iter()
        .flat_map(|tool| {
            tool["inputSchema"]["properties"]
                .as_object()
                .expect("properties")
                .keys()
                .cloned()
        })
        .collect();
    let check = |said: &str, on: &str| {
        for word in named(said) {
            let there = served.contains(&word) || properties.contains(&word);
            assert!(
                there,
                "{word} is not served with {flags:?}, but {on} speaks of it: {said}"
            );
        }
    };
    check(&hello.to_string(), "initialize");
    check(&list.to_string(), "tools/list");
    for argument in ["out", "overwrite", "db"] {
        let files =
            flags.contains(&"--root") && (argument == "db" || !flags.contains(&"--readonly"));
        assert!(
            files || !properties.contains(argument),
            "{argument} {flags:?}"
        );
    }
    for tool in &served {
        let mut works = false;
        for arguments in calls(tool) {
            for output in ["text", "json"] {
                let mut arguments = arguments.clone();
                arguments["output"] = output.into();
                let reply = server.ask(
                    "tools/call",
                    json!({ "name": tool, "arguments": arguments }),
                );
                works |= reply["result"]["isError"] == false;
                check(&reply.to_string(), &format!("{tool} {arguments}"));
            }
        }
        assert!(works, "{tool} never works with {flags:?}");
        worked.insert(tool.clone());
    }
    let reply = server.ask("tools/call", json!({ "name": "nonsense", "arguments": {} }));
    check(&reply.to_string(), "an unknown tool");
    assert_eq!(server.finish().code, Some(0));
}

#[test]
fn a_tool_that_is_not_served_is_refused_with_the_flag_that_decided_it() {
    for (flags, tool, why) in [
        (
            vec!["--readonly"],
            "sqlarium_exec",
            "is not served with --readonly.",
        ),
        (
            vec![],
            "sqlarium_backup",
            "is not served without --root, below which it finds files.",
        ),
        (
            vec!["--no-undo"],
            "sqlarium_undo",
            "is not served with --no-undo",
        ),
        (
            vec!["--tools", "query"],
            "sqlarium_exec",
            "is not served with these --tools.",
        ),
    ] {
        let mut server = Server::ready(&flags);
        let reply = server.ask("tools/call", json!({ "name": tool, "arguments": {} }));
        assert_eq!(reply["error"]["code"], -32602, "{reply}");
        let message = reply["error"]["message"].as_str().expect("a sentence");
        assert!(message.contains(why), "{message}");
    }
}
