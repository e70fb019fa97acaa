//! The component's side of `wit/`: conversions, and nothing else.

use std::cell::RefCell;
use std::time::Duration;

use crate::bindings::exports::sqlarium::sandbox::{
    command as command_export, server, shell as shell_export,
};
use crate::bindings::sqlarium::sandbox::{audit, console, control, threads, types};
use crate::command::interface::argument::{Shape, accepted};
use crate::command::interface::arguments::Arguments;
use crate::command::interface::audience::Audience;
use crate::command::interface::command::Command;
use crate::command::interface::context::Context;
use crate::command::invoke::invoke;
use crate::host::interrupt::{Notify, TO_A_PERSON};
use crate::host::{AuditCall, AuditOutcome, Host, Interruption, Stream, Usage, Verdict};
use crate::protocol::{self, Session, Triaged};
use crate::registry::REGISTRY;
use crate::settings::notes::Notes;
use crate::settings::{
    CommandSettings, EngineLimits, EngineSettings, OutputLimits, ServerSettings, Undo,
};
use crate::shell::console::Streams;
use crate::shell::{Next, Shell, completion};

struct Component;

#[expect(unsafe_code, reason = "generated from wit/")]
mod exported {
    use super::Component;
    crate::bindings::export!(Component with_types_in crate::bindings);
}

/// Keeps the import, which is called by what metering adds alone.
#[used]
static METER: fn(i64) -> i64 = control::meter;

/// The host behind the imports.
struct Imports;

static HOST: Imports = Imports;

impl Host for Imports {
    fn check(&self) -> Verdict {
        control::check().into()
    }
    fn wait(&self, ms: u32) -> Verdict {
        control::wait(ms).into()
    }
    fn usage(&self) -> Usage {
        let usage = control::usage();
        Usage {
            fuel: usage.fuel,
            time: Duration::from_micros(usage.time_us),
            verdict: usage.verdict.into(),
        }
    }
    fn notify(&self, line: &str) {
        control::notify(line);
    }
    fn save_state(&self, state: &[u8]) {
        control::save_state(state);
    }
    fn extend_state(&self, part: &[u8]) {
        control::extend_state(part);
    }
    fn running(&self) -> Option<Vec<u8>> {
        control::running()
    }
    fn queued(&self, index: u32) -> Option<Vec<u8>> {
        control::queued(index)
    }
    fn recall(&self, thread: &str) -> Vec<Vec<u8>> {
        threads::recall(thread)
    }
    fn append(&self, thread: &str, entry: &[u8]) -> bool {
        threads::append(thread, entry)
    }
    fn audit_begin(&self, call: AuditCall) {
        let argument = |(name, value)| audit::Argument { name, value };
        audit::begin(&audit::Call {
            request: call.request,
            thread: call.thread,
            tool: call.tool,
            arguments: call.arguments.into_iter().map(argument).collect(),
            sql: call.sql,
        });
    }
    fn audit_end(&self, outcome: &AuditOutcome) {
        audit::end(&audit::Outcome {
            status: outcome.status.into(),
            rows: outcome.rows,
            changes: outcome.changes,
        });
    }
    fn audit_trouble(&self) -> Option<String> {
        audit::trouble()
    }
    fn print(&self, stream: Stream, bytes: &[u8]) -> bool {
        let stream = match stream {
            Stream::Output => console::Stream::Output,
            Stream::Errors => console::Stream::Errors,
        };
        console::print(stream, bytes)
    }
}

impl From<control::Verdict> for Verdict {
    fn from(verdict: control::Verdict) -> Self {
        match verdict {
            control::Verdict::Proceed(micros) => Ok(Duration::from_micros(micros)),
            control::Verdict::Cancelled => Err(Interruption::Cancelled),
            control::Verdict::Stop(reason) => Err(Interruption::Stopped(reason)),
        }
    }
}

impl From<server::Interruption> for Interruption {
    fn from(reason: server::Interruption) -> Self {
        match reason {
            server::Interruption::Cancelled => Self::Cancelled,
            server::Interruption::Stopped(sentence) => Self::Stopped(sentence),
        }
    }
}

impl From<types::EngineSettings> for EngineSettings {
    fn from(settings: types::EngineSettings) -> Self {
        let limits = settings.limits;
        Self {
            database: settings.database,
            title: settings.title,
            in_memory: settings.in_memory,
            readonly: settings.readonly,
            root: settings.root,
            notes: settings.notes,
            undo: settings.undo.map(|undo| Undo {
                file: undo.file,
                bytes: undo.bytes,
                required: undo.required,
            }),
            limits: EngineLimits {
                memory_bytes: limits.memory_bytes,
                disk_bytes: limits.disk_bytes,
                busy_ms: limits.busy_ms,
                sql_bytes: limits.sql_bytes,
                fuel: limits.fuel,
            },
        }
    }
}

impl From<types::OutputLimits> for OutputLimits {
    fn from(limits: types::OutputLimits) -> Self {
        Self {
            reply_bytes: limits.reply_bytes,
            text_bytes: limits.text_bytes,
            cell_chars: limits.cell_chars,
            rows: limits.rows,
            max_rows: limits.max_rows,
            beside_bytes: 0,
        }
    }
}

impl From<types::CommandSettings> for CommandSettings {
    fn from(settings: types::CommandSettings) -> Self {
        Self {
            engine: settings.engine.into(),
            output: settings.output.into(),
        }
    }
}

impl From<types::ServerSettings> for ServerSettings {
    fn from(settings: types::ServerSettings) -> Self {
        Self {
            command: CommandSettings {
                engine: settings.engine.into(),
                output: settings.output.into(),
            },
            request_bytes: settings.request_bytes,
            tools: settings.tools,
            strict: settings.strict,
            audit: settings.audit,
            threads: settings.threads,
        }
    }
}

impl server::Guest for Component {
    type Session = Client;

    fn check(settings: types::ServerSettings) -> Result<Vec<String>, String> {
        let settings = settings.into();
        protocol::check(&REGISTRY, &settings)?;
        Ok(protocol::warnings(&settings, &HOST))
    }
}

/// A session behind the resource.
struct Client(RefCell<Session>);

impl server::GuestSession for Client {
    fn new(settings: types::ServerSettings, state: Vec<u8>) -> Self {
        Self(RefCell::new(Session::new(
            settings.into(),
            state,
            &HOST,
            &REGISTRY,
        )))
    }

    fn answer(&self, line: Vec<u8>) -> Option<String> {
        self.0.borrow_mut().answer(&line)
    }

    fn triage(&self, line: Vec<u8>) -> server::Triaged {
        match self.0.borrow().triage(&line) {
            Triaged::Defer => server::Triaged::Defer,
            Triaged::Handled(answer) => server::Triaged::Handled(answer),
            Triaged::CancelRunning => server::Triaged::CancelRunning,
            Triaged::CancelQueued(index) => server::Triaged::CancelQueued(index),
        }
    }

    fn interrupted(&self, line: Vec<u8>, reason: server::Interruption) -> Option<String> {
        self.0.borrow_mut().interrupted(&line, &reason.into())
    }

    fn overlong(&self, head: Vec<u8>) -> String {
        self.0.borrow().overlong(&head)
    }
}

/// What a command of a person works with.
fn person(settings: CommandSettings) -> Context {
    Context::new(settings, &HOST, &REGISTRY, Audience::Person)
}

impl command_export::Guest for Component {
    fn catalog() -> Vec<command_export::Entry> {
        REGISTRY.commands.iter().map(entry).collect()
    }

    fn show_thread(id: String, entries: Vec<Vec<u8>>, json: bool) -> String {
        protocol::show_thread(&id, &entries, json)
    }

    fn run(
        settings: types::CommandSettings,
        name: String,
        arguments: String,
    ) -> Result<String, command_export::Failure> {
        let settings = CommandSettings::from(settings);
        let refuse = |text: String| command_export::Failure {
            text,
            usage: true,
            json: false,
        };
        let Some(command) = REGISTRY.find(&name) else {
            return Err(refuse(format!("There is no command {name}.")));
        };
        let Ok(arguments) = serde_json::from_str(&arguments) else {
            return Err(refuse("The arguments are not a JSON object.".into()));
        };
        if let Err(sentence) = Notes::read(&settings.engine.notes) {
            return Err(refuse(sentence));
        }
        // The arguments are wrong, or what they ask for is refused: the command line exits with another code.
        let usage = Arguments::check(command, &arguments, &settings.engine, true).is_err();
        let mut context = person(settings);
        // The host shows it, if somebody looks.
        let show: Notify = Box::new(|_, progress| HOST.notify(&progress.line()));
        context.engine.interrupt().begin(Some(show), TO_A_PERSON);
        let answer = invoke(command, &arguments, &mut context);
        match answer.failure {
            None if !answer.failed => Ok(answer.text),
            // The answer itself shows what failed.
            None => Err(command_export::Failure {
                json: true,
                text: answer.text,
                usage,
            }),
            Some(_) => Err(command_export::Failure {
                json: answer.json,
                text: answer.text,
                usage,
            }),
        }
    }
}

/// The shell behind the resource, and what it has saved.
struct Terminal(RefCell<(Shell, Context, String)>);

impl shell_export::Guest for Component {
    type Session = Terminal;
}

impl shell_export::GuestSession for Terminal {
    fn new(settings: types::CommandSettings, interactive: bool, state: Vec<u8>) -> Self {
        let state = String::from_utf8(state).unwrap_or_default();
        let shell = Shell::resume(interactive, &state, &mut Streams::new(&HOST));
        Self(RefCell::new((shell, person(settings.into()), state)))
    }

    fn feed(&self, line: Vec<u8>) -> shell_export::Next {
        let (shell, context, saved) = &mut *self.0.borrow_mut();
        context.engine.interrupt().begin(None, TO_A_PERSON);
        let next = shell.feed(&line, context, &mut Streams::new(&HOST));
        let state = shell.saved_state(context);
        if state != *saved {
            HOST.save_state(state.as_bytes());
            *saved = state;
        }
        match next {
            Next::Ready => shell_export::Next::Ready,
            Next::More => shell_export::Next::More,
            Next::Quit(code) => shell_export::Next::Quit(code),
        }
    }

    fn abandon(&self) {
        self.0.borrow_mut().0.forget();
    }

    fn finish(&self) -> u8 {
        let (shell, context, _) = &mut *self.0.borrow_mut();
        context.engine.interrupt().begin(None, TO_A_PERSON);
        let code = shell.finish(context, &mut Streams::new(&HOST));
        shell.close(context);
        code
    }

    fn complete(&self, text: String, place: u32) -> shell_export::Completion {
        let (shell, context, _) = &mut *self.0.borrow_mut();
        context.engine.interrupt().begin(None, TO_A_PERSON);
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        let found = completion::complete(shell, &text, place, context);
        shell_export::Completion {
            start: u32::try_from(found.start).unwrap_or_default(),
            candidates: found.candidates,
        }
    }
}

fn entry(command: &Command) -> command_export::Entry {
    command_export::Entry {
        name: command.name.into(),
        group: command.group.name().into(),
        summary: command.summary.into(),
        database: command.database,
        arguments: accepted(command, &EngineSettings::default(), true)
            .into_iter()
            .map(|argument| {
                let (shape, choices) = match argument.shape {
                    Shape::Text | Shape::Sql | Shape::Names => {
                        (command_export::Shape::Text, &[][..])
                    }
                    Shape::Integer { .. } => (command_export::Shape::Integer, &[][..]),
                    Shape::Flag => (command_export::Shape::Flag, &[][..]),
                    Shape::Json | Shape::Numbers => (command_export::Shape::Json, &[][..]),
                    Shape::InputPath => (command_export::Shape::InputPath, &[][..]),
                    Shape::OutputPath => (command_export::Shape::OutputPath, &[][..]),
                    Shape::Choice(choices) => (command_export::Shape::Text, choices),
                };
                command_export::Argument {
                    name: argument.name.into(),
                    summary: argument.summary.into(),
                    shape,
                    required: argument.required,
                    positional: argument.positional,
                    choices: choices.iter().map(|&choice| choice.into()).collect(),
                }
            })
            .collect(),
    }
}
