//! `.lint fkey-indexes`: foreign keys whose columns no index finds.

use std::io::Write;

use rusqlite::Connection;

use super::dot::usage;
use super::{Refusal, Scene, Shell};
use crate::command::catalogue::{quote, text};

/// Runs the dot command.
pub fn run(shell: &mut Shell, given: &[String], scene: &mut Scene<'_>) -> Result<(), Refusal> {
    match given {
        [word] if word.len() > 1 && "fkey-indexes".starts_with(word.as_str()) => {}
        _ => return Err(usage("lint")),
    }
    let lines = shell.database(scene.context)?.inspect(missing)?;
    let mut out = shell.out(scene);
    for line in lines {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// A foreign key.
#[derive(Default)]
struct Key {
    id: i64,
    parent: String,
    from: Vec<String>,
    to: Vec<String>,
}

/// An index for each foreign key that has none, by the planner's own verdict.
fn missing(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut found: Vec<(String, String, String)> = Vec::new();
    let mut tables = connection.prepare(
        "SELECT name FROM sqlite_schema WHERE type='table' AND sql NOT LIKE 'CREATE VIRTUAL%'",
    )?;
    let tables: Vec<String> = tables
        .query_map([], |row| text(row, 0))?
        .collect::<rusqlite::Result<_>>()?;
    for table in tables {
        for key in keys(connection, &table)? {
            if !indexed(connection, &table, &key.from)? {
                let parent = key.parent.clone();
                found.push((table.clone(), parent, advice(connection, &table, key)?));
            }
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, _, line)| line).collect())
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

/// The index to make, and what it is for.
fn advice(connection: &Connection, table: &str, key: Key) -> rusqlite::Result<String> {
    let mut to = key.to;
    if to.is_empty() {
        let sql = "SELECT name FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk";
        let mut statement = connection.prepare(sql)?;
        to = statement
            .query_map([&key.parent], |row| text(row, 0))?
            .collect::<rusqlite::Result<_>>()?;
    }
    let quoted: Vec<String> = key.from.iter().map(|column| string(column)).collect();
    Ok(format!(
        "CREATE INDEX {} ON {}({}); --> {}({})",
        string(&format!("{table}_{}", key.from.join("_"))),
        string(table),
        quoted.join(", "),
        key.parent,
        to.join(",")
    ))
}

fn string(name: &str) -> String {
    format!("'{}'", name.replace('\'', "''"))
}
