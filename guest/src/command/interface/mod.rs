//! What a command is, and what it works with; every command is built from this, and the
//! registry from the commands.
//!
//! - [`command`], [`argument`]: a command and what it takes, as data; [`arguments`]: the check of what was given,
//!   and [`reading`]: what is meant by it.
//! - [`context`]: what a command works with. [`session_log`]: what a client's calls came to.
//! - [`toolset`]: which commands a client is served.
//! - [`audience`]: who reads an answer, and what they can be advised to do.

pub mod argument;
pub mod arguments;
pub mod audience;
pub mod command;
pub mod context;
mod reading;
pub mod session_log;
pub mod toolset;
