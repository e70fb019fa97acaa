//! `search`: full-text search over FTS5, best matches first.

mod parts;

use rusqlite::Connection;
use serde_json::json;

use crate::answer::failure::{Failure, Status};
use crate::answer::output::Output;
use crate::command::interface::argument::{Shape, option, positional, required};
use crate::command::interface::arguments::Arguments;
use crate::command::interface::command::{Command, Effect, Group};
use crate::command::interface::context::Context;
use crate::engine::database::Database;
use crate::engine::schema::catalogue::quote;
use crate::engine::schema::fts::{Content, TextIndex, text_indexes};
use crate::engine::schema::resolve::find;
use crate::engine::statement::params::Params;
use crate::text::escape::visible;

/// `search` in the command table.
pub(crate) const COMMAND: Command = Command {
    name: "search",
    title: "Search",
    group: Group::Search,
    summary: "Search text, best matches first",
    description: "Full-text search with FTS5: rowid, score (bm25, higher is better) and a snippet \
                  with **matches** marked. The query uses FTS5 syntax: words, \"phrases\", AND OR \
                  NOT, pre*, column : word; if FTS5 cannot parse it, its words are searched for.",
    arguments: &[
        required("query", Shape::Text, ""),
        positional(
            "table",
            Shape::Text,
            "FTS5 table, or the table it indexes; default: the only one.",
        ),
        option(
            "k",
            Shape::Integer {
                min: 1,
                max: i64::MAX,
            },
            "Maximum matches, default 10.",
        ),
        option("full", Shape::Flag, "Whole columns, not a snippet."),
    ],
    database: true,
    effect: Effect::Reads,
    core: true,
    run,
};

/// Matches when the call does not say.
const MATCHES: u32 = 10;

/// Words of a snippet, of 64 that FTS5 gives at most.
const SNIPPET_WORDS: u32 = 24;

/// Runs `search`.
pub(crate) fn run(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let query = arguments.required_text("query");
    if query.trim().is_empty() {
        return Err(Failure::new(
            Status::Syntax,
            "query is empty: give the words to search for.",
        ));
    }
    if query.contains('\0') {
        return Err(Failure::new(
            Status::Syntax,
            "query contains a NUL character, and FTS5 would ignore everything after it.",
        ));
    }
    let table = arguments.text("table");
    let matches = arguments
        .integer("k")
        .map_or(MATCHES, |k| u32::try_from(k).unwrap_or(u32::MAX));
    let form = if arguments.flag("full") {
        Form::Columns
    } else {
        Form::Snippet
    };
    let database = context.engine.database(arguments.db())?;
    let index = database.inspect(|connection| choose(connection, table))??;
    let search = Search {
        index: &index,
        form,
        matches,
    };
    let (mut output, used) = search.in_any_way(database, query)?;
    let is_empty = |output: &Output| {
        output
            .rows
            .as_ref()
            .is_some_and(|rows| rows.rows.is_empty())
    };
    if is_empty(&output)
        && index.content != Content::Nothing
        && let Some(why) = parts::missed(&index, query)
        && let Ok(mut found) = search.by_parts(database, query)
        && !is_empty(&found)
    {
        found.notes.push(why);
        output = found;
    } else if is_empty(&output) {
        output.notes.push(
            "Nothing matches. A match contains all words: join them with OR to match any of them, \
             and end a word with * to match a prefix."
                .into(),
        );
    }
    output.extra.insert("table".into(), json!(index.name));
    output.extra.insert("match".into(), json!(used));
    Ok(output)
}

/// The FTS5 table that is meant.
fn choose(
    connection: &Connection,
    name: Option<&str>,
) -> rusqlite::Result<Result<TextIndex, Failure>> {
    let (all, old) = text_indexes(connection)?;
    let list = |some: &[&TextIndex]| {
        let names: Vec<&str> = some.iter().map(|index| index.name.as_str()).collect();
        visible(&names.join(", ")).into_owned()
    };
    let Some(name) = name else {
        let every: Vec<&TextIndex> = all.iter().collect();
        return Ok(match every.as_slice() {
            [one] => Ok((*one).clone()),
            [] => Err(none("The database has no FTS5 table to search.", &old)),
            many => Err(Failure::new(
                Status::Syntax,
                format!(
                    "The database has {} FTS5 tables, so table is required.",
                    many.len()
                ),
            )
            .hint(format!("Give one of: {}.", list(many)))),
        });
    };
    if let Some(index) = all
        .iter()
        .find(|index| index.name.eq_ignore_ascii_case(name))
    {
        return Ok(Ok(index.clone()));
    }
    let table = match find(connection, name)? {
        Ok(table) => table.name,
        Err(failure) => return Ok(Err(failure)),
    };
    let of_table: Vec<&TextIndex> = all
        .iter()
        .filter(|index| {
            index.name.eq_ignore_ascii_case(&table)
                || index.name.eq_ignore_ascii_case(&format!("{table}_fts"))
                || matches!(&index.content, Content::Table(of) if of.eq_ignore_ascii_case(&table))
        })
        .collect();
    Ok(match of_table.as_slice() {
        [one] => Ok((*one).clone()),
        [] if old.contains(&table) => Err(Failure::new(
            Status::Unsupported,
            format!("{table} is an FTS3 or FTS4 table, and search needs FTS5."),
        )
        .hint("Search it with SQL: SELECT * FROM it WHERE it MATCH 'words'.")),
        [] => Err(none(&format!("{table} has no full-text index."), &[])),
        many => Err(Failure::new(
            Status::Syntax,
            format!("{table} has {} full-text indexes.", many.len()),
        )
        .hint(format!("Give one of them as table: {}.", list(many)))),
    })
}

fn none(what: &str, old: &[String]) -> Failure {
    let mut hint = "sqlarium_index_text creates one for the text columns of a table.".to_owned();
    if !old.is_empty() {
        hint.push_str(" FTS3 and FTS4 tables can be searched with MATCH in SQL.");
    }
    Failure::new(Status::NotFound, what).hint(hint)
}

/// What is shown of a match, besides its rowid and score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The best piece of its text.
    Snippet,
    /// All columns.
    Columns,
    /// Nothing.
    Bare,
}

struct Search<'a> {
    index: &'a TextIndex,
    form: Form,
    matches: u32,
}

impl Search<'_> {
    /// Searches for the query or, if FTS5 does not take it, for its words; says which it was.
    fn in_any_way(
        &self,
        database: &mut Database,
        query: &str,
    ) -> Result<(Output, String), Failure> {
        // With a star in front it would be one of FTS5's own commands.
        let special = query.trim_start().starts_with('*');
        let failure = if special {
            Failure::new(Status::Syntax, "a star ends a word")
        } else {
            match self.once(database, query) {
                Ok(output) => return Ok((output, query.to_owned())),
                Err(failure) => failure,
            }
        };
        if !special && !is_grammar(&failure) {
            return Err(failure);
        }
        if !query.contains(char::is_alphanumeric) {
            return Err(Failure::new(
                Status::Syntax,
                "query contains no word: no letter and no digit.",
            )
            .hint(
                "Put other characters in double quotes if the index contains them, or search \
                   with LIKE in SQL.",
            ));
        }
        // An index without places of words (detail) takes no phrases, not even of two words that
        // a hyphen joins.
        for words in [in_quotes(query), one_by_one(query)] {
            if let Ok(mut output) = self.once(database, &words) {
                let why = failure.message.trim_end_matches('.');
                output.notes.insert(
                    0,
                    format!(
                        "FTS5 cannot parse this query ({why}); searched for its words instead: \
                         {words}"
                    ),
                );
                return Ok((output, words));
            }
        }
        Err(failure)
    }

    /// Searches for the query, and shows what can be shown of the matches.
    fn once(&self, database: &mut Database, query: &str) -> Result<Output, Failure> {
        if self.index.content == Content::Nothing {
            let mut output = self.ask(database, query, Form::Bare)?;
            output.notes.push(format!(
                "{} is contentless: it stores no text, so only rowids and scores are shown.",
                self.index.name
            ));
            return Ok(output);
        }
        let failure = match self.ask(database, query, self.form) {
            // Out of step, or without what keeps its text.
            Err(failure) if failure.status == Status::InvalidState || is_unexplained(&failure) => {
                failure
            }
            other => return other,
        };
        let Content::Table(table) = &self.index.content else {
            return Err(failure);
        };
        // The index knows of a row that the table no longer has: the matches are still there.
        let cause = failure.clone();
        let mut output = self.ask(database, query, Form::Bare).map_err(|_| failure)?;
        let name = &self.index.name;
        if is_unexplained(&cause) {
            output.notes.push(format!(
                "{name} takes its text from {table}, which cannot be read, so only rowids and \
                 scores are shown."
            ));
            return Ok(output);
        }
        let quoted = quote(name);
        output.notes.push(format!(
            "{name} is out of sync with {table}, so only rowids and scores are shown; rebuild it \
             with INSERT INTO {quoted}({quoted}) VALUES('rebuild')."
        ));
        Ok(output)
    }

    /// Looks for the words as parts of the text, which takes no index.
    fn by_parts(&self, database: &mut Database, query: &str) -> Result<Output, Failure> {
        let words = parts::words(query);
        let patterns: Vec<String> = words.iter().map(|word| parts::pattern(word)).collect();
        let params = Params::from_json(&json!(patterns))?;
        let sql = parts::sql(self.index, &words, self.form == Form::Columns);
        database.query(&sql, &params, Some(self.matches))
    }

    fn ask(&self, database: &mut Database, query: &str, form: Form) -> Result<Output, Failure> {
        let params = Params::from_json(&json!([query]))?;
        database.query(&self.sql(form), &params, Some(self.matches))
    }

    /// bm25 is better the lower it is; a score is not.
    fn sql(&self, form: Form) -> String {
        let table = quote(&self.index.name);
        let mut shown = String::new();
        match form {
            Form::Bare => {}
            Form::Snippet => shown.push_str(&format!(
                ", snippet({table}, -1, '**', '**', '…', {SNIPPET_WORDS}) AS snippet"
            )),
            Form::Columns => {
                for (number, name) in self.index.columns.iter().enumerate() {
                    shown.push_str(&format!(
                        ", highlight({table}, {number}, '**', '**') AS {}",
                        quote(name)
                    ));
                }
            }
        }
        format!("SELECT rowid, -rank AS score{shown} FROM main.{table}(?1) ORDER BY rank")
    }
}

/// What FTS5 says when the table that keeps its text is not there.
fn is_unexplained(failure: &Failure) -> bool {
    failure.message.starts_with("SQL logic error")
}

/// Whether FTS5 could not read the query.
fn is_grammar(failure: &Failure) -> bool {
    let message = failure.message.to_ascii_lowercase();
    [
        "fts5: ",
        "no such column",
        "unterminated string",
        "unknown special query",
    ]
    .iter()
    .any(|start| message.starts_with(start))
}

/// The words of a query, each by itself.
fn one_by_one(query: &str) -> String {
    let words = query.split(|c: char| !c.is_alphanumeric());
    let words: Vec<String> = words.filter(|word| !word.is_empty()).map(quote).collect();
    words.join(" ")
}

/// The words and phrases of a query, each as a string of FTS5, in which no character has a meaning.
///
/// What stands between two of them as AND, OR or NOT stays, and so does a star for the rest of a word.
fn in_quotes(query: &str) -> String {
    let mut quoted = String::new();
    let mut operator = None;
    let mut rest = query.trim_start();
    while !rest.is_empty() {
        let phrase = rest
            .strip_prefix('"')
            .and_then(|inner| inner.split_once('"'));
        let (word, after) = match phrase {
            Some(split) => split,
            None => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
        };
        rest = after.trim_start();
        if phrase.is_none() && ["AND", "OR", "NOT"].contains(&word) {
            operator = operator.or(Some(word));
            continue;
        }
        if !word.contains(char::is_alphanumeric) {
            continue;
        }
        if !quoted.is_empty() {
            quoted.push(' ');
            if let Some(operator) = operator {
                quoted.push_str(&format!("{operator} "));
            }
        }
        operator = None;
        let word = word.trim_start_matches('*');
        let stem = word.trim_end_matches('*');
        quoted.push_str(&quote(stem.trim_start_matches('"')));
        if stem.len() < word.len() {
            quoted.push('*');
        }
    }
    quoted
}

#[cfg(test)]
mod tests;
