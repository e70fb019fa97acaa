//! The options that every command takes, and those of the server.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

use crate::budgets::Budgets;

/// What the owner grants and allows.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The database to serve; `:memory:` is one that lives as long as the process
    #[arg(long, value_name = "FILE", global = true, value_hint = ValueHint::FilePath)]
    pub db: Option<PathBuf>,
    /// Refuse every write, and open the file read-only
    #[arg(long, global = true)]
    pub readonly: bool,
    /// The folder in which other files may be named [default: none]
    #[arg(long, value_name = "DIR", global = true, value_hint = ValueHint::DirPath)]
    pub root: Option<PathBuf>,
    /// Notes on tables and columns to show with them, a TOML file
    #[arg(long, value_name = "FILE", global = true, value_hint = ValueHint::FilePath)]
    pub notes: Option<PathBuf>,
    /// Time of one call, such as 60s or 500ms
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration, global = true, help_heading = "Budgets")]
    pub timeout: Duration,
    /// Work of one call: about one unit for each WebAssembly instruction
    #[arg(long, value_name = "N", default_value = "2000000000000", value_parser = clap::value_parser!(u64).range(1..), global = true, help_heading = "Budgets")]
    pub fuel: u64,
    /// Memory of the sandbox
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = size, global = true, help_heading = "Budgets")]
    pub memory: u64,
    /// Growth of all files together, temporary ones and memory databases included
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = size, global = true, help_heading = "Budgets")]
    pub disk: u64,
    /// How long a locked database is waited for
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration, global = true, help_heading = "Budgets")]
    pub busy_timeout: Duration,
    /// Rows when the call does not say
    #[arg(long, value_name = "N", default_value = "200", value_parser = clap::value_parser!(u32).range(1..), global = true, help_heading = "Budgets")]
    pub rows: u32,
    /// Rows at most, whatever the call says
    #[arg(long, value_name = "N", default_value = "10000", value_parser = clap::value_parser!(u32).range(1..), global = true, help_heading = "Budgets")]
    pub max_rows: u32,
    /// Characters of the text of one result
    #[arg(long, value_name = "N", default_value = "40000", value_parser = clap::value_parser!(u32).range(200..), global = true, help_heading = "Budgets")]
    pub text: u32,
    /// Characters of one cell of the text form
    #[arg(long, value_name = "N", default_value = "2000", value_parser = clap::value_parser!(u32).range(8..), global = true, help_heading = "Budgets")]
    pub cell: u32,
    /// Bytes of a request line
    #[arg(long, value_name = "SIZE", default_value = "1M", value_parser = size, global = true, help_heading = "Budgets")]
    pub request: u64,
    /// Bytes of a reply line
    #[arg(long, value_name = "SIZE", default_value = "8M", value_parser = size, global = true, help_heading = "Budgets")]
    pub reply: u64,
}

/// Only for the server.
#[derive(Args, Clone, Debug)]
pub struct ServerOptions {
    /// Hold the client to the letter of the protocol
    #[arg(long)]
    pub strict: bool,
    /// Record what a session writes, so that the tools history and undo can take it back
    #[arg(long)]
    pub undo: bool,
    /// The tools to serve: all, core, select, or names separated by commas
    #[arg(long, value_name = "SPEC", default_value = "all")]
    pub tools: String,
}

/// `60s`, `1m 30s`, `500ms`; a bare number is seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let parsed = match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string()),
        Err(_) => humantime::parse_duration(text).map_err(|error| error.to_string()),
    };
    match parsed {
        Ok(Duration::ZERO) => Err("a budget of no time stops every call".into()),
        // Far enough, and safe to add to any clock.
        parsed => Ok(parsed?.min(Duration::from_secs(365 * 24 * 3600))),
    }
}

/// `256M`, `1GiB`, `65536`; K, M and G are powers of 1024.
fn size(text: &str) -> Result<u64, String> {
    let size = parse_size::Config::new()
        .with_binary()
        .parse_size(text)
        .map_err(|error| format!("{error}; write it like 65536, 256M or 1G"))?;
    if size == 0 {
        Err("a budget of nothing stops every call".into())
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
