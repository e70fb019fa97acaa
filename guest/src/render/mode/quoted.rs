//! Values and names as SQL, JSON, HTML and Tcl write them.

use std::io::{self, Write};

use super::number;
use crate::answer::value::Value;
use crate::text::hex;
use crate::text::keyword;

/// A name as it can stand in SQL: as it is, or in double quotes if it has to.
pub fn identifier(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !keyword::is(name);
    if plain {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

/// What is done about line breaks inside quoted text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breaks {
    /// They stand as they are.
    Kept,
    /// They are put back by `replace()`, so that the literal is on one line.
    Replaced,
}

/// A value as an SQL literal, in bytes because text need not be UTF-8.
///
/// A real has 20 digits; an infinity is `Inf` with [`Breaks::Kept`] (mode `quote`), else `1e999`.
pub fn literal(value: &Value, breaks: Breaks) -> Vec<u8> {
    match value {
        Value::Null => b"NULL".to_vec(),
        Value::Integer(number) => number.to_string().into_bytes(),
        Value::Real(number) if breaks == Breaks::Kept => number::general(*number, 20).into_bytes(),
        Value::Real(number) => number::readable(*number).into_bytes(),
        Value::Text(text) => quoted_text(text.as_bytes(), breaks),
        Value::BadText(bytes) => quoted_text(bytes, breaks),
        Value::Blob(bytes) => in_hex("X'", bytes, "'"),
    }
}

/// The digits of the bytes between two pieces of SQL.
fn in_hex(before: &str, bytes: &[u8], after: &str) -> Vec<u8> {
    let mut sql = Vec::with_capacity(before.len() + 2 * bytes.len() + after.len());
    sql.extend_from_slice(before.as_bytes());
    // Memory takes it all.
    let _ = hex::write(&mut sql, bytes);
    sql.extend_from_slice(after.as_bytes());
    sql
}

/// A value as SQLite's `quote()` shows it, for a list.
pub fn literal_text(value: &Value) -> String {
    match value {
        Value::Real(number) => number::general(*number, 15),
        value => String::from_utf8_lossy(&literal(value, Breaks::Kept)).into_owned(),
    }
}

fn quoted_text(text: &[u8], breaks: Breaks) -> Vec<u8> {
    if text.contains(&0) {
        return in_hex("CAST(x'", text, "' AS TEXT)");
    }
    let newline = breaks == Breaks::Replaced && text.contains(&b'\n');
    let carriage = breaks == Breaks::Replaced && text.contains(&b'\r');
    let newline_mark = newline.then(|| unused(text, "\\n", "\\012"));
    let carriage_mark = carriage.then(|| unused(text, "\\r", "\\015"));
    let mut sql = Vec::with_capacity(text.len() + 2);
    for _ in newline_mark.iter().chain(&carriage_mark) {
        sql.extend(b"replace(");
    }
    sql.push(b'\'');
    for &byte in text {
        match (byte, &newline_mark, &carriage_mark) {
            (b'\'', ..) => sql.extend(b"''"),
            (b'\n', Some(mark), _) | (b'\r', _, Some(mark)) => sql.extend(mark.as_bytes()),
            _ => sql.push(byte),
        }
    }
    sql.push(b'\'');
    if let Some(mark) = carriage_mark {
        sql.extend(format!(",'{mark}',char(13))").as_bytes());
    }
    if let Some(mark) = newline_mark {
        sql.extend(format!(",'{mark}',char(10))").as_bytes());
    }
    sql
}

/// A mark for a line break that the text itself does not hold.
fn unused(text: &[u8], first: &str, second: &str) -> String {
    let holds = |mark: &str| {
        text.windows(mark.len())
            .any(|window| window == mark.as_bytes())
    };
    [first, second]
        .into_iter()
        .find(|mark| !holds(mark))
        .map_or_else(
            || {
                (0_u32..)
                    .map(|number| format!("({first}{number})"))
                    .find(|mark| !holds(mark))
                    .unwrap_or_default()
            },
            ToOwned::to_owned,
        )
}

/// A JSON string. Bytes that are not UTF-8 are escaped one by one.
pub fn json(out: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
    out.write_all(b"\"")?;
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' => out.write_all(b"\\\"")?,
                '\\' => out.write_all(b"\\\\")?,
                '\u{8}' => out.write_all(b"\\b")?,
                '\u{c}' => out.write_all(b"\\f")?,
                '\n' => out.write_all(b"\\n")?,
                '\r' => out.write_all(b"\\r")?,
                '\t' => out.write_all(b"\\t")?,
                c if c < ' ' => write!(out, "\\u{:04x}", u32::from(c))?,
                c => write!(out, "{c}")?,
            }
        }
        for byte in chunk.invalid() {
            write!(out, "\\u{byte:04x}")?;
        }
    }
    out.write_all(b"\"")
}

/// Text inside an HTML element.
pub fn html(out: &mut dyn Write, text: &[u8]) -> io::Result<()> {
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| b"<&>\"'".contains(byte)) {
        out.write_all(&rest[..at])?;
        out.write_all(match rest[at] {
            b'<' => b"&lt;",
            b'&' => b"&amp;",
            b'>' => b"&gt;",
            b'"' => b"&quot;",
            _ => b"&#39;",
        })?;
        rest = &rest[at + 1..];
    }
    out.write_all(rest)
}

/// A string of Tcl, or of C.
pub fn tcl(out: &mut dyn Write, text: &[u8]) -> io::Result<()> {
    out.write_all(b"\"")?;
    for &byte in text {
        match byte {
            b'\\' => out.write_all(b"\\\\")?,
            b'"' => out.write_all(b"\\\"")?,
            b'\t' => out.write_all(b"\\t")?,
            b'\n' => out.write_all(b"\\n")?,
            b'\r' => out.write_all(b"\\r")?,
            b' '..=b'~' => out.write_all(&[byte])?,
            _ => write!(out, "\\{byte:03o}")?,
        }
    }
    out.write_all(b"\"")
}

/// A field of CSV, quoted where RFC 4180 asks for it and where the sqlite3 program plays safe.
pub fn csv(out: &mut dyn Write, text: &[u8], separator: &[u8]) -> io::Result<()> {
    let careful = |byte: &u8| matches!(byte, 0..=b' ' | b'"' | b'\'' | 0x7f..);
    let apart = !separator.is_empty() && text.windows(separator.len()).any(|w| w == separator);
    if !(text.is_empty() || text.iter().any(careful) || apart) {
        return out.write_all(text);
    }
    out.write_all(b"\"")?;
    for (index, part) in text.split(|&byte| byte == b'"').enumerate() {
        if index > 0 {
            out.write_all(b"\"\"")?;
        }
        out.write_all(part)?;
    }
    out.write_all(b"\"")
}
