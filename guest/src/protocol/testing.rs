//! What the tests of this module stand on: a host that writes down what it is told, and a box
//! of tools that do one simple thing each.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::session::Session;
use super::tools::{Notify, Toolbox};
use crate::answer::failure::{Failure, Status};
use crate::command::interface::command::Effect;
use crate::command::invoke::Answer;
use crate::host::interrupt::Progress;
use crate::host::{AuditCall, AuditOutcome, Host, Verdict};
use crate::settings::ServerSettings;

/// A host that writes down what it is told.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    /// The lines sent.
    sent: Mutex<Vec<String>>,
    /// The state saved.
    state: Mutex<Vec<u8>>,
    /// The state as it was each time that it was saved or extended.
    states: Mutex<Vec<Vec<u8>>>,
    /// The threads remembered, and whether somebody else has just added to one.
    threads: Mutex<HashMap<String, Vec<Vec<u8>>>>,
    strangers: AtomicBool,
    /// What was recorded for the owner.
    audit: Mutex<Vec<String>>,
    /// The line that is being answered.
    running: Mutex<Option<String>>,
    /// The lines that wait.
    queued: Mutex<Vec<String>>,
    /// What the checks answer, in order; after them, to go on.
    verdicts: Mutex<VecDeque<Verdict>>,
}

impl Recorder {
    /// A host for one test; it lives on, since sessions hold hosts for good.
    pub(super) fn leaked() -> &'static Self {
        Box::leak(Box::default())
    }

    /// The lines sent so far.
    pub(super) fn sent(&self) -> Vec<String> {
        self.sent.lock().expect("unpoisoned").clone()
    }

    /// The state saved, or nothing.
    pub(super) fn state(&self) -> Vec<u8> {
        self.state.lock().expect("unpoisoned").clone()
    }

    /// The state as it was each time that it was saved or extended.
    pub(super) fn states(&self) -> Vec<Vec<u8>> {
        self.states.lock().expect("unpoisoned").clone()
    }

    /// Adds an entry to a thread, as another server does.
    pub(super) fn remember(&self, thread: &str, entry: &str) {
        self.append(thread, entry.as_bytes());
        self.strangers.store(true, Ordering::Relaxed);
    }

    /// What was recorded for the owner so far.
    pub(super) fn audited(&self) -> Vec<String> {
        self.audit.lock().expect("unpoisoned").clone()
    }

    /// Says that a line is being answered.
    pub(super) fn run(&self, line: &str) {
        *self.running.lock().expect("unpoisoned") = Some(line.to_owned());
    }

    /// Lets a line wait.
    pub(super) fn queue(&self, line: &str) {
        self.queued
            .lock()
            .expect("unpoisoned")
            .push(line.to_owned());
    }

    /// Answers the next check.
    pub(super) fn answer(&self, verdict: Verdict) {
        self.verdicts.lock().expect("unpoisoned").push_back(verdict);
    }
}

impl Host for Recorder {
    fn check(&self) -> Verdict {
        let next = self.verdicts.lock().expect("unpoisoned").pop_front();
        next.unwrap_or(Ok(Duration::ZERO))
    }
    fn notify(&self, line: &str) {
        self.sent.lock().expect("unpoisoned").push(line.to_owned());
    }
    fn save_state(&self, state: &[u8]) {
        self.state.lock().expect("unpoisoned").clear();
        self.extend_state(state);
    }
    fn extend_state(&self, part: &[u8]) {
        let mut state = self.state.lock().expect("unpoisoned");
        state.extend_from_slice(part);
        self.states.lock().expect("unpoisoned").push(state.clone());
    }
    fn running(&self) -> Option<Vec<u8>> {
        let running = self.running.lock().expect("unpoisoned");
        running.as_ref().map(|line| line.clone().into_bytes())
    }
    fn recall(&self, thread: &str) -> Vec<Vec<u8>> {
        let threads = self.threads.lock().expect("unpoisoned");
        let entries = threads.get(thread).cloned().unwrap_or_default();
        entries[entries.len().saturating_sub(20)..].to_vec()
    }
    fn append(&self, thread: &str, entry: &[u8]) -> bool {
        let mut threads = self.threads.lock().expect("unpoisoned");
        let entries = threads.entry(thread.to_owned()).or_default();
        entries.push(entry.to_vec());
        self.strangers.swap(false, Ordering::Relaxed) || entries.len() == 1
    }
    fn audit_begin(&self, call: AuditCall) {
        let begun = format!(
            "{} {} {:?} {:?} {:?}",
            call.request, call.tool, call.thread, call.arguments, call.sql
        );
        self.audit.lock().expect("unpoisoned").push(begun);
    }
    fn audit_end(&self, outcome: &AuditOutcome) {
        self.audit
            .lock()
            .expect("unpoisoned")
            .push(outcome.status.to_owned());
    }
    fn queued(&self, index: u32) -> Option<Vec<u8>> {
        self.queued
            .lock()
            .expect("unpoisoned")
            .get(index as usize)
            .map(|line| line.clone().into_bytes())
    }
}

/// Four tools: `echo` answers its arguments, `fail` fails, `stop` was cancelled, and `slow`
/// says a few times that it goes on.
#[derive(Debug)]
pub(super) struct Toys;

impl Toolbox for Toys {
    fn declarations(&self) -> Vec<Map<String, Value>> {
        ["echo", "fail", "stop", "slow"]
            .into_iter()
            .filter_map(|name| {
                let tool = json!({
                    "name": name, "title": name, "description": "A toy.",
                    "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true},
                });
                tool.as_object().cloned()
            })
            .collect()
    }

    fn instructions(&self) -> String {
        "Play.".into()
    }

    fn command(&self, tool: &str) -> Option<(&'static str, Effect)> {
        ["echo", "fail", "stop", "slow"]
            .into_iter()
            .find(|name| *name == tool)
            .map(|name| (name, Effect::Reads))
    }

    fn nearest(&self, tool: &str) -> Option<String> {
        (tool == "ecko").then(|| "echo".to_owned())
    }

    fn call(
        &mut self,
        tool: &str,
        arguments: &Map<String, Value>,
        notify: Option<Notify>,
    ) -> Option<Answer> {
        let object = arguments
            .get("output")
            .map(|_| json!({"ok": true, "given": arguments}));
        let text = object.as_ref().map_or_else(
            || Value::from(arguments.clone()).to_string(),
            Value::to_string,
        );
        let mut answer = Answer {
            text,
            json: object.is_some(),
            failure: None,
            failed: false,
            rows: 0,
            changes: 0,
        };
        match tool {
            "fail" => answer.failure = Some(Failure::new(Status::Syntax, "It fails.")),
            "stop" => return None,
            "slow" => {
                if let Some(mut notify) = notify {
                    for millis in [1000, 2010, 2020, 3000] {
                        notify(Duration::from_millis(millis), &Progress::default());
                    }
                }
            }
            _ => {}
        }
        Some(answer)
    }
}

/// A session with the toys.
pub(super) fn session(settings: &ServerSettings, saved: &[u8], host: &'static Recorder) -> Session {
    Session::with_tools(Box::new(Toys), settings, saved.to_vec(), host)
}

/// The settings of a strict server.
pub(super) fn strict() -> ServerSettings {
    ServerSettings {
        strict: true,
        ..ServerSettings::default()
    }
}

/// A request.
pub(super) fn request(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

/// A request of the stateless era; `params` are its members, if any, with a comma before.
pub(super) fn modern(id: &str, method: &str, params: &str) -> String {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    request(id, method, &format!("{{{meta}{params}}}"))
}

/// The request that opens a legacy session.
pub(super) fn initialize(revision: &str) -> String {
    let params = format!(
        r#"{{"protocolVersion":"{revision}","capabilities":{{}},"clientInfo":{{"name":"c","version":"1"}}}}"#
    );
    request("0", "initialize", &params)
}

/// The cancellation of a request.
pub(super) fn cancel(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    )
}

/// The line as JSON.
pub(super) fn json(line: &str) -> Value {
    serde_json::from_str(line).expect("replies are JSON")
}
