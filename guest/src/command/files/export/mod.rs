//! `export`: a table or the rows of a statement, in a format that other programs read.

use rusqlite::types::ValueRef;

use super::text_output::{OUT, TextOutput};
use crate::answer::failure::{Failure, Status};
use crate::answer::output::Output;
use crate::answer::value::Value;
use crate::command::interface::argument::{OVERWRITE, Shape, option, positional};
use crate::command::interface::arguments::Arguments;
use crate::command::interface::command::{Command, Effect, Group};
use crate::command::interface::context::Context;
use crate::engine::database::work::Work;
use crate::engine::schema::catalogue::quote;
use crate::engine::schema::columns::{ColumnKind, columns};
use crate::engine::statement::params::Params;
use crate::render::mode::{Escape, Format, Mode, Printer};
use crate::storage::streams::STREAM;
use crate::text::count::count;

/// The formats, as the sqlite3 program names them.
pub(crate) const FORMATS: [&str; 8] = [
    "csv", "json", "tabs", "markdown", "insert", "quote", "line", "html",
];

/// `export` in the command table.
pub(crate) const COMMAND: Command = Command {
    name: "export",
    title: "Export",
    group: Group::Files,
    summary: "Write a table or the rows of a query as CSV, JSON or another format",
    description: "Write all rows of a table, or of one statement that reads, as csv or in another \
                  format; the answer is cut if too long. In csv, NULL is empty and '' is \"\".",
    arguments: &[
        positional("table", Shape::Text, "Table or view; or give sql."),
        option("sql", Shape::Sql, "One statement that reads."),
        option(
            "format",
            Shape::Choice(&FORMATS),
            "Default: by file extension, else csv.",
        ),
        OUT,
        OVERWRITE,
        option(
            "no_header",
            Shape::Flag,
            "No header line in csv, tabs, html.",
        ),
    ],
    database: true,
    effect: Effect::MayWrite,
    core: false,
    run,
};

/// Runs `export`.
pub(crate) fn run(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let (sql, table) = match (arguments.text("table"), arguments.text("sql")) {
        (Some(table), None) => (format!("SELECT * FROM {}", quote(table)), Some(table)),
        (None, Some(sql)) => (sql.to_owned(), None),
        _ => {
            return Err(Failure::new(
                Status::Syntax,
                "export takes either table or sql: give exactly one of them.",
            ));
        }
    };
    let mut text_output = TextOutput::open(context, arguments)?;
    let mut format = format(arguments, table, text_output.is_text());
    let limit = context.settings.output.text_bytes;
    let files = context.engine.files();
    let (rows, lost, cut, twice) = context.engine.database(arguments.db())?.look(|work| {
        let mut sql = sql;
        if format.mode == Mode::Insert
            && let Some(table) = table
            && let Some(stored) = stored(work, table)?
        {
            // What the table computes cannot be inserted, so the others are named.
            sql = stored;
            format.headers = true;
        }
        let mut statement = work.read(&sql, &Params::None)?;
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        if columns.is_empty() {
            return Err(Failure::new(
                Status::Syntax,
                "The statement returns no rows to export.",
            ));
        }
        let mut heads = columns.clone();
        if format.mode == Mode::Markdown {
            heads = heads.iter().map(|name| one_line(name)).collect();
        }
        let mut printer = Printer::new(&format, &heads);
        let failed = |error| files.failure(&error);
        let (mut count, mut lost) = (0_u64, vec![0_u64; columns.len()]);
        let mut cut = false;
        work.interrupt().phase("exporting", "row", None);
        let mut rows = statement.raw_query();
        let mut values = vec![Value::Null; columns.len()];
        while let Some(row) = rows.next().map_err(|error| work.failure(&error, &sql))? {
            for (index, value) in values.iter_mut().enumerate() {
                let found = row
                    .get_ref(index)
                    .map_err(|error| work.failure(&error, &sql))?;
                refill(value, found);
                lost[index] += u64::from(loses(format.mode, value));
                readable(format.mode, value);
            }
            printer.row(&mut text_output, &values).map_err(failed)?;
            if !text_output.row() {
                cut = true;
                break;
            }
            count += 1;
            work.interrupt().step();
        }
        if count == 0 {
            empty(&format, &columns, &mut text_output).map_err(failed)?;
        } else {
            printer.finish(&mut text_output).map_err(failed)?;
        }
        let lost: Vec<String> = columns
            .iter()
            .zip(lost)
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| format!("{count} in {name}"))
            .collect();
        let again = |at: &usize| columns[..*at].contains(&columns[*at]);
        let twice = (0..columns.len()).find(again);
        let twice = twice
            .filter(|_| format.mode == Mode::Json)
            .map(|at| columns[at].clone());
        Ok((count, lost, cut, twice))
    })?;
    let mut output = Output::default();
    let whole = text_output.finish(&files, &mut output)? && !cut;
    output.extra.insert("rows_written".into(), rows.into());
    if !whole {
        output.extra.insert("more".into(), true.into());
        // A mode that measures its columns has held them all back.
        let shown = if format.mode.aligned() {
            String::new()
        } else {
            format!("{} shown; ", count(rows, "row"))
        };
        output.notes.push(format!(
            "{shown}more rows exist than fit into {limit} bytes (--text): {}page with sql, LIMIT and OFFSET.",
            if context.takes(&COMMAND, OUT.name) {
                "give out to write them all to a file below the root, or "
            } else {
                ""
            }
        ));
    } else if arguments.text(OUT.name).is_some_and(|out| out != STREAM) {
        output
            .notes
            .push(format!("{} written.", count(rows, "row")));
    }
    if let Some(name) = twice {
        output.notes.push(format!(
            "Two columns are called {name}, of which most readers of JSON keep one: name them apart in sql \
             with AS."
        ));
    }
    if !lost.is_empty() {
        output.notes.push(format!(
            "Values that are not UTF-8 text but bytes: {}. This format cannot tell them apart; use \
             format insert or quote, which keep them.",
            lost.join(", ")
        ));
    }
    Ok(output)
}

/// How to read a table of which some columns are computed without those.
fn stored(work: Work<'_>, table: &str) -> Result<Option<String>, Failure> {
    let all =
        columns(work.connection()?, "main", table).map_err(|error| work.failure(&error, ""))?;
    let stored: Vec<String> = all
        .iter()
        .filter(|column| !matches!(column.kind, ColumnKind::Virtual | ColumnKind::Stored))
        .map(|column| quote(&column.name))
        .collect();
    Ok((stored.len() < all.len())
        .then(|| format!("SELECT {} FROM {}", stored.join(", "), quote(table))))
}

/// Whether a value is written in a form that does not say what it was.
fn loses(mode: Mode, value: &Value) -> bool {
    match value {
        Value::Blob(_) | Value::BadText(_) => !matches!(mode, Mode::Insert | Mode::Quote),
        _ => false,
    }
}

/// Lets what reads the format find the value: within its cell of a table in Markdown, and an infinity
/// as the number that reads as one.
fn readable(mode: Mode, value: &mut Value) {
    match value {
        Value::Text(text) if mode == Mode::Markdown && text.contains(['|', '\n', '\r']) => {
            *text = one_line(text);
        }
        Value::Real(number)
            if number.is_infinite() && !matches!(mode, Mode::Insert | Mode::Quote | Mode::Json) =>
        {
            let sign = if *number < 0.0 { "-" } else { "" };
            *value = Value::Text(format!("{sign}1e999"));
        }
        _ => {}
    }
}

/// A text as Markdown has it in a cell.
fn one_line(text: &str) -> String {
    let mut cell = String::with_capacity(text.len() + 4);
    let mut backslashes = 0;
    for character in text.replace("\r\n", "\n").chars() {
        match character {
            '|' => {
                // A backslash before the one of ours would make that one mean itself.
                cell.extend(std::iter::repeat_n('\\', backslashes + 1));
                cell.push('|');
            }
            '\n' | '\r' => cell.push_str("<br>"),
            other => cell.push(other),
        }
        backslashes = if character == '\\' {
            backslashes + 1
        } else {
            0
        };
    }
    cell
}

/// Puts a value in the place of another, in its memory if it can.
fn refill(place: &mut Value, value: ValueRef<'_>) {
    if let (Value::Text(text), ValueRef::Text(bytes)) = (&mut *place, value)
        && let Ok(new) = std::str::from_utf8(bytes)
    {
        text.clear();
        text.push_str(new);
    } else {
        *place = Value::from_sqlite(value);
    }
}

/// The requested format, by its name or by the file's extension.
fn format(arguments: &Arguments, table: Option<&str>, to_read: bool) -> Format {
    let name = arguments.text("format").unwrap_or_else(|| {
        let out = arguments.text(OUT.name).unwrap_or_default();
        let ending = out.rsplit_once('.').map_or("", |(_, ending)| ending);
        match ending.to_ascii_lowercase().as_str() {
            "json" => "json",
            "tsv" | "tab" => "tabs",
            "md" | "markdown" => "markdown",
            "sql" => "insert",
            "html" | "htm" => "html",
            _ => "csv",
        }
    });
    let mut format = Format::named(name).unwrap_or_default();
    format.headers = format.mode.aligned()
        || matches!(format.mode, Mode::Csv | Mode::Html) && !arguments.flag("no_header");
    format.escape = match format.mode {
        Mode::Insert | Mode::Quote if to_read => Escape::Unseen,
        _ => Escape::Off,
    };
    if let Some(table) = table {
        format.table = table.to_owned();
    }
    if to_read && name == "csv" {
        format.row_separator = "\n".into();
    }
    format
}

/// What stands for no rows at all, so that a program can read it.
fn empty(format: &Format, columns: &[String], text_output: &mut TextOutput) -> std::io::Result<()> {
    if format.mode == Mode::Json {
        return std::io::Write::write_all(text_output, b"[]\n");
    }
    if !format.headers || format.mode != Mode::Csv {
        return Ok(());
    }
    let names: Vec<Value> = columns.iter().cloned().map(Value::Text).collect();
    let bare = Format {
        headers: false,
        ..format.clone()
    };
    let mut printer = Printer::new(&bare, columns);
    printer.row(text_output, &names)?;
    printer.finish(text_output)
}

#[cfg(test)]
mod tests;
