//! The command line: what the owner grants, and which command runs.
//!
//! The commands that work on data come from the guest's own table, so that a
//! person and an agent are served the same list.
//!
//! - [`options`]: what the owner grants and allows.
//! - [`person`]: runs a command of the table; [`grants`]: the files that it names.

mod grants;
mod options;
mod person;

use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::{Arg, ArgAction, Args as _, Command, FromArgMatches as _, ValueHint};
use clap_complete::Shell;

use self::options::{Options, ServerOptions};
use crate::budgets::Budgets;
use crate::sandbox::Sandbox;
use crate::sandbox::bindings::command::Entry;
use crate::sandbox::bindings::types::Settings;
use crate::sandbox::instance::{Outcome, Vessel, rest};
use crate::storage::{Granted, Grants, Root, Served, Storage};
use crate::{clients, demo, serve, shell, terminal};

/// The exit code for a request that was understood and refused.
const REFUSED: u8 = 1;
/// The longest file of notes, in bytes.
const NOTES_BYTES: u64 = 1 << 20;
/// The exit code for a command line that makes no sense.
const USAGE: u8 = 2;

/// Runs what the arguments ask for.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Result<ExitCode> {
    let sandbox = Sandbox::new()?;
    let catalog = catalog(&sandbox)?;
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
    match name {
        "mcp" => {
            let server = ServerOptions::from_arg_matches(matches)?;
            let file = options
                .db
                .clone()
                .or_else(|| matches.get_one::<PathBuf>("FILE").cloned());
            let file = file.as_deref();
            let (mut vessel, _) = vessel(sandbox, &options, Some(&server), file, Vec::new())?;
            match vessel.check() {
                Outcome::Done(Ok(warnings)) => {
                    for sentence in warnings {
                        terminal::complain(sentence);
                    }
                    serve::serve(&mut vessel)
                }
                Outcome::Done(Err(sentence)) => {
                    terminal::complain(sentence);
                    Ok(ExitCode::from(USAGE))
                }
                Outcome::Cut { reason, .. } => bail!(reason.unwrap_or_default()),
            }
        }
        "shell" => {
            let file = options
                .db
                .clone()
                .or_else(|| matches.get_one::<PathBuf>("FILE").cloned());
            // A file in a dot command is relative to the current folder.
            let options = Options {
                root: options.root.or_else(|| Some(PathBuf::from("."))),
                ..options
            };
            let (mut vessel, _) = vessel(sandbox, &options, None, file.as_deref(), Vec::new())?;
            vessel.listen();
            shell::run(vessel, !matches.get_flag("no-history"))
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
            let options = Options {
                timeout: options.timeout.min(demo::TIMEOUT),
                ..options
            };
            let (mut vessel, _) = vessel(sandbox, &options, None, None, Vec::new())?;
            demo::play(&mut vessel)
        }
        "config" => {
            let client = matches
                .get_one::<String>("CLIENT")
                .map_or("", String::as_str);
            let exe = std::env::current_exe().context("where this program lives")?;
            let file = options
                .db
                .clone()
                .or_else(|| matches.get_one::<PathBuf>("FILE").cloned());
            if let Some(file) = file.as_deref().filter(|file| *file != Path::new(MEMORY))
                && let Err(error) = existing(file)
            {
                terminal::complain(format_args!("warning: {error}"));
            }
            // What could not be started with these flags is not handed out.
            let server = ServerOptions::from_arg_matches(matches)?;
            let (mut vessel, _) = vessel(sandbox, &options, Some(&server), None, Vec::new())?;
            if let Outcome::Done(Err(sentence)) = vessel.check() {
                terminal::complain(sentence);
                return Ok(ExitCode::from(USAGE));
            }
            let flags = options::given(matches)?;
            print(&clients::config(client, &exe, file.as_deref(), flags)?)
        }
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

/// Asks the guest for its commands.
fn catalog(sandbox: &Sandbox) -> Result<Vec<Entry>> {
    let settings = settings(&Budgets::default(), None, MEMORY_NAME.into(), MEMORY.into());
    let storage = Storage::new(
        Grants {
            database: in_memory(),
            record: None,
            files: Vec::new(),
            root: None,
        },
        0,
    )?;
    let mut vessel = Vessel::new(sandbox.clone(), settings, Budgets::default(), storage);
    let outcome = vessel.run(rest, async |live, _, _| {
        let (bindings, store) = live.exports();
        bindings
            .sqlarium_sandbox_command()
            .call_catalog(store)
            .await
    });
    match outcome {
        Outcome::Done(catalog) => Ok(catalog),
        Outcome::Cut { reason, .. } => bail!(reason.unwrap_or_default()),
    }
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
            // Told from an argument of the command's own that is called so.
            let clash = person::arguments(entry).any(|argument| argument.name == "file");
            let name = if clash { "DATABASE" } else { "FILE" };
            command = command.arg(file.clone().value_name(name));
        }
        for argument in person::arguments(entry) {
            command = command.args(person::to_clap(argument));
        }
        root = root.subcommand(command);
    }
    Options::augment_args(root).about(
        "A SQLite database behind glass: an agent can ask it anything, and touch nothing else",
    )
}

/// Everything that a call needs, as the owner granted it; and the storage behind it.
fn vessel(
    sandbox: Sandbox,
    options: &Options,
    server: Option<&ServerOptions>,
    file: Option<&Path>,
    files: Vec<Granted>,
) -> Result<(Vessel, Storage)> {
    let budgets = options.budgets();
    let (database, name, title) = match file {
        Some(file) if file != Path::new(MEMORY) => {
            let name = existing(file)?;
            let path = file.to_path_buf();
            let readonly = options.readonly;
            (
                Served::File {
                    name: name.clone(),
                    path,
                    readonly,
                },
                name,
                file.display().to_string(),
            )
        }
        _ => (in_memory(), MEMORY_NAME.to_owned(), MEMORY.to_owned()),
    };
    let mut settings = settings(&budgets, server, name, title.clone());
    settings.readonly = options.readonly;
    settings.root = options.root.is_some();
    if let Some(file) = &options.notes {
        settings.notes = notes(file)?;
    }
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
    let storage = Storage::new(
        Grants {
            database,
            record: settings.undo_record.clone(),
            files,
            root,
        },
        budgets.disk,
    )
    .with_context(|| format!("cannot open {title}"))?;
    let vessel = Vessel::new(sandbox, settings, budgets, storage.clone());
    Ok((vessel, storage))
}

/// What the sandbox calls the record of `--undo`; no file below a root can be called that.
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

/// What the sandbox calls the database at `file`, which has to be there.
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

fn settings(
    budgets: &Budgets,
    server: Option<&ServerOptions>,
    database: String,
    title: String,
) -> Settings {
    Settings {
        in_memory: title == MEMORY,
        database,
        title,
        readonly: false,
        root: false,
        strict: server.is_some_and(|server| server.strict),
        tools: server.map_or_else(|| "all".into(), |server| server.tools.clone()),
        notes: String::new(),
        undo_record: server.filter(|server| server.undo).map(|_| RECORD.into()),
        limits: budgets.limits(),
    }
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
