//! Group Schema: what is in the database.
//!
//! - [`tables`], [`describe`](mod@describe), [`schema`](mod@schema), [`indexes`], [`databases`]: listings.
//! - [`explain`]: how a statement would run.
//! - [`annotate`]: the owner's notes, beside what they are about.

pub mod annotate;
pub mod databases;
pub mod describe;
pub mod explain;
pub mod indexes;
#[expect(clippy::module_inception, reason = "the command of that name")]
pub mod schema;
pub mod tables;
