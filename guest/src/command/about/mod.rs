//! sqlarium itself.

#[expect(clippy::module_inception, reason = "the command of that name")]
pub mod about;
pub mod capabilities;
