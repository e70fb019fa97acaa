//! `import`: the records of a file as rows of a table, all of them or none.
//!
//! - [`input`]: bytes as text. [`sniff`]: how it is written. [`records`], [`json`]: its records.
//! - [`source`]: the file, which is read twice. [`plan`], [`columns`]: what goes where. [`inserts`]:
//!   rows that leave columns out.
//! - [`report`]: what came of it.

mod columns;
mod input;
mod inserts;
mod json;
#[cfg(test)]
mod object_tests;
mod plan;
mod records;
mod report;
mod sniff;
mod source;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod whole_tests;

use rusqlite::Connection;

use self::inserts::Inserts;
use self::plan::{Column, Plan, Target};
use self::records::{Cell, Problem, Record};
use self::report::Report;
use self::sniff::{Layout, Said};
use self::source::{Rows, Source};
use crate::answer::failure::{Failure, Status};
use crate::answer::output::Output;
use crate::command::interface::argument::{Shape, option, required};
use crate::command::interface::arguments::Arguments;
use crate::command::interface::command::{Command, Effect, Group};
use crate::command::interface::context::Context;
use crate::engine::database::work::Work;
use crate::engine::schema::catalogue::{Count, Counter, Relation, relations};
use crate::storage::streams::{Files, STREAM};
use crate::text::count::count;
use crate::text::escape::visible;

/// `import` in the command table.
pub(crate) const COMMAND: Command = Command {
    name: "import",
    title: "Import",
    group: Group::Files,
    summary: "Import a file of CSV, JSON or the like into a table",
    description: "Import CSV, TSV or JSON (an array, or lines) below the root into a table, all or \
                  nothing; gzip and UTF-16 are read. A new table gets its columns from the first \
                  record or the names of the objects; a column becomes INTEGER or REAL only if no \
                  value changes (007 stays TEXT). In an existing table a header selects columns; \
                  without one, fields go by position. In CSV, empty is NULL and \"\" is ''.",
    arguments: &[
        required("file", Shape::InputPath, ""),
        required("table", Shape::Text, "Created if missing."),
        option(
            "format",
            Shape::Choice(&["csv", "tsv", "ascii", "json"]),
            "Default: by extension and content.",
        ),
        option(
            "separator",
            Shape::Text,
            "One character, or tab. Default: found out.",
        ),
        option(
            "skip",
            Shape::Integer {
                min: 0,
                max: i64::MAX,
            },
            "Records to skip first.",
        ),
        option("header", Shape::Flag, "The first record is names."),
        option("no_header", Shape::Flag, "The first record is data."),
    ],
    database: true,
    effect: Effect::Writes {
        destructive: false,
        idempotent: false,
    },
    core: false,
    run,
};

/// What only a shell gives: the two bytes behind a field and behind a record, as text.
pub(crate) const SEPARATORS: &str = "separators";

/// Characters of a value that a refusal shows.
const SHOWN: usize = 80;

/// Runs `import`.
pub(crate) fn run(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let file = arguments.required_text("file");
    let table = arguments.required_text("table");
    let files = context.engine.files();
    let mut said = Said {
        format: arguments.text("format"),
        ending: ending(file),
        separator: arguments.text("separator").map(separator).transpose()?,
        end: None,
    };
    if let Some(&[separator, end]) = arguments.text(SEPARATORS).map(str::as_bytes) {
        (said.separator, said.end) = (Some(separator), Some(end));
    }
    if context.settings.engine.readonly {
        return Err(Failure::new(
            Status::Readonly,
            "Cannot import: --readonly refuses every write.",
        ));
    }
    let database = context.engine.database(arguments.db())?;
    let target = database.look(|work| Target::find(work, table))?;
    let mut source = Source::new(file, &files)?;
    let mut job = Job {
        file,
        table,
        layout: Layout::default(),
        skip: arguments.integer("skip").unwrap_or_default().unsigned_abs(),
        header: header(arguments)?,
        most: usize::try_from(context.settings.engine.limits.memory_bytes / 8)
            .unwrap_or(usize::MAX),
        files: &files,
    };
    job.layout = source.layout(&job, said)?;
    let plan = source.plan(&job, target.as_ref())?;
    let what = format!("import {file} into {table}");
    let mut output = Output::default();
    let report = database.change(&what, &mut output, |work| {
        if plan.new {
            let create = plan.create(table);
            work.write(&create)?
                .raw_execute()
                .map_err(|error| work.failure(&error, &create))?;
        }
        let mut rows = source.rows(&job)?;
        let before = job.counted(work, &plan)?;
        let mut report = job.fill(work, &plan, &mut rows)?;
        if let (Some(before), Some(after)) = (before, job.counted(work, &plan)?) {
            report.more = Some(i128::from(after) - i128::from(before));
        }
        Ok(report)
    })?;
    report.add_to(&job, &plan, &mut output);
    Ok(output)
}

/// The format that a file's extension stands for.
fn ending(file: &str) -> &'static str {
    let file = file.to_ascii_lowercase();
    let file = file.strip_suffix(".gz").unwrap_or(&file);
    match file.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "tsv" | "tab" => "tsv",
        "ascii" => "ascii",
        "json" | "jsonl" | "ndjson" => "json",
        _ => "csv",
    }
}

/// A separator as somebody writes it.
fn separator(given: &str) -> Result<u8, Failure> {
    match given.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        &[byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(byte),
        _ => Err(Failure::new(
            Status::Syntax,
            format!("separator is {given:?}, but has to be one ASCII character, or tab."),
        )
        .hint("Such as \",\", \";\", \"|\" or \"tab\".")),
    }
}

/// What the first record of a file without names of its own is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Header {
    /// To be found out.
    Unsaid,
    Names,
    Data,
}

fn header(arguments: &Arguments) -> Result<Header, Failure> {
    match (arguments.flag("header"), arguments.flag("no_header")) {
        (false, false) => Ok(Header::Unsaid),
        (true, false) => Ok(Header::Names),
        (false, true) => Ok(Header::Data),
        (true, true) => Err(Failure::new(
            Status::Syntax,
            "header and no_header exclude each other: the first record is names, or it is data.",
        )),
    }
}

/// What is to be imported, and how.
struct Job<'a> {
    file: &'a str,
    table: &'a str,
    layout: Layout,
    skip: u64,
    header: Header,
    /// The bytes that one record may have.
    most: usize,
    files: &'a Files,
}

impl Job<'_> {
    /// The file's name in messages.
    fn shown(&self) -> &str {
        if self.file == STREAM {
            "standard input"
        } else {
            self.file
        }
    }

    fn is_json(&self) -> bool {
        self.layout.dialect.is_none()
    }

    /// What is counted in messages.
    fn unit(&self) -> &'static str {
        match self.layout.dialect {
            None => "Object",
            Some(dialect) if !matches!(dialect.end, b'\n' | b'\r') => "Record",
            Some(_) => "Line",
        }
    }

    fn read(&self, rows: &mut Rows<'_>, record: &mut Record) -> Result<bool, Failure> {
        rows.next(record).map_err(|problem| self.problem(problem))
    }

    /// How many rows the table has, if it was there before and that is quickly found out.
    fn counted(&self, work: Work<'_>, plan: &Plan) -> Result<Option<u64>, Failure> {
        if plan.new {
            return Ok(None);
        }
        let count = |connection: &Connection| {
            let all = relations(connection)?;
            let ours = |relation: &&Relation| {
                relation.schema == "main" && relation.name.eq_ignore_ascii_case(self.table)
            };
            match all.iter().find(ours).filter(|table| table.kind == "table") {
                Some(table) => Counter::default().count(connection, table),
                None => Ok(Count::Uncounted),
            }
        };
        match count(work.connection()?).map_err(|error| work.failure(&error, ""))? {
            Count::Exact(rows) => Ok(Some(rows)),
            _ => Ok(None),
        }
    }

    /// Reads the first record; a header does not stand on a line that is empty.
    fn read_first(&self, rows: &mut Rows<'_>, record: &mut Record) -> Result<bool, Failure> {
        let mut any = self.read(rows, record)?;
        while any && self.header != Header::Data && !self.is_json() && record.is_blank() {
            any = self.read(rows, record)?;
        }
        Ok(any)
    }

    fn problem(&self, problem: Problem) -> Failure {
        match problem {
            Problem::Malformed { line, what } => self.malformed(line, &what),
            Problem::Read(error) => {
                let ours = error.get_ref().is_some_and(|error| error.is::<Failure>());
                if ours {
                    return self.files.failure(&error);
                }
                Failure::new(
                    Status::Syntax,
                    format!(
                        "{} is damaged or cut: {error}. Nothing was imported.",
                        self.shown()
                    ),
                )
            }
        }
    }

    fn malformed(&self, line: u64, what: &str) -> Failure {
        Failure::new(
            Status::Syntax,
            format!(
                "{} {line} of {}: {what}. Nothing was imported.",
                if self.is_json() { "Line" } else { self.unit() },
                self.shown()
            ),
        )
    }

    fn nothing(&self) -> Failure {
        Failure::new(
            Status::Syntax,
            format!("{} contains no records to import.", self.shown()),
        )
    }

    fn too_many(&self, record: &Record, columns: usize) -> Failure {
        self.malformed(
            record.line,
            &format!(
                "{}, but there {} {}",
                count(record.len(), "field"),
                if columns == 1 { "is" } else { "are" },
                count(columns, "column")
            ),
        )
        .hint("Quote fields that contain the separator, or name another separator or format.")
    }

    /// Inserts all records.
    fn fill(&self, work: Work<'_>, plan: &Plan, rows: &mut Rows<'_>) -> Result<Report, Failure> {
        let mut report = Report::new(plan);
        let interrupt = work.interrupt();
        interrupt.phase("importing", "row", None);
        let sql = plan.insert(self.table, |_| true);
        let mut insert = work.write(&sql)?;
        let mut fewer = Inserts::default();
        let mut record = Record::default();
        if plan.headed {
            self.read_first(rows, &mut record)?;
        }
        while self.read(rows, &mut record)? {
            interrupt.step();
            if !self.is_json() && record.is_blank() && plan.width > 1 {
                report.blank += 1;
                continue;
            }
            if record.len() > plan.width {
                return Err(self.too_many(&record, plan.width));
            }
            let absent = |column: &Column| column.has_default && !record.has(column.from);
            if self.is_json() && plan.columns.iter().any(absent) {
                fewer
                    .add(work, plan, self.table, &record)
                    .map_err(|failure| self.refused_row(failure, plan, &record))?;
                report.count(&record, plan);
                continue;
            }
            for (index, column) in plan.columns.iter().enumerate() {
                let at = index + 1;
                match record.cell(column.from) {
                    Cell::Text(text) => insert.raw_bind_parameter(at, text),
                    Cell::Integer(number) => insert.raw_bind_parameter(at, number),
                    Cell::Real(number) => insert.raw_bind_parameter(at, number),
                    Cell::Null if column.fills && column.from < record.len() && !self.is_json() => {
                        insert.raw_bind_parameter(at, "")
                    }
                    Cell::Null => insert.raw_bind_parameter(at, rusqlite::types::Null),
                }
                .map_err(|error| work.failure(&error, &sql))?;
            }
            insert
                .raw_execute()
                .map_err(|error| self.refused_row(work.failure(&error, &sql), plan, &record))?;
            report.count(&record, plan);
        }
        Ok(report)
    }

    /// The failure of a row, with where it stands in the file and what of it is meant.
    fn refused_row(&self, failure: Failure, plan: &Plan, record: &Record) -> Failure {
        // SQLite names no column where a rowid is no number.
        let rowid = failure.message.contains("datatype mismatch");
        let meant = |column: &Column| {
            let name = format!("{}.{}", self.table, column.name);
            failure.message.contains(&name) || rowid && column.is_rowid
        };
        let values: Vec<String> = plan
            .columns
            .iter()
            .filter(|column| meant(column))
            .map(|column| {
                let value = match record.cell(column.from) {
                    Cell::Null => "NULL".to_owned(),
                    Cell::Integer(number) => number.to_string(),
                    Cell::Real(number) => crate::text::real::shown(number),
                    Cell::Text(text) => {
                        let text: String = text.chars().take(SHOWN).collect();
                        format!("'{}'", visible(&text))
                    }
                };
                format!("{} is {value}", column.name)
            })
            .collect();
        let values = if values.is_empty() {
            String::new()
        } else {
            format!(" There {}.", values.join(", "))
        };
        Failure {
            message: format!(
                "{} {} of {}: {}{values} Nothing was imported.",
                self.unit(),
                record.number,
                self.shown(),
                failure.message
            ),
            ..failure
        }
    }
}
