//! `sqlarium threads`: what is remembered of calls, for its owner.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches as _, Subcommand, ValueHint};
use humantime::format_rfc3339_seconds;
use serde_json::json;
use uuid::Uuid;

use super::options::PRINCIPAL;
use super::record::named;
use super::{aborted, print};
use crate::audit;
use crate::sandbox::Sandbox;
use crate::sandbox::person;
use crate::terminal;
use crate::threads::{self, Store, Thread};

#[derive(Args)]
struct Options {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List the threads, the last used first
    List,
    /// Show the last calls of a thread
    Show {
        /// Id of the thread
        thread: String,
    },
    /// Forget a thread
    Forget {
        /// Id of the thread
        thread: String,
    },
}

/// The subcommand.
pub fn command() -> Command {
    let state = Arg::new("state")
        .long("state")
        .value_name("FILE")
        .help("File in which a server remembers them")
        .value_hint(ValueHint::FilePath)
        .value_parser(clap::value_parser!(PathBuf))
        .global(true);
    let principal = Arg::new("principal")
        .long("principal")
        .value_name("NAME")
        .help(format!(
            "Whose threads; anybody's unless it or {PRINCIPAL} is given"
        ))
        .env(PRINCIPAL)
        .hide_env(true)
        .global(true);
    let json = Arg::new("json")
        .long("json")
        .help("Answer in JSON")
        .action(clap::ArgAction::SetTrue)
        .global(true);
    Options::augment_args(Command::new("threads"))
        .about("List, show or forget what a server remembers of its clients' calls")
        .args([state, principal, json])
}

/// Runs it.
pub fn run(sandbox: Sandbox, matches: &ArgMatches) -> Result<ExitCode> {
    let Options { action } = Options::from_arg_matches(matches)?;
    let (_, last) = matches.subcommand().context("clap asks for it")?;
    let Some(file) = last.get_one::<PathBuf>("state") else {
        terminal::complain("threads needs --state FILE, the file in which a server remembers them");
        return Ok(ExitCode::from(super::USAGE));
    };
    let principal = named(last.get_one::<String>("principal").map(String::as_str));
    let principal = principal.map(threads::principal);
    let as_json = last.get_flag("json");
    let named = || format!("cannot use the state in {}", file.display());
    let mut store = Store::existing(file).with_context(named)?;
    let threads = store.list(principal).with_context(named)?;
    match action {
        Action::List => print(&list(&threads, as_json)),
        Action::Show { thread } => {
            let principal = one(&threads, &thread)?;
            let entries = store.show(principal, &thread).with_context(named)?;
            print(&person::show_thread(sandbox, &thread, &entries, as_json).map_err(aborted)?)
        }
        Action::Forget { thread } => {
            let principal = one(&threads, &thread)?;
            store.forget(principal, &thread).with_context(named)?;
            print(&match as_json {
                true => audit::ascii(&json!({"forgotten": thread})),
                false => format!("Forgot {}.", escaped(&thread)),
            })
        }
    }
}

/// Whose thread it is, of those that may be meant.
fn one(threads: &[Thread], name: &str) -> Result<Uuid> {
    let mut found = threads.iter().filter(|thread| thread.name == name);
    let shown = escaped(name);
    let Some(first) = found.next() else {
        bail!("there is no thread {shown}; sqlarium threads list shows those that there are");
    };
    if found.next().is_some() {
        bail!("several principals have a thread {shown}; say whose with --principal");
    }
    Ok(first.principal)
}

fn list(threads: &[Thread], as_json: bool) -> String {
    let used = |thread: &Thread| format_rfc3339_seconds(thread.used).to_string();
    if as_json {
        let listed = threads.iter().map(|thread| {
            json!({
                "threadId": thread.name,
                "principal": thread.principal.to_string(),
                "calls": thread.calls,
                "used": used(thread),
            })
        });
        return audit::ascii(&listed.collect::<Vec<_>>());
    }
    if threads.is_empty() {
        return "No threads.".into();
    }
    let mut text = format!(
        "{:<20}  {:<36}  calls  thread\n",
        "last used (UTC)", "principal"
    );
    for thread in threads {
        text += &format!(
            "{}  {}  {:>5}  {}\n",
            used(thread),
            thread.principal,
            thread.calls,
            escaped(&thread.name)
        );
    }
    text
}

/// An id with what could not be seen escaped; a client has chosen it.
fn escaped(text: &str) -> String {
    text.escape_debug().to_string()
}
