//! The commands.
//!
//! - [`interface`]: what a command is, and what it works with.
//! - [`invoke`]: a call of one.
//! - A folder for each group that help shows, and [`select`] for the tools of `--tools select`.
//!
//! The list of all of them stands above, in [`crate::registry`].

pub mod about;
pub mod files;
pub mod interface;
pub mod invoke;
pub mod maintenance;
pub mod schema;
pub mod search;
pub mod select;
pub mod sql;
pub mod undo;

#[cfg(test)]
mod tests;
