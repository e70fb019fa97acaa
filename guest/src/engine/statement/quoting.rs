//! Strings in double quotes, which SQLite once took for strings where no column has the name.
//!
//! The text of a file's own triggers, views and tables means what it meant to the program that wrote
//! it. In a client's statement double quotes are around names, and a misspelt one is refused.

use std::borrow::Cow;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::text::{lexer, scan};

/// What text may have strings in double quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strings {
    /// None, but the tables and indexes of a schema as they are read.
    Nowhere,
    /// Views and triggers.
    Views,
    /// All of it.
    Everywhere,
}

/// Sets what text may have them from now on.
///
/// # Errors
///
/// None that SQLite documents.
pub(crate) fn allow(connection: &Connection, strings: Strings) -> rusqlite::Result<()> {
    let (dml, ddl) = (strings != Strings::Nowhere, strings == Strings::Everywhere);
    for (config, on) in [
        (DbConfig::SQLITE_DBCONFIG_DQS_DML, dml),
        (DbConfig::SQLITE_DBCONFIG_DQS_DDL, ddl),
    ] {
        // Each change lets every statement be compiled again.
        if connection.db_config(config)? != on {
            connection.set_db_config(config, on)?;
        }
    }
    Ok(())
}

/// What a statement of a client's may need while it runs: some run the text of the schema again.
pub(crate) fn needed_by(sql: &str) -> Strings {
    let word = scan::first_word(sql);
    let again = ["VACUUM", "ALTER"]
        .iter()
        .any(|again| word.eq_ignore_ascii_case(again));
    // What an ALTER brings of its own is not told apart from what is there.
    if again && !sql.contains('"') {
        Strings::Everywhere
    } else {
        Strings::Nowhere
    }
}

/// Whether SQLite says that a name in double quotes may be meant as a string.
pub(crate) fn is_string(error: &rusqlite::Error) -> bool {
    error
        .to_string()
        .contains("should this be a string literal in single-quotes?")
}

/// The same statement with other quotes around its names, which are never taken for strings; none if
/// its length would change.
pub(crate) fn strict_names(sql: &str) -> Option<Cow<'_, str>> {
    if !sql.contains('"') {
        return Some(Cow::Borrowed(sql));
    }
    let mut strict = String::with_capacity(sql.len());
    for token in lexer::tokens(sql) {
        match token
            .text
            .strip_prefix('"')
            .map(|rest| rest.strip_suffix('"'))
        {
            Some(Some(name)) if !name.contains(['"', '`']) => {
                strict.extend(["`", name, "`"]);
            }
            Some(_) => return None,
            None => strict.push_str(token.text),
        }
    }
    Some(Cow::Owned(strict))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_place_and_get_quotes_that_hold_no_string() {
        for (sql, strict) in [
            ("SELECT 1", Some("SELECT 1")),
            (
                "SELECT \"a b\", '\"x\"' -- \"y\"",
                Some("SELECT `a b`, '\"x\"' -- \"y\""),
            ),
            ("SELECT \"a\"\"b\"", None),
            ("SELECT \"a`b\"", None),
            ("SELECT \"open", None),
        ] {
            assert_eq!(strict_names(sql).as_deref(), strict, "{sql}");
        }
    }
}
