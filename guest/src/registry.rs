//! Every command, as data: the only list.
//!
//! Each command is declared beside what runs it. `tools/list`, the schemas, the command line, `help` and the reference come from it.

use crate::command::about::{about, capabilities};
use crate::command::files::{backup, create, dump, export, import, migrate};
use crate::command::interface::command::{Command, Registry};
use crate::command::maintenance::{analyze, checkpoint, integrity, stats};
use crate::command::schema::{databases, describe, explain, indexes, schema, tables};
use crate::command::search::{index_text, search, vector_search};
use crate::command::select::SELECT;
use crate::command::sql::{batch, exec, query};
use crate::command::undo::undo;
use crate::protocol::revision::Revision;
use crate::shell::run;

/// Every command, for the protocol, the shell and the command line alike.
pub static REGISTRY: Registry = Registry {
    commands: COMMANDS,
    select: &SELECT,
    revisions: &Revision::NAMES,
};

/// Every command, in the order of every list.
static COMMANDS: &[Command] = &[
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
    use crate::command::interface::command::Effect;

    #[test]
    fn every_name_is_there_once_and_leads_to_its_command() {
        let names: HashSet<&str> = REGISTRY
            .commands
            .iter()
            .map(|command| command.name)
            .collect();
        assert_eq!(names.len(), REGISTRY.commands.len());
        for command in REGISTRY.commands {
            assert_eq!(REGISTRY.find(command.name).unwrap().title, command.title);
        }
        assert!(REGISTRY.find("nonsense").is_none());
    }

    #[test]
    fn the_commands_of_the_design_are_all_there() {
        let names: Vec<&str> = REGISTRY
            .commands
            .iter()
            .map(|command| command.name)
            .collect();
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
        for command in REGISTRY.commands {
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
        for command in REGISTRY.commands {
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
        let writers: Vec<&str> = REGISTRY
            .commands
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
