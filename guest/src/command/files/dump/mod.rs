//! `dump`: the database, or parts of it, as the SQL that makes it again.

use std::io::Write;

use serde_json::Value;

use self::literal::literal;
use super::text_output::{OUT, TextOutput};
use crate::answer::failure::{Failure, Status};
use crate::answer::output::Output;
use crate::command::interface::argument::{OVERWRITE, Shape, option, positional};
use crate::command::interface::arguments::Arguments;
use crate::command::interface::command::{Command, Effect, Group};
use crate::command::interface::context::Context;
use crate::engine::database::work::Work;
use crate::engine::schema::catalogue::{quote, relations, text};
use crate::engine::schema::columns::MOST_COLUMNS;
use crate::engine::schema::objects::{Object, Stored, objects};
use crate::engine::schema::pattern::Pattern;
use crate::render::mode::Escape;
use crate::storage::streams::Files;
use crate::text::lexer::{TokenKind, tokens};
use crate::text::suggest::alternatives;

mod literal;

/// `dump` in the command table.
pub(crate) const COMMAND: Command = Command {
    name: "dump",
    title: "Dump",
    group: Group::Files,
    summary: "Write the database as SQL that recreates it",
    description: "Write a snapshot of the database, or of the objects whose names match, as SQL \
                  that recreates schema and rows in sqlite3; the answer is cut if too long. For \
                  the schema alone use sqlarium_schema.",
    arguments: &[
        positional("objects", Shape::Text, "LIKE pattern for names; * means %."),
        option("data_only", Shape::Flag, "INSERT statements only."),
        OUT,
        OVERWRITE,
    ],
    database: true,
    effect: Effect::MayWrite,
    core: false,
    run,
};

/// What only a shell gives: patterns, in the place of one; to keep every rowid; to leave out SQLite's
/// own tables.
pub(crate) const PATTERNS: &str = "patterns";
/// See [`PATTERNS`].
pub(crate) const ROWIDS: &str = "rowids";
/// See [`PATTERNS`].
pub(crate) const NO_SYSTEM: &str = "no_system";

/// What a file says of itself before its first table is made, and what is usual.
const BEFORE: [(&str, &str); 3] = [
    ("encoding", "UTF-8"),
    ("page_size", "4096"),
    ("auto_vacuum", "0"),
];

/// The same, at any time.
const WITHIN: [(&str, &str); 2] = [("application_id", "0"), ("user_version", "0")];

/// What is to be written.
struct DumpRequest<'a> {
    /// Names of objects; none: all.
    patterns: Vec<&'a str>,
    data_only: bool,
    rowids: bool,
    system: bool,
    /// What only the program has that made the file: `collation mine`.
    needs: Vec<String>,
}

impl<'a> DumpRequest<'a> {
    fn of(arguments: &'a Arguments) -> Self {
        let several = arguments.json(PATTERNS).and_then(Value::as_array);
        let several = several.into_iter().flatten().filter_map(Value::as_str);
        Self {
            patterns: arguments
                .text("objects")
                .into_iter()
                .chain(several)
                .collect(),
            data_only: arguments.flag("data_only"),
            rowids: arguments.flag(ROWIDS),
            system: !arguments.flag(NO_SYSTEM),
            needs: Vec::new(),
        }
    }
}

/// Runs `dump`.
pub(crate) fn run(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let text_output = TextOutput::open(context, arguments)?;
    let limit = context.settings.output.text_bytes;
    let files = context.engine.files();
    let wish = DumpRequest::of(arguments);
    let database = context.engine.database(arguments.db())?;
    // Virtual tables are written as they are.
    let needs = database.foreign_needs()?.into_iter();
    let needs = needs.filter(|need| matches!(need.kind, "collation" | "function"));
    let wish = DumpRequest {
        needs: needs.map(|need| need.to_string()).collect(),
        ..wish
    };
    let dump = database.look_at_all(|work| Dump::write(work, &files, text_output, &wish))?;
    let mut output = Output::default();
    let whole = dump.text_output.finish(&files, &mut output)? && !dump.full;
    output.extra.insert("objects".into(), dump.objects.into());
    output.extra.insert("rows_written".into(), dump.rows.into());
    if !whole {
        output.extra.insert("more".into(), true.into());
        output.notes.push(format!(
            "The SQL is cut: it is longer than {limit} bytes (--text), and this part of it \
             does not recreate the database. {}Name objects to dump fewer of them.",
            if context.takes(&COMMAND, OUT.name) {
                "Give out to write all of it to a file below the root. "
            } else {
                ""
            }
        ));
    }
    Ok(output)
}

/// A dump that is being written.
struct Dump<'a> {
    work: Work<'a>,
    files: &'a Files,
    text_output: TextOutput,
    /// What becomes of characters that an answer does not show.
    escape: Escape,
    /// Whether no more fits.
    full: bool,
    objects: u64,
    rows: u64,
}

impl<'a> Dump<'a> {
    fn write(
        work: Work<'a>,
        files: &'a Files,
        text_output: TextOutput,
        wish: &DumpRequest<'_>,
    ) -> Result<DumpSummary, Failure> {
        let mut dump = Dump {
            work,
            files,
            escape: match text_output.is_text() {
                true => Escape::Unseen,
                false => Escape::Off,
            },
            text_output,
            full: false,
            objects: 0,
            rows: 0,
        };
        let failed = |error: &rusqlite::Error| work.failure(error, "");
        let connection = work.connection()?;
        let all = objects(connection).map_err(|error| failed(&error))?;
        let shadows: Vec<String> = relations(connection)
            .map_err(|error| failed(&error))?
            .into_iter()
            .filter(|relation| relation.schema == "main" && relation.kind == "shadow")
            .map(|relation| relation.name)
            .collect();
        let mut wanted = choose(&all, &shadows, &wish.patterns);
        wanted.retain(|object| wish.system || !object.name.starts_with("sqlite_"));
        if !wish.patterns.is_empty() && wanted.is_empty() {
            let patterns: Vec<String> = wish.patterns.iter().map(|p| format!("{p:?}")).collect();
            let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
            return Err(Failure::new(
                Status::NotFound,
                format!(
                    "No object has a name that matches {}.",
                    alternatives(&patterns)
                ),
            )
            .hint("sqlarium_tables lists the tables and views."));
        }
        dump.all(&wanted, wish)?;
        Ok(DumpSummary {
            text_output: dump.text_output,
            full: dump.full,
            objects: dump.objects,
            rows: dump.rows,
        })
    }

    fn all(&mut self, wanted: &[&Object], wish: &DumpRequest<'_>) -> Result<(), Failure> {
        let data_only = wish.data_only;
        let whole = !data_only && wish.patterns.is_empty();
        if whole {
            self.settings(&BEFORE)?;
        }
        if !data_only && !wish.needs.is_empty() {
            let needs = wish.needs.join(", ").replace(['\n', '\r'], " ");
            let comment = format!(
                "-- What only the program has that made the file, and this SQL needs: {needs}.\n"
            );
            self.statement(comment.as_bytes())?;
        }
        if !data_only {
            self.statement(b"PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\n")?;
        }
        if whole {
            self.settings(&WITHIN)?;
        }
        let mut writable = false;
        for object in wanted.iter().filter(|object| object.kind == "table") {
            if self.full {
                return Ok(());
            }
            self.objects += 1;
            // Under a reserved name, or not made by its statement.
            if !data_only && !writable && (object.is_virtual || object.is_samples()) {
                self.statement(b"PRAGMA writable_schema=ON;\n")?;
                writable = true;
            }
            if object.is_virtual {
                if !data_only {
                    self.virtual_table(object)?;
                }
                continue;
            }
            if !data_only {
                self.define(object)?;
            }
            self.table(object, wish.rowids)?;
        }
        for object in wanted.iter().filter(|object| object.kind != "table") {
            if data_only || self.full {
                break;
            }
            self.objects += 1;
            self.sql(&object.sql)?;
        }
        if writable {
            self.statement(b"PRAGMA writable_schema=RESET;\n")?;
        }
        if data_only {
            return Ok(());
        }
        self.statement(b"COMMIT;\n")
    }

    /// Makes a table, or empties one that SQLite makes by itself.
    fn define(&mut self, object: &Object) -> Result<(), Failure> {
        if object.is_sequence() {
            return self.statement(b"DELETE FROM sqlite_sequence;\n");
        }
        if object.is_statistics() {
            let name = quote(&object.name);
            let mut sql = String::from("ANALYZE sqlite_schema;\n");
            if object.is_samples() {
                // Not every build of SQLite keeps samples, and makes the table for them.
                let columns = object.sql.find('(').map_or("", |at| &object.sql[at..]);
                sql.push_str(&format!(
                    "CREATE TABLE IF NOT EXISTS {}{columns};\n",
                    object.name
                ));
            }
            sql.push_str(&format!("DELETE FROM {name};\n"));
            return self.statement(sql.as_bytes());
        }
        self.sql(&object.sql)
    }

    /// Puts a virtual table into the schema as it is: making it would make its shadow tables.
    fn virtual_table(&mut self, object: &Object) -> Result<(), Failure> {
        let quoted = |text: &str| {
            let mut out = Vec::new();
            // Memory takes it all.
            let text = rusqlite::types::ValueRef::Text(text.as_bytes());
            let _ = literal(&mut out, text, self.escape);
            String::from_utf8_lossy(&out).into_owned()
        };
        let name = quoted(&object.name);
        let sql = format!(
            "INSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql)VALUES('table',{name},{name},0,{});\n",
            quoted(&object.sql)
        );
        self.statement(sql.as_bytes())
    }

    /// What the file says of itself, where it is not what every new file says.
    fn settings(&mut self, settings: &[(&str, &str)]) -> Result<(), Failure> {
        let work = self.work;
        for (name, usual) in settings {
            let sql = format!("PRAGMA main.{name}");
            let value = work
                .connection()?
                .query_row(&sql, [], |row| text(row, 0))
                .map_err(|error| work.failure(&error, &sql))?;
            if value != *usual {
                let number = value.parse::<i64>().is_ok();
                let value = if number { value } else { format!("'{value}'") };
                self.statement(format!("PRAGMA {name}={value};\n").as_bytes())?;
            }
        }
        Ok(())
    }

    /// The rows of a table, and nothing of what is generated. A rowid is written if the row would
    /// not get it anyhow, the next after the largest, or if `rowids` wants all of them.
    fn table(&mut self, object: &Object, rowids: bool) -> Result<(), Failure> {
        let work = self.work;
        let connection = work.connection()?;
        let stored =
            Stored::of(connection, &object.name).map_err(|error| work.failure(&error, ""))?;
        if stored.hides_rowid {
            let name = object.name.replace(['\n', '\r'], " ");
            let comment = format!(
                "-- The rowids of {name} are not kept: its columns have taken all their names.\n"
            );
            self.statement(comment.as_bytes())?;
        }
        let first = usize::from(stored.with_rowid);
        let width = stored.columns.len();
        if width == first {
            return Ok(());
        }
        work.interrupt()
            .phase(&format!("dumping {}", object.name), "row", None);
        // A result has no room for the rowid of the widest tables, nor has an INSERT.
        let apart = stored.with_rowid && width > MOST_COLUMNS;
        let (numbers, values) = stored.columns.split_at(usize::from(apart));
        let mut numbers = match numbers {
            [] => None,
            _ => Some(work.own(&stored.select_of(numbers, &object.name))?),
        };
        let mut numbers = numbers.as_mut().map(|numbers| numbers.raw_query());
        let select = stored.select_of(values, &object.name);
        let mut statement = work.own(&select)?;
        let start = |columns: Option<&[String]>| {
            let columns = columns.map(|columns| format!("({})", columns.join(",")));
            let columns = columns.unwrap_or_default();
            format!("INSERT INTO {}{columns} VALUES(", quote(&object.name))
        };
        let plain = start((!stored.complete).then(|| &stored.columns[first..]));
        let numbered = start(Some(&stored.columns));
        let mut next = Some(1_i64);
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(|error| work.failure(&error, &select))? {
            if self.full {
                break;
            }
            work.interrupt().step();
            let (mut begin, mut start, mut renumbered) = (&plain, first, None);
            if stored.with_rowid {
                let rowid = match &mut numbers {
                    Some(numbers) => numbers.next().and_then(|row| match row {
                        Some(row) => row.get(0),
                        None => Err(rusqlite::Error::QueryReturnedNoRows),
                    }),
                    None => row.get(0),
                };
                let rowid: i64 = rowid.map_err(|error| work.failure(&error, &select))?;
                let differs = rowids || next != Some(rowid);
                if apart {
                    start = 0;
                    renumbered = Some(rowid).filter(|_| differs);
                } else if differs {
                    (begin, start) = (&numbered, 0);
                }
                next = rowid.checked_add(1);
            }
            self.put(begin.as_bytes())?;
            for index in start..values.len() {
                if index > start {
                    self.put(b",")?;
                }
                let value = row
                    .get_ref(index)
                    .map_err(|error| work.failure(&error, &select))?;
                // At once: a value can be as large as memory allows.
                let written = literal(&mut self.text_output, value, self.escape);
                written.map_err(|error| self.files.failure(&error))?;
            }
            if let (Some(number), [rowid, ..]) = (renumbered, stored.columns.as_slice()) {
                let table = quote(&object.name);
                let update = format!(
                    ");\nUPDATE {table} SET {rowid}={number} WHERE {rowid}=last_insert_rowid("
                );
                self.put(update.as_bytes())?;
            }
            self.statement(b");\n")?;
            if self.full {
                break;
            }
            self.rows += 1;
        }
        Ok(())
    }

    /// A statement of the schema, however its text ends.
    fn sql(&mut self, sql: &str) -> Result<(), Failure> {
        // What follows a comment that no line break ends would be part of it.
        let last = tokens(sql).last().map(|token| token.kind);
        let end = match last {
            Some(TokenKind::LineComment) => "\n;\n",
            _ => ";\n",
        };
        self.statement(format!("{sql}{end}").as_bytes())
    }

    fn statement(&mut self, sql: &[u8]) -> Result<(), Failure> {
        if self.full {
            return Ok(());
        }
        self.put(sql)?;
        self.full = !self.text_output.row();
        Ok(())
    }

    fn put(&mut self, sql: &[u8]) -> Result<(), Failure> {
        let written = self.text_output.write_all(sql);
        written.map_err(|error| self.files.failure(&error))
    }
}

/// A dump that was written.
struct DumpSummary {
    text_output: TextOutput,
    full: bool,
    objects: u64,
    rows: u64,
}

/// The objects that any of the patterns asks for, by their own name or their table's; with a
/// virtual table its shadow tables. Without patterns, all.
fn choose<'o>(all: &'o [Object], shadows: &[String], patterns: &[&str]) -> Vec<&'o Object> {
    if patterns.is_empty() {
        return all.iter().collect();
    }
    let patterns: Vec<Pattern> = patterns
        .iter()
        .map(|pattern| Pattern::new(pattern))
        .collect();
    let matches = |name: &str| patterns.iter().any(|pattern| pattern.matches(name));
    let virtuals: Vec<&Object> = all
        .iter()
        .filter(|object| object.is_virtual && matches(&object.name))
        .collect();
    let belongs = |object: &Object| {
        shadows.contains(&object.name)
            && virtuals.iter().any(|owner| {
                object
                    .name
                    .get(..owner.name.len())
                    .is_some_and(|start| start.eq_ignore_ascii_case(&owner.name))
            })
    };
    all.iter()
        .filter(|object| matches(&object.name) || matches(&object.table) || belongs(object))
        .collect()
}

#[cfg(test)]
mod tests;
