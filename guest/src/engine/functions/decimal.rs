//! Decimal numbers of any length, exact: `decimal`, `decimal_add`, `decimal_sub`, `decimal_mul`,
//! `decimal_cmp`, `decimal_sum`, `decimal_exp`, `decimal_pow2`, and the collation `decimal`.
//!
//! By <https://www.sqlite.org/floatingpoint.html#the_decimal_c_extension>; but text that is no number
//! is refused, where the sqlite3 program takes it for 0.

use bigdecimal::num_bigint::{BigInt, Sign};
use bigdecimal::{BigDecimal, FromPrimitive, Zero};
use rusqlite::Connection;
use rusqlite::functions::{Aggregate, Context, WindowAggregate};
use rusqlite::types::ValueRef;

use super::{PURE, integer, refuse};

/// Digits of a number at most, before and behind the point together. Calls are not interrupted,
/// and a product takes as many steps as the square of its length.
const DIGITS: u64 = 20_000;

/// The greatest power of two, either way, for `decimal_pow2`: so is it in the sqlite3 program.
const GREATEST_POWER: i64 = 20_000;

pub fn register(connection: &Connection) -> rusqlite::Result<()> {
    connection.create_scalar_function("decimal", 1, PURE, |context| {
        number(context, 0).map(|number| number.as_ref().map(shown))
    })?;
    connection.create_scalar_function("decimal_exp", 1, PURE, |context| {
        number(context, 0).map(|number| number.as_ref().map(scientific))
    })?;
    connection.create_scalar_function("decimal_add", 2, PURE, |context| {
        of_two(context, |a, b| shown(&(a + b)))
    })?;
    connection.create_scalar_function("decimal_sub", 2, PURE, |context| {
        of_two(context, |a, b| shown(&(a - b)))
    })?;
    connection.create_scalar_function("decimal_mul", 2, PURE, |context| {
        of_two(context, |a, b| shown(&product(&a, &b)))
    })?;
    connection.create_scalar_function("decimal_cmp", 2, PURE, |context| {
        of_two(context, |a, b| a.cmp(&b) as i64)
    })?;
    connection.create_scalar_function("decimal_pow2", 1, PURE, |context| {
        Ok(integer(context, 0)
            .filter(|power| power.abs() <= GREATEST_POWER)
            .map(|power| shown(&power_of_two(power))))
    })?;
    connection.create_window_function("decimal_sum", 1, PURE, Sum)?;
    connection.create_collation("decimal", |a, b| {
        let read = |text: &str| parse(text).unwrap_or_default();
        read(a).cmp(&read(b))
    })
}

/// An argument as a decimal number; `None` for NULL. A real is all the digits that it stands for.
fn number(context: &Context<'_>, index: usize) -> rusqlite::Result<Option<BigDecimal>> {
    let read = match context.get_raw(index) {
        ValueRef::Null => return Ok(None),
        ValueRef::Integer(number) => Some(BigDecimal::from(number)),
        ValueRef::Real(real) => BigDecimal::from_f64(real),
        ValueRef::Text(bytes) => std::str::from_utf8(bytes).ok().and_then(parse),
        ValueRef::Blob(bytes) => bytes
            .try_into()
            .ok()
            .and_then(|bytes| BigDecimal::from_f64(f64::from_be_bytes(bytes))),
    };
    read.map(Some).ok_or_else(|| {
        refuse(format!(
            "decimal: this is no number, or one of more than {DIGITS} digits"
        ))
    })
}

/// The number that a text is, within bounds that are kept before anything is made of it.
fn parse(text: &str) -> Option<BigDecimal> {
    let text = text.trim();
    let (digits, exponent) = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i64>().ok()?),
        None => (text, 0),
    };
    if digits.len() as u64 + exponent.unsigned_abs() > DIGITS {
        return None;
    }
    let number: BigDecimal = text.parse().ok()?;
    // What 1e5 and the like leave behind.
    Some(if number.fractional_digit_count() < 0 {
        number.with_scale(0)
    } else {
        number
    })
}

fn of_two<T>(
    context: &Context<'_>,
    compute: impl FnOnce(BigDecimal, BigDecimal) -> T,
) -> rusqlite::Result<Option<T>> {
    let both = number(context, 0)?.zip(number(context, 1)?);
    Ok(both.map(|(a, b)| compute(a, b)))
}

/// The product, without zeros at its end beyond the digits of the less exact factor.
fn product(a: &BigDecimal, b: &BigDecimal) -> BigDecimal {
    let product = a * b;
    let least = a.fractional_digit_count().min(b.fractional_digit_count());
    let needed = product.normalized().fractional_digit_count();
    product.with_scale(needed.max(least).max(0))
}

fn power_of_two(power: i64) -> BigDecimal {
    let bits = power.unsigned_abs() as usize;
    if power >= 0 {
        return BigDecimal::from(BigInt::from(1) << bits);
    }
    // 2^-n is 5^n with the point n places further left.
    let fives = (0..bits).fold(BigInt::from(1), |all, _| all * 5);
    BigDecimal::new(fives, -power)
}

/// With all its digits and without an exponent.
fn shown(number: &BigDecimal) -> String {
    number.to_plain_string()
}

/// With one digit before the point and an exponent: `+1.5e+03`.
fn scientific(number: &BigDecimal) -> String {
    let (digits, scale) = number.as_bigint_and_exponent();
    let sign = if digits.sign() == Sign::Minus {
        '-'
    } else {
        '+'
    };
    let all = digits.magnitude().to_string();
    let exponent = if number.is_zero() {
        0
    } else {
        all.len() as i64 - 1 - scale
    };
    let rest = match all[1..].trim_end_matches('0') {
        "" => "0",
        rest => rest,
    };
    let way = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{}.{rest}e{way}{:02}", &all[..1], exponent.abs())
}

/// `decimal_sum`.
struct Sum;

impl Aggregate<Option<BigDecimal>, Option<String>> for Sum {
    fn init(&self, _context: &mut Context<'_>) -> rusqlite::Result<Option<BigDecimal>> {
        Ok(None)
    }

    fn step(
        &self,
        context: &mut Context<'_>,
        sum: &mut Option<BigDecimal>,
    ) -> rusqlite::Result<()> {
        if let Some(number) = number(context, 0)? {
            *sum = Some(sum.take().unwrap_or_default() + number);
        }
        Ok(())
    }

    fn finalize(
        &self,
        _context: &mut Context<'_>,
        sum: Option<Option<BigDecimal>>,
    ) -> rusqlite::Result<Option<String>> {
        Ok(sum.flatten().as_ref().map(shown))
    }
}

impl WindowAggregate<Option<BigDecimal>, Option<String>> for Sum {
    fn value(&self, sum: Option<&mut Option<BigDecimal>>) -> rusqlite::Result<Option<String>> {
        Ok(sum.and_then(|sum| sum.as_ref().map(shown)))
    }

    fn inverse(
        &self,
        context: &mut Context<'_>,
        sum: &mut Option<BigDecimal>,
    ) -> rusqlite::Result<()> {
        if let Some(number) = number(context, 0)? {
            *sum = Some(sum.take().unwrap_or_default() - number);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::answer;

    #[test]
    fn sums_and_products_are_exact() {
        for (expression, is) in [
            ("decimal_add('0.1', '0.2')", "'0.3'"),
            ("decimal_add('0.10', '0.2')", "'0.30'"),
            ("decimal_sub('1', '0.9')", "'0.1'"),
            ("decimal_sub('1', '1.5')", "'-0.5'"),
            ("decimal_mul('1.10', '1.10')", "'1.21'"),
            ("decimal_mul('0.5', '2')", "'1'"),
            ("decimal_mul('0.50', '2.0')", "'1.0'"),
            (
                "decimal_mul('99999999999999999999', '99999999999999999999')",
                "'9999999999999999999800000000000000000001'",
            ),
            ("decimal('1e3')", "'1000'"),
            ("decimal('-1.50')", "'-1.50'"),
            ("decimal(5)", "'5'"),
            ("decimal(0.5)", "'0.5'"),
            (
                "decimal(0.1)",
                "'0.1000000000000000055511151231257827021181583404541015625'",
            ),
            ("decimal(x'3fe0000000000000')", "'0.5'"),
            ("decimal_cmp('1.0', '1')", "0"),
            ("decimal_cmp('-2', '1')", "-1"),
            ("decimal_cmp('10', '9')", "1"),
            ("decimal_pow2(70)", "'1180591620717411303424'"),
            ("decimal_pow2(-3)", "'0.125'"),
            ("decimal_pow2(99999)", "NULL"),
            ("decimal_exp('1500')", "'+1.5e+03'"),
            ("decimal_exp('-0.00012')", "'-1.2e-04'"),
            ("decimal_exp(0)", "'+0.0e+00'"),
            ("decimal_add(NULL, '1')", "NULL"),
        ] {
            assert_eq!(answer(expression), is, "{expression}");
        }
    }

    #[test]
    fn a_sum_over_rows_leaves_nulls_out_and_slides_with_a_window() {
        assert_eq!(
            answer("decimal_sum(value) FROM json_each('[\"0.1\",\"0.2\",null,\"-0.05\"]')"),
            "'0.25'"
        );
        assert_eq!(
            answer("decimal_sum(value) FROM json_each('[null]')"),
            "NULL"
        );
        assert_eq!(
            answer(
                "group_concat(s, ' ') FROM (SELECT decimal_sum(value) OVER (ORDER BY key ROWS 1 PRECEDING) AS s
                 FROM json_each('[\"0.1\",\"0.2\",\"0.3\"]'))"
            ),
            "'0.1 0.3 0.5'"
        );
    }

    #[test]
    fn text_sorts_by_its_number_under_the_collation() {
        assert_eq!(
            answer(
                "group_concat(value, ' ') FROM (SELECT value FROM json_each('[\"10\",\"9.5\",\"-1\",\"1e1\",\"x\"]')
                 ORDER BY value COLLATE decimal)"
            ),
            "'-1 x 9.5 10 1e1'"
        );
    }

    #[test]
    fn what_is_no_number_or_one_too_long_is_an_error_that_says_so() {
        for call in [
            "decimal('abc')",
            "decimal('')",
            "decimal('1e999999999')",
            "decimal('1e-999999999')",
            "decimal_add(9e999, 1)",
            "decimal(replace(hex(zeroblob(20000)), '0', '7'))",
        ] {
            let error = answer(call);
            assert!(error.starts_with("error: decimal: "), "{call} {error}");
        }
    }
}
