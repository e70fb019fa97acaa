//! Reals as SQLite's own `printf` writes them, <https://www.sqlite.org/printf.html>.

use super::extended::Extended;

/// A real under `%!.Ng`: `digits` significant digits at most, no zeros at the end but one behind the
/// point, an exponent where the number is far from 1. An infinity is `Inf` or `-Inf`.
///
/// Scaled, rounded and taken apart digit by digit in extended precision, as the program does.
pub fn general(number: f64, digits: usize) -> String {
    let sign = if number < 0.0 { "-" } else { "" };
    if number.is_infinite() {
        return format!("{sign}Inf");
    }
    if number == 0.0 {
        return "0.0".into();
    }
    let number = number.abs();
    let (figures, exponent) = rounded(number, digits).unwrap_or_else(|| figures(number, digits));
    let figures = figures.trim_end_matches('0');
    let precision = i32::try_from(digits).unwrap_or(i32::MAX);
    if exponent < -4 || exponent >= precision {
        let (first, rest) = figures.split_at(1.min(figures.len()));
        let rest = if rest.is_empty() { "0" } else { rest };
        let direction = if exponent < 0 { '-' } else { '+' };
        return format!("{sign}{first}.{rest}e{direction}{:02}", exponent.abs());
    }
    let Ok(before) = usize::try_from(exponent + 1) else {
        let zeros = "0".repeat(exponent.unsigned_abs() as usize - 1);
        return format!("{sign}0.{zeros}{figures}");
    };
    if before == 0 {
        format!("{sign}0.{figures}")
    } else if figures.len() > before {
        format!("{sign}{}.{}", &figures[..before], &figures[before..])
    } else {
        format!("{sign}{figures:0<before$}.0")
    }
}

/// Where the arithmetic of [`figures`] is exact but for its last bits.
const NEAR: std::ops::Range<f64> = 1e-5..1e17;

/// What [`figures`] answers, faster; nothing where the error of its arithmetic could make a
/// difference: with many digits, far from 1, or near the middle between two answers.
fn rounded(number: f64, digits: usize) -> Option<(String, i32)> {
    if digits > 15 || !NEAR.contains(&number) {
        return None;
    }
    let taken_apart = |text: String| -> Option<(String, i32)> {
        let (mantissa, exponent) = text.split_once('e')?;
        Some((mantissa.replace('.', ""), exponent.parse().ok()?))
    };
    let (figures, exponent) = taken_apart(format!("{number:e}"))?;
    if figures.len() <= digits {
        return Some((figures, exponent));
    }
    let (exact, mut exponent) = taken_apart(format!("{number:.*e}", digits + 1))?;
    let exact: u64 = exact.parse().ok()?;
    let (mut kept, rest) = (exact / 100, exact % 100);
    if (48..=52).contains(&rest) {
        return None;
    }
    kept += u64::from(rest > 50);
    let mut figures = kept.to_string();
    if figures.len() > digits {
        figures.pop();
        exponent += 1;
    }
    Some((figures, exponent))
}

/// The first `digits` digits of a positive number, and its decimal exponent.
fn figures(number: f64, digits: usize) -> (String, i32) {
    let constant = Extended::new;
    let mut value = constant(number);
    let mut exponent = 0;
    let mut scale = constant(1.0);
    for (step, power) in [(1e100, 100), (1e10, 10), (10.0, 1)] {
        while value >= constant(step).times(scale) {
            scale = scale.times(constant(step));
            exponent += power;
        }
    }
    value = value.over(scale);
    for (limit, step, power) in [(1e-8, 1e8, 8), (1.0, 10.0, 1)] {
        while value < constant(limit) {
            value = value.times(constant(step));
            exponent -= power;
        }
    }
    // Half a unit of the last digit, as a double.
    let last = digits.max(1) - 1;
    let mut half = HALVES[last % 10];
    for _ in 0..last / 10 {
        half *= 1e-10;
    }
    value = value.plus(constant(half));
    if value >= constant(10.0) {
        value = value.times(constant(0.1));
        exponent += 1;
    }
    let mut figures = String::with_capacity(digits);
    for _ in 0..digits {
        let (digit, rest) = value.digit();
        figures.push(char::from_digit(digit, 10).unwrap_or('9'));
        value = rest;
    }
    (figures, exponent)
}

const HALVES: [f64; 10] = [5e-1, 5e-2, 5e-3, 5e-4, 5e-5, 5e-6, 5e-7, 5e-8, 5e-9, 5e-10];

/// A real among INSERT statements and JSON: an infinity as a number that overflows to it.
pub fn readable(number: f64) -> String {
    if number.is_infinite() {
        return if number > 0.0 { "1e999" } else { "-1e999" }.into();
    }
    general(number, 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_has_a_point_and_no_more_digits_than_asked_for() {
        for (number, shown) in [
            (0.0, "0.0"),
            (-0.0, "0.0"),
            (3.0, "3.0"),
            (-2.5, "-2.5"),
            (0.1, "0.1"),
            (0.1 + 0.2, "0.3"),
            (0.0001, "0.0001"),
            (0.00001, "1.0e-05"),
            (100_000_000_000_000.0, "100000000000000.0"),
            (1e15, "1.0e+15"),
            (1.5e-7, "1.5e-07"),
            (123_456.789, "123456.789"),
            (1e100, "1.0e+100"),
            (999_999_999_999_999.9, "1.0e+15"),
            (f64::NEG_INFINITY, "-Inf"),
        ] {
            assert_eq!(general(number, 15), shown, "{number:?}");
        }
    }

    #[test]
    fn the_fast_way_is_the_same() {
        let mut bits = 1_u64;
        let mut fast = 0;
        for _ in 0..50_000 {
            bits = bits
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            for number in [(bits >> 20) as f64 / 1e6, (bits >> 40) as f64 / 100.0] {
                if let Some((rounded, exponent)) = rounded(number, 15) {
                    let (figures, other) = figures(number, 15);
                    assert_eq!(
                        figures.trim_end_matches('0'),
                        rounded.trim_end_matches('0'),
                        "{number:e}"
                    );
                    assert_eq!(exponent, other, "{number:e}");
                    fast += 1;
                }
            }
        }
        assert!(fast > 90_000, "{fast}");
    }

    #[test]
    fn twenty_digits_read_back_as_the_number_they_were() {
        assert_eq!(readable(0.1), "0.10000000000000000555");
        assert_eq!(readable(1e15), "1000000000000000.0");
        assert_eq!(readable(f64::INFINITY), "1e999");
        let mut number = 1.234_567_890_123_456_7e-290_f64;
        while number.is_finite() {
            assert_eq!(readable(number).parse(), Ok(number));
            number *= 7.654_321;
        }
    }
}
