//! `describe`, and `describe_table` of `--tools select`.

use std::fmt::Write as _;

use rusqlite::{Connection, OptionalExtension};
use serde_json::{Map, Value as Json, json};

use super::annotate::beside;
use super::indexes::{Index, indexes};
use crate::answer::failure::{Failure, Status};
use crate::answer::output::Output;
use crate::answer::value::Value;
use crate::command::interface::argument::{Shape, required};
use crate::command::interface::arguments::Arguments;
use crate::command::interface::command::{Command, Effect, Group};
use crate::command::interface::context::Context;
use crate::engine::schema::catalogue::{Count, Counter, Relation, is_stop, quote, rows, text};
use crate::engine::schema::columns::{self, ColumnKind, TableColumn};
use crate::engine::schema::foreign;
use crate::engine::schema::resolve::find;
use crate::engine::statement::params::Params;
use crate::settings::notes::Note;
use crate::text::count::count;
use crate::text::escape::visible;

/// `describe` in the command table.
pub(crate) const COMMAND: Command = Command {
    name: "describe",
    title: "Describe",
    group: Group::Schema,
    summary: "Describe one table or view",
    description: "Describe one table or view: columns with type, NOT NULL, default, primary \
                  key, generated or hidden; indexes, foreign keys, triggers, row count.",
    arguments: &[required("table", Shape::Text, "Its name, unquoted.")],
    database: true,
    effect: Effect::Reads,
    core: true,
    run: describe,
};

/// Rows that `describe_table` shows.
const SAMPLE: u32 = 3;

/// Runs `describe`.
pub(crate) fn describe(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let name = arguments.required_text("table").to_owned();
    let notes = context.engine.notes(arguments.db());
    context
        .engine
        .database(arguments.db())?
        .inspect(|connection| {
            find(connection, &name).and_then(|found| match found {
                Ok(table) => Ok(Ok(page(connection, &table, notes.table(&table.name))?)),
                Err(failure) => Ok(Err(failure)),
            })
        })?
}

/// Runs `describe_table`: columns and types, and a few rows to see what they hold.
pub(crate) fn describe_table(
    context: &mut Context,
    arguments: &Arguments,
) -> Result<Output, Failure> {
    let name = arguments.required_text("table").to_owned();
    let notes = context.engine.notes(arguments.db());
    let database = context.engine.database(arguments.db())?;
    let (table, columns) = database.inspect(|connection| {
        Ok(match find(connection, &name)? {
            Ok(table) => Ok((table.clone(), columns(connection, &table)?)),
            Err(failure) => Err(failure),
        })
    })??;
    let mut output = Output::default();
    match columns {
        Ok(columns) => {
            // What SELECT * has, as the sample rows below.
            let list = columns
                .into_iter()
                .filter(|column| column.kind != ColumnKind::Hidden)
                .map(|column| vec![Value::Text(column.name), Value::Text(column.declared)])
                .collect();
            let mut list = rows(&[("column", "TEXT"), ("type", "TEXT")], list, u32::MAX);
            annotate(&mut list, notes.table(&table.name));
            output.rows = Some(list);
        }
        Err(why) => output.notes.push(unreadable(&table, &why)),
    }
    let note = notes.table(&table.name).and_then(|note| note.note.clone());
    let about = note.as_deref().map(about).unwrap_or_default();
    if let Some(note) = note {
        output.extra.insert("note".into(), note.into());
    }
    let sql = format!("SELECT * FROM {}", table.quoted());
    match database.query(&sql, &Params::default(), Some(SAMPLE)) {
        Ok(Output {
            rows: Some(sample), ..
        }) => {
            let limits = &context.settings.output;
            if arguments.wants_json() {
                output.extra.insert(
                    "sample".into(),
                    crate::render::json::sample(&sample, limits),
                );
            } else {
                output.text = Some(format!(
                    "{about}{}, {}:\n{}",
                    table.shown(),
                    count(sample.rows.len(), "sample row"),
                    crate::render::text::sample(&sample, limits)
                ));
            }
        }
        Ok(_) => output.text = Some(about).filter(|about| !about.is_empty()),
        Err(failure) if failure.cancelled || failure.status == Status::Interrupted => {
            return Err(failure);
        }
        Err(failure) => {
            output.text = Some(about).filter(|about| !about.is_empty());
            output.notes.push(format!("No sample rows: {failure}"));
        }
    }
    Ok(output)
}

fn unreadable(table: &Relation, why: &str) -> String {
    let kind = match table.kind.as_str() {
        "virtual" => "virtual table",
        kind => kind,
    };
    format!("This {kind} cannot be read: {why}.")
}

/// The columns, or why the view does not work.
fn columns(
    connection: &Connection,
    table: &Relation,
) -> rusqlite::Result<Result<Vec<TableColumn>, String>> {
    match columns::columns(connection, &table.schema, &table.name) {
        Ok(columns) => Ok(Ok(columns)),
        Err(error) if is_stop(&error) => Err(error),
        Err(error) => Ok(Err(foreign::why(&error))),
    }
}

/// All there is to say about a table or view.
fn page(
    connection: &Connection,
    table: &Relation,
    note: Option<&Note>,
) -> rusqlite::Result<Output> {
    let columns = columns(connection, table)?;
    let sql = stored_sql(connection, table)?;
    let counted = Counter::default().count(connection, table)?;
    let indexes = indexes(connection, |index| {
        index.table == table.name && index.schema == table.schema
    })?;
    let references = references(connection, table)?;
    let triggers = triggers(connection, table)?;

    let mut head = format!("{} ({})", table.shown(), title(table, sql.as_deref()));
    match &counted {
        Count::Exact(rows) => _ = write!(head, ", {}", count(*rows, "row")),
        Count::AtLeast(rows) => _ = write!(head, ", at least {}", count(*rows, "row")),
        Count::Uncounted => {}
        Count::Failed(why) => _ = write!(head, ", rows could not be counted: {why}"),
    }
    head.push('\n');
    let said = note.and_then(|note| note.note.as_deref());
    head.push_str(&said.map(about).unwrap_or_default());
    // The columns show neither where rows come from nor the arguments of a module.
    if let (true, Some(sql)) = (matches!(table.kind.as_str(), "view" | "virtual"), &sql) {
        _ = writeln!(head, "{};", sql.trim_end_matches(';'));
    }
    section(&mut head, "indexes", &indexes, Index::line);
    section(&mut head, "foreign keys", &references, Reference::line);
    section(&mut head, "triggers", &triggers, |(name, sql)| {
        format!(
            "{name}: {}",
            crate::text::lexer::flat(&crate::text::lexer::tokens(sql))
        )
    });

    let mut extra = Map::new();
    extra.insert("table".into(), table.name.as_str().into());
    extra.insert("schema".into(), table.schema.as_str().into());
    extra.insert("kind".into(), table.kind.as_str().into());
    extra.insert("strict".into(), table.strict.into());
    extra.insert("without_rowid".into(), table.without_rowid.into());
    let exact = if let Count::Exact(counted) = counted {
        Some(counted)
    } else {
        None
    };
    extra.insert("table_rows".into(), exact.into());
    if let Count::AtLeast(least) = counted {
        extra.insert("table_rows_at_least".into(), least.into());
    }
    extra.insert("indexes".into(), indexes.iter().map(Index::json).collect());
    extra.insert(
        "foreign_keys".into(),
        references.iter().map(Reference::json).collect(),
    );
    extra.insert(
        "triggers".into(),
        triggers
            .iter()
            .map(|(name, sql)| json!({"name": name, "sql": sql}))
            .collect(),
    );
    extra.insert("sql".into(), sql.into());
    if let Some(said) = said {
        extra.insert("note".into(), said.into());
    }

    let mut output = Output {
        text: Some(head),
        extra,
        ..Output::default()
    };
    match columns {
        Ok(columns) => {
            let mut list = list(columns);
            annotate(&mut list, note);
            output.rows = Some(list);
        }
        Err(why) => {
            output.notes.push(unreadable(table, &why));
            output.extra.insert("broken".into(), why.into());
        }
    }
    Ok(output)
}

/// The owner's note on a table, for the text form.
fn about(note: &str) -> String {
    format!("note: {}\n", visible(note))
}

/// Puts the owner's notes beside the columns.
fn annotate(list: &mut crate::answer::output::Rows, note: Option<&Note>) {
    if let Some(note) = note {
        beside(list, |name| note.column(name));
    }
}

fn list(columns: Vec<TableColumn>) -> crate::answer::output::Rows {
    let special = columns
        .iter()
        .any(|column| column.kind != ColumnKind::Plain);
    let listed = columns
        .into_iter()
        .map(|column| {
            let mut row = vec![
                Value::Text(column.name),
                Value::Text(column.declared),
                Value::Integer(column.not_null.into()),
                column.default.map_or(Value::Null, Value::Text),
                Value::Integer(column.key),
            ];
            if special {
                let kind = match column.kind {
                    ColumnKind::Plain => "ordinary",
                    ColumnKind::Hidden => "hidden",
                    ColumnKind::Virtual => "generated virtual",
                    ColumnKind::Stored => "generated stored",
                };
                row.push(Value::Text(kind.into()));
            }
            row
        })
        .collect();
    let mut heads = vec![
        ("column", "TEXT"),
        ("type", "TEXT"),
        ("not_null", "INTEGER"),
        ("default", "TEXT"),
        ("primary_key", "INTEGER"),
    ];
    if special {
        heads.push(("kind", "TEXT"));
    }
    rows(&heads, listed, u32::MAX)
}

/// What it is, in a few words.
fn title(table: &Relation, sql: Option<&str>) -> String {
    let mut title = match table.kind.as_str() {
        "virtual" => match sql.and_then(module) {
            Some(module) => format!("virtual table of {module}"),
            None => "virtual table".to_owned(),
        },
        "shadow" => "shadow table of a virtual table".to_owned(),
        kind => kind.to_owned(),
    };
    if table.strict {
        title.push_str(", STRICT");
    }
    if table.without_rowid {
        title.push_str(", WITHOUT ROWID");
    }
    title
}

/// The module of a virtual table.
fn module(sql: &str) -> Option<String> {
    let tokens = crate::text::lexer::tokens(sql);
    let mut code = tokens.iter().filter(|token| token.is_code());
    code.find(|token| token.is("USING"))?;
    code.next().map(|token| token.text.to_owned())
}

fn section<T>(text: &mut String, title: &str, items: &[T], line: impl Fn(&T) -> String) {
    if items.is_empty() {
        return;
    }
    _ = writeln!(text, "{title}:");
    for item in items {
        _ = writeln!(text, "  {}", visible(&line(item)));
    }
}

/// Its DDL as stored.
fn stored_sql(connection: &Connection, table: &Relation) -> rusqlite::Result<Option<String>> {
    let sql = format!(
        "SELECT sql FROM {}.sqlite_schema WHERE name = ?1 AND type IN ('table', 'view')",
        quote(&table.schema)
    );
    connection
        .query_row(&sql, [&table.name], |row| text(row, 0))
        .optional()
}

/// Its triggers: name and DDL.
fn triggers(connection: &Connection, table: &Relation) -> rusqlite::Result<Vec<(String, String)>> {
    let sql = format!(
        "SELECT name, sql FROM {}.sqlite_schema WHERE type = 'trigger' AND tbl_name = ?1 \
         COLLATE NOCASE ORDER BY rowid",
        quote(&table.schema)
    );
    let mut statement = connection.prepare(&sql)?;
    let triggers = statement.query_map([&table.name], |row| Ok((text(row, 0)?, text(row, 1)?)))?;
    triggers.collect()
}

/// A foreign key.
struct Reference {
    columns: Vec<String>,
    table: String,
    parents: Vec<String>,
    on_update: String,
    on_delete: String,
}

impl Reference {
    fn line(&self) -> String {
        let mut line = format!("({}) -> {}", self.columns.join(", "), self.table);
        if !self.parents.is_empty() {
            _ = write!(line, "({})", self.parents.join(", "));
        }
        for (event, action) in [("UPDATE", &self.on_update), ("DELETE", &self.on_delete)] {
            if action != "NO ACTION" {
                _ = write!(line, " ON {event} {action}");
            }
        }
        line
    }

    fn json(&self) -> Json {
        json!({
            "columns": self.columns,
            "table": self.table,
            "parent_columns": self.parents,
            "on_update": self.on_update,
            "on_delete": self.on_delete,
        })
    }
}

fn references(connection: &Connection, table: &Relation) -> rusqlite::Result<Vec<Reference>> {
    let sql = format!(
        "PRAGMA {}.foreign_key_list({})",
        quote(&table.schema),
        quote(&table.name)
    );
    let mut statement = connection.prepare(&sql)?;
    let mut cursor = statement.query([])?;
    let mut found: Vec<(i64, Reference)> = Vec::new();
    while let Some(row) = cursor.next()? {
        let id: i64 = row.get("id")?;
        if found.last().is_none_or(|(last, _)| *last != id) {
            let reference = Reference {
                columns: Vec::new(),
                table: text(row, "table")?,
                parents: Vec::new(),
                on_update: text(row, "on_update")?,
                on_delete: text(row, "on_delete")?,
            };
            found.push((id, reference));
        }
        if let Some((_, reference)) = found.last_mut() {
            reference.columns.push(text(row, "from")?);
            let parent = text(row, "to")?;
            // None is given where the key is the parent's primary key.
            if !parent.is_empty() {
                reference.parents.push(parent);
            }
        }
    }
    // SQLite numbers them from the last to the first.
    Ok(found
        .into_iter()
        .rev()
        .map(|(_, reference)| reference)
        .collect())
}

#[cfg(test)]
mod tests;
