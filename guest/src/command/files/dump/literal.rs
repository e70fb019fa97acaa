//! Values as literals that every SQLite reads back to the bit.

use std::fmt::Write as _;
use std::io::{self, Write};

use rusqlite::types::ValueRef;

use crate::render::mode::{Escape, literal_text};
use crate::text::hex;

/// Writes a value as an SQL literal; text as `escape` says.
pub(super) fn literal(out: &mut dyn Write, value: ValueRef<'_>, escape: Escape) -> io::Result<()> {
    match value {
        ValueRef::Null => out.write_all(b"NULL"),
        ValueRef::Integer(number) => out.write_all(itoa::Buffer::new().format(number).as_bytes()),
        ValueRef::Real(number) => out.write_all(real(number).as_bytes()),
        ValueRef::Text(bytes) => text(out, bytes, escape),
        ValueRef::Blob(bytes) => {
            out.write_all(b"x'")?;
            hex::write(out, bytes)?;
            out.write_all(b"'")
        }
    }
}

/// Text in quotes; as bytes where they are not UTF-8.
fn text(out: &mut dyn Write, bytes: &[u8], escape: Escape) -> io::Result<()> {
    if std::str::from_utf8(bytes).is_ok() {
        return literal_text(out, bytes, escape);
    }
    out.write_all(b"CAST(x'")?;
    hex::write(out, bytes)?;
    out.write_all(b"' AS TEXT)")
}

/// The reals whose decimal form is read back by every version of SQLite as what they were.
const PLAIN: std::ops::Range<f64> = 1e-280..1e280;

/// A real. Far from 1, older versions of SQLite read decimals with an error in the last bits,
/// so there it is a whole number times or over powers of two, which is exact everywhere.
pub(super) fn real(number: f64) -> String {
    if number.is_infinite() {
        return if number > 0.0 { "9e999" } else { "-9e999" }.into();
    }
    if number == 0.0 {
        return if number.is_sign_negative() {
            "-0.0"
        } else {
            "0.0"
        }
        .into();
    }
    if PLAIN.contains(&number.abs()) {
        return decimal(number);
    }
    let bits = number.abs().to_bits();
    let (exponent, fraction) = (bits >> 52, bits & ((1 << 52) - 1));
    let (mut mantissa, mut power) = if exponent == 0 {
        (fraction, -1074_i64)
    } else {
        (fraction | 1 << 52, exponent as i64 - 1075)
    };
    let zeros = mantissa.trailing_zeros();
    mantissa >>= zeros;
    power += i64::from(zeros);
    let sign = if number < 0.0 { "-" } else { "" };
    let mut sql = format!("({sign}{mantissa}.0");
    let operator = if power < 0 { '/' } else { '*' };
    let mut left = power.unsigned_abs();
    while left > 0 {
        let step = left.min(52);
        let _ = write!(sql, "{operator}{}.0", 1_u64 << step);
        left -= step;
    }
    sql.push(')');
    sql
}

/// Seventeen digits, or fewer where they plainly say exactly the same number.
fn decimal(number: f64) -> String {
    let size = number.abs();
    let whole = number.fract() == 0.0 && size < 1e15;
    let eighths = (number * 256.0).fract() == 0.0 && size < 1e6;
    if whole || eighths {
        format!("{number:?}")
    } else {
        format!("{number:.16e}")
    }
}
