//! Who reads an answer, and what they can be advised to do.

use super::command::{Command, Registry};
use super::toolset::Toolset;
use crate::answer::failure::Failure;

/// Who reads what a command answers.
#[derive(Clone, Debug)]
pub enum Audience {
    /// The command line, which has every command.
    Person,
    /// A client of the protocol, which has these.
    Client(Toolset),
}

impl Audience {
    /// The commands that can be called.
    pub fn tools(&self, registry: &'static Registry) -> Toolset {
        match self {
            Self::Person => Toolset::all(registry),
            Self::Client(tools) => tools.clone(),
        }
    }

    /// Whether it is the command line.
    pub fn is_person(&self) -> bool {
        matches!(self, Self::Person)
    }

    /// The failure of `command` with as much of its hint as this reader can follow, in the
    /// names that it knows.
    pub fn advise(&self, registry: &Registry, command: &Command, failure: Failure) -> Failure {
        let Some(hint) = &failure.hint else {
            return failure;
        };
        let hint = self.told(registry, command, hint);
        Failure {
            hint: (!hint.is_empty()).then_some(hint),
            ..failure
        }
    }

    /// As much of a text on `command` as this reader can follow: sentences that name other tools, or arguments that
    /// it does not take, are left out.
    pub fn told(&self, registry: &Registry, command: &Command, text: &str) -> String {
        let sentences: Vec<String> = text
            .split_inclusive(". ")
            .filter(|sentence| self.can_follow(registry, command, sentence))
            .map(|sentence| self.reword(registry, sentence))
            .collect();
        sentences.concat().trim_end().to_owned()
    }

    fn can_follow(&self, registry: &Registry, command: &Command, sentence: &str) -> bool {
        let Self::Client(served) = self else {
            return true;
        };
        let takes = |served: &Toolset, word: &str| match word {
            "params" => command.takes(word),
            "dry_run" => served.commands().any(|command| command.takes(word)),
            _ => true,
        };
        words(sentence).all(|word| takes(served, word))
            && tools(registry, sentence).all(|tool| served.find(&tool.tool_name()).is_some())
    }

    fn reword(&self, registry: &Registry, sentence: &str) -> String {
        if !self.is_person() {
            return sentence.to_owned();
        }
        tools(registry, sentence).fold(sentence.to_owned(), |sentence, tool| {
            sentence.replace(&tool.tool_name(), &format!("sqlarium {}", tool.name))
        })
    }
}

fn words(sentence: &str) -> impl Iterator<Item = &str> {
    sentence.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
}

/// The commands that a sentence names as tools.
fn tools<'a>(
    registry: &Registry,
    sentence: &'a str,
) -> impl Iterator<Item = &'static Command> + use<'a> {
    let commands = registry.commands;
    words(sentence)
        .filter(|word| word.starts_with("sqlarium_"))
        .filter_map(move |word| commands.iter().find(|command| command.is_tool(word)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::failure::Status;
    use crate::registry::REGISTRY;

    const HINT: &str = "Leave it out. Run it with sqlarium_exec, or sqlarium_integrity_check.";

    fn advice(reader: &Audience, command: &str, hint: &str) -> Option<String> {
        let failure = Failure::new(Status::Readonly, "It writes.").hint(hint);
        reader
            .advise(&REGISTRY, REGISTRY.find(command).unwrap(), failure)
            .hint
    }

    fn client(tools: &str) -> Audience {
        Audience::Client(Toolset::parse(&REGISTRY, tools).unwrap())
    }

    #[test]
    fn a_client_is_only_sent_to_tools_that_it_has() {
        assert_eq!(advice(&client("all"), "query", HINT).as_deref(), Some(HINT));
        assert_eq!(
            advice(&client("query,exec"), "query", HINT).as_deref(),
            Some("Leave it out.")
        );
        assert_eq!(
            advice(&client("query"), "query", "Use sqlarium_batch."),
            None
        );
    }

    #[test]
    fn what_a_tool_does_not_take_is_not_asked_for() {
        let hint = "Give params as an array.";
        assert_eq!(advice(&client("all"), "query", hint).as_deref(), Some(hint));
        assert_eq!(advice(&client("all"), "tables", hint), None);
    }

    #[test]
    fn the_command_line_is_advised_of_commands() {
        assert_eq!(
            advice(&Audience::Person, "query", HINT).as_deref(),
            Some("Leave it out. Run it with sqlarium exec, or sqlarium integrity-check.")
        );
    }
}
