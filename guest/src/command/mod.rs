//! The commands.
//!
//! - [`interface`]: what a command is, and what it works with.
//! - [`invoke`]: a call of one.
//! - A folder for each group that help shows, and [`select`] for the tools of `--tools select`.
//!
//! The list of all of them stands above, in [`crate::registry`].

pub(crate) mod about;
pub(crate) mod files;
pub mod interface;
pub mod invoke;
pub(crate) mod maintenance;
pub(crate) mod schema;
pub(crate) mod search;
pub(crate) mod select;
pub(crate) mod sql;
pub(crate) mod undo;

#[cfg(test)]
mod tests;
