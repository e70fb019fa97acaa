//! Positive numbers of x87's extended precision: 64 bits of mantissa, rounded to nearest, ties to even.
//!
//! The sqlite3 program converts reals to text in `long double`, and its last digits depend on it.

use std::cmp::Ordering;

/// `mantissa * 2^exponent`; the highest bit of the mantissa is set, unless the number is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extended {
    mantissa: u64,
    exponent: i32,
}

impl Extended {
    /// A finite number that is not negative, exactly.
    pub fn new(number: f64) -> Self {
        let bits = number.to_bits();
        let field = i32::try_from(bits >> 52 & 0x7ff).unwrap_or(0);
        let fraction = bits & ((1 << 52) - 1);
        let (mantissa, exponent) = match field {
            0 => (fraction, -1074),
            _ => (fraction | 1 << 52, field - 1075),
        };
        Self::rounded(mantissa.into(), exponent, false)
    }

    /// `wide * 2^exponent`, and a little more if `sticky`, rounded to 64 bits.
    fn rounded(wide: u128, exponent: i32, sticky: bool) -> Self {
        if wide == 0 {
            return Self {
                mantissa: 0,
                exponent: 0,
            };
        }
        let bits = 128 - wide.leading_zeros();
        if bits <= 64 {
            let shift = 64 - bits;
            return Self {
                mantissa: low(wide) << shift,
                exponent: exponent - shift.cast_signed(),
            };
        }
        let shift = bits - 64;
        let lost = wide & ((1 << shift) - 1);
        let half = 1_u128 << (shift - 1);
        let kept = low(wide >> shift);
        let up = match lost.cmp(&half) {
            Ordering::Less => false,
            Ordering::Greater => true,
            Ordering::Equal => sticky || kept & 1 == 1,
        };
        let exponent = exponent + shift.cast_signed();
        match kept.checked_add(u64::from(up)) {
            Some(mantissa) => Self { mantissa, exponent },
            None => Self {
                mantissa: 1 << 63,
                exponent: exponent + 1,
            },
        }
    }

    pub fn times(self, other: Self) -> Self {
        Self::rounded(
            u128::from(self.mantissa) * u128::from(other.mantissa),
            self.exponent + other.exponent,
            false,
        )
    }

    /// Division by a number that is not zero.
    pub fn over(self, other: Self) -> Self {
        let high = u128::from(self.mantissa) << 64;
        let divisor = u128::from(other.mantissa);
        let (quotient, rest) = (high / divisor, (high % divisor) << 1);
        // The quotient has 64 bits or 65. Below it one bit more, and one for whatever is left.
        let next = u128::from(rest >= divisor);
        let left = u128::from(rest - next * divisor != 0);
        Self::rounded(
            quotient << 2 | next << 1 | left,
            self.exponent - other.exponent - 66,
            false,
        )
    }

    pub fn plus(self, other: Self) -> Self {
        let (large, small) = if self.exponent >= other.exponent || other.mantissa == 0 {
            (self, other)
        } else {
            (other, self)
        };
        if small.mantissa == 0 {
            return large;
        }
        let distance = large.exponent.abs_diff(small.exponent);
        let wide = u128::from(large.mantissa) << 62;
        let below = u128::from(small.mantissa) << 62;
        let moved = below.checked_shr(distance).unwrap_or(0);
        let sticky = distance > 0 && (distance >= 128 || moved << distance != below);
        Self::rounded(wide + moved, large.exponent - 62, sticky)
    }

    /// The whole part, for a number below 2^32, and ten times the rest.
    pub fn digit(self) -> (u32, Self) {
        let shift = self.exponent.unsigned_abs();
        if self.mantissa == 0 || self.exponent >= 0 || shift > 63 {
            return (0, self.times(Self::new(10.0)));
        }
        let whole = self.mantissa >> shift;
        let rest = self.mantissa & ((1 << shift) - 1);
        let rest = Self::rounded(rest.into(), self.exponent, false);
        (
            u32::try_from(whole).unwrap_or(0),
            rest.times(Self::new(10.0)),
        )
    }
}

fn low(wide: u128) -> u64 {
    u64::try_from(wide & u128::from(u64::MAX)).unwrap_or(0)
}

impl PartialOrd for Extended {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        if self.mantissa == 0 || other.mantissa == 0 {
            return self.mantissa.partial_cmp(&other.mantissa);
        }
        (self.exponent, self.mantissa).partial_cmp(&(other.exponent, other.mantissa))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_of_short_numbers_is_exact_and_that_of_long_ones_rounded() {
        let n = Extended::new;
        assert_eq!(n(3.0).times(n(4.0)), n(12.0));
        assert_eq!(n(12.0).over(n(4.0)), n(3.0));
        assert_eq!(n(1e10).plus(n(0.5)), n(10_000_000_000.5));
        assert_eq!(n(0.0).plus(n(2.0)), n(2.0));
        assert!(n(2.0) > n(1.5) && n(0.0) < n(1e-300));
        assert_eq!(n(7.5).digit(), (7, n(5.0)));
        // A third has no end; three of them round to one.
        let third = n(1.0).over(n(3.0));
        assert_eq!(third.mantissa, 0xaaaa_aaaa_aaaa_aaab);
        assert_eq!(third.times(n(3.0)), n(1.0));
        // A quotient of 64 bits whose rest is less than a half.
        assert_eq!(n(9.0).over(n(11.0)).mantissa, 0xd174_5d17_45d1_745d);
    }
}
