//! What a write transaction overwrites and cuts off: the pages as they were.
//!
//! With a rollback journal, a page is read from the file just before it is written for the first
//! time. In a write-ahead log nothing is overwritten; there the numbers of the pages are seen as
//! they are appended, and the pages come from a reader that began before the write did.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;

use rusqlite::Connection;

use super::tap::{Below, INDEX_STATE, OpenFile, Tap, Watcher};

/// The header of a write-ahead log, and of each frame in it, in bytes
/// (<https://www.sqlite.org/fileformat2.html#walformat>).
const LOG_HEADER: u64 = 32;
const FRAME_HEADER: usize = 24;

/// Parts of page 1 that say nothing of the content: the journal mode, the change counter, the
/// schema cookie, and which SQLite wrote last
/// (<https://www.sqlite.org/fileformat2.html#the_database_header>).
pub(crate) const MARKS: [Range<usize>; 4] = [18..20, 24..28, 40..44, 92..100];

/// Why a write cannot be undone, as a sentence's middle.
pub(crate) type Irreversible = String;

/// A page that a write changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// Its number, from 1.
    pub number: u32,
    /// As it was; none for one that was not there.
    pub before: Option<Vec<u8>>,
    /// A hash of it as it was left, [`MARKS`] aside; none for one that was cut off.
    pub after: Option<u64>,
}

/// What a write changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Images {
    /// Bytes of a page.
    pub page_size: u32,
    /// Pages of the database before it, and after it.
    pub count: (u32, u32),
    /// What tells the state of the database before it from all others, and the state after it.
    pub state: (u64, u64),
    /// The pages, by number.
    pub pages: Vec<Page>,
}

impl Images {
    /// Whether everything is as it was: pages were written to, and written back.
    pub(crate) fn are_all_the_same(&self) -> bool {
        self.count.0 == self.count.1
            && self.pages.iter().all(|page| {
                let before = page.before.as_ref();
                before.map(|before| content(page.number, before)) == page.after
            })
    }
}

/// Watches a write transaction of a connection. It must end before its connection is closed.
#[derive(Debug)]
pub(crate) struct Capture {
    tap: Result<Tap<Seen>, Irreversible>,
    /// Whether a reader keeps the state from before the write.
    reads: bool,
}

impl Capture {
    /// Starts to watch what `connection` writes to its database, up to `room` bytes of pages. In a
    /// write-ahead log `reader` lets another connection to it begin to read, and that is given to
    /// [`Capture::finish`].
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn start(
        connection: &Connection,
        room: u64,
        reader: impl FnOnce() -> rusqlite::Result<()>,
    ) -> rusqlite::Result<Self> {
        let mode: String =
            connection.query_row("PRAGMA main.journal_mode", [], |row| row.get(0))?;
        let database = OpenFile::database(connection);
        if mode != "wal" {
            let tap = database
                .map(|file| Tap::new(file, Seen::new(room, None)))
                .ok_or_else(|| "the database is no file".to_owned());
            return Ok(Self { tap, reads: false });
        }
        let page_size = connection.query_row("PRAGMA main.page_size", [], |row| row.get(0))?;
        // Before the reader begins: if it is the same when the first frame comes, the reader saw that.
        let began = database.and_then(|database| Some((database, database.index_state()?)));
        reader()?;
        let tap = match (began, OpenFile::journal(connection)) {
            (Some((database, began)), Some(log)) => {
                let watched = Log::new(database, page_size, began);
                Ok(Tap::new(log, Seen::new(room, Some(watched))))
            }
            _ => Err("its write-ahead log is not shared".to_owned()),
        };
        Ok(Self { tap, reads: true })
    }

    /// Ends watching: what was committed, or why it cannot be undone; none if nothing was.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn finish(
        self,
        reader: Option<&Connection>,
    ) -> rusqlite::Result<Option<Result<Images, Irreversible>>> {
        let tap = match self.tap {
            Ok(tap) => tap,
            Err(why) => return Ok(Some(Err(why))),
        };
        let seen = std::mem::replace(&mut *tap.watcher(), Seen::new(0, None));
        drop(tap);
        match (&seen.log, reader) {
            (Some(_), Some(reader)) => seen.log_images(reader),
            (Some(_), None) => Ok(Some(Err("the pages as they were cannot be read".into()))),
            (None, _) => Ok(seen.file_images()),
        }
    }

    /// The state of the database behind the last thing that was written.
    pub(crate) fn state(&self) -> Option<u64> {
        let seen = self.tap.as_ref().ok()?.watcher();
        match &seen.log {
            Some(log) => log.after.map(|after| hash(&after)),
            None => seen.first.as_deref().map(hash),
        }
    }

    /// Whether a reader was asked for, whose transaction is to be ended.
    pub(crate) fn reads(&self) -> bool {
        self.reads
    }

    /// Whether the log has grown so long that it should be put into the database.
    pub(crate) fn log_is_long(&self) -> bool {
        const FRAMES: u32 = 1_000;
        self.tap.as_ref().is_ok_and(|tap| {
            tap.watcher()
                .log
                .as_ref()
                .is_some_and(|log| log.last > FRAMES)
        })
    }
}

/// What was seen.
#[derive(Debug)]
struct Seen {
    room: u64,
    /// Bytes of the pages that were kept.
    bytes: u64,
    /// 0 until the first page.
    page_size: usize,
    /// Pages of the database at the start.
    pages: u32,
    /// As they were, with a rollback journal.
    before: BTreeMap<u32, Vec<u8>>,
    /// Hashes of them as they are.
    after: BTreeMap<u32, u64>,
    /// Page 1 as it is.
    first: Option<Vec<u8>>,
    irreversible: Option<Irreversible>,
    log: Option<Log>,
}

/// The write-ahead log that is watched.
#[derive(Debug)]
struct Log {
    database: OpenFile,
    page_size: usize,
    /// Its state when the reader began, when the first frame came, and behind the last one.
    began: [u8; INDEX_STATE],
    before: Option<[u8; INDEX_STATE]>,
    after: Option<[u8; INDEX_STATE]>,
    /// The pages of the database behind the last frame; 0 unless it commits.
    pages: u32,
    /// The last frame, from 1.
    last: u32,
    /// The pages by the place of their frames.
    frames: BTreeMap<u64, u32>,
}

impl Log {
    fn new(database: OpenFile, page_size: u32, began: [u8; INDEX_STATE]) -> Self {
        Self {
            database,
            page_size: page_size as usize,
            began,
            before: None,
            after: None,
            pages: 0,
            last: 0,
            frames: BTreeMap::new(),
        }
    }

    /// A frame's header, <https://www.sqlite.org/fileformat2.html#walformat>: the page, the pages
    /// of the database if it commits, the salts and the checksum.
    fn frame(&mut self, offset: u64, header: &[u8]) -> Option<u32> {
        let word = |at: usize| -> [u8; 4] { header[at..at + 4].try_into().unwrap_or_default() };
        let frame = (self.page_size + FRAME_HEADER) as u64;
        let number = u32::try_from(offset.checked_sub(LOG_HEADER)? / frame + 1).ok()?;
        let page = u32::from_be_bytes(word(0));
        self.before = self.before.or_else(|| self.database.index_state());
        self.frames.insert(offset + FRAME_HEADER as u64, page);
        if number >= self.last {
            self.last = number;
            self.pages = u32::from_be_bytes(word(4));
            // As it stands in the wal-index, in the order of this machine.
            let mut state = [0; INDEX_STATE];
            for (to, from) in [(0, 4), (4, 16), (8, 20)] {
                let number = u32::from_be_bytes(word(from));
                state[to..to + 4].copy_from_slice(&number.to_ne_bytes());
            }
            self.after = Some(state);
        }
        Some(page)
    }
}

impl Seen {
    fn new(room: u64, log: Option<Log>) -> Self {
        Self {
            room,
            bytes: 0,
            page_size: 0,
            pages: 0,
            before: BTreeMap::new(),
            after: BTreeMap::new(),
            first: None,
            irreversible: None,
            log,
        }
    }

    /// Keeps a page of the file, which is about to be lost.
    fn keep(&mut self, file: &Below, number: u32) {
        let wanted = number == 1 || self.irreversible.is_none();
        if number > self.pages || !wanted || self.before.contains_key(&number) {
            return;
        }
        let mut page = vec![0; self.page_size];
        self.bytes += page.len() as u64;
        if number > 1 && self.bytes > self.room {
            self.give_up(too_large(self.room));
        } else if file.read(offset(number, self.page_size), &mut page) {
            self.before.insert(number, page);
        } else {
            self.give_up("a page that it overwrote could not be read".into());
        }
    }

    fn give_up(&mut self, why: Irreversible) {
        self.irreversible = Some(why);
        // Page 1 tells whether anything is committed.
        self.before.retain(|number, _| *number == 1);
    }

    fn begin(&mut self, file: &Below, page_size: usize) {
        if self.page_size == 0 {
            self.page_size = page_size;
            self.pages = pages(file, page_size);
        }
    }

    /// What was written over a file.
    fn file_images(mut self) -> Option<Result<Images, Irreversible>> {
        // Whatever is committed counts on in page 1. A transaction that was rolled back may have
        // been put into the file, and out of it again.
        let now = self.first.take()?;
        let was = self.before.get(&1);
        if was == Some(&now) && self.irreversible.is_none() {
            return None;
        }
        if let Some(was) = was {
            if was[16..18] != now[16..18] {
                self.irreversible = Some("the page size was changed".into());
            } else if was[18..20] != now[18..20] {
                self.irreversible = Some("the journal mode was changed".into());
            }
        }
        if let Some(why) = self.irreversible {
            return Some(Err(why));
        }
        let count = now[28..32].try_into().map_or(0, u32::from_be_bytes);
        let was = was.map(|was| hash(was)).unwrap_or_default();
        self.after.retain(|number, _| *number <= count);
        Some(Ok(Images {
            page_size: self.page_size as u32,
            count: (self.pages, count),
            state: (was, hash(&now)),
            pages: together(self.before, self.after),
        }))
    }

    /// What was appended to a log, as `reader` still sees it.
    fn log_images(
        mut self,
        reader: &Connection,
    ) -> rusqlite::Result<Option<Result<Images, Irreversible>>> {
        let Some(log) = self.log.take() else {
            return Ok(None);
        };
        let (Some(was), Some(is), 1..) = (log.before, log.after, log.pages) else {
            return Ok(None);
        };
        if was != log.began {
            return Ok(Some(Err(
                "another connection wrote while it was about to begin".into(),
            )));
        }
        let pages: u32 = reader.query_row("PRAGMA main.page_count", [], |row| row.get(0))?;
        let cut = log.pages + 1..=pages;
        let numbers = self.after.keys().copied().filter(|number| *number <= pages);
        let numbers: Vec<u32> = numbers.chain(cut).collect();
        let mut read = reader.prepare("SELECT data FROM sqlite_dbpage WHERE pgno = ?1")?;
        for number in numbers {
            let page: Vec<u8> = read.query_row([number], |row| row.get(0))?;
            self.bytes += page.len() as u64;
            if self.bytes > self.room {
                return Ok(Some(Err(too_large(self.room))));
            }
            self.before.insert(number, page);
        }
        self.after.retain(|number, _| *number <= log.pages);
        Ok(Some(Ok(Images {
            page_size: log.page_size as u32,
            count: (pages, log.pages),
            state: (hash(&was), hash(&is)),
            pages: together(self.before, self.after),
        })))
    }
}

impl Watcher for Seen {
    fn write(&mut self, file: &Below, offset: u64, data: &[u8]) {
        if let Some(log) = &mut self.log {
            if data.len() == FRAME_HEADER && offset >= LOG_HEADER {
                if let Some(page) = log.frame(offset, data) {
                    self.after.entry(page).or_default();
                }
            } else if let Some(page) = log.frames.get(&offset)
                && data.len() == log.page_size
            {
                self.after.insert(*page, content(*page, data));
            }
            return;
        }
        self.begin(file, data.len());
        if offset == 0 {
            self.keep(file, 1);
            self.first = Some(data.to_vec());
        }
        if data.len() != self.page_size {
            self.give_up("the page size was changed".into());
            return;
        }
        let Ok(number) = u32::try_from(offset / data.len() as u64 + 1) else {
            return;
        };
        self.keep(file, number);
        self.after.insert(number, content(number, data));
    }

    fn truncate(&mut self, file: &Below, size: u64) {
        if self.log.is_some() || self.page_size == 0 {
            return;
        }
        let left = u32::try_from(size / self.page_size as u64).unwrap_or(u32::MAX);
        for number in left.saturating_add(1)..=self.pages {
            self.keep(file, number);
        }
    }
}

fn offset(number: u32, page_size: usize) -> u64 {
    u64::from(number - 1) * page_size as u64
}

fn pages(file: &Below, page_size: usize) -> u32 {
    let pages = file.size().unwrap_or_default() / page_size.max(1) as u64;
    u32::try_from(pages).unwrap_or(u32::MAX)
}

fn too_large(room: u64) -> Irreversible {
    format!("the pages that it overwrote take more than the {room} bytes that are kept")
}

fn together(mut before: BTreeMap<u32, Vec<u8>>, after: BTreeMap<u32, u64>) -> Vec<Page> {
    let numbers: std::collections::BTreeSet<u32> =
        before.keys().chain(after.keys()).copied().collect();
    let page = |number| Page {
        number,
        before: before.remove(&number),
        after: after.get(&number).copied(),
    };
    numbers.into_iter().map(page).collect()
}

/// The hash of a page's content.
pub(crate) fn content(number: u32, page: &[u8]) -> u64 {
    if number != 1 {
        return hash(page);
    }
    let mut page = page.to_vec();
    for marks in MARKS {
        if let Some(marks) = page.get_mut(marks) {
            marks.fill(0);
        }
    }
    hash(&page)
}

/// The hash of bytes.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}
