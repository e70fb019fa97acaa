//! Group Schema: what is in the database.
//!
//! - [`tables`], [`describe`](mod@describe), [`schema`](mod@schema), [`indexes`], [`databases`]: listings.
//! - [`explain`]: how a statement would run.
//! - [`annotate`]: the owner's notes, beside what they are about.

pub(crate) mod annotate;
pub(crate) mod databases;
pub(crate) mod describe;
pub(crate) mod explain;
pub(crate) mod indexes;
#[expect(clippy::module_inception, reason = "the command of that name")]
pub(crate) mod schema;
pub(crate) mod tables;
