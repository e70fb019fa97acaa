//! Databases and tables as files.

pub mod backup;
pub mod create;
pub mod dump;
pub mod export;
pub mod import;
pub mod migrate;
pub mod text_output;
