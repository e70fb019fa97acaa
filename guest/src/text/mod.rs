//! Text as such. Uses nothing of the crate.
//!
//! - [`lexer`], [`scan`], [`keyword`], [`complete`]: SQL as text.
//! - [`stray`]: bytes in it that are not UTF-8.
//! - [`suggest`]: the name that was most likely meant.
//! - [`escape`]: text as it may be shown. [`hex`], [`real`], [`pad`]: digits and columns.

pub(crate) mod complete;
pub(crate) mod count;
pub(crate) mod escape;
pub(crate) mod hex;
pub(crate) mod keyword;
pub(crate) mod lexer;
pub(crate) mod pad;
pub(crate) mod real;
pub(crate) mod scan;
pub(crate) mod stray;
pub(crate) mod suggest;
