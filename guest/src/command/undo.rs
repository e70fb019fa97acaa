//! `history` and `undo`: what the session has written, and taking the last of it back.

use serde_json::json;

use super::Context;
use super::arguments::{Arguments, LIMIT};
use super::catalogue::rows;
use super::output::Output;
use super::status::Failure;
use super::table::{Command, Effect, Group, WRITES};
use crate::engine::value::Value;

/// `history` in the command table.
pub const HISTORY: Command = Command {
    name: "history",
    title: "History",
    group: Group::Undo,
    summary: "List what this session has written",
    description: "The writes of this session, the latest first: number, time, command, what each \
                  changed by table, and whether it was undone.",
    arguments: &[LIMIT],
    database: true,
    effect: Effect::Reads,
    core: false,
    run: history,
};

/// `undo` in the command table.
pub const UNDO: Command = Command {
    name: "undo",
    title: "Undo",
    group: Group::Undo,
    summary: "Take the last write of this session back",
    description: "Take the last write of this session back, rows and schema. Refused, with \
                  everything left as it is, where later changes are in the way. Again: the write \
                  before it.",
    arguments: &[],
    database: true,
    effect: WRITES,
    core: false,
    run: undo,
};

/// Runs `history`.
fn history(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let limits = &context.settings.limits;
    let most = arguments
        .integer("limit")
        .map_or(limits.rows, |limit| {
            u32::try_from(limit).unwrap_or(u32::MAX)
        })
        .min(limits.max_rows);
    let (entries, dropped) = context.engine.database(arguments.db())?.past(most)?;
    let listed = entries
        .into_iter()
        .map(|entry| {
            let state = match &entry.beyond {
                Some(why) => format!("beyond undo: {why}"),
                None => entry.state.name().to_owned(),
            };
            vec![
                Value::Integer(entry.number),
                Value::Text(entry.at),
                Value::Text(entry.command),
                Value::Text(entry.summary),
                Value::Text(state),
                Value::Text(entry.sql),
            ]
        })
        .collect();
    let columns = [
        ("number", "INTEGER"),
        ("time", "TEXT"),
        ("command", "TEXT"),
        ("changes", "TEXT"),
        ("state", "TEXT"),
        ("sql", "TEXT"),
    ];
    let mut output = Output {
        rows: Some(rows(&columns, listed, most)),
        ..Output::default()
    };
    output.extra.insert("dropped".into(), json!(dropped));
    if dropped > 0 {
        output.notes.push(format!(
            "{dropped} older writes were dropped from the record, which was full."
        ));
    }
    Ok(output)
}

/// Runs `undo`.
fn undo(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    context.engine.database(arguments.db())?.undo()
}
