//! A call of a command: its arguments are checked, it is run, its answer is rendered.

use serde_json::{Map, Value};

use super::interface::argument::accepted;
use super::interface::arguments::{Arguments, wants_json};
use super::interface::command::{Command, Effect};
use super::interface::context::Context;
use crate::answer::failure::{Failure, Status};
use crate::engine::connection::db_status::heap_peak;
use crate::render::{self, Meter};

/// What a call of a command gives back, rendered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// For the reader: the text form, or the JSON form on one line if that was asked for.
    pub text: String,
    /// Whether it is the JSON form.
    pub json: bool,
    /// Why it was refused, if it was.
    pub failure: Option<Failure>,
    /// Whether it was done, but not all of it.
    pub failed: bool,
    /// Rows that it gave, before what is shown was cut.
    pub rows: u64,
    /// Rows inserted, updated or deleted.
    pub changes: u64,
}

impl Answer {
    /// A refusal without a command.
    pub fn refusal(failure: Failure) -> Self {
        Self {
            text: render::text::refusal(&failure),
            json: false,
            failure: Some(failure),
            failed: false,
            rows: 0,
            changes: 0,
        }
    }
}

/// Checks the arguments, runs the command, and renders what it answers.
pub fn invoke(command: &Command, given: &Map<String, Value>, context: &mut Context) -> Answer {
    context.engine.interrupt().name(command.name);
    heap_peak(true);
    // Also a call whose arguments are wrong is answered in the form it asks for.
    let json = wants_json(given);
    let person = context.audience.is_person();
    let result = Arguments::check(command, given, &context.settings.engine, person)
        .and_then(|arguments| (command.run)(context, &arguments))
        .map(|mut output| {
            output.notes.extend(context.engine.news());
            output
        })
        .map_err(|mut failure| {
            for news in context.engine.news().iter().rev() {
                failure.message = format!("{news} {}", failure.message);
            }
            failure
        })
        .map_err(|failure| context.audience.advise(context.registry, command, failure))
        .map_err(|failure| match person {
            true => unfinished(command, given, failure),
            false => failure,
        })
        .map_err(|failure| failure.brief(context.settings.output.text_bytes as usize / 3));
    if !person {
        let undo = context.settings.engine.undo.is_some();
        context.log.note(command, given, &result, undo);
    }
    let usage = context.engine.interrupt().usage();
    let limits = &context.settings.output;
    let advice = advice(command, context);
    let meter = Meter {
        elapsed: usage.time,
        fuel: usage.fuel,
        peak_memory: heap_peak(false),
    };
    let text = match (&result, json) {
        // A person's goes into a program, and has no line to fit.
        (Ok(output), true) if person => render::json::object(command.name, output, meter),
        (Ok(output), true) => {
            render::json::object_within(command.name, output, meter, limits, &advice)
        }
        (Ok(output), false) => render::text::render(&advice, output, limits),
        (Err(failure), true) => render::json::refusal(command.name, failure, meter),
        (Err(failure), false) => render::text::refusal(failure),
    };
    let output = result.as_ref().ok();
    let rows = output.and_then(|output| output.rows.as_ref());
    Answer {
        text,
        json,
        rows: rows.map_or(0, |rows| rows.rows.len() as u64),
        changes: output.and_then(|output| output.changes).unwrap_or(0),
        failed: result.as_ref().is_ok_and(|output| output.failed),
        failure: result.err(),
    }
}

/// Says to a person what is left of a command that was stopped.
fn unfinished(command: &Command, given: &Map<String, Value>, failure: Failure) -> Failure {
    if failure.status != Status::Interrupted || failure.hint.is_some() {
        return failure;
    }
    let printed = ["out", "file"]
        .iter()
        .any(|name| given.get(*name) == Some(&"-".into()));
    match command.effect {
        Effect::Reads => failure,
        // What it has copied into the database stays there, and changes nothing of what it holds.
        _ if command.name == "checkpoint" => failure,
        Effect::MayWrite if printed => {
            failure.hint("What was written to standard output is not whole.")
        }
        _ => failure.hint("Nothing was kept of it: the database and all files are as they were."),
    }
}

/// How to get what an answer had no room for, by what the command takes.
fn advice(command: &Command, context: &Context) -> String {
    let ways = [
        (
            "params",
            "ask for fewer columns, or page with LIMIT and OFFSET",
        ),
        ("pattern", "narrow it with pattern"),
        ("objects", "name fewer objects"),
        ("topic", "ask for one topic"),
        ("k", "ask for fewer with k"),
        ("out", "write it to a file (out)"),
    ];
    let accepted = accepted(
        command,
        &context.settings.engine,
        context.audience.is_person(),
    );
    let ways: Vec<&str> = ways
        .into_iter()
        .filter(|(argument, _)| accepted.iter().any(|taken| taken.name == *argument))
        .map(|(_, way)| way)
        .collect();
    match ways.is_empty() {
        true => "the owner can raise the budget.".to_owned(),
        false => format!("{}.", ways.join(", or ")),
    }
}
