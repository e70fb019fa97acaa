//! `batch`: several statements in one transaction, all or nothing.

use super::exec::ending;
use crate::answer::failure::Failure;
use crate::answer::output::Output;
use crate::command::interface::argument::{DRY_RUN, Shape, required};
use crate::command::interface::arguments::Arguments;
use crate::command::interface::command::{Command, Group, WRITES};
use crate::command::interface::context::Context;

/// `batch` in the command table.
pub(crate) const COMMAND: Command = Command {
    name: "batch",
    title: "Batch",
    group: Group::Sql,
    summary: "Run several statements, all or nothing",
    description: "Run several SQL statements, separated by semicolons, in one transaction: \
                  all of them or, at the first error, none. No BEGIN, COMMIT or params.",
    arguments: &[required("sql", Shape::Sql, "The statements."), DRY_RUN],
    database: true,
    effect: WRITES,
    core: true,
    run,
};

/// Runs the command.
///
/// # Errors
///
/// What [`Database::batch`](crate::engine::database::Database::batch) refuses.
pub(crate) fn run(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let sql = arguments.required_text("sql");
    context
        .engine
        .database(arguments.db())?
        .batch_to(sql, ending(arguments))
}
