//! Search: full text and vectors.

pub mod index_text;
#[expect(clippy::module_inception, reason = "the command of that name")]
pub mod search;
pub mod vector_search;
