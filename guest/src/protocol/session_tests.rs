//! Which message gets which answer. The wire in full is in the repository's `tests/transcripts`;
//! here is what only a host sees, and what needs tools that misbehave on command.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::state::read_finished;
use super::super::testing::{Recorder, cancel, initialize, json, modern, request, session, strict};
use super::*;
use crate::host::Interruption;
use crate::settings::{OutputLimits, ServerSettings};

fn open(settings: &ServerSettings) -> (&'static Recorder, Session) {
    let host = Recorder::leaked();
    (host, session(settings, &[], host))
}

/// The settings of a server with replies as short as they can be.
fn short_replies() -> ServerSettings {
    let mut settings = ServerSettings::default();
    settings.command.output = OutputLimits {
        reply_bytes: 64 << 10,
        ..OutputLimits::default()
    };
    settings
}

fn ask(session: &mut Session, line: &str) -> Value {
    json(&session.answer(line.as_bytes()).expect("an answer"))
}

fn call(id: &str, tool: &str, arguments: &str) -> String {
    request(
        id,
        "tools/call",
        &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#),
    )
}

#[test]
fn eras_alternate_freely_on_one_pipe() {
    let (_, mut session) = open(&ServerSettings::default());
    let discovered = ask(&mut session, &modern("1", "server/discover", ""));
    assert_eq!(
        discovered["result"]["supportedVersions"],
        json!(["2026-07-28"])
    );
    let opened = ask(&mut session, &initialize("2025-06-18"));
    assert_eq!(opened["result"]["protocolVersion"], "2025-06-18");
    assert!(opened["result"].get("resultType").is_none());
    let listed = ask(&mut session, &modern("2", "tools/list", ""));
    assert_eq!(listed["result"]["resultType"], "complete");
    let listed = ask(&mut session, &request("3", "tools/list", "{}"));
    assert!(listed["result"].get("resultType").is_none());
    assert_eq!(
        ask(&mut session, &request("4", "ping", "{}"))["result"],
        json!({})
    );
    assert_eq!(
        ask(&mut session, &modern("5", "ping", ""))["error"]["code"],
        -32601
    );
}

#[test]
fn state_is_saved_when_it_changes_and_not_for_each_call() {
    let (host, mut session) = open(&ServerSettings::default());
    for line in [
        call("1", "echo", "{}"),
        request("2", "tools/list", "{}"),
        initialize("2025-11-25"),
        call("3", "echo", "{}"),
        modern("4", "tools/call", r#","name":"echo""#),
        modern("5", "tools/call", r#","name":"echo""#),
    ] {
        ask(&mut session, &line);
    }
    let saved: Vec<SavedState> = host.states().iter().map(|s| SavedState::read(s)).collect();
    let state = |modern| SavedState {
        negotiated: Some(Revision::November2025),
        modern,
    };
    assert_eq!(saved, [state(false), state(true)]);
}

#[test]
fn the_next_instance_goes_on_where_the_last_was_aborted() {
    let (host, mut first) = open(&strict());
    ask(&mut first, &initialize("2025-03-26"));
    let mut second = session(&strict(), &host.state(), host);
    let line = format!("[{}]", request("1", "ping", "{}"));
    assert_eq!(
        ask(&mut second, &line),
        json!([{"jsonrpc": "2.0", "id": 1, "result": {}}])
    );
}

#[test]
fn a_cancelled_call_is_not_answered() {
    let (_, mut session) = open(&ServerSettings::default());
    assert_eq!(session.answer(call("1", "stop", "{}").as_bytes()), None);
}

#[test]
fn a_strict_server_answers_a_cancelled_legacy_call_but_never_a_modern_one() {
    let (_, mut session) = open(&strict());
    ask(&mut session, &initialize("2025-11-25"));
    assert_eq!(
        ask(&mut session, &call("1", "stop", "{}"))["error"]["code"],
        -32800
    );
    let line = modern("2", "tools/call", r#","name":"stop""#);
    assert_eq!(session.answer(line.as_bytes()), None);
}

#[test]
fn a_strict_server_looks_for_a_cancellation_behind_a_legacy_call() {
    let (host, mut session) = open(&strict());
    ask(&mut session, &initialize("2025-11-25"));
    host.queue(&request("2", "ping", "{}"));
    host.queue(&cancel("1"));
    let answer = ask(&mut session, &call("1", "echo", "{}"));
    assert_eq!(answer["error"]["code"], -32800);
}

#[test]
fn a_cancellation_that_comes_too_late_is_passed_over() {
    let (_, mut session) = open(&ServerSettings::default());
    assert_eq!(session.answer(cancel("1").as_bytes()), None);
}

#[test]
fn progress_rises_and_ends_before_the_answer() {
    let (host, mut session) = open(&ServerSettings::default());
    let line = |id: &str, token: &str| {
        request(
            id,
            "tools/call",
            &format!(r#"{{"name":"slow","_meta":{{"progressToken":{token}}}}}"#),
        )
    };
    ask(&mut session, &line("1", "0"));
    let sent: Vec<Value> = host.sent().iter().map(|line| json(line)).collect();
    let values: Vec<f64> = sent
        .iter()
        .filter_map(|line| line["params"]["progress"].as_f64())
        .collect();
    assert_eq!(values, [1.0, 2.0, 3.0]);
    assert!(
        sent.iter()
            .all(|line| line["params"]["progressToken"] == 0 && line.get("id").is_none())
    );
    assert_eq!(sent[2]["params"]["message"], "running for 3 s");

    ask(&mut session, &initialize("2024-11-05"));
    ask(&mut session, &line("2", r#""t""#));
    let first = json(&host.sent()[3]);
    assert_eq!(
        first["params"],
        json!({"progressToken": "t", "progress": 1.0})
    );
}

#[test]
fn no_progress_is_reported_to_those_who_did_not_ask() {
    let (host, mut session) = open(&ServerSettings::default());
    ask(&mut session, &call("1", "slow", "{}"));
    let odd = r#"{"name":"slow","_meta":{"progressToken":1.5}}"#;
    ask(&mut session, &request("2", "tools/call", odd));
    assert!(host.sent().is_empty());
}

#[test]
fn a_failed_call_is_a_result() {
    let (_, mut session) = open(&ServerSettings::default());
    let answer = ask(&mut session, &call("1", "fail", "{}"));
    assert_eq!(answer["result"]["isError"], true);
}

#[test]
fn an_answer_over_the_budget_is_refused_with_its_id() {
    let (_, mut session) = open(&short_replies());
    let long = format!(r#"{{"t":"{}"}}"#, "x".repeat(64 << 10));
    let answer = ask(&mut session, &call(r#""big""#, "echo", &long));
    assert_eq!(answer["id"], "big");
    assert_eq!(answer["error"]["code"], -32603);
    assert!(
        answer["error"]["message"]
            .as_str()
            .expect("text")
            .contains("--reply")
    );
    assert_eq!(
        ask(&mut session, &call("2", "echo", "{}"))["result"]["isError"],
        false
    );
}

#[test]
fn an_object_comes_beside_the_text_where_the_revision_knows_it() {
    let (_, mut session) = open(&ServerSettings::default());
    for (revision, known) in [
        ("2024-11-05", false),
        ("2025-03-26", false),
        ("2025-06-18", true),
        ("2025-11-25", true),
    ] {
        ask(&mut session, &initialize(revision));
        let result = &ask(&mut session, &call("1", "echo", r#"{"output":"json"}"#))["result"];
        assert_eq!(
            result.get("structuredContent").is_some(),
            known,
            "{revision}"
        );
        let text = json(result["content"][0]["text"].as_str().expect("text"));
        assert_eq!(
            text,
            json!({"ok": true, "given": {"output": "json"}}),
            "{revision}"
        );
    }
}

#[test]
fn an_id_of_any_size_comes_back_as_it_was_written() {
    let (_, mut session) = open(&ServerSettings::default());
    for id in [
        "9007199254740993",
        "-123456789012345678901234567890",
        r#""\u0061""#,
        "0",
    ] {
        let line = session
            .answer(request(id, "ping", "{}").as_bytes())
            .expect("an answer");
        assert_eq!(
            line,
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
        );
    }
}

#[test]
fn an_overlong_line_is_refused_under_the_id_that_its_start_shows() {
    let (_, mut session) = open(&ServerSettings::default());
    let refused = json(&session.overlong(br#"{"jsonrpc":"2.0","id":7,"method":"tools/ca"#));
    assert_eq!(
        (&refused["id"], &refused["error"]["code"]),
        (&json!(7), &json!(-32600))
    );
    let message = refused["error"]["message"].as_str().expect("text");
    assert!(message.contains("1048576 bytes (--request)"), "{message}");
    assert_eq!(json(&session.overlong(b"{\"params\":{"))["id"], Value::Null);
    // As the SDKs of TypeScript and Python write it.
    let start = format!(
        r#"{{"method":"tools/call","params":{{"x":"{}"#,
        "x".repeat(1 << 20)
    );
    for (end, id) in [
        (r#"x"},"jsonrpc":"2.0","id":901}"#, json!(901)),
        (
            r#"x"}, "id" : "nine \"id\":5}" , "jsonrpc": "2.0" } "#,
            json!("nine \"id\":5}"),
        ),
        (r#"x"},"id":7}"#, json!(7)),
        (r#"x","id":7}}"#, Value::Null),
        (r#"x","y":{"id":7}},"jsonrpc":"2.0"}"#, Value::Null),
        (r#"x \"id\":7}"}}"#, Value::Null),
        (r#"x"},"id":7},"#, Value::Null),
        (r#"x"},"id":[7]}"#, Value::Null),
        (r#"x"},"jsonrpc":"2.0"}"#, Value::Null),
        ("}", Value::Null),
    ] {
        let line = format!("{start}{end}");
        assert_eq!(json(&session.overlong(line.as_bytes()))["id"], id, "{end}");
    }
    ask(&mut session, &initialize("2025-11-25"));
    assert!(json(&session.overlong(b"   ")).get("id").is_none());
}

mod batches {
    use super::*;

    fn batched(revision: &str) -> (&'static Recorder, Session) {
        let (host, mut session) = open(&ServerSettings::default());
        ask(&mut session, &initialize(revision));
        (host, session)
    }

    #[test]
    fn are_answered_on_one_line_in_order() {
        let (_, mut session) = batched("2025-03-26");
        let note = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let line = format!(
            "[{},{note},7,{}]",
            request("1", "ping", "{}"),
            call("2", "echo", "{}")
        );
        let answers = ask(&mut session, &line);
        let answers = answers.as_array().expect("an array");
        assert_eq!(answers.len(), 3);
        assert_eq!(answers[0]["id"], 1);
        assert_eq!(
            answers[1],
            json!({"jsonrpc": "2.0", "id": null, "error": {
                "code": -32600, "message": "Invalid request: a message is a JSON object.",
            }})
        );
        assert_eq!(answers[2]["id"], 2);
        assert_eq!(session.answer(format!("[{note}]").as_bytes()), None);
    }

    #[test]
    fn are_refused_in_every_other_revision() {
        for revision in ["2024-11-05", "2025-06-18", "2025-11-25"] {
            let (_, mut session) = batched(revision);
            let answer = ask(&mut session, &format!("[{}]", request("1", "ping", "{}")));
            assert_eq!(answer["error"]["code"], -32600, "{revision}");
        }
    }

    #[test]
    fn hold_neither_a_handshake_nor_a_modern_request() {
        let (_, mut session) = batched("2025-03-26");
        let answers = ask(
            &mut session,
            &format!(
                "[{},{}]",
                initialize("2024-11-05"),
                modern("1", "tools/list", "")
            ),
        );
        assert_eq!(answers[0]["error"]["code"], -32600);
        assert_eq!(answers[1]["error"]["code"], -32600);
        assert!(
            answers[1]["error"]["message"]
                .as_str()
                .expect("text")
                .contains("2026-07-28")
        );
    }

    #[test]
    fn leave_each_answer_with_the_host_as_soon_as_it_is_there() {
        let (host, mut session) = batched("2025-03-26");
        let handshake = host.states().len();
        let note = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let line = format!(
            "[{},{note},{},{}]",
            request("1", "ping", "{}"),
            call("2", "stop", "{}"),
            call("3", "echo", "{}")
        );
        let twice = [ask(&mut session, &line), ask(&mut session, &line)];
        assert_eq!(twice[0], twice[1]);
        let finished = |saved: &Vec<u8>| {
            let replies = read_finished(saved);
            let answered = replies
                .iter()
                .flatten()
                .map(|reply| json(reply.text())["id"].clone());
            (replies.len(), answered.collect::<Vec<_>>())
        };
        let saved: Vec<_> = host.states()[handshake..].iter().map(finished).collect();
        let once = [
            (0, vec![]),
            (1, vec![json!(1)]),
            (2, vec![json!(1)]),
            (3, vec![json!(1), json!(3)]),
        ];
        assert_eq!(
            saved,
            [&once[..], &once[..]].concat(),
            "the second forgets the first"
        );
    }

    #[test]
    fn have_a_limit() {
        let (_, mut session) = batched("2025-03-26");
        let batch =
            |count: usize| format!("[{}]", vec![request("1", "ping", "{}"); count].join(","));
        assert_eq!(
            ask(&mut session, &batch(100)).as_array().map(Vec::len),
            Some(100)
        );
        let refused = ask(&mut session, &batch(101));
        assert_eq!(refused["error"]["code"], -32600);
        assert!(
            refused["error"]["message"]
                .as_str()
                .expect("text")
                .contains("100")
        );
    }

    #[test]
    fn over_the_budget_keep_the_answers_that_fit() {
        let (_, mut session) = open(&short_replies());
        ask(&mut session, &initialize("2025-03-26"));
        let long = format!(r#"{{"t":"{}"}}"#, "x".repeat(40_000));
        let line = format!(
            "[{},{},{}]",
            call("1", "echo", &long),
            call("2", "echo", &long),
            call("3", "echo", "{}")
        );
        let answers = ask(&mut session, &line);
        assert_eq!(answers[0]["result"]["isError"], false);
        assert_eq!(answers[1]["error"]["code"], -32603);
        assert_eq!(answers[2]["result"]["isError"], false);
    }

    #[test]
    fn pass_over_a_member_that_was_cancelled() {
        let (host, mut session) = batched("2025-03-26");
        host.queue(&cancel("2"));
        let line = format!("[{},{}]", call("1", "echo", "{}"), call("2", "echo", "{}"));
        let answers = ask(&mut session, &line);
        assert_eq!(answers.as_array().map(Vec::len), Some(1));
        assert_eq!(answers[0]["id"], 1);
    }

    #[test]
    fn say_what_was_not_run_because_an_earlier_member_was_cancelled() {
        let (host, mut session) = batched("2025-03-26");
        // Before the first call, before the second.
        host.answer(Ok(Duration::ZERO));
        host.answer(Err(Interruption::Cancelled));
        let line = format!(
            "[{},{},{}]",
            call("1", "stop", "{}"),
            call("2", "echo", "{}"),
            request("3", "ping", "{}")
        );
        let answers = ask(&mut session, &line);
        assert_eq!(answers[0]["id"], 2);
        assert!(
            answers[0]["error"]["message"]
                .as_str()
                .expect("text")
                .starts_with("Not run")
        );
        assert_eq!(answers[1], json!({"jsonrpc": "2.0", "id": 3, "result": {}}));
    }
}
