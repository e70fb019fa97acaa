//! The only writer of lines. A reply is built as data and serialised once, here, so a raw
//! newline in a frame is impossible; a reply over the budget is refused, never truncated.

use std::io;

use serde::Serialize;
use serde_json::{Map, Value};

use super::jsonrpc::{Error, INTERNAL_ERROR, Id};
use super::revision::NoId;

/// The answer to one request.
#[derive(Clone, Debug, Serialize)]
pub struct Reply {
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
    Error(Error),
}

impl Reply {
    /// What was asked for.
    pub fn result(id: Id, result: Map<String, Value>) -> Self {
        Self {
            jsonrpc: "2.0",
            id: Some(Some(id)),
            body: Body::Result(result),
        }
    }

    /// Why the request is not answered.
    pub fn error(id: Id, error: Error) -> Self {
        Self {
            jsonrpc: "2.0",
            id: Some(Some(id)),
            body: Body::Error(error),
        }
    }

    /// Why a line is not answered whose id could not be read.
    pub fn anonymous(no_id: NoId, error: Error) -> Self {
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

/// A notification of the server's own.
#[derive(Serialize)]
struct Notice<'a, P> {
    jsonrpc: &'static str,
    method: &'a str,
    params: &'a P,
}

/// Writes lines under the reply budget.
#[derive(Clone, Copy, Debug)]
pub struct Writer {
    /// The longest line, in bytes, its newline included.
    budget: u64,
}

impl Writer {
    /// A writer of lines of at most `budget` bytes, the newline included.
    pub fn new(budget: u64) -> Self {
        Self { budget }
    }

    /// One reply. Over the budget it becomes an error with the same id.
    pub fn reply(&self, reply: &Reply) -> String {
        self.fit(reply).unwrap_or_else(|| self.refusal(reply))
    }

    /// The replies of a batch, on one line. Over the budget the longest become errors, one
    /// after the other, until the line fits; if not even those fit, one error stands for all.
    pub fn batch(&self, replies: &[Reply]) -> String {
        let mut lines: Vec<String> = replies.iter().map(|reply| self.reply(reply)).collect();
        let mut order: Vec<usize> = (0..lines.len()).collect();
        order.sort_by_key(|&index| std::cmp::Reverse(lines[index].len()));
        // Two brackets, a newline, and a comma less than there are replies.
        let mut length = 2 + lines.iter().map(|line| line.len() as u64 + 1).sum::<u64>();
        for index in order {
            if length <= self.budget {
                break;
            }
            let refusal = self.refusal(&replies[index]);
            if refusal.len() < lines[index].len() {
                length -= (lines[index].len() - refusal.len()) as u64;
                lines[index] = refusal;
            }
        }
        if length <= self.budget {
            format!("[{}]", lines.join(","))
        } else {
            self.refusal(&Reply::anonymous(
                NoId::Null,
                Error::new(INTERNAL_ERROR, ""),
            ))
        }
    }

    /// The reply, or an error in its place if it is longer than `room` bytes; and the length
    /// of that.
    pub fn within(&self, room: u64, reply: Reply) -> (Reply, u64) {
        match serialise(&reply, room) {
            Some(line) => (reply, line.len() as u64),
            None => {
                let reply = Reply {
                    body: Body::Error(self.over_budget()),
                    ..reply
                };
                let length = self.reply(&reply).len() as u64;
                (reply, length)
            }
        }
    }

    /// A notification; `None` if it is over the budget, since nobody waits for it.
    pub fn notice<P: Serialize>(&self, method: &str, params: &P) -> Option<String> {
        self.fit(&Notice {
            jsonrpc: "2.0",
            method,
            params,
        })
    }

    /// The last words of a call: the line that `write` makes of a reason, cut where the reason
    /// stands, once or more. The host joins the parts with its own reason, escaped for JSON.
    pub fn last_words(&self, write: impl Fn(&str) -> String) -> Vec<String> {
        let plain = write("");
        // Whatever an id or an earlier answer holds, some marker is not in it.
        let marker = (0..=u64::MAX)
            .map(|n| format!("<{n}>"))
            .find(|marker| !plain.contains(marker.as_str()))
            .expect("a line is shorter than there are numbers");
        write(&marker).split(&marker).map(str::to_owned).collect()
    }

    fn refusal(&self, reply: &Reply) -> String {
        let body = Body::Error(self.over_budget());
        let refusal = Reply {
            jsonrpc: "2.0",
            id: reply.id.clone(),
            body,
        };
        // An id can be as long as a request line; then the error goes out without it.
        self.fit(&refusal).unwrap_or_else(|| {
            let nameless = Reply {
                id: None,
                ..refusal
            };
            serialise(&nameless, u64::MAX).unwrap_or_default()
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
    pub fn budget(&self) -> u64 {
        self.budget
    }

    fn fit(&self, line: &impl Serialize) -> Option<String> {
        serialise(line, self.budget.saturating_sub(1))
    }
}

/// The JSON of `value`; `None` once it is longer than `limit` bytes, so that an answer far
/// over the budget does not take its length in memory.
fn serialise(value: &impl Serialize, limit: u64) -> Option<String> {
    let mut buffer = Bounded {
        bytes: Vec::new(),
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
        let replies = [
            Reply::result(id("1"), text(100)),
            Reply::result(id("2"), text(900)),
            Reply::result(id("3"), text(800)),
        ];
        let line = Writer::new(1500).batch(&replies);
        assert!(line.len() < 1500);
        let answers: Vec<Value> = serde_json::from_str(&line).expect("JSON");
        let failed: Vec<bool> = answers
            .iter()
            .map(|answer| answer.get("error").is_some())
            .collect();
        assert_eq!(failed, [false, true, false]);
    }

    #[test]
    fn last_words_are_cut_at_every_place_of_the_reason() {
        let parts = Writer::new(1000).last_words(|reason| {
            let mut result = Map::new();
            result.insert("a".into(), json!(reason));
            result.insert("b".into(), json!(reason));
            Writer::new(1000).reply(&Reply::result(id(r#""<0>""#), result))
        });
        assert_eq!(
            parts.join("why"),
            r#"{"jsonrpc":"2.0","id":"<0>","result":{"a":"why","b":"why"}}"#
        );
    }
}
