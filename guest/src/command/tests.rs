//! Commands from the outside: called as a client calls them, on a database of their own.

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
fn tables_folds_shadow_tables_and_counts_virtual_ones() {
    assert_eq!(
        text(&mut shop(), "tables", json!({})),
        "name       kind     columns  rows\n\
         ---------  -------  -------  ----\n\
         customers  table          3     2\n\
         notes      virtual        3     1\n\
         orders     table          3     3\n\
         places     virtual        3     1\n\
         spent      view           2  NULL\n\
         vectors    table          1     1\n\
         (6 rows)\n\
         8 shadow tables of virtual tables not listed.\n"
    );
}

#[test]
fn describe_shows_the_heading_and_the_columns() {
    assert_eq!(
        text(&mut shop(), "describe", json!({"table": "orders"})),
        "orders (table), 3 rows\n\
         indexes:\n  orders_customer (customer)\n\
         foreign keys:\n  (customer) -> customers(id)\n\
         \n\
         column    type     not_null  default  primary_key\n\
         --------  -------  --------  -------  -----------\n\
         id        INTEGER         0  NULL               1\n\
         customer  INTEGER         0  NULL               0\n\
         total     REAL            0  NULL               0\n\
         (3 rows)\n"
    );
}

#[test]
fn describe_and_schema_have_everything_in_json_too() {
    let mut context = shop();
    let object = json_of(&mut context, "describe", json!({"table": "orders"}));
    assert_eq!(object["table_rows"], 3);
    assert_eq!(object["indexes"][0]["columns"], json!(["customer"]));
    assert_eq!(object["rows"][0], json!(["id", "INTEGER", 0, null, 1]));
    assert!(object.get("text").is_none());
    let object = json_of(&mut context, "schema", json!({"pattern": "spent"}));
    assert_eq!(object["rows"][0][0], "view");
    assert_eq!(object["row_count"], 1);
}

#[test]
fn values_come_back_exactly_as_json() {
    let sql = "SELECT 9007199254740993 AS big, 9007199254740991 AS fits, 3.0 AS r, 9e999 AS inf, \
               x'00ff' AS b, '007' AS t, NULL AS n, '' AS e, CAST(x'61ff' AS TEXT) AS bad, 1 AS t";
    let object = json_of(
        &mut context(EngineSettings::default()),
        "query",
        json!({"sql": sql}),
    );
    assert_eq!(
        object["rows"].to_string(),
        "[[\"9007199254740993\",9007199254740991,3.0,\"Infinity\",{\"blob\":\"00ff\"},\"007\",null,\"\",\
         {\"text_hex\":\"61ff\"},1]]"
    );
    assert_eq!(object["columns"][0]["integers"], "string");
    assert_eq!(object["columns"][9]["name"], "t");
}

#[test]
fn reals_go_in_and_come_out_with_every_bit() {
    let mut context = context(EngineSettings::default());
    for written in [
        "0.1",
        "5e-324",
        "2.2250738585072014e-308",
        "1.7976931348623157e308",
        "9007199254740993.0",
        "-0.0",
    ] {
        let arguments = format!("{{\"sql\": \"SELECT ?1\", \"params\": [{written}]}}");
        let object = json_of(
            &mut context,
            "query",
            serde_json::from_str(&arguments).unwrap(),
        );
        let back: f64 = object["rows"][0][0].to_string().parse().unwrap();
        let sent: f64 = written.parse().unwrap();
        assert_eq!(
            back.to_bits(),
            sent.to_bits(),
            "{written} {}",
            object["rows"][0][0]
        );
    }
}

#[test]
fn a_thousand_tables_fit_into_the_text_or_are_counted() {
    let mut context = context(EngineSettings::default());
    let sql: String = (0..2_000)
        .map(|n| format!("CREATE TABLE a_table_with_quite_a_long_name_{n:04}(x);"))
        .collect();
    text(&mut context, "batch", json!({"sql": sql}));
    let page = text(&mut context, "tables", json!({}));
    assert!(page.len() <= 48_000);
    assert!(
        page.contains("more rows not shown") && page.contains("narrow it with pattern"),
        "{page}"
    );
    // What a client gets; a person's program gets them all.
    context.audience = Audience::Client(Toolset::all(&REGISTRY));
    let object = json_of(&mut context, "tables", json!({}));
    assert!(object["row_count"].as_u64().unwrap() > 500);
    assert_eq!(object["more"], true);
    context.audience = Audience::Person;
    let object = json_of(&mut context, "tables", json!({}));
    assert_eq!(object["row_count"], 2_000);
}

#[test]
fn hostile_names_go_through_every_look_at_the_schema() {
    for name in [
        "order",
        "tab'le; DROP TABLE customers; --",
        "a\"b",
        "ünï🦀",
        "a\nb\u{1b}[2J",
        "[x]",
        "%",
    ] {
        let mut context = context(EngineSettings::default());
        let quoted = format!("\"{}\"", name.replace('"', "\"\""));
        let sql = format!(
            "CREATE TABLE {quoted}({quoted} TEXT, b AS (1)); CREATE INDEX {} ON {quoted}({quoted});",
            quoted.replacen('"', "\"i ", 1)
        );
        text(&mut context, "batch", json!({"sql": sql}));
        for (command, arguments) in [
            ("tables", json!({})),
            ("describe", json!({"table": name})),
            ("schema", json!({})),
            ("indexes", json!({})),
            ("describe_table", json!({"table": name})),
            ("list_tables", json!({})),
        ] {
            let page = text(&mut context, command, arguments.clone());
            assert!(!page.contains('\u{1b}'), "{command} {page}");
            let object = json_of(&mut context, command, arguments);
            assert!(
                object.to_string().contains(&json!(name).to_string()),
                "{command} {object}"
            );
        }
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
fn run_select_counts_rows_off_and_never_touches_the_sql() {
    let mut context = context(EngineSettings::default());
    text(
        &mut context,
        "batch",
        json!({"sql": "CREATE TABLE n(i); INSERT INTO n SELECT value FROM generate_series(1, 1000)"}),
    );
    let mut rows = |arguments: Value| {
        let object = json_of(&mut context, "run_select", arguments);
        (
            object["row_count"].as_u64(),
            object["more"].as_bool(),
            object["status"].as_str().map(str::to_owned),
        )
    };
    let all = "SELECT i FROM n";
    assert_eq!(rows(json!({"sql": all})), (Some(50), Some(true), None));
    assert_eq!(
        rows(json!({"sql": all, "limit": 200})),
        (Some(200), Some(true), None)
    );
    assert_eq!(
        rows(json!({"sql": "SELECT i FROM n LIMIT 120 -- all"})),
        (Some(120), Some(false), None)
    );
    assert_eq!(
        rows(json!({"sql": "/* */ WITH a AS (SELECT i FROM n LIMIT 500) SELECT * FROM a;"})).0,
        Some(50)
    );
    assert_eq!(
        rows(json!({"sql": "SELECT i FROM n LIMIT 201"}))
            .2
            .as_deref(),
        Some("too_big")
    );
    assert_eq!(
        rows(json!({"sql": all, "limit": 201})).2.as_deref(),
        Some("syntax")
    );
    for sql in [
        "VALUES(1)",
        "PRAGMA table_info(n)",
        "DELETE FROM n",
        "EXPLAIN SELECT 1",
        "",
        "-- x",
    ] {
        assert_eq!(
            rows(json!({"sql": sql})).2.as_deref(),
            Some("unsupported"),
            "{sql}"
        );
    }
    assert_eq!(
        rows(json!({"sql": "WITH a AS (SELECT 1) DELETE FROM n"}))
            .2
            .as_deref(),
        Some("readonly")
    );
    assert_eq!(
        rows(json!({"sql": "SELECT 1; DELETE FROM n"})).2.as_deref(),
        Some("unsupported")
    );
}

#[test]
fn describe_table_shows_types_and_three_sample_rows() {
    let mut context = shop();
    assert_eq!(
        text(&mut context, "describe_table", json!({"table": "orders"})),
        "orders, 3 sample rows:\n\
         id  customer  total\n--  --------  -----\n 1         1    3.0\n 2         1    4.5\n 3         2   10.0\n\
         \n\
         column    type\n--------  -------\nid        INTEGER\ncustomer  INTEGER\ntotal     REAL\n(3 rows)\n"
    );
    let object = json_of(
        &mut context,
        "describe_table",
        json!({"table": "customers"}),
    );
    assert_eq!(
        object["sample"]["rows"],
        json!([[1, "Ada", null], [2, "Grace", null]])
    );
    let (status, _) = failure(&mut context, "describe_table", json!({"table": "nope"}));
    assert_eq!(status, Status::NotFound);
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

#[test]
fn failed_lines_are_not_ok_and_bail_is_reported() {
    let mut context = context(EngineSettings::default());
    let mut run = |input| json_of(&mut context, "run", json!({ "input": input }));
    let answer = run("SELEC;\nSELECT 1;");
    assert_eq!(answer["ok"], false);
    assert_eq!(answer["notes"][0], "1 error; the other lines ran.");
    let answer = run(".bail on\nSELEC;\nSELECT 1;");
    assert_eq!(answer["ok"], false);
    assert_eq!(
        answer["notes"][0],
        "1 error; the lines after it were not run, because of .bail on."
    );
    assert_eq!(run("SELECT 1;")["ok"], true);
}
