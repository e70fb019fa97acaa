//! What a command is, and what it works with; every command is built from this, and the
//! registry from the commands.
//!
//! - [`arguments`]: what a command takes, and the check of what was given.
//! - [`toolset`]: which commands a client is served.
//! - [`audience`]: who reads an answer, and what they can be advised to do.

pub mod arguments;
pub mod audience;
pub mod toolset;
