//! A command, as data: a tool of the protocol and a subcommand of the command line.

use super::argument::{Argument, Shape};
use super::arguments::Arguments;
use super::context::Context;
use crate::answer::failure::Failure;
use crate::answer::output::Output;
use crate::settings::EngineSettings;

/// What a command does to data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Changes nothing, by the engine's own guard.
    Reads,
    /// Changes data, or makes files, in some of its calls: the others work where nothing may be written.
    MayWrite,
    /// Changes data, or makes files.
    Writes {
        /// Whether something that was there can be gone afterwards.
        destructive: bool,
        /// Whether the same call again changes nothing more.
        idempotent: bool,
    },
}

/// The headings under which commands are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Running SQL.
    Sql,
    /// What is in the database.
    Schema,
    /// What the session has written and was refused; what takes it back is served where that is recorded.
    Undo,
    /// Full-text search.
    Search,
    /// Databases as files.
    Files,
    /// The health of a database.
    Maintenance,
    /// The server itself.
    About,
    /// The three tools of `--tools select`.
    Select,
}

impl Group {
    /// The heading.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sql => "Read and write",
            Self::Schema => "Schema",
            Self::Undo => "Undo",
            Self::Search => "Search",
            Self::Files => "Files",
            Self::Maintenance => "Maintenance",
            Self::About => "About",
            Self::Select => "Select",
        }
    }
}

/// What runs a command.
pub type Run = fn(&mut Context, &Arguments) -> Result<Output, Failure>;

/// One command: a tool of the protocol and a subcommand of the command line.
///
/// ```
/// use serde_json::json;
/// use sqlarium_guest::command::invoke::invoke;
/// use sqlarium_guest::command::interface::{audience::Audience, context::Context};
/// use sqlarium_guest::host::Alone;
/// use sqlarium_guest::registry::REGISTRY;
/// use sqlarium_guest::settings::CommandSettings;
///
/// let query = REGISTRY.find("query").unwrap();
/// assert_eq!(query.tool_name(), "sqlarium_query");
///
/// let settings = CommandSettings::default();
/// let mut context = Context::new(settings, &Alone, &REGISTRY, Audience::Person);
/// let arguments = json!({"sql": "SELECT 6 * 7 AS answer"});
/// let answer = invoke(query, arguments.as_object().unwrap(), &mut context);
/// assert_eq!(answer.text, "answer\n------\n    42\n(1 row)\n");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// Its name on the command line: lower case, words joined by dashes.
    pub name: &'static str,
    /// Its display name in a list of tools.
    pub title: &'static str,
    /// What it is listed under.
    pub group: Group,
    /// One line for lists of commands.
    pub summary: &'static str,
    /// What a model has to know to use it well: what it does, its limits, what it refuses.
    pub description: &'static str,
    /// What it takes, besides the common `db` and `output`.
    pub arguments: &'static [Argument],
    /// Whether it needs a database.
    pub database: bool,
    /// What it does to data.
    pub effect: Effect,
    /// Whether `--tools core` serves it.
    pub core: bool,
    /// What runs it.
    pub run: Run,
}

impl Command {
    /// The name under which MCP serves it.
    pub fn tool_name(&self) -> String {
        match self.group {
            Group::Select => self.name.to_owned(),
            _ => format!("sqlarium_{}", self.name.replace('-', "_")),
        }
    }

    /// Whether MCP serves it under this name.
    pub fn is_tool(&self, name: &str) -> bool {
        if self.group == Group::Select {
            return name == self.name;
        }
        let names = name.strip_prefix("sqlarium_").map(str::bytes);
        let own = self
            .name
            .bytes()
            .map(|byte| if byte == b'-' { b'_' } else { byte });
        names.is_some_and(|name| name.eq(own))
    }

    /// What it can do to data where a client is granted this; none if no call of it can work there.
    pub fn effect_under(&self, engine: &EngineSettings) -> Option<Effect> {
        let lacks = |argument: &Argument| argument.required && !argument.shape.is_granted(engine);
        if self.arguments.iter().any(lacks) {
            return None;
        }
        let out = |argument: &Argument| argument.shape == Shape::OutputPath;
        let file = self.arguments.iter().find(|argument| out(argument));
        match self.effect {
            Effect::Writes { .. } if engine.readonly => None,
            Effect::MayWrite if engine.readonly => Some(Effect::Reads),
            // All that it writes is a file.
            Effect::MayWrite if file.is_some_and(|file| !file.shape.is_granted(engine)) => {
                Some(Effect::Reads)
            }
            effect => Some(effect),
        }
    }

    /// Whether it has an argument of this name, besides the common ones.
    pub fn takes(&self, name: &str) -> bool {
        self.arguments.iter().any(|argument| argument.name == name)
    }
}

/// Data can be gone afterwards, and a second call does more.
pub const WRITES: Effect = Effect::Writes {
    destructive: true,
    idempotent: false,
};

/// Every command there is. Handed down in the [`Context`], so that commands which speak of others
/// need no list of their own.
#[derive(Debug)]
pub struct Registry {
    /// Every command, in the order of every list.
    pub commands: &'static [Command],
    /// The tools of `--tools select`, which are served only there.
    pub select: &'static [Command],
    /// The MCP revisions that are spoken, oldest first.
    pub revisions: &'static [&'static str],
}

impl Registry {
    /// The command of this name; those of `--tools select` have none but as tools.
    pub fn find(&self, name: &str) -> Option<&'static Command> {
        self.commands.iter().find(|command| command.name == name)
    }
}
