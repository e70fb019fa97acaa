//! The component's side of `wit/`: conversions, and nothing else.

use std::cell::RefCell;

use self::bindings::exports::sqlarium::sandbox::{
    command as command_export, server, shell as shell_export,
};
use self::bindings::sqlarium::sandbox::{console, mailbox, types};
use crate::command::invoke::invoke;
use crate::command::spec::argument::{Shape, accepted};
use crate::command::spec::arguments::Arguments;
use crate::command::spec::audience::Audience;
use crate::command::spec::command::Command;
use crate::command::spec::context::Context;
use crate::command::startup;
use crate::host::{Host, Stream, Verdict};
use crate::protocol::{Overheard, Session};
use crate::registry::REGISTRY;
use crate::settings::notes::Notes;
use crate::settings::{Limits, Settings};
use crate::shell::console::Streams;
use crate::shell::{Next, Shell, completion};
use crate::storage::{Storage, wit::Imported};

/// `wit/` as Rust.
#[expect(unsafe_code, reason = "generated from wit/")]
pub mod bindings {
    wit_bindgen::generate!({ path: "../wit", world: "sandbox" });
    use super::Component;
    export!(Component);
}

struct Component;

/// The host behind the mailbox import.
struct Mailbox;

static MAILBOX: Mailbox = Mailbox;

impl Host for Mailbox {
    fn poll(&self, wait_ms: u32) -> Verdict {
        match mailbox::poll(wait_ms) {
            mailbox::Verdict::Proceed => Verdict::Proceed,
            mailbox::Verdict::Cancelled => Verdict::Cancelled,
            mailbox::Verdict::Stop(reason) => Verdict::Stop(reason),
        }
    }
    fn send(&self, line: &str) {
        mailbox::send(line);
    }
    fn bequeath(&self, parts: &[String]) {
        mailbox::bequeath(parts);
    }
    fn keep(&self, state: &str) {
        mailbox::keep(state);
    }
    fn waiting(&self, index: u32) -> Option<Vec<u8>> {
        mailbox::waiting(index)
    }
    fn print(&self, stream: Stream, bytes: &[u8]) -> bool {
        let stream = match stream {
            Stream::Output => console::Stream::Output,
            Stream::Errors => console::Stream::Errors,
        };
        console::print(stream, bytes)
    }
    fn fuel(&self) -> u64 {
        mailbox::fuel()
    }
    fn storage(&self) -> &dyn Storage {
        &Imported
    }
}

impl From<types::Settings> for Settings {
    fn from(settings: types::Settings) -> Self {
        let limits = settings.limits;
        Self {
            database: settings.database,
            title: settings.title,
            in_memory: settings.in_memory,
            readonly: settings.readonly,
            root: settings.root,
            strict: settings.strict,
            tools: settings.tools,
            notes: settings.notes,
            record: settings.undo_record,
            limits: Limits {
                request_bytes: limits.request_bytes,
                reply_bytes: limits.reply_bytes,
                text_chars: limits.text_chars,
                cell_chars: limits.cell_chars,
                rows: limits.rows,
                max_rows: limits.max_rows,
                memory_bytes: limits.memory_bytes,
                disk_bytes: limits.disk_bytes,
                busy_ms: limits.busy_ms,
                fuel: limits.fuel,
            },
        }
    }
}

impl server::Guest for Component {
    type Session = Client;

    fn check(settings: types::Settings) -> Result<Vec<String>, String> {
        let settings = settings.into();
        startup::check(&REGISTRY, &settings)?;
        Ok(startup::warnings(&settings, &MAILBOX))
    }
}

/// A session behind the resource.
struct Client(RefCell<Session>);

impl server::GuestSession for Client {
    fn new(settings: types::Settings, kept: String) -> Self {
        Self(RefCell::new(Session::new(
            settings.into(),
            &kept,
            &MAILBOX,
            &REGISTRY,
        )))
    }

    fn handle(&self, line: Vec<u8>) -> Option<String> {
        self.0.borrow_mut().handle(&line)
    }

    fn overhear(&self, line: Vec<u8>) -> server::Overheard {
        match self.0.borrow_mut().overhear(&line) {
            Overheard::Later => server::Overheard::Later,
            Overheard::Settled(answer) => server::Overheard::Settled(answer),
            Overheard::Cancel => server::Overheard::Cancel,
            Overheard::Withdraw(index) => server::Overheard::Withdraw(index),
        }
    }

    fn overlong(&self) -> String {
        self.0.borrow_mut().overlong()
    }
}

impl command_export::Guest for Component {
    fn catalog() -> Vec<command_export::Entry> {
        REGISTRY.commands.iter().map(entry).collect()
    }

    fn run(
        settings: types::Settings,
        name: String,
        arguments: String,
    ) -> Result<String, command_export::Failure> {
        let settings = Settings::from(settings);
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
        if let Err(sentence) = Notes::read(&settings.notes) {
            return Err(refuse(sentence));
        }
        // The arguments are wrong, or what they ask for is refused: the command line exits with another code.
        let usage = Arguments::check(command, &arguments, &settings).is_err();
        let mut context = Context::new(settings, &MAILBOX, &REGISTRY, Audience::Person);
        context.engine.pulse().begin(None);
        let answer = invoke(command, &arguments, &mut context);
        context.engine.pulse().end();
        match answer.failure {
            None if !answer.failed => Ok(answer.text),
            // The answer itself shows what failed.
            None => Err(command_export::Failure {
                json: true,
                text: answer.text,
                usage,
            }),
            Some(_) => Err(command_export::Failure {
                json: answer.object.is_some(),
                text: answer.text,
                usage,
            }),
        }
    }
}

/// The shell behind the resource.
struct Terminal(RefCell<(Shell, Context)>);

impl shell_export::Guest for Component {
    type Session = Terminal;
}

impl shell_export::GuestSession for Terminal {
    fn new(settings: types::Settings, interactive: bool, kept: String) -> Self {
        let context = Context::new(settings.into(), &MAILBOX, &REGISTRY, Audience::Person);
        let shell = Shell::resume(interactive, &kept, &mut Streams::new(&MAILBOX));
        Self(RefCell::new((shell, context)))
    }

    fn feed(&self, line: Vec<u8>) -> shell_export::Next {
        let (shell, context) = &mut *self.0.borrow_mut();
        context.engine.pulse().begin(None);
        let line = String::from_utf8_lossy(&line);
        let next = shell.feed(&line, context, &mut Streams::new(&MAILBOX));
        context.engine.pulse().end();
        MAILBOX.keep(&shell.kept(context));
        match next {
            Next::Ready => shell_export::Next::Ready,
            Next::More => shell_export::Next::More,
            Next::Quit(code) => shell_export::Next::Quit(code),
        }
    }

    fn forget(&self) {
        self.0.borrow_mut().0.forget();
    }

    fn finish(&self) -> u8 {
        let (shell, context) = &mut *self.0.borrow_mut();
        context.engine.pulse().begin(None);
        let code = shell.finish(context, &mut Streams::new(&MAILBOX));
        shell.close(context);
        context.engine.pulse().end();
        code
    }

    fn complete(&self, text: String, place: u32) -> shell_export::Completion {
        let (shell, context) = &mut *self.0.borrow_mut();
        context.engine.pulse().begin(None);
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        let found = completion::complete(shell, &text, place, context);
        context.engine.pulse().end();
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
        arguments: accepted(command, &Settings::default())
            .into_iter()
            .map(|argument| {
                let (shape, choices) = match argument.shape {
                    Shape::Text => (command_export::Shape::Text, &[][..]),
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
