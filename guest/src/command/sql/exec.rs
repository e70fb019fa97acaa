//! `exec`: one statement that may write.

use super::query::{params, vectors};
use crate::answer::failure::Failure;
use crate::answer::output::Output;
use crate::command::interface::argument::{DRY_RUN, PARAMS, Shape, required};
use crate::command::interface::arguments::Arguments;
use crate::command::interface::command::{Command, Group, WRITES};
use crate::command::interface::context::Context;
use crate::engine::database::WriteMode;

/// `exec` in the command table.
pub(crate) const COMMAND: Command = Command {
    name: "exec",
    title: "Execute",
    group: Group::Sql,
    summary: "Run one statement that writes",
    description: "Run one SQL statement that writes (INSERT, UPDATE, DELETE, CREATE, ALTER, DROP) \
                  and commit it. Returns the number of changed rows, the last rowid, and the rows \
                  of RETURNING. For several statements use \
                  sqlarium_batch. Refused: ATTACH, VACUUM INTO, \
                  extensions.",
    arguments: &[
        required("sql", Shape::Sql, "One statement."),
        PARAMS,
        DRY_RUN,
    ],
    database: true,
    effect: WRITES,
    core: true,
    run,
};

/// Runs the command.
///
/// # Errors
///
/// What [`Database::exec`](crate::engine::database::Database::exec) refuses, and `params` that cannot be bound.
pub(crate) fn run(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let params = params(arguments)?;
    let sql = arguments.required_text("sql");
    let mut output =
        context
            .engine
            .database(arguments.db())?
            .exec_to(sql, &params, ending(arguments))?;
    output.notes.extend(vectors(arguments, sql));
    Ok(output)
}

/// What the call wants done in the end.
pub(super) fn ending(arguments: &Arguments) -> WriteMode {
    if arguments.flag(DRY_RUN.name) {
        WriteMode::DryRun
    } else {
        WriteMode::Keep
    }
}
