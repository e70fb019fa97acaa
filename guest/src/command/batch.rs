//! `batch`: several statements in one transaction, all or nothing.

use super::Context;
use super::arguments::Arguments;
use super::output::Output;
use super::status::Failure;

/// Runs the command.
///
/// # Errors
///
/// What [`Database::batch`](crate::engine::database::Database::batch) refuses.
pub fn run(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let sql = arguments.required_text("sql");
    context.engine.database(arguments.db())?.batch(sql)
}
