//! What the owner of the database decided; no call can loosen it.

pub mod notes;

/// The budgets that the guest keeps by itself. See `wit/types.wit`.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The longest request line, in bytes.
    pub request_bytes: u64,
    /// The longest reply line, in bytes, its newline included.
    pub reply_bytes: u64,
    /// The text of one tool result, in characters.
    pub text_chars: u32,
    /// One cell of the text form, in characters.
    pub cell_chars: u32,
    /// Rows when the call does not say.
    pub rows: u32,
    /// Rows at most, whatever the call says.
    pub max_rows: u32,
    /// All linear memory of the sandbox, in bytes.
    pub memory_bytes: u64,
    /// Growth of all files together, in bytes.
    pub disk_bytes: u64,
    /// How long a locked database is waited for, in milliseconds.
    pub busy_ms: u32,
    /// The work of one call, in the host's units; only for messages.
    pub fuel: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request_bytes: 1 << 20,
            reply_bytes: 8 << 20,
            text_chars: 40_000,
            cell_chars: 2_000,
            rows: 200,
            max_rows: 10_000,
            memory_bytes: 256 << 20,
            disk_bytes: 1 << 30,
            busy_ms: 5_000,
            fuel: 2_000_000_000_000,
        }
    }
}

/// Everything the owner chose. See `wit/types.wit`.
#[derive(Clone, Debug)]
pub struct Settings {
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
    /// Whether a client is held to the letter of the protocol.
    pub strict: bool,
    /// Which tools are served: `all`, `core`, `select`, or names separated by commas.
    pub tools: String,
    /// The text of the owner's notes; see [`self::notes`].
    pub notes: String,
    /// The name of the file in the host's memory that records what a session writes, if it is to be recorded.
    pub record: Option<String>,
    /// The budgets.
    pub limits: Limits,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            database: "memory".into(),
            title: ":memory:".into(),
            in_memory: true,
            readonly: false,
            root: false,
            strict: false,
            tools: "all".into(),
            notes: String::new(),
            record: None,
            limits: Limits::default(),
        }
    }
}
