//! What is a message, and what is said of a line that is none.

use super::*;

fn id(text: &str) -> Option<Id> {
    Id::parse(serde_json::from_str(text).expect("test ids are JSON"))
}

fn single(text: &str) -> Result<Message, Malformed> {
    match line(text.as_bytes()) {
        Line::Single(text) => message(text),
        Line::Malformed(malformed) => Err(malformed),
        other => panic!("{text} is {other:?}"),
    }
}

fn code(text: &str) -> i64 {
    single(text).expect_err(text).code
}

#[test]
fn values_to_bind_stay_as_they_are_written_where_a_number_would_lose_digits() {
    let params = |arguments: &str| {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"a","arguments":{arguments}}}}}"#
        );
        match single(&line) {
            Ok(Message::Request(request)) => request.params["arguments"].clone(),
            other => panic!("{line} is {other:?}"),
        }
    };
    assert_eq!(
        params(r#"{"params":[1,-9223372036854775809]}"#)["params"],
        "[1,-9223372036854775809]"
    );
    for arguments in [
        r#"{"params":[9223372036854775807,1e30]}"#,
        r#"{"params":[[18446744073709551616,0]]}"#,
        r#"{"vector":[18446744073709551616,0]}"#,
        r#"{"params":18446744073709551616}"#,
    ] {
        let plain: Value = serde_json::from_str(arguments).unwrap();
        assert_eq!(params(arguments), plain, "{arguments}");
    }
}

fn outline(text: &str) -> Result<Option<Outline>, Malformed> {
    Outline::read(text)
}

#[test]
fn the_outline_of_a_request_is_what_a_reply_without_an_answer_needs() {
    let call = r#"{"method":"tools/call","params":{"arguments":{"output":"json","params":[[0]]},
        "name":"a"},"jsonrpc":"2.0","id":7}"#;
    let outline_of = |text: &str| outline(text).unwrap().unwrap();
    let found = outline_of(call);
    assert_eq!(
        (Some(found.id), found.tool.as_deref()),
        (id("7"), Some("a"))
    );
    assert!(found.wants_object && !found.modern);
    let found = outline_of(r#"{"id":"x","method":"ping","params":{"name":"a"}}"#);
    assert_eq!((Some(found.id), found.tool), (id("\"x\""), None));
    let modern = r#"{"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/clientInfo":{}}}}"#;
    assert!(outline_of(modern).modern);
    assert!(outline_of(r#"{"id":1,"method":"server/discover"}"#).modern);
}

#[test]
fn the_outline_and_the_message_agree_on_who_gets_a_reply() {
    for text in [
        r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#,
        r#"{"jsonrpc":"2.0","method":"a"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"error":{}}"#,
        r#"{"id":null,"method":"a"}"#,
        r#"{"id":1,"method":3}"#,
        r#"{"method":3}"#,
        "{}",
        "7",
    ] {
        let silent = matches!(
            single(text),
            Ok(Message::Notification(_) | Message::Response)
        );
        assert_eq!(matches!(outline(text), Ok(None)), silent, "{text}");
    }
}

#[test]
fn an_id_is_found_in_the_start_of_a_message_if_all_of_it_is_there() {
    let within = |head: &str| id_within(head.as_bytes());
    assert_eq!(
        within(r#" {"jsonrpc":"2.0","id":12,"method":"to"#),
        id("12")
    );
    assert_eq!(
        within(r#"{"id":"a\"b","params":{"id":7,"x":"#),
        id(r#""a\"b""#)
    );
    assert_eq!(within("{\"id\":1.0,\u{e9}"), id("1"));
    for head in [
        "",
        "[{\"id\":1},",
        r#"{"id":12"#,
        r#"{"id":"ab"#,
        r#"{"id":{},"a"#,
        r#"{"params":{"id":7},"me"#,
        r#"{"params":{"sql":"SELECT "#,
    ] {
        assert_eq!(within(head), None, "{head}");
    }
}

#[test]
fn an_id_is_written_back_as_it_came() {
    for text in [
        "0",
        "-1",
        "9007199254740993",
        "123456789012345678901234567890",
        r#""a\u0062""#,
    ] {
        assert_eq!(serde_json::to_string(&id(text)).expect("serialises"), text);
    }
}

#[test]
fn ids_are_compared_by_type_and_value() {
    assert_eq!(id(r#""a\u0062""#), id(r#""ab""#));
    assert_eq!(id("7"), id("7.0"));
    assert_eq!(id("-0"), id("0"));
    assert_ne!(id("7"), id(r#""7""#));
    assert_ne!(id("7"), id("-7"));
    assert_ne!(id("9007199254740992"), id("9007199254740993"));
}

#[test]
fn what_is_neither_string_nor_integer_is_no_id() {
    for text in ["null", "true", "1.5", "1e3", "[1]", "{}"] {
        assert_eq!(id(text), None, "{text}");
    }
}

#[test]
fn a_byte_order_mark_and_white_space_around_a_message_are_passed_over() {
    let text = "\u{FEFF} \t{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} \r";
    assert!(matches!(single(text), Ok(Message::Request(_))));
    for blank in ["", " ", "\r", "\u{FEFF}", "\t \r"] {
        assert!(matches!(line(blank.as_bytes()), Line::Blank), "{blank:?}");
    }
}

#[test]
fn what_is_not_json_is_a_parse_error() {
    for text in [
        "{",
        "nonsense",
        "{}{}",
        r#"{"a":1,}"#,
        "[1,",
        "{\"a\":\"\u{1}\"}",
    ] {
        assert_eq!(code(text), PARSE_ERROR, "{text}");
    }
    assert!(matches!(line(b"\"\xFF\""), Line::Malformed(m) if m.code == PARSE_ERROR));
}

#[test]
fn nesting_is_bounded() {
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":{}{}}}}}"#,
        "[".repeat(200_000),
        "]".repeat(200_000)
    );
    let malformed = single(&deep).expect_err("too deep");
    assert_eq!((malformed.code, malformed.id), (PARSE_ERROR, id("1")));
    assert_eq!(code(&"[".repeat(500_000)), PARSE_ERROR);
}

#[test]
fn json_that_is_no_message_is_an_invalid_request() {
    for text in [
        "7",
        r#""ping""#,
        "null",
        "{}",
        "[]",
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
        r#"{"jsonrpc":"2.0","method":7}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}"#,
    ] {
        assert_eq!(code(text), INVALID_REQUEST, "{text}");
    }
}

#[test]
fn half_a_character_in_a_string_is_answered_under_its_id() {
    let text = r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\ud800"}}"#;
    let malformed = single(text).expect_err("no text");
    assert_eq!((malformed.code, malformed.id), (PARSE_ERROR, id("1")));
}

#[test]
fn an_invalid_request_keeps_the_id_that_could_be_read() {
    let malformed = single(r#"{"jsonrpc":"1.0","id":"x","method":"ping"}"#).expect_err("no 2.0");
    assert_eq!(malformed.id, id(r#""x""#));
}

#[test]
fn of_two_members_with_one_name_the_last_counts() {
    let text = r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"a","method":"ping"}"#;
    let Ok(Message::Request(request)) = single(text) else {
        panic!("a request")
    };
    assert_eq!(
        (Some(request.id), request.method.as_str()),
        (id("2"), "ping")
    );
}

#[test]
fn a_cancellation_names_its_request_exactly() {
    let text = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9007199254740993}}"#;
    let Ok(Message::Notification(notification)) = single(text) else {
        panic!("a notification")
    };
    assert_eq!(notification.cancels, id("9007199254740993"));
}

#[test]
fn answers_of_the_client_are_nobodys() {
    for text in [
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}"#,
        r#"{"jsonrpc":"2.0","error":{"code":1,"message":""}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}"#,
    ] {
        assert!(matches!(single(text), Ok(Message::Response)), "{text}");
    }
}
