//! Text as it may be shown: nothing in it drives a terminal, hides, or breaks a line.
//!
//! What is escaped: control characters, separators of lines, what changes the direction of text (so that it reads
//! otherwise than it is stored, <https://trojansource.codes>), and what cannot be seen by itself, Unicode's
//! Default_Ignorable_Code_Point (<https://www.unicode.org/reports/tr36/#Recommendations_General>), which can carry a
//! hidden message. Joiners and variation selectors stay where a script or an emoji needs them and one at a time, for
//! without them Persian, Hindi and families fall apart.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text on one line, with escapes for what may not be shown.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    escape(text, &[])
}

/// As [`visible`], but line breaks and tabs stay: for a text of several lines, such as DDL.
pub(crate) fn visible_lines(text: &str) -> Cow<'_, str> {
    escape(text, &['\n', '\t'])
}

/// The text as it stands between single quotes: with escapes, and a backslash and a quote doubled, so that it can be
/// read back.
pub(crate) fn escaped(text: &str) -> String {
    let doubled = text.replace('\\', "\\\\").replace('\'', "''");
    visible(&doubled).into_owned()
}

/// The text as SQLite's `unistr()` takes it between single quotes, with escapes for what [`visible_lines`]
/// escapes.
pub(crate) fn as_unistr(text: &str) -> String {
    let mut sql = String::with_capacity(text.len() + 16);
    for (c, hidden) in hidden(text) {
        let _ = match c {
            '\'' | '\\' => write!(sql, "{c}{c}"),
            c if !hidden || matches!(c, '\n' | '\t') => write!(sql, "{c}"),
            c if u32::from(c) <= 0xffff => write!(sql, "\\u{:04x}", u32::from(c)),
            c => write!(sql, "\\U{:08x}", u32::from(c)),
        };
    }
    sql
}

/// The first characters of a text, and a mark if these are not all.
pub(crate) fn clipped(text: &str, chars: usize) -> String {
    let mut start: String = text.chars().take(chars).collect();
    if start.len() < text.len() {
        start.push('…');
    }
    start
}

/// Whether something in a text has to be escaped.
pub(crate) fn hides(text: &str) -> bool {
    hidden(text).any(|(_, hidden)| hidden)
}

/// Whether a character adds to the one before it, so that a text is better not cut between them.
pub(crate) fn joins_to_the_left(c: char) -> bool {
    is_joiner(c) || is_selector(c) || unicode_width::UnicodeWidthChar::width(c) == Some(0)
}

fn escape<'a>(text: &'a str, keep: &[char]) -> Cow<'a, str> {
    if !hidden(text).any(|(c, hidden)| hidden && !keep.contains(&c)) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for (c, hidden) in hidden(text) {
        match c {
            c if !hidden || keep.contains(&c) => shown.push(c),
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

/// Each character, and whether it may not be shown where it stands.
fn hidden(text: &str) -> impl Iterator<Item = (char, bool)> {
    let mut before = None;
    text.char_indices().map(move |(at, c)| {
        let hidden = unseen(c)
            && !{
                let after = text[at + c.len_utf8()..].chars().next();
                needed(before, c, after)
            };
        before = Some(c);
        (c, hidden)
    })
}

/// Characters that break the line, drive a terminal, or cannot be seen by themselves.
fn unseen(c: char) -> bool {
    c.is_control()
        || matches!(u32::from(c),
            0xad | 0x34f | 0x61c | 0x115f | 0x17b4..=0x17b5 | 0x180b..=0x180f | 0x200b..=0x200f
            | 0x2028..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfe00..=0xfe0f | 0xfeff | 0xffa0 | 0xfff0..=0xfffb
            | 0x1bca0..=0x1bca3 | 0x1d173..=0x1d17a | 0xe0000..=0xe0fff)
}

/// Whether a character that cannot be seen does what it is there for, between these two.
fn needed(before: Option<char>, c: char, after: Option<char>) -> bool {
    let Some(before) = before else { return false };
    match c {
        _ if is_selector(c) => match u32::from(c) {
            0xe0100..=0xe01ef => is_ideograph(before),
            _ => !unseen(before) && !before.is_ascii_alphabetic(),
        },
        _ if is_joiner(c) => after.is_some_and(|after| {
            has_joined_letters(before) && has_joined_letters(after)
                || c == '\u{200d}'
                    && (is_pictograph(before) || u32::from(before) == 0xfe0f)
                    && is_pictograph(after)
        }),
        _ => false,
    }
}

/// ZERO WIDTH NON-JOINER and ZERO WIDTH JOINER.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// A variation selector, which chooses one of several forms of the character before it.
fn is_selector(c: char) -> bool {
    matches!(u32::from(c), 0x180b..=0x180d | 0x180f | 0xfe00..=0xfe0f | 0xe0100..=0xe01ef)
}

/// Whether a letter is of a script whose letters change with their neighbours: from Arabic and Syriac over those of
/// India and its neighbours to Mongolian, and their extensions.
fn has_joined_letters(c: char) -> bool {
    !unseen(c)
        && matches!(u32::from(c),
            0x620..=0x8ff | 0x900..=0xfff | 0x1000..=0x109f | 0x1780..=0x18af | 0x1900..=0x1cff | 0xa800..=0xabff
            | 0xfb50..=0xfdff | 0xfe70..=0xfefc | 0x10a00..=0x10fff | 0x11000..=0x11fff)
}

fn is_ideograph(c: char) -> bool {
    matches!(u32::from(c), 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0x20000..=0x3ffff)
}

/// An emoji or a symbol that stands in one.
fn is_pictograph(c: char) -> bool {
    matches!(u32::from(c), 0x2190..=0x2bff | 0x1f000..=0x1faff)
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

    #[test]
    fn text_of_any_script_and_emoji_of_any_kind_stay_as_they_are() {
        for text in [
            r"C:\new\temp, \d+ and \\server",
            "می\u{200c}خواهم",
            "क\u{94d}\u{200d}ष and ನ\u{ccd}\u{200c}ನ",
            "👨\u{200d}👩\u{200d}👧\u{200d}👦",
            "👩🏽\u{200d}🚀 🏳\u{fe0f}\u{200d}🌈 ❤\u{fe0f} 1\u{fe0f}\u{20e3}",
            "葛\u{e0100}飾区",
            "e\u{301} 한국어 עברית ไทย",
        ] {
            assert_eq!(visible(text), text);
            assert!(!hides(text));
        }
    }

    #[test]
    fn what_hides_or_misleads_is_escaped() {
        for (text, shown) in [
            ("a\u{200d}b", "a\\u200db"),
            ("\u{200c}", "\\u200c"),
            ("می\u{200c}", "می\\u200c"),
            ("👨\u{200d}", "👨\\u200d"),
            ("👨\u{200d}\u{200d}👩", "👨\\u200d\\u200d👩"),
            ("😀\u{fe01}\u{fe02}", "😀\u{fe01}\\ufe02"),
            ("x\u{e0100}", "x\\u{e0100}"),
            ("🏴\u{e0067}\u{e007f}", "🏴\\u{e0067}\\u{e007f}"),
            ("\u{202e}evil\u{2066}", "\\u202eevil\\u2066"),
            ("\u{3164}\u{ad}\u{feff}", "\\u3164\\u00ad\\ufeff"),
        ] {
            assert_eq!(visible(text), shown);
        }
    }

    #[test]
    fn escaped_text_can_be_read_back() {
        assert_eq!(escaped("it's \\n\n"), r"it''s \\n\n");
        assert_eq!(escaped("👨\u{200d}'"), r"👨\u200d''");
    }
}
