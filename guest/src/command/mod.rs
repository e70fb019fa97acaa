//! The command table and what each command does.

pub mod about;
pub mod files;
pub mod maintenance;
pub mod registry;
pub mod schema;
pub mod search;
pub mod select;
pub mod spec;
pub mod sql;
pub mod undo;

use std::cell::RefCell;
use std::io::Write;
use std::rc::Rc;
use std::time::Instant;

use serde_json::{Map, Value};

use self::registry::{Command, TABLE};
pub use self::schema::annotate::astray;
use self::spec::arguments::{Argument, Arguments, OUTPUT, accepted};
use self::spec::audience::Reader;
use self::spec::toolset::Toolset;
use crate::answer::failure::Failure;
use crate::engine::Engine;
use crate::host::Host;
use crate::render::{self, Meter};
use crate::settings::Settings;
use crate::settings::notes::Notes;

/// What takes the text of a command that is run by another.
pub type Outlet = Rc<RefCell<dyn Write>>;

/// What a command works with.
pub struct Context {
    /// The owner's choices.
    pub settings: Settings,
    /// The databases.
    pub engine: Engine,
    /// The host's side of the call.
    pub host: &'static dyn Host,
    /// Where `-` as a file to make goes, while a dot command of a shell runs another command.
    pub outlet: Option<Outlet>,
    /// Who reads what is printed.
    pub reader: Reader,
}

/// What a call of a command gives back, rendered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// For the reader: the text form, or the JSON form on one line if that was asked for.
    pub text: String,
    /// The JSON form, only if the call asked for `output: "json"`.
    pub object: Option<Value>,
    /// Why it was refused, if it was.
    pub failure: Option<Failure>,
    /// Whether it was done, but not all of it.
    pub failed: bool,
}

/// Checks the arguments, runs the command, and renders what it answers.
pub fn invoke(command: &Command, given: &Map<String, Value>, context: &mut Context) -> Answer {
    let started = Instant::now();
    context.engine.pulse().name(command.name);
    // Also a call whose arguments are wrong is answered in the form it asks for.
    let json = given.get(OUTPUT.name).and_then(Value::as_str) == Some("json");
    let result = Arguments::check(command, given, &context.settings)
        .and_then(|arguments| (command.run)(context, &arguments))
        .map_err(|failure| context.reader.advise(command, failure));
    let limits = &context.settings.limits;
    let object = json.then(|| {
        let meter = Meter {
            elapsed: started.elapsed(),
            fuel: context.host.fuel(),
        };
        match &result {
            Ok(output) => render::json::object(command, output, meter),
            Err(failure) => render::json::refusal(command, failure),
        }
    });
    let text = match (&object, &result) {
        (Some(object), _) => object.to_string(),
        (None, Ok(output)) => render::text::render(command, output, limits),
        (None, Err(failure)) => render::text::refusal(failure),
    };
    Answer {
        text,
        object,
        failed: result.as_ref().is_ok_and(|output| output.failed),
        failure: result.err(),
    }
}

/// A command as the command line sees it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The command.
    pub command: &'static Command,
    /// All that it takes under these settings, `db` and `output` included.
    pub arguments: Vec<&'static Argument>,
}

/// Every command, in the order of the table.
pub fn catalog(settings: &Settings) -> Vec<Entry> {
    TABLE
        .iter()
        .map(|command| Entry {
            command,
            arguments: accepted(command, settings),
        })
        .collect()
}

/// Whether these settings can be served.
///
/// # Errors
/// A sentence that says why not.
pub fn check(settings: &Settings) -> Result<(), String> {
    Toolset::served(settings)?;
    if settings.readonly && settings.record.is_some() {
        return Err(
            "--undo records writes, and --readonly refuses them all: give one of the two.".into(),
        );
    }
    Notes::read(&settings.notes)?;
    let limits = &settings.limits;
    if limits.rows > limits.max_rows {
        return Err(format!(
            "--rows {} is more than --max-rows {}.",
            limits.rows, limits.max_rows
        ));
    }
    for (flag, value, least) in [
        ("--max-rows", u64::from(limits.max_rows), 1),
        ("--text", u64::from(limits.text_chars), 1_000),
        ("--cell", u64::from(limits.cell_chars), 16),
        ("--request", limits.request_bytes, 1_024),
        ("--reply", limits.reply_bytes, 64 << 10),
    ] {
        if value < least {
            return Err(format!(
                "{flag} {value} is too little to work with: give {least} or more."
            ));
        }
    }
    Ok(())
}

/// What is odd about settings that can be served, a sentence each: notes on what is not there.
pub fn warnings(settings: &Settings, host: &'static dyn Host) -> Vec<String> {
    let mut engine = Engine::new(settings, host);
    let notes = engine.notes(None);
    if notes.is_empty() {
        return Vec::new();
    }
    engine
        .database(None)
        .and_then(|database| database.inspect(|connection| astray(connection, &notes)))
        // Whatever is wrong with the database is said when it is used.
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
