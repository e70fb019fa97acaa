//! The JSON form, on one line: every value by its storage class, exact. Rows are written as text at
//! once, since there can be many.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value as Json, json};

use super::room::Room;
use super::{FOOT, Meter, escaped_len, read_on};
use crate::answer::failure::Failure;
use crate::answer::output::{Column, Output, Rows};
use crate::answer::value::Value;
use crate::settings::OutputLimits;
use crate::text::count::count;
use crate::text::hex;

/// The greatest integer that every JSON reader takes exactly, 2^53 − 1.
const EXACT: i64 = 9_007_199_254_740_991;

/// A refusal.
pub(crate) fn refusal(command: &str, failure: &Failure, meter: Meter) -> String {
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
    object.to_string()
}

/// What the call has used.
fn add_cost(object: &mut Map<String, Json>, meter: Meter) {
    let micros = meter.elapsed.as_micros() as f64;
    object.insert("elapsed_ms".into(), (micros / 1_000.0).into());
    object.insert("fuel".into(), meter.fuel.into());
    object.insert("peak_memory".into(), meter.peak_memory.into());
}

/// What a command answers, all of it.
pub(crate) fn object(command: &str, output: &Output, meter: Meter) -> String {
    let mut list = List::default();
    for row in output.rows.iter().flat_map(|rows| &rows.rows) {
        list.push(&Row(row));
    }
    written(
        without_rows(command, output, meter),
        list,
        Vec::new(),
        false,
    )
}

/// What a command answers, within the owner's limits. What was left out is told by `more` and by notes; `advice` says
/// how to get it.
pub(crate) fn object_within(
    command: &str,
    output: &Output,
    meter: Meter,
    limits: &OutputLimits,
    advice: &str,
) -> String {
    let mut room = Room::new(limits);
    room.reserve(FOOT);
    let mut object = without_rows(command, output, meter);
    let all = output.rows.as_ref().map(|rows| &rows.rows[..]);
    let all = all.unwrap_or_default();
    // Where there are rows, what stands beside them may take half.
    let beside = if all.is_empty() { room } else { room.half() };
    let mut notes = shorten(&mut object, beside);
    room.take(&text_of(&object));

    let mut list = List::default();
    for row in all {
        let bytes = list.push(&Row(row));
        let escaped = escaped_len(bytes) + 1;
        if !room.try_take_bytes(bytes.len() as u64 + 1, escaped) {
            list.pop();
            break;
        }
    }
    if let (Some(row), Some(rows), 0) = (all.first(), &output.rows, list.count()) {
        let (row, note) = cut(row, &rows.columns, &room);
        row.iter().for_each(|row| _ = list.push(row));
        notes.extend(note);
    }
    let left = all.len() - list.count();
    if left > 0 && list.count() > 0 {
        let more = count(left, "more row");
        notes.push(format!("{more} not shown ({}): {advice}", room.budget()));
    }
    written(object, list, notes, left > 0)
}

/// Rows as they stand in an array.
#[derive(Default)]
struct List {
    text: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
}

impl List {
    fn count(&self) -> usize {
        self.ends.len()
    }

    /// Adds a row; answers its text.
    fn push(&mut self, row: &impl Serialize) -> &[u8] {
        if !self.ends.is_empty() {
            self.text.push(b',');
        }
        let start = self.text.len();
        // Memory takes it all.
        let _ = serde_json::to_writer(&mut self.text, row);
        self.ends.push(self.text.len());
        &self.text[start..]
    }

    /// Takes the last one away.
    fn pop(&mut self) {
        self.ends.pop();
        self.text
            .truncate(self.ends.last().copied().unwrap_or_default());
    }
}

/// An object with the rows that are kept, and what there is to say about them.
fn written(mut object: Map<String, Json>, list: List, told: Vec<String>, more: bool) -> String {
    let has_rows = object.contains_key("rows");
    if has_rows {
        object.insert("row_count".into(), list.count().into());
    }
    if more {
        object.insert("more".into(), true.into());
    }
    if !told.is_empty() {
        let notes = object.entry("notes").or_insert_with(|| json!([]));
        if let Some(notes) = notes.as_array_mut() {
            notes.extend(told.into_iter().map(Json::from));
        }
    }
    let rows = String::from_utf8(list.text).unwrap_or_default();
    let mut text = String::with_capacity(rows.len() + 512);
    for (name, value) in &object {
        text.push_str(if text.is_empty() { "{" } else { "," });
        text.push_str(&Json::from(name.as_str()).to_string());
        text.push(':');
        match name.as_str() {
            "rows" => text.extend(["[", &rows, "]"]),
            _ => text.push_str(&value.to_string()),
        }
    }
    text.push('}');
    text
}

/// Cuts the longest texts and lists of an object until it fits, and says which.
fn shorten(object: &mut Map<String, Json>, mut room: Room) -> Vec<String> {
    let mut cut: Vec<String> = Vec::new();
    while !room.try_take(&text_of(object)) {
        let longest = object.iter_mut().max_by_key(|(_, value)| size(value));
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

fn text_of(object: &Map<String, Json>) -> String {
    serde_json::to_string(object).unwrap_or_default()
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

/// The object with an empty list for the rows.
fn without_rows(command: &str, output: &Output, meter: Meter) -> Map<String, Json> {
    let mut tail = Map::new();
    if let Some(changes) = output.changes {
        tail.insert("changes".into(), changes.into());
    }
    if let Some(rowid) = output.last_insert_rowid {
        tail.insert("last_insert_rowid".into(), value(&Value::Integer(rowid)));
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
        object.insert("row_count".into(), 0.into());
        object.insert("total".into(), rows.total.into());
        object.insert("more".into(), rows.more.into());
        object.insert("rows".into(), json!([]));
    }
    object.append(&mut tail);
    if !output.notes.is_empty() {
        object.insert("notes".into(), lines(&output.notes).into());
    }
    add_cost(&mut object, meter);
    object
}

/// A few rows as an object, in at most a quarter of the budget.
pub(crate) fn sample(rows: &Rows, limits: &OutputLimits) -> Json {
    let mut room = Room::new(limits).half().half();
    let kept: Vec<Json> = rows
        .rows
        .iter()
        .map(|row| json!(Row(row)))
        .take_while(|row| room.try_take(&format!("{row},")))
        .collect();
    json!({ "columns": columns(rows), "rows": kept })
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
    if values().any(|value| matches!(value, Value::Integer(n) if !is_exact(*n))) {
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

/// A row as JSON has it.
struct Row<'r>(&'r [Value]);

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.0.iter().map(Cell))
    }
}

/// A value as JSON has it, by its storage class.
struct Cell<'v>(&'v Value);

impl Serialize for Cell<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let named = |to: S, name, bytes| {
            let mut object = to.serialize_map(Some(1))?;
            object.serialize_entry(name, &hex::encode(bytes))?;
            object.end()
        };
        match self.0 {
            Value::Null => to.serialize_unit(),
            Value::Integer(number) if is_exact(*number) => to.serialize_i64(*number),
            // A JSON reader could round it.
            Value::Integer(number) => to.collect_str(number),
            Value::Real(number) if number.is_infinite() => {
                to.serialize_str(&super::cell::shown(self.0, 0))
            }
            Value::Real(number) => to.serialize_f64(*number),
            Value::Text(text) => to.serialize_str(text),
            Value::BadText(bytes) => named(to, "text_hex", bytes),
            Value::Blob(bytes) => named(to, "blob", bytes),
        }
    }
}

/// A value by its storage class.
pub(crate) fn value(value: &Value) -> Json {
    json!(Cell(value))
}

fn is_exact(number: i64) -> bool {
    number.unsigned_abs() <= EXACT as u64
}

#[cfg(test)]
mod tests;
