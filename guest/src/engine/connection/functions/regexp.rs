//! `regexp` and `regexpi`, which `X REGEXP Y` calls as `regexp(Y, X)`.
//!
//! In time that grows with the length of the text alone, whatever the pattern. The syntax is that
//! of <https://docs.rs/regex-lite>: classes such as `\w` are of ASCII.

use regex_lite::{Regex, RegexBuilder};
use rusqlite::Connection;
use rusqlite::functions::Context;

use super::{PURE, refuse};
use crate::answer::value::text_of;

/// The longest pattern taken, in bytes.
const PATTERN_BYTES: usize = 5_000;

/// What a compiled pattern may take in memory, in bytes.
const COMPILED_BYTES: usize = 1 << 20;

pub(super) fn register(connection: &Connection) -> rusqlite::Result<()> {
    connection.create_scalar_function("regexp", 2, PURE, |context| matches(context, false))?;
    connection.create_scalar_function("regexpi", 2, PURE, |context| matches(context, true))
}

fn matches(context: &mut Context<'_>, any_case: bool) -> rusqlite::Result<Option<bool>> {
    let (Some(pattern), Some(subject)) = (text_of(context.get_raw(0)), text_of(context.get_raw(1)))
    else {
        return Ok(None);
    };
    // SQLite keeps it for the next row where the pattern is a constant.
    let compiled = context
        .get_or_create_aux(0, |_| compile(&pattern, any_case))
        .map_err(|error| match error {
            rusqlite::Error::UserFunctionError(why) => refuse(format!("REGEXP: {why}")),
            other => other,
        })?;
    Ok(Some(compiled.is_match(&subject)))
}

fn compile(
    pattern: &str,
    any_case: bool,
) -> Result<Regex, Box<dyn std::error::Error + Send + Sync>> {
    if pattern.len() > PATTERN_BYTES {
        return Err(format!("the pattern is longer than {PATTERN_BYTES} bytes").into());
    }
    Ok(RegexBuilder::new(pattern)
        .case_insensitive(any_case)
        .size_limit(COMPILED_BYTES)
        .build()?)
}

#[cfg(test)]
mod tests {
    use crate::engine::connection::functions::testing::answer;

    #[test]
    fn a_pattern_is_found_anywhere_in_the_text() {
        for (expression, is) in [
            ("'a red fox' REGEXP 'r.d'", "1"),
            ("'a red fox' REGEXP '^r.d'", "0"),
            ("'a red fox' NOT REGEXP 'cat|dog'", "1"),
            ("'RED' REGEXP 'red'", "0"),
            ("regexpi('red', 'RED')", "1"),
            ("regexp('^[0-9]{4}-[0-9]{2}$', '2025-07')", "1"),
            ("regexp('\\bfox\\b', 'a fox')", "1"),
            ("regexp('^.$', 'ü')", "1"),
            ("12345 REGEXP '^1.*5$'", "1"),
            ("1.0 REGEXP '^1[.]0$'", "1"),
            ("NULL REGEXP 'a'", "NULL"),
            ("'a' REGEXP NULL", "NULL"),
        ] {
            assert_eq!(answer(expression), is, "{expression}");
        }
    }

    #[test]
    fn a_pattern_that_changes_from_row_to_row_is_never_mixed_up() {
        assert_eq!(
            answer(
                "group_concat('ab' REGEXP value, '') FROM json_each('[\"a\",\"x\",\"b$\",\"^b\"]')"
            ),
            "'1010'"
        );
    }

    #[test]
    fn a_pattern_that_is_wrong_or_too_large_is_an_error_that_says_so() {
        let wrong = answer("'a' REGEXP '(a'");
        assert!(wrong.starts_with("error: REGEXP: "), "{wrong}");
        let large = answer("'a' REGEXP '((a{1000}){1000}){1000}'");
        assert!(large.starts_with("error: REGEXP: "), "{large}");
        let long = answer("'a' REGEXP hex(zeroblob(5000))");
        assert!(long.contains("longer than"), "{long}");
    }

    #[test]
    fn no_pattern_takes_exponential_time() {
        assert_eq!(
            answer("replace(hex(zeroblob(5000)), '0', 'a') REGEXP '^(a+)+$|b'"),
            "1"
        );
        assert_eq!(
            answer("(replace(hex(zeroblob(5000)), '0', 'a') || '!') REGEXP '^(a|aa)+$'"),
            "0"
        );
    }
}
