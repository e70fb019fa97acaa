//! `indexes`.

use rusqlite::{Connection, OptionalExtension};
use serde_json::{Value as Json, json};

use crate::answer::failure::Failure;
use crate::answer::output::Output;
use crate::answer::value::Value;
use crate::command::interface::argument::PATTERN;
use crate::command::interface::arguments::Arguments;
use crate::command::interface::command::{Command, Effect, Group};
use crate::command::interface::context::Context;
use crate::engine::schema::catalogue::{quote, relations, rows, text};
use crate::engine::schema::pattern::Pattern;
use crate::text::lexer;

/// `indexes` in the command table.
pub(crate) const COMMAND: Command = Command {
    name: "indexes",
    title: "Indexes",
    group: Group::Schema,
    summary: "List indexes with their columns",
    description: "List indexes: table, columns, whether unique or partial, and whether created by \
                  CREATE INDEX, UNIQUE or PRIMARY KEY. The pattern matches index or table names.",
    arguments: &[PATTERN],
    database: true,
    effect: Effect::Reads,
    core: false,
    run,
};

/// Runs `indexes`.
pub(crate) fn run(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let most = context.settings.output.max_rows;
    let pattern = arguments.text("pattern").map(str::to_owned);
    context
        .engine
        .database(arguments.db())?
        .inspect(|connection| list(connection, pattern.as_deref(), most))
}

fn list(connection: &Connection, pattern: Option<&str>, most: u32) -> rusqlite::Result<Output> {
    let pattern = pattern.map(Pattern::new);
    let found = indexes(connection, |index| {
        pattern
            .as_ref()
            .is_none_or(|p| p.matches(&index.name) || p.matches(&index.table))
    })?;
    let listed = found
        .iter()
        .map(|index| {
            vec![
                Value::Text(index.name.clone()),
                Value::Text(index.table.clone()),
                Value::Text(index.columns.join(", ")),
                Value::Integer(index.unique.into()),
                index.partial.clone().map_or(Value::Null, Value::Text),
                Value::Text(index.origin.into()),
            ]
        })
        .collect();
    let columns = [
        ("name", "TEXT"),
        ("table", "TEXT"),
        ("columns", "TEXT"),
        ("unique", "INTEGER"),
        ("partial", "TEXT"),
        ("origin", "TEXT"),
    ];
    Ok(Output {
        rows: Some(rows(&columns, listed, most)),
        ..Output::default()
    })
}

/// An index.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    /// The schema that it is in.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Its table.
    pub table: String,
    /// Columns and expressions, each with DESC or a collation where it has one.
    pub columns: Vec<String>,
    /// Whether it is unique.
    pub unique: bool,
    /// The condition of a partial index.
    pub partial: Option<String>,
    /// What it was made by: `CREATE INDEX`, `UNIQUE` or `PRIMARY KEY`.
    pub origin: &'static str,
}

impl Index {
    /// The index on one line.
    pub(crate) fn line(&self) -> String {
        let mut line = format!("{} ({})", self.name, self.columns.join(", "));
        match (self.origin, self.unique) {
            ("CREATE INDEX", false) => {}
            ("CREATE INDEX", true) => line.push_str(" UNIQUE"),
            (origin, _) => {
                line.push(' ');
                line.push_str(origin);
            }
        }
        if let Some(partial) = &self.partial {
            line.push_str(" WHERE ");
            line.push_str(partial);
        }
        line
    }

    /// The index as JSON.
    pub(crate) fn json(&self) -> Json {
        json!({
            "name": self.name,
            "columns": self.columns,
            "unique": self.unique,
            "partial": self.partial,
            "origin": self.origin,
        })
    }
}

/// The indexes that are wanted, in the order of their tables; those of shadow tables are left out.
///
/// `wanted` sees them before their columns are known.
pub(crate) fn indexes(
    connection: &Connection,
    wanted: impl Fn(&Index) -> bool,
) -> rusqlite::Result<Vec<Index>> {
    let mut found = Vec::new();
    for table in relations(connection)? {
        if table.kind != "table" || table.is_internal() {
            continue;
        }
        let sql = format!(
            "PRAGMA {}.index_list({})",
            quote(&table.schema),
            quote(&table.name)
        );
        let mut statement = connection.prepare(&sql)?;
        let mut cursor = statement.query([])?;
        let mut of_table = Vec::new();
        while let Some(row) = cursor.next()? {
            let mut index = Index {
                schema: table.schema.clone(),
                name: text(row, "name")?,
                table: table.name.clone(),
                columns: Vec::new(),
                unique: row.get("unique")?,
                partial: None,
                origin: match text(row, "origin")?.as_str() {
                    "c" => "CREATE INDEX",
                    "u" => "UNIQUE",
                    _ => "PRIMARY KEY",
                },
            };
            if wanted(&index) {
                fill(connection, &mut index)?;
                of_table.push(index);
            }
        }
        // SQLite has the latest first.
        found.extend(of_table.into_iter().rev());
    }
    Ok(found)
}

/// Reads what an index is on.
fn fill(connection: &Connection, index: &mut Index) -> rusqlite::Result<()> {
    let stored: Option<String> = connection
        .query_row(
            &format!(
                "SELECT sql FROM {}.sqlite_schema WHERE type = 'index' AND name = ?1",
                quote(&index.schema)
            ),
            [&index.name],
            |row| text(row, 0),
        )
        .optional()?;
    let parts = stored.as_deref().and_then(lexer::list);
    if let Some(parts) = &parts {
        let tail: Vec<lexer::Token<'_>> =
            parts.tail.iter().filter(|t| t.is_code()).copied().collect();
        if tail.first().is_some_and(|token| token.is("WHERE")) {
            let condition = lexer::flat(&parts.tail);
            index.partial = condition
                .get(5..)
                .map(|condition| condition.trim().to_owned());
        }
    }
    let pragma = format!(
        "PRAGMA {}.index_xinfo({})",
        quote(&index.schema),
        quote(&index.name)
    );
    let mut statement = connection.prepare(&pragma)?;
    let mut cursor = statement.query([])?;
    while let Some(row) = cursor.next()? {
        // What is no key is only there to find the row.
        if !row.get::<_, bool>("key")? {
            continue;
        }
        let at = usize::from(row.get::<_, u16>("seqno")?);
        let column = match row.get::<_, i64>("cid")? {
            // An expression: SQLite does not report it, the DDL has it.
            -2 => {
                let part = parts.as_ref().and_then(|list| list.parts.get(at));
                part.map_or_else(|| "<expression>".to_owned(), |part| lexer::flat(part))
            }
            cid => {
                let mut column = if cid == -1 {
                    "rowid".to_owned()
                } else {
                    text(row, "name")?
                };
                let collation = text(row, "coll")?;
                if !collation.eq_ignore_ascii_case("BINARY") {
                    column.push_str(" COLLATE ");
                    column.push_str(&collation);
                }
                if row.get("desc")? {
                    column.push_str(" DESC");
                }
                column
            }
        };
        index.columns.push(column);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(sql: &str, pattern: Option<&str>) -> Vec<String> {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(sql).unwrap();
        let rows = list(&connection, pattern, 1_000).unwrap().rows.unwrap();
        rows.rows
            .iter()
            .map(|row| {
                let cells: Vec<String> = row
                    .iter()
                    .map(|value| crate::render::cell::shown(value, 999))
                    .collect();
                cells.join("|")
            })
            .collect()
    }

    const SQL: &str = "
        CREATE TABLE a(x INTEGER PRIMARY KEY, y UNIQUE, z);
        CREATE TABLE b(x, y, PRIMARY KEY(y, x)) WITHOUT ROWID;
        CREATE INDEX a_z ON a(z COLLATE NOCASE, y DESC);
        CREATE INDEX a_part ON a ( lower(z) /* , */, x ) WHERE z > 'a, b' ;
        CREATE VIRTUAL TABLE f USING fts5(t);";

    #[test]
    fn every_index_says_what_it_is_on_and_what_made_it() {
        assert_eq!(
            listed(SQL, None),
            [
                "sqlite_autoindex_a_1|a|y|1|NULL|UNIQUE",
                "a_z|a|z COLLATE NOCASE, y DESC|0|NULL|CREATE INDEX",
                "a_part|a|lower(z), x|0|z > 'a, b'|CREATE INDEX",
                "sqlite_autoindex_b_1|b|y, x|1|NULL|PRIMARY KEY",
            ]
        );
    }

    #[test]
    fn a_pattern_is_for_the_index_or_for_its_table() {
        assert_eq!(listed(SQL, Some("b")).len(), 1);
        assert_eq!(listed(SQL, Some("a_%")).len(), 2);
        assert!(listed(SQL, Some("nothing")).is_empty());
    }

    #[test]
    fn hostile_names_do_no_harm() {
        assert_eq!(
            listed(
                "CREATE TABLE \"t(\"\"\"(\"a,b\"); CREATE INDEX \"i) WHERE (\" ON \"t(\"\"\"(\"a,b\", length(\"a,b\"));",
                None
            ),
            ["i) WHERE (|t(\"|a,b, length(\"a,b\")|0|NULL|CREATE INDEX"]
        );
    }
}
