//! The JSON form: every value by its storage class, exact.

use serde_json::{Map, Value as Json, json};

use super::{ENVELOPE, Meter, escaped_len};
use crate::command::output::{Column, Output, Rows};
use crate::command::status::Failure;
use crate::command::table::Command;
use crate::engine::value::Value;
use crate::settings::Limits;

/// The greatest integer that every JSON reader takes exactly, 2^53 − 1.
const EXACT: i64 = 9_007_199_254_740_991;

/// A refusal.
pub fn refusal(command: &Command, failure: &Failure) -> Json {
    json!({
        "ok": false,
        "command": command.name,
        "status": failure.status.name(),
        "message": failure.message,
        "hint": failure.hint,
    })
}

/// What a command answers. Rows beyond the reply budget are left out, which `more` and a note say.
pub fn object(command: &Command, output: &Output, limits: &Limits, meter: Meter) -> Json {
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
    let mut notes: Vec<Json> = output
        .notes
        .iter()
        .map(|note| note.as_str().into())
        .collect();

    let mut object = Map::new();
    object.insert("ok".into(), true.into());
    object.insert("command".into(), command.name.into());
    if let Some(rows) = &output.rows {
        let columns: Vec<Json> = columns(rows);
        let used = [&json!(columns), &json!(tail), &json!(notes)]
            .map(cost)
            .iter()
            .sum::<u64>();
        let room = limits
            .reply_bytes
            .saturating_sub(ENVELOPE)
            .saturating_sub(used);
        let kept = within(rows, room);
        let left = rows.rows.len() - kept.len();
        if left > 0 {
            notes.push(
                format!(
                    "{left} more rows are left out, because the reply would be longer than {} \
                     bytes (--reply): ask for fewer columns or rows.",
                    limits.reply_bytes
                )
                .into(),
            );
        }
        object.insert("columns".into(), columns.into());
        object.insert("row_count".into(), kept.len().into());
        object.insert("total".into(), rows.total.into());
        object.insert("more".into(), (rows.more || left > 0).into());
        object.insert("rows".into(), kept.into());
    }
    object.append(&mut tail);
    if !notes.is_empty() {
        object.insert("notes".into(), notes.into());
    }
    object.insert(
        "elapsed_ms".into(),
        (meter.elapsed.as_micros() as f64 / 1_000.0).into(),
    );
    object.insert("fuel".into(), meter.fuel.into());
    object.into()
}

/// The rows from the start that fit into `room` bytes.
fn within(rows: &Rows, room: u64) -> Vec<Json> {
    let mut left = room;
    let mut kept = Vec::new();
    for row in &rows.rows {
        let row = Json::Array(row.iter().map(value).collect());
        let need = cost(&row) + 2;
        if need > left {
            break;
        }
        left -= need;
        kept.push(row);
    }
    kept
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
pub fn value(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Integer(number) => integer(*number),
        Value::Real(number) if number.is_infinite() => super::cell::real(*number).into(),
        Value::Real(number) => (*number).into(),
        Value::Text(text) => text.as_str().into(),
        Value::BadText(bytes) => json!({ "text_hex": hex(bytes) }),
        Value::Blob(bytes) => json!({ "blob": hex(bytes) }),
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

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)].into());
        text.push(DIGITS[usize::from(byte & 15)].into());
    }
    text
}
