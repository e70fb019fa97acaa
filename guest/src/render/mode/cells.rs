//! A value as plain text, and the lines of a cell.

use std::borrow::Cow;

use super::number;
use crate::answer::value::Value;
use crate::text::hex;

/// The bytes before the first NUL, where C stops reading.
pub fn upto_nul(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|&byte| byte == 0);
    &bytes[..end.unwrap_or(bytes.len())]
}

/// All of a value as text; `None` for NULL.
pub fn whole(value: &Value) -> Option<Cow<'_, [u8]>> {
    Some(match value {
        Value::Text(text) => Cow::Borrowed(text.as_bytes()),
        Value::BadText(bytes) | Value::Blob(bytes) => Cow::Borrowed(bytes),
        other => return plain(other),
    })
}

/// The text with a symbol for each NUL, at which a cell would end.
pub fn visible_nul(text: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    if text.contains(&0) {
        let symbol = "\u{2400}".as_bytes();
        let parts: Vec<&[u8]> = text.split(|&byte| byte == 0).collect();
        Cow::Owned(parts.join(symbol))
    } else {
        text
    }
}

/// What the sqlite3 program shows of a value: its text up to a NUL; `None` for NULL.
pub fn plain(value: &Value) -> Option<Cow<'_, [u8]>> {
    Some(match value {
        Value::Null => return None,
        Value::Integer(number) => Cow::Owned(number.to_string().into_bytes()),
        Value::Real(number) => Cow::Owned(number::general(*number, 15).into_bytes()),
        Value::Text(text) => Cow::Borrowed(upto_nul(text.as_bytes())),
        Value::BadText(bytes) | Value::Blob(bytes) => Cow::Borrowed(upto_nul(bytes)),
    })
}

/// A value as a literal inside a cell: numbers short, text in quotes.
pub fn short_literal(value: &Value) -> Vec<u8> {
    match value {
        Value::Null => b"NULL".to_vec(),
        Value::Integer(_) | Value::Real(_) => plain(value).unwrap_or_default().into_owned(),
        Value::Text(_) | Value::BadText(_) => {
            let text = plain(value).unwrap_or_default();
            let mut quoted = vec![b'\''];
            for &byte in text.as_ref() {
                quoted.push(byte);
                if byte == b'\'' {
                    quoted.push(byte);
                }
            }
            quoted.push(b'\'');
            quoted
        }
        Value::Blob(bytes) => format!("x'{}'", hex::encode(bytes)).into_bytes(),
    }
}

fn continues(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

/// How many characters there are, by their first bytes.
pub fn characters(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| !continues(byte)).count()
}

/// Takes the first line off a cell: up to a control character other than a tab, or `width`
/// characters. Tabs become blanks. Answers the line and what is left for the next, if anything.
pub fn first_line(text: &[u8], width: usize, words: bool) -> (Vec<u8>, Option<&[u8]>) {
    let at = |index: usize| text.get(index).copied().unwrap_or(0);
    let (mut end, mut columns) = (0, 0);
    while columns < width {
        match at(end) {
            b' '.. => {
                columns += 1;
                end += 1;
                while continues(at(end)) {
                    end += 1;
                }
            }
            b'\t' => {
                columns = tab_stop(columns, width);
                end += 1;
            }
            _ => break,
        }
    }
    let mut next = end;
    if columns >= width && words {
        end = word_end(text, end);
        if end < next {
            next = end;
            while at(next) == b' ' {
                next += 1;
            }
        }
    }
    let rest = if columns >= width && at(next) >= b' ' {
        Some(next)
    } else if at(next) == b'\r' && at(next + 1) == b'\n' {
        Some(next + 2).filter(|&rest| at(rest) != 0)
    } else if at(next) == 0 || at(next + 1) == 0 {
        None
    } else {
        Some(next + 1)
    };
    (
        untabbed(&text[..end], width),
        rest.map(|rest| &text[rest..]),
    )
}

/// The column behind a tab: a multiple of eight, but not beyond `width`.
fn tab_stop(columns: usize, width: usize) -> usize {
    (columns + 1)
        .next_multiple_of(8)
        .min(width.max(columns + 1))
}

/// Where a line that ends at `end` should rather end: behind a blank, or else between a word and
/// what is none, but only in its second half.
fn word_end(text: &[u8], end: usize) -> usize {
    let at = |index: usize| text.get(index).copied().unwrap_or(0);
    // As C's isspace and isalnum in its own locale.
    let blank = |byte: u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let second_half = || (end / 2 + 1..=end).rev();
    second_half()
        .find(|&index| blank(at(index - 1)))
        .or_else(|| {
            second_half().find(|&index| {
                at(index - 1).is_ascii_alphanumeric() != at(index).is_ascii_alphanumeric()
                    && !continues(at(index))
            })
        })
        .unwrap_or(end)
}

fn untabbed(line: &[u8], width: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(line.len());
    let mut columns = 0;
    for &byte in line {
        if byte == b'\t' {
            let stop = tab_stop(columns, width);
            text.resize(text.len() + stop - columns, b' ');
            columns = stop;
        } else {
            columns += usize::from(!continues(byte));
            text.push(byte);
        }
    }
    text
}
