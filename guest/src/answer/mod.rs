//! What a command answers, before it is rendered.
//!
//! - [`output`]: rows, text, counts, notes.
//! - [`failure`]: why a call was refused, as a status and a sentence to act on.
//! - [`value`]: a value, by SQLite's storage classes.

pub mod failure;
pub mod output;
pub mod value;
