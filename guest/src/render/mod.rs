//! Results as a reader gets them, within the budgets of text, cells and rows.
//!
//! - [`text`]: the aligned table. [`json`]: the object that `output: "json"` asks for.
//! - [`mode`]: the output modes of the sqlite3 program, for the shell and for exports.
//! - [`table`]: rows under each other. [`layout`]: how wide columns are. [`cell`]: one value. [`room`]: how
//!   much there is room for.

pub(crate) mod cell;
pub(crate) mod json;
pub(crate) mod layout;
pub(crate) mod mode;
pub(crate) mod room;
mod table;
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
pub(crate) const FOOT: usize = 600;

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
fn escaped_len(text: impl AsRef<[u8]>) -> u64 {
    /// What each byte takes.
    const BYTES: [u8; 256] = {
        let mut bytes = [1; 256];
        let mut control = 0;
        while control < 0x20 {
            bytes[control] = 6;
            control += 1;
        }
        let short = *b"\"\\\n\r\t\x08\x0c";
        let mut at = 0;
        while at < short.len() {
            bytes[short[at] as usize] = 2;
            at += 1;
        }
        bytes
    };
    let bytes = text.as_ref().iter();
    bytes.map(|&byte| u64::from(BYTES[usize::from(byte)])).sum()
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
