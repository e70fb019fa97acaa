//! The command line: what the owner grants, and which command runs.
//!
//! The commands that work on data come from the guest's own table, so that a
//! person and an agent are served the same list.
//!
//! - [`options`]: what the owner grants and allows.
//! - [`person`]: runs a command of the table; [`grants`]: the files that it names.
//! - [`record`]: what a server records of its calls. [`threads`]: what is remembered, for its owner.
//! - [`time_zone`]: whether local time is what the owner thinks.

mod grants;
mod options;
mod person;
mod record;
mod threads;
mod time_zone;

use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::{Arg, ArgAction, ArgMatches, Args as _, Command, FromArgMatches as _, ValueHint};
use clap_complete::Shell;

use self::options::{Options, ServerOptions};
use crate::budgets::Budgets;
use crate::log::log;
use crate::sandbox::Sandbox;
use crate::sandbox::bindings::command::Entry;
use crate::sandbox::bindings::server::Interruption;
use crate::sandbox::bindings::types::{CommandSettings, EngineSettings, ServerSettings, Undo};
use crate::sandbox::person::{self as persons, ShellRunner};
use crate::sandbox::session::SessionRunner;
use crate::storage::{Granted, Grants, Root, Served, Storage};
use crate::{clients, demo, server, shell, terminal};

/// The exit code for a request that was understood and refused.
const REFUSED: u8 = 1;
/// The longest file of notes, in bytes.
const NOTES_BYTES: u64 = 1 << 20;
/// The exit code for a command line that makes no sense.
const USAGE: u8 = 2;

/// Runs what the arguments ask for.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Result<ExitCode> {
    let sandbox = Sandbox::new()?;
    let arguments = joined(arguments);
    // A server starts often, and takes no part in the table of commands.
    let catalog = match arguments.get(1) {
        Some(command) if command == "mcp" => Vec::new(),
        _ => persons::catalog(sandbox.clone()).map_err(aborted)?,
    };
    let matches = match root_command(&catalog).try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) => {
            let code = if error.use_stderr() { USAGE } else { 0 };
            // A closed pipe is no reason to complain.
            let _ = error.print();
            return Ok(ExitCode::from(code));
        }
    };
    let Some((name, matches)) = matches.subcommand() else {
        bail!("no command");
    };
    let options = Options::from_arg_matches(matches)?;
    if let Some(warning) = time_zone::warning() {
        match name {
            "mcp" => log(warning),
            _ => terminal::complain(warning),
        }
    }
    match name {
        "mcp" => {
            let server = ServerOptions::from_arg_matches(matches)?;
            let file = database(&options, matches);
            let mut session = session(sandbox, &options, &server, file.as_deref())?;
            match session.check().map_err(aborted)? {
                Ok(warnings) => {
                    warnings.into_iter().for_each(log);
                    let file = file.as_deref();
                    session.record(record::open(&options, &server, file)?);
                    server::serve(session)
                }
                Err(sentence) => {
                    terminal::complain(sentence);
                    Ok(ExitCode::from(USAGE))
                }
            }
        }
        "shell" => {
            let file = database(&options, matches);
            // A file in a dot command is relative to the current folder.
            let options = Options {
                root: options.root.or_else(|| Some(PathBuf::from("."))),
                ..options
            };
            let granted = Grant::new(&options, false, file.as_deref(), Vec::new())?;
            let settings = granted.command_settings();
            let runner = ShellRunner::new(sandbox, settings, granted.budgets, granted.storage);
            shell::run(runner, !matches.get_flag("no-history"))
        }
        "demo" => {
            let shop = options.db.is_none() && options.root.is_none() && options.notes.is_none();
            if !shop || options.readonly {
                terminal::complain(
                    "demo uses a database of its own: it takes budgets, but no --db, --readonly, \
                     --root or --notes",
                );
                return Ok(ExitCode::from(USAGE));
            }
            let mut options = options;
            let timeout = &mut options.budgets.timeout;
            *timeout = demo::TIMEOUT.min(*timeout);
            let mut session = session(sandbox, &options, &ServerOptions::default(), None)?;
            demo::play(&mut session)
        }
        "config" => {
            let client = matches
                .get_one::<String>("CLIENT")
                .map_or("", String::as_str);
            let exe = std::env::current_exe().context("where this program lives")?;
            let file = database(&options, matches);
            if let Some(file) = file.as_deref().filter(|file| *file != Path::new(MEMORY))
                && let Err(error) = existing(file)
            {
                terminal::complain(format_args!("warning: {error}"));
            }
            // No configuration of a server that would not start.
            let server = ServerOptions::from_arg_matches(matches)?;
            let mut session = session(sandbox, &options, &server, None)?;
            if let Ok(Err(sentence)) = session.check() {
                terminal::complain(sentence);
                return Ok(ExitCode::from(USAGE));
            }
            let flags = options::given(matches)?;
            print(&clients::config(client, &exe, file.as_deref(), flags)?)
        }
        "threads" => threads::run(sandbox, matches),
        "completions" => {
            let shell = matches
                .get_one::<Shell>("SHELL")
                .context("clap asks for it")?;
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut root_command(&catalog), "sqlarium", &mut script);
            print(&String::from_utf8(script)?)
        }
        name => {
            let entry = catalog
                .iter()
                .find(|entry| entry.name == name)
                .context("the catalogue")?;
            person::run(sandbox, entry, &options, matches)
        }
    }
}

/// `--undo required` as one word: with `--undo` alone, the next word is the database.
fn joined(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::new();
    for argument in arguments {
        match joined.last_mut() {
            Some(last) if last == "--undo" && argument == "required" => last.push("=required"),
            _ => joined.push(argument),
        }
    }
    joined
}

/// The error for a call that was aborted.
fn aborted(reason: Interruption) -> anyhow::Error {
    match reason {
        Interruption::Cancelled => anyhow::anyhow!("cancelled"),
        Interruption::Stopped(sentence) => anyhow::anyhow!(sentence),
    }
}

/// The database that is named, by a flag or by its place.
fn database(options: &Options, matches: &ArgMatches) -> Option<PathBuf> {
    let file = || matches.get_one::<PathBuf>("FILE").cloned();
    options.db.clone().or_else(file)
}

fn root_command(catalog: &[Entry]) -> Command {
    let file = Arg::new("FILE")
        .help("Database file, unless --db names it")
        .value_hint(ValueHint::FilePath)
        .value_parser(clap::value_parser!(PathBuf));
    let mut root = Command::new("sqlarium")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommand(
            ServerOptions::augment_args(Command::new("mcp").arg(file.clone())).about(
                "Serve a database over the Model Context Protocol, on standard input and output",
            ),
        )
        .subcommand(
            Command::new("shell")
                .about("Open a shell like that of sqlite3; lines can come from a pipe")
                .arg(
                    file.clone()
                        .help("Database file; without one, a database in memory"),
                )
                .arg(
                    Arg::new("no-history")
                        .long("no-history")
                        .help(
                            "Do not save typed lines; SQLARIUM_HISTORY names the file that they \
                               are saved to",
                        )
                        .action(ArgAction::SetTrue),
                ),
        )
        .subcommand(
            Command::new("demo").about("Play an agent's conversation with a sample database"),
        )
        .subcommand(
            ServerOptions::augment_args(
                Command::new("config")
                    .arg(
                        Arg::new("CLIENT")
                            .required(true)
                            .help(format!("One of {}", clients::CLIENTS.join(", "))),
                    )
                    .arg(file.clone()),
            )
            .about(
                "Print the configuration that adds sqlarium, with the given flags, to an MCP \
                    client",
            ),
        )
        .subcommand(threads::command())
        .subcommand(
            Command::new("completions")
                .about("Print completions for a shell")
                .arg(
                    Arg::new("SHELL")
                        .required(true)
                        .value_parser(clap::value_parser!(Shell))
                        .help("Shell to print completions for"),
                ),
        );
    for entry in catalog {
        let mut command = Command::new(entry.name.clone()).about(entry.summary.clone());
        if entry.database {
            // Distinct from an argument of the command's own of that name.
            let clash = person::arguments(entry).any(|argument| argument.name == "file");
            let name = if clash { "DATABASE" } else { "FILE" };
            command = command.arg(file.clone().value_name(name));
        }
        for argument in person::arguments(entry) {
            command = command.args(person::to_clap(argument));
        }
        root = root.subcommand(command);
    }
    // Behind those of each subcommand.
    Options::augment_args(root.next_display_order(100)).about(
        "A SQLite database behind glass: an agent can ask it anything, and touch nothing else",
    )
}

/// A session of the server, as the owner granted it.
fn session(
    sandbox: Sandbox,
    options: &Options,
    server: &ServerOptions,
    file: Option<&Path>,
) -> Result<SessionRunner> {
    let records = !server.no_undo && !options.readonly;
    let granted = Grant::new(options, records, file, Vec::new())?;
    let settings = ServerSettings {
        engine: EngineSettings {
            undo: records.then(|| Undo {
                file: RECORD.into(),
                bytes: server.undo_memory,
                required: server.undo.as_deref() == Some("required"),
            }),
            ..granted.engine
        },
        output: (&granted.budgets).into(),
        request_bytes: granted.budgets.request,
        tools: server.tools.clone(),
        strict: server.strict,
        audit: server.audit.is_some(),
        threads: record::principal(server).is_some(),
    };
    Ok(SessionRunner::new(
        sandbox,
        settings,
        granted.budgets,
        granted.storage,
    ))
}

/// What the owner granted and allows, for whoever runs commands.
struct Grant {
    engine: EngineSettings,
    budgets: Budgets,
    storage: Storage,
}

impl Grant {
    /// Reads it from the options. `record`: keep what is written for undo.
    fn new(
        options: &Options,
        record: bool,
        file: Option<&Path>,
        files: Vec<Granted>,
    ) -> Result<Self> {
        let budgets = options.budgets.clone();
        let (database, name, title) = match file {
            Some(file) if file != Path::new(MEMORY) => {
                let name = existing(file)?;
                let served = Served::File {
                    name: name.clone(),
                    path: file.to_path_buf(),
                    readonly: options.readonly,
                };
                (served, name, file.display().to_string())
            }
            _ => (in_memory(), MEMORY_NAME.to_owned(), MEMORY.to_owned()),
        };
        let root = options.root.clone().map(|directory| Root {
            directory,
            readonly: options.readonly,
        });
        if let Some(root) = &root
            && !root.directory.is_dir()
        {
            bail!(
                "--root {}: there is no such folder",
                root.directory.display()
            );
        }
        let engine = EngineSettings {
            in_memory: title == MEMORY,
            database: name,
            title: title.clone(),
            readonly: options.readonly,
            root: root.is_some(),
            notes: options.notes.as_deref().map_or(Ok(String::new()), notes)?,
            undo: None,
            limits: (&budgets).into(),
        };
        let grants = Grants {
            database,
            record: record.then(|| RECORD.into()),
            files,
            root,
        };
        let storage =
            Storage::new(grants, budgets.disk).with_context(|| format!("cannot open {title}"))?;
        Ok(Self {
            engine,
            budgets,
            storage,
        })
    }

    /// What a command of a person is told of it.
    fn command_settings(&self) -> CommandSettings {
        CommandSettings {
            engine: self.engine.clone(),
            output: (&self.budgets).into(),
        }
    }
}

/// What the sandbox calls the record of undo; no file below a root can be called that.
const RECORD: &str = "//undo";

/// The name of a database that is no file.
const MEMORY: &str = ":memory:";
/// What the sandbox calls it.
const MEMORY_NAME: &str = "memory";

fn in_memory() -> Served {
    Served::Memory {
        name: MEMORY_NAME.into(),
    }
}

/// What the sandbox calls the database at `file`, which has to exist.
fn existing(file: &Path) -> Result<String> {
    match std::fs::metadata(file) {
        Ok(meta) if meta.is_file() => {}
        Ok(_) => bail!(
            "{} is not a file, so it cannot be a database",
            file.display()
        ),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => bail!(
            "there is no file {}; check the path, or create a new database with: sqlarium create \
             {0}",
            file.display()
        ),
        Err(error) => bail!("cannot open {}: {error}", file.display()),
    }
    Ok(name_of(file))
}

/// What the sandbox calls the database at `file`.
fn name_of(file: &Path) -> String {
    let name = file.file_name().and_then(|name| name.to_str());
    name.unwrap_or("database").to_owned()
}

/// The text of the owner's notes; what it says is for the sandbox to read.
fn notes(file: &Path) -> Result<String> {
    let mut text = Vec::new();
    let read = std::fs::File::open(file)
        .and_then(|file| file.take(NOTES_BYTES + 1).read_to_end(&mut text));
    read.with_context(|| format!("cannot read the notes in {}", file.display()))?;
    if text.len() as u64 > NOTES_BYTES {
        bail!(
            "the notes in {} are longer than {NOTES_BYTES} bytes",
            file.display()
        );
    }
    String::from_utf8(text)
        .ok()
        .with_context(|| format!("the notes in {} are not UTF-8", file.display()))
}

/// Prints a result with a newline at its end.
fn print(text: &str) -> Result<ExitCode> {
    let end = if text.ends_with('\n') || text.is_empty() {
        ""
    } else {
        "\n"
    };
    terminal::print(format_args!("{text}{end}"))?;
    Ok(ExitCode::SUCCESS)
}
