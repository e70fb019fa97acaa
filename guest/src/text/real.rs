//! A real as SQLite turns it into text, <https://www.sqlite.org/floatingpoint.html>.

use std::ffi::c_int;
use std::fmt::Write as _;

use rusqlite::ffi;

/// Bytes that take the longest, `-1.2345678901234567e-308` and its NUL.
const LONGEST: usize = 32;

/// Digits enough to be read back as the same number, 17 at most, and a point or an exponent;
/// an infinity is `Inf` or `-Inf`. Zero keeps its sign, which SQLite drops.
pub(crate) fn shown(number: f64) -> String {
    let mut text = Vec::new();
    put_shown(&mut text, number);
    String::from_utf8(text).unwrap_or_default()
}

/// Writes [`shown`] behind bytes.
pub(crate) fn put_shown(out: &mut Vec<u8>, number: f64) {
    // Where that has no exponent, and few digits, SQLite looks for the fewest as well: its 17 then end
    // in zeros or in nines. Near 10 the error of a double reaches those.
    if number == 0.0 || (1e-4..1e15).contains(&number.abs()) {
        let mut buffer = zmij::Buffer::new();
        let shortest = buffer.format_finite(number);
        let digits = shortest.trim_start_matches('-');
        let first = digits.trim_start_matches(['0', '.']);
        if digits.len() <= 13 + ".".len() && !first.starts_with('9') {
            out.extend_from_slice(shortest.as_bytes());
            return;
        }
    }
    let mut text = [0_u8; LONGEST];
    #[expect(unsafe_code, reason = "rusqlite does not wrap it")]
    // SAFETY: the buffer is as long as is said, the format ends in NUL and takes one double.
    unsafe {
        ffi::sqlite3_snprintf(
            LONGEST as c_int,
            text.as_mut_ptr().cast(),
            c"%!.17g".as_ptr(),
            number,
        );
    }
    let length = text.iter().position(|&byte| byte == 0);
    out.extend_from_slice(&text[..length.unwrap_or(LONGEST)]);
}

/// Writes the fewest digits that are read back as the same number, and a point or an exponent.
pub(crate) fn put(out: &mut String, number: f64) {
    /// Where digits stand for themselves, however the shortest are found.
    const FIXED: std::ops::Range<f64> = 1e-4..1e16;
    if FIXED.contains(&number.abs()) {
        out.push_str(zmij::Buffer::new().format_finite(number));
    } else if number.is_infinite() {
        out.push_str(if number > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        });
    } else {
        let _ = write!(out, "{number:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_is_the_text_that_sqlite_casts_it_to_and_reads_back() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let mut statement = connection.prepare("SELECT CAST(?1 AS TEXT)").unwrap();
        let mut number = 1.234_567_890_123_456_7e-290_f64;
        while number.is_finite() {
            let cents = (number * 100.0).round() / 100.0;
            let millionths = (number * 1e6).round() / 1e6;
            let single = (number as f32).into();
            let round = number.round();
            for number in [number, -number, round, cents, millionths, -cents, single] {
                if number == 0.0 {
                    continue;
                }
                let text: String = statement.query_row([number], |row| row.get(0)).unwrap();
                assert_eq!(shown(number), text);
                assert!(number.is_infinite() || text.parse() == Ok(number), "{text}");
            }
            number *= 1.076_543_21;
        }
    }

    #[test]
    fn a_real_has_a_point_or_an_exponent() {
        for (number, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (3.0, "3.0"),
            (0.1, "0.1"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e16, "10000000000000000.0"),
            (1e17, "1.0e+17"),
            (0.00001, "1.0e-05"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
            (f64::NEG_INFINITY, "-Inf"),
        ] {
            assert_eq!(shown(number), text);
        }
    }

    #[test]
    fn the_fewest_digits_are_as_few_as_rust_finds_and_read_back() {
        let mut number = 1.234_567_890_123_456_7e-30_f64;
        while number < 1e30 {
            for number in [
                number,
                -number,
                number.round(),
                (number as f32).into(),
                (number * 100.0).round() / 100.0,
                10_f64.powi(number.log10() as i32),
                10_f64.powi(number.log10() as i32).next_down(),
            ] {
                let mut text = String::new();
                put(&mut text, number);
                // Of two that are as near, it may be the other.
                let rust = format!("{number:?}");
                assert_eq!(
                    (text.len(), text.parse()),
                    (rust.len(), Ok(number)),
                    "{text} {rust}"
                );
            }
            number *= 1.007_654_321;
        }
    }
}
