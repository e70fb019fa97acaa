//! What runs in the sandbox: everything that handles untrusted input.
//!
//! Layers; each uses only those below it, which a test holds:
//!
//! - `component`: the exports of `wit/`, conversions alone (wasm only).
//! - [`registry`]: the list of all commands, handed down to those that name them.
//! - [`protocol`]: MCP lines in, MCP lines out. [`shell`]: the shell, for a terminal and for `run`.
//! - [`command`]: every command, in the groups that help shows.
//! - [`render`]: results as text or as JSON.
//! - [`engine`]: SQLite, its guards and its budgets.
//! - [`storage`]: files by name.
//! - [`text`], [`answer`], [`settings`], [`host`]: SQL as text, what a command answers, the owner's
//!   choices, the host's side of a call.
//!
//! The crate compiles to a component (`component.rs`, wasm only) and natively,
//! so that its unit tests run without wasm.

#![warn(unreachable_pub)]

pub mod answer;
pub mod command;
pub mod engine;
pub mod host;
pub mod protocol;
pub mod registry;
mod render;
pub mod settings;
pub mod shell;
pub mod storage;
mod text;

#[cfg(target_family = "wasm")]
#[allow(unreachable_pub, reason = "generated from wit/")]
mod bindings;
#[cfg(target_family = "wasm")]
#[allow(unreachable_pub, reason = "exports are generated from wit/")]
mod component;
