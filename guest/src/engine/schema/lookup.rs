//! Our own looks at the schema: names for suggestions, and names that need care.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, ffi};

use crate::text::scan;
use crate::text::suggest::did_you_mean;

/// How many names a hint lists at most.
const LISTED: usize = 40;

/// Makes sure that every name of the schema is UTF-8. SQLite does not, and a
/// name that is not cannot be reported, in a column's heading for example.
///
/// # Errors
///
/// SQLITE_CORRUPT with a sentence, for the first that is not.
pub(crate) fn check_names(connection: &Connection) -> rusqlite::Result<()> {
    let mut statement = connection.prepare("SELECT name, sql FROM sqlite_schema")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        for column in 0..2 {
            if let ValueRef::Text(bytes) = row.get_ref(column)?
                && std::str::from_utf8(bytes).is_err()
            {
                let name = match row.get_ref(0)? {
                    ValueRef::Text(name) => String::from_utf8_lossy(name).into_owned(),
                    _ => String::new(),
                };
                return Err(rusqlite::Error::SqliteFailure(
                    ffi::Error::new(ffi::SQLITE_CORRUPT),
                    Some(format!(
                        "the definition of {name} contains text that is not UTF-8"
                    )),
                ));
            }
        }
    }
    Ok(())
}

/// The three tables of the R-Tree or Geopoly table that `table` belongs to, if it does.
pub(crate) fn rtree_of(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let base = ["_node", "_rowid", "_parent"]
        .iter()
        .find_map(|suffix| {
            let start = table.len().checked_sub(suffix.len())?;
            let tail = table.get(start..)?;
            tail.eq_ignore_ascii_case(suffix).then(|| &table[..start])
        })
        .unwrap_or_default();
    if base.is_empty() {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare(
        "SELECT sql FROM sqlite_schema WHERE type = 'table' AND rootpage = 0 AND name = ?1 COLLATE NOCASE",
    )?;
    let mut rows = statement.query([base])?;
    let Some(row) = rows.next()? else {
        return Ok(Vec::new());
    };
    let definition: String = row.get(0)?;
    let tree = scan::words(&definition)
        .any(|word| matches!(word.as_str(), "rtree" | "rtree_i32" | "geopoly"));
    Ok(if tree {
        vec![
            format!("{base}_node"),
            format!("{base}_rowid"),
            format!("{base}_parent"),
        ]
    } else {
        Vec::new()
    })
}

/// What may have been meant by a name that does not exist.
pub(crate) fn hint(connection: &Connection, error: &rusqlite::Error, sql: &str) -> Option<String> {
    let (rusqlite::Error::SqlInputError { msg: said, .. }
    | rusqlite::Error::SqliteFailure(_, Some(said))) = error
    else {
        return None;
    };
    if let Some((_, name)) = said.split_once(" has no column named ") {
        return column(connection, name, sql);
    }
    let rest = said.strip_prefix("no such ")?;
    let (kind, name) = rest.split_once(": ")?;
    match kind {
        "table" | "view" | "index" | "trigger" => object(connection, kind, last_part(name)),
        "column" => {
            // SQLite's own advice for a name in double quotes.
            if let Some((name, _)) = name.split_once("\" - should this be a string literal") {
                let name = name.trim_start_matches('"');
                return Some(format!("Write a string in single quotes: '{name}'."));
            }
            column(connection, last_part(name), sql)
        }
        "function" => function(connection, name),
        "module" => Some("PRAGMA module_list lists the virtual tables that are built in.".into()),
        _ => None,
    }
}

/// A name without the schema or the table before it.
fn last_part(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

fn object(connection: &Connection, kind: &str, name: &str) -> Option<String> {
    let names = if kind == "table" || kind == "view" {
        // Without the parts of virtual tables.
        let query = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type <> 'shadow'
                     AND (?1 = 'table' OR type = ?1) AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name";
        strings(connection, query, kind)?
    } else {
        let query = "SELECT name FROM sqlite_schema WHERE type = ?1
                     AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name";
        strings(connection, query, kind)?
    };
    if names.is_empty() {
        return Some(format!("The database has no {} yet.", plural(kind)));
    }
    let near = did_you_mean(name, names.iter().map(String::as_str));
    near.or_else(|| Some(format!("The {} are {}.", plural(kind), list(&names))))
}

fn column(connection: &Connection, name: &str, sql: &str) -> Option<String> {
    let words: std::collections::HashSet<String> = scan::words(sql).collect();
    let tables = strings(
        connection,
        "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND ?1 = ?1",
        "",
    )?;
    let mut columns: Vec<String> = Vec::new();
    let mut told = Vec::new();
    let lower = sql.to_lowercase();
    for table in tables.iter().filter(|table| {
        let table = table.to_lowercase();
        // A name that has to be quoted is no word.
        words.contains(&table) || scan::words(&table).nth(1).is_some() && lower.contains(&table)
    }) {
        // A broken view has no columns to suggest.
        let Some(own) = strings(connection, "SELECT name FROM pragma_table_xinfo(?1)", table)
        else {
            continue;
        };
        told.push(format!("{table} has the columns {}.", list(&own)));
        columns.extend(own);
    }
    // One that is there was asked of another table.
    let there = columns
        .iter()
        .any(|column| column.eq_ignore_ascii_case(name));
    let near = did_you_mean(name, columns.iter().map(String::as_str)).filter(|_| !there);
    let sentences: Vec<String> = near.into_iter().chain(told).collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

fn function(connection: &Connection, name: &str) -> Option<String> {
    if ["load_extension", "readfile", "writefile", "edit"]
        .iter()
        .any(|outside| outside.eq_ignore_ascii_case(name))
    {
        return Some(
            "Functions that access anything outside the database are not built in.".into(),
        );
    }
    let names = strings(
        connection,
        "SELECT DISTINCT name FROM pragma_function_list WHERE ?1 = ?1",
        "",
    )?;
    let near = did_you_mean(name, names.iter().map(String::as_str));
    near.or_else(|| {
        Some("SELECT DISTINCT name FROM pragma_function_list lists those there are.".into())
    })
}

/// The first column of a query with one parameter; `None` if it fails.
fn strings(connection: &Connection, query: &str, parameter: &str) -> Option<Vec<String>> {
    let mut statement = connection.prepare(query).ok()?;
    let names = statement.query_map([parameter], |row| row.get(0)).ok()?;
    names.collect::<rusqlite::Result<_>>().ok()
}

fn plural(kind: &str) -> &str {
    match kind {
        "view" => "views",
        "index" => "indexes",
        "trigger" => "triggers",
        _ => "tables",
    }
}

fn list(names: &[String]) -> String {
    let mut text = names
        .iter()
        .take(LISTED)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > LISTED {
        text.push_str(&format!(" and {} more", names.len() - LISTED));
    }
    text
}
