//! Group About: sqlarium itself.
//!
//! - [`about`]: `version` and `help`.
//! - [`capabilities`]: `capabilities` and `functions`, by trying the engine.

#[expect(clippy::module_inception, reason = "the command of that name")]
pub(crate) mod about;
pub(crate) mod capabilities;
