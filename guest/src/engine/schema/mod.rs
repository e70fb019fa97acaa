//! The schema of a database, as queries of our own see it.
//!
//! - [`catalogue`]: tables and views, counting within bounds. [`columns`]: the columns of one.
//! - [`objects`]: all that a database consists of, in the order in which it can be made again.
//! - [`fts`]: full-text tables and what they index.
//! - [`blame`]: which part of the schema an error comes from.
//! - [`foreign`]: what of it only the program brings that made the file. [`soundness`]: SQLite's check.
//! - [`pattern`]: LIKE patterns for names.
//! - [`trial`]: indexes that would help a statement.
//! - [`resolve`]: the table or view that a call names. [`lookup`]: what a name in an error may have meant.

pub(crate) mod blame;
pub(crate) mod catalogue;
pub(crate) mod columns;
pub(crate) mod foreign;
pub(crate) mod fts;
pub(crate) mod lookup;
pub(crate) mod objects;
pub(crate) mod pattern;
pub(crate) mod resolve;
pub(crate) mod soundness;
pub(crate) mod trial;
