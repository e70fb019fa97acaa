//! Which writes stand in the way of undoing one, and what undoing it means for the others.
//!
//! The writes of a database are a chain: each begins at the state that the one before it led to,
//! unless somebody else has written between them.

use std::collections::VecDeque;
use std::rc::Rc;

use super::capture::content;
use super::history::{Entry, History, Write, find, find_mut};
use super::pages::Page;
use crate::storage;

/// The writes to the same database behind `number` that were not undone.
fn later(writes: &VecDeque<Write>, number: i64) -> impl DoubleEndedIterator<Item = &Write> {
    let database = find(writes, number).map(|write| write.entry.database.as_str());
    let behind = move |write: &&Write| {
        write.number() > number && database.is_some_and(|database| write.is_left(database))
    };
    writes.iter().filter(behind)
}

/// Whether a page of that number is among `pages`, which are in order.
fn has(pages: &[Page], number: u32) -> bool {
    pages
        .binary_search_by_key(&number, |page| page.number)
        .is_ok()
}

impl History {
    /// Of the later writes that were not undone, the one that is most in the way of undoing
    /// `number`: one that can never be undone, or else has written to the same pages, or else the
    /// last one.
    pub(crate) fn follower(&self, number: i64) -> Option<Entry> {
        let writes = self.writes.borrow();
        let mine = find(&writes, number)?.pages();
        let in_the_way = |write: &&Write| {
            let mut pages = write.pages().iter().filter(|page| page.number > 1);
            let same = pages.any(|page| has(mine, page.number));
            (write.entry.irreversible.is_some(), same, write.number())
        };
        let most = later(&writes, number).max_by_key(in_the_way);
        most.map(|write| write.entry.clone())
    }

    /// Whether later writes that were not undone have changed pages of `number`, or may have.
    ///
    /// # Errors
    ///
    /// The storage's.
    pub(crate) fn is_overwritten(&self, number: i64) -> storage::Result<bool> {
        let writes = self.writes.borrow();
        let mine = find(&writes, number).map_or(&[][..], Write::pages);
        for write in later(&writes, number) {
            let Some(theirs) = &write.pages else {
                return Ok(true);
            };
            for page in theirs.all().iter().filter(|page| has(mine, page.number)) {
                let before = content(page.number, &theirs.read(page)?);
                if page.after != Some(before) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Whether from write `number` to the `state` that its database is in, nobody else has written.
    pub(crate) fn leads_to(&self, number: i64, state: u64) -> bool {
        let writes = self.writes.borrow();
        let Some(first) = find(&writes, number) else {
            return false;
        };
        let mut reached = first.state.1;
        for write in later(&writes, number) {
            if write.state.0 != reached {
                return false;
            }
            reached = write.state.1;
        }
        reached == state
    }

    /// A write is about to be undone, which leads from one state to another.
    pub(crate) fn undoing(&self, number: i64, states: (u64, u64)) {
        self.undoing.set(true);
        self.change(|writes| {
            if let Some(write) = find_mut(writes, number) {
                write.undoing = Some(states);
            }
            vec![(number, false)]
        });
    }

    /// A write was undone, which led `from` one state `to` another.
    pub(super) fn mark_undone(&self, number: i64, (from, to): (u64, u64)) {
        self.change(|writes| {
            let Some(mine) = find_mut(writes, number) else {
                return Vec::new();
            };
            let (before, after) = mine.state;
            let pages = mine.pages.take();
            (mine.entry.undone, mine.undoing) = (true, None);
            let database = mine.entry.database.clone();
            // The one before it has led to where we are; or the last one does, if there are later ones.
            let led_here = if after == from { before } else { from };
            let mut changed = vec![(number, true)];
            for write in writes.iter_mut().filter(|write| write.is_left(&database)) {
                let was = write.state;
                if write.state.1 == led_here {
                    write.state.1 = to;
                }
                if write.number() > number {
                    // The one behind it follows the one before it.
                    if write.state.0 == after {
                        write.state.0 = before;
                    }
                    // It has left these pages as they were, and is not to bring them back.
                    if let (Some(mine), Some(theirs)) = (&pages, &mut write.pages)
                        && let Some(theirs) = Rc::get_mut(theirs)
                    {
                        theirs.leave_out(mine.all());
                    }
                }
                if write.state != was || write.number() > number {
                    changed.push((write.number(), write.number() > number));
                }
            }
            changed
        });
    }
}
