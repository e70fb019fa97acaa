//! Read and write: any SQL.

pub mod batch;
pub mod exec;
pub mod query;
