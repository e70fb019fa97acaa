//! What the text of a file's own views, triggers and tables may that a client's statement may not.
//!
//! It means what it meant to the program that wrote it: strings may be in double quotes, which SQLite
//! once took for strings where no column has the name. In a client's statement double quotes are
//! around names, and a misspelt one is refused.
//!
//! And it may use a few things that SQLite lets no schema use that is not trusted, but which touch
//! nothing outside of the database: vectors, full-text search, medians. The authorizer keeps the rest
//! from such a statement ([`Authorizer::lend`](super::super::guard::authorizer::Authorizer::lend)).

use std::borrow::Cow;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::engine::schema::{blame, foreign};
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

/// What a statement may meet in the text of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leniency {
    /// Where strings may be in double quotes.
    pub strings: Strings,
    /// Whether it may use what no schema may that is not trusted.
    pub trusted: bool,
}

impl Default for Leniency {
    fn default() -> Self {
        Self::of(Strings::Nowhere)
    }
}

/// Functions that SQLite keeps from a schema that is not trusted, and which look at their arguments and
/// at full-text indexes alone.
const HARMLESS: [&str; 10] = [
    "match",
    "bm25",
    "highlight",
    "snippet",
    "offsets",
    "matchinfo",
    "median",
    "percentile",
    "percentile_cont",
    "percentile_disc",
];

impl Leniency {
    /// Strings, and no trust.
    pub(crate) fn of(strings: Strings) -> Self {
        Self {
            strings,
            trusted: false,
        }
    }

    /// What a statement of a client's may need while it runs: some run the text of the schema again.
    pub(crate) fn needed_by(sql: &str) -> Self {
        let word = scan::first_word(sql);
        let again = ["VACUUM", "ALTER"]
            .iter()
            .any(|again| word.eq_ignore_ascii_case(again));
        // What an ALTER brings of its own is not told apart from what is there.
        if again && !sql.contains('"') {
            Self::of(Strings::Everywhere)
        } else {
            Self::default()
        }
    }

    /// Lets a view or a trigger pass that this error may come from; answers whether that is news.
    pub(super) fn for_the_schema(
        &mut self,
        connection: &Connection,
        error: &rusqlite::Error,
    ) -> bool {
        let before = *self;
        if is_string(error) && self.strings == Strings::Nowhere {
            self.strings = Strings::Views;
        } else if is_harmless(connection, error) {
            self.trusted = true;
        }
        *self != before
    }
}

/// Sets what the text of a file may from now on.
///
/// # Errors
///
/// None that SQLite documents.
pub(crate) fn allow(connection: &Connection, leniency: Leniency) -> rusqlite::Result<()> {
    let Leniency { strings, trusted } = leniency;
    for (config, on) in [
        (
            DbConfig::SQLITE_DBCONFIG_DQS_DML,
            strings != Strings::Nowhere,
        ),
        (
            DbConfig::SQLITE_DBCONFIG_DQS_DDL,
            strings == Strings::Everywhere,
        ),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, trusted),
    ] {
        // Each change lets every statement be compiled again.
        if connection.db_config(config)? != on {
            connection.set_db_config(config, on)?;
        }
    }
    Ok(())
}

/// Whether SQLite says that a name in double quotes may be meant as a string.
pub(crate) fn is_string(error: &rusqlite::Error) -> bool {
    error
        .to_string()
        .contains("should this be a string literal in single-quotes?")
}

/// Whether an error is that a schema which is not trusted uses something that is harmless.
fn is_harmless(connection: &Connection, error: &rusqlite::Error) -> bool {
    blame::untrusted(error).is_some_and(|name| {
        HARMLESS.contains(&name.to_ascii_lowercase().as_str())
            || foreign::module_of(connection, &name).is_some_and(|module| module == "vec0")
    })
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
