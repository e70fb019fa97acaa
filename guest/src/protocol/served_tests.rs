//! Only what can work is served, and nothing speaks of what is not: neither tools nor arguments, whatever the flags.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::session::Session;
use super::testing::{initialize, json as parsed, request};
use crate::host::Alone;
use crate::registry::REGISTRY;
use crate::settings::{CommandSettings, EngineSettings, ServerSettings, Undo};

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
            sql("VACUUM INTO 'served-x'"),
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
            json!({ "input": "DELETE FROM items;\n.backup served-x.db\n.nonsense\nCREATE TABLE x (a);" }),
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
            json!({ "path": "served-new.db" }),
            json!({ "file": "served-new.db" }),
            json!({ "db": "served-new.db" }),
        ],
        "sqlarium_import" => vec![
            json!({ "file": "served-items.csv", "table": "imported" }),
            json!({ "file": "served-none.csv", "table": "x" }),
        ],
        "sqlarium_export" => vec![
            json!({ "table": "items" }),
            json!({ "sql": "DELETE FROM items" }),
            json!({ "table": "items", "out": "served-out.csv" }),
            json!({ "sql": "SELECT replace(hex(zeroblob(90000)), '00', 'xy')" }),
        ],
        "sqlarium_dump" => vec![
            json!({}),
            json!({ "out": "../x" }),
            json!({ "objects": "zzz" }),
        ],
        "sqlarium_backup" => vec![
            json!({ "file": "served-copy.db" }),
            json!({ "file": "served-copy.db" }),
        ],
        "sqlarium_restore" => vec![
            json!({ "file": "served-items.csv" }),
            json!({ "file": "served-other.db" }),
            json!({ "file": "served-other.db", "overwrite": true }),
        ],
        "sqlarium_migrate" => vec![
            json!({ "source": "served-other.db", "destination": "served-moved.db" }),
            json!({ "source": "served-items.csv", "destination": "served-moved2.db" }),
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
            word.len() > "sqlarium_".len() && word.starts_with("sqlarium_")
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

/// The files of the test, in the folder that is the root natively; they go with it.
struct Files;

impl Files {
    const NAMES: [&str; 9] = [
        "x.db",
        "new.db",
        "items.csv",
        "copy.db",
        "other.db",
        "moved.db",
        "out.csv",
        "shop.db",
        "moved2.db",
    ];

    /// The files as they are at first.
    fn new() -> Self {
        let files = Self;
        files.remove();
        std::fs::write("served-items.csv", "a,b\n1,2\n").unwrap();
        for name in ["served-other.db", "served-shop.db"] {
            let connection = rusqlite::Connection::open(name).unwrap();
            connection.execute_batch(SHOP).unwrap();
        }
        files
    }

    fn remove(&self) {
        for name in Self::NAMES {
            let _ = std::fs::remove_file(format!("served-{name}"));
        }
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        self.remove();
    }
}

/// What the owner can choose.
#[derive(Clone, Copy, Debug)]
struct Flags {
    readonly: bool,
    root: bool,
    undo: bool,
    tools: &'static str,
}

impl Flags {
    fn session(self) -> Session {
        let engine = EngineSettings {
            database: PathBuf::from("served-shop.db").to_str().unwrap().into(),
            title: "shop.db".into(),
            in_memory: false,
            readonly: self.readonly,
            root: self.root,
            undo: (self.undo && !self.readonly).then(|| Undo {
                file: ":memory:".into(),
                bytes: 1 << 20,
                required: false,
            }),
            ..EngineSettings::default()
        };
        let settings = ServerSettings {
            command: CommandSettings {
                engine,
                ..CommandSettings::default()
            },
            tools: self.tools.into(),
            ..ServerSettings::default()
        };
        super::check(&REGISTRY, &settings).unwrap();
        Session::new(settings, Vec::new(), &Alone, &REGISTRY)
    }

    /// Opens a session, calls each tool in many ways, and checks what is said. Answers what worked.
    fn look(self) -> BTreeSet<String> {
        let _files = Files::new();
        let mut session = self.session();
        let mut ask = |line: String| session.answer(line.as_bytes()).expect("an answer");
        let hello = ask(initialize("2025-11-25"));
        let list = ask(request("1", "tools/list", "{}"));
        let tools = parsed(&list)["result"]["tools"].as_array().unwrap().clone();
        let served: BTreeSet<String> = tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect();
        let properties: BTreeSet<String> = tools
            .iter()
            .flat_map(|tool| {
                tool["inputSchema"]["properties"]
                    .as_object()
                    .unwrap()
                    .keys()
                    .cloned()
            })
            .collect();
        let mut problems = Vec::new();
        let mut asked = String::new();
        let mut check = |said: &str, on: &str| {
            // What was asked may be said again, and `history` repeats what was asked before.
            asked.push_str(on);
            let before = if on.contains("history") { &asked } else { on };
            for word in named(said).difference(&named(before)) {
                if !served.contains(word) && !properties.contains(word) {
                    problems.push(format!("{on} is told of {word}: {said:.300}"));
                }
            }
        };
        check(&hello, "initialize");
        check(&list, "tools/list");
        for argument in ["out", "overwrite", "db"] {
            let files = self.root && (argument == "db" || !self.readonly);
            assert!(
                files || !properties.contains(argument),
                "{argument} {self:?}"
            );
        }
        let mut never = Vec::new();
        for tool in &served {
            let mut works = false;
            for arguments in calls(tool) {
                for output in ["text", "json"] {
                    let mut arguments = arguments.clone();
                    arguments["output"] = output.into();
                    let params = json!({ "name": tool, "arguments": arguments });
                    let reply = ask(request("2", "tools/call", &params.to_string()));
                    works |= parsed(&reply)["result"]["isError"] == false;
                    check(&reply, &params.to_string());
                }
            }
            if !works {
                never.push(tool.clone());
            }
        }
        check(
            &ask(request("3", "tools/call", r#"{"name":"nonsense"}"#)),
            "an unknown tool",
        );
        assert!(
            problems.is_empty() && never.is_empty(),
            "{self:?}: {problems:#?}; never works: {never:?}"
        );
        served
    }
}

#[test]
fn whatever_the_flags_what_is_served_works_and_nothing_else_is_spoken_of() {
    let mut worked = BTreeSet::new();
    for (readonly, root, undo) in (0..8).map(|bits| (bits & 1 > 0, bits & 2 > 0, bits & 4 > 0)) {
        for tools in [
            "all",
            "core",
            "select",
            "query",
            "tables,describe",
            "help,version",
            "run,search",
            "dump,export",
        ] {
            if undo && !["all", "core"].contains(&tools) {
                continue;
            }
            let flags = Flags {
                readonly,
                root,
                undo,
                tools,
            };
            worked.extend(flags.look());
        }
        if !readonly {
            worked.extend(
                Flags {
                    readonly,
                    root,
                    undo,
                    tools: "exec",
                }
                .look(),
            );
        }
    }
    assert_eq!(
        worked.len(),
        REGISTRY.commands.len() + REGISTRY.select.len()
    );
}

#[test]
fn a_tool_that_is_not_served_is_refused_with_the_flag_that_decided_it() {
    let all = Flags {
        readonly: false,
        root: false,
        undo: true,
        tools: "all",
    };
    for (flags, tool, why) in [
        (
            Flags {
                readonly: true,
                ..all
            },
            "sqlarium_exec",
            "is not served with --readonly.",
        ),
        (
            all,
            "sqlarium_backup",
            "is not served without --root, below which it finds files.",
        ),
        (
            Flags { undo: false, ..all },
            "sqlarium_undo",
            "is not served with --no-undo",
        ),
        (
            Flags {
                tools: "query",
                ..all
            },
            "sqlarium_exec",
            "is not served with these --tools.",
        ),
    ] {
        let mut session = flags.session();
        session.answer(initialize("2025-11-25").as_bytes());
        let line = request("1", "tools/call", &json!({ "name": tool }).to_string());
        let reply = parsed(&session.answer(line.as_bytes()).unwrap());
        assert_eq!(reply["error"]["code"], -32602, "{reply}");
        let message = reply["error"]["message"].as_str().unwrap();
        assert!(message.contains(why), "{message}");
    }
}

#[test]
fn naming_a_tool_that_cannot_work_is_refused_at_the_start() {
    let settings = |tools: &str, readonly| {
        let mut settings = ServerSettings {
            tools: tools.into(),
            ..ServerSettings::default()
        };
        settings.command.engine.readonly = readonly;
        super::check(&REGISTRY, &settings)
    };
    assert_eq!(
        settings("query,exec", true).unwrap_err(),
        "--tools: exec is not served with --readonly."
    );
    assert_eq!(
        settings("create", false).unwrap_err(),
        "--tools: create is not served without --root, below which it finds files."
    );
    assert_eq!(settings("core,dump", true), Ok(()));
}
