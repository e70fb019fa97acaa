//! Commands from the outside: called as a client calls them, on a database of their own.

mod answers;

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Map, Value, json};

use super::interface::argument::accepted;
use super::interface::audience::Audience;
use super::interface::command::Group;
use super::interface::context::Context;
use super::interface::toolset::Toolset;
use super::invoke::{Answer, invoke};
use crate::answer::failure::Status;
use crate::host::Alone;
use crate::registry::REGISTRY;
use crate::settings::{CommandSettings, EngineSettings};

/// What a client works with that has every tool, and files.
pub(super) fn context(engine: EngineSettings) -> Context {
    let tools = Toolset::all(&REGISTRY);
    let engine = EngineSettings {
        root: true,
        ..engine
    };
    let settings = CommandSettings {
        engine,
        ..CommandSettings::default()
    };
    Context::new(settings, &Alone, &REGISTRY, Audience::Client(tools))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("{other} is no object"),
    }
}

/// Calls by name, those of `--tools select` too.
pub(super) fn call(context: &mut Context, name: &str, arguments: Value) -> Answer {
    let command = REGISTRY
        .find(name)
        .or_else(|| REGISTRY.select.iter().find(|command| command.name == name))
        .unwrap_or_else(|| panic!("no command {name}"));
    invoke(command, &object(arguments), context)
}

pub(super) fn text(context: &mut Context, name: &str, arguments: Value) -> String {
    let answer = call(context, name, arguments.clone());
    assert_eq!(answer.failure, None, "{name} {arguments}");
    assert!(!answer.json);
    answer.text
}

pub(super) fn json_of(context: &mut Context, name: &str, mut arguments: Value) -> Value {
    arguments["output"] = "json".into();
    let answer = call(context, name, arguments);
    assert!(answer.json);
    let object: Value = serde_json::from_str(&answer.text).unwrap();
    // On one line, and in the order in which it was made.
    assert_eq!(answer.text, object.to_string());
    assert_eq!(object["ok"], answer.failure.is_none() && !answer.failed);
    assert_eq!(object["command"], name);
    object
}

pub(super) fn failure(context: &mut Context, name: &str, arguments: Value) -> (Status, String) {
    let answer = call(context, name, arguments);
    let failure = answer.failure.unwrap_or_else(|| panic!("{}", answer.text));
    assert_eq!(answer.text, format!("{}: {failure}", failure.status.name()));
    (failure.status, failure.to_string())
}

/// A database file of a test's own.
pub(super) struct File(std::path::PathBuf);

impl File {
    /// A new one, made by `sql` through SQLite itself.
    pub(super) fn new(sql: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("sqlarium-command-{}-{number}.db", std::process::id());
        let path = std::env::temp_dir().join(name);
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.execute_batch(sql).unwrap();
        connection.close().unwrap();
        Self(path)
    }

    pub(super) fn path(&self) -> &std::path::Path {
        &self.0
    }

    /// EngineSettings that serve it.
    pub(super) fn settings(&self) -> EngineSettings {
        EngineSettings {
            database: self.0.to_str().unwrap().to_owned(),
            title: "shop.db".into(),
            in_memory: false,
            ..EngineSettings::default()
        }
    }
}

impl Drop for File {
    fn drop(&mut self) {
        for end in ["db", "db-wal", "db-shm", "db-journal"] {
            let _ = std::fs::remove_file(self.0.with_extension(end));
        }
    }
}

const SHOP: &str = "
    CREATE TABLE customers(id INTEGER PRIMARY KEY, name TEXT NOT NULL, born DATE);
    CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customers(id), total REAL);
    CREATE INDEX orders_customer ON orders(customer);
    CREATE VIEW spent AS SELECT name, sum(total) AS total FROM customers JOIN orders ON customer = customers.id GROUP BY 1;
    CREATE VIRTUAL TABLE notes USING fts5(body);
    CREATE VIRTUAL TABLE places USING rtree(id, x0, x1);
    INSERT INTO customers(name) VALUES('Ada'), ('Grace');
    INSERT INTO orders(customer, total) VALUES(1, 3.0), (1, 4.5), (2, 10.0);
    INSERT INTO notes VALUES('a red fox');
    INSERT INTO places VALUES(1, 0, 5);
    CREATE TABLE vectors(v); INSERT INTO vectors VALUES('[1, 2]');";

fn shop() -> Context {
    let mut context = context(EngineSettings::default());
    text(&mut context, "batch", json!({"sql": SHOP}));
    context
}

/// One good call of each command, and something its answer has to hold.
fn good_calls() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("query", json!({"sql": "SELECT name FROM customers"}), "Ada"),
        (
            "exec",
            json!({"sql": "INSERT INTO customers(name) VALUES('Alan')"}),
            "1 row changed.",
        ),
        (
            "batch",
            json!({"sql": "DELETE FROM orders; SELECT 5 AS five"}),
            "five",
        ),
        ("tables", json!({}), "customers  table"),
        (
            "describe",
            json!({"table": "orders"}),
            "(customer) -> customers(id)",
        ),
        (
            "schema",
            json!({"pattern": "orders"}),
            "CREATE INDEX orders_customer",
        ),
        ("indexes", json!({}), "orders_customer"),
        ("databases", json!({}), ":memory:"),
        (
            "explain",
            json!({"sql": "SELECT * FROM orders WHERE customer = 1"}),
            "orders_customer",
        ),
        ("search", json!({"query": "fox"}), "a red **fox**"),
        (
            "index-text",
            json!({"table": "customers"}),
            "2 rows indexed",
        ),
        ("run", json!({"input": ".mode list\nSELECT 6 * 7;"}), "42\n"),
        ("export", json!({"table": "customers"}), "1,Ada,"),
        (
            "dump",
            json!({}),
            "INSERT INTO \"customers\" VALUES(1,'Ada',NULL);",
        ),
        (
            "vector-search",
            json!({"table": "vectors", "column": "v", "vector": [1, 2]}),
            "distance",
        ),
        ("checkpoint", json!({}), "journal mode is memory"),
        ("integrity-check", json!({}), "ok\n"),
        ("analyze", json!({}), "orders_customer"),
        ("stats", json!({}), "freelist_count"),
        ("capabilities", json!({"name": "fts5"}), "yes"),
        ("functions", json!({"pattern": "json%"}), "json_extract"),
        ("version", json!({}), "2026-07-28"),
        ("help", json!({}), "describe"),
        ("list_tables", json!({}), "customers"),
        ("describe_table", json!({"table": "customers"}), "Grace"),
        (
            "run_select",
            json!({"sql": "SELECT name FROM customers"}),
            "Grace",
        ),
    ]
}

#[test]
fn every_command_works_in_both_forms() {
    for (name, arguments, part) in good_calls() {
        let shown = text(&mut shop(), name, arguments.clone());
        assert!(shown.contains(part), "{name}: {shown}");
        let object = json_of(&mut shop(), name, arguments);
        assert_eq!(object["ok"], true, "{name}");
        assert!(
            object["elapsed_ms"].is_f64() && object["fuel"].is_u64(),
            "{name}"
        );
        assert!(object["peak_memory"].is_u64(), "{name}");
    }
}

#[test]
fn every_command_of_the_table_is_called_here_and_every_tool_is_a_command() {
    let called: HashSet<&str> = good_calls().iter().map(|(name, _, _)| *name).collect();
    for command in REGISTRY.commands.iter().chain(REGISTRY.select) {
        // Making and reading files has tests of its own, and so has undoing.
        let files = ["create", "import", "backup", "restore", "migrate"];
        assert!(
            called.contains(command.name)
                || files.contains(&command.name)
                || command.group == Group::Undo,
            "{}",
            command.name
        );
    }
    let all = Toolset::parse(&REGISTRY, "all").unwrap();
    for command in REGISTRY.commands {
        let tool = all.find(&command.tool_name()).unwrap();
        assert_eq!(tool.name, command.name);
        let accepted = accepted(command, &EngineSettings::default(), false);
        assert_eq!(accepted.last().unwrap().name, "output");
    }
}

#[test]
fn every_command_refuses_what_it_does_not_know_and_says_what_it_takes() {
    for command in REGISTRY.commands.iter().chain(REGISTRY.select) {
        let (status, sentence) = failure(&mut shop(), command.name, json!({"nonsense": 1}));
        assert_eq!(status, Status::Syntax);
        let start = format!("{} takes no argument \"nonsense\"", command.name);
        assert!(sentence.contains(&start), "{sentence}");
        assert!(
            sentence.contains(&format!("{} takes: ", command.name)),
            "{sentence}"
        );
    }
}

#[test]
fn a_refusal_comes_in_the_form_that_was_asked_for() {
    let mut context = shop();
    let mut object = json_of(&mut context, "describe", json!({"table": "custommers"}));
    for cost in ["elapsed_ms", "fuel", "peak_memory"] {
        assert!(object[cost].is_number(), "{cost}");
        object.as_object_mut().unwrap().remove(cost);
    }
    assert_eq!(
        object,
        json!({
            "ok": false, "command": "describe", "status": "not_found",
            "message": "There is no table or view \"custommers\".",
            "hint": "Did you mean customers?",
        })
    );
    let object = json_of(&mut context, "describe", json!({"tabel": 1}));
    assert_eq!(object["status"], "syntax");
}

#[test]
fn only_commands_that_read_leave_everything_as_it_was() {
    for (name, arguments, _) in good_calls() {
        let mut context = shop();
        let state = |context: &mut Context| {
            let sql = "SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM customers), \
                       (SELECT group_concat(sql) FROM sqlite_schema)";
            json_of(context, "query", json!({"sql": sql}))["rows"].clone()
        };
        let before = state(&mut context);
        call(&mut context, name, arguments);
        let writes = matches!(name, "exec" | "batch" | "index-text" | "analyze");
        assert_eq!(state(&mut context) == before, !writes, "{name}");
    }
}

#[test]
fn capabilities_answers_every_name() {
    let mut context = context(EngineSettings::default());
    let object = json_of(&mut context, "capabilities", json!({}));
    assert!(object["row_count"].as_u64().unwrap() > 20);
    for (name, answer) in [
        ("FTS5", "yes"),
        ("fts5-trigram", "yes"),
        ("attach", "no"),
        ("vectors; DROP", "no"),
    ] {
        let object = json_of(&mut context, "capabilities", json!({"name": name}));
        assert_eq!(object["rows"][0][1], answer, "{name}");
    }
}

#[test]
fn help_explains_what_is_served_and_nothing_else() {
    let mut core = context(EngineSettings::default());
    core.audience = Audience::Client(Toolset::parse(&REGISTRY, "core").unwrap());
    let page = text(&mut core, "help", json!({}));
    assert!(
        page.contains("  query ") && !page.contains("functions"),
        "{page}"
    );
    let page = text(&mut core, "help", json!({"topic": "sqlarium_query"}));
    assert!(
        page.starts_with("query: ") && page.contains("  limit (whole number)"),
        "{page}"
    );
    let (status, sentence) = failure(&mut core, "help", json!({"topic": "functions"}));
    assert_eq!(status, Status::NotFound);
    assert!(sentence.contains("no command \"functions\""), "{sentence}");
    let (_, sentence) = failure(&mut core, "help", json!({"topic": "qery"}));
    assert!(sentence.contains("Did you mean query?"), "{sentence}");
}

#[test]
fn the_reference_has_every_command_and_every_argument() {
    let page = text(
        &mut context(EngineSettings::default()),
        "help",
        json!({"markdown": true}),
    );
    let settings = EngineSettings {
        root: true,
        ..EngineSettings::default()
    };
    for command in REGISTRY.commands {
        let start = page.find(&format!("\n### {}\n", command.name)).unwrap();
        let section = page[start + 4..].split("\n#").next().unwrap();
        for argument in accepted(command, &settings, false) {
            assert!(
                section.contains(&format!("- `{}`", argument.name)),
                "{}",
                command.name
            );
        }
    }
}

#[test]
fn create_never_changes_an_existing_file() {
    let mut rooted = context(EngineSettings {
        root: true,
        ..EngineSettings::default()
    });
    let path = format!("create-{}.db", std::process::id());
    let made = json_of(&mut rooted, "create", json!({"path": path}));
    let size = std::fs::metadata(&path).map(|file| file.len());
    let filled = json_of(
        &mut rooted,
        "exec",
        json!({"db": path, "sql": "CREATE TABLE t(x)"}),
    );
    let before = std::fs::read(&path);
    let again = failure(&mut rooted, "create", json!({"path": path}));
    let after = std::fs::read(&path);
    let other = format!("{path}.txt");
    std::fs::write(&other, "no database").unwrap();
    let text = failure(&mut rooted, "create", json!({"path": other}));
    let kept = std::fs::read_to_string(&other);
    let tables = json_of(&mut rooted, "tables", json!({"db": path}));
    for file in [&path, &other] {
        let _ = std::fs::remove_file(file);
    }
    assert_eq!(made["ok"], true, "{made}");
    assert!(size.unwrap() > 0);
    assert_eq!(filled["ok"], true, "{filled}");
    assert_eq!(again.0, Status::InvalidState);
    assert_eq!(before.unwrap(), after.unwrap());
    assert_eq!(text.0, Status::InvalidState);
    assert_eq!(kept.unwrap(), "no database");
    assert_eq!(tables["rows"][0][0], "t");
    for path in ["../x.db", "/tmp/x.db", "no-such-folder/x.db"] {
        assert_eq!(
            failure(&mut rooted, "create", json!({"path": path})).0,
            Status::NotFound,
            "{path}"
        );
    }
    // No file has no name.
    let (status, said) = failure(&mut rooted, "create", json!({"path": ""}));
    assert_eq!(status, Status::Syntax);
    assert!(
        said.starts_with("path is missing: it takes the path of a file"),
        "{said}"
    );
    let mut readonly = context(EngineSettings {
        root: true,
        readonly: true,
        ..EngineSettings::default()
    });
    readonly.audience = Audience::Person;
    assert_eq!(
        failure(&mut readonly, "create", json!({"path": "y.db"})).0,
        Status::Readonly
    );
}
