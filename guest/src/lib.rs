//! What runs behind the glass: everything that meets untrusted input.
//!
//! - [`protocol`]: MCP lines in, MCP lines out.
//! - [`command`]: the command table, the only list of what can be asked.
//! - [`engine`]: SQLite, its guards and its budgets.
//! - [`render`]: results as text or as JSON.
//! - [`shell`]: the shell, for a person and for `run`.
//! - [`demo`]: a sample shop, and a conversation with it to show.
//! - [`files`]: plain files, as streams.
//! - [`notes`]: what the owner wrote about tables and columns.
//! - [`text`]: text as such, for all of them.
//! - [`settings`], [`host`], [`storage`]: what comes from outside: the owner's
//!   choices, the call's surroundings, the files.
//!
//! The crate compiles to a component (`component.rs`, wasm only) and natively,
//! so that its unit tests run without wasm.

pub mod command;
pub mod demo;
pub mod engine;
pub mod files;
pub mod host;
pub mod notes;
pub mod protocol;
pub mod render;
pub mod settings;
pub mod shell;
pub mod storage;
pub mod text;

#[cfg(target_family = "wasm")]
mod component;
