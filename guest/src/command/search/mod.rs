//! Group Search: full text and vectors.
//!
//! - [`index_text`]: makes a full-text index. [`search`]: searches one.
//! - [`vector_search`]: the nearest vectors of a column.

pub(crate) mod index_text;
#[expect(clippy::module_inception, reason = "the command of that name")]
pub(crate) mod search;
pub(crate) mod vector_search;
