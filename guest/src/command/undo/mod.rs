//! What the session has written, and how to undo it.

#[expect(clippy::module_inception, reason = "the command of that name")]
pub mod undo;
