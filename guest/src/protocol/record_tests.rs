use serde_json::{Value, json};

use super::*;
use crate::host::Interruption;
use crate::protocol::session::Session;
use crate::protocol::testing::{Recorder, initialize, json, modern, request, session};

fn recording() -> ServerSettings {
    ServerSettings {
        audit: true,
        threads: true,
        ..ServerSettings::default()
    }
}

fn recorder(host: &'static Recorder) -> Session {
    session(&recording(), b"", host)
}

/// A call of `echo` with these members in its `_meta`.
fn call(meta: &Value, arguments: &Value) -> String {
    let params = json!({"_meta": meta, "name": "echo", "arguments": arguments});
    request("1", "tools/call", &params.to_string())
}

fn in_thread(arguments: &Value) -> String {
    call(&json!({"sqlarium/thread": "t"}), arguments)
}

fn remembered(session: &mut Session, line: &str) -> Value {
    let reply = json(&session.answer(line.as_bytes()).expect("a reply"));
    reply["result"]["_meta"]["sqlarium/session"].clone()
}

#[test]
fn a_result_carries_the_calls_of_its_thread_by_their_names_alone() {
    let mut session = recorder(Recorder::leaked());
    remembered(
        &mut session,
        &in_thread(&json!({"sql": "SELECT 'secret'", "limit": 5})),
    );
    let found = remembered(&mut session, &in_thread(&json!({})));
    assert_eq!(found["threadId"], "t");
    let calls = found["calls"].as_array().expect("calls");
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[0]["tool"], "echo");
    assert_eq!(calls[0]["arguments"], json!(["limit", "sql"]));
    assert_eq!(calls[1]["arguments"], json!([]));
    let at = calls[1]["at"].as_str().expect("a time");
    humantime::parse_rfc3339(at).expect(at);
    assert!(!found.to_string().contains("secret"));
}

#[test]
fn the_last_twenty_are_carried_oldest_first() {
    let mut session = recorder(Recorder::leaked());
    let mut last = Value::Null;
    for number in 0..25 {
        last = remembered(
            &mut session,
            &in_thread(&json!({ format!("n{number}"): 1 })),
        );
    }
    let calls = last["calls"].as_array().expect("calls");
    let names: Vec<String> = calls
        .iter()
        .map(|call| call["arguments"][0].as_str().expect("a name").into())
        .collect();
    let expected: Vec<String> = (5..25).map(|number| format!("n{number}")).collect();
    assert_eq!(names, expected);
}

#[test]
fn the_thread_is_the_clients_own_and_none_is_nobodys() {
    let mut session = recorder(Recorder::leaked());
    let mut id =
        |meta: Value| remembered(&mut session, &call(&meta, &json!({})))["threadId"].clone();
    assert_eq!(
        id(json!({"threadId": " b ", "sqlarium/thread": " a\n"})),
        "a"
    );
    assert_eq!(id(json!({"threadId": " b "})), "b");
    for meta in [
        json!({}),
        json!(null),
        json!({"threadId": ""}),
        json!({"threadId": " \t"}),
        json!({"threadId": 7}),
        json!({"threadId": "x".repeat(257)}),
        json!({"threadId": "x".repeat(900_000)}),
        json!({"sqlarium/thread": "", "threadId": "b"}),
    ] {
        assert_eq!(id(meta.clone()), Value::Null, "{:.40}", meta.to_string());
    }
    let mut off = self::session(&ServerSettings::default(), b"", Recorder::leaked());
    let reply = off
        .answer(in_thread(&json!({})).as_bytes())
        .expect("a reply");
    assert!(!reply.contains("_meta"), "{reply}");
}

#[test]
fn batches_and_the_stateless_era_remember_too() {
    let mut session = recorder(Recorder::leaked());
    session.answer(initialize("2025-03-26").as_bytes());
    let line = format!("[{},{}]", in_thread(&json!({})), in_thread(&json!({})));
    let replies = json(&session.answer(line.as_bytes()).expect("replies"));
    for (index, reply) in replies.as_array().expect("replies").iter().enumerate() {
        let calls = &reply["result"]["_meta"]["sqlarium/session"]["calls"];
        assert_eq!(calls.as_array().map(Vec::len), Some(index + 1));
    }
    let line = modern("1", "tools/call", r#","name":"echo""#).replacen(
        r#""_meta":{"#,
        r#""_meta":{"threadId":"t","#,
        1,
    );
    let meta = json(&session.answer(line.as_bytes()).expect("a reply"))["result"]["_meta"].clone();
    let calls = &meta["sqlarium/session"]["calls"];
    assert_eq!(calls.as_array().map(Vec::len), Some(3));
    assert_eq!(
        meta["io.modelcontextprotocol/serverInfo"]["name"],
        "sqlarium"
    );
}

#[test]
fn other_servers_entries_are_learnt_of_and_nonsense_is_passed_over() {
    let host = Recorder::leaked();
    let mut session = recorder(host);
    remembered(&mut session, &in_thread(&json!({})));
    host.remember("t", "nonsense");
    host.remember(
        "t",
        &format!(r#"{{"tool":"{}","arguments":[],"at":""}}"#, "x".repeat(400)),
    );
    host.remember(
        "t",
        "{\"tool\":\"other\",\n\"arguments\":[],\"at\":\"\u{202e}\"}",
    );
    let found = remembered(&mut session, &in_thread(&json!({})));
    let calls = found["calls"].as_array().expect("calls");
    let tools: Vec<_> = calls.iter().map(|call| call["tool"].clone()).collect();
    assert_eq!(tools, ["echo", "other", "echo"]);
}

#[test]
fn names_of_arguments_take_little_room_whatever_they_are() {
    let mut session = recorder(Recorder::leaked());
    for name in ["\u{1}".repeat(1000), "é".repeat(1000), "\"".repeat(1000)] {
        let arguments: Map<String, Value> = (0..200)
            .map(|number| (format!("{number}{name}"), json!(1)))
            .collect();
        let found = remembered(&mut session, &in_thread(&arguments.into()));
        for call in found["calls"].as_array().expect("calls") {
            assert!(call.to_string().len() <= ENTRY_BYTES);
        }
        assert!(found.to_string().len() <= MOST_BYTES as usize);
    }
}

#[test]
fn a_call_that_was_aborted_is_in_its_thread() {
    let host = Recorder::leaked();
    let line = in_thread(&json!({"sql": "x"}));
    recorder(host).answer(line.as_bytes());
    let reason = Interruption::Stopped("It took too long.".into());
    let mut session = recorder(host);
    let reply = session
        .interrupted(line.as_bytes(), &reason)
        .expect("a reply");
    let reply = json(&reply);
    assert_eq!(reply["result"]["isError"], true);
    let calls = &reply["result"]["_meta"]["sqlarium/session"]["calls"];
    assert_eq!(calls.as_array().map(Vec::len), Some(1));
    // The instance that said so goes on, and counts the next call once.
    let next = remembered(&mut session, &line);
    assert_eq!(next["calls"].as_array().map(Vec::len), Some(2));
}

#[test]
fn the_owner_learns_of_every_call_how_it_began_and_ended() {
    let host = Recorder::leaked();
    let mut session = recorder(host);
    session.answer(in_thread(&json!({"b": [1, "é"], "a": "x"})).as_bytes());
    for tool in ["fail", "stop", "nonsense"] {
        let line = request("\"q\"", "tools/call", &json!({"name": tool}).to_string());
        session.answer(line.as_bytes());
    }
    session.answer(request("2", "tools/call", "{}").as_bytes());
    session.answer(request("3", "ping", "{}").as_bytes());
    assert_eq!(
        host.audited(),
        [
            "1 echo Some(\"t\") [(\"a\", \"\\\"x\\\"\"), (\"b\", \"[1,\\\"é\\\"]\")] None",
            "ok",
            "\"q\" fail None [] None",
            "syntax",
            "\"q\" stop None [] None",
            "interrupted",
            "\"q\" nonsense None [] None",
            "not_found",
            "2  None [] None",
            "syntax",
        ]
    );
    assert_eq!(
        statements(&json!(["SELECT 1", "SELECT 2"])),
        "SELECT 1\nSELECT 2"
    );
}

#[test]
fn an_owner_reads_a_thread_that_drives_no_terminal() {
    let entry = |tool: &str| {
        let entry = Entry {
            tool: tool.into(),
            arguments: vec!["a".into(), "\u{1b}[2J".into()],
            at: "2026-12-01T00:00:00.000Z".into(),
        };
        serde_json::to_vec(&entry).expect("JSON")
    };
    let entries = [entry("query"), b"nonsense".to_vec(), entry("e\u{202e}x")];
    let text = show_thread("t", &entries, false);
    assert_eq!(text.lines().count(), 2);
    assert!(
        text.starts_with("2026-12-01T00:00:00.000Z  query  a, \\"),
        "{text}"
    );
    let shown = show_thread("é\u{7f}", &entries, true);
    assert!(
        shown.bytes().all(|byte| (0x20..0x7f).contains(&byte)),
        "{shown}"
    );
    assert_eq!(json(&shown)["threadId"], "é\u{7f}");
    assert_eq!(json(&shown)["calls"][1]["tool"], "e\u{202e}x");
}
