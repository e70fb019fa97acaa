//! What a write transaction overwrites and cuts off: the pages as they were.
//!
//! With a rollback journal, a page is read from the file just before it is written for the first
//! time. In a write-ahead log nothing is overwritten; there the numbers of the pages are seen as
//! they are appended, and the pages come from a reader that begins with the first of them. All
//! of it is handed over before the commit, which can be refused by then.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;
use std::{fmt, mem};

use rusqlite::Connection;

use super::log::Log;
use super::reader::Reader;
use super::tap::{Below, OpenFile, Tap, Watcher};

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
    /// The version of the schema before it.
    pub cookie: u32,
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

/// What is about to be committed.
#[derive(Debug)]
pub(crate) struct Commit {
    /// As in [`Images::state`].
    pub state: (u64, u64),
    /// What it overwrites, or why that is not known.
    pub images: Result<Images, Irreversible>,
}

/// Hears of a commit just before it is done; whether it may be.
pub(crate) type BeforeCommit = Box<dyn FnMut(Commit) -> bool>;

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Nothing was committed.
    Nothing,
    /// It was committed, in this state at last.
    Committed(u64),
}

/// Watches a write transaction of a connection. It must end before its connection is closed.
#[derive(Debug)]
pub(crate) struct Capture {
    tap: Tap<Seen>,
}

impl Capture {
    /// Starts to watch what `connection` writes to its database, up to `room` bytes of pages; or
    /// says why that cannot be. In a write-ahead log a `reader` gives the pages.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn start(
        connection: &Connection,
        room: u64,
        reader: Option<Rc<Reader>>,
        before_commit: BeforeCommit,
    ) -> rusqlite::Result<Result<Self, Irreversible>> {
        let mode = connection
            .prepare_cached("PRAGMA main.journal_mode")?
            .query_row([], |row| row.get::<_, String>(0))?;
        let Some(database) = OpenFile::database(connection) else {
            return Ok(Err("the database is no file".into()));
        };
        let mut seen = Seen {
            room,
            before_commit,
            asked: None,
            irreversible: None,
            bytes: 0,
            page_size: 0,
            pages: 0,
            before: BTreeMap::new(),
            after: BTreeMap::new(),
            first: (None, None),
            log: None,
            reader,
        };
        if mode != "wal" {
            let tap = Tap::new(database, seen);
            return Ok(Ok(Self { tap }));
        }
        let page_size = connection
            .prepare_cached("PRAGMA main.page_size")?
            .query_row([], |row| row.get(0))?;
        let shared = database.index_state().is_some();
        let Some(log) = OpenFile::journal(connection).filter(|_| shared) else {
            return Ok(Err("its write-ahead log is not shared".into()));
        };
        seen.log = Some(Log::new(database, page_size));
        let tap = Tap::new(log, seen);
        Ok(Ok(Self { tap }))
    }

    /// Ends watching.
    pub(crate) fn finish(self) -> End {
        let seen = self.tap.watcher();
        let committed = match &seen.log {
            Some(log) => log.is_committed().then(|| hash(&log.after)),
            None => {
                // Whatever is committed counts on in page 1. A transaction that was rolled back
                // may have been put into the file, and out of it again.
                let (was, is) = &seen.first;
                is.as_deref().filter(|_| was != is).map(hash)
            }
        };
        committed.map_or(End::Nothing, End::Committed)
    }
}

/// What was seen.
struct Seen {
    room: u64,
    before_commit: BeforeCommit,
    /// What it has answered, and to which state.
    asked: Option<(u64, bool)>,
    irreversible: Option<Irreversible>,
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
    /// Page 1 as it was, and as it is.
    first: (Option<Vec<u8>>, Option<Vec<u8>>),
    log: Option<Log>,
    reader: Option<Rc<Reader>>,
}

impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seen").finish_non_exhaustive()
    }
}

impl Seen {
    /// Keeps a page of the file, which is about to be lost.
    fn keep(&mut self, file: &Below, number: u32) {
        let wanted = self.irreversible.is_none() && self.asked.is_none();
        if number > self.pages || !wanted || self.before.contains_key(&number) {
            return;
        }
        self.bytes += self.page_size as u64;
        if self.bytes > self.room {
            self.give_up(too_large(self.room));
            return;
        }
        let mut page = vec![0; self.page_size];
        if file.read(offset(number, self.page_size), &mut page) {
            self.before.insert(number, page);
        } else {
            self.give_up("a page that it overwrote could not be read".into());
        }
    }

    fn give_up(&mut self, why: Irreversible) {
        self.irreversible = Some(why);
        self.before.clear();
    }

    fn begin(&mut self, file: &Below, page_size: usize) {
        if self.page_size == 0 {
            self.page_size = page_size;
            self.pages = pages(file, page_size);
            let mut first = vec![0; page_size];
            if self.pages > 0 && file.read(0, &mut first) {
                self.first.0 = Some(first);
            }
        }
    }

    /// Asks whether what was written may be committed.
    fn ask(&mut self, commit: Commit) -> bool {
        let state = commit.state.1;
        if let Some((asked, answer)) = self.asked
            && (asked == state || !answer)
        {
            return answer;
        }
        let answer = (self.before_commit)(commit);
        self.asked = Some((state, answer));
        answer
    }

    /// Before what was written over a file is committed.
    fn file_commit(&mut self, file: &Below) -> bool {
        let (was, Some(is)) = &self.first else {
            return true;
        };
        if was.as_ref() == Some(is) || self.asked.is_some() {
            return true;
        }
        let state = (was.as_deref().map(hash).unwrap_or_default(), hash(is));
        let cookie = was.as_deref().map_or(0, cookie);
        let count = is[28..32].try_into().map_or(0, u32::from_be_bytes);
        if let Some(was) = was {
            if was[16..18] != is[16..18] {
                self.irreversible = Some("the page size was changed".into());
            } else if was[18..20] != is[18..20] {
                self.irreversible = Some("the journal mode was changed".into());
            }
        }
        // They are cut off behind the commit.
        for number in count.saturating_add(1)..=self.pages {
            self.keep(file, number);
        }
        self.after.retain(|number, _| *number <= count);
        let (before, after) = (mem::take(&mut self.before), mem::take(&mut self.after));
        let images = Images {
            page_size: self.page_size as u32,
            count: (self.pages, count),
            cookie,
            state,
            pages: together(before, after),
        };
        let images = self.irreversible.clone().map_or(Ok(images), Err);
        self.ask(Commit { state, images })
    }

    /// Before what was appended to a log is committed.
    fn log_commit(&mut self) -> bool {
        let Some(log) = &self.log else { return true };
        let state = (
            log.before.map(|state| hash(&state)).unwrap_or_default(),
            hash(&log.after),
        );
        let images = match &self.irreversible {
            Some(why) => Err(why.clone()),
            None => self
                .log_images(log, state)
                .unwrap_or_else(|error| Err(error.to_string())),
        };
        if let Some(reader) = &self.reader {
            reader.end();
        }
        self.ask(Commit { state, images })
    }

    fn log_images(
        &self,
        log: &Log,
        state: (u64, u64),
    ) -> rusqlite::Result<Result<Images, Irreversible>> {
        let Some(reader) = &self.reader else {
            return Ok(Err("the pages as they were cannot be read".into()));
        };
        let pages = reader.pages()?;
        let mut after = log.contents();
        let numbers = after.keys().copied().filter(|number| *number <= pages);
        let numbers: BTreeSet<u32> = numbers.chain(log.pages + 1..=pages).collect();
        if (numbers.len() * log.page_size) as u64 > self.room {
            return Ok(Err(too_large(self.room)));
        }
        let first = reader.read([1].into_iter())?;
        let before = reader.read(numbers.into_iter())?;
        after.retain(|number, _| *number <= log.pages);
        Ok(Ok(Images {
            page_size: log.page_size as u32,
            count: (pages, log.pages),
            cookie: first.first().map_or(0, |(_, first)| cookie(first)),
            state,
            pages: together(before.into_iter().collect(), after),
        }))
    }
}

impl Watcher for Seen {
    fn write(&mut self, file: &Below, offset: u64, data: &[u8]) -> bool {
        if let Some(log) = &mut self.log {
            let first = log.before.is_none();
            let commits = log.write(offset, data);
            // The write is the only one now, and nothing of it can be seen yet.
            if first
                && log.before.is_some()
                && let Some(reader) = &self.reader
                && let Err(error) = reader.begin()
            {
                self.give_up(error.to_string());
            }
            return !commits || self.log_commit();
        }
        self.begin(file, data.len());
        if offset == 0 {
            self.first.1 = Some(data.to_vec());
        }
        if data.len() != self.page_size {
            self.give_up("the page size was changed".into());
            return true;
        }
        if let Ok(number) = u32::try_from(offset / data.len() as u64 + 1) {
            self.keep(file, number);
            self.after.insert(number, content(number, data));
        }
        true
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

    fn commit(&mut self, file: &Below) -> bool {
        self.log.is_some() || self.file_commit(file)
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
    let numbers: BTreeSet<u32> = before.keys().chain(after.keys()).copied().collect();
    let page = |number| Page {
        number,
        before: before.remove(&number),
        after: after.get(&number).copied(),
    };
    numbers.into_iter().map(page).collect()
}

/// Where page 1 tells the version of the schema.
pub(crate) const COOKIE: Range<usize> = 40..44;

/// The version of the schema.
pub(crate) fn cookie(first: &[u8]) -> u32 {
    let bytes = first.get(COOKIE).and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0, u32::from_be_bytes)
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

/// The hash of bytes: fast, since it is taken of every page that is written. Each step can be taken
/// back, so that what differs in one word alone never has the same hash.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let step = |lane: u64, word: u64| (lane ^ word).wrapping_mul(FACTOR).rotate_left(29);
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    let mut lanes = [1, 2, 3, 4];
    let (blocks, rest) = bytes.as_chunks::<32>();
    for block in blocks {
        for (lane, bytes) in lanes.iter_mut().zip(block.as_chunks::<8>().0) {
            *lane = step(*lane, u64::from_le_bytes(*bytes));
        }
    }
    let rest = rest.chunks(8).map(word).chain([bytes.len() as u64]);
    let hash = lanes.into_iter().chain(rest).fold(0, step);
    // So that the upper half tells on the lower one.
    step(hash ^ (hash >> 32), 0)
}
