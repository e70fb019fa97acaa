//! `query`: one statement that only reads.

use serde_json::Value;

use crate::answer::failure::Failure;
use crate::answer::output::Output;
use crate::command::interface::argument::{LIMIT, PARAMS, Shape, required};
use crate::command::interface::arguments::Arguments;
use crate::command::interface::command::{Command, Effect, Group};
use crate::command::interface::context::Context;
use crate::engine::statement::params::Params;
use crate::text::scan;

/// `query` in the command table.
pub(crate) const COMMAND: Command = Command {
    name: "query",
    title: "Query",
    group: Group::Sql,
    summary: "Run one statement that reads",
    description: "Run one SQL statement that reads (SELECT, WITH, VALUES, EXPLAIN, a PRAGMA that \
                  reads) and get its rows. Statements that write are refused. To write, use \
                  sqlarium_exec. Pass values through params, not inside the SQL. Returns 200 rows \
                  unless limit says otherwise, at most 10000, and reports if more rows exist. \
                  Text output cuts long cells and blobs; output json has them whole, if they fit.",
    arguments: &[required("sql", Shape::Sql, "One statement."), PARAMS, LIMIT],
    database: true,
    effect: Effect::Reads,
    core: true,
    run,
};

/// Runs the command.
///
/// # Errors
///
/// What [`Database::query`](crate::engine::database::Database::query) refuses, and `params` that cannot be bound.
pub(crate) fn run(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let params = params(arguments)?;
    // The table lets nothing through that does not fit.
    let limit = arguments
        .integer("limit")
        .map(|limit| u32::try_from(limit).unwrap_or(u32::MAX));
    let sql = arguments.required_text("sql");
    let mut output = context
        .engine
        .database(arguments.db())?
        .query(sql, &params, limit)?;
    output.notes.extend(vectors(arguments, sql));
    Ok(output)
}

/// That arrays among the values were bound as vectors, where the statement does not look as if they
/// were meant to be.
pub(super) fn vectors(arguments: &Arguments, sql: &str) -> Option<String> {
    let params = arguments.json("params")?;
    let all: Vec<&Value> = match params {
        Value::Array(all) => all.iter().collect(),
        Value::Object(all) => all.values().collect(),
        _ => return None,
    };
    if !all.into_iter().any(Value::is_array)
        || scan::words(sql).any(|word| word.starts_with("vec") || word == "match")
    {
        return None;
    }
    Some(
        "An array of numbers among params is bound as a vector, a blob of 32-bit floats. For a list, bind \
         its JSON as a string: IN (SELECT value FROM json_each(?1))."
            .into(),
    )
}

/// The values that the call gives for its statement's parameters.
pub(in crate::command) fn params(arguments: &Arguments) -> Result<Params, Failure> {
    arguments
        .json("params")
        .map_or(Ok(Params::None), Params::from_json)
}
