//! `.lint fkey-indexes`: foreign keys whose columns no index finds.

use std::io::Write;

use rusqlite::Connection;

use super::{LineError, Shell, ShellContext};
use crate::engine::schema::catalogue::{quote, text};

/// Runs the dot command.
pub(super) fn run(
    shell: &mut Shell,
    given: &[String],
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    let (mut verbose, mut grouped) = (false, false);
    let Some((what, options)) = given.split_first() else {
        return Err(LineError::Usage);
    };
    if !stands_for(what, "fkey-indexes") {
        return Err(LineError::Usage);
    }
    for option in options {
        if stands_for(option, "-verbose") {
            verbose = true;
        } else if stands_for(option, "-groupbyparent") {
            grouped = true;
        } else {
            return Err(LineError::Usage);
        }
    }
    let mut findings = shell.database(cx.context)?.inspect(findings)?;
    findings.retain(|finding| verbose || finding.missing);
    if grouped {
        findings.sort_by_key(|finding| finding.parent.to_lowercase());
    }
    let mut out = shell.out(cx);
    let mut parent = None;
    for finding in findings {
        if grouped {
            let name = finding.parent.to_lowercase();
            if parent.as_ref() != Some(&name) {
                writeln!(out, "-- Parent table {}", finding.parent)?;
                parent = Some(name);
            }
            write!(out, "    ")?;
        }
        writeln!(out, "{}", finding.line)?;
    }
    Ok(())
}

/// Whether a word is the start of a name, and more than one letter of it.
fn stands_for(word: &str, name: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let word = word.strip_prefix("--").map_or(&*word, |_| &word[1..]);
    word.len() > 1 && name.starts_with(word)
}

/// The report on one foreign key.
struct Finding {
    parent: String,
    /// Whether there is no index for it.
    missing: bool,
    line: String,
}

/// A foreign key.
#[derive(Default)]
struct Key {
    id: i64,
    parent: String,
    from: Vec<String>,
    to: Vec<String>,
}

/// Each foreign key, in the order of their tables, and by the planner's own verdict whether it has
/// an index.
fn findings(connection: &Connection) -> rusqlite::Result<Vec<Finding>> {
    let mut found = Vec::new();
    let mut tables = connection.prepare(
        "SELECT name FROM sqlite_schema WHERE type='table' AND sql NOT LIKE 'CREATE VIRTUAL%' \
         ORDER BY name",
    )?;
    let tables: Vec<String> = tables
        .query_map([], |row| text(row, 0))?
        .collect::<rusqlite::Result<_>>()?;
    for table in tables {
        for key in keys(connection, &table)? {
            let missing = !indexed(connection, &table, &key.from)?;
            found.push(Finding {
                missing,
                line: advice(connection, &table, &key, missing)?,
                parent: key.parent,
            });
        }
    }
    Ok(found)
}

fn keys(connection: &Connection, table: &str) -> rusqlite::Result<Vec<Key>> {
    let mut statement =
        connection.prepare(&format!("PRAGMA foreign_key_list({})", quote(table)))?;
    let mut rows = statement.query([])?;
    let mut keys: Vec<Key> = Vec::new();
    while let Some(row) = rows.next()? {
        let id = row.get("id")?;
        if keys.last().is_none_or(|key| key.id != id) {
            keys.push(Key {
                id,
                parent: text(row, "table")?,
                ..Key::default()
            });
        }
        if let Some(key) = keys.last_mut() {
            key.from.push(text(row, "from")?);
            let to = text(row, "to")?;
            if !to.is_empty() {
                key.to.push(to);
            }
        }
    }
    Ok(keys)
}

/// Whether SQLite would find the rows of a key by an index over all of its columns.
fn indexed(connection: &Connection, table: &str, columns: &[String]) -> rusqlite::Result<bool> {
    let conditions: Vec<String> = columns
        .iter()
        .map(|column| format!("{}=?", quote(column)))
        .collect();
    let sql = format!(
        "EXPLAIN QUERY PLAN SELECT rowid FROM {} WHERE {}",
        quote(table),
        conditions.join(" AND ")
    );
    // WITHOUT ROWID tables have no rowid to ask for.
    let mut statement = connection
        .prepare(&sql)
        .or_else(|_| connection.prepare(&sql.replacen("SELECT rowid", "SELECT 1", 1)))?;
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        let detail = text(row, 3)?;
        let searched = detail.starts_with("SEARCH ") && !detail.contains("AUTOMATIC");
        if searched && detail.matches("=?").count() == columns.len() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The index to make, and what it is for; or that there is one.
fn advice(
    connection: &Connection,
    table: &str,
    key: &Key,
    missing: bool,
) -> rusqlite::Result<String> {
    let mut to = key.to.clone();
    if to.is_empty() {
        let sql = "SELECT name FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk";
        let mut statement = connection.prepare(sql)?;
        to = statement
            .query_map([&key.parent], |row| text(row, 0))?
            .collect::<rusqlite::Result<_>>()?;
    }
    let to = format!("{}({})", key.parent, to.join(","));
    if !missing {
        return Ok(format!(
            "/* no extra indexes required for {table}({}) -> {to} */",
            key.from.join(", ")
        ));
    }
    let quoted: Vec<String> = key.from.iter().map(|column| string(column)).collect();
    Ok(format!(
        "CREATE INDEX {} ON {}({}); --> {to}",
        string(&format!("{table}_{}", key.from.join("_"))),
        string(table),
        quoted.join(", "),
    ))
}

fn string(name: &str) -> String {
    format!("'{}'", name.replace('\'', "''"))
}
