//! What an instance leaves with its host, for the next one and for the one that overhears.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::jsonrpc::Id;
use super::revision::Revision;

/// The longest id that is kept, in bytes; the host takes 64 KiB in all. A call whose id is
/// longer than this cannot be cancelled.
const LONGEST_ID: usize = 32 << 10;

/// The state that outlives an instance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kept {
    /// What the handshake agreed on, once there was one.
    pub negotiated: Option<Revision>,
    /// Whether the latest request was a modern one. It decides nothing but how an error looks
    /// that belongs to no request.
    pub modern: bool,
    /// The id of the call that runs.
    pub running: Option<Id>,
    /// Whether that call is one of a batch, whose other ids are not listed here.
    pub batch: bool,
}

#[derive(Serialize, Deserialize)]
struct Written {
    negotiated: Option<String>,
    modern: bool,
    running: Option<Box<RawValue>>,
    batch: bool,
}

impl Kept {
    /// Reads what [`Kept::write`] wrote; anything else is a fresh start.
    pub fn read(text: &str) -> Self {
        let Ok(written) = serde_json::from_str::<Written>(text) else {
            return Self::default();
        };
        Self {
            negotiated: written.negotiated.as_deref().and_then(Revision::find),
            modern: written.modern,
            running: written.running.as_deref().and_then(Id::parse),
            batch: written.batch,
        }
    }

    /// The state as text.
    pub fn write(&self) -> String {
        let written = Written {
            negotiated: self.negotiated.map(|revision| revision.name().to_owned()),
            modern: self.modern,
            running: self
                .running
                .as_ref()
                .filter(|id| id.raw().get().len() <= LONGEST_ID)
                .map(|id| id.raw().to_owned()),
            batch: self.batch,
        };
        serde_json::to_string(&written).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> Option<Id> {
        Id::parse(serde_json::from_str(text).expect("JSON"))
    }

    #[test]
    fn what_is_written_is_read_back() {
        let kept = Kept {
            negotiated: Some(Revision::March2025),
            modern: true,
            running: id("123456789012345678901234567890"),
            batch: true,
        };
        assert_eq!(Kept::read(&kept.write()), kept);
    }

    #[test]
    fn nothing_and_nonsense_are_a_fresh_start() {
        for text in ["", "nonsense", "{}", "7"] {
            assert_eq!(Kept::read(text), Kept::default());
        }
    }

    #[test]
    fn it_stays_below_what_a_host_takes() {
        let running = id(&format!("\"{}\"", "i".repeat(1 << 20)));
        assert!(
            Kept {
                running,
                ..Kept::default()
            }
            .write()
            .len()
                < 64 << 10
        );
    }
}
