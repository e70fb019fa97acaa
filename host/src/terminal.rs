//! Output of the command line: results on standard output, errors on standard error.
//!
//! Styles reach a terminal only, and none where `NO_COLOR` is set, <https://no-color.org>.
//! What a database holds must not drive the terminal that it is shown on, so control
//! characters are escaped there; files and pipes get every byte as it is.

pub mod bar;

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};

/// The name that every complaint begins with.
const NAME: Style = AnsiColor::Red.on_default().bold();
/// What introduces something else.
pub const CAPTION: Style = Style::new().bold();

/// Prints a result; whoever closed the pipe has seen enough.
///
/// # Errors
///
/// If standard output fails in another way than by being closed.
pub fn print(text: impl Display) -> io::Result<()> {
    let text = text.to_string();
    let mut out = io::stdout().lock();
    let shown = Escaper::for_stream(&out).escape(text.as_bytes());
    ignore_closed(out.write_all(&shown).and_then(|()| out.flush()))
}

/// Prints text with styles in it.
///
/// # Errors
///
/// As [`print`].
pub fn print_styled(text: impl Display) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    ignore_closed(write!(out, "{text}").and_then(|()| out.flush()))
}

fn ignore_closed(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

/// Says on standard error what is wrong.
pub fn complain(sentence: impl Display) {
    // If this fails, nobody is left to report it to.
    let _ = write!(anstream::stderr(), "{NAME}sqlarium:{NAME:#} ");
    note(sentence);
}

/// Says something else on standard error.
pub fn note(text: impl Display) {
    let mut text = text.to_string();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let shown = Escaper::for_stream(&io::stderr()).escape(text.as_bytes());
    let _ = io::stderr().write_all(&shown);
}

/// Escapes control characters in what goes to a terminal, piece by piece, as terminals show
/// them when they are typed: `^[` for an escape. Tabs and line breaks stay.
#[derive(Clone, Copy, Debug)]
pub struct Escaper {
    terminal: bool,
    /// A byte whose meaning depends on the next one: a carriage return, or the first of two
    /// that make a character.
    held: Option<u8>,
}

impl Escaper {
    /// For what is written to `stream`.
    pub fn for_stream(stream: &impl IsTerminal) -> Self {
        Self {
            terminal: stream.is_terminal(),
            held: None,
        }
    }

    /// For what reaches a terminal in any case.
    pub fn for_terminal() -> Self {
        Self {
            terminal: true,
            held: None,
        }
    }

    /// What to write for the next piece.
    pub fn escape<'a>(&mut self, piece: &'a [u8]) -> Cow<'a, [u8]> {
        if !self.terminal {
            return Cow::Borrowed(piece);
        }
        let mut shown = Vec::with_capacity(piece.len());
        for &byte in piece {
            match (self.held.take(), byte) {
                (Some(b'\r'), b'\n') => shown.extend(b"\r\n"),
                // U+0080 to U+009F in UTF-8: control characters, too.
                (Some(0xc2), 0x80..=0x9f) => shown.push(b'?'),
                (held, _) => {
                    match held {
                        Some(b'\r') => shown.extend(b"^M"),
                        held => shown.extend(held),
                    }
                    match byte {
                        b'\r' | 0xc2 => self.held = Some(byte),
                        b'\t' | b'\n' => shown.push(byte),
                        0..=0x1f | 0x7f => shown.extend([b'^', byte ^ 0x40]),
                        _ => shown.push(byte),
                    }
                }
            }
        }
        Cow::Owned(shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pieces: &[&[u8]]) -> String {
        let mut escaper = Escaper {
            terminal: true,
            held: None,
        };
        let shown = pieces
            .iter()
            .map(|piece| escaper.escape(piece).into_owned());
        String::from_utf8(shown.collect::<Vec<_>>().concat()).expect("UTF-8")
    }

    #[test]
    fn control_characters_are_escaped_and_all_else_stays() {
        let text = "a\tb\r\nc\n│ é \u{a0}";
        assert_eq!(shown(&[text.as_bytes()]), text);
        assert_eq!(shown(&[b"\x1b[31mred\x07\x7f\rx"]), "^[[31mred^G^?^Mx");
        assert_eq!(shown(&["x\u{9b}31m".as_bytes()]), "x?31m");
    }

    #[test]
    fn a_character_may_lie_in_two_pieces() {
        assert_eq!(shown(&[b"x\xc2", b"\x9b31m"]), "x?31m");
        assert_eq!(shown(&[b"\xc3", b"\xa9\xc2", b"\xa0"]), "é\u{a0}");
        assert_eq!(shown(&[b"a\r", b"\nb\r", b"c"]), "a\r\nb^Mc");
    }

    #[test]
    fn pipes_and_files_get_every_byte() {
        let mut escaper = Escaper {
            terminal: false,
            held: None,
        };
        assert_eq!(*escaper.escape(b"\x1b[31m\r\xc2"), *b"\x1b[31m\r\xc2");
    }
}
