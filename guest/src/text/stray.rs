//! Bytes that are not UTF-8 in SQL, which SQLite takes and a `str` does not.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::lexer::{TokenKind, tokens};

/// What stands for a stray byte in the text: as long as it, and nothing to the lexer.
const PLACE: u8 = 0x1a;

/// A byte that is not UTF-8, and where it stands.
pub(crate) type Stray = (usize, u8);

/// The bytes as text of the same length, and those of them that are not UTF-8.
pub(crate) fn split(bytes: &[u8]) -> (Cow<'_, str>, Vec<Stray>) {
    let mut strays = Vec::new();
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        if chunk.invalid().is_empty() && text.is_empty() {
            return (chunk.valid().into(), strays);
        }
        text.push_str(chunk.valid());
        for &byte in chunk.invalid() {
            strays.push((text.len(), byte));
            text.push(char::from(PLACE));
        }
    }
    (text.into(), strays)
}

/// The SQL with its stray bytes back where they were: a text in single quotes that has any is
/// written by its bytes. They must stand in the order of their places.
///
/// # Errors
///
/// The first that stands elsewhere, in a name for example: SQL has no other way to write it.
pub(crate) fn join(sql: &str, strays: &[Stray]) -> Result<String, Stray> {
    let mut whole = String::with_capacity(sql.len());
    let mut strays = strays.iter().copied().peekable();
    let mut start = 0;
    for token in tokens(sql) {
        let end = start + token.text.len();
        match strays.peek() {
            Some(&(place, _)) if place < end => {
                let literal = token.kind == TokenKind::Quoted && token.text.starts_with('\'');
                if let Some(&stray) = strays.peek().filter(|_| token.is_code() && !literal) {
                    return Err(stray);
                }
                let mut bytes = token.text.as_bytes().to_vec();
                while let Some((place, byte)) = strays.next_if(|&(place, _)| place < end) {
                    bytes[place - start] = byte;
                }
                if literal {
                    whole.push_str("CAST(x'");
                    let mut inner = bytes[1..bytes.len() - 1].iter().peekable();
                    while let Some(&byte) = inner.next() {
                        if byte == b'\'' {
                            inner.next();
                        }
                        let _ = write!(whole, "{byte:02x}");
                    }
                    whole.push_str("' AS TEXT)");
                } else {
                    // What a comment says is nobody's data.
                    whole.push_str(&String::from_utf8_lossy(&bytes));
                }
            }
            _ => whole.push_str(token.text),
        }
        start = end;
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(sql: &[u8]) -> Result<String, Stray> {
        let (text, strays) = split(sql);
        assert_eq!(text.len(), sql.len());
        join(&text, &strays)
    }

    #[test]
    fn text_is_taken_byte_for_byte() {
        assert_eq!(round("SELECT 'é', x".as_bytes()).unwrap(), "SELECT 'é', x");
        assert_eq!(
            round(b"SELECT 'caf\xe9''\xc3(', 'a' -- caf\xe9").unwrap(),
            "SELECT CAST(x'636166e927c328' AS TEXT), 'a' -- caf\u{fffd}"
        );
    }

    #[test]
    fn a_name_cannot_have_such_bytes() {
        assert_eq!(round(b"SELECT \"caf\xe9\""), Err((11, 0xe9)));
        assert_eq!(round(b"SELECT caf\xe9"), Err((10, 0xe9)));
        // A placeholder that somebody wrote is what it was.
        assert_eq!(round(b"SELECT '\x1a'").unwrap(), "SELECT '\x1a'");
    }
}
