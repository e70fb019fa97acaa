//! Group Maintenance: the health of a database.
//!
//! - [`integrity`]: `integrity-check`. [`stats`]: sizes and settings.
//! - [`checkpoint`]: the write-ahead log. [`analyze`]: statistics for the query planner.

pub mod analyze;
pub mod checkpoint;
pub mod integrity;
pub mod stats;
