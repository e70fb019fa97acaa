//! `explain`: how SQLite would run a statement, without running it.

use super::Context;
use super::arguments::Arguments;
use super::output::Output;
use super::status::Failure;

/// Runs the command.
///
/// # Errors
///
/// What [`Database::explain`](crate::engine::database::Database::explain) refuses.
pub fn run(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let sql = arguments.required_text("sql");
    context.engine.database(arguments.db())?.explain(sql)
}
