//! Names by a pattern, as SQLite's own LIKE takes it.

use std::ffi::CString;

use rusqlite::ffi;

use crate::engine::connection::PATTERN_LENGTH;

/// A pattern for names: `%` and `_`, and `*` for those who expect it.
#[derive(Clone, Debug)]
pub(crate) struct Pattern<'a> {
    given: &'a str,
    like: Option<CString>,
}

impl<'a> Pattern<'a> {
    /// The pattern of an argument. One that LIKE refuses, for its length or a NUL, stands for itself alone.
    pub(crate) fn new(given: &'a str) -> Self {
        let like = (given.len() <= PATTERN_LENGTH.unsigned_abs() as usize)
            .then(|| CString::new(given.replace('*', "%")).ok())
            .flatten();
        Self { given, like }
    }

    /// Whether a name matches, in any case of ASCII letters.
    pub(crate) fn matches(&self, name: &str) -> bool {
        if name == self.given {
            return true;
        }
        let (Some(like), Ok(name)) = (&self.like, CString::new(name)) else {
            return false;
        };
        #[expect(unsafe_code, reason = "rusqlite does not wrap it")]
        // SAFETY: both strings end in NUL and outlive the call, which keeps nothing of them.
        unsafe {
            ffi::sqlite3_strlike(like.as_ptr(), name.as_ptr(), 0) == 0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        Pattern::new(pattern).matches(name)
    }

    #[test]
    fn a_pattern_is_that_of_like() {
        for (pattern, name) in [
            ("", ""),
            ("%", ""),
            ("%s", "orders"),
            ("ORDER_", "orders"),
            ("o%r%e%", "order_lines"),
            ("ä_", "äb"),
        ] {
            assert!(matches(pattern, name), "{name:?} LIKE {pattern:?}");
        }
        for (pattern, name) in [("_", ""), ("or%s", "order"), ("ä_", "Äb"), ("_b", "b")] {
            assert!(!matches(pattern, name), "{name:?} LIKE {pattern:?}");
        }
    }

    #[test]
    fn a_star_stands_for_a_percent_sign_and_a_whole_name_for_itself() {
        assert!(matches("ord*", "orders"));
        assert!(matches("*", "orders"));
        assert!(matches("a*b", "a*b"));
        assert!(!matches("ord", "orders"));
        assert!(matches("a\0b", "a\0b"));
        assert!(!matches("a\0%", "a\0b"));
    }

    #[test]
    fn a_pattern_cannot_be_made_to_take_long() {
        let name = "a".repeat(4_000);
        for pattern in ["%a".repeat(2_400) + "b", "%a%".repeat(1_600) + "b"] {
            assert!(!matches(&pattern, &name));
        }
        let long = "%".repeat(6_000);
        assert!(matches(&long, &long) && !matches(&long, "a"));
    }
}
