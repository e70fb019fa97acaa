//! `exec`: one statement that may write.

use super::Context;
use super::arguments::Arguments;
use super::output::Output;
use super::query::params;
use super::status::Failure;

/// Runs the command.
///
/// # Errors
///
/// What [`Database::exec`](crate::engine::database::Database::exec) refuses, and `params` that cannot be bound.
pub fn run(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let params = params(arguments)?;
    let sql = arguments.required_text("sql");
    context.engine.database(arguments.db())?.exec(sql, &params)
}
