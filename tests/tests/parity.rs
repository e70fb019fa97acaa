//! One table of commands: the command line gets what an agent gets.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use sqlarium_tests::{Folder, Server, run, sqlarium};

const SHOP: &str = "
    CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price REAL);
    INSERT INTO items VALUES (1, 'lamp', 49.0), (2, 'pen', NULL), (9007199254740993, '', 1e999);
    CREATE INDEX by_name ON items (name);
    CREATE VIRTUAL TABLE notes USING fts5(body);
    INSERT INTO notes VALUES ('a well-read book'), ('read it again');
    CREATE TABLE vectors (v); INSERT INTO vectors VALUES ('[1, 2]'), (x'0000803f00000040'), (NULL);";

/// Commands that only the command line has.
const FOR_PEOPLE: [&str; 6] = ["mcp", "shell", "demo", "config", "threads", "completions"];

/// One command, its arguments on the command line after FILE, and the same as JSON.
fn calls() -> Vec<(&'static str, Vec<&'static str>, Value)> {
    let sql = "SELECT * FROM items WHERE id >= ?1 ORDER BY id";
    vec![
        (
            "query",
            vec![sql, "--params", "[1]"],
            json!({ "sql": sql, "params": [1] }),
        ),
        (
            "query",
            vec!["SELECT * FROM items", "--limit", "1"],
            json!({ "sql": "SELECT * FROM items", "limit": 1 }),
        ),
        (
            "query",
            vec!["SELECT :n || 'x'", "--params", r#"{"n": "a"}"#],
            json!({ "sql": "SELECT :n || 'x'", "params": { "n": "a" } }),
        ),
        (
            "query",
            vec!["SELECT * FROM nowhere"],
            json!({ "sql": "SELECT * FROM nowhere" }),
        ),
        (
            "query",
            vec!["DELETE FROM items"],
            json!({ "sql": "DELETE FROM items" }),
        ),
        (
            "exec",
            vec!["INSERT INTO items VALUES (1, 'x', 0)"],
            json!({ "sql": "INSERT INTO items VALUES (1, 'x', 0)" }),
        ),
        (
            "exec",
            vec!["UPDATE items SET price = 2 WHERE id = 2"],
            json!({ "sql": "UPDATE items SET price = 2 WHERE id = 2" }),
        ),
        (
            "exec",
            vec!["UPDATE items SET price = 2", "--dry-run"],
            json!({ "sql": "UPDATE items SET price = 2", "dry_run": true }),
        ),
        (
            "batch",
            vec!["DELETE FROM items; CREATE TABLE u (a)", "--dry-run"],
            json!({ "sql": "DELETE FROM items; CREATE TABLE u (a)", "dry_run": true }),
        ),
        (
            "vector-search",
            vec!["vectors", "v", "[0.5, 1]", "--measure", "l2"],
            json!({ "table": "vectors", "column": "v", "vector": [0.5, 1], "measure": "l2" }),
        ),
        (
            "batch",
            vec!["CREATE TABLE u (a); DROP TABLE u;"],
            json!({ "sql": "CREATE TABLE u (a); DROP TABLE u;" }),
        ),
        (
            "run",
            vec![".mode json\nSELECT id, name FROM items;\n.tables"],
            json!({ "input": ".mode json\nSELECT id, name FROM items;\n.tables" }),
        ),
        ("tables", vec![], json!({})),
        ("tables", vec!["none%"], json!({ "pattern": "none%" })),
        ("describe", vec!["items"], json!({ "table": "items" })),
        ("describe", vec!["itmes"], json!({ "table": "itmes" })),
        ("schema", vec!["--indent"], json!({ "indent": true })),
        ("indexes", vec![], json!({})),
        (
            "explain",
            vec!["SELECT * FROM items WHERE name = 'pen'"],
            json!({ "sql": "SELECT * FROM items WHERE name = 'pen'" }),
        ),
        ("functions", vec!["upp*"], json!({ "pattern": "upp*" })),
        ("databases", vec![], json!({})),
        ("index-text", vec!["items"], json!({ "table": "items" })),
        (
            "index-text",
            vec!["items", "--columns", "nmae"],
            json!({ "table": "items", "columns": "nmae" }),
        ),
        ("search", vec!["lamp"], json!({ "query": "lamp" })),
        (
            "search",
            vec!["well-read", "notes", "--k", "1"],
            json!({ "query": "well-read", "table": "notes", "k": 1 }),
        ),
        (
            "search",
            vec!["read", "--full"],
            json!({ "query": "read", "full": true }),
        ),
        (
            "export",
            vec!["items", "--format", "json"],
            json!({ "table": "items", "format": "json" }),
        ),
        (
            "export",
            vec!["--sql", "DELETE FROM items RETURNING id"],
            json!({ "sql": "DELETE FROM items RETURNING id" }),
        ),
        ("dump", vec![], json!({})),
        (
            "dump",
            vec!["items", "--data-only"],
            json!({ "objects": "items", "data_only": true }),
        ),
        ("checkpoint", vec![], json!({})),
        (
            "integrity-check",
            vec!["items", "--quick"],
            json!({ "table": "items", "quick": true }),
        ),
        ("integrity-check", vec![], json!({})),
        ("analyze", vec![], json!({})),
        ("stats", vec!["--full"], json!({ "full": true })),
        ("capabilities", vec!["fts5"], json!({ "name": "fts5" })),
        ("version", vec![], json!({})),
        ("help", vec!["query"], json!({ "topic": "query" })),
        ("create", vec!["other.db"], json!({ "path": "other.db" })),
        (
            "import",
            vec!["people.csv", "people"],
            json!({ "file": "people.csv", "table": "people" }),
        ),
        (
            "import",
            vec!["ragged.csv", "ragged"],
            json!({ "file": "ragged.csv", "table": "ragged" }),
        ),
        (
            "export",
            vec!["items", "--out", "items.csv"],
            json!({ "table": "items", "out": "items.csv" }),
        ),
        ("backup", vec!["copy.db"], json!({ "file": "copy.db" })),
        ("restore", vec!["other.db"], json!({ "file": "other.db" })),
        (
            "restore",
            vec!["other.db", "--overwrite"],
            json!({ "file": "other.db", "overwrite": true }),
        ),
        (
            "restore",
            vec!["people.csv"],
            json!({ "file": "people.csv" }),
        ),
        (
            "migrate",
            vec!["other.db", "fresh.db"],
            json!({ "source": "other.db", "destination": "fresh.db" }),
        ),
    ]
}

/// Commands that take no database.
const WITHOUT_DATABASE: [&str; 5] = ["capabilities", "version", "help", "create", "migrate"];

/// Commands for whose files an agent needs a root, and the command line does not.
const WITH_FILES: [&str; 5] = ["create", "import", "backup", "restore", "migrate"];

/// The same arguments on the command line, each by its name.
fn named(arguments: &Value) -> Vec<String> {
    let mut words = Vec::new();
    for (name, value) in arguments.as_object().expect("an object") {
        words.push(format!("--{}", name.replace('_', "-")));
        match value {
            Value::Bool(_) => {}
            Value::String(text) => words.push(text.clone()),
            value => words.push(value.to_string()),
        }
    }
    words
}

/// The call that an agent is advised of, as the command line is advised of it.
fn for_a_person(told: &str) -> String {
    let mut told = told.to_owned();
    for command in ["exec", "batch", "search", "backup"] {
        told = told.replace(
            &format!("sqlarium_{command}"),
            &format!("sqlarium {command}"),
        );
    }
    told
}

/// Without what differs from run to run.
fn comparable(mut object: Value) -> Value {
    if let Some(object) = object.as_object_mut() {
        object.remove("elapsed_ms");
        object.remove("fuel");
        object.remove("peak_memory");
        for told in ["hint", "text"] {
            if let Some(Value::String(told)) = object.get_mut(told) {
                *told = for_a_person(told);
            }
        }
    }
    object
}

#[test]
fn a_command_gives_the_command_line_what_it_gives_an_agent() {
    for (command, words, arguments) in calls() {
        let folder = Folder::new();
        let (a, b) = (folder.path("a"), folder.path("b"));
        let database = folder.database("shop.db", SHOP);
        let other = folder.database("other.db", "CREATE TABLE o (a); INSERT INTO o VALUES (1)");
        for side in [&a, &b] {
            std::fs::create_dir(side).expect("a folder");
            std::fs::copy(&database, side.join("shop.db")).expect("a copy");
            std::fs::copy(&other, side.join("other.db")).expect("a copy");
            std::fs::write(side.join("people.csv"), "id,zip\n1,00712\n").expect("written");
            std::fs::write(side.join("ragged.csv"), "a,b\n1\n1,2,3\n").expect("written");
        }
        // The same relative name on both sides, so that titles are the same too.
        let person = |words: &[&str], form: &[&str]| {
            let mut process = sqlarium();
            let database = (!WITHOUT_DATABASE.contains(&command)).then_some("shop.db");
            process
                .current_dir(&a)
                .arg(command)
                .args(database)
                .args(words)
                .args(form);
            sqlarium_tests::finish(&mut process)
        };
        let mut process = sqlarium();
        process
            .current_dir(&b)
            .args(["mcp", "shop.db", "--no-undo"]);
        // On the command line files can be named anywhere, which help says.
        if WITH_FILES.contains(&command) || arguments.get("out").is_some() || command == "help" {
            process.args(["--root", "."]);
        }
        let mut server = Server::spawn(&mut process);
        server.initialize();

        let text = person(&words, &[]);
        let answer = server.call(command, arguments.clone());
        let shown = if answer.refused {
            &text.stderr
        } else {
            &text.stdout
        };
        let complaint = if answer.refused { "sqlarium: " } else { "" };
        let expected = format!("{complaint}{}", for_a_person(&answer.text));
        assert_eq!(shown.trim_end(), expected.trim_end(), "{command} {words:?}");
        assert_eq!(
            text.code,
            Some(i32::from(answer.refused)),
            "{command} {words:?}"
        );

        let by_name = named(&arguments);
        let by_name: Vec<&str> = by_name.iter().map(String::as_str).collect();
        let form = person(&by_name, &["--output", "json"]);
        let mut asked: Map<String, Value> = arguments.as_object().cloned().expect("an object");
        asked.insert("output".into(), "json".into());
        let answer = server.call(command, Value::Object(asked));
        let object: Value = serde_json::from_str(&form.stdout)
            .unwrap_or_else(|error| panic!("{command}: {error} in {:?}", form.stdout));
        assert_eq!(
            comparable(object),
            comparable(answer.object),
            "{command} {words:?}"
        );
        assert_eq!(
            form.code,
            Some(i32::from(answer.refused)),
            "{command} {words:?}"
        );
        assert_eq!(form.stderr, "", "{command} {words:?}");
    }
}

#[test]
fn every_command_is_compared_but_those_of_a_session() {
    let mut server = Server::ready(["--no-undo", "--root", "."]);
    let list = server.ask("tools/list", json!({}));
    let compared: BTreeSet<String> = calls()
        .iter()
        .map(|(command, _, _)| format!("sqlarium_{}", command.replace('-', "_")))
        .collect();
    // `history` and `undo` are not among them: they are about the writes of a session.
    let mut served: BTreeSet<String> = list["result"]["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .map(|tool| tool["name"].as_str().expect("a name").to_owned())
        .collect();
    served.remove("sqlarium_history");
    assert_eq!(compared, served);
}

#[test]
fn every_tool_is_a_command_and_every_command_is_a_tool() {
    let mut server = Server::ready(["--root", "."]);
    let list = server.ask("tools/list", json!({}));
    let tools = list["result"]["tools"].as_array().expect("tools");
    let name = |tool: &Value| {
        let name = tool["name"].as_str().expect("a name");
        name.strip_prefix("sqlarium_")
            .expect("the prefix")
            .replace('_', "-")
    };
    let tools: BTreeSet<String> = tools.iter().map(name).collect();

    let help = run(["--help"]).stdout;
    let commands = help.split("Commands:\n").nth(1).expect("commands");
    let commands = commands.split("\n\n").next().expect("a list");
    let commands: BTreeSet<String> = commands
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .filter(|name| !FOR_PEOPLE.contains(&name.as_str()))
        .collect();
    assert_eq!(commands, tools);
    for command in FOR_PEOPLE {
        assert!(
            help.contains(&format!("\n  {command}")),
            "{command} is not in {help}"
        );
    }
}

#[test]
fn a_command_takes_on_the_command_line_what_its_schema_declares() {
    let mut server = Server::ready([""; 0]);
    let list = server.ask("tools/list", json!({}));
    for tool in list["result"]["tools"].as_array().expect("tools") {
        let name = tool["name"].as_str().expect("a name");
        let command = name.trim_start_matches("sqlarium_").replace('_', "-");
        let help = run([&command, "--help"]);
        assert_eq!(help.code, Some(0), "{}", help.stderr);
        for argument in tool["inputSchema"]["properties"]
            .as_object()
            .expect("properties")
            .keys()
        {
            let positional = format!("[{}]", argument.to_uppercase());
            let option = format!("--{}", argument.replace('_', "-"));
            assert!(
                help.stdout.contains(&positional) || help.stdout.contains(&option),
                "{command} --help does not tell of {argument}: {}",
                help.stdout
            );
        }
    }
}
