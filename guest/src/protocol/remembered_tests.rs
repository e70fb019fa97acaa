//! What a session remembers of its calls, as `history` lists it: also after an abort, and beside undo.

use serde_json::{Value, json};

use super::session::Session;
use super::testing::{Recorder, initialize, json as parsed, request};
use crate::host::Interruption;
use crate::registry::REGISTRY;
use crate::settings::{ServerSettings, Undo};

fn settings(undo: bool) -> ServerSettings {
    let mut settings = ServerSettings::default();
    settings.command.engine.in_memory = true;
    settings.command.engine.undo = undo.then(|| Undo {
        file: ":memory:".into(),
        bytes: 1 << 20,
        required: false,
    });
    settings
}

fn open(undo: bool, saved: Vec<u8>, host: &'static Recorder) -> Session {
    Session::new(settings(undo), saved, host, &REGISTRY)
}

fn line(tool: &str, arguments: &Value) -> String {
    let params = json!({ "name": format!("sqlarium_{tool}"), "arguments": arguments });
    request("1", "tools/call", &params.to_string())
}

fn call(session: &mut Session, tool: &str, arguments: &Value) -> Value {
    parsed(&session.answer(line(tool, arguments).as_bytes()).unwrap())["result"].take()
}

fn sql(session: &mut Session, tool: &str, sql: &str) {
    call(session, tool, &json!({ "sql": sql }));
}

/// Number, command, changes, the first word of the state, and SQL, the latest first.
fn listed(session: &mut Session, arguments: &Value) -> Vec<String> {
    let mut arguments = arguments.clone();
    arguments["output"] = "json".into();
    let rows = call(session, "history", &arguments)["structuredContent"]["rows"].take();
    let shown = |row: &Value| {
        let state = row[4].as_str().unwrap().split(':').next().unwrap();
        let cells = [&row[0], &row[2], &row[3], &json!(state), &row[5]];
        let cells = cells.map(|cell| cell.as_str().map_or(cell.to_string(), str::to_owned));
        cells.join("|")
    };
    rows.as_array().unwrap().iter().map(shown).collect()
}

#[test]
fn without_undo_the_writes_and_the_refusals_are_remembered() {
    let mut session = open(false, Vec::new(), Recorder::leaked());
    session.answer(initialize("2025-11-25").as_bytes());
    sql(&mut session, "exec", "CREATE TABLE t(a UNIQUE)");
    sql(&mut session, "exec", "INSERT INTO t\n  VALUES (1), (2)");
    sql(&mut session, "query", "SELECT * FROM t");
    sql(&mut session, "exec", "SELECT * FROM t");
    let dry = json!({ "sql": "DELETE FROM t", "dry_run": true });
    call(&mut session, "exec", &dry);
    sql(&mut session, "exec", "INSERT INTO t VALUES (2)");
    sql(&mut session, "query", "SELECT * FROM u");
    call(&mut session, "describe", &json!({ "table": "v" }));
    assert_eq!(
        listed(&mut session, &json!({})),
        [
            "null|describe||refused, not_found|{\"table\":\"v\"}",
            "null|query||refused, not_found|SELECT * FROM u",
            "null|exec||refused, constraint|INSERT INTO t VALUES (2)",
            "null|exec|2 rows changed|done|INSERT INTO t VALUES (1), (2)",
            "null|exec|schema changed|done|CREATE TABLE t(a UNIQUE)",
        ]
    );
    assert_eq!(listed(&mut session, &json!({ "limit": 2 })).len(), 2);
}

#[test]
fn an_instance_that_takes_over_remembers_what_the_one_before_did() {
    let host = Recorder::leaked();
    let mut session = open(false, Vec::new(), host);
    for number in 0..70 {
        sql(&mut session, "query", &format!("SELEC {number}"));
        assert!(host.state().len() < 64 << 10);
    }
    let mut next = open(false, host.state(), host);
    let reason = Interruption::Stopped("Stopped: too much.".into());
    let aborted = line("exec", &json!({ "sql": "CREATE TABLE t(a)" }));
    next.interrupted(aborted.as_bytes(), &reason).unwrap();
    drop(next);
    let mut last = open(false, host.state(), host);
    let rows = listed(&mut last, &json!({}));
    assert_eq!(rows.len(), 30);
    assert_eq!(rows[0], "null|exec||refused, interrupted|");
    assert_eq!(rows[1], "null|query||refused, syntax|SELEC 69");
    assert_eq!(rows[29], "null|query||refused, syntax|SELEC 41");
}

#[test]
fn what_a_batch_has_answered_stays_known_beside_it() {
    let host = Recorder::leaked();
    let mut session = open(false, Vec::new(), host);
    session.answer(initialize("2025-03-26").as_bytes());
    let calls: Vec<String> = (0..3)
        .map(|number| line("query", &json!({ "sql": format!("SELEC {number}") })))
        .collect();
    let batch = format!("[{}]", calls.join(","));
    session.answer(batch.as_bytes()).unwrap();
    // As it was when two of the three were answered.
    let states = host.states();
    let state = states[states.len() - 3].clone();
    let mut next = open(false, state, Recorder::leaked());
    let reason = Interruption::Stopped("Stopped: too much.".into());
    let replies = parsed(&next.interrupted(batch.as_bytes(), &reason).unwrap());
    let told = replies.to_string();
    assert_eq!(told.matches("syntax:").count(), 2, "{told}");
    assert_eq!(told.matches("Stopped").count(), 1, "{told}");
    // This revision has no structured content.
    next.answer(initialize("2025-11-25").as_bytes());
    assert_eq!(listed(&mut next, &json!({})).len(), 3);
}

#[test]
fn refusals_stand_between_the_writes_that_undo_records() {
    let mut session = open(true, Vec::new(), Recorder::leaked());
    sql(&mut session, "query", "SELEC 0");
    sql(&mut session, "exec", "CREATE TABLE t(a UNIQUE)");
    sql(&mut session, "exec", "INSERT INTO t VALUES (1)");
    sql(&mut session, "exec", "INSERT INTO t VALUES (1)");
    let lines = "INSERT INTO t VALUES (2); INSERT INTO t VALUES (3);";
    call(&mut session, "run", &json!({ "input": lines }));
    sql(&mut session, "query", "SELEC 5");
    assert_eq!(
        listed(&mut session, &json!({})),
        [
            "null|query||refused, syntax|SELEC 5",
            "4|run|t: 1 row inserted|done|INSERT INTO t VALUES (3);",
            "3|run|t: 1 row inserted|done|INSERT INTO t VALUES (2);",
            "null|exec||refused, constraint|INSERT INTO t VALUES (1)",
            "2|exec|t: 1 row inserted|done|INSERT INTO t VALUES (1)",
            "1|exec|table t created|done|CREATE TABLE t(a UNIQUE)",
            "null|query||refused, syntax|SELEC 0",
        ]
    );
}
