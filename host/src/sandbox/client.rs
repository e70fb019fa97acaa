//! What a guest may learn of its client, and leave for the next guest.

use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wasmtime::{Result, bail};

/// The client's lines beside the one that is handed over: kept by whoever reads them.
pub trait Lines: Send + Sync {
    /// The line that the session is answering.
    fn running(&self) -> Option<Vec<u8>>;
    /// The `index`-th line that waits for its turn, oldest first.
    fn queued(&self, index: usize) -> Option<Vec<u8>>;
}

/// The client of a session, as far as its guest can reach it.
#[derive(Clone)]
pub struct Client {
    /// Its lines.
    pub lines: Arc<dyn Lines>,
    /// Takes lines that are to be sent while a call runs; an instance that triages has none.
    pub notifications: Option<SyncSender<String>>,
}

/// What the guest saves of its session for the next instance.
#[derive(Debug)]
pub struct SavedState {
    /// How long it may be, in bytes.
    limit: usize,
    bytes: Mutex<Vec<u8>>,
}

/// What may be saved beyond the longest reply, in bytes.
const BEYOND_REPLY: u64 = 64 << 10;

impl SavedState {
    /// An empty one, for a session whose replies are at most `reply` bytes long.
    pub fn new(reply: u64) -> Self {
        Self {
            limit: usize::try_from(reply.saturating_add(BEYOND_REPLY)).unwrap_or(usize::MAX),
            bytes: Mutex::default(),
        }
    }

    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A copy of it.
    pub fn get(&self) -> Vec<u8> {
        self.bytes().clone()
    }

    /// Replaces it.
    ///
    /// # Errors
    ///
    /// If it would be too long, which no honest guest attempts.
    pub fn set(&self, state: Vec<u8>) -> Result<()> {
        if state.len() > self.limit {
            bail!("the guest wants to save more than {} bytes", self.limit);
        }
        *self.bytes() = state;
        Ok(())
    }

    /// Appends to it.
    ///
    /// # Errors
    ///
    /// As for [`SavedState::set`].
    pub fn extend(&self, part: &[u8]) -> Result<()> {
        let mut bytes = self.bytes();
        if part.len() > self.limit - bytes.len() {
            bail!("the guest wants to save more than {} bytes", self.limit);
        }
        bytes.extend_from_slice(part);
        Ok(())
    }

    /// Forgets it.
    pub fn clear(&self) {
        *self.bytes() = Vec::new();
    }
}
