//! How a line could continue: dot commands, keywords, tables, columns.

use std::collections::BTreeSet;

use super::Shell;
use super::dot::DOTS;
use crate::command::interface::context::Context;
use crate::engine::schema::catalogue::{relations, text};
use crate::render::mode::{NAMES, identifier};
use crate::text::keyword;

/// How many are offered at most.
const MOST: usize = 200;

/// What could stand from `start` on, up to the place that was asked about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// Where the word starts, in bytes.
    pub start: usize,
    /// What it could be.
    pub candidates: Vec<String>,
}

/// Completes the word of `line` that ends at `place`, a place in bytes.
pub fn complete(shell: &Shell, line: &str, place: usize, context: &mut Context) -> Completion {
    let place = line.floor_char_boundary(place);
    let before = &line[..place];
    let in_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    if let Some(command) = before.strip_prefix('.')
        && shell.pending.is_empty()
    {
        return match command.split_once(' ') {
            None => Completion {
                start: 0,
                candidates: starting(before, DOTS.iter().map(|dot| format!(".{}", dot.name))),
            },
            Some((name, _)) => {
                let start = before.rfind(' ').map_or(0, |at| at + 1);
                let names: Vec<String> = match name {
                    "mode" => NAMES.map(ToOwned::to_owned).to_vec(),
                    "schema" | "tables" | "indexes" | "dump" => names(shell, context, false),
                    _ => Vec::new(),
                };
                Completion {
                    start,
                    candidates: starting(&before[start..], names),
                }
            }
        };
    }
    let start = before
        .char_indices()
        .rev()
        .take_while(|&(_, c)| in_word(c))
        .last()
        .map_or(place, |(at, _)| at);
    let word = &before[start..];
    if word.is_empty() {
        return Completion::default();
    }
    let lower = word.chars().any(char::is_lowercase);
    let keywords = keyword::all().into_iter().map(|keyword| {
        if lower {
            keyword.to_lowercase()
        } else {
            keyword
        }
    });
    let names = names(shell, context, true);
    Completion {
        start,
        candidates: starting(word, names.into_iter().chain(keywords)),
    }
}

/// Those that start as `word` does, in any case, each once.
fn starting(word: &str, all: impl IntoIterator<Item = String>) -> Vec<String> {
    let folded = word.to_lowercase();
    let mut seen = BTreeSet::new();
    all.into_iter()
        .filter(|name| name.to_lowercase().starts_with(&folded))
        .filter(|name| seen.insert(name.clone()))
        .take(MOST)
        .collect()
}

/// The names of tables and views, and of their columns if they are wanted too.
fn names(shell: &Shell, context: &mut Context, columns: bool) -> Vec<String> {
    let looked = shell.database(context).and_then(|database| {
        database.keep_transactions(true);
        database.inspect(|connection| {
            let mut names = Vec::new();
            let mut fields = Vec::new();
            for table in relations(connection)? {
                if table.is_internal() || table.kind == "shadow" {
                    continue;
                }
                if columns {
                    let sql = "SELECT name FROM pragma_table_info(?1)";
                    let mut statement = connection.prepare(sql)?;
                    let rows = statement.query_map([&table.name], |row| text(row, 0))?;
                    // One broken view does not spoil the others.
                    fields.extend(rows.map_while(Result::ok).map(|name| identifier(&name)));
                }
                names.push(identifier(&table.name));
            }
            names.append(&mut fields);
            Ok(names)
        })
    });
    looked.unwrap_or_default()
}
