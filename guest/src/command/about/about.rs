//! `version` and `help`: what the server says about itself.

use std::fmt::Write as _;

use serde_json::json;

use crate::answer::failure::{Failure, Status};
use crate::answer::output::{Column, Output, Rows};
use crate::answer::value::Value;
use crate::command::interface::argument::{Argument, Shape, accepted, option, positional};
use crate::command::interface::arguments::Arguments;
use crate::command::interface::command::{Command, Effect, Group};
use crate::command::interface::context::Context;
use crate::command::interface::toolset::Toolset;
use crate::text::suggest::did_you_mean;

/// `version` in the command table.
pub(crate) const VERSION: Command = Command {
    name: "version",
    title: "Version",
    group: Group::About,
    summary: "Show the versions of sqlarium, SQLite and MCP",
    description: "Show the versions of sqlarium, SQLite and MCP.",
    arguments: &[],
    database: false,
    effect: Effect::Reads,
    core: false,
    run: version,
};

/// `help` in the command table.
pub(crate) const HELP: Command = Command {
    name: "help",
    title: "Help",
    group: Group::About,
    summary: "List the commands, or describe one",
    description: "List the commands; with topic, describe one command and its arguments.",
    arguments: &[
        positional("topic", Shape::Text, "Name of a command."),
        option("markdown", Shape::Flag, "The whole reference as Markdown."),
    ],
    database: false,
    effect: Effect::Reads,
    core: false,
    run: help,
};

/// Runs `version`.
pub(crate) fn version(context: &mut Context, _arguments: &Arguments) -> Result<Output, Failure> {
    let revisions = context.registry.revisions;
    let source = rusqlite::ffi::SQLITE_SOURCE_ID.to_str().unwrap_or_default();
    let mut output = Output {
        text: Some(format!(
            "sqlarium {}\nSQLite {} ({source})\nMCP {}\n",
            env!("CARGO_PKG_VERSION"),
            rusqlite::version(),
            revisions.join(", "),
        )),
        ..Output::default()
    };
    output
        .extra
        .insert("sqlarium".into(), env!("CARGO_PKG_VERSION").into());
    output
        .extra
        .insert("sqlite".into(), rusqlite::version().into());
    output
        .extra
        .insert("sqlite_source_id".into(), source.into());
    output.extra.insert("mcp".into(), json!(revisions));
    Ok(output)
}

/// Runs `help`.
pub(crate) fn help(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let served = context.audience.tools(context.registry);
    if arguments.flag("markdown") {
        return Ok(Output {
            text: Some(reference(&served, context)),
            ..Output::default()
        });
    }
    let Some(topic) = arguments.text("topic") else {
        return Ok(list(&served, arguments.wants_json()));
    };
    let command = served
        .commands()
        .find(|command| command.name == topic || command.is_tool(topic))
        .or_else(|| {
            context
                .registry
                .find(&topic.replace('_', "-"))
                .filter(|c| served.find(&c.tool_name()).is_some())
        });
    match command {
        Some(command) => Ok(Output {
            text: Some(page(command, context)),
            ..Output::default()
        }),
        None => {
            let names: Vec<&str> = served.commands().map(|command| command.name).collect();
            let advice = did_you_mean(topic, names.iter().copied())
                .unwrap_or_else(|| format!("The commands are: {}.", names.join(", ")));
            let shown: String = topic.chars().take(60).collect();
            Err(
                Failure::new(Status::NotFound, format!("There is no command {shown:?}."))
                    .hint(advice),
            )
        }
    }
}

/// The commands that are served, by group.
fn list(served: &Toolset, json: bool) -> Output {
    if json {
        let column = |name: &str| Column {
            name: name.into(),
            declared: String::new(),
        };
        let rows: Vec<Vec<Value>> = served
            .commands()
            .map(|command| {
                [command.name, command.group.name(), command.summary]
                    .map(|text| Value::Text(text.into()))
                    .to_vec()
            })
            .collect();
        let rows = Rows {
            total: Some(rows.len() as u64),
            columns: ["command", "group", "summary"].map(column).to_vec(),
            rows,
            ..Rows::default()
        };
        return Output {
            rows: Some(rows),
            ..Output::default()
        };
    }
    let width = served
        .commands()
        .map(|command| command.name.len())
        .max()
        .unwrap_or_default();
    let mut text = String::new();
    let mut group = None;
    for command in served.commands() {
        if group != Some(command.group) {
            let gap = if text.is_empty() { "" } else { "\n" };
            let _ = writeln!(text, "{gap}{}", command.group.name());
            group = Some(command.group);
        }
        let _ = writeln!(text, "  {:width$}  {}", command.name, command.summary);
    }
    text.push_str("\nhelp with a topic describes one command.\n");
    Output {
        text: Some(text),
        ..Output::default()
    }
}

/// All there is to know about one command.
fn page(command: &Command, context: &Context) -> String {
    let mut text = format!("{}: {}.\n\n", command.name, command.summary);
    let told = context
        .audience
        .told(context.registry, command, command.description);
    let _ = writeln!(text, "{told}\n");
    let _ = writeln!(
        text,
        "Tool: {}. {}",
        command.tool_name(),
        effect(command, context)
    );
    text.push_str("Arguments:\n");
    for argument in everything(command, context) {
        let _ = writeln!(text, "  {}{}", argument.name, details(argument));
    }
    text
}

/// The whole reference, as Markdown.
fn reference(served: &Toolset, context: &Context) -> String {
    let mut text = String::from(
        "# Commands\n\nEach command is an MCP tool, `sqlarium_<command>`, and a subcommand, \
         `sqlarium <command>`.\n",
    );
    let mut group: Option<Group> = None;
    for command in served.commands() {
        if group != Some(command.group) {
            let _ = write!(text, "\n## {}\n", command.group.name());
            group = Some(command.group);
        }
        let _ = write!(
            text,
            "\n### {}\n\n{}.\n\n{}\n\n{}\n\n",
            command.name,
            command.summary,
            context
                .audience
                .told(context.registry, command, command.description),
            effect(command, context)
        );
        for argument in everything(command, context) {
            let _ = writeln!(text, "- `{}`{}", argument.name, details(argument));
        }
    }
    text
}

/// What it takes from this reader; from a person always all that there is.
fn everything(command: &Command, context: &Context) -> Vec<&'static Argument> {
    let person = context.audience.is_person();
    let mut engine = context.settings.engine.clone();
    engine.root |= person;
    accepted(command, &engine, person)
}

fn effect(command: &Command, context: &Context) -> &'static str {
    let effect = match context.audience.is_person() {
        true => command.effect,
        false => command
            .effect_under(&context.settings.engine)
            .unwrap_or(command.effect),
    };
    match effect {
        Effect::Reads => "Reads only.",
        Effect::MayWrite
        | Effect::Writes {
            destructive: true, ..
        } => "Can change or replace existing data or files.",
        Effect::Writes {
            destructive: false, ..
        } => "Writes, but never removes data.",
    }
}

fn details(argument: &Argument) -> String {
    let shape = match argument.shape {
        Shape::Text | Shape::Sql | Shape::Names => "text".to_owned(),
        Shape::InputPath | Shape::OutputPath => "path".to_owned(),
        Shape::Integer { .. } => "whole number".to_owned(),
        Shape::Flag => "flag".to_owned(),
        Shape::Json => "array or object".to_owned(),
        Shape::Numbers => "array of numbers".to_owned(),
        Shape::Choice(words) => words.join(" or "),
    };
    let must = if argument.required { ", required" } else { "" };
    let summary = match (argument.name, argument.summary) {
        ("output", _) => ": an aligned table, or complete values as JSON.",
        (_, "") => "",
        (_, summary) => return format!(" ({shape}{must}): {summary}"),
    };
    format!(" ({shape}{must}){summary}")
}
