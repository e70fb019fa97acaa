//! Group Undo, served unless writes are not recorded: what the session has written, and how to undo it.
//!
//! What is recorded and how it is reverted is the engine's: [`crate::engine::undo`].

#[expect(clippy::module_inception, reason = "the command of that name")]
pub(crate) mod undo;
