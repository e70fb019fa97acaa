//! What is recorded of calls: for the owner's audit (`wit/audit.wit`), and in the client's thread
//! (`wit/threads.wit`), whose last calls each result carries.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::time::SystemTime;

use humantime::format_rfc3339_millis;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::jsonrpc::Id;
use super::tools::Call;
use crate::command::invoke::Answer;
use crate::host::{AuditCall, AuditOutcome, Host};
use crate::settings::ServerSettings;
use crate::text::escape::{clipped, visible};

/// How many calls of a thread a result carries.
const CALLS: usize = 20;
/// The longest id of a thread, in bytes. A longer one is none.
const THREAD_BYTES: usize = 256;
/// The longest entry, in bytes.
const ENTRY_BYTES: usize = 300;
/// How many names of arguments are kept, and how many characters of each.
const NAMES: usize = 16;
const NAME_CHARS: usize = 40;
/// The most that a result carries of all that, in bytes: an id's characters take up to six.
pub(super) const MOST_BYTES: u32 = 8 << 10;

/// A call as it is remembered: never a value.
#[derive(Serialize, Deserialize)]
struct Entry {
    tool: String,
    arguments: Vec<String>,
    at: String,
}

/// A thread, as a result carries it.
#[derive(Serialize)]
struct Session<'a> {
    #[serde(rename = "threadId")]
    id: &'a str,
    calls: &'a VecDeque<Box<RawValue>>,
}

/// Records the calls of a session, as far as its owner wants that.
pub(super) struct Record {
    host: &'static dyn Host,
    audit: bool,
    threads: bool,
    /// The thread that was used last, and its last calls, as far as this instance knows.
    known: Option<(String, VecDeque<Box<RawValue>>)>,
}

impl Record {
    /// A record that knows nothing yet.
    pub(super) fn new(settings: &ServerSettings, host: &'static dyn Host) -> Self {
        Self {
            host,
            audit: settings.audit,
            threads: settings.threads,
            known: None,
        }
    }

    /// The thread of a call, if it is of use here.
    pub(super) fn thread(&self, named: Option<&str>) -> Option<String> {
        let wanted = self.audit || self.threads;
        let thread = named.filter(|_| wanted)?.trim();
        (!thread.is_empty()).then(|| thread.to_owned())
    }

    /// A call begins. What its result is to carry of its thread, this call being the last.
    pub(super) fn begin(
        &mut self,
        id: &Id,
        thread: Option<String>,
        call: &Call,
        sql: Option<&str>,
    ) -> Option<Box<RawValue>> {
        let session = thread
            .as_deref()
            .and_then(|thread| self.remember(thread, call));
        if self.audit {
            let arguments = || call.arguments.iter().flatten();
            let mut listed: Vec<_> = arguments()
                .map(|(name, value)| (name.clone(), value.to_string()))
                .collect();
            listed.sort();
            let sql = arguments().find(|(name, _)| Some(name.as_str()) == sql);
            self.host.audit_begin(AuditCall {
                request: id.json().to_owned(),
                thread,
                tool: call.tool.clone(),
                arguments: listed,
                sql: sql.map(|(_, value)| statements(value)),
            });
        }
        session
    }

    /// The call that has begun ends, unanswered if its client took it back.
    pub(super) fn end(&self, answer: Option<&Answer>) {
        if !self.audit {
            return;
        }
        let failure =
            |answer: &Answer| answer.failure.as_ref().map(|failure| failure.status.name());
        self.host.audit_end(&AuditOutcome {
            status: match answer {
                None => "interrupted",
                Some(answer) if answer.failed => "failed",
                Some(answer) => failure(answer).unwrap_or("ok"),
            },
            rows: answer.map_or(0, |answer| answer.rows),
            changes: answer.map_or(0, |answer| answer.changes),
        });
    }

    /// What is kept of parameters that may be no call, to record that.
    pub(super) fn refusable(&self, params: &Map<String, Value>) -> Option<String> {
        let named = params.get("name").filter(|_| self.audit)?.as_str()?;
        Some(named.to_owned())
    }

    /// A call was refused before it was one: of a tool that is not served, or of none.
    pub(super) fn refuse(&self, id: &Id, thread: Option<String>, tool: Option<String>) {
        if !self.audit {
            return;
        }
        let status = if tool.is_some() {
            "not_found"
        } else {
            "syntax"
        };
        self.host.audit_begin(AuditCall {
            request: id.json().to_owned(),
            thread,
            tool: tool.unwrap_or_default(),
            ..AuditCall::default()
        });
        self.host.audit_end(&AuditOutcome {
            status,
            rows: 0,
            changes: 0,
        });
    }

    /// What a result is to carry of a thread, without a further call.
    pub(super) fn recall(&self, thread: Option<&str>) -> Option<Box<RawValue>> {
        let thread = self
            .thread(thread)
            .filter(|thread| self.remembers(thread))?;
        let calls = self.recalled(&thread);
        session(&thread, &calls)
    }

    fn remembers(&self, thread: &str) -> bool {
        self.threads && thread.len() <= THREAD_BYTES
    }

    fn remember(&mut self, thread: &str, call: &Call) -> Option<Box<RawValue>> {
        if !self.remembers(thread) {
            return None;
        }
        let entry = entry(call)?;
        let unknown = self.host.append(thread, entry.get().as_bytes());
        let known = self.known.take().filter(|(id, _)| id == thread && !unknown);
        let (id, mut calls, recalled) = match known {
            Some((id, calls)) => (id, calls, false),
            None => (thread.to_owned(), self.recalled(thread), true),
        };
        // What was recalled ends with it, where the host remembers anything.
        if !recalled || calls.is_empty() {
            calls.push_back(entry);
            let surplus = calls.len().saturating_sub(CALLS);
            calls.drain(..surplus);
        }
        let (id, calls) = self.known.insert((id, calls));
        session(id, calls)
    }

    /// The entries of a thread that can be read.
    fn recalled(&self, thread: &str) -> VecDeque<Box<RawValue>> {
        let entries = self.host.recall(thread);
        entries
            .iter()
            .filter_map(|bytes| to_raw_value(&read(bytes)?).ok())
            .collect()
    }
}

fn session(id: &str, calls: &VecDeque<Box<RawValue>>) -> Option<Box<RawValue>> {
    to_raw_value(&Session { id, calls }).ok()
}

/// What is remembered of a call that begins now.
fn entry(call: &Call) -> Option<Box<RawValue>> {
    let names = call.arguments.iter().flat_map(Map::keys);
    let mut arguments: Vec<String> = names.map(|name| clipped(name, NAME_CHARS)).collect();
    arguments.sort();
    arguments.truncate(NAMES);
    let mut entry = Entry {
        tool: call.tool.clone(),
        arguments,
        at: format_rfc3339_millis(SystemTime::now()).to_string(),
    };
    loop {
        let written = to_raw_value(&entry).ok()?;
        if written.get().len() <= ENTRY_BYTES {
            return Some(written);
        }
        entry.arguments.pop()?;
    }
}

/// Whoever wrote it: what is read is short.
fn read(entry: &[u8]) -> Option<Entry> {
    (entry.len() <= ENTRY_BYTES).then(|| serde_json::from_slice(entry).ok())?
}

/// SQL as it was sent, one statement on a line where there are several.
fn statements(value: &Value) -> String {
    match value {
        Value::String(sql) => sql.clone(),
        Value::Array(several) => {
            let several: Vec<String> = several.iter().map(statements).collect();
            several.join("\n")
        }
        other => other.to_string(),
    }
}

/// A thread and its entries for its owner, oldest first: as lines, or as JSON.
pub fn show_thread(id: &str, entries: &[Vec<u8>], json: bool) -> String {
    let entries = entries.iter().filter_map(|bytes| read(bytes));
    if json {
        let calls = entries
            .filter_map(|entry| to_raw_value(&entry).ok())
            .collect();
        return session(id, &calls).map_or_else(String::new, |session| ascii(session.get()));
    }
    let mut text = String::new();
    for Entry {
        tool,
        arguments,
        at,
    } in entries
    {
        let line = format!("{at}  {tool}  {}", arguments.join(", "));
        let _ = writeln!(text, "{}", visible(line.trim_end()));
    }
    text
}

/// JSON in which nothing but printable ASCII stands, for a terminal as well.
fn ascii(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() && !c.is_ascii_control() {
            text.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(text, "\\u{unit:04x}");
        }
    }
    text
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
