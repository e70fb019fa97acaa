//! Group Files: databases and tables as files.
//!
//! - [`create`], [`backup`] (and `restore`), [`migrate`]: whole databases.
//! - [`import`], [`export`]: rows. [`dump`]: SQL.
//! - [`text_output`]: where the text of the last two goes.
//!
//! A new file gets its name when it is complete ([`crate::storage::streams`]).

pub mod backup;
pub mod create;
pub mod dump;
pub mod export;
pub mod import;
pub mod migrate;
pub mod text_output;
