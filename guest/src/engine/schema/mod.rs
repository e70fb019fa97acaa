//! The schema of a database, as queries of our own see it.
//!
//! - [`catalogue`]: tables and views, counting within bounds. [`columns`]: the columns of one.
//! - [`objects`]: all that a database consists of, in the order in which it can be made again.
//! - [`fts`]: full-text tables and what they index.
//! - [`pattern`]: LIKE patterns for names.
//! - [`lookup`]: what a name in an error may have meant.

pub mod catalogue;
pub mod columns;
pub mod fts;
pub mod lookup;
pub mod objects;
pub mod pattern;
pub mod resolve;
