//! Text as it may be shown: nothing in it drives a terminal, hides, or breaks a line.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text on one line: control characters, line separators and invisible or direction-changing
/// characters as escapes. A backslash is doubled where it could be read as the start of an escape.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    escape(text, |_| false)
}

/// As [`visible`], but line breaks and tabs stay: for a text of several lines, such as DDL.
pub(crate) fn visible_lines(text: &str) -> Cow<'_, str> {
    escape(text, |c| matches!(c, '\n' | '\t'))
}

fn escape(text: &str, keep: impl Fn(char) -> bool) -> Cow<'_, str> {
    let hidden = |c: char| unseen(c) && !keep(c);
    // Lines of DDL are not read back, so their backslashes need no care.
    let doubled = !keep('\n') && reads_as_escape(text);
    if !doubled && !text.chars().any(hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\\' if !keep('\n') => shown.push_str("\\\\"),
            c if !hidden(c) => shown.push(c),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if u32::from(c) <= 0xffff => {
                let _ = write!(shown, "\\u{:04x}", u32::from(c));
            }
            c => {
                let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
            }
        }
    }
    Cow::Owned(shown)
}

/// Whether a backslash in the text would be taken for one of our escapes.
fn reads_as_escape(text: &str) -> bool {
    text.as_bytes()
        .windows(2)
        .any(|pair| pair[0] == b'\\' && matches!(pair[1], b'n' | b'r' | b't' | b'u' | b'x' | b'\\'))
}

/// Characters that break the line, drive a terminal, or cannot be seen.
fn unseen(c: char) -> bool {
    c.is_control()
        || matches!(u32::from(c),
            0xad | 0x61c | 0x180e | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfeff
            | 0xfff9..=0xfffb | 0xe0000..=0xe0fff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ddl_keeps_its_lines_and_nothing_that_cannot_be_seen() {
        assert_eq!(
            visible_lines("a\n\tb \\n \u{1b}[0m"),
            "a\n\tb \\n \\u001b[0m"
        );
    }
}
