//! Pages as they were before a write, in the file of the record: the host's memory, which outlives
//! an instance that is cut off. Which pages lie where, the [`super::journal`] knows.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::{Rc, Weak};

use serde::{Deserialize, Serialize};

use crate::storage::{self, ErrorCode, File, OpenOptions, Role};

/// What space is given in: the smallest page there is, in bytes.
const UNIT: usize = 512;

/// What is kept of a page besides its bytes, in bytes of the sandbox's memory.
const BESIDE: u64 = 32;

/// Opens a file of the record, which is made if it is not there.
pub(super) fn open(name: &str, role: Role) -> storage::Result<Box<dyn File>> {
    let options = OpenOptions {
        read_write: true,
        create: true,
        ..OpenOptions::default()
    };
    storage::granted().open(name, role, options)
}

/// A page that a write changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u32, u32, Option<u64>)", into = "(u32, u32, Option<u64>)")]
pub(crate) struct Page {
    /// Its number, from 1.
    pub number: u32,
    /// Where it lies as it was, in units.
    at: u32,
    /// A hash of it as it was left ([`super::capture::content`]); none for one that was cut off.
    pub after: Option<u64>,
}

impl From<(u32, u32, Option<u64>)> for Page {
    fn from((number, at, after): (u32, u32, Option<u64>)) -> Self {
        Self { number, at, after }
    }
}

impl From<Page> for (u32, u32, Option<u64>) {
    fn from(page: Page) -> Self {
        (page.number, page.at, page.after)
    }
}

/// The file, and which of its space is free.
pub(crate) struct PageFile(RefCell<Space>);

struct Space {
    file: Box<dyn File>,
    /// Free stretches before the end: where they begin, and how long they are.
    free: BTreeMap<u32, u32>,
    end: u32,
}

impl fmt::Debug for PageFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageFile").finish_non_exhaustive()
    }
}

fn units(size: usize) -> u32 {
    size.div_ceil(UNIT) as u32
}

fn offset(at: u32) -> u64 {
    u64::from(at) * UNIT as u64
}

impl PageFile {
    /// A file of which all is free but the pages of `used`, each list with the size of its pages.
    pub(super) fn new<'a>(
        file: Box<dyn File>,
        used: impl Iterator<Item = (&'a [Page], usize)>,
    ) -> Self {
        let mut taken: Vec<(u32, u32)> = used
            .flat_map(|(pages, size)| pages.iter().map(move |page| (page.at, units(size))))
            .collect();
        taken.sort_unstable();
        let (mut free, mut end) = (BTreeMap::new(), 0);
        for (at, length) in taken {
            if at > end {
                free.insert(end, at - end);
            }
            end = at + length;
        }
        Self(RefCell::new(Space { file, free, end }))
    }

    fn put(&self, page: &[u8]) -> storage::Result<u32> {
        let space = &mut *self.0.borrow_mut();
        let length = units(page.len());
        let hole = space.free.iter().find(|(_, free)| **free >= length);
        let hole = hole.map(|(at, free)| (*at, *free));
        let at = hole.map_or(space.end, |(at, _)| at);
        let end = at.checked_add(length).ok_or(ErrorCode::Full)?;
        space.file.write(offset(at), page)?;
        match hole {
            Some((_, free)) => {
                space.free.remove(&at);
                if free > length {
                    space.free.insert(end, free - length);
                }
            }
            None => space.end = end,
        }
        Ok(at)
    }

    fn get(&self, at: u32, page: &mut [u8]) -> storage::Result<()> {
        match self.0.borrow_mut().file.read(offset(at), page)? {
            there if there == page.len() => Ok(()),
            _ => Err(ErrorCode::Io),
        }
    }

    fn give_back(&self, pages: &[Page], size: usize) {
        let space = &mut *self.0.borrow_mut();
        for page in pages {
            let (mut at, mut length) = (page.at, units(size));
            if let Some((before, free)) = space.free.range(..at).next_back()
                && before + free == at
            {
                (at, length) = (*before, length + free);
                space.free.remove(&at);
            }
            length += space.free.remove(&(at + length)).unwrap_or(0);
            space.free.insert(at, length);
        }
        if let Some((at, free)) = space.free.last_key_value()
            && at + free == space.end
        {
            space.end = *at;
            space.free.remove(&space.end);
            // A file that stays longer than it has to be is written over.
            let _ = space.file.truncate(offset(space.end));
        }
    }
}

/// The pages of one write, as they were; gone, their space is free, unless all of the record is closed.
#[derive(Debug)]
pub(crate) struct Pages {
    file: Weak<PageFile>,
    /// Bytes of a page.
    size: usize,
    all: Vec<Page>,
}

impl Pages {
    pub(super) fn new(file: &Rc<PageFile>, size: usize, all: Vec<Page>) -> Self {
        Self {
            file: Rc::downgrade(file),
            size,
            all,
        }
    }

    /// The pages, by number once they are [`Pages::in_order`].
    pub(crate) fn all(&self) -> &[Page] {
        &self.all
    }

    /// What they take, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.all.len() as u64 * (self.size as u64 + BESIDE)
    }

    /// Keeps one more, as it was and, if it is there still, as it is; answers its place.
    pub(super) fn keep(
        &mut self,
        number: u32,
        before: &[u8],
        after: Option<u64>,
    ) -> storage::Result<usize> {
        let at = self.file()?.put(before)?;
        self.all.push(Page { number, at, after });
        Ok(self.all.len() - 1)
    }

    fn file(&self) -> storage::Result<Rc<PageFile>> {
        self.file.upgrade().ok_or(ErrorCode::Io)
    }

    fn give_back(&self, pages: &[Page]) {
        if let Some(file) = self.file.upgrade() {
            file.give_back(pages, self.size);
        }
    }

    pub(super) fn set_after(&mut self, place: usize, after: Option<u64>) {
        if let Some(page) = self.all.get_mut(place) {
            page.after = after;
        }
    }

    /// The same, in the order of their numbers; those beyond `count` pages were cut off.
    pub(super) fn in_order(mut self, count: u32) -> Self {
        self.all.sort_unstable_by_key(|page| page.number);
        let first = self.all.partition_point(|page| page.number <= count);
        self.all[first..]
            .iter_mut()
            .for_each(|page| page.after = None);
        self
    }

    /// Gives those back that `others` have as well.
    pub(super) fn leave_out(&mut self, others: &[Page]) {
        let is_theirs = |page: &Page| {
            others
                .binary_search_by_key(&page.number, |o| o.number)
                .is_ok()
        };
        let (theirs, mine): (Vec<Page>, _) = self.all.drain(..).partition(is_theirs);
        self.all = mine;
        self.give_back(&theirs);
    }

    /// One of them as it was.
    pub(crate) fn read(&self, page: &Page) -> storage::Result<Vec<u8>> {
        let mut before = vec![0; self.size];
        self.file()?.get(page.at, &mut before)?;
        Ok(before)
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        self.give_back(&self.all);
    }
}
