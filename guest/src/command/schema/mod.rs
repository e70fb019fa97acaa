//! What is in the database.

pub mod annotate;
pub mod databases;
pub mod describe;
pub mod explain;
pub mod indexes;
#[expect(clippy::module_inception, reason = "the command of that name")]
pub mod schema;
pub mod tables;
