//! The three tools of `--tools select`, for a client that should only look.

use super::arguments::{Argument, Shape};
use super::pending;
use super::table::{Command, Effect, Group};

/// Rows of `run_select` when the call does not say.
pub const DEFAULT_ROWS: u32 = 50;
/// Rows of `run_select` at most.
pub const MOST_ROWS: u32 = 200;

/// Served by `--tools select`, and only there.
pub static SELECT: [Command; 3] = [
    Command {
        name: "list_tables",
        title: "List tables",
        group: Group::Select,
        summary: "List tables and views with their row counts",
        description: "The tables and views of the database, with their row counts.",
        arguments: &[],
        database: true,
        effect: Effect::Reads,
        core: false,
        run: pending::run,
    },
    Command {
        name: "describe_table",
        title: "Describe table",
        group: Group::Select,
        summary: "Describe one table, with three sample rows",
        description: "The columns of one table or view with their types, and three sample rows.",
        arguments: &[Argument {
            name: "table",
            summary: "Its name, unquoted.",
            shape: Shape::Text,
            required: true,
            positional: true,
        }],
        database: true,
        effect: Effect::Reads,
        core: false,
        run: pending::run,
    },
    Command {
        name: "run_select",
        title: "Run SELECT",
        group: Group::Select,
        summary: "Run one SELECT or WITH",
        description: "Run one SQL SELECT or WITH statement that reads. Without a limit 50 rows \
                      come; a limit over 200 is rejected.",
        arguments: &[
            Argument {
                name: "sql",
                summary: "One SELECT or WITH statement.",
                shape: Shape::Text,
                required: true,
                positional: true,
            },
            Argument {
                name: "limit",
                summary: "Rows at most.",
                shape: Shape::Integer {
                    min: 0,
                    max: MOST_ROWS as i64,
                },
                required: false,
                positional: false,
            },
        ],
        database: true,
        effect: Effect::Reads,
        core: false,
        run: pending::run,
    },
];
