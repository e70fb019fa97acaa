//! One argument of a command, and those that several commands take.

use super::command::Command;
use crate::settings::EngineSettings;

/// What an argument takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A string.
    Text,
    /// SQL, as a string or an array of statements.
    Sql,
    /// Names with commas between them, or an array of them.
    Names,
    /// A whole number from `min` to `max`, also when it is sent as a string.
    Integer {
        /// The least value taken.
        min: i64,
        /// The greatest value taken.
        max: i64,
    },
    /// True or false.
    Flag,
    /// An array or an object, also when it is sent as a string of JSON.
    Json,
    /// An array of numbers, or what else is [`Shape::Json`].
    Numbers,
    /// A file to read: for a client below the root, on the command line anywhere; `-` is standard input.
    InputPath,
    /// A file to create, as above; `-` is standard output.
    OutputPath,
    /// One of these words.
    Choice(&'static [&'static str]),
}

impl Shape {
    /// Whether an array is no value of it.
    pub(super) const fn is_single(self) -> bool {
        !matches!(self, Self::Sql | Self::Names | Self::Json | Self::Numbers)
    }
}

impl Shape {
    /// Whether a client can give such an argument under these settings: files are named below the root alone.
    pub fn is_granted(&self, engine: &EngineSettings) -> bool {
        match self {
            Self::InputPath => engine.root,
            Self::OutputPath => engine.root && !engine.readonly,
            _ => true,
        }
    }
}

/// One argument of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Its name: lower case, words joined by underscores.
    pub name: &'static str,
    /// What it is for, in a few words that a model reads; empty where the name says it all.
    pub summary: &'static str,
    /// What it takes.
    pub shape: Shape,
    /// Whether the command cannot do without it.
    pub required: bool,
    /// Whether the command line takes it by position rather than as `--name`.
    pub positional: bool,
}

/// An argument that has to be given; its place will do.
pub const fn required(name: &'static str, shape: Shape, summary: &'static str) -> Argument {
    Argument {
        name,
        summary,
        shape,
        required: true,
        positional: true,
    }
}

/// An argument that may be given by its place.
pub const fn positional(name: &'static str, shape: Shape, summary: &'static str) -> Argument {
    Argument {
        name,
        summary,
        shape,
        required: false,
        positional: true,
    }
}

/// An argument that is given by its name.
pub const fn option(name: &'static str, shape: Shape, summary: &'static str) -> Argument {
    Argument {
        name,
        summary,
        shape,
        required: false,
        positional: false,
    }
}

/// Values for the parameters of a statement.
pub const PARAMS: Argument = option(
    "params",
    Shape::Json,
    "Values for :name, as {\"name\": 5}; for ?1, ?2, as {\"1\": 5}. A blob is {\"blob\": hex}.",
);

/// Whether to keep nothing of what is written.
pub const DRY_RUN: Argument = option(
    "dry_run",
    Shape::Flag,
    "Report what would change, then roll it back.",
);

/// A pattern for names.
pub const PATTERN: Argument =
    positional("pattern", Shape::Text, "LIKE pattern for names; * means %.");

/// How many rows.
pub const LIMIT: Argument = option(
    "limit",
    Shape::Integer {
        min: 1,
        max: i64::MAX,
    },
    "Maximum rows.",
);

/// The form of the answer; every command takes it.
pub const OUTPUT: Argument = Argument {
    name: "output",
    summary: "",
    shape: Shape::Choice(&["text", "json"]),
    required: false,
    positional: false,
};

/// The database to use; commands that need one take it where the owner gave a `--root`.
pub const DB: Argument = Argument {
    name: "db",
    summary: "Another database below the root.",
    shape: Shape::Text,
    required: false,
    positional: false,
};

/// Whether an existing file may be replaced.
pub const OVERWRITE: Argument = option("overwrite", Shape::Flag, "Replace an existing file.");

/// What a call of `command` may give under these settings, in the order of its declaration. A person names any file, a
/// client those that the owner granted.
pub fn accepted(
    command: &Command,
    settings: &EngineSettings,
    person: bool,
) -> Vec<&'static Argument> {
    let granted = |argument: &Argument| person || argument.shape.is_granted(settings);
    let made = command
        .arguments
        .iter()
        .find(|argument| argument.shape == Shape::OutputPath);
    let mut accepted: Vec<&'static Argument> = command
        .arguments
        .iter()
        .filter(|argument| match made {
            Some(file) if **argument == OVERWRITE => granted(file),
            _ => granted(argument),
        })
        .collect();
    if command.database && settings.root {
        accepted.push(&DB);
    }
    accepted.push(&OUTPUT);
    accepted
}
