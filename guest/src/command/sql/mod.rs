//! Group Read and write: any SQL.
//!
//! - [`query`]: one statement that reads. [`exec`]: one that writes.
//! - [`batch`]: several, all or nothing.
//!
//! `run`, the fourth command of the group, is the shell's: [`crate::shell::run`].

pub(crate) mod batch;
pub(crate) mod exec;
pub(crate) mod query;
