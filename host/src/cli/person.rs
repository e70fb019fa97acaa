//! Runs a command of the guest's table from the command line.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, ValueHint};
use serde_json::{Map, Value};
use signal_hook::consts::SIGINT;

use super::grants::FileArguments;
use super::options::Options;
use super::{Grant, REFUSED, USAGE, aborted, print};
use crate::sandbox::Sandbox;
use crate::sandbox::bindings::command::{Argument, Entry, Shape};
use crate::sandbox::bindings::server::Interruption;
use crate::sandbox::budget::Stop;
use crate::sandbox::person::run_command;
use crate::sandbox::runner::Runner;
use crate::terminal;

/// The arguments on the command line; the database comes as FILE or `--db`.
pub fn arguments(entry: &Entry) -> impl Iterator<Item = &Argument> {
    entry
        .arguments
        .iter()
        .filter(|argument| argument.name != "db")
}

/// An argument as the command line takes it: by its name, as a model gives it,
/// or by its place if it has one.
pub fn to_clap(argument: &Argument) -> impl Iterator<Item = Arg> {
    let placed = argument.positional;
    let by_place = placed.then(|| described(argument, Arg::new(argument.name.clone())));
    let long = argument.name.replace('_', "-");
    let mut by_name = Arg::new(flag(argument)).long(long.clone());
    if long != argument.name {
        // As a model writes it.
        by_name = by_name.alias(argument.name.clone());
    }
    let by_name = described(argument, by_name).hide(placed);
    by_place.into_iter().chain([by_name])
}

/// What clap knows an argument by that is given by its name.
fn flag(argument: &Argument) -> String {
    format!("--{}", argument.name)
}

fn described(argument: &Argument, arg: Arg) -> Arg {
    let mut arg = arg
        .help(argument.summary.clone())
        .value_name(argument.name.to_uppercase());
    if matches!(argument.shape, Shape::InputPath | Shape::OutputPath) {
        arg = arg.value_hint(ValueHint::FilePath);
    }
    match argument.shape {
        Shape::Flag => arg.action(ArgAction::SetTrue).num_args(0),
        _ if !argument.choices.is_empty() => arg.value_parser(argument.choices.clone()),
        _ => arg.allow_hyphen_values(true),
    }
}

/// Runs a command of the table from the command line.
pub fn run(
    sandbox: Sandbox,
    entry: &Entry,
    options: &Options,
    matches: &ArgMatches,
) -> Result<ExitCode> {
    // What stands in positions, in order: FILE comes first unless --db names it.
    let mut positions: Vec<OsString> = Vec::new();
    if entry.database {
        positions.extend(
            matches
                .get_one::<PathBuf>("FILE")
                .map(|file| file.clone().into()),
        );
    }
    for argument in arguments(entry).filter(|argument| argument.positional) {
        positions.extend(
            matches
                .get_one::<String>(&argument.name)
                .map(OsString::from),
        );
    }
    let mut positions = positions.into_iter();
    let file = match &options.db {
        Some(file) => Some(file.clone()),
        None if entry.database => positions.next().map(PathBuf::from),
        None => None,
    };
    if entry.database && file.is_none() {
        terminal::complain(format_args!(
            "{} needs a database: sqlarium {0} FILE, or --db FILE",
            entry.name
        ));
        return Ok(ExitCode::from(USAGE));
    }
    let mut given = Map::new();
    for argument in arguments(entry) {
        let flag = flag(argument);
        if matches!(argument.shape, Shape::Flag) {
            if matches.get_flag(&flag) {
                given.insert(argument.name.clone(), Value::Bool(true));
            }
            continue;
        }
        let mut text = matches.get_one::<String>(&flag).cloned();
        if text.is_none() && argument.positional {
            text = positions
                .next()
                .map(|text| text.into_string().ok().context("an argument is not UTF-8"))
                .transpose()?;
        }
        if let Some(text) = text {
            given.insert(argument.name.clone(), to_json(argument, text)?);
        }
    }
    if let Some(text) = positions.next() {
        terminal::complain(format_args!(
            "{} takes no more arguments: {}",
            entry.name,
            text.display()
        ));
        return Ok(ExitCode::from(USAGE));
    }
    let json = given.get("output").and_then(Value::as_str) == Some("json");
    let mut file_arguments = FileArguments::new(file.as_deref());
    for argument in arguments(entry) {
        file_arguments.add(argument, &mut given, json)?;
    }
    let streams = file_arguments.write_stdout();
    let options = unhurried(options, matches);
    let granted = Grant::new(&options, false, file.as_deref(), file_arguments.files)?;
    let settings = granted.command_settings();
    let storage = granted.storage;
    let given = Value::Object(given).to_string();
    // What goes to the terminal itself would be drawn over.
    let bar = !(streams && std::io::stdout().is_terminal());
    let runner = Runner::new(sandbox, granted.budgets)
        .with_storage(storage.clone())
        .with_console(bar);
    let interrupted = Arc::new(AtomicBool::new(false));
    let code = i32::from(ENDED_BY_SIGINT);
    signal_hook::flag::register_conditional_shutdown(SIGINT, code, interrupted.clone())?;
    signal_hook::flag::register(SIGINT, interrupted.clone())?;
    let stop = || {
        let pressed = interrupted.load(Ordering::Relaxed);
        pressed.then(|| Stop::Closing(INTERRUPTED.into()))
    };
    let outcome = run_command(runner, &settings, &entry.name, &given, stop);
    if storage.output_closed() {
        // Whoever closed the pipe has seen enough.
        return Ok(ExitCode::SUCCESS);
    }
    let pressed = interrupted.load(Ordering::Relaxed);
    if pressed && let Err(Interruption::Stopped(sentence)) = &outcome {
        // The guest had no time to say what it kept.
        terminal::complain(format_args!(
            "{sentence} An open transaction is rolled back when the database is opened next; no \
             unfinished file is left."
        ));
        return Ok(ExitCode::from(ENDED_BY_SIGINT));
    }
    match outcome.map_err(aborted)? {
        // Standard output is taken by what was asked for.
        Ok(text) if streams => {
            terminal::note(text);
            Ok(ExitCode::SUCCESS)
        }
        Ok(text) => print(&text),
        Err(failure) => {
            if failure.json && !streams {
                print(&failure.text)?;
            } else {
                terminal::complain(failure.text);
            }
            Ok(ExitCode::from(match (pressed, failure.usage) {
                (true, _) => ENDED_BY_SIGINT,
                (false, true) => USAGE,
                (false, false) => REFUSED,
            }))
        }
    }
}

/// The exit code of a command that Ctrl-C ends, as shells have it.
const ENDED_BY_SIGINT: u8 = 130;

/// What a command says that Ctrl-C ends. The second one ends the process at once.
const INTERRUPTED: &str = "Stopped by Ctrl-C.";

/// The options without the limits of time and work that nobody gave: those are for clients, and a person
/// can press Ctrl-C.
fn unhurried(options: &Options, matches: &ArgMatches) -> Options {
    let given = |flag| matches.value_source(flag) == Some(ValueSource::CommandLine);
    let mut options = options.clone();
    if !given("timeout") {
        options.budgets.timeout = Duration::from_secs(60 * 60 * 24 * 365);
    }
    if !given("fuel") {
        options.budgets.fuel = u64::MAX;
    }
    options
}

/// Text as it stands, also where it is JSON, which the guest reads digit by digit; a number for an integer.
fn to_json(argument: &Argument, text: String) -> Result<Value> {
    Ok(match argument.shape {
        Shape::Integer => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        Shape::Text | Shape::Flag | Shape::Json => Value::String(text),
        Shape::InputPath | Shape::OutputPath if text.is_empty() => {
            bail!("{} is empty: give the path of a file", argument.name)
        }
        Shape::InputPath | Shape::OutputPath => Value::String(text),
    })
}
