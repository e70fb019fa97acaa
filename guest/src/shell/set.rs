//! Dot commands that set how the shell works, show it, or end it.

use std::io::Write;

use super::state::Plan;
use super::{Refusal, Scene, Shell, error, words};
use crate::engine::connection::db_status::figures;
use crate::render::mode::{Escape, NAMES};

/// The truth of the only word. What is no truth value is taken for no, and said so.
fn flag(given: &[String], scene: &mut Scene<'_>) -> Result<bool, Refusal> {
    let [word] = given else {
        return Err(Refusal::Usage);
    };
    truth(word, scene)
}

fn truth(word: &str, scene: &mut Scene<'_>) -> Result<bool, Refusal> {
    if let Some(truth) = words::truth(word) {
        return Ok(truth);
    }
    scene.console.complain(&format!(
        "ERROR: Not a boolean value: \"{word}\". Assuming \"no\"."
    ))?;
    Ok(false)
}

pub fn bail(shell: &mut Shell, given: &[String], scene: &mut Scene<'_>) -> Result<(), Refusal> {
    shell.state.bail = flag(given, scene)?;
    Ok(())
}

pub fn changes(shell: &mut Shell, given: &[String], scene: &mut Scene<'_>) -> Result<(), Refusal> {
    shell.state.changes = flag(given, scene)?;
    Ok(())
}

pub fn echo(shell: &mut Shell, given: &[String], scene: &mut Scene<'_>) -> Result<(), Refusal> {
    shell.state.echo = flag(given, scene)?;
    Ok(())
}

pub fn headers(shell: &mut Shell, given: &[String], scene: &mut Scene<'_>) -> Result<(), Refusal> {
    shell.state.format.headers = flag(given, scene)?;
    shell.state.headers_set = true;
    Ok(())
}

pub fn stats(shell: &mut Shell, given: &[String], scene: &mut Scene<'_>) -> Result<(), Refusal> {
    if given.is_empty() {
        let figures = shell.database(scene.context)?.inspect(figures)?;
        let mut out = shell.out(scene);
        for (name, value) in figures {
            writeln!(out, "{name:<36} {value}")?;
        }
        return Ok(());
    }
    shell.state.stats = flag(given, scene)?;
    Ok(())
}

pub fn timer(shell: &mut Shell, given: &[String], scene: &mut Scene<'_>) -> Result<(), Refusal> {
    shell.state.timer = flag(given, scene)?;
    Ok(())
}

pub fn eqp(shell: &mut Shell, given: &[String], scene: &mut Scene<'_>) -> Result<(), Refusal> {
    shell.state.plan = match given {
        [word] if word == "full" => Plan::Full,
        [word] if word == "trigger" => Plan::Trigger,
        [word] if truth(word, scene)? => Plan::On,
        [_] => Plan::Off,
        _ => return Err(Refusal::Usage),
    };
    Ok(())
}

pub fn explain(shell: &mut Shell, given: &[String], scene: &mut Scene<'_>) -> Result<(), Refusal> {
    shell.state.explain = match given {
        [] => true,
        [word] if word == "auto" => true,
        [word] => truth(word, scene)?,
        _ => return Err(Refusal::Usage),
    };
    Ok(())
}

pub fn exit(_: &mut Shell, given: &[String], _: &mut Scene<'_>) -> Result<(), Refusal> {
    let code = given.first().and_then(|word| word.parse::<i64>().ok());
    // As the operating system takes it: its low byte.
    let code = code.unwrap_or(0).to_le_bytes()[0];
    Err(Refusal::Quit(code))
}

pub fn quit(_: &mut Shell, _: &[String], _: &mut Scene<'_>) -> Result<(), Refusal> {
    Err(Refusal::Quit(0))
}

pub fn fuel(shell: &mut Shell, _: &[String], scene: &mut Scene<'_>) -> Result<(), Refusal> {
    let (used, budget) = (shell.fuel, scene.context.settings.engine.limits.fuel);
    writeln!(shell.out(scene), "fuel: {used} of {budget} (--fuel)")?;
    Ok(())
}

pub fn print(shell: &mut Shell, given: &[String], scene: &mut Scene<'_>) -> Result<(), Refusal> {
    writeln!(shell.out(scene), "{}", given.join(" "))?;
    Ok(())
}

pub fn nullvalue(shell: &mut Shell, given: &[String], _: &mut Scene<'_>) -> Result<(), Refusal> {
    let [word] = given else {
        return Err(Refusal::Usage);
    };
    shell.state.format.nullvalue.clone_from(word);
    Ok(())
}

pub fn separator(shell: &mut Shell, given: &[String], _: &mut Scene<'_>) -> Result<(), Refusal> {
    let (column, row) = match given {
        [column] => (column, None),
        [column, row] => (column, Some(row)),
        _ => return Err(Refusal::Usage),
    };
    let format = &mut shell.state.format;
    format.column_separator.clone_from(column);
    if let Some(row) = row {
        format.row_separator.clone_from(row);
    }
    Ok(())
}

pub fn width(shell: &mut Shell, given: &[String], _: &mut Scene<'_>) -> Result<(), Refusal> {
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

pub fn mode(shell: &mut Shell, given: &[String], scene: &mut Scene<'_>) -> Result<(), Refusal> {
    if given.is_empty() {
        let mode = described(shell);
        writeln!(shell.out(scene), "current output mode: {mode}")?;
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
                format.word_wrap = truth(word, scene)?;
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
                return Err(Refusal::Said(format!(
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

pub fn show(shell: &mut Shell, given: &[String], scene: &mut Scene<'_>) -> Result<(), Refusal> {
    if !given.is_empty() {
        return Err(Refusal::Usage);
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
        ("filename", scene.context.settings.engine.title.clone()),
    ];
    let mut out = shell.out(scene);
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
