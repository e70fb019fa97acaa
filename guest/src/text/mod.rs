//! Text as such. Uses nothing of the crate.
//!
//! - [`lexer`], [`scan`], [`keyword`], [`complete`]: SQL as text.
//! - [`suggest`]: the name that was most likely meant.
//! - [`escape`]: text as it may be shown. [`hex`], [`real`], [`pad`]: digits and columns.

pub mod complete;
pub mod escape;
pub mod hex;
pub mod keyword;
pub mod lexer;
pub mod pad;
pub mod real;
pub mod scan;
pub mod suggest;
