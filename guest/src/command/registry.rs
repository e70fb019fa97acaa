//! Every command, as data: the only list.
//!
//! Each command is declared beside what runs it. `tools/list`, the schemas, the command line, `help` and the reference come from it.

use super::Context;
use super::about::{about, capabilities};
use super::files::{backup, create, dump, export, import, migrate};
use super::maintenance::{analyze, checkpoint, integrity, stats};
use super::schema::{databases, describe, explain, indexes, schema, tables};
use super::search::{index_text, search, vector_search};
use super::spec::arguments::{Argument, Arguments};
use super::sql::{batch, exec, query, run};
use super::undo::undo;
use crate::answer::failure::Failure;
use crate::answer::output::Output;

/// What a command does to data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Changes nothing, by the engine's own guard.
    Reads,
    /// Changes data, or makes files.
    Writes {
        /// Whether something that was there can be gone afterwards.
        destructive: bool,
        /// Whether the same call again changes nothing more.
        idempotent: bool,
    },
}

/// What commands are listed under, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Running SQL.
    Sql,
    /// What is in the database.
    Schema,
    /// What the session has written; served with `--undo` only.
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

/// One command: a tool for a model, a subcommand for a person.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// Its name on the command line: lower case, words joined by dashes.
    pub name: &'static str,
    /// Its name for people who look at a list of tools.
    pub title: &'static str,
    /// What it is listed under.
    pub group: Group,
    /// One line for people.
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
    /// Whether it has an argument of this name, besides the common ones.
    pub fn takes(&self, name: &str) -> bool {
        self.arguments.iter().any(|argument| argument.name == name)
    }
}

/// The command of this name.
pub fn find(name: &str) -> Option<&'static Command> {
    TABLE.iter().find(|command| command.name == name)
}

/// The name under which MCP serves a command.
pub fn tool_name(command: &Command) -> String {
    match command.group {
        Group::Select => command.name.to_owned(),
        _ => format!("sqlarium_{}", command.name.replace('-', "_")),
    }
}

/// Data can be gone afterwards, and a second call does more.
pub const WRITES: Effect = Effect::Writes {
    destructive: true,
    idempotent: false,
};

/// Every command, in the order of every list.
pub static TABLE: &[Command] = &[
    query::COMMAND,
    exec::COMMAND,
    batch::COMMAND,
    run::COMMAND,
    undo::HISTORY,
    undo::UNDO,
    tables::COMMAND,
    describe::COMMAND,
    schema::COMMAND,
    indexes::COMMAND,
    databases::COMMAND,
    explain::COMMAND,
    search::COMMAND,
    index_text::COMMAND,
    vector_search::COMMAND,
    create::COMMAND,
    import::COMMAND,
    export::COMMAND,
    dump::COMMAND,
    backup::BACKUP,
    backup::RESTORE,
    migrate::COMMAND,
    checkpoint::COMMAND,
    integrity::COMMAND,
    analyze::COMMAND,
    stats::COMMAND,
    capabilities::CAPABILITIES,
    capabilities::FUNCTIONS,
    about::VERSION,
    about::HELP,
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_name_is_there_once_and_leads_to_its_command() {
        let names: HashSet<&str> = TABLE.iter().map(|command| command.name).collect();
        assert_eq!(names.len(), TABLE.len());
        for command in TABLE {
            assert_eq!(find(command.name).unwrap().title, command.title);
        }
        assert!(find("nonsense").is_none());
    }

    #[test]
    fn the_commands_of_the_design_are_all_there() {
        let names: Vec<&str> = TABLE.iter().map(|command| command.name).collect();
        assert_eq!(
            names,
            [
                "query",
                "exec",
                "batch",
                "run",
                "history",
                "undo",
                "tables",
                "describe",
                "schema",
                "indexes",
                "databases",
                "explain",
                "search",
                "index-text",
                "vector-search",
                "create",
                "import",
                "export",
                "dump",
                "backup",
                "restore",
                "migrate",
                "checkpoint",
                "integrity-check",
                "analyze",
                "stats",
                "capabilities",
                "functions",
                "version",
                "help"
            ]
        );
    }

    #[test]
    fn arguments_are_named_once_and_never_like_a_common_one() {
        for command in TABLE {
            let mut seen = HashSet::from(["db", "output"]);
            for argument in command.arguments {
                assert!(
                    seen.insert(argument.name),
                    "{} {}",
                    command.name,
                    argument.name
                );
            }
        }
    }

    #[test]
    fn a_required_argument_can_be_given_by_position_and_comes_first() {
        for command in TABLE {
            let positions: Vec<bool> = command
                .arguments
                .iter()
                .filter(|a| a.positional)
                .map(|a| a.required)
                .collect();
            assert!(positions.is_sorted_by(|a, b| a >= b), "{}", command.name);
            assert!(
                command
                    .arguments
                    .iter()
                    .all(|a| a.positional || !a.required)
            );
        }
    }

    #[test]
    fn a_command_that_reads_says_so_and_no_other() {
        let writers: Vec<&str> = TABLE
            .iter()
            .filter(|c| c.effect != Effect::Reads)
            .map(|c| c.name)
            .collect();
        assert_eq!(
            writers,
            [
                "exec",
                "batch",
                "run",
                "undo",
                "index-text",
                "create",
                "import",
                "export",
                "dump",
                "backup",
                "restore",
                "migrate",
                "checkpoint",
                "analyze"
            ]
        );
    }
}
