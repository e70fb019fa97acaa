//! Group Maintenance: the health of a database.
//!
//! - [`integrity`]: `integrity-check`. [`stats`]: sizes and settings.
//! - [`checkpoint`]: the write-ahead log. [`analyze`]: statistics for the query planner.

pub(crate) mod analyze;
pub(crate) mod checkpoint;
pub(crate) mod integrity;
pub(crate) mod stats;
