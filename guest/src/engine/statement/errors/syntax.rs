//! What SQLite cannot compile, or finds wrong while it runs and has no code for.

use super::{ErrorContext, denied};
use crate::answer::failure::{Failure, Status};
use crate::engine::statement::{dialect, vectors};
use crate::text::scan;

/// The failure for SQL that does not compile, or for an error while it runs, with what to write
/// instead if it was written for another database.
pub(super) fn syntax(said: &str, offset: Option<usize>, about: &ErrorContext<'_>) -> Failure {
    let failure = refused(said, offset, about);
    let elsewhere = matches!(failure.status, Status::Syntax | Status::NotFound);
    if failure.hint.is_some() || !elsewhere || about.denial.is_some() {
        return failure;
    }
    let sql = about.sql.get(about.start..).unwrap_or_default();
    let offset = offset.and_then(|offset| offset.checked_sub(about.start));
    match dialect::hint(sql, said, offset) {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn refused(said: &str, offset: Option<usize>, about: &ErrorContext<'_>) -> Failure {
    // Within SQLite a refusal can come back as an ordinary error, from a virtual table for example.
    if let Some(denial) = about.denial {
        return denied(denial, about.settings);
    }
    if let Some(failure) = vectors::failure(said) {
        return failure;
    }
    let place = offset.map(|offset| {
        let (line, column) = scan::position(about.sql, offset);
        if line == 1 {
            format!(" at column {column}")
        } else {
            format!(" at line {line}, column {column}")
        }
    });
    let said = &singular(said);
    let message = format!(
        "{}{}.",
        capital(said.trim_end_matches('.')),
        place.as_deref().unwrap_or_default()
    );
    let failure = |status| Failure::new(status, message.clone());
    // FTS5 takes a word before a colon or behind a hyphen for a column.
    let matching = offset.is_none()
        && said.starts_with("no such column")
        && scan::words(about.sql).any(|word| word == "match");
    if said.starts_with("no such ") && !matching || said.contains("has no column named") {
        return failure(Status::NotFound);
    }
    if matching
        || said.starts_with("fts5:")
        || said.starts_with("malformed MATCH")
        || said.starts_with("unterminated string")
    {
        return failure(Status::Syntax).hint(
            "In a MATCH, put words with characters other than letters and digits in double quotes \
             inside the string: MATCH '\"well-known\" AND \"c++\"'.",
        );
    }
    if said.eq_ignore_ascii_case("recursion limit") {
        return Failure::new(
            Status::TooBig,
            "The statement nests deeper than SQLite's parser allows.",
        )
        .hint("Use fewer levels of brackets, CASE or subqueries; WITH gives a subquery a name.");
    }
    if said.contains("pattern too complex") {
        return failure(Status::TooBig).hint(
            "A pattern can have at most 5000 characters; use instr(), or FTS5 for words in long \
             texts.",
        );
    }
    if said.contains("subqueries nested too deep") {
        return failure(Status::TooBig).hint("Query the tables that the views read.");
    }
    if said.contains("nested too deep") {
        return failure(Status::TooBig)
            .hint("A trigger fires itself again, directly or through other triggers.");
    }
    if said.starts_with("too many arguments on") {
        return failure(Status::Syntax);
    }
    if said.starts_with("unsupported file format") {
        return Failure::new(
            Status::Corrupt,
            format!(
                "{} has a schema format that this build of SQLite does not know.",
                about.title
            ),
        )
        .hint("It was written by a newer SQLite, or it is damaged.");
    }
    if said.starts_with("Expression tree is too large") {
        return failure(Status::TooBig).hint(
            "Instead of many terms joined by OR, use IN (…); put many values into a table or into params \
             as JSON: IN (SELECT value FROM json_each(?)).",
        );
    }
    if said.contains("too many") || said.contains("stack overflow") {
        return failure(Status::TooBig)
            .hint("Split the statement, or put the values into params or a table.");
    }
    if said.contains("may not be modified") || said.contains("because it is a view") {
        return failure(Status::Readonly).hint(if said.contains("sqlite_") {
            "Change the schema with CREATE, ALTER and DROP only."
        } else {
            "It belongs to a virtual table or is a view: write to the virtual table, or to the \
             table that the view reads."
        });
    }
    if said.contains("already exists") || said.contains("already another") {
        return failure(Status::InvalidState).hint("Drop it first, or use IF NOT EXISTS.");
    }
    if said.contains("within a transaction") || said.contains("inside a transaction") {
        return failure(Status::InvalidState).hint("Run it alone with sqlarium_exec.");
    }
    if said.contains("incomplete input") {
        return failure(Status::Syntax)
            .hint("The statement ends too early: a bracket, a quote or a clause is not closed.");
    }
    failure(Status::Syntax)
}

/// The sentence with one of a thing told as one.
fn singular(said: &str) -> String {
    said.replace(" has 1 columns", " has 1 column")
        .replace(" for 1 columns", " for 1 column")
        .replace(" but 1 values were supplied", " but 1 value was supplied")
        .replace("1 values for ", "1 value for ")
}

/// The sentence with a capital letter, unless it starts with a name.
pub(super) fn capital(said: &str) -> String {
    for start in [
        "no such",
        "near",
        "ambiguous",
        "incomplete",
        "table",
        "unrecognized",
        "wrong number",
        "cannot",
        "triggers",
    ] {
        if said.starts_with(start) {
            let mut characters = said.chars();
            return characters
                .next()
                .map(|first| first.to_uppercase().chain(characters).collect())
                .unwrap_or_default();
        }
    }
    said.to_owned()
}
