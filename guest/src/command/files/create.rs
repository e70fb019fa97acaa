//! `create`.

use crate::answer::failure::Failure;
use crate::answer::output::Output;
use crate::command::interface::argument::{Shape, required};
use crate::command::interface::arguments::Arguments;
use crate::command::interface::command::{Command, Effect, Group};
use crate::command::interface::context::Context;

/// `create` in the command table.
pub(crate) const COMMAND: Command = Command {
    name: "create",
    title: "Create database",
    group: Group::Files,
    summary: "Create a new, empty database file",
    description: "Create a new, empty database file below the root. An existing file is never \
                  changed.",
    arguments: &[required("path", Shape::OutputPath, "")],
    database: false,
    effect: Effect::Writes {
        destructive: false,
        idempotent: false,
    },
    core: false,
    run,
};

/// Runs `create`.
pub(crate) fn run(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let path = arguments.required_text("path");
    let staged_database = context.engine.staged_database(path, false)?;
    // Writes the header, and with it the first page.
    staged_database
        .connection()
        .execute_batch("BEGIN IMMEDIATE; COMMIT")
        .map_err(|error| staged_database.failure(&error))?;
    staged_database.publish()?;
    let mut output = Output {
        text: Some(format!("Created {path} (empty)\n")),
        ..Output::default()
    };
    output.extra.insert("db".into(), path.into());
    if context.settings.engine.root {
        let db = serde_json::Value::from(path);
        output
            .notes
            .push(format!("To use it, give the other tools db: {db}."));
    }
    Ok(output)
}
