//! The options that every command takes, and those of the server.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, ValueHint};

use crate::budgets::{self, Budgets};
use crate::clients;

/// What the owner grants and allows.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Database to serve; `:memory:` lives as long as the process
    #[arg(long, value_name = "FILE", global = true, value_hint = ValueHint::FilePath)]
    pub db: Option<PathBuf>,
    /// Open the database read-only and refuse every write
    #[arg(long, global = true)]
    pub readonly: bool,
    /// Folder below which other files can be opened [default: none]
    #[arg(long, value_name = "DIR", global = true, value_hint = ValueHint::DirPath)]
    pub root: Option<PathBuf>,
    /// TOML file with notes to show beside tables and columns
    #[arg(long, value_name = "FILE", global = true, value_hint = ValueHint::FilePath)]
    pub notes: Option<PathBuf>,
    #[command(flatten)]
    pub budgets: Budgets,
}

/// The server's own.
#[derive(Args, Clone, Debug)]
pub struct ServerOptions {
    /// Refuse a client that does not follow the protocol exactly
    #[arg(long)]
    pub strict: bool,
    /// Keep what undoes the writes of a session, as it is the default; `required` refuses a write that cannot be undone
    #[arg(
        long,
        value_name = "required",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "on",
        value_parser = ["on", "required"],
        hide_possible_values = true
    )]
    pub undo: Option<String>,
    /// Keep nothing for undo, and do not serve the tool undo
    #[arg(long, conflicts_with = "undo")]
    pub no_undo: bool,
    /// Memory limit of what undo keeps; beyond it the oldest writes can no longer be undone
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = budgets::size)]
    pub undo_memory: u64,
    /// Tools to serve: all, core, select, or names separated by commas
    #[arg(long, value_name = "SPEC", default_value = "all")]
    pub tools: String,
    /// File that remembers the last calls of each thread of a principal; servers can share it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub state: Option<PathBuf>,
    /// Whose threads are remembered; or `SQLARIUM_PRINCIPAL`
    #[arg(long, value_name = "NAME", env = PRINCIPAL, hide_env = true)]
    pub principal: Option<String>,
    /// Days after which a thread that is not used is forgotten
    #[arg(long, value_name = "N", default_value = "30", value_parser = clap::value_parser!(u32).range(1..))]
    pub state_days: u32,
    /// File to which a line of JSON is added for each call; `-` is standard error
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub audit: Option<PathBuf>,
    /// Add the SQL of each call to its line
    #[arg(long, requires = "audit")]
    pub audit_sql: bool,
    /// Size at which the file is renamed to FILE.1, which is kept with four older ones
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = rotation)]
    pub audit_size: u64,
}

/// The variable that names the principal where no flag does.
pub const PRINCIPAL: &str = "SQLARIUM_PRINCIPAL";

/// A size that holds more than a few lines.
fn rotation(text: &str) -> Result<u64, String> {
    match budgets::size(text)? {
        size if size < 64 << 10 => Err("give 64K or more, which is a hundred calls".into()),
        size => Ok(size),
    }
}

impl Default for ServerOptions {
    fn default() -> Self {
        budgets::defaults()
    }
}

/// The flags that were given, except `--db`, for the configuration of a client.
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
            let path = matches!(hint, ValueHint::FilePath | ValueHint::DirPath)
                && value.as_os_str() != "-";
            let value = if path {
                clients::unicode(&clients::absolute(value)?)?
            } else {
                clients::unicode(value)?
            };
            match given.last_mut() {
                Some(flag) if arg.is_require_equals_set() => *flag = format!("{flag}={value}"),
                _ => given.push(value),
            }
        }
    }
    Ok(given)
}
