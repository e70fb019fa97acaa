//! `explain`: how SQLite would run a statement, without running it.

use crate::answer::failure::Failure;
use crate::answer::output::Output;
use crate::command::interface::argument::{Shape, required};
use crate::command::interface::arguments::Arguments;
use crate::command::interface::command::{Command, Effect, Group};
use crate::command::interface::context::Context;

/// `explain` in the command table.
pub(crate) const COMMAND: Command = Command {
    name: "explain",
    title: "Explain",
    group: Group::Schema,
    summary: "Show how a statement would run, without running it",
    description: "Show the query plan of one SQL statement as a tree: which tables are scanned, \
                  which indexes are used. The statement may write: it is not run.",
    arguments: &[required("sql", Shape::Sql, "One statement.")],
    database: true,
    effect: Effect::Reads,
    core: true,
    run,
};

/// Runs the command.
///
/// # Errors
///
/// What [`Database::explain`](crate::engine::database::Database::explain) refuses.
pub(crate) fn run(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let sql = arguments.required_text("sql");
    context.engine.database(arguments.db())?.explain(sql)
}
