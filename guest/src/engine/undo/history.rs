//! What a session has written, and the pages that take it back.
//!
//! Both are in the host's memory ([`super::journal`], [`super::pages`]), which outlives an instance
//! that is cut off; the list of the writes is in the guest's as well.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::capture::{Images, Irreversible};
use super::journal::{Change, Journal};
use super::pages::{self, Page, PageFile, Pages};
use super::restore::tells_nothing;
use crate::storage::{self, Role};

/// What a write takes besides its pages, in bytes.
const WRITE_BYTES: u64 = 1024;

/// Why the writes to a file that is gone cannot be undone.
const REPLACED: &str = "the file of the database was replaced by another one after it";

/// One write of the session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Its number, from 1.
    pub number: i64,
    /// The database, by its title.
    pub database: String,
    /// When it was made, in UTC.
    pub at: String,
    /// The command that made it.
    pub command: String,
    /// The beginning of its SQL.
    pub sql: String,
    /// What it changed, for a reader.
    pub summary: String,
    /// Why it cannot be undone, if it cannot.
    pub irreversible: Option<Irreversible>,
    /// Whether it was undone.
    pub undone: bool,
    /// Whether somebody else has written between the write before and this one.
    #[serde(skip)]
    pub apart: bool,
}

/// A write that is to be kept.
#[derive(Clone, Debug)]
pub(crate) struct NewEntry<'a> {
    /// The database, by its title.
    pub database: &'a str,
    /// The command.
    pub command: &'a str,
    /// The beginning of its SQL.
    pub sql: &'a str,
}

/// What undo holds.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// Writes that can be undone.
    pub writes: u64,
    /// Bytes of the pages that are kept for that.
    pub bytes: u64,
    /// How many they may be.
    pub room: u64,
}

/// A write with what undoes it. As in [`Images`], but for the pages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Write {
    pub(super) entry: Entry,
    pub(super) page_size: u32,
    pub(super) count: (u32, u32),
    pub(super) cookie: u32,
    pub(super) state: (u64, u64),
    /// From which state to which one it is being undone, if it is.
    pub(super) undoing: Option<(u64, u64)>,
    #[serde(skip)]
    pub(super) pages: Option<Rc<Pages>>,
}

impl Write {
    fn new(entry: Entry, state: (u64, u64), images: Option<Images>) -> Self {
        let images = images.as_ref();
        Self {
            entry,
            page_size: images.map_or(0, |images| images.page_size),
            count: images.map_or((0, 0), |images| images.count),
            cookie: images.map_or(0, |images| images.cookie),
            state,
            undoing: None,
            pages: images.map(|images| Rc::clone(&images.pages)),
        }
    }

    pub(super) fn number(&self) -> i64 {
        self.entry.number
    }

    fn images(&self) -> Option<Images> {
        self.pages.as_ref().map(|pages| Images {
            page_size: self.page_size,
            count: self.count,
            cookie: self.cookie,
            state: self.state,
            pages: Rc::clone(pages),
        })
    }

    fn bytes(&self) -> u64 {
        WRITE_BYTES + self.pages.as_ref().map_or(0, |pages| pages.bytes())
    }

    pub(super) fn pages(&self) -> &[Page] {
        self.pages.as_ref().map_or(&[], |pages| pages.all())
    }

    /// Whether it was made to this database and not undone.
    pub(super) fn is_left(&self, database: &str) -> bool {
        self.entry.database == database && !self.entry.undone
    }

    /// It, for the journal: without its pages, and then these.
    fn whole(&self) -> [Change<'_>; 2] {
        let pages = Change::Pages(self.number(), Cow::Borrowed(self.pages()));
        [self.changed(), pages]
    }

    fn changed(&self) -> Change<'_> {
        Change::Write(Cow::Borrowed(self))
    }
}

/// The writes.
#[derive(Debug)]
pub(crate) struct History {
    /// It is closed before the writes are dropped here, which stay in it.
    pages: Rc<PageFile>,
    /// The oldest first.
    pub(super) writes: RefCell<VecDeque<Write>>,
    journal: RefCell<Journal>,
    /// How many bytes all writes may take together.
    room: u64,
    /// How many they take.
    held: Cell<u64>,
    /// How many were dropped for others, and the number of the last of them.
    dropped: Cell<(u64, i64)>,
    /// Whether one may be about to be undone.
    pub(super) undoing: Cell<bool>,
    /// The databases whose last write an earlier instance may not have brought to its end.
    unseen: RefCell<BTreeSet<String>>,
}

impl History {
    /// Opens the record in the files `name` and `name-journal`, for no more than `room` bytes.
    ///
    /// # Errors
    ///
    /// The storage's.
    pub(crate) fn open(name: &str, room: u64) -> storage::Result<Self> {
        let mut writes = BTreeMap::<i64, (Write, Vec<Page>)>::new();
        let mut dropped = (0, 0);
        let file = pages::open(&format!("{name}-journal"), Role::MainJournal)?;
        let journal = Journal::open(file, |change| match change {
            Change::Write(write) => {
                let write = write.into_owned();
                match writes.entry(write.entry.number) {
                    Slot::Occupied(mut there) => there.get_mut().0 = write,
                    Slot::Vacant(place) => _ = place.insert((write, Vec::new())),
                }
            }
            Change::Pages(number, pages) => {
                if let Some((_, there)) = writes.get_mut(&number) {
                    *there = pages.into_owned();
                }
            }
            Change::Gone(number) => _ = writes.remove(&number),
            Change::Dropped(count, last) => dropped = (count, last),
        })?;
        let used = writes
            .values()
            .map(|(write, pages)| (pages.as_slice(), write.page_size as usize));
        let file = PageFile::new(pages::open(name, Role::MainDatabase)?, used);
        let file = Rc::new(file);
        let writes: VecDeque<Write> = writes
            .into_values()
            .map(|(write, pages)| {
                let is_open = write.entry.irreversible.is_none() && !write.entry.undone;
                let pages = Pages::new(&file, write.page_size as usize, pages);
                let pages = is_open.then(|| Rc::new(pages));
                Write { pages, ..write }
            })
            .collect();
        let unseen = writes.iter().map(|write| write.entry.database.clone());
        let unseen = unseen.collect();
        Ok(Self {
            held: Cell::new(writes.iter().map(Write::bytes).sum()),
            writes: RefCell::new(writes),
            journal: RefCell::new(journal),
            pages: file,
            room,
            dropped: Cell::new(dropped),
            undoing: Cell::new(true),
            unseen: RefCell::new(unseen),
        })
    }

    /// A place for the pages of a write.
    pub(crate) fn new_pages(&self, page_size: usize) -> Pages {
        Pages::new(&self.pages, page_size, Vec::new())
    }

    /// Puts changes down for the next instance. Without that, it finds later changes in the way of
    /// an undo, or an undo not done, by the states of the database.
    fn note(&self, writes: &VecDeque<Write>, changes: &[Change<'_>]) -> storage::Result<()> {
        self.journal.borrow_mut().add(changes, || {
            let all = writes.iter().flat_map(Write::whole);
            all.chain([self.all_dropped()]).collect()
        })
    }

    fn all_dropped<'a>(&self) -> Change<'a> {
        let (count, last) = self.dropped.get();
        Change::Dropped(count, last)
    }

    /// Keeps a write that is about to be committed and leads from one state to another; answers its
    /// number, and how many older ones were dropped for it.
    ///
    /// # Errors
    ///
    /// The storage's; nothing is kept then.
    pub(crate) fn add(
        &self,
        draft: &NewEntry<'_>,
        state: (u64, u64),
        written: Result<Images, Irreversible>,
    ) -> storage::Result<(i64, u64)> {
        self.look(draft.database, state.0);
        let writes = &mut *self.writes.borrow_mut();
        let last = writes.back().map(|write| write.entry.number);
        let number = last.unwrap_or(self.dropped.get().1) + 1;
        let (images, irreversible) = match written {
            Ok(images) => (Some(images), None),
            Err(why) => (None, Some(why)),
        };
        let entry = Entry {
            number,
            database: draft.database.to_owned(),
            at: utc(SystemTime::now()),
            command: draft.command.to_owned(),
            sql: draft.sql.to_owned(),
            summary: "the call was aborted before it was counted".to_owned(),
            irreversible,
            undone: false,
            apart: false,
        };
        let write = Write::new(entry, state, images);
        writes.push_back(write);
        let added = writes.iter().next_back().map(Write::whole);
        let noted = self.note(writes, &added.into_iter().flatten().collect::<Vec<_>>());
        if let Err(error) = noted {
            writes.pop_back();
            return Err(error);
        }
        let bytes = writes.back().map_or(0, Write::bytes);
        self.held.set(self.held.get() + bytes);
        Ok((number, self.make_room(writes)))
    }

    /// Drops the oldest writes, but not the last one, until all have room; answers how many.
    fn make_room(&self, writes: &mut VecDeque<Write>) -> u64 {
        let (mut count, mut last) = self.dropped.get();
        let mut gone = Vec::new();
        while self.held.get() > self.room
            && writes.len() > 1
            && let Some(oldest) = writes.pop_front()
        {
            self.held.set(self.held.get() - oldest.bytes());
            (count, last) = (count + 1, oldest.entry.number);
            gone.push(Change::Gone(last));
        }
        if gone.is_empty() {
            return 0;
        }
        self.dropped.set((count, last));
        let dropped = gone.len() as u64;
        gone.push(self.all_dropped());
        let _ = self.note(writes, &gone);
        dropped
    }

    /// Lets `change` act on the writes, and puts down those that it names, with their pages if it says so.
    pub(super) fn change(&self, change: impl FnOnce(&mut VecDeque<Write>) -> Vec<(i64, bool)>) {
        let writes = &mut *self.writes.borrow_mut();
        let named = change(writes);
        self.held.set(writes.iter().map(Write::bytes).sum());
        let changes: Vec<Change<'_>> = named
            .into_iter()
            .flat_map(|(number, pages)| match find(writes, number) {
                Some(write) => {
                    Vec::from_iter(write.whole().into_iter().take(1 + usize::from(pages)))
                }
                None => vec![Change::Gone(number)],
            })
            .collect();
        if !changes.is_empty() {
            let _ = self.note(writes, &changes);
        }
    }

    /// Notes what a write has changed, for a reader.
    pub(crate) fn summarize(&self, number: i64, summary: String) {
        let writes = &mut *self.writes.borrow_mut();
        if let Ok(at) = writes.binary_search_by_key(&number, Write::number) {
            writes[at].entry.summary = summary;
            let _ = self.note(writes, &[writes[at].changed()]);
        }
    }

    /// Whether this instance has not looked yet at what an earlier one has written to a database. It has then.
    pub(crate) fn is_unseen(&self, database: &str) -> bool {
        self.unseen.borrow_mut().remove(database)
    }

    /// Sees by the `state` that a database is in what became of the last things that were about to
    /// be committed when a call was aborted.
    pub(crate) fn look(&self, database: &str, state: u64) {
        if self.undoing.get() {
            let undoing = self.writes.borrow().iter().find_map(|write| {
                let undoing = write.undoing.filter(|_| write.entry.database == database);
                undoing.map(|states| (write.number(), states))
            });
            match undoing {
                Some((number, states)) if states.1 == state => self.mark_undone(number, states),
                Some((number, _)) => self.change(|writes| {
                    if let Some(write) = find_mut(writes, number) {
                        write.undoing = None;
                    }
                    vec![(number, false)]
                }),
                None => {}
            }
            let is_undoing = |write: &Write| write.undoing.is_some();
            self.undoing
                .set(self.writes.borrow().iter().any(is_undoing));
        }
        let last = self.last_write(database, |last| {
            let (before, after) = last.state;
            let here = last.entry.irreversible.as_deref() != Some(REPLACED);
            let was_before = before == state && after != state && !tells_nothing(state);
            (here && was_before).then(|| last.number())
        });
        if let Some(number) = last.flatten() {
            self.forget(number);
        }
    }

    /// Forgets a write that was not committed.
    pub(crate) fn forget(&self, number: i64) {
        self.change(|writes| {
            writes.retain(|write| write.number() != number);
            vec![(number, false)]
        });
    }

    /// A commit changed nothing but the state of a database.
    pub(crate) fn go_on(&self, database: &str, (from, to): (u64, u64)) {
        self.look(database, from);
        self.change(|writes| {
            let here = |write: &&mut Write| write.is_left(database) && write.state.1 == from;
            let here = writes.iter_mut().filter(here);
            here.map(|write| {
                write.state.1 = to;
                (write.number(), false)
            })
            .collect()
        });
    }

    /// What is there of a database that was replaced by another file can never be undone.
    pub(crate) fn replaced(&self, database: &str) {
        self.change(|writes| {
            let left = writes.iter_mut().filter(|write| write.is_left(database));
            left.map(|write| {
                write.entry.irreversible = Some(REPLACED.to_owned());
                write.pages = None;
                (write.number(), true)
            })
            .collect()
        });
    }

    /// What is held of all databases.
    pub(crate) fn held(&self) -> Held {
        let writes = self.writes.borrow();
        let open = |write: &&Write| !write.entry.undone && write.entry.irreversible.is_none();
        Held {
            writes: writes.iter().filter(open).count() as u64,
            bytes: writes.iter().filter(open).map(Write::bytes).sum(),
            room: self.room,
        }
    }

    /// The latest writes of a database, the latest first.
    pub(crate) fn list(&self, database: &str, most: u32) -> Vec<Entry> {
        let writes = self.writes.borrow();
        let mut reached = None;
        let here = writes
            .iter()
            .filter(|write| write.entry.database == database);
        let mut listed: Vec<Entry> = here
            .map(|write| {
                let mut entry = write.entry.clone();
                if !entry.undone {
                    entry.apart = reached.is_some_and(|reached| reached != write.state.0);
                    reached = Some(write.state.1);
                }
                entry
            })
            .collect();
        listed.reverse();
        listed.truncate(most as usize);
        listed
    }

    /// How many writes were dropped because there was no room for them.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.get().0
    }

    fn last_write<T>(&self, database: &str, tell: impl FnOnce(&Write) -> T) -> Option<T> {
        let writes = self.writes.borrow();
        let last = writes.iter().rfind(|write| write.is_left(database));
        last.map(tell)
    }

    /// The last write of a database that was not undone.
    pub(crate) fn last(&self, database: &str) -> Option<Entry> {
        self.last_write(database, |last| last.entry.clone())
    }

    /// The write of that number.
    pub(crate) fn find(&self, number: i64) -> Option<Entry> {
        find(&self.writes.borrow(), number).map(|write| write.entry.clone())
    }

    /// Whether the write of that number was dropped.
    pub(crate) fn was_dropped(&self, number: i64) -> bool {
        (1..=self.dropped.get().1).contains(&number)
    }

    /// What undoes a write.
    pub(crate) fn images(&self, number: i64) -> Option<Images> {
        let writes = self.writes.borrow();
        find(&writes, number).and_then(Write::images)
    }
}

/// The write of that number.
pub(super) fn find(writes: &VecDeque<Write>, number: i64) -> Option<&Write> {
    let at = writes.binary_search_by_key(&number, Write::number);
    writes.get(at.ok()?)
}

/// The same, to be changed.
pub(super) fn find_mut(writes: &mut VecDeque<Write>, number: i64) -> Option<&mut Write> {
    let at = writes.binary_search_by_key(&number, Write::number);
    writes.get_mut(at.ok()?)
}

/// A time as SQLite writes it, in UTC.
fn utc(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    let seconds = since.unwrap_or_default().as_secs();
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years begin in March, 400 of them have 146,097 days
    // (<https://howardhinnant.github.io/date_algorithms.html#civil_from_days>).
    let (era, day) = ((days + 719_468) / 146_097, (days + 719_468) % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march + 2) / 5 + 1;
    let month = if march < 10 { march + 3 } else { march - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_time_is_told_as_sqlite_tells_it() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let day = 86_400;
        let near = [0, 951_782_400, 1_709_164_800, 4_107_542_400, 1_735_689_599];
        let spread = (0..300).map(|step| step * 17_345_678);
        for seconds in near
            .into_iter()
            .flat_map(|at| [at, at + day - 1, at + day])
            .chain(spread)
        {
            let sql = "SELECT strftime('%Y-%m-%dT%H:%M:%SZ', ?1, 'unixepoch')";
            let told: String = connection
                .query_row(sql, [seconds as i64], |row| row.get(0))
                .unwrap();
            assert_eq!(
                utc(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)),
                told
            );
        }
    }
}
