//! Whatever is asked and whatever the database holds: a result keeps within its line, and says what it left out.

use serde_json::{Value, json};

use super::session::Session;
use super::testing::{initialize, json as parsed, modern, request};
use crate::host::Alone;
use crate::registry::REGISTRY;
use crate::settings::{CommandSettings, OutputLimits, ServerSettings};

/// A cheap generator, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// An expression of any storage class, often of the length of a budget.
    fn value(&mut self) -> String {
        let length = match self.below(4) {
            0 => self.below(4),
            1 => self.below(100),
            2 => self.below(3_000),
            _ => self.below(90_000),
        };
        let piece = self.of(&[
            "x",
            "\"",
            "\\",
            "''",
            "\n",
            "漢",
            "👩\u{200d}🚀",
            "e\u{301}",
            "\u{1b}",
            "\u{202e}",
            "\u{7f}",
            "🦀",
            " ",
            "<",
            "\u{2028}",
        ]);
        match self.below(8) {
            0 => "NULL".into(),
            1 => "random()".into(),
            2 => "1e999".into(),
            3 => format!("zeroblob({length})"),
            4 => format!("CAST(replace(hex(zeroblob({length})), '00', x'ff22') AS TEXT)"),
            _ => format!("replace(hex(zeroblob({length})), '00', '{piece}')"),
        }
    }

    fn select(&mut self) -> String {
        let most = match self.below(6) {
            0 => 1_500,
            _ => 9,
        };
        let columns: Vec<String> = (0..=self.below(most))
            .map(|n| match self.below(3) {
                0 => format!("{n}"),
                1 => format!("i AS \"{}{n}\"", "\"\"\n漢".repeat(self.below(40) as usize)),
                _ if most > 9 => format!("'{}'", "\"".repeat(self.below(90) as usize)),
                _ => self.value(),
            })
            .collect();
        format!(
            "WITH n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < {}) SELECT {} FROM n",
            1 + self.below(400),
            columns.join(", ")
        )
    }
}

/// Answers a call in the revision, and checks all that holds for every line.
fn call(
    session: &mut Session,
    revision: &str,
    limits: &OutputLimits,
    tool: &str,
    arguments: &Value,
) -> Value {
    let params = format!(r#""name":"{tool}","arguments":{arguments}"#);
    let line = match revision {
        "2026-07-28" => modern("7", "tools/call", &format!(",{params}")),
        _ => request("7", "tools/call", &format!("{{{params}}}")),
    };
    let line = session.answer(line.as_bytes()).expect("an answer");
    let bytes = line.len() as u64 + 1;
    assert!(
        bytes <= limits.line_bytes(),
        "{bytes} of {} for {tool} {arguments}",
        limits.line_bytes()
    );
    let reply = parsed(&line);
    let result = &reply["result"];
    let text = result["content"][0]["text"].as_str().expect("a text");
    assert!(
        text.len() <= limits.text_bytes as usize,
        "{} for {tool} {arguments}",
        text.len()
    );
    if let Some(object) = result.get("structuredContent") {
        assert_eq!(*object, parsed(text), "both copies are the same");
    }
    reply
}

#[test]
fn every_result_of_any_query_keeps_within_its_line_and_says_what_it_left_out() {
    let mut random = Random(22);
    for round in 0..120 {
        let revision = random.of(&[
            "2024-11-05",
            "2025-03-26",
            "2025-06-18",
            "2025-11-25",
            "2026-07-28",
        ]);
        let limits = OutputLimits {
            text_bytes: [48_000, 48_000, 1_000, 5_000, 300_000][round % 5],
            ..OutputLimits::default()
        };
        let mut session = session(&limits, revision);
        let arguments = json!({
            "sql": random.select(), "limit": 300, "output": random.of(&["text", "json", "json"]),
        });
        let reply = call(
            &mut session,
            revision,
            &limits,
            "sqlarium_query",
            &arguments,
        );
        let text = reply["result"]["content"][0]["text"]
            .as_str()
            .expect("a text");
        if reply["result"]["isError"] == true {
            // Too many columns for a statement of that length, say: never for the length of the answer.
            assert!(!text.contains("--reply"), "{text}");
        } else if arguments["output"] == "json" {
            let object = parsed(text);
            let rows = object["rows"].as_array().expect("rows");
            assert_eq!(object["row_count"], rows.len());
            // Where the limit was not what ended it, a note says what did.
            let told = object["notes"].is_array() || object["more"] == false || rows.len() == 300;
            assert!(told, "{arguments}");
        } else {
            assert!(text.contains(" row"), "{text}");
        }
    }
}

/// A session that has been opened, on an empty database.
fn session(limits: &OutputLimits, revision: &str) -> Session {
    let settings = ServerSettings {
        command: CommandSettings {
            output: *limits,
            ..CommandSettings::default()
        },
        ..ServerSettings::default()
    };
    let mut session = Session::new(settings, Vec::new(), &Alone, &REGISTRY);
    if revision != "2026-07-28" {
        session.answer(initialize(revision).as_bytes());
    }
    session
}

#[test]
fn every_tool_keeps_within_its_line_on_a_database_that_is_too_large_to_show() {
    let limits = OutputLimits::default();
    let revision = "2025-11-25";
    let mut session = session(&limits, revision);
    let long = "x\"".repeat(150);
    let mut sql = format!(
        "CREATE TABLE big(a INTEGER PRIMARY KEY, b TEXT /* {} */, c \"{}\");\
         WITH n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 3000) \
         INSERT INTO big SELECT i, replace(hex(zeroblob(i % 70000)), '00', '\"\n'), zeroblob(i) FROM n;\
         CREATE VIEW v AS SELECT '{}' AS w FROM big;",
        "comment ".repeat(9_000),
        "type ".repeat(9_000),
        "'' ".repeat(20_000),
    );
    for n in 0..1_500 {
        sql += &format!(
            "CREATE TABLE \"{n}{}\"(a REFERENCES big); CREATE INDEX \"i{n}\" ON \"{n}{0}\"(a);",
            long.replace('"', "\"\"")
        );
    }
    call(
        &mut session,
        revision,
        &limits,
        "sqlarium_batch",
        &json!({ "sql": sql }),
    );
    let update = json!({"sql": "UPDATE big SET b = b RETURNING *"});
    let calls = [
        ("sqlarium_exec", update),
        ("sqlarium_tables", json!({})),
        ("sqlarium_describe", json!({"table": "big"})),
        ("sqlarium_describe", json!({"table": "v"})),
        ("sqlarium_schema", json!({})),
        ("sqlarium_schema", json!({"indent": true})),
        ("sqlarium_indexes", json!({})),
        ("sqlarium_databases", json!({})),
        ("sqlarium_explain", json!({"sql": "SELECT * FROM big"})),
        (
            "sqlarium_index_text",
            json!({"table": "big", "columns": "b"}),
        ),
        ("sqlarium_search", json!({"query": "x", "full": true})),
        ("sqlarium_export", json!({"table": "big"})),
        ("sqlarium_export", json!({"table": "big", "format": "json"})),
        ("sqlarium_dump", json!({})),
        ("sqlarium_integrity_check", json!({})),
        ("sqlarium_analyze", json!({})),
        ("sqlarium_stats", json!({"full": true})),
        ("sqlarium_capabilities", json!({})),
        ("sqlarium_functions", json!({})),
        ("sqlarium_version", json!({})),
        ("sqlarium_help", json!({"markdown": true})),
        ("sqlarium_run", json!({"input": ".dump"})),
        (
            "sqlarium_query",
            json!({"sql": format!("SELECT \"{}\"", "\\n".repeat(200_000))}),
        ),
        ("sqlarium_describe", json!({"table": "\"".repeat(500_000)})),
        ("sqlarium_help", json!({"topic": "\n".repeat(500_000)})),
    ];
    for (tool, arguments) in calls {
        for output in ["text", "json"] {
            let mut arguments = arguments.clone();
            arguments["output"] = output.into();
            call(&mut session, revision, &limits, tool, &arguments);
        }
    }
}

#[test]
fn a_long_blob_is_sent_once_where_the_owner_lets_it() {
    let limits = OutputLimits {
        text_bytes: 7_000_000,
        ..OutputLimits::default()
    };
    let revision = "2025-11-25";
    let mut session = session(&limits, revision);
    let blob = |bytes| json!({"sql": format!("SELECT zeroblob({bytes}) AS b"), "output": "json"});
    let reply = call(
        &mut session,
        revision,
        &limits,
        "sqlarium_query",
        &blob(3_000_000),
    );
    let text = reply["result"]["content"][0]["text"]
        .as_str()
        .expect("a text");
    assert_eq!(parsed(text)["rows"][0][0]["blob"], "00".repeat(3_000_000));
    assert_eq!(reply["result"].get("structuredContent"), None);
    // Where there is room for both there are both.
    let reply = call(
        &mut session,
        revision,
        &limits,
        "sqlarium_query",
        &blob(1_000),
    );
    assert!(reply["result"].get("structuredContent").is_some());
}

#[test]
fn a_line_however_odd_is_answered_on_one_line_within_the_budget() {
    let limits = OutputLimits::default();
    let deep = |open: &str, close: &str| format!("{}1{}", open.repeat(5_000), close.repeat(5_000));
    let arguments = [
        r#"{"sql":"SELECT 1","sql":"SELECT 2"}"#.to_owned(),
        r#"{"sql":1e400}"#.into(),
        r#"{"sql":"SELECT \ud800"}"#.into(),
        r#"{"sql":"SELECT '\u0000'"}"#.into(),
        r#"{"sql":"SELECT 1","limit":1e400}"#.into(),
        r#"{"sql":"SELECT ?1","params":[123456789012345678901234567890]}"#.into(),
        r#"{"\ud800":1,"":2}"#.into(),
        "[]".into(),
        "5".into(),
        format!(r#"{{"sql":"SELECT 1","params":{}}}"#, deep("[", "]")),
        format!(r#"{{"sql":"SELECT 1","x":{}}}"#, deep(r#"{"a":"#, "}")),
        format!(r#"{{"sql":"{}"}}"#, "(".repeat(50_000)),
        format!(r#"{{"sql":"SELECT '{}'"}}"#, "\\\\x".repeat(100_000)),
    ];
    let ids = [
        "1",
        "-1",
        "1e400",
        "1.5",
        "123456789012345678901234567890",
        r#""\ud800""#,
        r#""\u0000""#,
        "null",
        "[]",
        "01",
    ];
    let mut lines: Vec<String> = arguments
        .iter()
        .map(|arguments| {
            request(
                "1",
                "tools/call",
                &format!(r#"{{"name":"sqlarium_query","arguments":{arguments}}}"#),
            )
        })
        .collect();
    lines.extend(ids.map(|id| request(id, "ping", "{}")));
    for odd in [
        "{",
        "[]",
        "[[]]",
        "null",
        "{}",
        r#"{"jsonrpc":"2.0","id":1}"#,
        "{}{}",
        "\u{0}",
    ] {
        lines.push(odd.into());
    }
    lines.push("[".repeat(100_000));
    lines.push(request("1", &"m".repeat(80_000), "{}"));
    lines.push(modern("1", "ping", "").replace("2026-07-28", &"9".repeat(80_000)));
    lines.push(initialize(&"9".repeat(80_000)));
    lines.push(format!(
        "[{}]",
        vec![request("1", "ping", "{}"); 1_000].join(",")
    ));
    for revision in [
        "2024-11-05",
        "2025-03-26",
        "2025-06-18",
        "2025-11-25",
        "2026-07-28",
    ] {
        let mut session = session(&limits, revision);
        for line in &lines {
            let Some(answer) = session.answer(line.as_bytes()) else {
                continue;
            };
            assert!(
                answer.len() as u64 + 1 < limits.line_bytes(),
                "{revision} {line:.200}"
            );
            assert!(!answer.contains('\n'));
            let answer = parsed(&answer);
            let one = answer.get(0).unwrap_or(&answer);
            assert_eq!(one["jsonrpc"], "2.0", "{revision} {line:.200}");
        }
        let last = call(
            &mut session,
            revision,
            &limits,
            "sqlarium_query",
            &json!({"sql": "SELECT 42"}),
        );
        assert!(last.to_string().contains("42"), "the session goes on");
    }
}
