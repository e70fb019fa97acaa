//! The JSON form: every value by its storage class, exact.

use serde_json::{Map, Value as Json, json};

use super::room::Room;
use super::{FOOT, Meter, read_on};
use crate::answer::failure::Failure;
use crate::answer::output::{Column, Output, Rows};
use crate::answer::value::Value;
use crate::settings::OutputLimits;
use crate::text::count::count;
use crate::text::hex;

/// The greatest integer that every JSON reader takes exactly, 2^53 − 1.
const EXACT: i64 = 9_007_199_254_740_991;

/// A refusal.
pub(crate) fn refusal(command: &str, failure: &Failure, meter: Meter) -> Json {
    let mut object = json!({
        "ok": false,
        "command": command,
        "status": failure.status.name(),
        "message": failure.message,
        "hint": failure.hint,
    });
    if let Some(object) = object.as_object_mut() {
        add_cost(object, meter);
    }
    object
}

/// What the call has used.
fn add_cost(object: &mut Map<String, Json>, meter: Meter) {
    let micros = meter.elapsed.as_micros() as f64;
    object.insert("elapsed_ms".into(), (micros / 1_000.0).into());
    object.insert("fuel".into(), meter.fuel.into());
    object.insert("peak_memory".into(), meter.peak_memory.into());
}

/// What a command answers, all of it.
pub(crate) fn object(command: &str, output: &Output, meter: Meter) -> Json {
    let rows = output.rows.as_ref().map(|rows| &rows.rows[..]);
    let list = rows.unwrap_or_default().iter().map(|row| array(row));
    whole(command, output, meter, list.collect())
}

/// What a command answers, within the owner's limits. What was left out is told by `more` and by notes; `advice` says
/// how to get it.
pub(crate) fn object_within(
    command: &str,
    output: &Output,
    meter: Meter,
    limits: &OutputLimits,
    advice: &str,
) -> Json {
    let mut room = Room::new(limits);
    room.reserve(FOOT);
    let mut object = whole(command, output, meter, Vec::new());
    let all = output.rows.as_ref().map(|rows| &rows.rows[..]);
    let all = all.unwrap_or_default();
    // Where there are rows, what stands beside them may take half.
    let beside = if all.is_empty() { room } else { room.half() };
    let mut notes = shorten(&mut object, beside);
    room.take(&object.to_string());

    let mut kept = Vec::new();
    for row in all {
        let row = array(row);
        if !room.try_take(&format!("{row},")) {
            break;
        }
        kept.push(row);
    }
    if let (Some(row), Some(rows), true) = (all.first(), &output.rows, kept.is_empty()) {
        let (row, note) = cut(row, &rows.columns, &room);
        kept.extend(row);
        notes.extend(note);
    }
    let left = all.len() - kept.len();
    if left > 0 && !kept.is_empty() {
        let more = count(left, "more row");
        notes.push(format!("{more} not shown ({}): {advice}", room.budget()));
    }
    fill(object, kept, notes, left > 0)
}

/// Puts the rows that are kept into an object without any, and what there is to say about it.
fn fill(mut object: Json, rows: Vec<Json>, told: Vec<String>, more: bool) -> Json {
    if let Some(members) = object.as_object_mut() {
        if members.contains_key("rows") {
            members.insert("row_count".into(), rows.len().into());
            members.insert("rows".into(), rows.into());
        }
        if more {
            members.insert("more".into(), true.into());
        }
        if !told.is_empty() {
            let notes = members.entry("notes").or_insert_with(|| json!([]));
            if let Some(notes) = notes.as_array_mut() {
                notes.extend(told.into_iter().map(Json::from));
            }
        }
    }
    object
}

/// Cuts the longest texts and lists of an object until it fits, and says which.
fn shorten(object: &mut Json, mut room: Room) -> Vec<String> {
    let mut cut: Vec<String> = Vec::new();
    while !room.try_take(&object.to_string()) {
        let longest = object
            .as_object_mut()
            .and_then(|members| members.iter_mut().max_by_key(|(_, value)| size(value)));
        let Some((name, true)) = longest.map(|(name, value)| (name, halve(value))) else {
            break;
        };
        if !cut.contains(name) {
            cut.push(name.clone());
        }
    }
    match cut.is_empty() {
        true => Vec::new(),
        false => vec![format!(
            "Cut to fit the {}: {}.",
            room.budget(),
            cut.join(", ")
        )],
    }
}

/// Cuts what is longest in a value: a text at a line where it has some, or a list at an element. False if there is
/// nothing to cut.
fn halve(value: &mut Json) -> bool {
    /// A text that says anything.
    const SHORT: usize = 64;
    match value {
        Json::String(text) if text.len() > SHORT => {
            let end = text.floor_char_boundary(text.len() / 2);
            let line = text[..end].rfind('\n').map_or(0, |at| at + 1);
            text.truncate(if line > 0 { line } else { end });
            text.push('…');
            true
        }
        Json::Array(list) => {
            let all: usize = list.iter().map(size).sum();
            let longest = list.iter_mut().max_by_key(|value| size(value));
            let halved = longest.is_some_and(|value| size(value) > all / 2 && halve(value));
            let cut = halved || !list.is_empty();
            if !halved {
                list.truncate(list.len() / 2);
            }
            cut
        }
        Json::Object(members) => members
            .values_mut()
            .max_by_key(|value| size(value))
            .is_some_and(halve),
        _ => false,
    }
}

/// The bytes that a value takes.
fn size(value: &Json) -> usize {
    value.to_string().len()
}

/// A row whose long values are cut so that it fits, and what there is to say about it; no row if even that does not fit.
fn cut(row: &[Value], columns: &[Column], room: &Room) -> (Option<Json>, Option<String>) {
    /// No value is cut to fewer bytes.
    const SHORTEST: usize = 16;
    let mut budget = room.bytes();
    let cut = loop {
        let cut: Vec<(Json, Option<usize>)> =
            row.iter().map(|value| start(value, budget)).collect();
        let list = Json::Array(cut.iter().map(|(value, _)| value.clone()).collect());
        if room.fits(&list.to_string()) {
            let first = cut.iter().zip(columns).find_map(|((_, shown), column)| {
                Some(format!("{} has", read_on(&column.name, (*shown)?)))
            });
            break first.map(|first| (list, first));
        }
        if budget <= SHORTEST {
            break None;
        }
        budget = (budget / 4 * 3).max(SHORTEST);
    };
    let why = room.budget();
    match cut {
        Some((row, rest)) => (
            Some(row),
            Some(format!(
                "Values of the first row are cut (cut_text, cut_blob) to fit the {why}: {rest} what comes after."
            )),
        ),
        None => (
            None,
            Some(format!(
                "The first row is too long for the {why}: name the columns that you need."
            )),
        ),
    }
}

/// A value, or so many bytes from its start, and how many characters or bytes these are.
fn start(whole: &Value, budget: usize) -> (Json, Option<usize>) {
    let start = |bytes: &[u8]| hex::encode(&bytes[..budget / 2]);
    match whole {
        Value::Text(text) if text.len() > budget => {
            let start = &text[..text.floor_char_boundary(budget)];
            let cut = json!({ "cut_text": start, "characters": text.chars().count() });
            (cut, Some(start.chars().count()))
        }
        Value::BadText(bytes) if bytes.len() > budget / 2 => {
            let cut = json!({ "cut_text_hex": start(bytes), "bytes": bytes.len() });
            (cut, Some(budget / 2))
        }
        Value::Blob(bytes) if bytes.len() > budget / 2 => {
            let cut = json!({ "cut_blob": start(bytes), "bytes": bytes.len() });
            (cut, Some(budget / 2))
        }
        _ => (value(whole), None),
    }
}

/// The object with these rows.
fn whole(command: &str, output: &Output, meter: Meter, list: Vec<Json>) -> Json {
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
    add_cost(&mut object, meter);
    object.into()
}

/// A few rows as an object, in at most a quarter of the budget.
pub(crate) fn sample(rows: &Rows, limits: &OutputLimits) -> Json {
    let mut room = Room::new(limits).half().half();
    let kept: Vec<Json> = rows
        .rows
        .iter()
        .map(|row| array(row))
        .take_while(|row| room.try_take(&format!("{row},")))
        .collect();
    json!({ "columns": columns(rows), "rows": kept })
}

fn array(row: &[Value]) -> Json {
    Json::Array(row.iter().map(value).collect())
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
mod tests;
