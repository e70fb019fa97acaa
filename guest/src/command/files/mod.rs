//! Group Files: databases and tables as files.
//!
//! - [`create`], [`backup`] (and `restore`), [`migrate`]: whole databases.
//! - [`import`], [`export`]: rows. [`dump`]: SQL.
//! - [`text_output`]: where the text of the last two goes.
//!
//! A new file gets its name when it is complete ([`crate::storage::streams`]).

pub(crate) mod backup;
pub(crate) mod create;
pub(crate) mod dump;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod migrate;
pub(crate) mod text_output;

#[cfg(test)]
mod program_tests;
