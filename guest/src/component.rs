//! The component's side of `wit/`: conversions, and nothing else.

use std::cell::RefCell;

use self::bindings::exports::sqlarium::sandbox::{command as command_export, demo as demo_export, server};
use self::bindings::sqlarium::sandbox::{mailbox, types};
use crate::command::{self, Answer, Context, arguments::Shape, status::Status};
use crate::engine::Engine;
use crate::host::{Host, Verdict};
use crate::protocol::session::{Overheard, Session};
use crate::settings::{Limits, Settings};

/// `wit/` as Rust.
#[expect(missing_docs, unsafe_code, reason = "generated from wit/, which documents every item")]
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
    fn fuel(&self) -> u64 {
        mailbox::fuel()
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
            },
        }
    }
}

impl server::Guest for Component {
    type Session = Client;

    fn check(settings: types::Settings) -> Result<(), String> {
        command::check(&settings.into())
    }
}

/// A session behind the resource.
struct Client(RefCell<Session>);

impl server::GuestSession for Client {
    fn new(settings: types::Settings, kept: String) -> Self {
        Self(RefCell::new(Session::new(settings.into(), &kept, &MAILBOX)))
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
