//! `create`.

use crate::answer::failure::Failure;
use crate::answer::output::Output;
use crate::command::spec::argument::{Shape, required};
use crate::command::spec::arguments::Arguments;
use crate::command::spec::command::{Command, Effect, Group};
use crate::command::spec::context::Context;

/// `create` in the command table.
pub const COMMAND: Command = Command {
    name: "create",
    title: "Create database",
    group: Group::Files,
    summary: "Create a new, empty database file",
    description: "Create a new, empty database file below the root. An existing file is never \
                  changed. Needs a server started with --root.",
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
pub fn run(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let path = arguments.required_text("path");
    let draft = context.engine.draft(path, false)?;
    // Writes the header, and with it the first page.
    draft
        .connection()
        .execute_batch("BEGIN IMMEDIATE; COMMIT")
        .map_err(|error| draft.failure(&error))?;
    draft.publish()?;
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
