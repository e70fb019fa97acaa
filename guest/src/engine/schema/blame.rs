//! Which part of a schema an error comes from, whose it is, and what still works.

use rusqlite::{Connection, ffi};

use super::catalogue::{quote, text};
use super::foreign::{Foreign, Need, belongs};
use super::fts::{Content, text_indexes};
use crate::text::scan;

/// An error, explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Explanation {
    /// What is the matter, as a sentence.
    pub message: String,
    /// What to do.
    pub hint: String,
}

/// A part of the schema that an error may come from.
struct Part {
    kind: String,
    name: String,
    table: String,
    /// Whether it is a table whose rows are in the order of its key alone.
    without_rowid: bool,
}

impl Part {
    fn shown(&self) -> String {
        match self.kind.as_str() {
            "index" => format!("index {} of {}", self.name, self.table),
            kind => format!("{kind} {}", self.name),
        }
    }
}

/// Explains an error on `sql` that comes from the schema, if it does.
pub(crate) fn explain(
    connection: &Connection,
    error: &rusqlite::Error,
    sql: &str,
) -> Option<Explanation> {
    if let Some(name) = untrusted(error) {
        return unsafe_use(connection, &name, sql);
    }
    if error.to_string().starts_with("no query solution") {
        return unreadable(connection, sql);
    }
    missing(connection, &Need::of(error)?, sql)
}

/// Explains why SQLite finds no way at all to read a table: one without rowids is its key's index.
fn unreadable(connection: &Connection, sql: &str) -> Option<Explanation> {
    let words: Vec<String> = scan::words(sql).collect();
    let affected = Foreign::of(connection).ok()?.affected(&[]);
    let part = affected
        .iter()
        .find(|part| words.contains(&part.table.to_lowercase()))?;
    Some(Explanation {
        message: format!(
            "Table {} is kept in the order of {}, which belongs to the program that made the file, and \
             this build does not have it.",
            part.table, part.needs
        ),
        hint: "sqlarium_dump writes its rows all the same; only that program can do more.".into(),
    })
}

/// What SQLite does not let a schema use that is not trusted.
pub(crate) fn untrusted(error: &rusqlite::Error) -> Option<String> {
    let (rusqlite::Error::SqlInputError { msg: said, .. }
    | rusqlite::Error::SqliteFailure(_, Some(said))) = error
    else {
        return None;
    };
    let name = said.strip_prefix("unsafe use of ")?;
    let name = name.strip_prefix("virtual table ").unwrap_or(name);
    Some(name.trim_end_matches("()").trim_matches('"').to_owned())
}

/// The parts of the schema whose definitions have `word` in them; those first that `sql` names, or
/// whose table it names.
fn parts(connection: &Connection, word: &str, sql: &str) -> Option<Vec<Part>> {
    let mut statement = connection
        .prepare("SELECT type, name, tbl_name, sql FROM main.sqlite_schema WHERE sql IS NOT NULL")
        .ok()?;
    let word = word.to_lowercase();
    let named: Vec<String> = scan::words(sql).collect();
    let mut rows = statement.query([]).ok()?;
    let mut found = Vec::new();
    while let Ok(Some(row)) = rows.next() {
        let defines: Vec<String> = scan::words(&text(row, 3).ok()?).collect();
        if defines.contains(&word) {
            found.push(Part {
                without_rowid: defines.ends_with(&["without".into(), "rowid".into()]),
                kind: text(row, 0).ok()?,
                name: text(row, 1).ok()?,
                table: text(row, 2).ok()?,
            });
        }
    }
    let near = |part: &Part| {
        named.contains(&part.name.to_lowercase()) || named.contains(&part.table.to_lowercase())
    };
    if found.iter().any(near) {
        found.retain(near);
    }
    Some(found)
}

fn list(parts: &[Part]) -> String {
    let mut names: Vec<String> = parts.iter().take(5).map(Part::shown).collect();
    if parts.len() > names.len() {
        names.push("others".into());
    }
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next();
    first
        .map(|first| first.to_uppercase().chain(characters).collect())
        .unwrap_or_default()
}

fn uses(parts: &[Part]) -> &'static str {
    if parts.len() == 1 { "uses" } else { "use" }
}

fn missing(connection: &Connection, need: &Need, sql: &str) -> Option<Explanation> {
    // What the client wrote is explained by what there is.
    if scan::words(sql).any(|word| word == need.name.to_lowercase()) {
        return None;
    }
    let parts = parts(connection, &need.name, sql)?;
    let first = parts.first()?;
    let whose = belongs(&format!("the {}", need.kind));
    if let Some(trigger) = set_off(connection, first, sql) {
        return Some(Explanation {
            message: format!(
                "Trigger {} uses {}, which uses {need}; {whose}, and this build does not have it.",
                trigger.name, first.name
            ),
            hint: reading_works(&trigger),
        });
    }
    let hint = match (need.kind, first.kind.as_str()) {
        ("tokenizer", _) => {
            let own = format!("{}_content", first.name);
            match exists(connection, &own) {
                true => format!("Its text can be read from its own table {}.", quote(&own)),
                false => "Its text, if there is any, is in the table that it was made from.".into(),
            }
        }
        ("module", _) => "Tables that belong to it can be read by their own names.".into(),
        (_, "trigger") => reading_works(first),
        ("collation", "table") if first.without_rowid => {
            "sqlarium_dump writes its rows all the same; only that program can do more.".into()
        }
        (_, "view") => "Query the tables that the view reads.".into(),
        ("collation", _) => format!(
            "Rows of {0} can be read: SELECT … FROM {0} NOT INDEXED, and compare or sort with \
             COLLATE BINARY. Writes that change the index are that program's.",
            quote(&first.table)
        ),
        (_, "index") => format!(
            "Rows of {0} can be read: SELECT … FROM {0} NOT INDEXED. Writes that change the index are \
             that program's.",
            quote(&first.table)
        ),
        _ => format!(
            "Rows of {} can be read as far as they are stored; writes are that program's.",
            quote(&first.table)
        ),
    };
    let message = format!(
        "{} {} {need}; {whose}, and this build does not have it.",
        capital(&list(&parts)),
        uses(&parts),
    );
    Some(Explanation { message, hint })
}

fn exists(connection: &Connection, table: &str) -> bool {
    let sql = "SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = ?1 COLLATE NOCASE";
    let found = connection
        .prepare(sql)
        .and_then(|mut found| found.exists([table]));
    found.unwrap_or(false)
}

/// The trigger of a table in `sql` by which a part of the schema comes in that `sql` does not name.
fn set_off(connection: &Connection, part: &Part, sql: &str) -> Option<Part> {
    let named: Vec<String> = scan::words(sql).collect();
    let names = |name: &str| named.contains(&name.to_lowercase());
    if names(&part.name) || names(&part.table) {
        return None;
    }
    let mut users = parts(connection, &part.name, sql)?.into_iter();
    users.find(|user| user.kind == "trigger" && names(&user.table))
}

fn reading_works(trigger: &Part) -> String {
    format!(
        "Reading {} works, and so do writes that do not set the trigger off.",
        trigger.table
    )
}

/// Explains that a view or a trigger needs a table that is not there, which `sql` does not name.
pub(crate) fn absent(
    connection: &Connection,
    error: &rusqlite::Error,
    sql: &str,
) -> Option<Explanation> {
    let (rusqlite::Error::SqlInputError { msg: said, .. }
    | rusqlite::Error::SqliteFailure(_, Some(said))) = error
    else {
        return None;
    };
    let name = said.strip_prefix("no such table: ")?;
    let name = name.strip_prefix("main.").unwrap_or(name);
    if scan::words(sql).any(|word| word == name.to_lowercase()) {
        return None;
    }
    let mut parts = parts(connection, name, sql)?;
    parts.retain(|part| matches!(part.kind.as_str(), "view" | "trigger"));
    let first = parts.first()?;
    let (verb, hint) = match first.kind.as_str() {
        "trigger" => (
            if parts.len() == 1 { "needs" } else { "need" },
            reading_works(first),
        ),
        _ => (
            if parts.len() == 1 { "reads" } else { "read" },
            format!("DROP VIEW {} removes it.", quote(&first.name)),
        ),
    };
    Some(Explanation {
        message: format!(
            "{} {verb} table {name}, which does not exist.",
            capital(&list(&parts))
        ),
        hint,
    })
}

fn unsafe_use(connection: &Connection, name: &str, sql: &str) -> Option<Explanation> {
    let parts = parts(connection, name, sql)?;
    if parts.is_empty() {
        return None;
    }
    Some(Explanation {
        message: format!(
            "{} {} {name}, which this server does not let the schema of a file use.",
            capital(&list(&parts)),
            uses(&parts)
        ),
        hint: format!("Use {name} in a query of your own, on the tables themselves."),
    })
}

/// Explains that a full-text index or another virtual table disagrees with what it was made from:
/// SQLITE_CORRUPT_VTAB says nothing of the file's pages.
pub(crate) fn out_of_step(
    connection: &Connection,
    error: &rusqlite::Error,
    sql: &str,
) -> Option<Explanation> {
    let code = error.sqlite_error()?.extended_code;
    if code != ffi::SQLITE_CORRUPT_VTAB {
        return None;
    }
    let said = error.to_string();
    let (indexes, old) = text_indexes(connection).ok()?;
    let rebuilds = |content: &Content| *content != Content::Nothing;
    let all: Vec<(String, bool)> = indexes
        .into_iter()
        .map(|index| (index.name, rebuilds(&index.content)))
        .chain(old.into_iter().map(|name| (name, true)))
        .collect();
    let words: Vec<String> = scan::words(sql).collect();
    let blamed: Vec<&(String, bool)> = all
        .iter()
        .filter(|(name, _)| said.contains(&format!("\"{name}\"")))
        .collect();
    let named: Vec<&(String, bool)> = all
        .iter()
        .filter(|(name, _)| words.contains(&name.to_lowercase()))
        .collect();
    let likely: Vec<&(String, bool)> = match (blamed.is_empty(), named.is_empty()) {
        (false, _) => blamed,
        (_, false) => named,
        _ => all.iter().collect(),
    };
    let (name, rebuilds) = likely.first()?;
    let names: Vec<&str> = likely.iter().map(|(name, _)| name.as_str()).collect();
    let which = match names.as_slice() {
        [name] => format!("The full-text index {name} is"),
        many => format!("One of the full-text indexes {} is", many.join(", ")),
    };
    let table = quote(name);
    Some(Explanation {
        message: format!(
            "{which} out of step with the rows that it was made from; the file itself is not damaged by \
             that."
        ),
        hint: if *rebuilds {
            format!("Rebuild it: INSERT INTO {table}({table}) VALUES('rebuild').")
        } else {
            format!(
                "It keeps no text to be rebuilt from: empty it by INSERT INTO {table}({table}) \
                 VALUES('delete-all'), and insert its rows again."
            )
        },
    })
}
