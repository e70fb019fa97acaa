//! Results as a reader gets them, within the budgets of text, cells and rows.
//!
//! - [`text`]: the aligned table. [`json`]: the object that `output: "json"` asks for.
//! - [`mode`]: the output modes of the sqlite3 program, for the shell and for exports.
//! - [`layout`]: columns side by side. [`cell`]: one value. [`room`]: how much there is room for.

pub(crate) mod cell;
pub(crate) mod json;
pub(crate) mod layout;
pub(crate) mod mode;
pub(crate) mod room;
pub(crate) mod text;

use std::time::Duration;

use crate::text::escape::visible;

/// What a call has used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meter {
    /// Time since the call began.
    pub elapsed: Duration,
    /// Fuel, where it is metered.
    pub fuel: u64,
    /// The most that SQLite's heap held, in bytes.
    pub peak_memory: u64,
}

/// What the protocol puts around a result, in bytes: envelope, `_meta`, an id of reasonable length.
const ENVELOPE: u64 = 1 << 10;

/// Bytes for what is said below the rows: that some are left out, how to get them, how many there are.
const FOOT: usize = 600;

/// Characters of the name of a column that are shown.
const COLUMN_CHARS: usize = 60;

/// Whether a line of so many bytes holds a result twice: as text, and as the object that the text is of.
pub(crate) fn fits_twice(text: &str, line: u64) -> bool {
    text.len() as u64 + escaped_len(text) + ENVELOPE <= line
}

/// How SQL reads on in a text of which so many characters are shown, or in a blob of which so many bytes are.
fn read_on(column: &str, shown: usize) -> String {
    let name: String = column.chars().take(COLUMN_CHARS).collect();
    // What looks like an expression can be written as it is; a name may have to be quoted.
    let named = name
        .chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | ' '));
    let written = match named {
        true => mode::identifier(&name),
        false => visible(&name).into_owned(),
    };
    format!("substr({written}, {})", shown + 1)
}

/// The bytes that `text` takes inside a JSON string.
fn escaped_len(text: &str) -> u64 {
    text.bytes()
        .map(|byte| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
            0..=0x1f => 6,
            _ => 1,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_escaped_length_is_what_serde_writes() {
        for text in [
            "",
            "plain",
            "\"\\\n\r\t\u{8}\u{c}\u{1}\u{1f}\u{7f}",
            "äöü \u{2028} 🦀",
        ] {
            let written = serde_json::to_string(text).unwrap();
            assert_eq!(escaped_len(text) + 2, written.len() as u64, "{text:?}");
        }
    }
}
