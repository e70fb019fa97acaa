//! Padding of any width. A width in a format string ends at 65,535, and one beyond panics.

use std::fmt::{Display, Formatter, Result};

/// A text over and over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fill(pub &'static str, pub usize);

/// So many blanks.
pub(crate) fn blanks(count: usize) -> Fill {
    Fill(" ", count)
}

/// `text` and the blanks behind it that make it `width` characters wide.
pub(crate) fn left(text: &str, width: usize) -> impl Display {
    let blanks = blanks(width.saturating_sub(text.chars().count()));
    std::fmt::from_fn(move |f| write!(f, "{text}{blanks}"))
}

impl Display for Fill {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        /// How often the text is repeated in memory; a width has no bounds.
        const PIECE: usize = 1024;
        let &Self(text, count) = self;
        let piece = text.repeat(count.min(PIECE));
        for _ in 0..count / PIECE {
            f.write_str(&piece)?;
        }
        f.write_str(&piece[..text.len() * (count % PIECE)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fill_is_as_long_as_asked_for() {
        for count in [0, 1, 1_023, 1_024, 1_025, 70_000] {
            assert_eq!(Fill("─", count).to_string(), "─".repeat(count));
        }
    }

    #[test]
    fn a_text_is_widened_and_never_cut() {
        assert_eq!(left("äb", 4).to_string(), "äb  ");
        assert_eq!(left("abc", 2).to_string(), "abc");
        assert_eq!(left("", 70_000).to_string().len(), 70_000);
    }
}
