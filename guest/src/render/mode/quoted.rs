//! Values and names as SQL, JSON, HTML, Tcl and CSV write them; control characters that can be seen.

use std::borrow::Cow;
use std::io::{self, Write};

use super::Escape;
use super::lines::symbol;
use crate::answer::value::Value;
use crate::text::escape::{as_unistr, visible_lines};
use crate::text::{hex, real};

/// The bytes that a value shows; NULL shows none.
pub(super) fn plain(value: &Value) -> Cow<'_, [u8]> {
    let number = || {
        let mut text = Vec::new();
        put_number(&mut text, value);
        Cow::Owned(text)
    };
    match value {
        Value::Null => Cow::Borrowed(b""),
        Value::Integer(_) | Value::Real(_) => number(),
        Value::Text(text) => Cow::Borrowed(text.as_bytes()),
        Value::BadText(bytes) | Value::Blob(bytes) => Cow::Borrowed(bytes),
    }
}

/// Writes a number behind bytes; nothing for what is none.
pub(super) fn put_number(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Integer(number) => out.extend(itoa::Buffer::new().format(*number).as_bytes()),
        Value::Real(number) => real::put_shown(out, *number),
        _ => {}
    }
}

/// The text with its control characters escaped, but not its tabs and line breaks.
pub(super) fn escaped(text: &[u8], escape: Escape) -> Cow<'_, [u8]> {
    let control = |at: usize| match text[at] {
        b'\t' | b'\n' => false,
        b'\r' => text.get(at + 1) != Some(&b'\n'),
        byte => byte < b' ',
    };
    if matches!(escape, Escape::Off | Escape::Unseen) || !(0..text.len()).any(control) {
        return Cow::Borrowed(text);
    }
    let mut shown = Vec::with_capacity(text.len() + 16);
    for (at, &byte) in text.iter().enumerate() {
        match escape {
            Escape::Ascii if control(at) => shown.extend([b'^', b'@' + byte]),
            Escape::Symbol if control(at) => shown.extend(symbol(byte)),
            _ => shown.push(byte),
        }
    }
    Cow::Owned(shown)
}

/// A value as an SQL literal; an infinity is a number that overflows to it.
pub(super) fn literal(out: &mut dyn Write, value: &Value, escape: Escape) -> io::Result<()> {
    match value {
        Value::Null => out.write_all(b"NULL"),
        Value::Real(number) => write!(out, "{}", readable(*number)),
        Value::Integer(_) => out.write_all(&plain(value)),
        Value::Text(text) => literal_text(out, text.as_bytes(), escape),
        Value::BadText(bytes) => literal_text(out, bytes, escape),
        Value::Blob(bytes) => in_hex(out, "x'", bytes, "'"),
    }
}

/// A value as an SQL literal, in bytes because text need not be UTF-8.
pub(crate) fn as_literal(value: &Value, escape: Escape) -> Vec<u8> {
    let mut sql = Vec::new();
    // Memory takes it all.
    let _ = literal(&mut sql, value, escape);
    sql
}

/// A real as SQL and JSON read it.
pub(super) fn readable(number: f64) -> String {
    if number.is_infinite() {
        let sign = if number < 0.0 { "-" } else { "" };
        format!("{sign}1e999")
    } else {
        real::shown(number)
    }
}

/// Text as an SQL literal: in quotes, its control characters in `unistr()` if they are to be escaped.
/// A NUL would end it, and a program that reads lines may drop a carriage return, so `char()` makes these.
pub(crate) fn literal_text(out: &mut dyn Write, text: &[u8], escape: Escape) -> io::Result<()> {
    if escape == Escape::Unseen {
        return match str::from_utf8(text) {
            Ok(text) if matches!(visible_lines(text), Cow::Owned(_)) => {
                write!(out, "unistr('{}')", as_unistr(text))
            }
            Ok(_) => literal_text(out, text, Escape::Off),
            Err(_) => in_hex(out, "CAST(x'", text, "' AS TEXT)"),
        };
    }
    let holds = |control: fn(&u8) -> bool| text.iter().any(control);
    let escapes = escape != Escape::Off && holds(|&byte| byte < b' ');
    if holds(|&byte| byte == 0) || !escapes && holds(|&byte| byte == b'\r') {
        return match str::from_utf8(text) {
            Ok(text) => with_chars(out, text),
            Err(_) => in_hex(out, "CAST(x'", text, "' AS TEXT)"),
        };
    }
    out.write_all(if escapes { b"unistr('" } else { b"'" })?;
    let special = |&byte: &u8| byte == b'\'' || escapes && (byte == b'\\' || byte < b' ');
    for part in text.split_inclusive(special) {
        match part.split_last() {
            Some((&last, before)) if special(&last) => {
                out.write_all(before)?;
                match last {
                    b'\'' | b'\\' => out.write_all(&[last, last])?,
                    control => write!(out, "\\u{control:04x}")?,
                }
            }
            _ => out.write_all(part)?,
        }
    }
    out.write_all(if escapes { b"')" } else { b"'" })
}

/// Text with marks in the place of each NUL and carriage return, for which `replace()` puts them back.
/// Unlike the text's bytes, that is the same text in a database of any encoding.
fn with_chars(out: &mut dyn Write, text: &str) -> io::Result<()> {
    let mut marked = text.replace('\'', "''");
    let mut ends = String::new();
    for (control, name) in [('\0', "0"), ('\r', "r")] {
        if !text.contains(control) {
            continue;
        }
        let mut mark = format!("\\{name}");
        let mut number = 0;
        while text.contains(&mark) {
            number += 1;
            mark = format!("\\{name}{number}");
        }
        marked = marked.replace(control, &mark);
        out.write_all(b"replace(")?;
        ends.push_str(&format!(",'{mark}',char({}))", u32::from(control)));
    }
    write!(out, "'{marked}'{ends}")
}

fn in_hex(out: &mut dyn Write, before: &str, bytes: &[u8], after: &str) -> io::Result<()> {
    out.write_all(before.as_bytes())?;
    hex::write(out, bytes)?;
    out.write_all(after.as_bytes())
}

/// A JSON string. A byte that is not UTF-8 becomes the character of its number.
pub(super) fn json(out: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
    let text: Cow<'_, str> = match str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => {
            let mut text = String::with_capacity(bytes.len());
            for chunk in bytes.utf8_chunks() {
                text.push_str(chunk.valid());
                text.extend(chunk.invalid().iter().copied().map(char::from));
            }
            text.into()
        }
    };
    Ok(serde_json::to_writer(out, &text)?)
}

/// A JSON string of a character for each byte.
pub(super) fn json_bytes(out: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
    out.write_all(b"\"")?;
    for byte in bytes {
        write!(out, "\\u{byte:04x}")?;
    }
    out.write_all(b"\"")
}

/// Text inside an HTML element.
pub(super) fn html(out: &mut dyn Write, text: &[u8]) -> io::Result<()> {
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
pub(crate) fn tcl(out: &mut dyn Write, text: &[u8]) -> io::Result<()> {
    out.write_all(b"\"")?;
    for &byte in text {
        match byte {
            b'\\' => out.write_all(b"\\\\")?,
            b'"' => out.write_all(b"\\\"")?,
            0x8 => out.write_all(b"\\b")?,
            0xc => out.write_all(b"\\f")?,
            b'\t' => out.write_all(b"\\t")?,
            b'\n' => out.write_all(b"\\n")?,
            b'\r' => out.write_all(b"\\r")?,
            ..b' ' => write!(out, "\\{byte:03o}")?,
            _ => out.write_all(&[byte])?,
        }
    }
    out.write_all(b"\"")
}

/// A string of Tcl with an escape for each byte.
pub(super) fn tcl_bytes(out: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
    out.write_all(b"\"")?;
    for byte in bytes {
        write!(out, "\\{byte:03o}")?;
    }
    out.write_all(b"\"")
}

/// A field of CSV, quoted where RFC 4180 asks for it and where the sqlite3 program plays safe.
pub(super) fn csv(
    out: &mut dyn Write,
    text: &[u8],
    separator: &[u8],
    escape: Escape,
) -> io::Result<()> {
    /// What may stand without quotes.
    const BARE: [bool; 256] = {
        let mut bare = [false; 256];
        let mut byte = b'!';
        while byte <= b'~' {
            bare[byte as usize] = !matches!(byte, b'"' | b'\'');
            byte += 1;
        }
        bare
    };
    let apart = match separator {
        [] => false,
        [one] => text.contains(one),
        _ => text.windows(separator.len()).any(|w| w == separator),
    };
    let quoted = text.is_empty() || apart || text.iter().any(|&byte| !BARE[usize::from(byte)]);
    let text = escaped(text, escape);
    if !quoted {
        return out.write_all(&text);
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
