//! The command table and what each command does.

pub mod output;
pub mod status;

use crate::engine::Engine;
use crate::host::Host;
use crate::settings::Settings;

/// What a command works with.
pub struct Context {
    /// The owner's choices.
    pub settings: Settings,
    /// The databases.
    pub engine: Engine,
    /// The host's side of the call.
    pub host: &'static dyn Host,
}
