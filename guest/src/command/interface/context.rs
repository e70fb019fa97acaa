//! What a command works with.

use std::cell::RefCell;
use std::io::Write;
use std::rc::Rc;

use super::argument::accepted;
use super::audience::Audience;
use super::command::{Command, Registry};
use super::session_log::SessionLog;
use crate::engine::Engine;
use crate::host::Host;
use crate::settings::CommandSettings;

/// What takes the text of a command that is run by another.
pub type Outlet = Rc<RefCell<dyn Write>>;

/// What a command works with.
pub struct Context {
    /// The owner's choices.
    pub settings: CommandSettings,
    /// The databases.
    pub engine: Engine,
    /// The host's side of the call.
    pub host: &'static dyn Host,
    /// Where `-` as a file to make goes, while a dot command of a shell runs another command.
    pub outlet: Option<Outlet>,
    /// Who reads what is printed.
    pub audience: Audience,
    /// Every command.
    pub registry: &'static Registry,
    /// What the calls of a client came to.
    pub log: SessionLog,
}

impl Context {
    /// Whether this reader can give `command` an argument of this name.
    pub fn takes(&self, command: &Command, name: &str) -> bool {
        accepted(command, &self.settings.engine, self.audience.is_person())
            .iter()
            .any(|argument| argument.name == name)
    }

    /// A context for what the owner chose. Opens no database yet.
    pub fn new(
        settings: CommandSettings,
        host: &'static dyn Host,
        registry: &'static Registry,
        audience: Audience,
    ) -> Self {
        Self {
            engine: Engine::new(&settings.engine, settings.output, host),
            settings,
            host,
            outlet: None,
            audience,
            registry,
            log: SessionLog::default(),
        }
    }
}
