//! Several messages on one line, as revision 2025-03-26 has them
//! (<https://www.jsonrpc.org/specification#batch>).

use serde_json::value::RawValue;

use super::jsonrpc::{self, Error, INTERNAL_ERROR, INVALID_REQUEST, Malformed, Message, Request};
use super::overhear::{is_taken_back, takes_one_back};
use super::reply::{Reply, Writer};
use super::session::{Answer, Session};
use crate::host::Verdict;

/// How many messages a batch may hold. Clients send a handful; the bound keeps what is held
/// back for one line in proportion.
const LONGEST: usize = 100;

impl Session {
    /// Handles the messages one after the other; the answers come on one line, in order.
    pub(super) fn batch(&mut self, items: &[&RawValue]) -> Option<String> {
        if items.len() > LONGEST {
            let why =
                format!("Invalid request: a batch holds at most {LONGEST} messages. Split it.");
            let error = Error::new(INVALID_REQUEST, why);
            return Some(
                self.writer
                    .reply(&Reply::anonymous(self.revision().no_id(), error)),
            );
        }
        self.kept.batch = true;
        let mut replies = Replies {
            all: Vec::new(),
            room: self.writer.budget(),
            writer: self.writer,
        };
        for (index, item) in items.iter().enumerate() {
            let request = match member(item) {
                Ok(Message::Request(request)) => request,
                Ok(Message::Notification(_) | Message::Response) => continue,
                Err(malformed) => {
                    replies.push(self.refuse(malformed));
                    continue;
                }
            };
            if request.method == "tools/call" && takes_one_back(items, &request.id) {
                if let Answer::Reply(reply) = self.cancelled(request.id, self.revision()) {
                    replies.push(reply);
                }
                continue;
            }
            // The host cannot cancel one member alone: once told, it stops them all.
            let stopped = request.method == "tools/call" && self.host.poll(0) == Verdict::Cancelled;
            if stopped && !is_taken_back(self.host, &request.id) {
                replies.push(not_run(request, "was cancelled"));
                continue;
            }
            let rest = &items[index + 1..];
            let so_far = &replies.all;
            let frame = move |writer: &Writer, reply: Reply| {
                let unrun = rest.iter().filter_map(|item| match member(item) {
                    Ok(Message::Request(request)) => Some(not_run(request, "was aborted")),
                    _ => None,
                });
                let all: Vec<Reply> = so_far.iter().cloned().chain([reply]).chain(unrun).collect();
                writer.batch(&all)
            };
            if let Answer::Reply(reply) = self.answer(request, &frame) {
                replies.push(reply);
            }
        }
        // A batch of nothing but notifications gets no answer, not an empty array.
        (!replies.all.is_empty()).then(|| self.writer.batch(&replies.all))
    }
}

/// The replies so far. One that does not fit into what is left of the budget is given up at
/// once, so that a batch never holds more than one line's worth of answers.
struct Replies {
    all: Vec<Reply>,
    room: u64,
    writer: Writer,
}

impl Replies {
    fn push(&mut self, reply: Reply) {
        let (reply, length) = self.writer.within(self.room, reply);
        self.room = self.room.saturating_sub(length + 1);
        self.all.push(reply);
    }
}

/// One message of a batch, where a handshake has no place and no modern request either.
fn member(item: &RawValue) -> Result<Message, Malformed> {
    let message = jsonrpc::message(item)?;
    if let Message::Request(request) = &message {
        let why = if request.method == "initialize" {
            "Invalid request: initialize must not be part of a batch."
        } else if request.is_modern() {
            "Invalid request: revision 2026-07-28 has no batches. Send one message per line."
        } else {
            return Ok(message);
        };
        return Err(Malformed {
            code: INVALID_REQUEST,
            message: why.to_owned(),
            id: Some(request.id.clone()),
            modern: false,
        });
    }
    Ok(message)
}

fn not_run(request: Request, what: &str) -> Reply {
    let why = format!("Not run: an earlier request of the batch {what}. Send this one again.");
    Reply::error(request.id, Error::new(INTERNAL_ERROR, why))
}
