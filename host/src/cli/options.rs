//! The options that every command takes, and those of the server.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, ValueHint};

use crate::budgets::Budgets;
use crate::clients;

/// The least memory, in bytes, in which everyday calls are answered.
const LEAST_MEMORY: u64 = 8 << 20;

/// What the owner grants and allows.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Database to serve; `:memory:` lives as long as the process
    #[arg(long, value_name = "FILE", global = true, value_hint = ValueHint::FilePath)]
    pub db: Option<PathBuf>,
    /// Refuse every write, and open the file read-only
    #[arg(long, global = true)]
    pub readonly: bool,
    /// Folder below which other files can be opened [default: none]
    #[arg(long, value_name = "DIR", global = true, value_hint = ValueHint::DirPath)]
    pub root: Option<PathBuf>,
    /// TOML file with notes to show beside tables and columns
    #[arg(long, value_name = "FILE", global = true, value_hint = ValueHint::FilePath)]
    pub notes: Option<PathBuf>,
    /// Time limit of one call, such as 60s or 500ms
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration, global = true, help_heading = "Budgets")]
    pub timeout: Duration,
    /// Work limit of one call: about one unit per WebAssembly instruction
    #[arg(long, value_name = "N", default_value = "2000000000000", value_parser = clap::value_parser!(u64).range(1..), global = true, help_heading = "Budgets")]
    pub fuel: u64,
    /// Memory limit of the sandbox
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = memory, global = true, help_heading = "Budgets")]
    pub memory: u64,
    /// Growth limit of all files together, including temporary files and memory databases
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = size, global = true, help_heading = "Budgets")]
    pub disk: u64,
    /// How long to wait for a locked database
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = wait, global = true, help_heading = "Budgets")]
    pub busy_timeout: Duration,
    /// Rows returned when the call gives no limit
    #[arg(long, value_name = "N", default_value = "200", value_parser = clap::value_parser!(u32).range(1..), global = true, help_heading = "Budgets")]
    pub rows: u32,
    /// Maximum rows, whatever limit the call gives
    #[arg(long, value_name = "N", default_value = "10000", value_parser = clap::value_parser!(u32).range(1..), global = true, help_heading = "Budgets")]
    pub max_rows: u32,
    /// Maximum bytes of text in one result
    #[arg(long, value_name = "N", default_value = "49152", value_parser = clap::value_parser!(u32).range(1000..), global = true, help_heading = "Budgets")]
    pub text: u32,
    /// Maximum characters of one cell in text output
    #[arg(long, value_name = "N", default_value = "2000", value_parser = clap::value_parser!(u32).range(16..), global = true, help_heading = "Budgets")]
    pub cell: u32,
    /// Maximum bytes of a request line
    #[arg(long, value_name = "SIZE", default_value = "1M", value_parser = size, global = true, help_heading = "Budgets")]
    pub request: u64,
    /// Maximum bytes of a reply line
    #[arg(long, value_name = "SIZE", default_value = "8M", value_parser = size, global = true, help_heading = "Budgets")]
    pub reply: u64,
}

/// Only for the server.
#[derive(Args, Clone, Debug)]
pub struct ServerOptions {
    /// Refuse a client that does not follow the protocol exactly
    #[arg(long)]
    pub strict: bool,
    /// Record the writes of a session, so that the tools history and undo can list and undo them
    #[arg(long)]
    pub undo: bool,
    /// Memory limit of what undo keeps; beyond it the oldest writes can no longer be undone
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = size)]
    pub undo_memory: u64,
    /// Tools to serve: all, core, select, or names separated by commas
    #[arg(long, value_name = "SPEC", default_value = "all")]
    pub tools: String,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            strict: false,
            undo: false,
            undo_memory: 64 << 20,
            tools: "all".into(),
        }
    }
}

/// The flags that were given, for a server to be started with later, somewhere else; but `--db`.
pub fn given(matches: &ArgMatches) -> Result<Vec<String>> {
    let known = ServerOptions::augment_args(Options::augment_args(Command::new("")));
    let mut given = Vec::new();
    for arg in known.get_arguments() {
        let id = arg.get_id().as_str();
        let (Some(long), Some(ValueSource::CommandLine)) =
            (arg.get_long(), matches.value_source(id))
        else {
            continue;
        };
        if long == "db" {
            continue;
        }
        given.push(format!("--{long}"));
        if !arg.get_action().takes_values() {
            continue;
        }
        let hint = arg.get_value_hint();
        for value in matches.get_raw(id).into_iter().flatten() {
            let value = Path::new(value);
            let path = matches!(hint, ValueHint::FilePath | ValueHint::DirPath);
            given.push(if path {
                clients::unicode(&clients::absolute(value)?)?
            } else {
                clients::unicode(value)?
            });
        }
    }
    Ok(given)
}

/// A time that is not nothing.
fn duration(text: &str) -> Result<Duration, String> {
    match wait(text)? {
        Duration::ZERO => Err("a time budget of zero would stop every call".into()),
        time => Ok(time),
    }
}

/// `60s`, `1m 30s`, `500ms`; a bare number is seconds.
fn wait(text: &str) -> Result<Duration, String> {
    let parsed = match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string()),
        Err(_) => humantime::parse_duration(text).map_err(|error| error.to_string()),
    };
    // Far enough, and safe to add to any clock.
    Ok(parsed?.min(Duration::from_secs(365 * 24 * 3600)))
}

/// A size that SQLite and the rest of the component fit into.
fn memory(text: &str) -> Result<u64, String> {
    match size(text)? {
        size if size < LEAST_MEMORY => Err(format!(
            "the sandbox itself needs memory; give {}M or more",
            LEAST_MEMORY >> 20
        )),
        size => Ok(size),
    }
}

/// `256M`, `1GiB`, `65536`; K, M and G are powers of 1024.
fn size(text: &str) -> Result<u64, String> {
    let size = parse_size::Config::new()
        .with_binary()
        .parse_size(text)
        .map_err(|error| format!("{error}; write it like 65536, 256M or 1G"))?;
    if size == 0 {
        Err("a budget of zero would stop every call".into())
    } else {
        Ok(size)
    }
}

impl Options {
    /// The budgets that they set.
    pub fn budgets(&self) -> Budgets {
        Budgets {
            request: self.request,
            reply: self.reply,
            text: self.text,
            cell: self.cell,
            rows: self.rows.min(self.max_rows),
            max_rows: self.max_rows,
            timeout: self.timeout,
            fuel: self.fuel,
            memory: self.memory,
            disk: self.disk,
            busy: self.busy_timeout,
        }
    }
}
