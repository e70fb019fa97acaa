use std::time::Duration;

use super::*;
use crate::answer::failure::Status;

fn rows(names: &[&str], rows: Vec<Vec<Value>>) -> Rows {
    let column = |name: &&str| Column {
        name: (*name).into(),
        declared: String::new(),
    };
    Rows {
        columns: names.iter().map(column).collect(),
        rows,
        limit: 200,
        ..Rows::default()
    }
}

fn shown(rows: Rows) -> Json {
    let output = Output {
        rows: Some(rows),
        ..Output::default()
    };
    read(&object("query", &output, Meter::default()))
}

fn read(text: &str) -> Json {
    serde_json::from_str(text).unwrap()
}

fn one(value: Value) -> (String, Json) {
    let object = shown(rows(&["a"], vec![vec![value]]));
    (
        object["rows"][0][0].to_string(),
        object["columns"][0].clone(),
    )
}

#[test]
fn every_value_is_exact_by_its_storage_class() {
    for (value, written) in [
        (Value::Null, "null"),
        (Value::Integer(EXACT), "9007199254740991"),
        (Value::Integer(-EXACT), "-9007199254740991"),
        (Value::Integer(EXACT + 1), "\"9007199254740992\""),
        (Value::Integer(i64::MIN), "\"-9223372036854775808\""),
        (Value::Real(3.0), "3.0"),
        (Value::Real(-0.0), "-0.0"),
        (Value::Real(0.1), "0.1"),
        (Value::Real(5e-324), "5e-324"),
        (Value::Real(f64::MAX), "1.7976931348623157e+308"),
        (Value::Real(f64::INFINITY), "\"Infinity\""),
        (Value::Real(f64::NEG_INFINITY), "\"-Infinity\""),
        (Value::Text("007".into()), "\"007\""),
        (Value::Text("null".into()), "\"null\""),
        (Value::Text("a\0b".into()), "\"a\\u0000b\""),
        (Value::Text(String::new()), "\"\""),
        (Value::BadText(vec![0x61, 0xff]), "{\"text_hex\":\"61ff\"}"),
        (Value::Blob(vec![0x00, 0xAB]), "{\"blob\":\"00ab\"}"),
        (Value::Blob(vec![]), "{\"blob\":\"\"}"),
    ] {
        assert_eq!(one(value.clone()).0, written, "{value:?}");
    }
}

#[test]
fn a_column_whose_numbers_had_to_become_strings_is_marked() {
    assert_eq!(
        one(Value::Integer(1)).1,
        json!({"name": "a", "type": "INTEGER"})
    );
    assert_eq!(
        one(Value::Integer(i64::MAX)).1,
        json!({"name": "a", "type": "INTEGER", "integers": "string"})
    );
    assert_eq!(
        one(Value::Real(f64::INFINITY)).1,
        json!({"name": "a", "type": "REAL", "infinities": "string"})
    );
}

#[test]
fn a_column_has_the_declared_type_or_the_class_of_its_values() {
    let mut some = rows(
        &["a", "b", "c"],
        vec![
            vec![Value::Integer(1), Value::Null, Value::Integer(1)],
            vec![Value::Integer(1), Value::Text("x".into()), Value::Real(1.0)],
        ],
    );
    some.columns[0].declared = "VARCHAR(10)".into();
    let columns = shown(some)["columns"].clone();
    assert_eq!(
        columns,
        json!([{"name": "a", "type": "VARCHAR(10)"}, {"name": "b", "type": "TEXT"}, {"name": "c", "type": ""}])
    );
}

#[test]
fn the_object_has_its_members_in_order_also_when_it_is_empty() {
    let output = Output {
        rows: Some(rows(&["id", "id"], vec![])),
        changes: Some(2),
        last_insert_rowid: Some(i64::MAX),
        notes: vec!["n".into()],
        ..Output::default()
    };
    let meter = Meter {
        elapsed: Duration::from_micros(1_500),
        fuel: 7,
        peak_memory: 4096,
    };
    assert_eq!(
        object("exec", &output, meter),
        "{\"ok\":true,\"command\":\"exec\",\"columns\":[{\"name\":\"id\",\"type\":\"\"},\
         {\"name\":\"id\",\"type\":\"\"}],\"row_count\":0,\"total\":null,\"more\":false,\"rows\":[],\
         \"changes\":2,\"last_insert_rowid\":\"9223372036854775807\",\"notes\":[\"n\"],\
         \"elapsed_ms\":1.5,\"fuel\":7,\"peak_memory\":4096}"
    );
}

#[test]
fn a_sample_holds_the_rows_that_fit_a_quarter_of_the_budget() {
    let many = (0..5_000)
        .map(|_| vec![Value::Text("\"".repeat(50))])
        .collect();
    let text = sample(&rows(&["q"], many), &OutputLimits::default()).to_string();
    assert!((5_000..13_000).contains(&text.len()), "{}", text.len());
}

fn within(rows: Rows, limits: &OutputLimits) -> Json {
    let output = Output {
        rows: Some(rows),
        ..Output::default()
    };
    let text = object_within(
        "query",
        &output,
        Meter::default(),
        limits,
        "page with OFFSET.",
    );
    assert!(text.len() <= limits.text_bytes as usize);
    let line = serde_json::to_string(&text).unwrap();
    assert!(line.len() as u64 + 1_024 <= limits.line_bytes());
    let object = read(&text);
    assert_eq!(object.to_string(), text);
    object
}

#[test]
fn whole_rows_come_up_to_the_budget_and_then_what_is_left() {
    let limits = OutputLimits::default();
    let many = (0..9_000).map(Value::Integer).map(|n| vec![n]).collect();
    let object = within(rows(&["n"], many), &limits);
    let shown = object["row_count"].as_u64().unwrap();
    assert!(shown > 6_000, "{shown}");
    assert_eq!(object["rows"].as_array().unwrap().len() as u64, shown);
    assert_eq!(object["more"], true);
    assert_eq!(
        object["notes"][0],
        format!(
            "{} more rows not shown (text budget of 48000 bytes, --text): page with OFFSET.",
            9_000 - shown
        )
    );
}

#[test]
fn a_value_that_is_too_long_is_cut_and_marked_with_how_to_read_on() {
    let limits = OutputLimits::default();
    let object = within(
        rows(
            &["id", "b"],
            vec![vec![Value::Integer(1), Value::Blob(vec![1; 3_000_000])]],
        ),
        &limits,
    );
    let blob = &object["rows"][0][1];
    assert_eq!(blob["bytes"], 3_000_000);
    let shown = blob["cut_blob"].as_str().unwrap().len() / 2;
    assert!(shown > 15_000, "{shown}");
    let note = object["notes"][0].as_str().unwrap();
    assert!(
        note.contains(&format!("substr(b, {}) has", shown + 1)),
        "{note}"
    );
    let text = within(
        rows(&["t"], vec![vec![Value::Text("漢\"".repeat(90_000))]]),
        &limits,
    );
    assert_eq!(text["rows"][0][0]["characters"], 180_000);
}

#[test]
fn what_stands_beside_the_rows_is_cut_as_well() {
    let mut output = Output {
        text: Some("line of text\n".repeat(9_000)),
        ..Output::default()
    };
    output.extra.insert("list".into(), vec!["x"; 90_000].into());
    let limits = OutputLimits::default();
    let text = object_within("dump", &output, Meter::default(), &limits, "");
    assert!(text.len() <= 48_000);
    let object = read(&text);
    assert!(object["text"].as_str().unwrap().ends_with("text\n…"));
    let note = object["notes"][0].as_str().unwrap();
    assert!(note.ends_with("list, text."), "{note}");
}

#[test]
fn a_refusal_has_status_message_hint_and_what_it_took() {
    let failure = Failure::new(Status::Busy, "Locked.").hint("Try again.");
    assert_eq!(
        refusal("query", &failure, Meter::default()).to_string(),
        "{\"ok\":false,\"command\":\"query\",\"status\":\"busy\",\"message\":\"Locked.\",\"hint\":\"Try again.\",\
         \"elapsed_ms\":0.0,\"fuel\":0,\"peak_memory\":0}"
    );
}

#[test]
fn text_stands_in_the_object_only_where_there_are_no_rows() {
    let text = Output {
        text: Some("plan".into()),
        ..Output::default()
    };
    let object = read(&object("help", &text, Meter::default()));
    assert_eq!(object["text"], "plan");
    assert!(object.get("rows").is_none());
}
