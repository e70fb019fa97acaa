//! Holds the place of commands that wait for the engine.

use super::Context;
use super::arguments::Arguments;
use super::output::Output;
use super::status::{Failure, Status};

/// Answers that the command is not there yet.
pub fn run(_context: &mut Context, _arguments: &Arguments) -> Result<Output, Failure> {
    Err(Failure::new(
        Status::Unsupported,
        "This command is not there yet.",
    ))
}
