//! Bytes as hexadecimal digits, and back.

use std::io::{self, Write};

/// How many bytes are turned into digits at once.
const PIECE: usize = 512;

/// Writes two digits for each byte, in lower case; a blob of any size takes no more memory than it has.
///
/// # Errors
/// What `out` says.
pub(crate) fn write(out: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; 2 * PIECE];
    for piece in bytes.chunks(PIECE) {
        for (byte, pair) in piece.iter().zip(text.chunks_exact_mut(2)) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        out.write_all(&text[..2 * piece.len()])?;
    }
    Ok(())
}

/// The digits of the bytes, in lower case.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = Vec::with_capacity(2 * bytes.len());
    // Memory takes it all, and digits are ASCII.
    let _ = write(&mut text, bytes);
    String::from_utf8(text).unwrap_or_default()
}

/// The bytes of pairs of digits in either case; `None` for any other text.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else {
        return None;
    };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    pairs
        .iter()
        .map(|[high, low]| u8::try_from(digit(*high)? << 4 | digit(*low)?).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_digits_and_digits_bytes() {
        let bytes: Vec<u8> = (0..=255).cycle().take(3 * PIECE + 1).collect();
        let digits = encode(&bytes);
        assert!(digits.starts_with("000102") && digits.ends_with("fdfeff00"));
        assert_eq!(decode(&digits).as_deref(), Some(&bytes[..]));
        assert_eq!(decode("Ff"), Some(vec![255]));
        assert_eq!(decode(""), Some(vec![]));
    }

    #[test]
    fn what_is_not_pairs_of_digits_is_refused() {
        for text in ["f", "fg", " ff", "+f", "éé"] {
            assert_eq!(decode(text), None, "{text:?}");
        }
    }
}
