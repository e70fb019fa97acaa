//! Dot commands that set how the shell works, show it, or end it.

use std::io::Write;

use super::state::Plan;
use super::{LineError, Shell, ShellContext, error, words};
use crate::engine::connection::db_status::counters;
use crate::render::mode::{Escape, NAMES};

/// The truth of the only word. Any other word counts as no, with a warning.
fn flag(given: &[String], cx: &mut ShellContext<'_>) -> Result<bool, LineError> {
    let [word] = given else {
        return Err(LineError::Usage);
    };
    truth(word, cx)
}

fn truth(word: &str, cx: &mut ShellContext<'_>) -> Result<bool, LineError> {
    if let Some(truth) = words::truth(word) {
        return Ok(truth);
    }
    cx.console.complain(&format!(
        "ERROR: Not a boolean value: \"{word}\". Assuming \"no\"."
    ))?;
    Ok(false)
}

pub(super) fn bail(
    shell: &mut Shell,
    given: &[String],
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    shell.state.bail = flag(given, cx)?;
    Ok(())
}

pub(super) fn changes(
    shell: &mut Shell,
    given: &[String],
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    shell.state.changes = flag(given, cx)?;
    Ok(())
}

pub(super) fn echo(
    shell: &mut Shell,
    given: &[String],
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    shell.state.echo = flag(given, cx)?;
    Ok(())
}

pub(super) fn headers(
    shell: &mut Shell,
    given: &[String],
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    shell.state.format.headers = flag(given, cx)?;
    shell.state.headers_set = true;
    Ok(())
}

pub(super) fn stats(
    shell: &mut Shell,
    given: &[String],
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    if given.is_empty() {
        let counters = shell.database(cx.context)?.inspect(counters)?;
        let mut out = shell.out(cx);
        for (name, value) in counters {
            writeln!(out, "{name:<36} {value}")?;
        }
        return Ok(());
    }
    shell.state.stats = flag(given, cx)?;
    Ok(())
}

pub(super) fn timer(
    shell: &mut Shell,
    given: &[String],
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    shell.state.timer = flag(given, cx)?;
    Ok(())
}

pub(super) fn eqp(
    shell: &mut Shell,
    given: &[String],
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    shell.state.plan = match given {
        [word] if word == "full" => Plan::Full,
        [word] if word == "trigger" => Plan::Trigger,
        [word] if truth(word, cx)? => Plan::On,
        [_] => Plan::Off,
        _ => return Err(LineError::Usage),
    };
    Ok(())
}

pub(super) fn explain(
    shell: &mut Shell,
    given: &[String],
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    shell.state.explain = match given {
        [] => true,
        [word] if word == "auto" => true,
        [word] => truth(word, cx)?,
        _ => return Err(LineError::Usage),
    };
    Ok(())
}

pub(super) fn exit(
    _: &mut Shell,
    given: &[String],
    _: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    let code = given.first().and_then(|word| word.parse::<i64>().ok());
    // As the operating system takes it: its low byte.
    let code = code.unwrap_or(0).to_le_bytes()[0];
    Err(LineError::Quit(code))
}

pub(super) fn quit(_: &mut Shell, _: &[String], _: &mut ShellContext<'_>) -> Result<(), LineError> {
    Err(LineError::Quit(0))
}

pub(super) fn fuel(
    shell: &mut Shell,
    _: &[String],
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    let (used, budget) = (shell.fuel, cx.context.settings.engine.limits.fuel);
    writeln!(shell.out(cx), "fuel: {used} of {budget} (--fuel)")?;
    Ok(())
}

pub(super) fn print(
    shell: &mut Shell,
    given: &[String],
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    writeln!(shell.out(cx), "{}", given.join(" "))?;
    Ok(())
}

pub(super) fn nullvalue(
    shell: &mut Shell,
    given: &[String],
    _: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    let [word] = given else {
        return Err(LineError::Usage);
    };
    shell.state.format.nullvalue.clone_from(word);
    Ok(())
}

pub(super) fn separator(
    shell: &mut Shell,
    given: &[String],
    _: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    let (column, row) = match given {
        [column] => (column, None),
        [column, row] => (column, Some(row)),
        _ => return Err(LineError::Usage),
    };
    let format = &mut shell.state.format;
    format.column_separator.clone_from(column);
    if let Some(row) = row {
        format.row_separator.clone_from(row);
    }
    Ok(())
}

pub(super) fn width(
    shell: &mut Shell,
    given: &[String],
    _: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    shell.state.format.widths = given.iter().map(|word| word.parse().unwrap_or(0)).collect();
    Ok(())
}

/// The mode that a word stands for: its name, its plural, or how it starts.
fn mode_name(word: &str) -> Option<&'static str> {
    const ORDER: [&str; 15] = [
        "line", "column", "list", "html", "tcl", "csv", "tabs", "insert", "quote", "ascii",
        "markdown", "table", "box", "qbox", "json",
    ];
    let word = match word {
        "lines" | "columns" => &word[..word.len() - 1],
        word => word,
    };
    let starts = |name: &&&str| !word.is_empty() && name.starts_with(word);
    ORDER.iter().find(starts).copied()
}

pub(super) fn mode(
    shell: &mut Shell,
    given: &[String],
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    if given.is_empty() {
        let mode = described(shell);
        writeln!(shell.out(cx), "current output mode: {mode}")?;
        return Ok(());
    }
    let mut format = shell.state.format.clone();
    let mut plain = 0;
    let mut given = given.iter();
    while let Some(word) = given.next() {
        match word.strip_prefix("--").or_else(|| word.strip_prefix('-')) {
            Some("wrap") => {
                let number = given.next().and_then(|word| word.parse().ok());
                format.wrap = number.ok_or_else(|| error("--wrap takes a number of characters"))?;
            }
            Some("wordwrap") => {
                let word = given.next();
                let word = word.ok_or_else(|| error("--wordwrap takes on or off"))?;
                format.word_wrap = truth(word, cx)?;
            }
            Some("ww") => format.word_wrap = true,
            Some("quote") => (format.quote, format.nullvalue) = (true, "NULL".into()),
            Some("noquote") => format.quote = false,
            Some("escape") => {
                let word = given.next();
                let found = ESCAPES
                    .iter()
                    .find(|(name, _)| word.is_some_and(|word| word == name));
                let found = found.ok_or_else(|| error("--escape takes off, ascii or symbol"))?;
                format.escape = found.1;
            }
            Some(_) => {
                return Err(LineError::Said(format!(
                    "unknown option: {word}\noptions:\n  --escape off/ascii/symbol\n  --noquote\n  --quote\n  --wordwrap on/off\n  --wrap N\n  --ww"
                )));
            }
            None => {
                plain += 1;
                match plain {
                    1 => {
                        let name = mode_name(word).ok_or_else(|| {
                            error(format!("mode should be one of: {}", NAMES.join(" ")))
                        })?;
                        let headers = format.headers;
                        format.select(name);
                        if shell.state.headers_set {
                            format.headers = headers;
                        }
                    }
                    2 => format.table.clone_from(word),
                    _ => return Err(error(format!("extra argument: \"{word}\""))),
                }
            }
        }
    }
    shell.state.format = format;
    Ok(())
}

/// The mode and what is not usual about it.
fn described(shell: &Shell) -> String {
    let format = &shell.state.format;
    let mut mode = format.mode.name().to_owned();
    if format.mode.aligned() {
        mode.push_str(&format!(
            " --wrap {} --wordwrap {} --{}quote",
            format.wrap,
            on_off(format.word_wrap),
            if format.quote { "" } else { "no" }
        ));
    }
    let escape = ESCAPES.iter().find(|(_, escape)| *escape == format.escape);
    if let Some((name, _)) = escape.filter(|(_, escape)| *escape != Escape::Ascii) {
        mode.push_str(&format!(" --escape {name}"));
    }
    mode
}

/// What `.mode --escape` takes.
const ESCAPES: [(&str, Escape); 3] = [
    ("off", Escape::Off),
    ("ascii", Escape::Ascii),
    ("symbol", Escape::Symbol),
];

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// A text as C would write it.
fn escaped(text: &str) -> String {
    let mut out = Vec::new();
    // Writing to a Vec does not fail.
    let _ = crate::render::mode::c_string(&mut out, text.as_bytes());
    String::from_utf8_lossy(&out).into_owned()
}

pub(super) fn show(
    shell: &mut Shell,
    given: &[String],
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    if !given.is_empty() {
        return Err(LineError::Usage);
    }
    let state = &shell.state;
    let widths: String = state
        .format
        .widths
        .iter()
        .map(|width| format!("{width} "))
        .collect();
    let output = match &shell.redirect {
        Some(redirect) => redirect.name.clone(),
        None => "stdout".to_owned(),
    };
    let eqp = match state.plan {
        Plan::Off => "off",
        Plan::On => "on",
        Plan::Trigger => "trigger",
        Plan::Full => "full",
    };
    let lines = [
        ("echo", on_off(state.echo).to_owned()),
        ("eqp", eqp.to_owned()),
        (
            "explain",
            if state.explain { "auto" } else { "off" }.to_owned(),
        ),
        ("headers", on_off(state.format.headers).to_owned()),
        ("mode", described(shell)),
        ("nullvalue", escaped(&state.format.nullvalue)),
        ("output", output),
        ("colseparator", escaped(&state.format.column_separator)),
        ("rowseparator", escaped(&state.format.row_separator)),
        ("stats", on_off(state.stats).to_owned()),
        ("width", widths),
        ("filename", cx.context.settings.engine.title.clone()),
    ];
    let mut out = shell.out(cx);
    for (name, value) in lines {
        writeln!(out, "{name:>12}: {value}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_is_found_by_its_name_and_by_how_it_starts() {
        for name in NAMES {
            assert_eq!(mode_name(name), Some(name));
        }
        assert_eq!(mode_name("col"), Some("column"));
        assert_eq!(mode_name("columns"), Some("column"));
        assert_eq!(mode_name("md"), None);
    }
}
