//! What a statement may do: SQLite's authorizer, and the table of PRAGMAs.

pub mod authorizer;
pub mod pragma;
