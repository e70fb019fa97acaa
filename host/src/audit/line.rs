//! The lines: what stands in them, and how nothing in them breaks a line or a terminal.

use std::borrow::Cow;
use std::io::{self, Write};
use std::time::SystemTime;

use humantime::format_rfc3339_millis;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::ser::Formatter;

use super::key::Key;
use super::{Call, Outcome, Spent, Start};
use crate::budgets::Budgets;

/// The longest string of a client's in a line, in bytes; statements apart.
const STRING_BYTES: usize = 256;
/// The longest statement, in bytes.
const SQL_BYTES: usize = 64 << 10;
/// How many arguments a line holds. No tool takes as many.
const ARGUMENTS: usize = 32;

/// A server starts.
#[derive(Serialize)]
pub struct StartLine<'a> {
    time: String,
    event: &'static str,
    version: &'static str,
    component: &'static str,
    pid: u32,
    database: Cow<'a, str>,
    readonly: bool,
    root: Option<Cow<'a, str>>,
    notes: Option<Cow<'a, str>>,
    state: Option<Cow<'a, str>>,
    budgets: &'a Budgets,
}

impl<'a> StartLine<'a> {
    /// It starts now.
    pub fn new(start: &Start<'a>) -> Self {
        Self {
            time: time(SystemTime::now()),
            event: "start",
            version: env!("CARGO_PKG_VERSION"),
            component: concat!("sha256:", env!("SQLARIUM_COMPONENT_SHA256")),
            pid: std::process::id(),
            database: start.database.to_string_lossy(),
            readonly: start.readonly,
            root: start.root.map(|path| path.to_string_lossy()),
            notes: start.notes.map(|path| path.to_string_lossy()),
            state: start.state.map(|path| path.to_string_lossy()),
            budgets: start.budgets,
        }
    }
}

/// A call. What is not known is null.
#[derive(Serialize)]
pub struct CallLine {
    time: String,
    event: &'static str,
    request: Value,
    thread: Option<String>,
    tool: String,
    arguments: Digests,
    #[serde(skip_serializing_if = "Option::is_none")]
    sql: Option<String>,
    status: Option<String>,
    rows: Option<u64>,
    changes: Option<u64>,
    fuel: u64,
    ms: f64,
    /// The length of the reply; none where it shares its line, or there is none.
    pub bytes: Option<u64>,
    /// What ended it from outside.
    pub cut_by: Option<&'static str>,
}

impl CallLine {
    /// A call that begins at `now`.
    pub fn new(call: Call, key: &Key, sql: bool, now: SystemTime) -> Self {
        let digest =
            |(name, value): (String, String)| (clipped(name, STRING_BYTES), key.digest(&value));
        Self {
            time: time(now),
            event: "call",
            request: request(call.request),
            thread: call.thread.map(|thread| clipped(thread, STRING_BYTES)),
            tool: clipped(call.tool, STRING_BYTES),
            arguments: Digests(
                call.arguments
                    .into_iter()
                    .take(ARGUMENTS)
                    .map(digest)
                    .collect(),
            ),
            sql: call.sql.filter(|_| sql).map(|sql| clipped(sql, SQL_BYTES)),
            status: None,
            rows: None,
            changes: None,
            fuel: 0,
            ms: 0.0,
            bytes: None,
            cut_by: None,
        }
    }

    /// It has ended; it used what was used between `began` and `ended`.
    pub fn end(&mut self, outcome: Outcome, began: Spent, ended: Spent) {
        self.status = Some(clipped(outcome.status, STRING_BYTES));
        self.rows = Some(outcome.rows);
        self.changes = Some(outcome.changes);
        self.abort(began, ended);
    }

    /// It was ended from outside, and the host alone knows something of it.
    pub fn abort(&mut self, began: Spent, ended: Spent) {
        self.fuel = ended.fuel.saturating_sub(began.fuel);
        let time = ended.time.saturating_sub(began.time);
        self.ms = time.as_micros() as f64 / 1_000.0;
    }
}

/// Arguments with the digests of their values. Names may repeat, where they were cut.
struct Digests(Vec<(String, String)>);

impl Serialize for Digests {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, digest) in &self.0 {
            map.serialize_entry(name, digest)?;
        }
        map.end()
    }
}

/// The id of a request as the client wrote it: a string, or a number if it is exactly that.
fn request(json: String) -> Value {
    match serde_json::from_str(&json) {
        Ok(Value::String(text)) => Value::String(clipped(text, STRING_BYTES)),
        Ok(Value::Number(number)) if number.to_string() == json => Value::Number(number),
        _ => Value::String(clipped(json, STRING_BYTES)),
    }
}

fn time(at: SystemTime) -> String {
    format_rfc3339_millis(at).to_string()
}

/// A text of at most so many bytes, and an ellipsis where there was more.
fn clipped(mut text: String, bytes: usize) -> String {
    if text.len() > bytes {
        text.truncate(text.floor_char_boundary(bytes));
        text.push('…');
    }
    text
}

/// Writes `value` as JSON on one line, in printable ASCII.
pub fn write(to: &mut Vec<u8>, value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut *to, Ascii))?;
    to.push(b'\n');
    Ok(())
}

/// JSON that means the same to every reader and nothing to a terminal: what is not printable ASCII
/// is escaped, among it what changes the direction of text.
struct Ascii;

impl Formatter for Ascii {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        to: &mut W,
        text: &str,
    ) -> io::Result<()> {
        let plain = |byte: &u8| matches!(byte, 0x20..=0x7e);
        if text.as_bytes().iter().all(plain) {
            return to.write_all(text.as_bytes());
        }
        for c in text.chars() {
            if matches!(c, ' '..='~') {
                to.write_all(&[c as u8])?;
                continue;
            }
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(to, "\\u{unit:04x}")?;
            }
        }
        Ok(())
    }
}
