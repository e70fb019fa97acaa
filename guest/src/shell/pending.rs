//! The lines of a statement until it is whole.

use super::{LineError, error};
use crate::text::stray::{self, Stray};
use crate::text::{complete, scan};

/// What a byte stands in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Within {
    #[default]
    Code,
    /// Quotes, which end with this.
    Quoted(u8),
    BlockComment,
}

/// Lines of a statement that is not whole yet. A text may have a million lines, so what was read is
/// not read again with each of them.
#[derive(Debug, Default)]
pub(super) struct Pending {
    text: String,
    strays: Vec<Stray>,
    within: Within,
    /// Whether there is more than comments.
    code: bool,
    /// Whether a semicolon has been seen that could end it.
    semicolon: bool,
}

impl Pending {
    /// Whether there is nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Adds a line.
    pub(super) fn push(&mut self, line: &[u8]) {
        let line = if self.text.is_empty() {
            line.trim_ascii_start()
        } else {
            self.text.push('\n');
            line
        };
        let start = self.text.len();
        let (text, strays) = stray::split(line);
        self.text.push_str(&text);
        let strays = strays.into_iter();
        self.strays
            .extend(strays.map(|(place, byte)| (start + place, byte)));
        self.scan(line);
    }

    fn scan(&mut self, line: &[u8]) {
        let mut at = 0;
        while let Some(&byte) = line.get(at) {
            let rest = &line[at..];
            let (end, length) = match self.within {
                // A doubled quote ends it and begins it again.
                Within::Quoted(end) => (rest.iter().position(|&byte| byte == end), 1),
                Within::BlockComment => (rest.windows(2).position(|pair| pair == b"*/"), 2),
                Within::Code if rest.starts_with(b"--") => return,
                Within::Code => {
                    match byte {
                        b'/' if rest.starts_with(b"/*") => {
                            self.within = Within::BlockComment;
                            at += 2;
                            continue;
                        }
                        b'\'' | b'"' | b'`' => self.within = Within::Quoted(byte),
                        b'[' => self.within = Within::Quoted(b']'),
                        b';' => self.semicolon = true,
                        _ => {}
                    }
                    self.code |= !byte.is_ascii_whitespace() && byte != b';';
                    at += 1;
                    continue;
                }
            };
            let Some(end) = end else { return };
            self.within = Within::Code;
            at += end + length;
        }
    }

    /// Whether it ends behind the semicolon of a statement.
    pub(super) fn is_whole(&self) -> bool {
        self.within == Within::Code && self.semicolon && complete::is(&self.text)
    }

    /// Whether a semicolon would make it whole.
    pub(super) fn lacks_semicolon(&self) -> bool {
        self.within == Within::Code && complete::is(&format!("{}\n;", self.text))
    }

    /// Whether there is nothing but white space and comments, all of them closed.
    pub(super) fn is_comment(&self) -> bool {
        self.within == Within::Code && !self.code
    }

    /// Whether some of its bytes are not UTF-8.
    pub(super) fn has_strays(&self) -> bool {
        !self.strays.is_empty()
    }

    /// The statement, and nothing is left.
    ///
    /// # Errors
    ///
    /// Bytes that are not UTF-8 where SQL cannot have them; `line` is the number of its first.
    pub(super) fn take(&mut self, line: u64) -> Result<String, LineError> {
        let Self { text, strays, .. } = std::mem::take(self);
        if strays.is_empty() {
            return Ok(text);
        }
        stray::join(&text, &strays).map_err(|(place, byte)| {
            let before = scan::position(&text, place).0 as u64;
            error(format!(
                "line {}: the byte 0x{byte:02x} is not UTF-8, and only a text in single quotes \
                 can hold it. Convert the script to UTF-8, with iconv for example.",
                line + before - 1
            ))
        })
    }
}
