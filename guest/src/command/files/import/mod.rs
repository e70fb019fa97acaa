//! `import`: the records of a file as rows of a table, all of them or none.

mod columns;
mod records;
mod report;
#[cfg(test)]
mod tests;

use std::io::{BufRead, Write};

use self::columns::{ColumnType, names};
use self::records::{Dialect, Problem, Record, Records};
use self::report::Report;
use crate::answer::failure::{Failure, Status};
use crate::answer::output::Output;
use crate::command::interface::argument::{Shape, option, required};
use crate::command::interface::arguments::Arguments;
use crate::command::interface::command::{Command, Effect, Group};
use crate::command::interface::context::Context;
use crate::engine::database::work::Work;
use crate::engine::schema::catalogue::{quote, text};
use crate::storage::streams::{Files, Reader, STREAM, Spool};

/// `import` in the command table.
pub(crate) const COMMAND: Command = Command {
    name: "import",
    title: "Import",
    group: Group::Files,
    summary: "Import a CSV, TSV or ASCII-separated file into a table",
    description: "Import a UTF-8 file below the root into a table, all or nothing. A new table \
                  gets its columns from the first record; a column becomes INTEGER or REAL only \
                  if no value changes (007 stays TEXT). In an existing table, a first record of \
                  column names selects columns; otherwise fields go by position. Empty is NULL, \
                  \"\" is ''. Short records are padded with NULL and reported; long ones are \
                  refused.",
    arguments: &[
        required("file", Shape::InputPath, ""),
        required("table", Shape::Text, "Created if missing."),
        option(
            "format",
            Shape::Choice(&["csv", "tsv", "ascii"]),
            "Default: by file extension.",
        ),
        option(
            "skip",
            Shape::Integer {
                min: 0,
                max: i64::MAX,
            },
            "Records to skip first.",
        ),
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

/// SQLite's own limit, `SQLITE_MAX_COLUMN`.
const MOST_COLUMNS: usize = 2000;

/// Runs `import`.
pub(crate) fn run(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let file = arguments.required_text("file");
    let table = arguments.required_text("table");
    let format = arguments.text("format").unwrap_or_else(|| ending(file));
    let mut dialect = Dialect::named(format);
    if let Some(&[separator, end]) = arguments.text(SEPARATORS).map(str::as_bytes) {
        (dialect.separator, dialect.end) = (separator, end);
    }
    let files = context.engine.files();
    let job = Job {
        file,
        table,
        dialect,
        skip: arguments.integer("skip").unwrap_or_default().unsigned_abs(),
        headed: !arguments.flag("no_header"),
        most: usize::try_from(context.settings.engine.limits.memory_bytes / 8)
            .unwrap_or(usize::MAX),
        files: &files,
    };
    if context.settings.engine.readonly {
        return Err(Failure::new(
            Status::Readonly,
            "Cannot import: --readonly refuses every write.",
        ));
    }
    let database = context.engine.database(arguments.db())?;
    let present = database.look(|work| Target::find(work, table))?;
    let what = format!("import {file} into {table}");
    let mut output = Output::default();
    let report = match present {
        Some(target) => {
            let mut records = job.records(job.files.read(file)?)?;
            let mut first = Record::default();
            let any = job.read(&mut records, &mut first)?;
            if !any {
                return Err(job.nothing());
            }
            let plan = job.fit(&target, &first)?;
            database.change(&what, &mut output, |work| {
                let first = (!plan.headed).then_some(&first);
                job.fill(work, &plan, first, &mut records)
            })?
        }
        None => {
            let mut source = Source::new(&job)?;
            let plan = source.inspect(&job)?;
            let mut records = source.again(&job)?;
            let mut first = Record::default();
            job.read(&mut records, &mut first)?;
            database.change(&what, &mut output, |work| {
                let create = plan.create(table);
                work.write(&create)?
                    .raw_execute()
                    .map_err(|error| work.failure(&error, &create))?;
                let first = (!plan.headed).then_some(&first);
                job.fill(work, &plan, first, &mut records)
            })?
        }
    };
    report.add_to(file, table, &mut output);
    Ok(output)
}

/// The format that a file's extension stands for.
fn ending(file: &str) -> &'static str {
    let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending.to_ascii_lowercase().as_str() {
        "tsv" | "tab" => "tsv",
        "ascii" => "ascii",
        _ => "csv",
    }
}

/// The file's name in messages.
fn shown(file: &str) -> &str {
    if file == STREAM {
        "standard input"
    } else {
        file
    }
}

/// What is to be imported, and how.
struct Job<'a> {
    file: &'a str,
    table: &'a str,
    dialect: Dialect,
    skip: u64,
    headed: bool,
    /// The bytes that one record may have.
    most: usize,
    files: &'a Files,
}

/// An existing table.
struct Target {
    /// Its columns that can be written.
    columns: Vec<Column>,
}

struct Column {
    name: String,
    /// Whether a field that is empty is stored as '', NULL being refused.
    fills: bool,
}

impl Target {
    fn find(work: Work<'_>, table: &str) -> Result<Option<Self>, Failure> {
        let sql = "SELECT name, type, \"notnull\", dflt_value IS NULL FROM pragma_table_xinfo(?1) WHERE hidden = 0";
        let mut statement = work.own(sql)?;
        let rows = statement.query_map([table], |row| {
            let declared = text(row, 1)?.to_ascii_uppercase();
            let textual = ["CHAR", "CLOB", "TEXT"]
                .iter()
                .any(|part| declared.contains(part));
            let fills = row.get::<_, bool>(2)? && textual && !declared.contains("INT");
            Ok(Column {
                name: text(row, 0)?,
                fills,
            })
        });
        let columns = rows
            .and_then(Iterator::collect)
            .map_err(|error| work.failure(&error, sql))?;
        let target = Self { columns };
        Ok((!target.columns.is_empty()).then_some(target))
    }
}

/// Which columns are filled, and from what.
struct Plan {
    columns: Vec<Column>,
    /// The declared types, for a new table.
    kinds: Option<Vec<ColumnType>>,
    /// Whether the first record was a header.
    headed: bool,
}

impl Plan {
    fn create(&self, table: &str) -> String {
        let kinds = self.kinds.as_deref().unwrap_or_default();
        let columns: Vec<String> = self
            .columns
            .iter()
            .zip(kinds)
            .map(|(column, kind)| format!("{} {}", quote(&column.name), kind.declared()))
            .collect();
        format!("CREATE TABLE {}({})", quote(table), columns.join(", "))
    }

    fn insert(&self, table: &str) -> String {
        let names: Vec<String> = self
            .columns
            .iter()
            .map(|column| quote(&column.name))
            .collect();
        let places: Vec<String> = (1..=names.len()).map(|at| format!("?{at}")).collect();
        format!(
            "INSERT INTO {}({}) VALUES({})",
            quote(table),
            names.join(", "),
            places.join(", ")
        )
    }
}

impl Job<'_> {
    /// The records behind those to skip.
    fn records<R: BufRead>(&self, input: R) -> Result<Records<R>, Failure> {
        let mut records = Records::new(input, self.dialect, self.most)
            .map_err(|problem| self.problem(problem))?;
        let mut record = Record::default();
        for _ in 0..self.skip {
            if !self.read(&mut records, &mut record)? {
                break;
            }
        }
        Ok(records)
    }

    fn read<R: BufRead>(
        &self,
        records: &mut Records<R>,
        record: &mut Record,
    ) -> Result<bool, Failure> {
        records
            .next(record)
            .map_err(|problem| self.problem(problem))
    }

    fn problem(&self, problem: Problem) -> Failure {
        match problem {
            Problem::Read(error) => self.files.failure(&error),
            Problem::Malformed { line, what } => self.malformed(line, &what),
        }
    }

    fn malformed(&self, line: u64, what: &str) -> Failure {
        let unit = if self.dialect.end == b'\n' {
            "Line"
        } else {
            "Record"
        };
        Failure::new(
            Status::Syntax,
            format!(
                "{unit} {line} of {}: {what}. Nothing was imported.",
                shown(self.file)
            ),
        )
    }

    fn nothing(&self) -> Failure {
        Failure::new(
            Status::Syntax,
            format!("{} contains no records to import.", shown(self.file)),
        )
    }

    fn too_many(&self, record: &Record, columns: usize) -> Failure {
        self.malformed(
            record.line,
            &format!("{} fields, but there are {columns} columns", record.len()),
        )
        .hint("Quote fields that contain the separator, or choose another format.")
    }

    /// How the records go into an existing table.
    fn fit(&self, target: &Target, first: &Record) -> Result<Plan, Failure> {
        let named: Vec<Option<usize>> = (0..first.len())
            .map(|index| {
                let name = first.field(index)?.trim();
                target
                    .columns
                    .iter()
                    .position(|column| column.name.eq_ignore_ascii_case(name))
            })
            .collect();
        let mut chosen: Vec<usize> = named.iter().copied().flatten().collect();
        let all = chosen.len() == first.len();
        chosen.sort_unstable();
        chosen.dedup();
        let headed = self.headed && all && chosen.len() == first.len();
        let copy = |at: usize| Column {
            name: target.columns[at].name.clone(),
            fills: target.columns[at].fills,
        };
        let columns = if headed {
            named.into_iter().flatten().map(copy).collect()
        } else {
            (0..target.columns.len()).map(copy).collect()
        };
        Ok(Plan {
            columns,
            kinds: None,
            headed,
        })
    }

    /// Inserts `first`, if it is data, and all records that follow.
    fn fill<R: BufRead>(
        &self,
        work: Work<'_>,
        plan: &Plan,
        first: Option<&Record>,
        records: &mut Records<R>,
    ) -> Result<Report, Failure> {
        let mut report = Report::new(plan);
        let sql = plan.insert(self.table);
        let mut insert = work.write(&sql)?;
        let mut next = Record::default();
        let mut record = first;
        loop {
            if let Some(record) = record {
                if record.is_blank() && plan.columns.len() > 1 {
                    report.blank += 1;
                } else {
                    if record.len() > plan.columns.len() {
                        return Err(self.too_many(record, plan.columns.len()));
                    }
                    for (index, column) in plan.columns.iter().enumerate() {
                        let at = index + 1;
                        match record.field(index) {
                            Some(field) => insert.raw_bind_parameter(at, field),
                            None if column.fills && index < record.len() => {
                                insert.raw_bind_parameter(at, "")
                            }
                            None => insert.raw_bind_parameter(at, rusqlite::types::Null),
                        }
                        .map_err(|error| work.failure(&error, &sql))?;
                    }
                    insert.raw_execute().map_err(|error| {
                        let failure = work.failure(&error, &sql);
                        Failure {
                            message: format!(
                                "Line {} of {}: {} Nothing was imported.",
                                record.line, self.file, failure.message
                            ),
                            ..failure
                        }
                    })?;
                    report.count(record, plan.columns.len());
                }
            }
            if !self.read(records, &mut next)? {
                return Ok(report);
            }
            record = Some(&next);
        }
    }
}

/// A file that is read twice: first to see what its columns hold.
enum Source {
    /// It can be opened again.
    File,
    /// Standard input, copied into a temporary file as it is read.
    Stream(Box<Spool>),
}

impl Source {
    fn new(job: &Job<'_>) -> Result<Self, Failure> {
        Ok(if job.file == STREAM {
            Self::Stream(Box::new(job.files.spool()?))
        } else {
            Self::File
        })
    }

    /// Reads all of it for names, types and mistakes.
    fn inspect(&mut self, job: &Job<'_>) -> Result<Plan, Failure> {
        let reader = job.files.read(job.file)?;
        match self {
            Self::File => inspect(job, reader),
            Self::Stream(spool) => {
                let mut reader = reader;
                // All of it first: a record is read in pieces that end anywhere.
                copy(job.files, &mut reader, spool)?;
                let again = spool.read().map_err(|error| job.files.failure(&error))?;
                inspect(job, again)
            }
        }
    }

    fn again<'s>(&'s mut self, job: &Job<'_>) -> Result<Records<Box<dyn BufRead + 's>>, Failure> {
        let reader: Box<dyn BufRead + 's> = match self {
            Self::File => Box::new(job.files.read(job.file)?),
            Self::Stream(spool) => {
                Box::new(spool.read().map_err(|error| job.files.failure(&error))?)
            }
        };
        job.records(reader)
    }
}

fn copy(files: &Files, from: &mut Reader, to: &mut Spool) -> Result<(), Failure> {
    loop {
        let piece = from.fill_buf().map_err(|error| files.failure(&error))?;
        if piece.is_empty() {
            return to.flush().map_err(|error| files.failure(&error));
        }
        let length = piece.len();
        to.write_all(piece).map_err(|error| files.failure(&error))?;
        from.consume(length);
    }
}

fn inspect<R: BufRead>(job: &Job<'_>, reader: R) -> Result<Plan, Failure> {
    let mut records = job.records(reader)?;
    let mut record = Record::default();
    if !job.read(&mut records, &mut record)? {
        return Err(job.nothing());
    }
    let width = record.len();
    if width > MOST_COLUMNS {
        return Err(job.malformed(
            record.line,
            &format!("{width} fields, but a table can have at most {MOST_COLUMNS} columns"),
        ));
    }
    let header = (0..width).map(|index| record.field(index).filter(|_| job.headed));
    let names = names(header);
    let mut kinds = vec![ColumnType::Nothing; width];
    let mut any = !job.headed;
    loop {
        if any {
            if record.len() > width {
                return Err(job.too_many(&record, width));
            }
            for (index, kind) in kinds.iter_mut().enumerate() {
                if *kind != ColumnType::Text
                    && let Some(field) = record.field(index)
                {
                    *kind = kind.join(ColumnType::of(field));
                }
            }
        }
        any = true;
        if !job.read(&mut records, &mut record)? {
            break;
        }
    }
    let columns = names
        .into_iter()
        .map(|name| Column { name, fills: false })
        .collect();
    Ok(Plan {
        columns,
        kinds: Some(kinds),
        headed: job.headed,
    })
}
