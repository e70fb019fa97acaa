//! The command line: what the owner grants, and which command runs.
//!
//! The commands that work on data come from the guest's own table, so that a
//! person and an agent are served the same list.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::builder::styling::Styles;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches as _, ValueHint};
use serde_json::{Map, Value};

use crate::budgets::Budgets;
use crate::sandbox::Sandbox;
use crate::sandbox::bindings::command::{Argument, Entry, Shape};
use crate::sandbox::bindings::types::{Limits, Settings};
use crate::sandbox::instance::{Outcome, Vessel};
use crate::storage::{Grants, Root, Served, Storage};
use crate::{clients, demo, serve};

/// The exit code for a request that was understood and refused.
const REFUSED: u8 = 1;
/// The longest file of notes, in bytes.
const NOTES_BYTES: u64 = 1 << 20;
/// The exit code for a command line that makes no sense.
const USAGE: u8 = 2;

/// What the owner grants and allows.
#[derive(Args, Clone, Debug)]
struct Options {
    /// The database to serve; `:memory:` is one that lives as long as the process
    #[arg(long, value_name = "FILE", global = true, value_hint = ValueHint::FilePath)]
    db: Option<PathBuf>,
    /// Refuse every write, and open the file read-only
    #[arg(long, global = true)]
    readonly: bool,
    /// The folder in which other files may be named [default: none]
    #[arg(long, value_name = "DIR", global = true, value_hint = ValueHint::DirPath)]
    root: Option<PathBuf>,
    /// Notes on tables and columns to show with them, a TOML file
    #[arg(long, value_name = "FILE", global = true, value_hint = ValueHint::FilePath)]
    notes: Option<PathBuf>,
    /// Time of one call, such as 60s or 500ms
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration, global = true, help_heading = "Budgets")]
    timeout: Duration,
    /// Work of one call: about one unit for each WebAssembly instruction
    #[arg(long, value_name = "N", default_value = "2000000000000", value_parser = clap::value_parser!(u64).range(1..), global = true, help_heading = "Budgets")]
    fuel: u64,
    /// Memory of the sandbox
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = size, global = true, help_heading = "Budgets")]
    memory: u64,
    /// Growth of all files together, temporary ones and memory databases included
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = size, global = true, help_heading = "Budgets")]
    disk: u64,
    /// How long a locked database is waited for
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration, global = true, help_heading = "Budgets")]
    busy_timeout: Duration,
    /// Rows when the call does not say
    #[arg(long, value_name = "N", default_value = "200", value_parser = clap::value_parser!(u32).range(1..), global = true, help_heading = "Budgets")]
    rows: u32,
    /// Rows at most, whatever the call says
    #[arg(long, value_name = "N", default_value = "10000", value_parser = clap::value_parser!(u32).range(1..), global = true, help_heading = "Budgets")]
    max_rows: u32,
    /// Characters of the text of one result
    #[arg(long, value_name = "N", default_value = "40000", value_parser = clap::value_parser!(u32).range(200..), global = true, help_heading = "Budgets")]
    text: u32,
    /// Characters of one cell of the text form
    #[arg(long, value_name = "N", default_value = "2000", value_parser = clap::value_parser!(u32).range(8..), global = true, help_heading = "Budgets")]
    cell: u32,
    /// Bytes of a request line
    #[arg(long, value_name = "SIZE", default_value = "1M", value_parser = size, global = true, help_heading = "Budgets")]
    request: u64,
    /// Bytes of a reply line
    #[arg(long, value_name = "SIZE", default_value = "8M", value_parser = size, global = true, help_heading = "Budgets")]
    reply: u64,
}

/// Only for the server.
#[derive(Args, Clone, Debug)]
struct ServerOptions {
    /// Hold the client to the letter of the protocol
    #[arg(long)]
    strict: bool,
    /// Record what a session writes, so that the tools history and undo can take it back
    #[arg(long)]
    undo: bool,
    /// The tools to serve: all, core, select, or names separated by commas
    #[arg(long, value_name = "SPEC", default_value = "all")]
    tools: String,
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
            let mut vessel = vessel(sandbox, &options, Some(&server), file.as_deref(), None)?;
            match vessel.check() {
                Outcome::Done(Ok(warnings)) => {
                    for sentence in warnings {
                        eprintln!("sqlarium: {sentence}");
                    }
                    serve::serve(&mut vessel)
                }
                Outcome::Done(Err(sentence)) => {
                    eprintln!("sqlarium: {sentence}");
                    Ok(ExitCode::from(USAGE))
                }
                Outcome::Cut { reason, .. } => bail!(reason.unwrap_or_default()),
            }
        }
        "demo" => {
            let options = Options {
                timeout: options.timeout.min(demo::TIMEOUT),
                ..options
            };
            let mut vessel = vessel(sandbox, &options, None, None, None)?;
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
            print(&clients::config(client, &exe, file.as_deref())?)
        }
        name => {
            let entry = catalog
                .iter()
                .find(|entry| entry.name == name)
                .context("the catalogue")?;
            for_people(sandbox, entry, &options, matches)
        }
    }
}

/// Asks the guest for its commands.
fn catalog(sandbox: &Sandbox) -> Result<Vec<Entry>> {
    let settings = settings(&Budgets::default(), None, "memory".into(), MEMORY.into());
    let storage = Storage::new(
        Grants {
            database: in_memory(),
            record: None,
            root: None,
        },
        0,
    )?;
    let mut vessel = Vessel::new(sandbox.clone(), settings, Budgets::default(), storage);
    let outcome = vessel.run(
        |_, _| {},
        async |live, _, _| {
            let (bindings, store) = live.exports();
            bindings
                .sqlarium_sandbox_command()
                .call_catalog(store)
                .await
        },
    );
    match outcome {
        Outcome::Done(catalog) => Ok(catalog),
        Outcome::Cut { reason, .. } => bail!(reason.unwrap_or_default()),
    }
}

fn root_command(catalog: &[Entry]) -> Command {
    let file = Arg::new("FILE")
        .help("The database file, unless --db names it")
        .value_hint(ValueHint::FilePath)
        .value_parser(clap::value_parser!(PathBuf));
    let mut root = Command::new("sqlarium")
        .version(env!("CARGO_PKG_VERSION"))
        .about("A SQLite database behind glass: an agent can ask it anything, and touch nothing else")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .styles(Styles::plain())
        .subcommand(ServerOptions::augment_args(
            Command::new("mcp")
                .about("Serve a database over the Model Context Protocol, on standard input and output")
                .arg(file.clone()),
        ))
        .subcommand(Command::new("demo").about("Play an agent's conversation with a sample database"))
        .subcommand(
            Command::new("config")
                .about("Print the configuration that adds sqlarium to an MCP client")
                .arg(
                    Arg::new("CLIENT")
                        .required(true)
                        .help(format!("One of {}", clients::CLIENTS.join(", "))),
                )
                .arg(file.clone()),
        );
    for entry in catalog {
        let mut command = Command::new(entry.name.clone()).about(entry.summary.clone());
        if entry.database {
            command = command.arg(file.clone());
        }
        for argument in arguments(entry) {
            command = command.arg(to_clap(argument));
        }
        root = root.subcommand(command);
    }
    Options::augment_args(root)
}

/// The arguments that a person gives; the database comes as FILE or `--db`.
fn arguments(entry: &Entry) -> impl Iterator<Item = &Argument> {
    entry
        .arguments
        .iter()
        .filter(|argument| argument.name != "db")
}

fn to_clap(argument: &Argument) -> Arg {
    let name = argument.name.clone();
    let mut arg = Arg::new(name.clone()).help(argument.summary.clone());
    if argument.positional {
        arg = arg.value_name(name.to_uppercase());
    } else {
        arg = arg
            .long(name.replace('_', "-"))
            .value_name(name.to_uppercase());
    }
    match argument.shape {
        Shape::Flag => arg.action(ArgAction::SetTrue).num_args(0),
        _ if !argument.choices.is_empty() => arg.value_parser(argument.choices.clone()),
        _ => arg.allow_hyphen_values(true),
    }
}

/// Runs a command of the table for a person.
fn for_people(
    sandbox: Sandbox,
    entry: &Entry,
    options: &Options,
    matches: &ArgMatches,
) -> Result<ExitCode> {
    // What stands in positions, in order: FILE comes first unless --db names it.
    let mut positions: Vec<OsString> = Vec::new();
    if entry.database {
        positions.extend(
            matches
                .get_one::<PathBuf>("FILE")
                .map(|file| file.clone().into()),
        );
    }
    let positional = || arguments(entry).filter(|argument| argument.positional);
    for argument in positional() {
        positions.extend(
            matches
                .get_one::<String>(&argument.name)
                .map(OsString::from),
        );
    }
    let mut positions = positions.into_iter();
    let file = match &options.db {
        Some(file) => Some(file.clone()),
        None if entry.database => positions.next().map(PathBuf::from),
        None => None,
    };
    if entry.database && file.is_none() {
        eprintln!(
            "sqlarium: {} needs a database: sqlarium {0} FILE, or --db FILE",
            entry.name
        );
        return Ok(ExitCode::from(USAGE));
    }
    let mut given = Map::new();
    for argument in positional() {
        if let Some(text) = positions.next() {
            let text = text
                .into_string()
                .ok()
                .context("an argument is not UTF-8")?;
            given.insert(argument.name.clone(), to_json(argument, text));
        }
    }
    if let Some(text) = positions.next() {
        eprintln!(
            "sqlarium: {} takes no further argument: {}",
            entry.name,
            text.display()
        );
        return Ok(ExitCode::from(USAGE));
    }
    for argument in arguments(entry).filter(|argument| !argument.positional) {
        if matches!(argument.shape, Shape::Flag) {
            if matches.get_flag(&argument.name) {
                given.insert(argument.name.clone(), Value::Bool(true));
            }
        } else if let Some(text) = matches.get_one::<String>(&argument.name) {
            given.insert(argument.name.clone(), to_json(argument, text.clone()));
        }
    }
    let mut vessel = vessel(sandbox, options, None, file.as_deref(), Some(entry))?;
    let given = Value::Object(given).to_string();
    let outcome = vessel.run(
        |_, _| {},
        async |live, settings, _| {
            let (bindings, store) = live.exports();
            bindings
                .sqlarium_sandbox_command()
                .call_run(store, settings, &entry.name, &given)
                .await
        },
    );
    vessel.close();
    match outcome {
        Outcome::Done(Ok(text)) => print(&text),
        Outcome::Done(Err(failure)) => {
            if failure.json {
                print(&failure.text)?;
            } else {
                eprintln!("sqlarium: {}", failure.text);
            }
            Ok(ExitCode::from(if failure.usage { USAGE } else { REFUSED }))
        }
        Outcome::Cut { reason, .. } => bail!(reason.unwrap_or_default()),
    }
}

/// Text as it stands for a text, a number for an integer, and JSON where it is JSON.
fn to_json(argument: &Argument, text: String) -> Value {
    match argument.shape {
        Shape::Json | Shape::Integer => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        Shape::Text | Shape::Flag => Value::String(text),
    }
}

/// Everything that a call needs, as the owner granted it.
fn vessel(
    sandbox: Sandbox,
    options: &Options,
    server: Option<&ServerOptions>,
    file: Option<&Path>,
    entry: Option<&Entry>,
) -> Result<Vessel> {
    let budgets = Budgets {
        request: options.request,
        reply: options.reply,
        text: options.text,
        cell: options.cell,
        rows: options.rows.min(options.max_rows),
        max_rows: options.max_rows,
        timeout: options.timeout,
        fuel: options.fuel,
        memory: options.memory,
        disk: options.disk,
        busy: options.busy_timeout,
    };
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
        _ => (in_memory(), "memory".to_owned(), MEMORY.to_owned()),
    };
    let mut settings = settings(&budgets, server, name, title.clone());
    settings.readonly = options.readonly;
    if let Some(file) = &options.notes {
        settings.notes = notes(file)?;
    }
    // A person who names a file means one where they stand.
    let root = match (&options.root, entry) {
        (Some(root), _) => Some(root.clone()),
        (None, Some(entry)) if !entry.database => Some(PathBuf::from(".")),
        _ => None,
    };
    settings.root = root.is_some();
    let root = root.map(|directory| Root {
        directory,
        readonly: options.readonly,
    });
    let grants = Grants {
        database,
        record: settings.undo_record.clone(),
        root: root.clone(),
    };
    let what = match &root {
        Some(root) => format!("cannot open {title} below {}", root.directory.display()),
        None => format!("cannot open {title}"),
    };
    let storage = Storage::new(grants, budgets.disk).context(what)?;
    Ok(Vessel::new(sandbox, settings, budgets, storage))
}

/// What the sandbox calls the record of `--undo`; no file below a root can be called that.
const RECORD: &str = "//undo";

/// The name of a database that is no file.
const MEMORY: &str = ":memory:";

fn in_memory() -> Served {
    Served::Memory {
        name: "memory".into(),
    }
}

/// What the sandbox calls the database at `file`, which has to be there.
fn existing(file: &Path) -> Result<String> {
    match std::fs::metadata(file) {
        Ok(meta) if meta.is_file() => {}
        Ok(_) => bail!("{} is not a file, so it is no database", file.display()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => bail!(
            "there is no file {}; check the path, or make a new database with: sqlarium create {0}",
            file.display()
        ),
        Err(error) => bail!("cannot open {}: {error}", file.display()),
    }
    let name = file.file_name().and_then(|name| name.to_str());
    Ok(name.unwrap_or("database").to_owned())
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
        limits: Limits {
            request_bytes: budgets.request,
            reply_bytes: budgets.reply,
            text_chars: budgets.text,
            cell_chars: budgets.cell,
            rows: budgets.rows,
            max_rows: budgets.max_rows,
            memory_bytes: budgets.memory,
            disk_bytes: budgets.disk,
            busy_ms: u32::try_from(budgets.busy.as_millis()).unwrap_or(u32::MAX),
        },
    }
}

/// Prints a result; whoever closed the pipe has seen enough.
fn print(text: &str) -> Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    let end = if text.ends_with('\n') || text.is_empty() {
        ""
    } else {
        "\n"
    };
    match write!(out, "{text}{end}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}
