//! `migrate`: everything in another SQLite file, rebuilt in a new one and compared before it
//! gets its name.

use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Statement};
use serde_json::json;

use super::backup::{check_trees, copy as copy_pages, no_stream, readable};
use crate::answer::failure::{Failure, Status};
use crate::answer::output::Output;
use crate::answer::value::Value;
use crate::command::interface::argument::{Shape, required};
use crate::command::interface::arguments::Arguments;
use crate::command::interface::command::{Command, Effect, Group};
use crate::command::interface::context::Context;
use crate::engine::database::staged::StagedDatabase;
use crate::engine::database::work::Work;
use crate::engine::schema::catalogue::{quote, rows};
use crate::engine::schema::columns::MOST_COLUMNS;
use crate::engine::schema::objects::{Object, Stored, objects};
use crate::engine::schema::soundness;
use crate::text::count::count;

/// `migrate` in the command table.
pub(crate) const COMMAND: Command = Command {
    name: "migrate",
    title: "Migrate",
    group: Group::Files,
    summary: "Rebuild another SQLite file as a new file, verified table by table",
    description: "Rebuild another SQLite file as a new file, both below the root, and compare \
                  each table by row count and digest. Never overwrites.",
    arguments: &[
        required("source", Shape::InputPath, "SQLite file."),
        required("destination", Shape::OutputPath, "File to create."),
    ],
    database: false,
    effect: Effect::Writes {
        destructive: false,
        idempotent: false,
    },
    core: false,
    run,
};

/// The report on each table.
const COLUMNS: [(&str, &str); 4] = [
    ("table", "TEXT"),
    ("rows", "INTEGER"),
    ("digest", "TEXT"),
    ("verified", "TEXT"),
];

/// Pragmas whose values a database carries in its header, in the order in which they can be set.
const HEADER: [&str; 5] = [
    "encoding",
    "page_size",
    "auto_vacuum",
    "user_version",
    "application_id",
];

/// Runs `migrate`.
pub(crate) fn run(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let (file, name) = (
        arguments.required_text("source"),
        arguments.required_text("destination"),
    );
    no_stream(file, "read from standard input", "batch")?;
    no_stream(name, "written to standard output", "dump")?;
    let most = context.settings.output.max_rows;
    let staged_database = context.engine.staged_database(name, false)?;
    let mut source = readable(context, file)?;
    let remark = check_trees(&mut source, true)?;
    let busy_ms = context.settings.engine.limits.busy_ms;
    let (tables, staged_database, copied) = source.look(|work| {
        let connection = work.connection()?;
        let all = objects(connection).map_err(|error| work.failure(&error, ""))?;
        let mut copied = None;
        let staged_database = match make(work, &staged_database, &all) {
            Ok(()) => staged_database,
            Err(Unmade::Stopped(failure)) => return Err(failure),
            Err(Unmade::Impossible(why)) => {
                drop(staged_database);
                let mut copy = context.engine.staged_database(name, false)?;
                copy.fill(|to| copy_pages(connection, to, work.interrupt(), busy_ms))?;
                copied = Some(why);
                copy
            }
        };
        // Reads the schema as whoever opens the file will. Nothing is written any more.
        staged_database.run("PRAGMA writable_schema=RESET")?;
        staged_database.only_read()?;
        let tables = compare(work, &staged_database, &all)?;
        let sound = soundness::check_without_program(
            staged_database.connection(),
            None,
            "integrity_check",
            1,
        )
        .map_err(|error| staged_database.failure(&error))?;
        match sound.damage.first() {
            None => Ok((tables, staged_database, copied)),
            Some(damage) => Err(Failure::new(
                Status::Internal,
                format!("The copy does not hold: {damage}. No file was created."),
            )),
        }
    })?;
    staged_database.publish()?;
    let total: i64 = tables.iter().map(|(_, tally)| tally.rows).sum();
    let listed = tables
        .iter()
        .map(|(table, tally)| {
            vec![
                Value::Text(table.clone()),
                Value::Integer(tally.rows),
                Value::Text(tally.digest()),
                Value::Text("yes".into()),
            ]
        })
        .collect();
    let mut output = Output {
        rows: Some(rows(&COLUMNS, listed, most)),
        ..Output::default()
    };
    output.notes.push(format!(
        "Created {name} from {file}: {} and {}, equal in both files.",
        count(tables.len() as u64, "table"),
        count(total.unsigned_abs(), "row")
    ));
    if let Some(why) = copied {
        output.notes.push(format!(
            "It was copied page by page, everything in it as it was, because it cannot be rebuilt here: {why}"
        ));
    }
    let needs = source.foreign_needs()?.into_iter();
    let needs: Vec<String> = needs.map(|need| need.to_string()).collect();
    if !needs.is_empty() {
        output.notes.push(format!(
            "What the program that made the file has to bring: {}. Rows can be read without it.",
            needs.join(", ")
        ));
    }
    output.notes.extend(remark);
    output.extra.insert(
        "migrated".into(),
        json!({"source": file, "destination": name, "tables": tables.len(), "rows": total}),
    );
    Ok(output)
}

/// Why a database was not made again.
enum Unmade {
    /// This build cannot, for the reason that a sentence gives.
    Impossible(String),
    /// The call failed.
    Stopped(Failure),
}

impl From<Failure> for Unmade {
    fn from(failure: Failure) -> Self {
        Self::Stopped(failure)
    }
}

/// Makes everything again in `staged_database`, in one transaction.
fn make(work: Work<'_>, staged_database: &StagedDatabase, all: &[Object]) -> Result<(), Unmade> {
    let connection = work.connection()?;
    for pragma in HEADER {
        let value = connection
            .query_row(&format!("PRAGMA main.{pragma}"), [], |row| {
                crate::engine::schema::catalogue::text(row, 0)
            })
            .map_err(|error| work.failure(&error, ""))?;
        staged_database.run(&format!(
            "PRAGMA main.{pragma}='{}'",
            value.replace('\'', "''")
        ))?;
    }
    staged_database
        .run("PRAGMA ignore_check_constraints=ON; PRAGMA writable_schema=ON; BEGIN IMMEDIATE")?;
    for object in all.iter().filter(|object| object.is_stored()) {
        define(staged_database, object)?;
        fill(work, staged_database, object)?;
    }
    for object in all.iter().filter(|object| !object.is_stored()) {
        if object.kind == "index" {
            schema(staged_database, object)?;
        } else {
            // Views, triggers and virtual tables have no pages: their text is all there is
            // to them, and nothing of it is run.
            staged_database
                .connection()
                .execute(
                    "INSERT INTO main.sqlite_schema(type,name,tbl_name,rootpage,sql) VALUES(?1,?2,?3,0,?4)",
                    [&object.kind, &object.name, &object.table, &object.sql],
                )
                .map_err(|error| staged_database.failure(&error))?;
        }
    }
    Ok(staged_database.run("COMMIT")?)
}

/// Makes a table, or empties one that SQLite makes by itself.
fn define(staged_database: &StagedDatabase, object: &Object) -> Result<(), Unmade> {
    if object.is_sequence() {
        staged_database.run("DELETE FROM main.sqlite_sequence")?;
    } else if object.is_statistics() {
        let name = quote(&object.name);
        staged_database.run(&format!(
            "ANALYZE main.sqlite_schema; DELETE FROM main.{name}"
        ))?;
    } else {
        schema(staged_database, object)?;
    }
    Ok(())
}

/// Runs the text of a table or an index.
fn schema(staged_database: &StagedDatabase, object: &Object) -> Result<(), Unmade> {
    staged_database
        .schema(&object.sql)
        .map_err(|failure| match failure.status {
            Status::NotFound | Status::Syntax | Status::TooBig | Status::Readonly => {
                Unmade::Impossible(format!("{} {}: {failure}", object.kind, object.name))
            }
            _ => Unmade::Stopped(failure),
        })
}

/// Copies the rows of a table.
fn fill(work: Work<'_>, staged_database: &StagedDatabase, object: &Object) -> Result<(), Unmade> {
    let connection = work.connection()?;
    let stored = Stored::of(connection, &object.name).map_err(|error| work.failure(&error, ""))?;
    if stored.hides_rowid {
        let why = format!("table {} leaves no name for its rowids.", object.name);
        return Err(Unmade::Impossible(why));
    }
    if stored.columns.is_empty() {
        return Ok(());
    }
    let select = stored.select(&object.name);
    let mut from = work.own(&select).map_err(|failure| match failure.status {
        // The rowid is one column more than a result may have.
        Status::TooBig => Unmade::Impossible(format!("Table {}: {}", object.name, failure.message)),
        _ => Unmade::Stopped(failure),
    })?;
    let mut to = staged_database
        .connection()
        .prepare(&stored.insert(&object.name))
        .map_err(|error| staged_database.failure(&error))?;
    let width = stored.columns.len();
    let phase = format!("copying {}", object.name);
    work.interrupt().phase(&phase, "row", None);
    let mut rows = from.raw_query();
    while let Some(row) = rows.next().map_err(|error| work.failure(&error, &select))? {
        work.interrupt().step();
        for index in 0..width {
            let value = row
                .get_ref(index)
                .map_err(|error| work.failure(&error, &select))?;
            to.raw_bind_parameter(index + 1, rusqlite::types::ToSqlOutput::Borrowed(value))
                .map_err(|error| staged_database.failure(&error))?;
        }
        to.raw_execute().map_err(|error| {
            let failure = staged_database.failure(&error);
            let message = format!("Table {}: {}", object.name, failure.message);
            if failure.status == Status::Constraint {
                // What the file holds in spite of its constraints is kept.
                return Unmade::Impossible(message);
            }
            Unmade::Stopped(Failure {
                message: format!("{message} No file was created."),
                ..failure
            })
        })?;
    }
    Ok(())
}

/// How many rows a table has, and what they hold whatever their order is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TableDigest {
    rows: i64,
    sum: u64,
}

impl TableDigest {
    fn take(statement: &mut Statement<'_>, width: usize) -> rusqlite::Result<Self> {
        let mut tally = Self::default();
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            let mut hasher = DefaultHasher::new();
            for index in 0..width {
                hash(&mut hasher, row.get_ref(index)?);
            }
            tally.rows += 1;
            tally.sum = tally.sum.wrapping_add(hasher.finish());
        }
        Ok(tally)
    }

    fn digest(self) -> String {
        format!("{:016x}", self.sum)
    }
}

/// A value with its storage class, so that 1, 1.0 and '1' differ.
fn hash(hasher: &mut DefaultHasher, value: ValueRef<'_>) {
    match value {
        ValueRef::Null => hasher.write_u8(0),
        ValueRef::Integer(number) => {
            hasher.write_u8(1);
            hasher.write_i64(number);
        }
        ValueRef::Real(number) => {
            hasher.write_u8(2);
            hasher.write_u64(number.to_bits());
        }
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            hasher.write_u8(if matches!(value, ValueRef::Text(_)) {
                3
            } else {
                4
            });
            hasher.write_usize(bytes.len());
            hasher.write(bytes);
        }
    }
}

/// Counts and digests every table on both sides.
fn compare(
    work: Work<'_>,
    staged_database: &StagedDatabase,
    all: &[Object],
) -> Result<Vec<(String, TableDigest)>, Failure> {
    let mut tables = Vec::new();
    for object in all.iter().filter(|object| object.is_stored()) {
        let connection = work.connection()?;
        let stored =
            Stored::of(connection, &object.name).map_err(|error| work.failure(&error, ""))?;
        if stored.columns.is_empty() {
            continue;
        }
        // A result has no room for the rowid of the widest tables, which are copied page by page.
        let columns = match stored.columns.as_slice() {
            [_, others @ ..] if stored.with_rowid && others.len() >= MOST_COLUMNS => others,
            all => all,
        };
        // In any order.
        let select = format!(
            "SELECT {} FROM main.{}",
            columns.join(","),
            quote(&object.name)
        );
        let width = columns.len();
        let before = TableDigest::take(&mut work.own(&select)?, width)
            .map_err(|error| work.failure(&error, &select))?;
        let after = tally(staged_database.connection(), &select, width)
            .map_err(|error| staged_database.failure(&error))?;
        if before != after {
            return Err(Failure::new(
                Status::Internal,
                format!(
                    "Table {} has {} rows with digest {} in the source, but {} rows with digest \
                     {} in the copy; no file was created.",
                    object.name,
                    before.rows,
                    before.digest(),
                    after.rows,
                    after.digest()
                ),
            )
            .hint("Use sqlarium_backup, which copies the database page by page."));
        }
        tables.push((object.name.clone(), after));
    }
    Ok(tables)
}

fn tally(connection: &Connection, select: &str, width: usize) -> rusqlite::Result<TableDigest> {
    TableDigest::take(&mut connection.prepare(select)?, width)
}
