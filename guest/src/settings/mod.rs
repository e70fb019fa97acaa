//! What the owner of the database decided; no call can loosen it. See `wit/types.wit`.
//!
//! Split by who needs it: the engine, a command, the server. [`notes`]: what the owner wrote on tables and columns.

pub mod notes;

/// Undo, where the owner wants it.
#[derive(Clone, Debug)]
pub struct Undo {
    /// The name under which storage knows the file that undo keeps its record in.
    pub file: String,
    /// What the writes in it may take together, in bytes.
    pub bytes: u64,
    /// Whether a write that could not be undone is refused.
    pub required: bool,
}

/// The budgets of the engine.
#[derive(Clone, Debug)]
pub struct EngineLimits {
    /// All linear memory of the sandbox, in bytes.
    pub memory_bytes: u64,
    /// Growth of all files together, in bytes.
    pub disk_bytes: u64,
    /// How long a locked database is waited for, in milliseconds.
    pub busy_ms: u32,
    /// The SQL of one call, in bytes.
    pub sql_bytes: u64,
    /// The work of one call, in the host's units, for messages; 0: it is not metered.
    pub fuel: u64,
}

impl Default for EngineLimits {
    fn default() -> Self {
        Self {
            memory_bytes: 256 << 20,
            disk_bytes: 1 << 30,
            busy_ms: 5_000,
            sql_bytes: 1 << 20,
            fuel: 2_000_000_000_000,
        }
    }
}

/// The budgets of what a reader gets to see.
#[derive(Clone, Copy, Debug)]
pub struct OutputLimits {
    /// One answer as a whole, in bytes: the line of a reply, its newline included.
    pub reply_bytes: u64,
    /// The text of one result, in bytes of UTF-8.
    pub text_bytes: u32,
    /// One cell of the text form, in characters.
    pub cell_chars: u32,
    /// Rows when the call does not say.
    pub rows: u32,
    /// Rows at most, whatever the call says.
    pub max_rows: u32,
    /// Room on a line of a result for what stands beside the answer, in bytes.
    pub beside_bytes: u32,
}

impl OutputLimits {
    /// The longest line that a client gets an answer on, in bytes: what readers of lines take by default, more
    /// where the owner wants longer texts, and never more than a reply may have.
    pub fn line_bytes(&self) -> u64 {
        let text = u64::from(self.text_bytes);
        let line = (64 << 10).max(text + text / 3).min(self.reply_bytes);
        line.saturating_sub(self.beside_bytes.into())
    }
}

impl Default for OutputLimits {
    fn default() -> Self {
        Self {
            reply_bytes: 8 << 20,
            text_bytes: 48_000,
            cell_chars: 2_000,
            rows: 200,
            max_rows: 10_000,
            beside_bytes: 0,
        }
    }
}

/// The databases, whoever asks for them.
#[derive(Clone, Debug)]
pub struct EngineSettings {
    /// The name under which storage knows the served database.
    pub database: String,
    /// What to call it in answers: the path as the owner wrote it, or `:memory:`.
    pub title: String,
    /// Whether the served database lives in the host's memory.
    pub in_memory: bool,
    /// Whether every write is refused.
    pub readonly: bool,
    /// Whether other files may be named, relative to the owner's `--root`.
    pub root: bool,
    /// The text of the owner's notes; see [`self::notes`].
    pub notes: String,
    /// Whether and how writes can be undone.
    pub undo: Option<Undo>,
    /// The budgets.
    pub limits: EngineLimits,
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            database: "memory".into(),
            title: ":memory:".into(),
            in_memory: true,
            readonly: false,
            root: false,
            notes: String::new(),
            undo: None,
            limits: EngineLimits::default(),
        }
    }
}

/// What a command needs, whoever runs it.
#[derive(Clone, Debug, Default)]
pub struct CommandSettings {
    /// The databases.
    pub engine: EngineSettings,
    /// The budgets of a result.
    pub output: OutputLimits,
}

/// What the MCP server needs.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// What its commands need.
    pub command: CommandSettings,
    /// The longest request line, in bytes.
    pub request_bytes: u64,
    /// Which tools are served: `all`, `core`, `select`, or names separated by commas.
    pub tools: String,
    /// Whether a client is held to the letter of the protocol.
    pub strict: bool,
    /// Whether calls are recorded for the owner.
    pub audit: bool,
    /// Whether calls are remembered for the client's thread.
    pub threads: bool,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            command: CommandSettings::default(),
            request_bytes: 1 << 20,
            tools: "all".into(),
            strict: false,
            audit: false,
            threads: false,
        }
    }
}
