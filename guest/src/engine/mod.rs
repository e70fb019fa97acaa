//! SQLite: connections, guards, values, budgets.

pub mod value;
pub mod vfs;

/// The databases of one session. Opens nothing until asked.
pub struct Engine {}
