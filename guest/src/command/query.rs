//! `query`: one statement that only reads.

use super::Context;
use super::arguments::Arguments;
use super::output::Output;
use super::status::Failure;
use crate::engine::params::Params;

/// Runs the command.
///
/// # Errors
///
/// What [`Database::query`](crate::engine::database::Database::query) refuses, and `params` that cannot be bound.
pub fn run(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let params = params(arguments)?;
    // The table lets nothing through that does not fit.
    let limit = arguments
        .integer("limit")
        .map(|limit| u32::try_from(limit).unwrap_or(u32::MAX));
    let sql = arguments.required_text("sql");
    context
        .engine
        .database(arguments.db())?
        .query(sql, &params, limit)
}

/// The values that the call gives for its statement's parameters.
pub(super) fn params(arguments: &Arguments) -> Result<Params, Failure> {
    arguments
        .json("params")
        .map_or(Ok(Params::None), Params::from_json)
}
