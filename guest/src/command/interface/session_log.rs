//! What the latest calls of a client came to, for one that has lost its own memory of them: every refusal,
//! and the writes, unless undo records them, which knows more.
//!
//! It outlives an instance by the state that a session saves: a line of JSON for each entry.

use std::collections::VecDeque;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::argument::{DB, DRY_RUN, OUTPUT};
use super::command::{Command, Effect, Group};
use crate::answer::failure::{Failure, Status};
use crate::answer::output::Output;
use crate::text::count::count;
use crate::text::escape::visible;

/// Entries that are kept: a saved state has room for twice as many.
pub const ENTRIES: usize = 30;
/// Bytes of a text in an entry, and of the name of a database.
const TEXT: usize = 160;
const NAME: usize = 80;

/// What a call came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Logged {
    /// When it ended, in UTC.
    pub at: String,
    /// The database that it named, or nothing.
    pub db: String,
    /// The command.
    pub command: String,
    /// The beginning of its SQL, or of its arguments.
    pub given: String,
    /// What it changed; empty for a refusal.
    pub changes: String,
    /// Why it was refused; none for a write.
    pub refused: Option<String>,
    /// The last write that undo had recorded before.
    pub after: i64,
}

/// The latest of them, the first one first.
#[derive(Debug, Default)]
pub struct SessionLog {
    entries: VecDeque<Logged>,
    /// The last write that undo has recorded.
    recorded: i64,
    /// Whether the last entry is news to the session.
    fresh: bool,
}

impl SessionLog {
    /// Notes what a call came to. `undo`: writes are recorded elsewhere.
    pub fn note(
        &mut self,
        command: &Command,
        given: &Map<String, Value>,
        result: &Result<Output, Failure>,
        undo: bool,
    ) {
        let (changes, refused) = match result {
            Err(failure) if failure.cancelled => return,
            Err(failure) => (String::new(), Some(reason(failure))),
            Ok(output) => {
                if let Some(number) = last_write(output) {
                    self.recorded = number;
                }
                let dry = given
                    .get(DRY_RUN.name)
                    .is_some_and(|flag| flag != &Value::Bool(false));
                match written(command, output).filter(|_| !undo && !dry) {
                    Some(changes) => (changes, None),
                    None => return,
                }
            }
        };
        self.add(command.name, given, changes, refused);
    }

    /// Notes that a call was aborted, and how.
    pub fn note_abort(&mut self, command: &str, reason: &str) {
        let why = shown(&format!("{}: {reason}", Status::Interrupted.name()));
        self.add(command, &Map::new(), String::new(), Some(why));
    }

    fn add(
        &mut self,
        command: &str,
        given: &Map<String, Value>,
        changes: String,
        refused: Option<String>,
    ) {
        let text = |name: &str| given.get(name).and_then(Value::as_str).unwrap_or_default();
        let (sql, input) = (text("sql"), text("input"));
        let said = match (sql.is_empty(), input.is_empty()) {
            (false, _) => shown(sql),
            (true, false) => shown(input),
            (true, true) => {
                let mut rest = given.clone();
                rest.retain(|name, _| name != DB.name && name != OUTPUT.name);
                match rest.is_empty() {
                    true => String::new(),
                    false => shown(&Value::Object(rest).to_string()),
                }
            }
        };
        let at = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        self.entries.push_back(Logged {
            at,
            db: shortened(text(DB.name), NAME),
            command: command.to_owned(),
            given: said,
            changes,
            refused,
            after: self.recorded,
        });
        if self.entries.len() > ENTRIES {
            self.entries.pop_front();
        }
        self.fresh = true;
    }

    /// The entries, the latest first.
    pub fn latest(&self) -> impl Iterator<Item = &Logged> {
        self.entries.iter().rev()
    }

    /// All entries as they are saved.
    pub fn saved(&self) -> Vec<u8> {
        self.entries.iter().flat_map(line).collect()
    }

    /// The last entry as it is saved, if it is not yet.
    pub fn unsaved(&mut self) -> Option<Vec<u8>> {
        let fresh = std::mem::take(&mut self.fresh);
        self.entries.back().filter(|_| fresh).map(line)
    }

    /// Takes up what was saved, whatever stands between. Nothing of it is trusted.
    pub fn restore(&mut self, saved: &[u8]) {
        let lines = saved.split(|&byte| byte == b'\n');
        let entries = lines.filter_map(|line| {
            let entry: Logged = serde_json::from_slice(line.strip_prefix(&[MARK])?).ok()?;
            Some(entry)
        });
        self.entries = entries.collect();
        let beyond = self.entries.len().saturating_sub(ENTRIES);
        self.entries.drain(..beyond);
        self.recorded = self.entries.back().map_or(0, |entry| entry.after);
    }
}

/// What a line of an entry begins with; no other line of a saved state does.
pub const MARK: u8 = b'+';

fn line(entry: &Logged) -> Vec<u8> {
    let mut line = vec![MARK];
    line.extend(serde_json::to_vec(entry).unwrap_or_default());
    line.push(b'\n');
    line
}

/// What a call changed, if it was one that writes.
fn written(command: &Command, output: &Output) -> Option<String> {
    if command.effect == Effect::Reads {
        return None;
    }
    let rows = output.changes.map(|rows| count(rows, "row") + " changed");
    let first = || {
        let text = output.text.as_deref().unwrap_or_default();
        shown(text.lines().next().unwrap_or_default())
    };
    match (command.group, rows) {
        (Group::Sql, _) if output.defined => Some(match output.changes {
            None | Some(0) => "schema changed".into(),
            Some(rows) => format!("schema and {}", count(rows, "row") + " changed"),
        }),
        (Group::Sql, Some(rows)) => Some(rows),
        // A script says what it did to whoever reads it; a query changes nothing.
        (Group::Sql, None) => output
            .extra
            .contains_key("errors")
            .then(|| "a script".into()),
        (_, rows) => Some(
            Some(first())
                .filter(|text| !text.is_empty())
                .or(rows)
                .unwrap_or_default(),
        ),
    }
}

/// The last write that an answer says was recorded for undo.
fn last_write(output: &Output) -> Option<i64> {
    let last = output.extra.get("writes").and_then(Value::as_array);
    let last = last.and_then(|writes| writes.last());
    output.extra.get("write").or(last)?.as_i64()
}

fn reason(failure: &Failure) -> String {
    shown(&format!("{}: {}", failure.status.name(), failure.message))
}

/// The beginning of a text on one line.
fn shown(text: &str) -> String {
    shortened(text, TEXT)
}

/// The beginning of a text on one line, in so many bytes.
fn shortened(text: &str, bytes: usize) -> String {
    // What is far longer is not looked at.
    let start = &text[..text.floor_char_boundary(10 * bytes)];
    let words: Vec<&str> = start.split_whitespace().collect();
    let line = words.join(" ");
    let line = visible(&line);
    match line.len() <= bytes && start.len() == text.len() {
        true => line.into_owned(),
        false => format!("{}…", &line[..line.floor_char_boundary(bytes)]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::registry::REGISTRY;

    fn refused(log: &mut SessionLog, sql: &str) {
        let given = json!({ "sql": sql, "output": "json" });
        let failure = Failure::new(Status::Syntax, "No.");
        let query = REGISTRY.find("query").unwrap();
        log.note(query, given.as_object().unwrap(), &Err(failure), false);
    }

    #[test]
    fn the_latest_entries_are_kept_and_outlive_what_stands_between() {
        let mut log = SessionLog::default();
        for number in 0..100 {
            refused(&mut log, &format!("SELECT {number}"));
        }
        let mut saved = b"{\"negotiated\":null}\n\nnonsense\n+nonsense\n".to_vec();
        saved.extend(log.saved());
        saved.extend(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
        let mut other = SessionLog::default();
        other.restore(&saved);
        let given = |log: &SessionLog| log.latest().map(|e| e.given.clone()).collect::<Vec<_>>();
        assert_eq!(given(&other), given(&log));
        assert_eq!(given(&other).len(), ENTRIES);
        assert_eq!(given(&other)[0], "SELECT 99");
        assert_eq!(
            other.latest().next().unwrap().refused.as_deref(),
            Some("syntax: No.")
        );
    }

    #[test]
    fn whatever_is_sent_twice_as_many_entries_fit_beside_the_longest_reply() {
        let mut log = SessionLog::default();
        for text in ["\u{1}", "\\", "\"", "\n", "\u{202e}", "🦀", "\u{e0001}"] {
            for _ in 0..ENTRIES {
                let given = json!({ "sql": text.repeat(5_000), "db": text.repeat(5_000) });
                let failure = Failure::new(Status::NotFound, text.repeat(5_000));
                let query = REGISTRY.find("query").unwrap();
                log.note(query, given.as_object().unwrap(), &Err(failure), false);
            }
            let line = log.unsaved().expect("news");
            assert_eq!(line.iter().filter(|&&byte| byte == b'\n').count(), 1);
            assert_eq!(log.unsaved(), None);
            let bytes = log.saved().len();
            assert!(2 * bytes + 1_000 < 64 << 10, "{text:?}: {bytes}");
        }
    }
}
