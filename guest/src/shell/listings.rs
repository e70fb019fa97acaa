//! Dot commands that look at the schema, and print it as the sqlite3 program does.

use std::io::Write;

use rusqlite::Connection;

use super::{LineError, Shell, ShellContext};
use crate::engine::schema::catalogue::{quote, text};
use crate::render::mode::identifier;
use crate::text::lexer;
use crate::text::pad::left;

/// `.databases`.
pub(super) fn databases(
    shell: &mut Shell,
    _: &[String],
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    let readonly = cx.context.settings.engine.readonly;
    let database = shell.database(cx.context)?;
    let title = database.title().to_owned();
    let names = database.inspect(schemas)?;
    let mut out = shell.out(cx);
    for name in names {
        let main = name == "main";
        let file = if main { title.as_str() } else { "\"\"" };
        let access = if main && readonly { "r/o" } else { "r/w" };
        writeln!(out, "{name}: {file} {access}")?;
    }
    Ok(())
}

/// `.tables`.
pub(super) fn tables(
    shell: &mut Shell,
    given: &[String],
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    // What follows is passed over, as the sqlite3 program does.
    let pattern = given.first().map_or("%", String::as_str);
    let condition = "type IN ('table','view') AND name NOT LIKE 'sqlite__%' AND name LIKE ?1";
    names(shell, condition, pattern, cx)
}

/// `.indexes`.
pub(super) fn indexes(
    shell: &mut Shell,
    given: &[String],
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    let pattern = match given {
        [] => "%",
        [pattern] => pattern,
        _ => return Err(LineError::Usage),
    };
    names(shell, "type='index' AND tbl_name LIKE ?1", pattern, cx)
}

/// Prints the names of what meets a condition, in columns.
fn names(
    shell: &mut Shell,
    condition: &str,
    pattern: &str,
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    /// Characters of a line.
    const LINE: usize = 80;
    let names = shell.database(cx.context)?.inspect(|connection| {
        let mut found: Vec<String> = Vec::new();
        for schema in schemas(connection)? {
            let mut statement = connection.prepare(&format!(
                "SELECT name FROM {}.sqlite_schema WHERE {condition}",
                quote(&schema)
            ))?;
            let mut rows = statement.query([pattern])?;
            while let Some(row) = rows.next()? {
                let name = text(row, 0)?;
                found.push(if schema == "main" {
                    name
                } else {
                    format!("{schema}.{name}")
                });
            }
        }
        Ok(found)
    })?;
    let mut names = names;
    names.sort();
    let longest = names.iter().map(String::len).max().unwrap_or(0);
    let columns = (LINE / (longest + 2)).max(1);
    let lines = names.len().div_ceil(columns);
    let mut out = shell.out(cx);
    for first in 0..lines {
        let cells: Vec<String> = names
            .iter()
            .skip(first)
            .step_by(lines)
            .map(|name| left(name, longest).to_string())
            .collect();
        writeln!(out, "{}", cells.join("  "))?;
    }
    Ok(())
}

/// `.schema`.
pub(super) fn schema(
    shell: &mut Shell,
    given: &[String],
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    let (mut indent, mut system, mut pattern) = (false, true, None);
    for word in given {
        match word.as_str() {
            "--indent" | "-indent" => indent = true,
            "--nosys" | "-nosys" => system = false,
            word if word.starts_with('-') || pattern.is_some() => return Err(LineError::Usage),
            word => pattern = Some(word.to_owned()),
        }
    }
    let objects = shell
        .database(cx.context)?
        .inspect(|connection| definitions(connection, pattern.as_deref(), system))?;
    let mut out = shell.out(cx);
    for object in objects {
        let text = if indent {
            lexer::indent(&object)
        } else {
            object
        };
        writeln!(out, "{text};")?;
    }
    Ok(())
}

/// The names of the table of the schema, which nothing made.
const SCHEMAS: [&str; 4] = [
    "sqlite_master",
    "sqlite_schema",
    "sqlite_temp_master",
    "sqlite_temp_schema",
];

/// What made the objects that match, in the order in which they were made.
fn definitions(
    connection: &Connection,
    pattern: Option<&str>,
    system: bool,
) -> rusqlite::Result<Vec<String>> {
    let operator = match pattern {
        Some(pattern) if pattern.contains(['*', '?', '[']) => "GLOB",
        _ => "LIKE",
    };
    let asked = pattern.unwrap_or("%");
    let pattern = asked.to_lowercase();
    let mut found = Vec::new();
    if SCHEMAS.contains(&pattern.as_str()) {
        found.push(format!(
            "CREATE TABLE {asked} (\n  type text,\n  name text,\n  tbl_name text,\n  rootpage integer,\n  sql text\n)"
        ));
    }
    for schema in schemas(connection)? {
        let subject = if pattern.contains('.') {
            "lower(format('%s.%s', ?2, tbl_name))"
        } else {
            "lower(coalesce(tbl_name, ?2))"
        };
        let mut statement = connection.prepare(&format!(
            "SELECT type, name, sql FROM {}.sqlite_schema WHERE {subject} {operator} ?1 \
             AND sql IS NOT NULL AND (?3 OR name NOT LIKE 'sqlite__%') ORDER BY rowid",
            quote(&schema)
        ))?;
        let mut rows = statement.query((&pattern, &schema, system))?;
        while let Some(row) = rows.next()? {
            let (kind, name, sql) = (text(row, 0)?, text(row, 1)?, text(row, 2)?);
            found.push(definition(connection, &schema, &kind, &name, &sql)?);
        }
    }
    Ok(found)
}

/// The statement, safe to run again for a shadow table, with the columns of a view or a virtual table behind it.
fn definition(
    connection: &Connection,
    schema: &str,
    kind: &str,
    name: &str,
    sql: &str,
) -> rusqlite::Result<String> {
    let mut sql = match sql.strip_prefix("CREATE TABLE ") {
        Some(rest) if rest.starts_with(['\'', '"']) => format!("CREATE TABLE IF NOT EXISTS {rest}"),
        _ => sql.to_owned(),
    };
    if schema != "main" {
        let kinds = [
            "TABLE",
            "INDEX",
            "UNIQUE INDEX",
            "VIEW",
            "TRIGGER",
            "VIRTUAL TABLE",
        ];
        for kind in kinds {
            if let Some(rest) = sql.strip_prefix(&format!("CREATE {kind} ")) {
                sql = format!("CREATE {kind} {}.{rest}", identifier(schema));
                break;
            }
        }
    }
    if kind == "view" || sql.starts_with("CREATE VIRTUAL TABLE") {
        let pragma = format!("PRAGMA {}.table_info({})", quote(schema), quote(name));
        let columns: Vec<String> = match connection.prepare(&pragma) {
            Ok(mut statement) => statement
                .query_map([], |row| text(row, 1))?
                .collect::<rusqlite::Result<_>>()
                .unwrap_or_default(),
            // A view that does not work has no columns to show.
            Err(_) => Vec::new(),
        };
        if !columns.is_empty() {
            let columns: Vec<String> = columns.iter().map(|name| identifier(name)).collect();
            sql.push_str(&format!(
                "\n/* {}({}) */",
                identifier(name),
                columns.join(",")
            ));
        }
    }
    Ok(sql)
}

/// `main`, and `temp` where it is in use.
fn schemas(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare("PRAGMA database_list")?;
    statement.query_map([], |row| text(row, 1))?.collect()
}
