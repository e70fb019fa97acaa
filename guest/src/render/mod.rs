//! Results as a reader gets them, within the budgets of text, cells and rows.
//!
//! - [`text`]: the aligned table. [`json`]: the object that `output: "json"` asks for.
//! - [`mode`]: the output modes of the sqlite3 program, for the shell and for exports.
//! - [`layout`]: columns side by side. [`cell`]: one value.

pub(crate) mod cell;
pub(crate) mod json;
pub(crate) mod layout;
pub(crate) mod mode;
pub(crate) mod text;

use std::time::Duration;

/// What a call has used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meter {
    /// Time since the call began.
    pub elapsed: Duration,
    /// Fuel, where it is metered.
    pub fuel: u64,
}

/// What the protocol puts around a result at most, in bytes: envelope, id, `_meta`.
const ENVELOPE: u64 = 16 << 10;

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
