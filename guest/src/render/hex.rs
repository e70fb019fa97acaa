//! Bytes as hexadecimal digits.

use std::io::{self, Write};

/// `0` to `9` and `a` to `f`.
pub const LOWER: &[u8; 16] = b"0123456789abcdef";
/// `0` to `9` and `A` to `F`.
pub const UPPER: &[u8; 16] = b"0123456789ABCDEF";

/// How many bytes are turned into digits at once.
const PIECE: usize = 512;

/// Writes two digits for each byte; a blob of any size takes no more memory than it has.
pub fn write(out: &mut dyn Write, bytes: &[u8], digits: &[u8; 16]) -> io::Result<()> {
    let mut text = [0; 2 * PIECE];
    for piece in bytes.chunks(PIECE) {
        for (byte, pair) in piece.iter().zip(text.chunks_exact_mut(2)) {
            pair[0] = digits[usize::from(byte >> 4)];
            pair[1] = digits[usize::from(byte & 15)];
        }
        out.write_all(&text[..2 * piece.len()])?;
    }
    Ok(())
}
