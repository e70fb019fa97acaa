//! What the tests of this module stand on: a host that writes down what it is told, and a box
//! of tools that do one simple thing each.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::session::Session;
use super::tools::{Notify, Toolbox};
use crate::answer::failure::{Failure, Status};
use crate::command::invoke::Answer;
use crate::command::spec::command::Effect;
use crate::host::{Host, Verdict};
use crate::settings::Settings;

/// A host that writes down what it is told.
#[derive(Debug, Default)]
pub struct Recorder {
    /// The lines sent.
    pub sent: Mutex<Vec<String>>,
    /// The last words left, in order.
    pub bequests: Mutex<Vec<Vec<String>>>,
    /// The states kept, in order.
    pub kept: Mutex<Vec<String>>,
    /// The lines that wait.
    pub waiting: Mutex<Vec<String>>,
    /// What the polls answer, in order; after them, to proceed.
    pub verdicts: Mutex<VecDeque<Verdict>>,
}

impl Recorder {
    /// A host for one test; it lives on, since sessions hold hosts for good.
    pub fn leaked() -> &'static Self {
        Box::leak(Box::default())
    }

    /// The lines sent so far.
    pub fn sent(&self) -> Vec<String> {
        self.sent.lock().expect("unpoisoned").clone()
    }

    /// The last words left so far.
    pub fn bequests(&self) -> Vec<Vec<String>> {
        self.bequests.lock().expect("unpoisoned").clone()
    }

    /// The last state kept, or nothing.
    pub fn state(&self) -> String {
        self.kept
            .lock()
            .expect("unpoisoned")
            .last()
            .cloned()
            .unwrap_or_default()
    }

    /// A state kept, counted from the first.
    pub fn state_at(&self, index: usize) -> String {
        self.kept.lock().expect("unpoisoned")[index].clone()
    }

    /// Lets a line wait.
    pub fn wait(&self, line: &str) {
        self.waiting
            .lock()
            .expect("unpoisoned")
            .push(line.to_owned());
    }

    /// Answers the next poll.
    pub fn answer(&self, verdict: Verdict) {
        self.verdicts.lock().expect("unpoisoned").push_back(verdict);
    }
}

impl Host for Recorder {
    fn poll(&self, _wait_ms: u32) -> Verdict {
        self.verdicts
            .lock()
            .expect("unpoisoned")
            .pop_front()
            .unwrap_or(Verdict::Proceed)
    }
    fn send(&self, line: &str) {
        self.sent.lock().expect("unpoisoned").push(line.to_owned());
    }
    fn bequeath(&self, parts: &[String]) {
        self.bequests
            .lock()
            .expect("unpoisoned")
            .push(parts.to_vec());
    }
    fn keep(&self, state: &str) {
        self.kept.lock().expect("unpoisoned").push(state.to_owned());
    }
    fn waiting(&self, index: u32) -> Option<Vec<u8>> {
        self.waiting
            .lock()
            .expect("unpoisoned")
            .get(index as usize)
            .map(|line| line.clone().into_bytes())
    }
    fn fuel(&self) -> u64 {
        0
    }
}

/// Four tools: `echo` answers its arguments, `fail` fails, `stop` was cancelled, and `slow`
/// says a few times that it goes on.
#[derive(Debug)]
pub struct Toys;

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
    ) -> Answer {
        let object = arguments
            .get("output")
            .map(|_| json!({"ok": true, "given": arguments}));
        let text = object.as_ref().map_or_else(
            || Value::from(arguments.clone()).to_string(),
            Value::to_string,
        );
        let mut answer = Answer {
            text,
            object,
            failure: None,
            failed: false,
        };
        match tool {
            "fail" => answer.failure = Some(Failure::new(Status::Syntax, "It fails.")),
            "stop" => {
                let mut failure = Failure::new(Status::Interrupted, "Cancelled.");
                failure.cancelled = true;
                answer.failure = Some(failure);
            }
            "slow" => {
                if let Some(mut notify) = notify {
                    for millis in [1000, 2010, 2020, 3000] {
                        notify(Duration::from_millis(millis));
                    }
                }
            }
            _ => {}
        }
        answer
    }
}

/// A session with the toys.
pub fn session(settings: &Settings, kept: &str, host: &'static Recorder) -> Session {
    Session::with_tools(Box::new(Toys), settings, kept, host)
}

/// The settings of a strict server.
pub fn strict() -> Settings {
    Settings {
        strict: true,
        ..Settings::default()
    }
}

/// A request.
pub fn request(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

/// A request of the stateless era; `params` are its members, if any, with a comma before.
pub fn modern(id: &str, method: &str, params: &str) -> String {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    request(id, method, &format!("{{{meta}{params}}}"))
}

/// The request that opens a legacy session.
pub fn initialize(revision: &str) -> String {
    let params = format!(
        r#"{{"protocolVersion":"{revision}","capabilities":{{}},"clientInfo":{{"name":"c","version":"1"}}}}"#
    );
    request("0", "initialize", &params)
}

/// The cancellation of a request.
pub fn cancel(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    )
}

/// The line as JSON.
pub fn json(line: &str) -> Value {
    serde_json::from_str(line).expect("replies are JSON")
}
