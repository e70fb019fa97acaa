//! What models send, a row each, as whole lines: the tool, the arguments as they stand in the line,
//! and what the answer has to hold. `!` in front of it means that the call is refused, in a result
//! that the model sees.

use serde_json::Value;

use super::session::Session;
use super::testing::{Recorder, initialize, json, request};
use crate::registry::REGISTRY;
use crate::settings::ServerSettings;

const DATA: &str = "CREATE TABLE orders(id INTEGER PRIMARY KEY, note TEXT, city TEXT); \
    INSERT INTO orders VALUES(1, 'a red fox', 'Bonn'), (2, 'a dog', 'Bern'); \
    CREATE INDEX orders_city ON orders(city); CREATE TABLE \\\"2024\\\"(n); \
    CREATE TABLE vectors(v); INSERT INTO vectors VALUES('[1, 2]');";

const ROWS: &[(&str, &str, &str)] = &[
    // Nothing, in the ways that models have for it.
    ("tables", r#"{"pattern":""}"#, "orders"),
    ("tables", r#"{"pattern":null}"#, "orders"),
    ("tables", r#"{"pattern":"  "}"#, "orders"),
    ("tables", r#"{"pattern":[]}"#, "orders"),
    ("tables", r#"{"pattern":{}}"#, "orders"),
    ("tables", r#"{"output":""}"#, "orders"),
    ("tables", r#"{"output":"null"}"#, "orders"),
    ("tables", r#"{"db":""}"#, "orders"),
    ("tables", r#"{"db":null,"nonsense":""}"#, "orders"),
    ("tables", "null", "orders"),
    ("tables", r#""""#, "orders"),
    ("tables", "[]", "orders"),
    (
        "schema",
        r#"{"pattern":"","indent":""}"#,
        "CREATE INDEX orders_city",
    ),
    ("indexes", r#"{"pattern":""}"#, "orders_city"),
    ("functions", r#"{"pattern":""}"#, "abs"),
    ("capabilities", r#"{"name":""}"#, "fts5"),
    ("help", r#"{"topic":"","markdown":""}"#, "describe"),
    ("stats", r#"{"full":""}"#, "page_count"),
    ("checkpoint", r#"{"mode":""}"#, "journal mode"),
    ("analyze", r#"{"table":""}"#, "orders_city"),
    ("integrity_check", r#"{"table":"","quick":""}"#, "ok"),
    (
        "dump",
        r#"{"objects":"","out":"","data_only":"","overwrite":""}"#,
        "CREATE TABLE orders",
    ),
    (
        "export",
        r#"{"table":"orders","sql":"","format":"","out":"","no_header":""}"#,
        "2,",
    ),
    (
        "query",
        r#"{"sql":"SELECT 42","params":"","limit":"","output":""}"#,
        "42",
    ),
    (
        "query",
        r#"{"sql":"SELECT 42","params":"None","limit":"null"}"#,
        "42",
    ),
    (
        "query",
        r#"{"sql":"SELECT 42","params":{},"limit":null}"#,
        "42",
    ),
    ("query", r#"{"sql":"SELECT 42","params":"{}"}"#, "42"),
    ("query", r#"{"sql":"SELECT 42","params":"[]"}"#, "42"),
    ("query", r#"{"sql":""}"#, "!The SQL contains no statement"),
    ("query", r#"{"sql":null}"#, "!sql is missing"),
    (
        "exec",
        r#"{"sql":"DELETE FROM orders","params":"","dry_run":""}"#,
        "2 rows",
    ),
    (
        "vector_search",
        r#"{"table":"vectors","column":"v","vector":[1,2],"k":"","measure":""}"#,
        "distance",
    ),
    (
        "index_text",
        r#"{"table":"orders","columns":"","tokenizer":""}"#,
        "2 rows indexed",
    ),
    (
        "index_text",
        r#"{"table":"orders","columns":[]}"#,
        "2 rows indexed",
    ),
    // Numbers and flags in strings, and other ways to write them.
    (
        "query",
        r#"{"sql":"SELECT id FROM orders","limit":"1"}"#,
        "1 of 2 rows",
    ),
    (
        "query",
        r#"{"sql":"SELECT id FROM orders","limit":1.0}"#,
        "1 of 2 rows",
    ),
    (
        "query",
        r#"{"sql":"SELECT id FROM orders","limit":" 1.0 "}"#,
        "1 of 2 rows",
    ),
    (
        "query",
        r#"{"sql":"SELECT id FROM orders","limit":[1]}"#,
        "1 of 2 rows",
    ),
    (
        "query",
        r#"{"sql":"SELECT 1","limit":"many"}"#,
        "!limit takes a whole number from 1, not the string \"many\".",
    ),
    (
        "query",
        r#"{"sql":"SELECT 1","limit":0}"#,
        "!limit takes a whole number from 1, not the number 0.",
    ),
    (
        "exec",
        r#"{"sql":"DELETE FROM orders","dry_run":"true"}"#,
        "Dry run",
    ),
    (
        "exec",
        r#"{"sql":"DELETE FROM orders","dry_run":"True"}"#,
        "Dry run",
    ),
    (
        "exec",
        r#"{"sql":"DELETE FROM orders","dry_run":1}"#,
        "Dry run",
    ),
    (
        "exec",
        r#"{"sql":"DELETE FROM orders","dry_run":"yes"}"#,
        "Dry run",
    ),
    (
        "exec",
        r#"{"sql":"DELETE FROM orders","dry_run":"perhaps"}"#,
        "!dry_run takes true or false",
    ),
    (
        "query",
        r#"{"sql":"SELECT 7 AS n","output":"JSON"}"#,
        r#""rows":[[7]]"#,
    ),
    (
        "query",
        r#"{"sql":"SELECT 7 AS n","output":["json"]}"#,
        r#""rows":[[7]]"#,
    ),
    (
        "query",
        r#"{"sql":"SELECT 7 AS n","output":"jsn"}"#,
        "!Did you mean \"json\"?",
    ),
    ("describe", r#"{"table":2024}"#, "2024 (table)"),
    ("search", r#"{"query":2024}"#, "!no FTS5 table to search"),
    // JSON in strings.
    (
        "query",
        r#"{"sql":"SELECT ?1 + ?2 AS n","params":"[40,2]"}"#,
        "42",
    ),
    (
        "query",
        r#"{"sql":"SELECT :a + 2 AS n","params":"{\"a\":40}"}"#,
        "42",
    ),
    (
        "query",
        r#"{"sql":"SELECT ? + 2 AS n","params":"\"[40]\""}"#,
        "42",
    ),
    (
        "query",
        r#"{"sql":"SELECT ? AS n","params":["[1,2]"]}"#,
        "[1,2]",
    ),
    (
        "query",
        r#"{"sql":"SELECT typeof(?) AS n","params":["5"]}"#,
        "text",
    ),
    (
        "query",
        r#"{"sql":"SELECT ?","params":"five"}"#,
        "!params takes an array or an object, not the string \"five\".",
    ),
    (
        "vector_search",
        r#"{"table":"vectors","column":"v","vector":"[1,2]"}"#,
        "distance",
    ),
    (
        "vector_search",
        r#"{"table":"vectors","column":"v","vector":["1","2"]}"#,
        "distance",
    ),
    // Arguments encoded twice, and three times.
    ("query", r#""{\"sql\":\"SELECT 42\"}""#, "42"),
    ("query", r#""\"{\\\"sql\\\":\\\"SELECT 42\\\"}\"""#, "42"),
    (
        "query",
        r#""{\"sql\":\"SELECT ?\",\"params\":[18446744073709551616]}""#,
        "!does not fit SQLite's 64-bit integers",
    ),
    (
        "query",
        r#""SELECT 1""#,
        "!arguments must be an object with the tool's arguments by name.",
    ),
    ("query", r#"["SELECT 1"]"#, "!arguments must be an object"),
    ("query", "5", "!arguments must be an object"),
    // Lists for one, and one for lists.
    ("query", r#"{"sql":["SELECT 42"]}"#, "42"),
    (
        "query",
        r#"{"sql":["SELECT 1","SELECT 2"]}"#,
        "!more than one statement",
    ),
    (
        "batch",
        r#"{"sql":["DELETE FROM orders -- all","SELECT 40 + 2"]}"#,
        "42",
    ),
    ("describe", r#"{"table":["orders"]}"#, "orders (table)"),
    (
        "describe",
        r#"{"table":["orders","2024"]}"#,
        "!table takes a string, not an array.",
    ),
    (
        "index_text",
        r#"{"table":"orders","columns":"note, city"}"#,
        "note, city",
    ),
    (
        "index_text",
        r#"{"table":"orders","columns":["note","city"]}"#,
        "note, city",
    ),
    (
        "index_text",
        r#"{"table":"orders","columns":"[\"note\",\"city\"]"}"#,
        "note, city",
    ),
    (
        "index_text",
        r#"{"table":"orders","columns":["note"]}"#,
        "note",
    ),
    // Names of arguments.
    (
        "exec",
        r#"{"sql":"DELETE FROM orders","dryRun":true}"#,
        "Dry run",
    ),
    (
        "exec",
        r#"{"SQL":"DELETE FROM orders","dry-run":true}"#,
        "Dry run",
    ),
    (
        "exec",
        r#"{"sql":"DELETE FROM orders","dry_run":true,"dryRun":false}"#,
        "!dry_run is given twice.",
    ),
    (
        "query",
        r#"{"sql":"SELECT 1","limt":5}"#,
        "!query takes no argument \"limt\"; did you mean limit?",
    ),
    (
        "query",
        r#"{"query":"SELECT 1"}"#,
        "!query takes no argument \"query\"; did you mean sql?",
    ),
    ("query", r#"{"statement":"SELECT 1"}"#, "!did you mean sql?"),
    (
        "query",
        r#"{"sql":"SELECT 1","zebra":5}"#,
        "!query takes no argument \"zebra\". query takes: sql (required)",
    ),
    (
        "tables",
        r#"{"db":"x.db"}"#,
        "!db is refused: only a server started with --root",
    ),
];

fn ask(session: &mut Session, tool: &str, arguments: &str) -> Value {
    let params = format!(r#"{{"name":"sqlarium_{tool}","arguments":{arguments}}}"#);
    let line = request("1", "tools/call", &params);
    json(&session.answer(line.as_bytes()).expect("an answer"))
}

#[test]
fn what_a_model_sends_is_taken_as_it_means_it() {
    let mut wrong = Vec::new();
    for (tool, arguments, part) in ROWS {
        let settings = ServerSettings::default();
        let mut session = Session::new(settings, Vec::new(), Recorder::leaked(), &REGISTRY);
        session.answer(initialize("2025-06-18").as_bytes());
        ask(&mut session, "batch", &format!(r#"{{"sql":"{DATA}"}}"#));
        let answer = ask(&mut session, tool, arguments);
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        let refused = part.starts_with('!');
        if result["isError"] != refused || !text.contains(part.trim_start_matches('!')) {
            wrong.push(format!("{tool} {arguments} gives {answer}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
