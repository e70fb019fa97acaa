//! Database files that are not what they should be: every command that reads, and then
//! some that write, on each.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use serde_json::{Map, Value, json};
use sqlarium_fuzz::{HOST, files, settings, split};
use sqlarium_guest::answer::failure::Status;
use sqlarium_guest::command::interface::audience::Audience;
use sqlarium_guest::command::interface::command::{Command, Effect};
use sqlarium_guest::command::interface::context::Context;
use sqlarium_guest::command::invoke::invoke;
use sqlarium_guest::registry::REGISTRY;

/// Statements that read.
const READS: [&str; 7] = [
    "PRAGMA integrity_check",
    "SELECT * FROM sqlite_schema",
    "SELECT k, count(*), max(name), sum(length(data)) FROM t GROUP BY k ORDER BY 3 DESC",
    "SELECT name FROM t WHERE k = 5 AND name > 'name 1' ORDER BY name DESC",
    "SELECT *, twice FROM totals, child LEFT JOIN pairs ON a = t",
    "SELECT highlight(words, 0, '[', ']'), rank FROM words WHERE words MATCH 'wor* OR (some NEAR find)' ORDER BY rank",
    "SELECT * FROM boxes WHERE x0 < 5 AND y1 > 1",
];

/// Statements that write.
const WRITES: [&str; 8] = [
    "INSERT INTO t (k, name, data) SELECT k, name || ' again', data FROM t WHERE id < 9",
    "UPDATE t SET k = k + 1, name = name || '!' WHERE id % 2",
    "DELETE FROM t WHERE id > 5",
    "INSERT INTO words VALUES ('more words'); DELETE FROM words WHERE rowid = 1",
    "INSERT INTO boxes VALUES (77, 1, 2, 3, 4); DELETE FROM boxes WHERE id = 1",
    "CREATE TABLE more AS SELECT * FROM t; DROP TABLE t; ALTER TABLE pairs RENAME COLUMN a TO z",
    "REINDEX; PRAGMA user_version = 7",
    "VACUUM",
];

fuzz_target!(|input: &[u8]| -> Corpus {
    let Some((database, beside)) = split(input) else {
        return Corpus::Reject;
    };
    let files = files();
    let there = [("shop.db", database)].into_iter().chain(beside);
    files.replace(there);
    let mut context = Context::new(settings().command, &HOST, &REGISTRY, Audience::Person);
    // Some of what can be asked, decided by the input; all of it would take a second.
    let tables = ["t", "words", "boxes", "totals", "none"];
    let chosen = input.iter().fold(0, |sum, byte| sum + usize::from(*byte));
    let table = tables[chosen % tables.len()];
    let output = ["text", "json"][chosen / tables.len() % 2];
    let part = chosen / tables.len() / 2;
    for (index, command) in REGISTRY.commands.iter().chain(REGISTRY.select).enumerate() {
        if index % 3 == part % 3 && command.effect == Effect::Reads && command.database {
            let mut given = Map::new();
            for argument in command.arguments {
                if let Some(value) = value(argument.name, table, argument.required) {
                    given.insert(argument.name.into(), value);
                }
            }
            given.insert("output".into(), output.into());
            run(&mut context, command, &given);
        }
    }
    for sql in READS.iter().skip(part % 2).step_by(2) {
        call(&mut context, "query", json!({ "sql": sql }));
    }
    for sql in WRITES.into_iter().skip(part % 3).step_by(3) {
        let command = if sql == "VACUUM" { "exec" } else { "batch" };
        call(&mut context, command, json!({ "sql": sql }));
    }
    let (last, given) = match part % 3 {
        0 => ("index-text", json!({ "table": "t", "columns": ["name"] })),
        1 => ("analyze", json!({})),
        _ => ("checkpoint", json!({})),
    };
    call(&mut context, last, given);
    call(
        &mut context,
        "query",
        json!({ "sql": READS[0], "output": "json" }),
    );
    drop(context);
    assert_eq!(files.open_files(), 0, "a file was left open");
    Corpus::Keep
});

/// Something to give for an argument of this name.
fn value(name: &str, table: &str, required: bool) -> Option<Value> {
    Some(match name {
        "sql" => format!("SELECT * FROM {table} LIMIT 20").into(),
        "table" => table.into(),
        "query" => "words".into(),
        "k" => 5.into(),
        _ if required => "x".into(),
        _ => return None,
    })
}

fn call(context: &mut Context, name: &str, given: Value) {
    let command = REGISTRY.find(name).expect(name);
    run(context, command, given.as_object().expect("an object"));
}

fn run(context: &mut Context, command: &Command, given: &Map<String, Value>) {
    HOST.begin();
    context.engine.interrupt().begin(None);
    let answer = invoke(command, given, context);
    context.engine.interrupt().end();
    assert!(!answer.text.trim().is_empty(), "{}", command.name);
    if let Some(failure) = answer.failure {
        assert_ne!(failure.status, Status::Internal, "{failure}");
    }
}
