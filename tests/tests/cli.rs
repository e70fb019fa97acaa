//! The command line: the same commands as the tools, for people.

use std::collections::BTreeSet;
use std::io::Read;
use std::process::Stdio;
use std::time::Instant;

use serde_json::{Map, Value, json};
use sqlarium_tests::{ENDLESS, Folder, PATIENCE, Server, run, sqlarium};

const SHOP: &str = "
    CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price REAL);
    INSERT INTO items VALUES (1, 'lamp', 49.0), (2, 'pen', NULL), (9007199254740993, '', 1e999);
    CREATE INDEX by_name ON items (name);
    CREATE VIRTUAL TABLE notes USING fts5(body);
    INSERT INTO notes VALUES ('a well-read book'), ('read it again');
    CREATE TABLE vectors (v); INSERT INTO vectors VALUES ('[1, 2]'), (x'0000803f00000040'), (NULL);";

/// Commands that are there for people alone.
const FOR_PEOPLE: [&str; 5] = ["mcp", "shell", "demo", "config", "completions"];

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

/// Commands for whose files an agent needs a root, and a person does not.
const WITH_FILES: [&str; 5] = ["create", "import", "backup", "restore", "migrate"];

/// Without what differs from run to run.
fn comparable(mut object: Value) -> Value {
    if let Some(object) = object.as_object_mut() {
        object.remove("elapsed_ms");
        object.remove("fuel");
    }
    object
}

#[test]
fn a_command_gives_a_person_what_it_gives_an_agent() {
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
        let person = |form: &[&str]| {
            let mut process = sqlarium();
            let database = (!WITHOUT_DATABASE.contains(&command)).then_some("shop.db");
            process
                .current_dir(&a)
                .arg(command)
                .args(database)
                .args(&words)
                .args(form);
            sqlarium_tests::finish(&mut process)
        };
        let mut process = sqlarium();
        process.current_dir(&b).args(["mcp", "shop.db"]);
        if WITH_FILES.contains(&command) || arguments.get("out").is_some() {
            process.args(["--root", "."]);
        }
        let mut server = Server::spawn(&mut process);
        server.initialize();

        let text = person(&[]);
        let answer = server.call(command, arguments.clone());
        let shown = if answer.refused {
            &text.stderr
        } else {
            &text.stdout
        };
        let expected = if answer.refused {
            format!("sqlarium: {}", answer.text)
        } else {
            answer.text
        };
        assert_eq!(shown.trim_end(), expected.trim_end(), "{command} {words:?}");
        assert_eq!(
            text.code,
            Some(i32::from(answer.refused)),
            "{command} {words:?}"
        );

        let form = person(&["--output", "json"]);
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
    let mut server = Server::ready([""; 0]);
    let list = server.ask("tools/list", json!({}));
    let compared: BTreeSet<String> = calls()
        .iter()
        .map(|(command, _, _)| format!("sqlarium_{}", command.replace('-', "_")))
        .collect();
    // `history` and `undo` are not among them: they are served with --undo alone.
    let served: BTreeSet<String> = list["result"]["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .map(|tool| tool["name"].as_str().expect("a name").to_owned())
        .collect();
    assert_eq!(compared, served);
}

#[test]
fn every_tool_is_a_command_and_every_command_is_a_tool() {
    let mut server = Server::ready(["--undo"]);
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

#[test]
fn the_database_comes_first_or_by_its_flag() {
    let folder = Folder::new();
    let path = folder.database("shop.db", SHOP);
    let path = path.to_str().expect("a path");
    let sql = "SELECT count(*) FROM items";
    let first = run(["query", path, sql]);
    for arguments in [
        vec!["query", "--db", path, sql],
        vec!["--db", path, "query", sql],
        vec!["query", sql, "--db", path],
    ] {
        assert_eq!(run(&arguments).stdout, first.stdout, "{arguments:?}");
    }
    assert!(first.stdout.contains('3'), "{}", first.stdout);
    let memory = run(["query", ":memory:", "SELECT 6 * 7"]);
    assert!(
        memory.stdout.contains("42"),
        "{}{}",
        memory.stdout,
        memory.stderr
    );
}

#[test]
fn exit_codes_tell_a_refusal_from_wrong_usage() {
    let folder = Folder::new();
    let path = folder.database("shop.db", SHOP);
    let path = path.to_str().expect("a path");
    let missing = folder.path("missing.db");
    let missing = missing.to_str().expect("a path");
    for (arguments, code) in [
        (vec!["query", path, "SELECT 1"], 0),
        (vec!["--help"], 0),
        (vec!["query", "--help"], 0),
        (vec!["--version"], 0),
        (vec!["version"], 0),
        (vec!["query", path, "SELECT * FROM nowhere"], 1),
        (vec!["query", path, "DELETE FROM items"], 1),
        (
            vec!["exec", path, "INSERT INTO items VALUES (1, 'x', 0)"],
            1,
        ),
        (vec!["query", missing, "SELECT 1"], 1),
        (vec!["config", "no-such-client"], 1),
        (vec![], 2),
        (vec!["qurey", path, "SELECT 1"], 2),
        (vec!["query", path], 2),
        (vec!["query", path, "SELECT 1", "more"], 2),
        (vec!["query", path, "SELECT 1", "--limt", "3"], 2),
        (vec!["query", path, "SELECT 1", "--limit", "three"], 2),
        (vec!["query", path, "SELECT 1", "--output", "yaml"], 2),
        (vec!["query", path, "SELECT 1", "--timeout", "soon"], 2),
        (vec!["mcp", "--memory", "lots"], 2),
        (vec!["mcp", "--tools", "no-such-tool"], 2),
    ] {
        let finished = run(&arguments);
        assert_eq!(
            finished.code,
            Some(code),
            "{arguments:?}: {}{}",
            finished.stdout,
            finished.stderr
        );
        assert_eq!(
            finished.stderr.is_empty(),
            code == 0,
            "{arguments:?}: {}",
            finished.stderr
        );
        assert!(
            code == 0 || finished.stdout.is_empty(),
            "{arguments:?}: {}",
            finished.stdout
        );
    }
    let typo = run(["qurey", path, "SELECT 1"]).stderr;
    assert!(typo.contains("query"), "{typo}");
}

#[test]
fn a_terminal_sees_colour_unless_no_color_is_set() {
    let on_a_terminal = |arguments: &str, no_color: &str| {
        let line = format!("'{}' {arguments}", sqlarium_tests::binary().display());
        let mut script = std::process::Command::new("script");
        script
            .args(["-qec", &line, "/dev/null"])
            .env("TERM", "xterm")
            .env("NO_COLOR", no_color)
            .stdin(Stdio::null());
        sqlarium_tests::finish(&mut script).stdout
    };
    for arguments in [
        "--help",
        "frobnicate",
        "query missing.db 'SELECT 1'",
        "demo",
    ] {
        let plain = on_a_terminal(arguments, "1");
        assert!(
            plain.contains("sqlarium") || plain.contains("agent"),
            "{plain}"
        );
        assert!(!plain.contains('\x1b'), "{plain:?}");
        let coloured = on_a_terminal(arguments, "");
        assert!(coloured.contains("\x1b["), "{coloured:?}");
    }
}

#[test]
fn completions_know_every_command_and_flag() {
    for shell in ["bash", "zsh", "fish"] {
        let script = run(["completions", shell]);
        assert_eq!(script.code, Some(0), "{}", script.stderr);
        for word in ["mcp", "query", "index-text", "integrity-check", "readonly"] {
            assert!(script.stdout.contains(word), "{word} is not for {shell}");
        }
    }
    let folder = Folder::new();
    let file = folder.path("completions");
    std::fs::write(&file, run(["completions", "bash"]).stdout).expect("written");
    let completed =
        sqlarium_tests::finish(std::process::Command::new("bash").arg("-c").arg(format!(
            "source '{}'; COMP_WORDS=(sqlarium ver) COMP_CWORD=1
        _sqlarium sqlarium ver sqlarium; echo \"${{COMPREPLY[*]}}\"",
            file.display()
        )));
    assert_eq!(completed.stdout, "version\n", "{}", completed.stderr);
}

#[test]
fn output_is_plain_with_and_without_no_color() {
    let folder = Folder::new();
    let path = folder.database("shop.db", SHOP);
    let path = path.to_str().expect("a path");
    for arguments in [
        vec!["--help"],
        vec!["query", path, "SELECT * FROM items"],
        vec!["query", path, "nonsense"],
        vec!["qurey"],
    ] {
        let with = sqlarium_tests::finish(sqlarium().args(&arguments).env_remove("NO_COLOR"));
        let without = sqlarium_tests::finish(sqlarium().args(&arguments).env("NO_COLOR", "1"));
        assert_eq!(
            (&with.stdout, &with.stderr),
            (&without.stdout, &without.stderr)
        );
        assert!(
            !format!("{}{}", without.stdout, without.stderr).contains('\x1b'),
            "{arguments:?}"
        );
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let folder = Folder::new();
    let path = folder.database("shop.db", "CREATE TABLE t (a)");
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 9000)
        SELECT i, hex(randomblob(100)) FROM n";
    let mut child = sqlarium()
        .args([
            "query",
            path.to_str().expect("a path"),
            sql,
            "--limit",
            "9000",
            "--text",
            "4000000",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut first = [0; 100];
    child
        .stdout
        .take()
        .expect("its output")
        .read_exact(&mut first)
        .expect("some output");
    let finished = child.wait_with_output().expect("its end");
    let stderr = String::from_utf8_lossy(&finished.stderr).into_owned();
    assert_eq!(stderr, "");
    assert_eq!(finished.status.code(), Some(0));

    let demo = sqlarium_tests::finish(std::process::Command::new("sh").args([
        "-c",
        &format!("'{}' demo | head -n 1", sqlarium_tests::binary().display()),
    ]));
    assert_eq!((demo.code, demo.stderr.as_str()), (Some(0), ""));
}

#[test]
fn budgets_hold_on_the_command_line_too() {
    let started = Instant::now();
    let finished = run(["query", ":memory:", ENDLESS, "--timeout", "300ms"]);
    assert_eq!(finished.code, Some(1));
    assert!(finished.stderr.contains("--timeout"), "{}", finished.stderr);
    assert!(started.elapsed() < PATIENCE / 10, "{:?}", started.elapsed());
}

#[test]
fn create_makes_a_database_and_never_touches_one_that_is_there() {
    let folder = Folder::new();
    let here = |arguments: &[&str]| {
        sqlarium_tests::finish(sqlarium().current_dir(folder.path("")).args(arguments))
    };
    let made = here(&["create", "new.db"]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert_eq!(folder.files(), ["new.db"]);
    let filled = here(&[
        "batch",
        "new.db",
        "CREATE TABLE t (a); INSERT INTO t VALUES (1);",
    ]);
    assert_eq!(filled.code, Some(0), "{}", filled.stderr);
    let again = here(&["create", "new.db"]);
    assert_eq!(again.code, Some(1), "{}", again.stdout);
    assert_eq!(
        Folder::native(&folder.path("new.db"), "SELECT a FROM t"),
        ["1"]
    );
    // A person means the file that they name, wherever it is.
    let other = Folder::new();
    let away = other.path("away.db");
    let made = here(&["create", away.to_str().expect("a path")]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert_eq!(other.files(), ["away.db"]);
}

#[test]
fn the_demonstration_tells_of_a_query_a_refusal_and_a_budget() {
    let demo = run(["demo"]);
    assert_eq!(demo.code, Some(0), "{}", demo.stderr);
    assert_eq!(demo.stderr, "");
    for part in [
        "-> initialize",
        "-> sqlarium_batch",
        "-> sqlarium_describe",
        "Hana Sato",
        "245.9",
        "customers",
        "<- refused",
        "--timeout",
        "Fountain pen",
    ] {
        assert!(
            demo.stdout.contains(part),
            "{part} is not in {}",
            demo.stdout
        );
    }
    assert_eq!(
        demo.stdout.matches("<- refused").count(),
        3,
        "{}",
        demo.stdout
    );
    assert!(!demo.stdout.contains("<- error"), "{}", demo.stdout);
}

#[test]
fn config_prints_what_each_client_takes() {
    let folder = Folder::new();
    let path = folder.database("my shop.db", SHOP);
    let exe = sqlarium_tests::binary().canonicalize().expect("a path");
    for client in [
        "claude-code",
        "claude-desktop",
        "cursor",
        "vscode",
        "codex",
        "zed",
    ] {
        let told = run(["config", client, path.to_str().expect("a path")]);
        assert_eq!(told.code, Some(0), "{}", told.stderr);
        for part in [
            exe.to_str().expect("a path"),
            path.to_str().expect("a path"),
            "mcp",
        ] {
            assert!(
                told.stdout.contains(part),
                "{part} is not in {}",
                told.stdout
            );
        }
    }
    let typo = run(["config", "claude-dekstop"]);
    assert!(
        typo.stderr.contains("Did you mean claude-desktop?"),
        "{}",
        typo.stderr
    );
}
