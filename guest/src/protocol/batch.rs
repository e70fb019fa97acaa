//! Several messages on one line, as revision 2025-03-26 has them
//! (<https://www.jsonrpc.org/specification#batch>).

use super::jsonrpc::{
    self, Error, INTERNAL_ERROR, INVALID_REQUEST, Id, Malformed, Message, Outline, Request,
};
use super::reply::{Reply, Written};
use super::session::{Answer, Session};
use super::state::{finished, read_finished};
use super::triage::{cancels_one, is_cancelled};
use crate::host::Interruption;

/// How many messages a batch may hold. Clients send a handful; the bound keeps what is held
/// back for one line in proportion.
const LONGEST: usize = 100;

impl Session {
    /// Why no message of a batch is looked at, if so.
    pub(super) fn refuse_batch(&self, items: &[&str]) -> Option<Reply> {
        let why = if !self.revision().has_batches() {
            "Invalid request: only revision 2025-03-26 has batches, once it is negotiated. Send \
             one message per line."
                .to_owned()
        } else if items.len() > LONGEST {
            format!("Invalid request: a batch holds at most {LONGEST} messages. Split it.")
        } else {
            return None;
        };
        let error = Error::new(INVALID_REQUEST, why);
        Some(Reply::anonymous(self.no_id(), error))
    }

    /// Answers the messages one after the other; the replies come on one line, in order.
    pub(super) fn batch(&mut self, items: &[&str]) -> Option<String> {
        // Forgets the members of an earlier batch.
        self.save();
        let mut replies = Replies::new(self.writer.budget());
        for item in items {
            let reply = match member(item) {
                Ok(Message::Request(request)) => self.answer_member(request, items),
                Ok(Message::Notification(_) | Message::Response) => continue,
                Err(malformed) => Some(self.refuse(malformed)),
            };
            let reply = reply.map(|reply| self.writer.within(replies.room, reply));
            self.host.extend_state(&finished(reply.as_ref()));
            replies.extend(reply);
        }
        self.join(replies)
    }

    fn answer_member(&mut self, request: Request, items: &[&str]) -> Option<Reply> {
        if request.method == "tools/call" {
            if cancels_one(items, &request.id) || is_cancelled(self.host, &request.id) {
                return self.cancelled(request.id, self.revision());
            }
            // The host cannot cancel one member alone: once it has, it stops them all.
            if self.host.check() == Err(Interruption::Cancelled) {
                return Some(not_run(request.id, "was cancelled"));
            }
        }
        match self.respond(request) {
            Answer::Reply(reply) => Some(reply),
            Answer::Notice(_) | Answer::Silence => None,
        }
    }

    /// The reply to a batch that was aborted: what was answered stays, and what was not run is named.
    pub(super) fn interrupted_batch(
        &mut self,
        items: &[&str],
        reason: &Interruption,
    ) -> Option<String> {
        let saved = std::mem::take(&mut self.saved);
        let mut finished = read_finished(&saved).into_iter();
        let mut replies = Replies::new(self.writer.budget());
        let mut at_work = true;
        for item in items {
            let outline = Outline::read(item);
            if matches!(outline, Ok(None)) {
                continue;
            }
            if let Some(reply) = finished.next() {
                replies.extend(reply);
                continue;
            }
            let reply = match (outline, std::mem::take(&mut at_work), reason) {
                (Ok(None), ..) => None,
                (Err(malformed), ..) => Some(self.refuse(malformed)),
                (Ok(Some(outline)), true, _) => self.unanswered(outline, reason),
                (Ok(Some(outline)), false, Interruption::Cancelled) => {
                    Some(not_run(outline.id, "was cancelled"))
                }
                (Ok(Some(outline)), false, Interruption::Stopped(_)) => {
                    Some(not_run(outline.id, "was aborted"))
                }
            };
            replies.extend(reply.map(|reply| self.writer.within(replies.room, reply)));
        }
        self.join(replies)
    }

    /// A batch of nothing but notifications gets no answer, not an empty array.
    fn join(&self, replies: Replies) -> Option<String> {
        (!replies.all.is_empty()).then(|| self.writer.batch(replies.all))
    }
}

/// The replies so far. One that does not fit into what is left of the budget is given up at
/// once, so that a batch never holds more than one line's worth of answers.
struct Replies {
    all: Vec<Written>,
    /// What is left, in bytes.
    room: u64,
}

impl Replies {
    fn new(room: u64) -> Self {
        Self {
            all: Vec::new(),
            room,
        }
    }

    fn extend(&mut self, reply: Option<Written>) {
        if let Some(reply) = reply {
            self.room = self.room.saturating_sub(reply.text().len() as u64 + 1);
            self.all.push(reply);
        }
    }
}

/// One message of a batch, where a handshake has no place and no modern request either.
fn member(item: &str) -> Result<Message, Malformed> {
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

fn not_run(id: Id, what: &str) -> Reply {
    let why = format!("Not run: an earlier request of the batch {what}. Send this one again.");
    Reply::error(id, Error::new(INTERNAL_ERROR, why))
}
