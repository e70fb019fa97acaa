//! `index-text`: a full-text index over the text columns of a table, and triggers that keep it current.
//!
//! As <https://www.sqlite.org/fts5.html#external_content_tables> has it: the text stays in the table.

use rusqlite::Connection;
use serde_json::json;

use crate::answer::failure::{Failure, Status};
use crate::answer::output::Output;
use crate::answer::value::Value;
use crate::command::interface::argument::{Shape, option, required};
use crate::command::interface::arguments::Arguments;
use crate::command::interface::command::{Command, Effect, Group};
use crate::command::interface::context::Context;
use crate::engine::schema::catalogue::{Relation, quote, text};
use crate::engine::schema::columns::{ColumnKind, TableColumn, columns, rowid};
use crate::engine::schema::resolve::find;
use crate::text::count::count;
use crate::text::escape::visible;
use crate::text::suggest::did_you_mean;

/// `index-text` in the command table.
pub(crate) const COMMAND: Command = Command {
    name: "index-text",
    title: "Index text",
    group: Group::Search,
    summary: "Create a full-text index of a table, kept up to date by triggers",
    description: "Create an FTS5 table <table>_fts over text columns of a table, with triggers \
                  that keep it up to date, in one transaction. The text stays in the table.",
    arguments: &[
        required("table", Shape::Text, ""),
        option(
            "columns",
            Shape::Names,
            "Comma-separated names; default: all text columns.",
        ),
        option(
            "tokenizer",
            Shape::Choice(&TOKENIZERS),
            "porter: English stems; trigram: substrings; default unicode61.",
        ),
    ],
    database: true,
    effect: Effect::Writes {
        destructive: false,
        idempotent: false,
    },
    core: false,
    run,
};

/// The tokenizers that can be asked for, the default first.
pub(crate) const TOKENIZERS: [&str; 3] = ["unicode61", "porter", "trigram"];

/// Runs `index-text`.
pub(crate) fn run(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let name = arguments.required_text("table");
    let wanted = arguments.names("columns");
    let tokenizer = arguments.text("tokenizer").unwrap_or(TOKENIZERS[0]);
    let database = context.engine.database(arguments.db())?;
    let plan = database.inspect(|connection| plan(connection, name, wanted.as_deref()))??;
    context.engine.interrupt().phase("indexing", "row", None);
    let database = context.engine.database(arguments.db())?;
    let mut output = database.batch(&plan.sql(tokenizer))?;
    let rows = output
        .rows
        .take()
        .and_then(|rows| rows.rows.first()?.first().cloned());
    let rows = match rows {
        Some(Value::Integer(rows)) => rows,
        _ => 0,
    };
    let mut output = plan.created(tokenizer, rows);
    let how = "To search it, use sqlarium_search";
    let how = context.audience.told(context.registry, &COMMAND, how);
    if let (Some(text), false) = (&mut output.text, how.is_empty()) {
        text.push_str(&format!("{how} with table {}.\n", plan.index));
    }
    Ok(output)
}

/// What will be made.
#[derive(Debug)]
struct Plan {
    table: String,
    index: String,
    columns: Vec<String>,
    /// The column that holds the rowid, or one of the names of the rowid itself.
    rowid: String,
    /// Whether a rowid stays what it is: SQLite promises that only of an INTEGER PRIMARY KEY.
    lasting: bool,
}

fn plan(
    connection: &Connection,
    name: &str,
    wanted: Option<&[String]>,
) -> rusqlite::Result<Result<Plan, Failure>> {
    let table = match find(connection, name)? {
        Ok(table) => table,
        Err(failure) => return Ok(Err(failure)),
    };
    if let Some(failure) = unfit(&table) {
        return Ok(Err(failure));
    }
    let all = columns(connection, &table.schema, &table.name)?;
    let columns = match chosen(&table, &all, wanted) {
        Ok(columns) => columns,
        Err(failure) => return Ok(Err(failure)),
    };
    let keys: Vec<&TableColumn> = all.iter().filter(|column| column.key > 0).collect();
    let alias = match keys.as_slice() {
        // INTEGER PRIMARY KEY DESC is the one that is no alias, and then an index exists for it.
        [one]
            if one.declared.eq_ignore_ascii_case("INTEGER")
                && !has_key_index(connection, &table)? =>
        {
            Some(one.name.clone())
        }
        _ => None,
    };
    let lasting = alias.is_some();
    let Some(rowid) = alias.or_else(|| rowid(&all).map(str::to_owned)) else {
        return Ok(Err(Failure::new(
            Status::Unsupported,
            format!(
                "{} has columns named rowid, _rowid_ and oid, which hide the rowid of its rows.",
                table.shown()
            ),
        )));
    };
    let plan = Plan {
        index: format!("{}_fts", table.name),
        table: table.name,
        columns,
        rowid,
        lasting,
    };
    Ok(match plan.in_the_way(connection)? {
        Some(there) => Err(Failure::new(
            Status::InvalidState,
            format!(
                "The {} exists already; nothing was changed.",
                visible(&there)
            ),
        )
        .hint(format!(
            "Search with it, or first drop {} and its triggers.",
            visible(&plan.index)
        ))),
        None => Ok(plan),
    })
}

/// Why a table can have no full-text index, if it cannot.
fn unfit(table: &Relation) -> Option<Failure> {
    let shown = table.shown();
    let (what, hint) = match table.kind.as_str() {
        "view" => (
            format!("{shown} is a view, and triggers do not see when its rows change."),
            "Index the table that it reads.",
        ),
        "virtual" => (
            format!("{shown} is a virtual table, which cannot have triggers."),
            "An FTS5 table can be searched without another index.",
        ),
        "shadow" => (
            format!("{shown} belongs to a virtual table."),
            "Index a table of your own.",
        ),
        _ if table.is_internal() => (
            format!("{shown} is an internal table of SQLite."),
            "Index a table of your own.",
        ),
        _ if table.without_rowid => (
            format!("{shown} is a WITHOUT ROWID table, and FTS5 needs the rowid of each row."),
            "Copy the text into a table with an INTEGER PRIMARY KEY and index that.",
        ),
        _ if table.schema != "main" => (
            format!("{shown} is not in the main database."),
            "Index a table of main.",
        ),
        _ => return None,
    };
    Some(Failure::new(Status::Unsupported, what).hint(hint))
}

fn has_key_index(connection: &Connection, table: &Relation) -> rusqlite::Result<bool> {
    connection.query_row(
        "SELECT count(*) > 0 FROM pragma_index_list(?1, 'main') WHERE origin = 'pk'",
        [&table.name],
        |row| row.get(0),
    )
}

/// The columns to index.
fn chosen(
    table: &Relation,
    all: &[TableColumn],
    wanted: Option<&[String]>,
) -> Result<Vec<String>, Failure> {
    let names = || {
        let names: Vec<&str> = all.iter().map(|column| column.name.as_str()).collect();
        format!("{} has: {}.", table.shown(), visible(&names.join(", ")))
    };
    let Some(wanted) = wanted.filter(|wanted| !wanted.is_empty()) else {
        let columns: Vec<String> = all
            .iter()
            .filter(|column| column.is_text() && column.kind == ColumnKind::Plain)
            .map(|column| column.name.clone())
            .collect();
        return if columns.is_empty() {
            Err(Failure::new(
                Status::InvalidState,
                format!("{} has no column declared as text.", table.shown()),
            )
            .hint(format!("Name the columns to index. {}", names())))
        } else {
            Ok(columns)
        };
    };
    let mut columns: Vec<String> = Vec::new();
    for name in wanted {
        let Some(column) = all
            .iter()
            .find(|column| column.name.eq_ignore_ascii_case(name))
        else {
            let near = did_you_mean(name, all.iter().map(|column| column.name.as_str()));
            return Err(Failure::new(
                Status::NotFound,
                format!("{} has no column {name:?}.", table.shown()),
            )
            .hint(near.unwrap_or_else(names)));
        };
        if !columns.contains(&column.name) {
            columns.push(column.name.clone());
        }
    }
    Ok(columns)
}

impl Plan {
    fn trigger(&self, event: &str) -> String {
        format!("{}_{event}", self.index)
    }

    /// What the columns are called in the index: FTS5 reserves some names.
    fn names(&self) -> Vec<String> {
        let taken = |name: &str| {
            let mut columns = self.columns.iter();
            columns.any(|column| column.eq_ignore_ascii_case(name))
        };
        let reserved = |name: &str| {
            let mut words = ["rank", "rowid", &self.index].into_iter();
            words.any(|word| word.eq_ignore_ascii_case(name))
        };
        let name = |column: &String| {
            let mut name = column.clone();
            while reserved(&name) || name != *column && taken(&name) {
                name.push('_');
            }
            name
        };
        self.columns.iter().map(name).collect()
    }

    /// Something that has one of the names that are needed.
    fn in_the_way(&self, connection: &Connection) -> rusqlite::Result<Option<String>> {
        let mut statement = connection
            .prepare("SELECT type, name FROM main.sqlite_schema WHERE name = ?1 COLLATE NOCASE")?;
        let parts = [
            "data", "idx", "docsize", "config", "source", "insert", "delete", "update",
        ];
        let names = std::iter::once(self.index.clone()).chain(parts.map(|part| self.trigger(part)));
        for name in names {
            let mut cursor = statement.query([&name])?;
            if let Some(row) = cursor.next()? {
                return Ok(Some(format!("{} {}", text(row, 0)?, text(row, 1)?)));
            }
        }
        Ok(None)
    }

    /// Everything, for one transaction; its last statement answers the number of indexed rows.
    fn sql(&self, tokenizer: &str) -> String {
        let literal = |text: &str| format!("'{}'", text.replace('\'', "''"));
        let (table, index) = (quote(&self.table), quote(&self.index));
        let names = self.names();
        let columns: Vec<String> = names.iter().map(|name| quote(name)).collect();
        let columns = columns.join(", ");
        // A view has the text under other names.
        let source = (names != self.columns).then(|| self.trigger("source"));
        let values = |row: &str| {
            let names = std::iter::once(&self.rowid).chain(&self.columns);
            let values: Vec<String> = names.map(|name| format!("{row}.{}", quote(name))).collect();
            values.join(", ")
        };
        let add = format!(
            "INSERT INTO {index}(rowid, {columns}) VALUES ({});",
            values("new")
        );
        let remove = format!(
            "INSERT INTO {index}({index}, rowid, {columns}) VALUES ('delete', {});",
            values("old")
        );
        let tokenize = match tokenizer {
            "porter" => "porter unicode61",
            other => other,
        };
        let view = source.as_ref().map(|source| {
            let columns = self.columns.iter().zip(&names);
            let renamed: Vec<String> = columns
                .map(|(column, name)| format!("{} AS {}", quote(column), quote(name)))
                .collect();
            let (source, rowid) = (quote(source), quote(&self.rowid));
            format!(
                "CREATE VIEW main.{source} AS SELECT {rowid} AS {rowid}, {} FROM {table};\n",
                renamed.join(", ")
            )
        });
        let mut sql = view.unwrap_or_default();
        sql += &format!(
            "CREATE VIRTUAL TABLE main.{index} USING fts5({columns}, content={}, content_rowid={}, \
             tokenize={});\n",
            literal(source.as_ref().unwrap_or(&self.table)),
            literal(&self.rowid),
            literal(tokenize)
        );
        for (event, body) in [
            ("insert", add.clone()),
            ("delete", remove.clone()),
            ("update", format!("{remove}\n  {add}")),
        ] {
            sql.push_str(&format!(
                "CREATE TRIGGER main.{} AFTER {} ON {table} BEGIN\n  {body}\nEND;\n",
                quote(&self.trigger(event)),
                event.to_uppercase()
            ));
        }
        sql.push_str(&format!(
            "INSERT INTO {index}({index}) VALUES ('rebuild');\n\
             SELECT count(*) FROM main.{};\n",
            quote(&self.trigger("docsize"))
        ));
        sql
    }

    fn created(&self, tokenizer: &str, rows: i64) -> Output {
        let triggers = ["insert", "delete", "update"].map(|event| self.trigger(event));
        let mut output = Output {
            text: Some(format!(
                "Created {} over {} of {} ({} indexed)\n",
                self.index,
                self.columns.join(", "),
                self.table,
                count(rows, "row"),
            )),
            ..Output::default()
        };
        output.notes.push(format!(
            "The triggers {} keep it up to date. INSERT OR REPLACE does not fire the delete \
             trigger: use ON CONFLICT DO UPDATE instead.",
            triggers.join(", ")
        ));
        for (column, name) in self.columns.iter().zip(self.names()) {
            if *column != name {
                output.notes.push(format!(
                    "Column {column} is called {name} in the index, because FTS5 reserves the name."
                ));
            }
        }
        if !self.lasting {
            let index = quote(&self.index);
            output.notes.push(format!(
                "{} has no INTEGER PRIMARY KEY, so VACUUM may change its rowids: after a VACUUM, \
                 run INSERT INTO {index}({index}) VALUES('rebuild').",
                self.table
            ));
        }
        for (name, value) in [
            ("index", json!(self.index)),
            ("table", json!(self.table)),
            ("indexed_columns", json!(self.columns)),
            ("content_rowid", json!(self.rowid)),
            ("tokenizer", json!(tokenizer)),
            ("triggers", json!(triggers)),
            ("indexed_rows", json!(rows)),
        ] {
            output.extra.insert(name.into(), value);
        }
        output
    }
}

#[cfg(test)]
mod tests;
