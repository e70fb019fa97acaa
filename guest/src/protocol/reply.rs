//! The only writer of lines. A reply is built as data and serialised once, here, so a raw
//! newline in a frame is impossible; a reply over the budget is refused, never truncated.

use std::io;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::jsonrpc::{Error, INTERNAL_ERROR, Id, members};
use super::revision::NoId;

/// The answer to one request.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Reply {
    jsonrpc: &'static str,
    /// `None`: no such member. `Some(None)`: null.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Option<Id>>,
    #[serde(flatten)]
    body: Body,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum Body {
    Result(Map<String, Value>),
    #[serde(rename = "result")]
    Call(CallResult),
    Error(Error),
}

/// The result of a call of a tool.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallResult {
    /// What a model reads.
    pub content: [TextContent; 1],
    /// The same as an object, on one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Box<RawValue>>,
    /// Whether the call failed.
    pub is_error: bool,
    /// What the revision has beside it.
    #[serde(flatten)]
    pub envelope: Envelope,
}

impl CallResult {
    /// The same, with what is remembered of the client's thread.
    #[must_use]
    pub(crate) fn remembering(mut self, session: Option<Box<RawValue>>) -> Self {
        self.envelope.session = session;
        self
    }
}

/// What stands in a result beside what was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Envelope {
    own: Map<String, Value>,
    /// A part of its `_meta`.
    session: Option<Box<RawValue>>,
}

impl From<Map<String, Value>> for Envelope {
    fn from(own: Map<String, Value>) -> Self {
        Self { own, session: None }
    }
}

impl Serialize for Envelope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Meta<'a>(Option<&'a Map<String, Value>>, &'a RawValue);
        impl Serialize for Meta<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut meta = serializer.serialize_map(None)?;
                for (name, value) in self.0.into_iter().flatten() {
                    meta.serialize_entry(name, value)?;
                }
                meta.serialize_entry("sqlarium/session", self.1)?;
                meta.end()
            }
        }
        let Some(session) = &self.session else {
            return self.own.serialize(serializer);
        };
        let mut members = serializer.serialize_map(None)?;
        for (name, value) in self.own.iter().filter(|(name, _)| *name != "_meta") {
            members.serialize_entry(name, value)?;
        }
        let meta = self.own.get("_meta").and_then(Value::as_object);
        members.serialize_entry("_meta", &Meta(meta, session))?;
        members.end()
    }
}

/// Text in the content of a result.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TextContent {
    /// `text`.
    pub r#type: &'static str,
    /// It.
    pub text: String,
}

impl Reply {
    /// What was asked for.
    pub(crate) fn result(id: Id, result: Map<String, Value>) -> Self {
        Self {
            jsonrpc: "2.0",
            id: Some(Some(id)),
            body: Body::Result(result),
        }
    }

    /// What a call of a tool came to.
    pub(crate) fn call(id: Id, result: CallResult) -> Self {
        Self {
            jsonrpc: "2.0",
            id: Some(Some(id)),
            body: Body::Call(result),
        }
    }

    /// Why the request is not answered.
    pub(crate) fn error(id: Id, error: Error) -> Self {
        Self {
            jsonrpc: "2.0",
            id: Some(Some(id)),
            body: Body::Error(error),
        }
    }

    /// Why a line is not answered whose id could not be read.
    pub(crate) fn anonymous(no_id: NoId, error: Error) -> Self {
        let id = match no_id {
            NoId::Null => Some(None),
            NoId::Absent => None,
        };
        Self {
            jsonrpc: "2.0",
            id,
            body: Body::Error(error),
        }
    }
}

/// A reply as it goes out, on a line of its own or in a batch.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    id: Option<Option<Id>>,
    text: String,
}

impl Written {
    /// Its JSON, on one line.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Reads one that was written; none if it is no reply.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let [version, id, result, error] =
            members(text, ["jsonrpc", "id", "result", "error"]).ok()?;
        let id = match id {
            Some(id) if id.get() == "null" => Some(None),
            Some(id) => Some(Some(Id::parse(id)?)),
            None => None,
        };
        let one_line = !text.contains(['\n', '\r']);
        (one_line && version?.get() == "\"2.0\"" && result.is_some() != error.is_some()).then(
            || Self {
                id,
                text: text.to_owned(),
            },
        )
    }
}

/// A notification of the server's own.
#[derive(Serialize)]
struct Notice<'a, P> {
    jsonrpc: &'static str,
    method: &'a str,
    params: &'a P,
}

/// Writes lines under the reply budget.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writer {
    /// The longest line, in bytes, its newline included.
    budget: u64,
}

impl Writer {
    /// A writer of lines of at most `budget` bytes, the newline included.
    pub(crate) fn new(budget: u64) -> Self {
        Self { budget }
    }

    /// One reply. Over the budget it becomes an error with the same id.
    pub(crate) fn reply(&self, reply: &Reply) -> String {
        self.fit(reply).unwrap_or_else(|| self.refusal(&reply.id))
    }

    /// One reply of a batch that has `room` bytes left; longer than that it becomes an error.
    pub(crate) fn within(&self, room: u64, reply: Reply) -> Written {
        let text = serialise(&reply, room.min(self.budget.saturating_sub(1)))
            .unwrap_or_else(|| self.refusal(&reply.id));
        Written { id: reply.id, text }
    }

    /// The replies of a batch, on one line. Over the budget the longest become errors, one
    /// after the other, until the line fits; if not even those fit, one error stands for all.
    pub(crate) fn batch(&self, mut replies: Vec<Written>) -> String {
        let mut order: Vec<usize> = (0..replies.len()).collect();
        order.sort_by_key(|&index| std::cmp::Reverse(replies[index].text.len()));
        // Two brackets, a newline, and a comma less than there are replies.
        let mut length = 2 + replies
            .iter()
            .map(|reply| reply.text.len() as u64 + 1)
            .sum::<u64>();
        for index in order {
            if length <= self.budget {
                break;
            }
            let refusal = self.refusal(&replies[index].id);
            if refusal.len() < replies[index].text.len() {
                length -= (replies[index].text.len() - refusal.len()) as u64;
                replies[index].text = refusal;
            }
        }
        if length <= self.budget {
            let texts: Vec<&str> = replies.iter().map(Written::text).collect();
            format!("[{}]", texts.join(","))
        } else {
            self.refusal(&Some(None))
        }
    }

    /// A notification; `None` if it is over the budget, since nobody waits for it.
    pub(crate) fn notice<P: Serialize>(&self, method: &str, params: &P) -> Option<String> {
        self.fit(&Notice {
            jsonrpc: "2.0",
            method,
            params,
        })
    }

    /// The error in the place of a reply that is over the budget.
    fn refusal(&self, id: &Option<Option<Id>>) -> String {
        let refusal = Reply {
            jsonrpc: "2.0",
            id: id.clone(),
            body: Body::Error(self.over_budget()),
        };
        // An id can be as long as a request line; then the error goes out without it.
        self.fit(&refusal).unwrap_or_else(|| {
            let anonymous = Reply {
                id: None,
                ..refusal
            };
            serialise(&anonymous, u64::MAX).unwrap_or_default()
        })
    }

    fn over_budget(&self) -> Error {
        Error::new(
            INTERNAL_ERROR,
            format!(
                "The answer is longer than the reply budget of {} bytes (--reply). Ask for less: \
                 fewer rows, fewer columns, or parts of long values.",
                self.budget
            ),
        )
    }

    /// The longest line, in bytes, its newline included.
    pub(crate) fn budget(&self) -> u64 {
        self.budget
    }

    fn fit(&self, line: &impl Serialize) -> Option<String> {
        serialise(line, self.budget.saturating_sub(1))
    }
}

/// Bytes that most lines have at most.
const SHORT: usize = 512;

/// The JSON of `value`; `None` once it is longer than `limit` bytes, so that an answer far
/// over the budget does not take its length in memory.
fn serialise(value: &impl Serialize, limit: u64) -> Option<String> {
    let mut buffer = Bounded {
        bytes: Vec::with_capacity(SHORT),
        limit,
    };
    serde_json::to_writer(&mut buffer, value).ok()?;
    String::from_utf8(buffer.bytes).ok()
}

struct Bounded {
    bytes: Vec<u8>,
    limit: u64,
}

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if (self.bytes.len() + bytes.len()) as u64 > self.limit {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn id(text: &str) -> Id {
        Id::parse(serde_json::from_str(text).expect("JSON")).expect("an id")
    }

    fn text(length: usize) -> Map<String, Value> {
        let mut result = Map::new();
        result.insert("t".into(), json!("x".repeat(length)));
        result
    }

    #[test]
    fn a_line_never_holds_a_raw_newline() {
        let mut result = Map::new();
        result.insert("t\n".into(), json!("a\r\nb"));
        let line = Writer::new(1000).reply(&Reply::result(id(r#""\n""#), result));
        assert_eq!(
            line,
            r#"{"jsonrpc":"2.0","id":"\n","result":{"t\n":"a\r\nb"}}"#
        );
    }

    #[test]
    fn an_unread_id_is_null_or_absent() {
        let line = |no_id| Writer::new(1000).reply(&Reply::anonymous(no_id, Error::new(-1, "m")));
        assert_eq!(
            line(NoId::Null),
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m"}}"#
        );
        assert_eq!(
            line(NoId::Absent),
            r#"{"jsonrpc":"2.0","error":{"code":-1,"message":"m"}}"#
        );
    }

    #[test]
    fn the_budget_counts_the_newline() {
        let reply = Reply::result(id("1"), text(500));
        let length = Writer::new(u64::MAX).reply(&reply).len() as u64;
        assert!(Writer::new(length + 1).reply(&reply).contains("xxx"));
        let refused = Writer::new(length).reply(&reply);
        let refused: Value = serde_json::from_str(&refused).expect("JSON");
        assert_eq!(refused["id"], 1);
        assert_eq!(refused["error"]["code"], INTERNAL_ERROR);
        assert!(
            refused["error"]["message"]
                .as_str()
                .expect("text")
                .contains("--reply")
        );
    }

    #[test]
    fn an_id_over_the_budget_is_left_out() {
        let long = id(&format!("\"{}\"", "i".repeat(2000)));
        let line = Writer::new(1000).reply(&Reply::result(long, Map::new()));
        assert!(line.starts_with(r#"{"jsonrpc":"2.0","error":{"code":-32603,"#));
    }

    #[test]
    fn a_batch_over_the_budget_gives_up_its_longest_answers_only() {
        let writer = Writer::new(1500);
        let reply = |n: &str, length| writer.within(1499, Reply::result(id(n), text(length)));
        let line = writer.batch(vec![reply("1", 100), reply("2", 900), reply("3", 800)]);
        assert!(line.len() < 1500);
        let answers: Vec<Value> = serde_json::from_str(&line).expect("JSON");
        let failed: Vec<bool> = answers
            .iter()
            .map(|answer| answer.get("error").is_some())
            .collect();
        assert_eq!(failed, [false, true, false]);
    }

    #[test]
    fn a_written_reply_is_read_back_and_nothing_else_is() {
        let writer = Writer::new(1000);
        for reply in [
            Reply::result(id(r#""a""#), text(3)),
            Reply::error(id("1"), Error::new(-1, "m\n")),
            Reply::anonymous(NoId::Null, Error::new(-1, "m")),
            Reply::anonymous(NoId::Absent, Error::new(-1, "m")),
        ] {
            let written = writer.within(1000, reply);
            let read = Written::read(written.text()).expect("a reply");
            assert_eq!((read.text, read.id), (written.text, written.id));
        }
        for text in [
            "",
            "{}",
            "[]",
            "nonsense",
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#,
            r#"{"jsonrpc":"2.0","id":[],"result":{}}"#,
            "{\"jsonrpc\":\"2.0\",\n\"id\":1,\"result\":{}}",
        ] {
            assert!(Written::read(text).is_none(), "{text}");
        }
    }
}
