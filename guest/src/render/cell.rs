//! One value in the text form: on one line, distinct from every other, cut to a budget.

use std::fmt::Write as _;

use super::escaped_len;
use super::layout::width;
use crate::answer::value::Value;
use crate::text::count::count;
use crate::text::escape::{escaped as readable, hides, joins_to_the_left};
use crate::text::{hex, real};

/// Bytes of a blob that are shown.
const BLOB_BYTES: usize = 16;

/// Characters by which a cell may be longer than its budget, so as not to be cut within one that a reader sees.
const CLUSTER: usize = 16;

/// What says how a text with escapes is to be read.
pub(crate) const ESCAPES: &str = "Text in '…' has escapes: \\n is a line break, \\t a tab, \\uXXXX a character \
                                  that cannot be seen, \\\\ a backslash, '' a quote.";

/// What there is to know of a value as it stands in a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cell {
    /// Columns of a terminal.
    pub width: usize,
    /// The bytes by which it is longer inside a JSON string.
    pub escapes: usize,
    /// Whether it reads best when its last digits are under each other.
    pub number: bool,
    /// Whether it is NULL.
    pub null: bool,
    /// Whether text had to be cut.
    pub cut: bool,
    /// Whether it has escapes, which the answer explains.
    pub escaped: bool,
}

/// A value in at most about `budget` characters; holds no line break and no control character.
pub(crate) fn shown(value: &Value, budget: usize) -> String {
    let mut text = String::new();
    put(&mut text, value, budget);
    text
}

/// Writes [`shown`] behind a text.
pub(crate) fn put(out: &mut String, value: &Value, budget: usize) -> Cell {
    let start = out.len();
    let mut cell = Cell::default();
    match value {
        Value::Null => {
            cell.null = true;
            out.push_str("NULL");
        }
        Value::Integer(number) => {
            cell.number = true;
            out.push_str(itoa::Buffer::new().format(*number));
        }
        Value::Real(number) => {
            cell.number = true;
            real::put(out, *number);
        }
        Value::Text(text) => {
            if text.len() <= budget
                && let Some(escapes) = plain(text)
                && !ambiguous(text)
            {
                out.push_str(text);
                let width = text.len();
                return Cell {
                    width,
                    escapes,
                    ..cell
                };
            }
            put_text(out, text, budget, &mut cell);
            return measured(&out[start..], cell);
        }
        Value::BadText(bytes) => {
            put_bad_text(out, bytes, budget, &mut cell);
            return measured(&out[start..], cell);
        }
        Value::Blob(bytes) => {
            let hex = hex::encode(&bytes[..bytes.len().min(BLOB_BYTES)]);
            let dots = if bytes.len() > BLOB_BYTES { "…" } else { "" };
            let _ = write!(out, "x'{hex}{dots}' ({})", count(bytes.len(), "byte"));
            return measured(&out[start..], cell);
        }
    }
    cell.width = out.len() - start;
    cell
}

/// How many bytes more a text takes inside a JSON string, if all of it is ASCII that can be seen.
fn plain(text: &str) -> Option<usize> {
    let (mut seen, mut escapes) = (true, 0);
    for byte in text.bytes() {
        seen &= matches!(byte, b' '..=b'~');
        escapes += usize::from(matches!(byte, b'"' | b'\\'));
    }
    seen.then_some(escapes)
}

fn measured(text: &str, cell: Cell) -> Cell {
    Cell {
        width: width(text),
        escapes: usize::try_from(escaped_len(text)).unwrap_or(usize::MAX) - text.len(),
        ..cell
    }
}

fn put_text(out: &mut String, text: &str, budget: usize, cell: &mut Cell) {
    let (start, length) = start(text, budget);
    let hides = hides(start);
    if hides || ambiguous(text) {
        let readable = readable(start);
        cell.escaped = hides || readable.contains('\\');
        let _ = write!(out, "'{readable}'");
    } else {
        cell.escaped = start.starts_with('\'') && start.contains('\\');
        out.push_str(start);
    }
    if let Some(length) = length {
        let _ = write!(out, "… ({length} characters)");
        cell.cut = true;
    }
}

fn put_bad_text(out: &mut String, bytes: &[u8], budget: usize, cell: &mut Cell) {
    let start = &bytes[..bytes.len().min(budget)];
    out.push('\'');
    for chunk in start.utf8_chunks() {
        out.push_str(&readable(chunk.valid()));
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    cell.cut = start.len() < bytes.len();
    cell.escaped = true;
    let dots = if cell.cut { "…" } else { "" };
    let _ = write!(out, "'{dots} ({}, not UTF-8)", count(bytes.len(), "byte"));
}

/// The first `budget` characters of a text, or a few more, and its whole length if that is not all.
fn start(text: &str, budget: usize) -> (&str, Option<usize>) {
    // Fewer bytes than characters cannot be.
    if text.len() <= budget {
        return (text, None);
    }
    let mut rest = text.char_indices().skip(budget);
    let mut before = text.chars().nth(budget.wrapping_sub(1));
    for _ in 0..CLUSTER {
        match rest.next() {
            Some((_, c)) if joins_to_the_left(c) || before == Some('\u{200d}') => before = Some(c),
            Some((end, _)) => return (&text[..end], Some(text.chars().count())),
            None => return (text, None),
        }
    }
    match rest.next() {
        Some((end, _)) => (&text[..end], Some(text.chars().count())),
        None => (text, None),
    }
}

/// Whether a text would be taken for something else if it stood there bare: nothing, NULL, a blob, blanks that are
/// only alignment, or a text in quotes.
fn ambiguous(text: &str) -> bool {
    text.is_empty()
        || text == "NULL"
        || text.starts_with(' ')
        || text.ends_with(' ')
        || text.starts_with("x'")
        || inner(text)
            .is_some_and(|inner| inner.contains('\\') || ambiguous(&inner.replace("''", "'")))
}

/// What stands between single quotes at both ends.
fn inner(text: &str) -> Option<&str> {
    text.strip_prefix('\'')?.strip_suffix('\'')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(value: &Value, budget: usize) -> (String, Cell) {
        let mut text = "before".to_owned();
        let cell = put(&mut text, value, budget);
        let text = text.strip_prefix("before").unwrap().to_owned();
        let escapes = escaped_len(&text) as usize - text.len();
        assert_eq!(
            (cell.width, cell.escapes),
            (width(&text), escapes),
            "{text:?}"
        );
        assert_eq!(text, shown(value, budget));
        (text, cell)
    }

    fn text(value: &str) -> String {
        cell(&Value::Text(value.into()), 2_000).0
    }

    #[test]
    fn null_the_empty_string_and_the_word_null_are_three_things() {
        assert_eq!(cell(&Value::Null, 99).0, "NULL");
        assert_eq!(text(""), "''");
        assert_eq!(text("NULL"), "'NULL'");
        assert_eq!(text("'NULL'"), "'''NULL'''");
        assert_eq!(text("null"), "null");
        // As the default of a column is stored.
        assert_eq!(text("'open'"), "'open'");
        assert_eq!(text("''"), "''''''");
    }

    #[test]
    fn numbers_are_exact_and_a_real_looks_like_one() {
        for (number, shown) in [
            (3.0, "3.0"),
            (-0.0, "-0.0"),
            (0.1, "0.1"),
            (5e-324, "5e-324"),
            (1e100, "1e100"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
            (f64::MAX, "1.7976931348623157e308"),
        ] {
            assert_eq!(cell(&Value::Real(number), 99).0, shown);
        }
        assert_eq!(
            cell(&Value::Integer(i64::MIN), 99).0,
            "-9223372036854775808"
        );
    }

    #[test]
    fn a_cell_stays_on_its_line_whatever_it_holds() {
        assert_eq!(text("a\nb\r\nc\td"), r"'a\nb\r\nc\td'");
        assert_eq!(text("\u{1b}[31mred\u{7}\0"), r"'\u001b[31mred\u0007\u0000'");
        assert_eq!(text("\u{202e}evil\u{2066}"), r"'\u202eevil\u2066'");
        assert_eq!(
            text("a\u{2028}b\u{85}c\u{feff}"),
            r"'a\u2028b\u0085c\ufeff'"
        );
        assert_eq!(text("\u{e0041}"), r"'\u{e0041}'");
    }

    #[test]
    fn text_that_needs_no_escape_is_never_altered() {
        for plain in [
            r"C:\Users",
            r"C:\new\table",
            r"\\server\u0041",
            r"\d+\n",
            "it's",
            "👨\u{200d}👩\u{200d}👧",
            "می\u{200c}خواهم",
        ] {
            assert_eq!(text(plain), plain);
            assert!(!cell(&Value::Text(plain.into()), 99).1.escaped);
        }
    }

    #[test]
    fn texts_that_differ_are_shown_differently() {
        // What is shown bare, what is quoted, and what looks as if it were.
        let pieces = [
            "", "'", "''", "\\", "\\n", "\n", "n", " ", "x'", "NULL", "…",
        ];
        let mut shown = std::collections::HashMap::new();
        for a in pieces {
            for b in pieces {
                for c in pieces {
                    for d in pieces {
                        let value = format!("{a}{b}{c}{d}");
                        if let Some(other) = shown.insert(text(&value), value.clone()) {
                            assert_eq!(other, value);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn blanks_at_the_ends_can_be_seen() {
        assert_eq!(text(" a"), "' a'");
        assert_eq!(text("it's "), "'it''s '");
        assert_eq!(text("it's"), "it's");
    }

    #[test]
    fn a_blob_shows_its_start_and_its_length() {
        assert_eq!(cell(&Value::Blob(vec![]), 99).0, "x'' (0 bytes)");
        assert_eq!(cell(&Value::Blob(vec![0, 255]), 99).0, "x'00ff' (2 bytes)");
        let long = cell(&Value::Blob(vec![1; 3_000_000]), 99);
        assert_eq!(long.0, format!("x'{}…' (3000000 bytes)", "01".repeat(16)));
        assert_eq!(text("x'00'"), "'x''00'''");
    }

    #[test]
    fn a_long_text_is_cut_at_a_character_and_says_its_length() {
        let long = cell(&Value::Text("ä".repeat(5_000)), 2_000);
        assert!(long.1.cut);
        assert_eq!(long.0, format!("{}… (5000 characters)", "ä".repeat(2_000)));
        let fits = cell(&Value::Text("ä".repeat(2_000)), 2_000);
        assert!(!fits.1.cut);
        assert_eq!(fits.0, "ä".repeat(2_000));
    }

    #[test]
    fn a_long_text_is_not_cut_within_what_a_reader_sees_as_one_character() {
        let family = "👨\u{200d}👩\u{200d}👧";
        let long = cell(&Value::Text(family.repeat(5)), 6);
        assert_eq!(long.0, format!("{}… (25 characters)", family.repeat(2)));
        let marks = cell(&Value::Text(format!("e{}", "\u{301}".repeat(900))), 1);
        assert!(marks.0.chars().count() < 40);
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_one_by_one() {
        let bad = cell(&Value::BadText(b"ab\xffc\n".to_vec()), 2_000);
        assert_eq!(bad.0, r"'ab\xffc\n' (5 bytes, not UTF-8)");
        let long = cell(&Value::BadText(vec![0xff; 5_000]), 100);
        assert!(long.1.cut && long.0.len() < 500, "{}", long.0);
    }
}
