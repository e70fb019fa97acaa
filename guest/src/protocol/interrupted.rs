//! Replies for lines whose instance was aborted while it answered them.
//!
//! They are made by a fresh instance from the saved state, under a small budget: a line is read no
//! further than the reply needs.

use super::jsonrpc::{self, Error, INTERNAL_ERROR, Line, Outline};
use super::reply::Reply;
use super::revision::Revision;
use super::session::Session;
use super::tools;
use crate::host::Interruption;

impl Session {
    /// The reply to a line that was aborted for `reason`; none if nobody waits for one.
    pub fn interrupted(&mut self, line: &[u8], reason: &Interruption) -> Option<String> {
        let reply = match jsonrpc::line(line) {
            Line::Blank => None,
            Line::Malformed(malformed) => Some(self.refuse(malformed)),
            Line::Single(text) => match Outline::read(text) {
                Ok(outline) => outline.and_then(|outline| self.unanswered(outline, reason)),
                Err(malformed) => Some(self.refuse(malformed)),
            },
            Line::Batch(items) => match self.refuse_batch(&items) {
                Some(reply) => Some(reply),
                None => return self.interrupted_batch(&items, reason),
            },
        };
        reply.map(|reply| self.writer.reply(&reply))
    }

    /// The reply to one request that was aborted.
    pub(super) fn unanswered(&mut self, outline: Outline, reason: &Interruption) -> Option<Reply> {
        let revision = match outline.modern {
            true => Revision::MODERN,
            false => self.revision(),
        };
        let reason = match reason {
            Interruption::Cancelled => return self.cancelled(outline.id, revision),
            Interruption::Stopped(reason) => reason,
        };
        let command = outline.tool.and_then(|tool| self.tools.command(&tool));
        if let (Some((command, _)), Some(log)) = (command, self.tools.log()) {
            log.note_abort(command, reason);
        }
        self.keep_log();
        Some(match command {
            Some(command) => {
                let result = tools::interrupted(command, outline.wants_object, revision, reason);
                let session = self.record.recall(outline.thread.as_deref());
                Reply::call(outline.id, result.remembering(session))
            }
            None => Reply::error(outline.id, Error::new(INTERNAL_ERROR, reason)),
        })
    }
}

#[cfg(test)]
#[path = "interrupted_tests.rs"]
mod tests;
