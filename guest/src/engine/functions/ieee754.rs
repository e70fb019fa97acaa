//! `ieee754` and its kin: a real as the whole number M and the power E of M × 2^E, and as its bytes.
//!
//! By <https://www.sqlite.org/floatingpoint.html#the_ieee754_c_extension>.

use rusqlite::Connection;
use rusqlite::functions::Context;
use rusqlite::types::ValueRef;

use super::{PURE, integer, text};

/// The bits of a mantissa that are stored.
const MANTISSA_BITS: i32 = 52;

/// The exponent of the last of them in the least of reals.
const LEAST_EXPONENT: i32 = -1_075;

pub fn register(connection: &Connection) -> rusqlite::Result<()> {
    connection.create_scalar_function("ieee754", 1, PURE, |context| {
        Ok(real(context, 0).map(|real| {
            let (mantissa, exponent) = split(real);
            format!("ieee754({mantissa},{exponent})")
        }))
    })?;
    connection.create_scalar_function("ieee754", 2, PURE, |context| {
        let parts = integer(context, 0).zip(integer(context, 1));
        Ok(parts.map(|(mantissa, exponent)| join(mantissa, exponent)))
    })?;
    connection.create_scalar_function("ieee754_mantissa", 1, PURE, |context| {
        Ok(real(context, 0).map(|real| split(real).0))
    })?;
    connection.create_scalar_function("ieee754_exponent", 1, PURE, |context| {
        Ok(real(context, 0).map(|real| split(real).1))
    })?;
    connection.create_scalar_function("ieee754_to_blob", 1, PURE, |context| {
        Ok(match context.get_raw(0) {
            ValueRef::Real(real) => Some(real.to_be_bytes().to_vec()),
            ValueRef::Integer(number) => Some((number as f64).to_be_bytes().to_vec()),
            _ => None,
        })
    })?;
    connection.create_scalar_function("ieee754_from_blob", 1, PURE, |context| {
        Ok(match context.get_raw(0) {
            ValueRef::Blob(bytes) => bytes.try_into().ok().map(f64::from_be_bytes),
            _ => None,
        })
    })
}

/// An argument as a real: a number, a blob of its eight bytes, or text that is a number.
fn real(context: &Context<'_>, index: usize) -> Option<f64> {
    match context.get_raw(index) {
        ValueRef::Null => None,
        ValueRef::Real(real) => Some(real),
        ValueRef::Integer(number) => Some(number as f64),
        ValueRef::Blob(bytes) if bytes.len() == 8 => bytes.try_into().ok().map(f64::from_be_bytes),
        other => text(other).map(|text| text.trim().parse().unwrap_or_default()),
    }
}

/// M and E, with M odd unless E says that it is a whole number.
fn split(real: f64) -> (i64, i32) {
    let bits = real.abs().to_bits();
    let stored = (bits >> MANTISSA_BITS) as i32;
    let fraction = bits & ((1 << MANTISSA_BITS) - 1);
    if bits == 0 {
        return (0, LEAST_EXPONENT);
    }
    // Without an exponent the number has no hidden bit either.
    let (mut mantissa, mut exponent) = if stored == 0 {
        (fraction << 1, LEAST_EXPONENT)
    } else {
        (fraction | 1 << MANTISSA_BITS, stored + LEAST_EXPONENT)
    };
    while exponent < 0 && mantissa % 2 == 0 {
        mantissa /= 2;
        exponent += 1;
    }
    let mantissa = mantissa as i64;
    (if real < 0.0 { -mantissa } else { mantissa }, exponent)
}

fn join(mantissa: i64, exponent: i64) -> f64 {
    // A step stays within the reals that have all their bits, so that only the last one rounds.
    const STEP: i64 = 1_000;
    let mut real = mantissa as f64;
    let mut left = exponent.clamp(-4 * STEP, 4 * STEP);
    while left != 0 && real != 0.0 {
        let step = left.clamp(-STEP, STEP);
        real *= 2_f64.powi(step as i32);
        left -= step;
    }
    real
}

#[cfg(test)]
mod tests {
    use super::super::testing::answer;
    use super::{join, split};

    #[test]
    fn reals_come_apart_as_documented() {
        for (expression, is) in [
            ("ieee754(45.25)", "'ieee754(181,-2)'"),
            ("ieee754(2)", "'ieee754(2,0)'"),
            ("ieee754(-0.5)", "'ieee754(-1,-1)'"),
            ("ieee754(0.0)", "'ieee754(0,-1075)'"),
            ("ieee754('45.25')", "'ieee754(181,-2)'"),
            ("ieee754(NULL)", "NULL"),
            ("ieee754(181, -2)", "45.25"),
            ("ieee754(1, 99999)", "inf"),
            ("ieee754(1, -99999)", "0.0"),
            ("ieee754(NULL, 1)", "NULL"),
            ("ieee754_mantissa(45.25)", "181"),
            ("ieee754_exponent(45.25)", "-2"),
            ("ieee754_to_blob(1.0)", "3ff0000000000000"),
            ("ieee754_from_blob(x'3ff0000000000000')", "1.0"),
            ("ieee754(x'4046a00000000000')", "'ieee754(181,-2)'"),
            ("ieee754_from_blob(x'00')", "NULL"),
        ] {
            assert_eq!(answer(expression), is, "{expression}");
        }
    }

    #[test]
    fn what_comes_apart_goes_together_again_to_the_bit() {
        let mut bits = 1_u64;
        for _ in 0..10_000 {
            bits = bits
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let real = f64::from_bits(bits);
            if real.is_finite() {
                let (mantissa, exponent) = split(real);
                assert_eq!(join(mantissa, exponent.into()), real, "{real:e}");
            }
        }
        for real in [5e-324, 2.2250738585072014e-308, 1e-310, f64::MAX, f64::MIN] {
            let (mantissa, exponent) = split(real);
            assert_eq!(join(mantissa, exponent.into()).to_bits(), real.to_bits());
        }
    }
}
