//! `schema`.

use std::collections::HashSet;

use rusqlite::Connection;

use crate::answer::failure::Failure;
use crate::answer::output::Output;
use crate::answer::value::Value;
use crate::command::interface::argument::{PATTERN, Shape, option};
use crate::command::interface::arguments::Arguments;
use crate::command::interface::command::{Command, Effect, Group};
use crate::command::interface::context::Context;
use crate::engine::schema::catalogue::{quote, relations, rows, text};
use crate::engine::schema::pattern::Pattern;
use crate::text::lexer;

/// `schema` in the command table.
pub(crate) const COMMAND: Command = Command {
    name: "schema",
    title: "Schema",
    group: Group::Schema,
    summary: "Print the CREATE statements",
    description: "Print the CREATE statements of tables, views, indexes and triggers, as stored.",
    arguments: &[
        PATTERN,
        option("indent", Shape::Flag, "One column per line."),
    ],
    database: true,
    effect: Effect::Reads,
    core: true,
    run,
};

/// Runs `schema`.
pub(crate) fn run(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let pattern = arguments.text("pattern").map(str::to_owned);
    let indent = arguments.flag("indent");
    let json = arguments.wants_json();
    let most = context.settings.output.max_rows;
    let objects = context
        .engine
        .database(arguments.db())?
        .inspect(|connection| objects(connection, pattern.as_deref()))?;
    Ok(show(&objects, indent, json, most))
}

/// One row of the schema table.
#[derive(Debug)]
struct Object {
    kind: String,
    name: String,
    table: String,
    sql: String,
}

/// What matches, in the order in which it was made; a pattern is for the object or its table.
fn objects(connection: &Connection, pattern: Option<&str>) -> rusqlite::Result<Vec<Object>> {
    let pattern = pattern.map(Pattern::new);
    let all = relations(connection)?;
    let mut schemas: Vec<&str> = all.iter().map(|table| table.schema.as_str()).collect();
    schemas.sort_by_key(|schema| (*schema != "main", *schema));
    schemas.dedup();
    let mut objects = Vec::new();
    for schema in schemas {
        let shadows: HashSet<&str> = all
            .iter()
            .filter(|table| table.schema == schema && table.kind == "shadow")
            .map(|table| table.name.as_str())
            .collect();
        let mut statement = connection.prepare(&format!(
            "SELECT type, name, tbl_name, sql FROM {}.sqlite_schema \
             WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid",
            quote(schema)
        ))?;
        let mut cursor = statement.query([])?;
        while let Some(row) = cursor.next()? {
            let object = Object {
                kind: text(row, 0)?,
                name: text(row, 1)?,
                table: text(row, 2)?,
                sql: text(row, 3)?,
            };
            let shadow = shadows.contains(object.table.as_str());
            let matches = pattern
                .as_ref()
                .is_none_or(|p| p.matches(&object.name) || p.matches(&object.table));
            if matches && !shadow {
                objects.push(object);
            }
        }
    }
    Ok(objects)
}

fn show(objects: &[Object], indent: bool, json: bool, most: u32) -> Output {
    let ddl = |object: &Object| {
        if indent {
            lexer::indent(&object.sql)
        } else {
            object.sql.clone()
        }
    };
    if json {
        let listed = objects
            .iter()
            .map(|object| {
                [&object.kind, &object.name, &object.table, &ddl(object)]
                    .map(|text| Value::Text(text.clone()))
                    .to_vec()
            })
            .collect();
        let columns = [
            ("type", "TEXT"),
            ("name", "TEXT"),
            ("table", "TEXT"),
            ("sql", "TEXT"),
        ];
        return Output {
            rows: Some(rows(&columns, listed, most)),
            ..Output::default()
        };
    }
    let mut text = String::new();
    for object in objects {
        let ddl = ddl(object);
        text.push_str(ddl.trim_end());
        // A semicolon after a comment would be part of it.
        let tokens = lexer::tokens(&ddl);
        let comment = tokens
            .iter()
            .rfind(|token| token.kind != lexer::TokenKind::Space);
        if comment.is_some_and(|token| token.kind == lexer::TokenKind::LineComment) {
            text.push('\n');
        }
        text.push_str(";\n");
    }
    if objects.is_empty() {
        text.push_str("Nothing in the schema matches.\n");
    }
    Output {
        text: Some(text),
        ..Output::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SQL: &str = "
        CREATE TABLE b(x INTEGER, y TEXT);
        CREATE TABLE a(z UNIQUE -- last
        );
        CREATE INDEX b_x ON b(x);
        CREATE VIRTUAL TABLE f USING fts5(t);
        CREATE TRIGGER t AFTER INSERT ON b BEGIN SELECT 1; END;
        CREATE VIEW v AS SELECT 1 -- one
        ;";

    fn shown(sql: &str, pattern: Option<&str>, indent: bool) -> String {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(sql).unwrap();
        show(&objects(&connection, pattern).unwrap(), indent, false, 99)
            .text
            .unwrap()
    }

    #[test]
    fn ddl_is_as_stored_in_the_order_it_was_made_without_shadow_tables() {
        assert_eq!(
            shown(SQL, None, false),
            "CREATE TABLE b(x INTEGER, y TEXT);\n\
             CREATE TABLE a(z UNIQUE -- last\n        );\n\
             CREATE INDEX b_x ON b(x);\n\
             CREATE VIRTUAL TABLE f USING fts5(t);\n\
             CREATE TRIGGER t AFTER INSERT ON b BEGIN SELECT 1; END;\n\
             CREATE VIEW v AS SELECT 1 -- one\n;\n"
        );
    }

    #[test]
    fn it_makes_the_same_schema_when_it_is_run() {
        for indent in [false, true] {
            let again = shown(&shown(SQL, None, indent), None, indent);
            assert_eq!(again, shown(SQL, None, indent));
        }
    }

    #[test]
    fn a_pattern_takes_what_belongs_to_the_table_along() {
        assert_eq!(
            shown(SQL, Some("b"), false),
            "CREATE TABLE b(x INTEGER, y TEXT);\nCREATE INDEX b_x ON b(x);\n\
             CREATE TRIGGER t AFTER INSERT ON b BEGIN SELECT 1; END;\n"
        );
        assert_eq!(
            shown(SQL, Some("nothing"), false),
            "Nothing in the schema matches.\n"
        );
    }

    #[test]
    fn indent_puts_each_column_on_a_line() {
        assert_eq!(
            shown(SQL, Some("a"), true),
            "CREATE TABLE a (\n  z UNIQUE -- last\n);\n"
        );
    }

    #[test]
    fn json_has_one_row_for_each_object() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(SQL).unwrap();
        let output = show(&objects(&connection, None).unwrap(), false, true, 4);
        let rows = output.rows.unwrap();
        assert_eq!((rows.rows.len(), rows.total, rows.more), (4, Some(6), true));
        assert_eq!(rows.rows[2][0], Value::Text("index".into()));
    }
}
