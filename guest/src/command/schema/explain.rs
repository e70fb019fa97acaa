//! `explain`: how SQLite would run a statement, and what it took if it is run.

use crate::answer::failure::Failure;
use crate::answer::output::Output;
use crate::command::interface::argument::{PARAMS, Shape, option, required};
use crate::command::interface::arguments::Arguments;
use crate::command::interface::command::{Command, Effect, Group};
use crate::command::interface::context::Context;
use crate::command::sql::query::params;

/// `explain` in the command table.
pub(crate) const COMMAND: Command = Command {
    name: "explain",
    title: "Explain",
    group: Group::Schema,
    summary: "Show how a statement would run, or what each step took",
    description: "Show the query plan of one SQL statement as a tree: which tables are scanned, \
                  which indexes are used, which would help. The statement may write: it is not \
                  run, or with run rolled back.",
    arguments: &[
        required("sql", Shape::Sql, "One statement."),
        PARAMS,
        option(
            "run",
            Shape::Flag,
            "Run it, keep nothing, and report the rows of each step.",
        ),
    ],
    database: true,
    effect: Effect::Reads,
    core: true,
    run,
};

/// Runs the command.
///
/// # Errors
///
/// What [`Database::explain`](crate::engine::database::Database::explain) refuses, and `params` that cannot be bound.
pub(crate) fn run(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let params = params(arguments)?;
    let sql = arguments.required_text("sql");
    let database = context.engine.database(arguments.db())?;
    match arguments.flag("run") {
        true => database.explain_run(sql, &params),
        false => database.explain(sql, &params),
    }
}
