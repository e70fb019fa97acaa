//! What an instance saves with its host, for the one that takes over after an abort and for those
//! that triage.
//!
//! One line of JSON; lines of the session's log, which begin with a mark of their own; and behind it a line for
//! each member of the running batch that is finished: its reply, or nothing if it gets none. Whoever reads it
//! trusts nothing of it.

use serde::{Deserialize, Serialize};

use super::reply::Written;
use super::revision::Revision;
use crate::command::interface::session_log;

/// The state of the session that outlives an instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SavedState {
    /// What the handshake agreed on, once there was one.
    pub negotiated: Option<Revision>,
    /// Whether the latest request was a modern one. It decides nothing but how an error looks
    /// that belongs to no request.
    pub modern: bool,
}

#[derive(Serialize, Deserialize)]
struct Head {
    negotiated: Option<String>,
    modern: bool,
}

impl SavedState {
    /// Reads what [`SavedState::write`] wrote, whatever stands behind it; anything else is a fresh start.
    pub(super) fn read(saved: &[u8]) -> Self {
        let line = saved
            .split(|&byte| byte == b'\n')
            .next()
            .unwrap_or_default();
        let Ok(head) = serde_json::from_slice::<Head>(line) else {
            return Self::default();
        };
        Self {
            negotiated: head.negotiated.as_deref().and_then(Revision::find),
            modern: head.modern,
        }
    }

    /// The state as bytes.
    pub(super) fn write(self) -> Vec<u8> {
        let head = Head {
            negotiated: self.negotiated.map(|revision| revision.name().to_owned()),
            modern: self.modern,
        };
        let mut line = serde_json::to_vec(&head).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

/// What is appended for a member of a batch that is finished.
pub(super) fn finished(reply: Option<&Written>) -> Vec<u8> {
    let mut line = reply.map_or("", Written::text).as_bytes().to_vec();
    line.push(b'\n');
    line
}

/// The members of the running batch that are finished, up to what cannot be read.
pub(super) fn read_finished(saved: &[u8]) -> Vec<Option<Written>> {
    let mut lines = saved.split_inclusive(|&byte| byte == b'\n');
    // The state itself.
    lines.next();
    lines
        .filter(|line| line[0] != session_log::MARK)
        .map_while(|line| match line.strip_suffix(b"\n")? {
            [] => Some(None),
            line => Some(Some(Written::read(std::str::from_utf8(line).ok()?)?)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATE: SavedState = SavedState {
        negotiated: Some(Revision::March2025),
        modern: true,
    };

    #[test]
    fn what_is_written_is_read_back() {
        assert_eq!(SavedState::read(&STATE.write()), STATE);
        let reply = Written::read(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).expect("a reply");
        let logged = b"+{}\n".to_vec();
        let (none, some) = (finished(None), finished(Some(&reply)));
        let saved = [STATE.write(), logged.clone(), none, logged, some].concat();
        assert_eq!(SavedState::read(&saved), STATE);
        let found = read_finished(&saved);
        assert_eq!(found.len(), 2);
        assert!(found[0].is_none());
        let text = found[1].as_ref().map(Written::text);
        assert_eq!(text, Some(reply.text()));
    }

    #[test]
    fn nothing_and_nonsense_are_a_fresh_start() {
        for saved in [&b""[..], b"nonsense", b"{}", b"7", b"\n\n", b"\xff\n"] {
            assert_eq!(SavedState::read(saved), SavedState::default());
            assert!(read_finished(saved).iter().all(Option::is_none));
        }
    }

    #[test]
    fn what_is_no_reply_ends_what_is_read_as_finished() {
        let forged = [&STATE.write()[..], b"\n{\"result\":1}\n\n"].concat();
        assert_eq!(read_finished(&forged).len(), 1);
        let torn = [
            &STATE.write()[..],
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
        ]
        .concat();
        assert_eq!(read_finished(&torn).len(), 0);
    }
}
