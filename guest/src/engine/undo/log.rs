//! What a transaction appends to a write-ahead log
//! (<https://www.sqlite.org/fileformat2.html#walformat>), seen write by write, and the pages that it
//! replaces. The write is the only one, and SQLite keeps what it began with until its end.

use std::collections::BTreeMap;

use super::capture::content;
use super::index::{self, Index, STATE};
use super::tap::{Below, OpenFile};

/// The header of a log, and of each frame in it, in bytes.
const LOG_HEADER: u64 = 32;
const FRAME_HEADER: u64 = 24;

/// The frames of one transaction.
#[derive(Debug)]
pub(super) struct Log {
    database: OpenFile,
    pub(super) page_size: usize,
    /// The log when the first frame came, if it could be read.
    pub(super) before: Option<Index>,
    /// Pages of the database then.
    pub(super) pages_before: u32,
    /// The state of the database behind the last frame.
    pub(super) after: [u8; STATE],
    /// Its pages then; 0 unless the last frame commits.
    pub(super) pages: u32,
    /// Pages that were there before and hashes of their contents, by the numbers of their frames.
    frames: BTreeMap<u32, (u32, u64)>,
    /// The last frame.
    last: u32,
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
    state: [u8; STATE],
}

impl Log {
    pub(super) fn new(database: OpenFile, page_size: u32) -> Self {
        Self {
            database,
            page_size: page_size as usize,
            before: None,
            pages_before: 0,
            after: [0; STATE],
            pages: 0,
            frames: BTreeMap::new(),
            last: 0,
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
        let mut state = [0; STATE];
        for (to, from) in [(0, 4), (4, 16), (8, 20)] {
            state[to..to + 4].copy_from_slice(&word(from).to_ne_bytes());
        }
        if self.last == 0 && self.before.is_none() {
            self.before = Index::look(self.database);
            match self.before.and_then(|index| self.count(&index)) {
                Some(pages) => self.pages_before = pages,
                None => self.before = None,
            }
        }
        self.header = Some(Header {
            frame,
            page: word(0),
            pages: word(4),
            state,
        });
        let again = self.rewritten.is_some_and(|first| frame >= first);
        if again && self.pages > 0 && self.last == frame {
            self.after = state;
            return true;
        }
        false
    }

    /// The pages of the database, when the first frame comes.
    fn count(&self, index: &Index) -> Option<u32> {
        match index.pages() {
            0 => self.database.below().pages(self.page_size),
            pages => Some(pages),
        }
    }

    fn page(&mut self, frame: u32, data: &[u8]) -> bool {
        match self.header.take().filter(|header| header.frame == frame) {
            Some(header) => {
                // What was behind it was rolled back to a savepoint.
                self.frames.split_off(&frame);
                self.rewritten = self.rewritten.filter(|first| *first < frame);
                if header.page <= self.pages_before {
                    let frames = &mut self.frames;
                    frames.insert(frame, (header.page, content(header.page, data)));
                }
                self.last = frame;
                self.pages = header.pages;
                self.after = header.state;
                self.pages > 0 && self.rewritten.is_none()
            }
            None => {
                if let Some((page, hash)) = self.frames.get_mut(&frame) {
                    *hash = content(*page, data);
                }
                if frame <= self.last {
                    self.rewritten = Some(self.rewritten.map_or(frame, |first| first.min(frame)));
                }
                false
            }
        }
    }

    /// The pages that were there before, and hashes of their contents; none for those that are cut off.
    pub(super) fn contents(&self) -> BTreeMap<u32, Option<u64>> {
        let written = self.frames.values();
        let mut contents: BTreeMap<_, _> =
            written.map(|(page, hash)| (*page, Some(*hash))).collect();
        contents.extend((self.pages + 1..=self.pages_before).map(|page| (page, None)));
        contents
    }

    /// A page as it was before; `log` is the file that is written to. Whether it could be read.
    pub(super) fn old(&self, log: &Below, number: u32, page: &mut [u8]) -> bool {
        let Some(Ok(frame)) = self.before.map(|index| index.frame(number)) else {
            return false;
        };
        let size = self.page_size as u64;
        match frame {
            Some(frame) => {
                let before = u64::from(frame - 1) * (size + FRAME_HEADER);
                log.read(LOG_HEADER + before + FRAME_HEADER, page)
            }
            None => self
                .database
                .below()
                .read(u64::from(number - 1) * size, page),
        }
    }

    /// Whether what was seen was committed.
    pub(super) fn is_committed(&self) -> bool {
        let before = self.before.map(|index| index.state);
        self.pages > 0 && before != index::state(self.database)
    }
}
