//! A real as SQLite turns it into text, <https://www.sqlite.org/floatingpoint.html>.

use std::ffi::{CStr, c_int};

use rusqlite::ffi;

/// Bytes that take the longest, `-1.2345678901234567e-308` and its NUL.
const LONGEST: usize = 32;

/// Digits enough to be read back as the same number, 17 at most, and a point or an exponent;
/// an infinity is `Inf` or `-Inf`. Zero keeps its sign, which SQLite drops.
pub(crate) fn shown(number: f64) -> String {
    if number == 0.0 {
        return format!("{number:?}");
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
    CStr::from_bytes_until_nul(&text).map_or_else(
        |_| number.to_string(),
        |text| text.to_string_lossy().into_owned(),
    )
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
            for number in [number, -number, number.round(), (number as f32).into()] {
                let text: String = statement.query_row([number], |row| row.get(0)).unwrap();
                assert_eq!(shown(number), text);
                assert!(number.is_infinite() || text.parse() == Ok(number), "{text}");
            }
            number *= 7.654_321;
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
}
