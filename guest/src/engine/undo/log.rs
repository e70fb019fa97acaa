//! What a transaction appends to a write-ahead log
//! (<https://www.sqlite.org/fileformat2.html#walformat>), seen write by write.

use std::collections::BTreeMap;

use super::capture::content;
use super::tap::{INDEX_STATE, OpenFile};

/// The header of a log, and of each frame in it, in bytes.
const LOG_HEADER: u64 = 32;
const FRAME_HEADER: u64 = 24;

/// The frames of one transaction.
#[derive(Debug)]
pub(super) struct Log {
    database: OpenFile,
    pub(super) page_size: usize,
    /// Its state when the first frame came, and behind the last one.
    pub(super) before: Option<[u8; INDEX_STATE]>,
    pub(super) after: [u8; INDEX_STATE],
    /// The pages of the database behind the last frame; 0 unless it commits.
    pub(super) pages: u32,
    /// The pages and hashes of their contents, by the numbers of their frames.
    frames: BTreeMap<u32, (u32, u64)>,
    /// The header whose page is about to follow.
    header: Option<Header>,
    /// The first frame whose page was written again; the headers from there on are written again
    /// before the commit, with their new checksums.
    rewritten: Option<u32>,
}

/// What a frame begins with.
#[derive(Clone, Copy, Debug)]
struct Header {
    frame: u32,
    page: u32,
    /// The pages of the database if it commits.
    pages: u32,
    /// As it stands in the wal-index then.
    state: [u8; INDEX_STATE],
}

impl Log {
    pub(super) fn new(database: OpenFile, page_size: u32) -> Self {
        Self {
            database,
            page_size: page_size as usize,
            before: None,
            after: [0; INDEX_STATE],
            pages: 0,
            frames: BTreeMap::new(),
            header: None,
            rewritten: None,
        }
    }

    /// Goes along with a write; whether with it the transaction is about to be committed.
    pub(super) fn write(&mut self, offset: u64, data: &[u8]) -> bool {
        let Some(behind) = offset.checked_sub(LOG_HEADER) else {
            return false;
        };
        let size = self.page_size as u64 + FRAME_HEADER;
        let Ok(frame) = u32::try_from(behind / size + 1) else {
            return false;
        };
        match (behind % size, data.len()) {
            (0, 24) => self.header(frame, data),
            (FRAME_HEADER, length) if length == self.page_size => self.page(frame, data),
            _ => false,
        }
    }

    fn header(&mut self, frame: u32, data: &[u8]) -> bool {
        let word = |at: usize| u32::from_be_bytes(data[at..at + 4].try_into().unwrap_or_default());
        // In the order of this machine.
        let mut state = [0; INDEX_STATE];
        for (to, from) in [(0, 4), (4, 16), (8, 20)] {
            state[to..to + 4].copy_from_slice(&word(from).to_ne_bytes());
        }
        self.before = self.before.or_else(|| self.database.index_state());
        self.header = Some(Header {
            frame,
            page: word(0),
            pages: word(4),
            state,
        });
        let again = self.rewritten.is_some_and(|first| frame >= first);
        if again && self.pages > 0 && self.last() == Some(frame) {
            self.after = state;
            return true;
        }
        false
    }

    fn page(&mut self, frame: u32, data: &[u8]) -> bool {
        match self.header.take().filter(|header| header.frame == frame) {
            Some(header) => {
                // What was behind it was rolled back to a savepoint.
                self.frames.split_off(&frame);
                self.rewritten = self.rewritten.filter(|first| *first < frame);
                self.frames
                    .insert(frame, (header.page, content(header.page, data)));
                self.pages = header.pages;
                self.after = header.state;
                self.pages > 0 && self.rewritten.is_none()
            }
            None => {
                if let Some((page, hash)) = self.frames.get_mut(&frame) {
                    *hash = content(*page, data);
                    self.rewritten = Some(self.rewritten.map_or(frame, |first| first.min(frame)));
                }
                false
            }
        }
    }

    fn last(&self) -> Option<u32> {
        self.frames.last_key_value().map(|(frame, _)| *frame)
    }

    /// The pages as they are, by number: hashes of their contents.
    pub(super) fn contents(&self) -> BTreeMap<u32, u64> {
        self.frames.values().copied().collect()
    }

    /// Whether what was seen was committed.
    pub(super) fn is_committed(&self) -> bool {
        self.pages > 0 && self.before != self.database.index_state()
    }
}
