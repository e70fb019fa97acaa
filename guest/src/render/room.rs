//! How much of an answer there is room for.

use super::escaped_len;
use crate::settings::OutputLimits;

/// What is left of the two budgets of a result: the bytes of its text, and those of the line that a client gets it
/// on, where quotes, backslashes and line breaks take more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    text: u64,
    line: u64,
    limits: OutputLimits,
    /// Whether it was the line that had no room.
    line_is_full: bool,
}

impl Room {
    /// All of it.
    pub(crate) fn new(limits: &OutputLimits) -> Self {
        Self {
            text: limits.text_bytes.into(),
            line: limits.line_bytes().saturating_sub(super::ENVELOPE),
            limits: *limits,
            line_is_full: false,
        }
    }

    /// Half of what is left.
    pub(crate) fn half(self) -> Self {
        Self {
            text: self.text / 2,
            line: self.line / 2,
            ..self
        }
    }

    /// Bytes of text, if none of it has to be escaped.
    pub(crate) fn bytes(&self) -> usize {
        usize::try_from(self.text.min(self.line)).unwrap_or(usize::MAX)
    }

    /// Whether there is enough for a text.
    pub(crate) fn fits(&self, text: &str) -> bool {
        self.fits_bytes(text.len() as u64, escaped_len(text))
    }

    /// Whether there is enough for so many bytes, which are so many inside a JSON string.
    pub(crate) fn fits_bytes(&self, bytes: u64, escaped: u64) -> bool {
        bytes <= self.text && escaped <= self.line
    }

    /// Takes room for a text that has to be there.
    pub(crate) fn take(&mut self, text: &str) {
        self.text = self.text.saturating_sub(text.len() as u64);
        self.line = self.line.saturating_sub(escaped_len(text));
    }

    /// Takes room for a text if there is enough.
    pub(crate) fn try_take(&mut self, text: &str) -> bool {
        self.try_take_bytes(text.len() as u64, escaped_len(text))
    }

    /// Takes room for so many bytes, which are so many inside a JSON string, if there is enough.
    pub(crate) fn try_take_bytes(&mut self, bytes: u64, escaped: u64) -> bool {
        let fits = self.fits_bytes(bytes, escaped);
        if fits {
            self.text -= bytes;
            self.line -= escaped;
        }
        self.line_is_full = !fits && bytes <= self.text;
        fits
    }

    /// Takes room for so many bytes, none of which is escaped.
    pub(crate) fn take_bytes(&mut self, bytes: usize) {
        self.text = self.text.saturating_sub(bytes as u64);
        self.line = self.line.saturating_sub(bytes as u64);
    }

    /// Sets bytes aside for [`Room::release`], at most half of what is left; answers how many.
    pub(crate) fn reserve(&mut self, bytes: usize) -> u64 {
        let bytes = (bytes as u64).min(self.text / 2).min(self.line / 4);
        self.text -= bytes;
        self.line -= bytes * 2;
        bytes
    }

    /// Gives back what was set aside.
    pub(crate) fn release(&mut self, bytes: u64) {
        self.text += bytes;
        self.line += bytes * 2;
    }

    /// The budget that had no room, and its flag.
    pub(crate) fn budget(&self) -> String {
        match self.line_is_full {
            false => format!("text budget of {} bytes, --text", self.limits.text_bytes),
            true if self.limits.line_bytes() == self.limits.reply_bytes => {
                format!("reply budget of {} bytes, --reply", self.limits.reply_bytes)
            }
            true => format!(
                "budget of {} bytes for a line with a result, --text",
                self.limits.line_bytes()
            ),
        }
    }
}
