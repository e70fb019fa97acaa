//! Dot commands that are commands of the table.

use std::cell::RefCell;
use std::io::Write;
use std::rc::Rc;

use serde_json::{Map, Value};

use super::console::Streams;
use super::{LineError, Shell, ShellContext, error};
use crate::answer::output::Output;
use crate::command::files::dump;
use crate::command::files::export::FORMATS;
use crate::command::files::import::SEPARATORS;
use crate::command::interface::arguments::Arguments;
use crate::render::mode::{Format, Mode};
use crate::storage::streams::STREAM;

/// Runs a command of the table with these arguments, and prints what it says.
fn call(
    shell: &mut Shell,
    name: &str,
    given: Map<String, Value>,
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    let output = invoke(shell, name, given, Map::new(), cx)?;
    say(shell, output, cx)
}

fn say(shell: &mut Shell, output: Output, cx: &mut ShellContext<'_>) -> Result<(), LineError> {
    let mut out = shell.out(cx);
    if let Some(text) = output.text {
        write!(out, "{text}")?;
    }
    for note in output.notes {
        writeln!(out, "{note}")?;
    }
    Ok(())
}

/// Runs a command with arguments that anyone can give, and with some that only a shell can.
fn invoke(
    shell: &mut Shell,
    name: &str,
    mut given: Map<String, Value>,
    own: Map<String, Value>,
    cx: &mut ShellContext<'_>,
) -> Result<Output, LineError> {
    let Some(command) = cx.context.registry.find(name) else {
        return Err(error(format!("there is no command {name}")));
    };
    if let Some(db) = &shell.db {
        given.insert("db".into(), db.as_str().into());
    }
    let mut arguments = Arguments::check(command, &given, &cx.context.settings.engine, true)?;
    for (name, value) in own {
        arguments = arguments.with(&name, value);
    }
    Ok((command.run)(cx.context, &arguments)?)
}

/// Words apart from options; an option is known by its name with one dash or two.
struct Words<'a> {
    plain: Vec<&'a str>,
    options: Vec<&'a str>,
}

impl<'a> Words<'a> {
    fn of(given: &'a [String]) -> Self {
        let (options, plain): (Vec<&str>, Vec<&str>) = given
            .iter()
            .map(String::as_str)
            .partition(|word| word.len() > 1 && word.starts_with('-'));
        Self {
            plain,
            options: options
                .into_iter()
                .map(|option| option.trim_start_matches('-'))
                .collect(),
        }
    }

    fn has(&self, option: &str) -> bool {
        self.options.contains(&option)
    }

    /// Whether there is no option but these.
    fn only(&self, known: &[&str]) -> bool {
        self.options.iter().all(|option| known.contains(option))
    }
}

fn flags(words: &Words<'_>, names: &[(&str, &str)]) -> Map<String, Value> {
    names
        .iter()
        .filter(|(option, _)| words.has(option))
        .map(|(_, argument)| ((*argument).to_owned(), Value::Bool(true)))
        .collect()
}

/// `.backup`; the database is `main`, named or not.
pub(super) fn backup(
    shell: &mut Shell,
    given: &[String],
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    let words = Words::of(given);
    let file = match words.plain.as_slice() {
        [file] | ["main", file] if words.only(&["overwrite"]) => *file,
        _ => return Err(LineError::Usage),
    };
    let mut arguments = flags(&words, &[("overwrite", "overwrite")]);
    arguments.insert("file".into(), file.into());
    call(shell, "backup", arguments, cx)
}

/// `.restore`.
pub(super) fn restore(
    shell: &mut Shell,
    given: &[String],
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    let words = Words::of(given);
    let file = match words.plain.as_slice() {
        [file] | ["main", file] if words.only(&["overwrite"]) => *file,
        _ => return Err(LineError::Usage),
    };
    if shell.database(cx.context)?.in_transaction() {
        return Err(error("a transaction is open; COMMIT or ROLLBACK it first"));
    }
    let mut arguments = flags(&words, &[("overwrite", "overwrite")]);
    if cx.context.audience.is_person() {
        // The sqlite3 program does not ask either.
        arguments.insert("overwrite".into(), true.into());
    }
    arguments.insert("file".into(), file.into());
    call(shell, "restore", arguments, cx)
}

/// `.import`. The format is that of an option, or else what the separators in force make.
pub(super) fn import(
    shell: &mut Shell,
    given: &[String],
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    let mut rest = given.to_vec();
    let mut arguments = Map::new();
    if let Some(at) = rest
        .iter()
        .position(|word| word.trim_start_matches('-') == "skip")
    {
        let Some(number) = rest.get(at + 1).and_then(|word| word.parse::<i64>().ok()) else {
            return Err(LineError::Usage);
        };
        arguments.insert("skip".into(), number.into());
        rest.drain(at..at + 2);
    }
    let words = Words::of(&rest);
    let [file, table] = words.plain.as_slice() else {
        return Err(LineError::Usage);
    };
    if !words.only(&["csv", "tsv", "ascii", "no-header", "v"]) {
        return Err(LineError::Usage);
    }
    let chosen = ["csv", "tsv", "ascii"]
        .into_iter()
        .find(|name| words.has(name));
    let mut own = Map::new();
    let format = &shell.state.format;
    let format = match chosen {
        // As in the sqlite3 program: nothing is found out.
        Some("csv") => {
            arguments.insert("separator".into(), ",".into());
            "csv"
        }
        Some(format) => format,
        None => {
            own.insert(SEPARATORS.into(), separators(format)?.into());
            match format.mode {
                Mode::Ascii => "ascii",
                _ => "csv",
            }
        }
    };
    arguments.insert("format".into(), format.into());
    if words.has("no-header") {
        arguments.insert("no_header".into(), true.into());
    }
    arguments.insert("file".into(), (*file).into());
    arguments.insert("table".into(), (*table).into());
    let output = invoke(shell, "import", arguments, own, cx)?;
    if words.has("v") {
        return say(shell, output, cx);
    }
    // Like the sqlite3 program, it prints nothing unless it has something to report.
    for note in output.notes {
        cx.console.complain(&note)?;
    }
    Ok(())
}

/// What stands behind fields and behind records, if each is one byte.
fn separators(format: &Format) -> Result<String, LineError> {
    let row = match format.row_separator.as_str() {
        // What CSV is written with; it is read with either.
        "\r\n" => "\n",
        row => row,
    };
    for (what, separator) in [("column", format.column_separator.as_str()), ("row", row)] {
        match separator.len() {
            1 => {}
            0 => {
                return Err(error(format!(
                    "non-null {what} separator required for import"
                )));
            }
            _ => {
                return Err(error(format!(
                    "multi-character {what} separators not allowed for import"
                )));
            }
        }
    }
    Ok(format!("{}{row}", format.column_separator))
}

/// `.dump`. It goes where results go, however long it is; for a client of the protocol as far as it fits.
pub(super) fn dump_sql(
    shell: &mut Shell,
    given: &[String],
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    let words = Words::of(given);
    // Line breaks are always written as they are, which is what --newlines asks for.
    if !words.only(&["data-only", "newlines", "nosys", "preserve-rowids"]) {
        return Err(LineError::Usage);
    }
    let mut arguments = flags(&words, &[("data-only", "data_only")]);
    let mut own = flags(
        &words,
        &[
            ("nosys", dump::NO_SYSTEM),
            ("preserve-rowids", dump::ROWIDS),
        ],
    );
    own.insert(dump::PATTERNS.into(), words.plain.into());
    cx.console.flush()?;
    cx.context.outlet = match &shell.redirect {
        Some(redirect) => Some(redirect.file.clone()),
        None if cx.context.audience.is_person() => {
            Some(Rc::new(RefCell::new(Streams::new(cx.context.host))))
        }
        None => None,
    };
    if cx.context.outlet.is_some() {
        arguments.insert("out".into(), STREAM.into());
    }
    let result =
        invoke(shell, "dump", arguments, own, cx).and_then(|output| say(shell, output, cx));
    let flushed = match cx.context.outlet.take() {
        Some(outlet) => outlet.borrow_mut().flush(),
        None => Ok(()),
    };
    result?;
    Ok(flushed?)
}

/// `.export`: a table into a file.
pub(super) fn export(
    shell: &mut Shell,
    given: &[String],
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    let words = Words::of(given);
    let [table, file] = words.plain.as_slice() else {
        return Err(LineError::Usage);
    };
    let mut known = vec!["overwrite", "no-header"];
    known.extend(FORMATS);
    if !words.only(&known) {
        return Err(LineError::Usage);
    }
    let options = [("overwrite", "overwrite"), ("no-header", "no_header")];
    let mut arguments = flags(&words, &options);
    if let Some(format) = FORMATS.into_iter().find(|name| words.has(name)) {
        arguments.insert("format".into(), format.into());
    }
    arguments.insert("table".into(), (*table).into());
    arguments.insert("out".into(), (*file).into());
    call(shell, "export", arguments, cx)
}
