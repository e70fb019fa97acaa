//! The three tools of `--tools select`, for a client that should only look.

use super::interface::argument::{Argument, Shape};
use super::interface::arguments::Arguments;
use super::interface::command::{Command, Effect, Group};
use super::interface::context::Context;
use super::schema::{describe, tables};
use crate::answer::failure::{Failure, Status};
use crate::answer::output::Output;
use crate::engine::statement::params::Params;
use crate::text::lexer::{Token, TokenKind, tokens};

/// Rows of `run_select` when neither the call nor the SQL says.
const DEFAULT_ROWS: u32 = 50;
/// Rows of `run_select` at most.
const MOST_ROWS: u32 = 200;

/// Served by `--tools select`, and only there.
pub(crate) static SELECT: [Command; 3] = [
    Command {
        name: "list_tables",
        title: "List tables",
        group: Group::Select,
        summary: "List tables and views with their row counts",
        description: "The tables and views of the database, with their row counts.",
        arguments: &[],
        database: true,
        effect: Effect::Reads,
        core: false,
        run: tables::list_tables,
    },
    Command {
        name: "describe_table",
        title: "Describe table",
        group: Group::Select,
        summary: "Describe one table, with three sample rows",
        description: "The columns of one table or view with their types, and three sample rows.",
        arguments: &[Argument {
            name: "table",
            summary: "Its name, unquoted.",
            shape: Shape::Text,
            required: true,
            positional: true,
        }],
        database: true,
        effect: Effect::Reads,
        core: false,
        run: describe::describe_table,
    },
    Command {
        name: "run_select",
        title: "Run SELECT",
        group: Group::Select,
        summary: "Run one SELECT or WITH",
        description: "Run one SQL SELECT or WITH statement and get columns, rows and row_count. \
                      Returns 50 rows if the SQL has no LIMIT; a LIMIT over 200 is rejected.",
        arguments: &[
            Argument {
                name: "sql",
                summary: "One SELECT or WITH statement.",
                shape: Shape::Sql,
                required: true,
                positional: true,
            },
            Argument {
                name: "limit",
                summary: "Maximum rows, if the SQL has no LIMIT.",
                shape: Shape::Integer {
                    min: 1,
                    max: MOST_ROWS as i64,
                },
                required: false,
                positional: false,
            },
        ],
        database: true,
        effect: Effect::Reads,
        core: false,
        run: run_select,
    },
];

/// Runs `run_select`. The SQL runs as it is: rows are counted off as they come.
fn run_select(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let sql = arguments.required_text("sql");
    let tokens = tokens(sql);
    let code: Vec<Token<'_>> = tokens.into_iter().filter(Token::is_code).collect();
    match code.first() {
        Some(first) if first.is("SELECT") || first.is("WITH") => {}
        first => {
            let given: String = first
                .map_or("", |token| token.text)
                .chars()
                .take(40)
                .collect();
            return Err(Failure::new(
                Status::Unsupported,
                format!("run_select takes one SELECT or WITH statement, not {given:?}."),
            ));
        }
    }
    let written = written_limit(&code);
    if let Some(limit) = written.filter(|limit| *limit > u64::from(MOST_ROWS)) {
        return Err(Failure::new(
            Status::TooBig,
            format!("LIMIT {limit} is rejected: the maximum is {MOST_ROWS} rows."),
        )
        .hint(format!(
            "Use LIMIT {MOST_ROWS} or less, and OFFSET for the rows that follow."
        )));
    }
    let asked = arguments
        .integer("limit")
        .and_then(|limit| u32::try_from(limit).ok());
    let limit = match (asked, written) {
        (Some(limit), _) => limit,
        (None, Some(_)) => MOST_ROWS,
        (None, None) => DEFAULT_ROWS,
    };
    // The owner's own bound may be lower still.
    let limit = limit.min(context.settings.output.max_rows);
    context
        .engine
        .database(arguments.db())?
        .query(sql, &Params::default(), Some(limit))
        .map_err(|mut failure| {
            if failure.status == Status::Readonly {
                // What the engine advises is not served here.
                failure.hint = Some("This server only allows reading.".into());
            }
            failure
        })
}

/// The number after the LIMIT of the statement as a whole, if it is one.
///
/// Only advice: how many rows come is decided by counting them.
fn written_limit(code: &[Token<'_>]) -> Option<u64> {
    let mut depth = 0_i32;
    let mut after = None;
    for (index, token) in code.iter().enumerate() {
        match (token.kind, token.text) {
            (TokenKind::Sign, "(") => depth += 1,
            (TokenKind::Sign, ")") => depth -= 1,
            _ if depth == 0 && token.is("LIMIT") => after = Some(index + 1),
            _ => {}
        }
    }
    let rest = code.get(after?..)?;
    let number = |at: usize| rest.get(at)?.text.parse::<u64>().ok();
    let ends = |at: usize| {
        rest.get(at)
            .is_none_or(|token| token.text == ";" || token.is("OFFSET"))
    };
    match rest {
        // LIMIT offset, count
        [_, comma, ..] if comma.text == "," => number(2).filter(|_| ends(3)),
        _ => number(0).filter(|_| ends(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(sql: &str) -> Option<u64> {
        let tokens = tokens(sql);
        let code: Vec<Token<'_>> = tokens.into_iter().filter(Token::is_code).collect();
        written_limit(&code)
    }

    #[test]
    fn only_the_limit_of_the_whole_statement_counts() {
        assert_eq!(limit("SELECT 1 LIMIT 5"), Some(5));
        assert_eq!(limit("SELECT 1 limit 5 ; -- LIMIT 7"), Some(5));
        assert_eq!(limit("SELECT 1 LIMIT 5 OFFSET 900"), Some(5));
        assert_eq!(limit("SELECT 1 LIMIT 900, 5"), Some(5));
        assert_eq!(limit("SELECT * FROM (SELECT 1 LIMIT 5)"), None);
        assert_eq!(
            limit("WITH a AS (SELECT 1 LIMIT 5) SELECT * FROM a LIMIT 6"),
            Some(6)
        );
        assert_eq!(limit("SELECT 'LIMIT 5'"), None);
        assert_eq!(limit("SELECT 1 AS \"LIMIT\""), None);
        assert_eq!(limit("SELECT 1 LIMIT -1"), None);
        assert_eq!(limit("SELECT 1 LIMIT 5 + 500"), None);
        assert_eq!(limit("SELECT 1 LIMIT ?1"), None);
        assert_eq!(limit("SELECT 1 LIMIT"), None);
    }
}
