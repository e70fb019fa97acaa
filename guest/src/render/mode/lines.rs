//! The lines of a cell, and how wide they are on a terminal.

use unicode_width::UnicodeWidthChar;

/// The columns from one tab stop to the next.
const TAB: usize = 8;

/// The bytes of the first character of `text`, and the columns that it takes behind `columns` others.
/// A byte that is no UTF-8 and a control character take one.
fn first(text: &[u8], columns: usize) -> (usize, usize) {
    let length = match text[0] {
        b'\t' => return (1, TAB - columns % TAB),
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0.. => 4,
        _ => 1,
    };
    let start = text.get(..length).and_then(|c| str::from_utf8(c).ok());
    match start.and_then(|c| c.chars().next()) {
        Some(c) => (length, c.width().unwrap_or(1)),
        None => (1, 1),
    }
}

/// The columns of the widest line.
pub(super) fn width(text: &[u8]) -> usize {
    let (mut widest, mut rest) = (0, text);
    loop {
        let (line, next) = first_line(rest, usize::MAX, false);
        widest = widest.max(shown(line).1);
        if next.is_empty() {
            return widest;
        }
        rest = next;
    }
}

/// Takes the first line off a cell: up to a line break or as far as `limit` columns reach, but between
/// two words if `words`. Answers the line and what is left for the next.
pub(super) fn first_line(text: &[u8], limit: usize, words: bool) -> (&[u8], &[u8]) {
    let (mut end, mut columns) = (0, 0);
    loop {
        match &text[end..] {
            [] => return (text, &[]),
            [b'\n', rest @ ..] | [b'\r', b'\n', rest @ ..] => return (&text[..end], rest),
            rest => {
                let (length, width) = first(rest, columns);
                // One character at least, or there would be no end; a tab goes with the blanks below.
                if columns + width > limit && (end > 0 || rest[0] == b'\t') {
                    break;
                }
                columns += width;
                end += length;
            }
        }
    }
    if words {
        end = word_end(text, end);
    }
    let line = &text[..end];
    let blanks = text[end..].iter().take_while(|&&byte| blank(byte));
    (line, &text[end + blanks.count()..])
}

fn blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Where a line that has to end at `end` should rather end: before a blank, or else between a word and
/// what is none, but only in its second half.
fn word_end(text: &[u8], end: usize) -> usize {
    if blank(text[end]) {
        return end;
    }
    let word = |at: usize| text[at].is_ascii_alphanumeric() || text[at] == b'_';
    let starts = |at: usize| text[at] & 0xc0 != 0x80;
    let half = end / 2;
    (half..end)
        .rev()
        .find(|&at| blank(text[at]))
        .or_else(|| {
            (half.max(1)..=end)
                .rev()
                .find(|&at| word(at - 1) != word(at) && starts(at))
        })
        .unwrap_or(end)
}

/// A line as it is printed, and its columns: tabs become blanks, other control characters symbols.
pub(super) fn shown(line: &[u8]) -> (Vec<u8>, usize) {
    let mut text = Vec::with_capacity(line.len());
    let (mut columns, mut at) = (0, 0);
    while at < line.len() {
        let (length, width) = first(&line[at..], columns);
        match line[at] {
            b'\t' => text.resize(text.len() + width, b' '),
            control @ ..b' ' => text.extend(symbol(control)),
            _ => text.extend(&line[at..at + length]),
        }
        columns += width;
        at += length;
    }
    (text, columns)
}

/// The picture of a control character, from U+2400 on, as UTF-8.
pub(super) fn symbol(control: u8) -> [u8; 3] {
    [0xe2, 0x90, 0x80 + control]
}
