//! The health of a database.

pub mod analyze;
pub mod checkpoint;
pub mod integrity;
pub mod stats;
