//! The JSON form: every value by its storage class, exact.

use serde_json::{Map, Value as Json, json};

use super::{Meter, escaped_len};
use crate::answer::failure::Failure;
use crate::answer::output::{Column, Output, Rows};
use crate::answer::value::Value;
use crate::settings::OutputLimits;
use crate::text::hex;

/// The greatest integer that every JSON reader takes exactly, 2^53 − 1.
const EXACT: i64 = 9_007_199_254_740_991;

/// A refusal.
pub(crate) fn refusal(command: &str, failure: &Failure) -> Json {
    json!({
        "ok": false,
        "command": command,
        "status": failure.status.name(),
        "message": failure.message,
        "hint": failure.hint,
    })
}

/// What a command answers. Rows beyond the reply budget are left out, which `more` and a note say.
pub(crate) fn object(command: &str, output: &Output, meter: Meter) -> Json {
    let mut tail = Map::new();
    if let Some(changes) = output.changes {
        tail.insert("changes".into(), changes.into());
    }
    if let Some(rowid) = output.last_insert_rowid {
        tail.insert("last_insert_rowid".into(), integer(rowid));
    }
    if output.rows.is_none()
        && let Some(text) = &output.text
    {
        tail.insert("text".into(), text.as_str().into());
    }
    tail.extend(
        output
            .extra
            .iter()
            .map(|(name, value)| (name.clone(), value.clone())),
    );
    let lines =
        |lines: &[String]| -> Vec<Json> { lines.iter().map(|line| line.as_str().into()).collect() };

    let mut object = Map::new();
    object.insert("ok".into(), (!output.failed).into());
    object.insert("command".into(), command.into());
    if !output.warnings.is_empty() {
        object.insert("warnings".into(), lines(&output.warnings).into());
    }
    if let Some(rows) = &output.rows {
        // All of them: a reply that is too long is refused as a whole, never cut.
        let list: Vec<Json> = rows.rows.iter().map(|row| array(row)).collect();
        object.insert("columns".into(), columns(rows).into());
        object.insert("row_count".into(), list.len().into());
        object.insert("total".into(), rows.total.into());
        object.insert("more".into(), rows.more.into());
        object.insert("rows".into(), list.into());
    }
    object.append(&mut tail);
    if !output.notes.is_empty() {
        object.insert("notes".into(), lines(&output.notes).into());
    }
    object.insert(
        "elapsed_ms".into(),
        (meter.elapsed.as_micros() as f64 / 1_000.0).into(),
    );
    object.insert("fuel".into(), meter.fuel.into());
    object.into()
}

/// A few rows as an object, in at most a quarter of the reply budget.
pub(crate) fn sample(rows: &Rows, limits: &OutputLimits) -> Json {
    let kept = within(rows, limits.reply_bytes / 4);
    json!({ "columns": columns(rows), "rows": kept })
}

/// The rows from the start that fit into `room` bytes.
fn within(rows: &Rows, room: u64) -> Vec<Json> {
    let mut left = room;
    let mut kept = Vec::new();
    for row in &rows.rows {
        let row = array(row);
        let need = cost(&row) + 2;
        if need > left {
            break;
        }
        left -= need;
        kept.push(row);
    }
    kept
}

fn array(row: &[Value]) -> Json {
    Json::Array(row.iter().map(value).collect())
}

/// The bytes that a value takes in a reply, where it stands twice: as an object, and as text.
fn cost(value: &Json) -> u64 {
    let text = value.to_string();
    text.len() as u64 + escaped_len(&text)
}

fn columns(rows: &Rows) -> Vec<Json> {
    rows.columns
        .iter()
        .enumerate()
        .map(|(index, column)| describe(column, index, rows))
        .collect()
}

/// A column: its name, its type, and which of its numbers had to become strings.
fn describe(column: &Column, index: usize, rows: &Rows) -> Json {
    let values = || rows.rows.iter().map(|row| &row[index]);
    let mut object = Map::new();
    object.insert("name".into(), column.name.as_str().into());
    let kind = if column.declared.is_empty() {
        class(values())
    } else {
        column.declared.as_str()
    };
    object.insert("type".into(), kind.into());
    if values().any(|value| matches!(value, Value::Integer(n) if n.unsigned_abs() > EXACT as u64)) {
        object.insert("integers".into(), "string".into());
    }
    if values().any(|value| matches!(value, Value::Real(n) if n.is_infinite())) {
        object.insert("infinities".into(), "string".into());
    }
    object.into()
}

/// The storage class that all values share, or nothing.
fn class<'a>(values: impl Iterator<Item = &'a Value>) -> &'static str {
    let mut found = "";
    for value in values {
        let class = match value {
            Value::Null => continue,
            Value::Integer(_) => "INTEGER",
            Value::Real(_) => "REAL",
            Value::Text(_) | Value::BadText(_) => "TEXT",
            Value::Blob(_) => "BLOB",
        };
        if !found.is_empty() && found != class {
            return "";
        }
        found = class;
    }
    found
}

/// A value by its storage class.
pub(crate) fn value(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Integer(number) => integer(*number),
        Value::Real(number) if number.is_infinite() => super::cell::real(*number).into(),
        Value::Real(number) => (*number).into(),
        Value::Text(text) => text.as_str().into(),
        Value::BadText(bytes) => json!({ "text_hex": hex::encode(bytes) }),
        Value::Blob(bytes) => json!({ "blob": hex::encode(bytes) }),
    }
}

/// A number, or a string where a JSON reader could round it.
fn integer(number: i64) -> Json {
    if number.unsigned_abs() > EXACT as u64 {
        number.to_string().into()
    } else {
        number.into()
    }
}

#[cfg(test)]
mod tests {
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
        object("query", &output, Meter::default())
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
        };
        let object = object("exec", &output, meter);
        assert_eq!(
            object.to_string(),
            "{\"ok\":true,\"command\":\"exec\",\"columns\":[{\"name\":\"id\",\"type\":\"\"},\
             {\"name\":\"id\",\"type\":\"\"}],\"row_count\":0,\"total\":null,\"more\":false,\"rows\":[],\
             \"changes\":2,\"last_insert_rowid\":\"9223372036854775807\",\"notes\":[\"n\"],\
             \"elapsed_ms\":1.5,\"fuel\":7}"
        );
    }

    #[test]
    fn a_sample_holds_the_rows_that_fit_a_quarter_of_the_reply_budget() {
        let limits = OutputLimits {
            reply_bytes: 100_000,
            ..OutputLimits::default()
        };
        let many = (0..5_000)
            .map(|_| vec![Value::Text("\"".repeat(50))])
            .collect();
        let text = sample(&rows(&["q"], many), &limits).to_string();
        // It stands in a reply twice.
        assert!(text.len() as u64 + escaped_len(&text) < 26_000);
        assert!(text.len() > 5_000);
    }

    #[test]
    fn a_refusal_has_status_message_and_hint() {
        let failure = Failure::new(Status::Busy, "Locked.").hint("Try again.");
        assert_eq!(
            refusal("query", &failure).to_string(),
            "{\"ok\":false,\"command\":\"query\",\"status\":\"busy\",\"message\":\"Locked.\",\"hint\":\"Try again.\"}"
        );
    }

    #[test]
    fn text_stands_in_the_object_only_where_there_are_no_rows() {
        let text = Output {
            text: Some("plan".into()),
            ..Output::default()
        };
        let object = object("help", &text, Meter::default());
        assert_eq!(object["text"], "plan");
        assert!(object.get("rows").is_none());
    }
}
