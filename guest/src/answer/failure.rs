//! Why a command failed: one word of a closed list, and a sentence to act on.

use std::fmt;

use crate::host::Interruption;
use crate::text::escape::visible_lines;

/// The thirteen ways to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// This build, this tool or this setting does not do it.
    Unsupported,
    /// The SQL or the arguments do not parse.
    Syntax,
    /// No such table, column, file, command.
    NotFound,
    /// A constraint of the schema refused the data.
    Constraint,
    /// Writing is refused here.
    Readonly,
    /// It cannot be done in the present state.
    InvalidState,
    /// Another process holds the database.
    Busy,
    /// Stopped by a budget or by the client.
    Interrupted,
    /// The file is damaged, or no database.
    Corrupt,
    /// The operating system reported a failure.
    Io,
    /// Disk or memory is used up.
    Full,
    /// A value, a row or a result exceeds a limit.
    TooBig,
    /// A fault of sqlarium's own.
    Internal,
}

impl Status {
    /// Every status, for tests and documentation.
    pub const ALL: [Self; 13] = [
        Self::Unsupported,
        Self::Syntax,
        Self::NotFound,
        Self::Constraint,
        Self::Readonly,
        Self::InvalidState,
        Self::Busy,
        Self::Interrupted,
        Self::Corrupt,
        Self::Io,
        Self::Full,
        Self::TooBig,
        Self::Internal,
    ];

    /// The word that stands in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unsupported => "unsupported",
            Self::Syntax => "syntax",
            Self::NotFound => "not_found",
            Self::Constraint => "constraint",
            Self::Readonly => "readonly",
            Self::InvalidState => "invalid_state",
            Self::Busy => "busy",
            Self::Interrupted => "interrupted",
            Self::Corrupt => "corrupt",
            Self::Io => "io",
            Self::Full => "full",
            Self::TooBig => "too_big",
            Self::Internal => "internal",
        }
    }
}

/// A refusal: what was refused and by which rule, and what to do instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The word.
    pub status: Status,
    /// What was refused, and by which budget or rule; a sentence.
    pub message: String,
    /// What to do instead; a sentence, if there is one to give.
    pub hint: Option<String>,
    /// Whether the client took the call back, so that nobody waits for this.
    pub cancelled: bool,
}

impl Failure {
    /// A failure without a hint.
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            hint: None,
            cancelled: false,
        }
    }

    /// Adds what to do instead.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same with its sentences cut to so many bytes, and to what anybody reads: they can quote what was sent.
    #[must_use]
    pub fn brief(mut self, bytes: usize) -> Self {
        /// Bytes of a sentence, in words for a reader.
        const SENTENCE: usize = 2_000;
        for sentence in std::iter::once(&mut self.message).chain(&mut self.hint) {
            if sentence.len() > SENTENCE.min(bytes) {
                let shown = visible_lines(sentence);
                let end = shown.floor_char_boundary(SENTENCE.min(bytes));
                *sentence = format!("{}…", &shown[..end]);
            }
        }
        self
    }
}

/// The failure of a call that has to end.
pub fn interrupted(interruption: &Interruption) -> Failure {
    match interruption {
        Interruption::Cancelled => Failure {
            cancelled: true,
            ..Failure::new(Status::Interrupted, "The client cancelled the call.")
        },
        Interruption::Stopped(sentence) => Failure::new(Status::Interrupted, sentence.clone()),
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, " {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}
