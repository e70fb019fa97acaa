//! What a write transaction overwrites and cuts off: the pages as they were.
//!
//! With a rollback journal, a page is read from the file just before it is written for the first
//! time. In a write-ahead log nothing is overwritten; there the numbers of the pages are seen as
//! they are appended, and the pages as they were are read at the end ([`super::log`]). They go
//! straight into the record, and all is handed over before the commit, which can be refused by then.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

use rusqlite::Connection;

use super::history::History;
use super::index;
use super::log::Log;
use super::pages::{Page, Pages};
use super::tap::{Below, OpenFile, Tap, Watcher};
use crate::storage::ErrorCode;

/// Parts of page 1 that say nothing of the content: the journal mode, the change counter, the
/// schema cookie, and which SQLite wrote last
/// (<https://www.sqlite.org/fileformat2.html#the_database_header>).
pub(crate) const MARKS: [Range<usize>; 4] = [18..20, 24..28, 40..44, 92..100];

/// Why a write cannot be undone, as a sentence's middle.
pub(crate) type Irreversible = String;

/// What a write changed.
#[derive(Clone, Debug)]
pub(crate) struct Images {
    /// Bytes of a page.
    pub page_size: u32,
    /// Pages of the database before it, and after it.
    pub count: (u32, u32),
    /// The version of the schema before it.
    pub cookie: u32,
    /// What tells the state of the database before it from all others, and the state after it.
    pub state: (u64, u64),
    /// Those of the pages before it that were written to or cut off, by number.
    pub pages: Rc<Pages>,
}

impl Images {
    /// Whether everything is as it was: pages were written to, and written back.
    pub(crate) fn are_all_the_same(&self) -> bool {
        let is_same = |page: &Page| {
            let before = self.pages.read(page);
            before.is_ok_and(|before| page.after == Some(content(page.number, &before)))
        };
        self.count.0 == self.count.1 && self.pages.all().iter().all(is_same)
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
    /// Starts to watch what `connection` writes to its database, and to keep up to `room` bytes of
    /// pages in `history`, if there is one; or says why that cannot be.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn start(
        connection: &Connection,
        room: u64,
        history: Option<Rc<History>>,
        before_commit: BeforeCommit,
    ) -> rusqlite::Result<Result<Self, Irreversible>> {
        let mode = connection
            .prepare_cached("PRAGMA main.journal_mode")?
            .query_row([], |row| row.get::<_, String>(0))?;
        let Some(database) = OpenFile::database(connection) else {
            return Ok(Err("the database is no file".into()));
        };
        let keeping = history.map(|history| Keeping {
            history,
            room,
            pages: None,
        });
        let mut seen = Seen {
            before_commit,
            asked: None,
            keeping: keeping.ok_or_else(|| "nothing is kept".into()),
            buffer: Vec::new(),
            page_size: 0,
            pages: 0,
            places: BTreeMap::new(),
            first: (None, None),
            log: None,
        };
        if mode != "wal" {
            let tap = Tap::new(database, seen);
            return Ok(Ok(Self { tap }));
        }
        let page_size = connection
            .prepare_cached("PRAGMA main.page_size")?
            .query_row([], |row| row.get(0))?;
        let shared = index::state(database).is_some();
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
                let is = is.as_deref().filter(|is| was.as_deref() != Some(is));
                is.map(|is| {
                    // One that is of another size now was written in pieces, or with others.
                    let size = size_in(is);
                    let mut first = vec![0; size];
                    let read = size != is.len() && self.tap.below().read(0, &mut first);
                    hash(if read { &first } else { is })
                })
            }
        };
        committed.map_or(End::Nothing, End::Committed)
    }
}

/// The pages of one write on their way into the record.
struct Keeping {
    history: Rc<History>,
    /// What they may take, in bytes.
    room: u64,
    pages: Option<Pages>,
}

impl Keeping {
    /// Keeps a page as it was and, if it is there still, the hash of what it is; answers its place.
    fn keep(
        &mut self,
        number: u32,
        before: &[u8],
        after: Option<u64>,
    ) -> Result<usize, Irreversible> {
        let new = || self.history.new_pages(before.len());
        let pages = self.pages.get_or_insert_with(new);
        if pages.bytes() + before.len() as u64 > self.room {
            return Err(too_large(self.room));
        }
        pages.keep(number, before, after).map_err(unkept)
    }

    /// All of them; those beyond `count` are not there any more.
    fn take(&mut self, page_size: usize, count: u32) -> Rc<Pages> {
        let pages = self.pages.take();
        let pages = pages.unwrap_or_else(|| self.history.new_pages(page_size));
        Rc::new(pages.in_order(count))
    }
}

/// What was seen.
struct Seen {
    before_commit: BeforeCommit,
    /// What it has answered, and to which state.
    asked: Option<(u64, bool)>,
    /// What is kept, or why the write cannot be undone.
    keeping: Result<Keeping, Irreversible>,
    /// For one page.
    buffer: Vec<u8>,
    /// 0 until the first page.
    page_size: usize,
    /// Pages of the database at the start.
    pages: u32,
    /// The places of the pages that are kept, with a rollback journal.
    places: BTreeMap<u32, usize>,
    /// Page 1 as it was, and as it is.
    first: (Option<Vec<u8>>, Option<Vec<u8>>),
    log: Option<Log>,
}

impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seen").finish_non_exhaustive()
    }
}

impl Seen {
    /// Keeps a page of the file, which is about to be lost, or to be what has the hash `after`.
    fn keep(&mut self, file: &Below, number: u32, after: Option<u64>) {
        let (Ok(keeping), None) = (&mut self.keeping, self.asked) else {
            return;
        };
        if number > self.pages {
            return;
        }
        if let Some(place) = self.places.get(&number) {
            if let Some(pages) = &mut keeping.pages {
                pages.set_after(*place, after);
            }
            return;
        }
        self.buffer.resize(self.page_size, 0);
        let kept = if file.read(offset(number, self.page_size), &mut self.buffer) {
            keeping.keep(number, &self.buffer, after)
        } else {
            Err(UNREAD.into())
        };
        match kept {
            Ok(place) => _ = self.places.insert(number, place),
            Err(why) => self.keeping = Err(why),
        }
    }

    fn begin(&mut self, file: &Below, page_size: usize) {
        if self.page_size != 0 {
            return;
        }
        self.page_size = page_size;
        let mut first = vec![0; page_size];
        match file.pages(page_size) {
            Some(0) => {}
            Some(pages) if file.read(0, &mut first) => {
                (self.pages, self.first.0) = (pages, Some(first));
            }
            _ => self.keeping = Err(UNREAD.into()),
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
                self.keeping = Err(NEW_PAGE_SIZE.into());
            } else if was[18..20] != is[18..20] {
                self.keeping = Err("the journal mode was changed".into());
            }
        }
        // They are cut off behind the commit.
        for number in count.saturating_add(1)..=self.pages {
            self.keep(file, number, None);
        }
        let page_size = self.page_size;
        let images = match &mut self.keeping {
            Ok(keeping) => Ok(Images {
                page_size: page_size as u32,
                count: (self.pages, count),
                cookie,
                state,
                pages: keeping.take(page_size, count),
            }),
            Err(why) => Err(why.clone()),
        };
        self.ask(Commit { state, images })
    }

    /// Before what was appended to a log, the file that is written to, is committed.
    fn log_commit(&mut self, file: &Below) -> bool {
        let Some(log) = &self.log else { return true };
        let before = log.before.map(|index| index.state);
        let state = (before.map_or(0, |state| hash(&state)), hash(&log.after));
        let images = match &mut self.keeping {
            Ok(keeping) => log_images(log, file, keeping, state),
            Err(why) => Err(why.clone()),
        };
        self.ask(Commit { state, images })
    }
}

fn log_images(
    log: &Log,
    file: &Below,
    keeping: &mut Keeping,
    state: (u64, u64),
) -> Result<Images, Irreversible> {
    // It goes on behind where it seemed to end.
    keeping.pages = None;
    if log.before.is_none() {
        return Err(UNREAD.into());
    }
    let contents = log.contents();
    if (contents.len() * log.page_size) as u64 > keeping.room {
        return Err(too_large(keeping.room));
    }
    let mut page = vec![0; log.page_size];
    let read = |number, page: &mut Vec<u8>| match log.old(file, number, page) {
        true => Ok(()),
        false => Err(UNREAD.to_owned()),
    };
    for (number, after) in contents {
        read(number, &mut page)?;
        keeping.keep(number, &page, after)?;
    }
    let mut cookie_of = 0;
    if log.pages_before > 0 {
        read(1, &mut page)?;
        cookie_of = cookie(&page);
    }
    Ok(Images {
        page_size: log.page_size as u32,
        count: (log.pages_before, log.pages),
        cookie: cookie_of,
        state,
        pages: keeping.take(log.page_size, log.pages),
    })
}

impl Watcher for Seen {
    fn write(&mut self, file: &Below, offset: u64, data: &[u8]) -> bool {
        if let Some(log) = &mut self.log {
            return !log.write(offset, data) || self.log_commit(file);
        }
        self.begin(file, data.len());
        if offset == 0 {
            self.first.1 = Some(data.to_vec());
        }
        if data.len() != self.page_size {
            self.keeping = Err(NEW_PAGE_SIZE.into());
            return true;
        }
        if let Ok(number) = u32::try_from(offset / data.len() as u64 + 1)
            && number <= self.pages
            && self.keeping.is_ok()
        {
            self.keep(file, number, Some(content(number, data)));
        }
        true
    }

    fn truncate(&mut self, file: &Below, size: u64) {
        if self.log.is_some() || self.page_size == 0 {
            return;
        }
        let left = u32::try_from(size / self.page_size as u64).unwrap_or(u32::MAX);
        for number in left.saturating_add(1)..=self.pages {
            self.keep(file, number, None);
        }
    }

    fn commit(&mut self, file: &Below) -> bool {
        self.log.is_some() || self.file_commit(file)
    }
}

fn offset(number: u32, page_size: usize) -> u64 {
    u64::from(number - 1) * page_size as u64
}

fn too_large(room: u64) -> Irreversible {
    format!("the pages that it overwrote take more than the {room} bytes that are kept")
}

const UNREAD: &str = "a page that it overwrote could not be read";
const NEW_PAGE_SIZE: &str = "the page size was changed";

/// Why a write cannot be undone whose record failed.
pub(super) fn unkept(error: ErrorCode) -> Irreversible {
    format!("its record failed ({})", error.in_words())
}

/// The size of a page, as page 1 tells it.
fn size_in(first: &[u8]) -> usize {
    match first[16..18].try_into().map_or(0, u16::from_be_bytes) {
        1 => 65_536,
        size => size.into(),
    }
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
