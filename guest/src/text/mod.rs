//! Text as such: digits, padding, suggestions. The lowest layer, which uses nothing of the crate.

pub mod hex;
pub mod pad;
pub mod suggest;
