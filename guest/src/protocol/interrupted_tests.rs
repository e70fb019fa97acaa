//! What a client gets whose line was aborted: each kind of line, and states of every kind.

use serde_json::{Value, json};

use super::super::state::{SavedState, finished};
use super::super::testing::{Recorder, cancel, initialize, json, modern, request, session, strict};
use super::*;
use crate::settings::ServerSettings;

const WHY: &str = "Stopped: it took too long.";

fn stopped() -> Interruption {
    Interruption::Stopped(WHY.into())
}

/// What the instance says that takes over from one that saved `saved`.
fn after(
    settings: &ServerSettings,
    saved: &[u8],
    line: &str,
    reason: &Interruption,
) -> Option<Value> {
    let mut session = session(settings, saved, Recorder::leaked());
    let reply = session.interrupted(line.as_bytes(), reason)?;
    Some(json(&reply))
}

fn told(line: &str) -> Option<Value> {
    after(&ServerSettings::default(), &[], line, &stopped())
}

/// The state of a session that agreed on a revision.
fn agreed(revision: &str) -> Vec<u8> {
    let host = Recorder::leaked();
    session(&ServerSettings::default(), &[], host).answer(initialize(revision).as_bytes());
    host.state()
}

fn call(id: &str, arguments: &str) -> String {
    request(
        id,
        "tools/call",
        &format!(r#"{{"name":"echo","arguments":{arguments}}}"#),
    )
}

#[test]
fn a_call_gets_a_result_that_says_why() {
    assert_eq!(
        told(&call("7", "{}")),
        Some(json!({"jsonrpc": "2.0", "id": 7, "result": {
            "content": [{"type": "text", "text": "interrupted: Stopped: it took too long. \
                Temporary tables and PRAGMA settings are lost."}],
            "isError": true,
        }}))
    );
}

#[test]
fn a_call_that_asks_for_an_object_gets_one_where_the_revision_knows_it() {
    let line = call("7", r#"{"output":"json"}"#);
    let reply = told(&line).unwrap();
    assert_eq!(
        reply["result"]["structuredContent"],
        json!({"ok": false, "command": "echo", "status": "interrupted", "message": WHY,
            "hint": "Temporary tables and PRAGMA settings are lost."})
    );
    let text = reply["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("interrupted: Stopped: "), "{text}");
    let older = after(
        &ServerSettings::default(),
        &agreed("2025-03-26"),
        &line,
        &stopped(),
    );
    assert!(older.unwrap()["result"].get("structuredContent").is_none());
}

#[test]
fn a_modern_call_gets_a_result_of_its_era() {
    let reply = told(&modern("7", "tools/call", r#","name":"echo""#)).unwrap();
    assert_eq!(reply["result"]["resultType"], "complete");
    assert_eq!(reply["result"]["isError"], true);
}

#[test]
fn what_is_no_call_of_a_tool_that_is_served_gets_an_error() {
    for line in [
        initialize("2025-11-25"),
        request("0", "tools/list", "{}"),
        modern("0", "server/discover", ""),
        request("0", "tools/call", r#"{"name":"nope"}"#),
        request("0", "tools/call", "[]"),
    ] {
        let error = json!({"code": -32603, "message": WHY});
        let reply = json!({"jsonrpc": "2.0", "id": 0, "error": error});
        assert_eq!(told(&line), Some(reply), "{line}");
    }
}

#[test]
fn what_nobody_waits_for_gets_nothing() {
    for line in [
        "",
        " \r",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        &cancel("1"),
    ] {
        assert_eq!(told(line), None, "{line}");
    }
}

#[test]
fn what_is_no_message_is_refused_as_ever() {
    for (line, code) in [("{", -32700), ("7", -32600), ("{}", -32600), ("[]", -32600)] {
        assert_eq!(told(line).unwrap()["error"]["code"], code, "{line}");
    }
}

#[test]
fn a_line_is_read_no_further_than_its_reply_needs() {
    // Deeper than is parsed, and a number beyond every range.
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let line = request(
        "7",
        "tools/call",
        &format!(r#"{{"a":{deep},"b":1e999,"name":"echo"}}"#),
    );
    assert_eq!(told(&line).unwrap()["result"]["isError"], true);
}

#[test]
fn a_cancelled_call_gets_nothing_or_from_a_strict_server_an_error() {
    let cancelled = |settings: &ServerSettings, line: &str| {
        after(
            settings,
            &agreed("2025-11-25"),
            line,
            &Interruption::Cancelled,
        )
    };
    let modern = modern("7", "tools/call", r#","name":"echo""#);
    for line in [&call("7", "{}"), &modern] {
        assert_eq!(cancelled(&ServerSettings::default(), line), None);
    }
    let refused = cancelled(&strict(), &call("7", "{}")).unwrap();
    assert_eq!(
        (&refused["id"], &refused["error"]["code"]),
        (&json!(7), &json!(-32800))
    );
    assert_eq!(cancelled(&strict(), &modern), None);
}

#[test]
fn a_state_that_is_garbage_is_a_fresh_start() {
    for saved in [
        &b"\xff\x00"[..],
        b"{}\n\n",
        b"{\"negotiated\":7,\"modern\":1}\n[]\n",
    ] {
        let line = call("7", "{}");
        let reply = after(&ServerSettings::default(), saved, &line, &stopped());
        assert_eq!(reply, told(&line));
    }
}

mod batches {
    use super::*;

    const STATE: SavedState = SavedState {
        negotiated: Some(Revision::March2025),
        modern: false,
    };

    /// A ping that is finished, a notification, and calls.
    fn line(calls: &[&str]) -> String {
        let note = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let mut members = vec![request("0", "ping", "{}"), note.to_owned()];
        members.extend(calls.iter().map(|id| call(id, "{}")));
        format!("[{}]", members.join(","))
    }

    fn saved(replies: &[&str]) -> Vec<u8> {
        let mut saved = STATE.write();
        for reply in replies {
            saved.extend(finished(
                super::super::super::reply::Written::read(reply).as_ref(),
            ));
        }
        saved
    }

    const PONG: &str = r#"{"jsonrpc":"2.0","id":0,"result":{}}"#;

    fn text(reply: &Value) -> &str {
        reply["result"]["content"][0]["text"]
            .as_str()
            .unwrap_or_default()
    }

    #[test]
    fn keep_their_answers_and_name_what_was_not_run() {
        let line = line(&["1", "2", "3"]);
        let settings = ServerSettings::default();
        let replies = after(&settings, &saved(&[PONG, ""]), &line, &stopped()).unwrap();
        // The first call was cancelled, and is finished without a reply.
        let ids: Vec<&Value> = replies
            .as_array()
            .unwrap()
            .iter()
            .map(|r| &r["id"])
            .collect();
        assert_eq!(ids, [0, 2, 3]);
        assert_eq!(replies[0], json(PONG));
        assert!(text(&replies[1]).starts_with("interrupted: "), "{replies}");
        let message = replies[2]["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("Not run: "), "{message}");
    }

    #[test]
    fn that_were_cancelled_say_so_of_what_was_not_run() {
        let cancelled = |settings: &ServerSettings| {
            let line = line(&["1", "2"]);
            after(settings, &saved(&[PONG]), &line, &Interruption::Cancelled).unwrap()
        };
        let replies = cancelled(&ServerSettings::default());
        assert_eq!(replies.as_array().unwrap().len(), 2);
        let message = replies[1]["error"]["message"].as_str().unwrap();
        assert!(message.contains("was cancelled"), "{message}");
        assert_eq!(cancelled(&strict())[1]["error"]["code"], -32800);
    }

    #[test]
    fn that_are_all_finished_are_answered() {
        let settings = ServerSettings::default();
        let replies = after(&settings, &saved(&[PONG]), &line(&[]), &stopped());
        assert_eq!(replies, Some(json!([json(PONG)])));
    }

    #[test]
    fn believe_no_forged_answer() {
        let mut forged = saved(&[PONG]);
        forged.extend(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"forged\"}\n");
        let settings = ServerSettings::default();
        let replies = after(&settings, &forged, &line(&["1"]), &stopped()).unwrap();
        assert!(text(&replies[1]).starts_with("interrupted: "), "{replies}");
        // More answers than there are members.
        let many = saved(&[PONG; 9]);
        let replies = after(&settings, &many, &line(&["1"]), &stopped()).unwrap();
        assert_eq!(replies.as_array().unwrap().len(), 2);
    }

    #[test]
    fn stay_within_the_budget() {
        let mut settings = ServerSettings::default();
        settings.command.output.reply_bytes = 64 << 10;
        let long = json!({"jsonrpc": "2.0", "id": 0, "result": {"t": "x".repeat(65_400)}});
        let replies = session(&settings, &saved(&[&long.to_string()]), Recorder::leaked())
            .interrupted(line(&["1", "2", "3"]).as_bytes(), &stopped())
            .unwrap();
        assert!(replies.len() < 64 << 10, "{}", replies.len());
        let replies = json(&replies);
        assert_eq!(replies.as_array().unwrap().len(), 4);
        assert_eq!(replies[0]["error"]["code"], -32603);
    }

    #[test]
    fn are_refused_as_a_whole_where_they_would_have_been() {
        let settings = ServerSettings::default();
        for (revision, line) in [
            ("2025-11-25", line(&["1"])),
            ("2025-03-26", line(&["1"; 100])),
        ] {
            let reply = after(&settings, &agreed(revision), &line, &stopped()).unwrap();
            assert_eq!(reply["error"]["code"], -32600, "{revision}");
        }
    }
}
