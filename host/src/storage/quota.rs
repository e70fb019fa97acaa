//! How much all files together may grow.
//!
//! What counts is growth beyond the size that a file had when it was first
//! opened, so that a large database costs nothing until it grows. What is truncated
//! or removed is given back, but what is removed while it is still open only
//! when the last handle is closed, since until then it takes up the disk.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::Stat;

use super::{ErrorCode, Result};

/// What a file costs by being there at all, in bytes, if it was made here:
/// empty files take up the disk too.
pub const FILE_BYTES: u64 = 4096;

/// A real file, whatever its names; or the wal-index of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    /// Its device.
    pub device: u64,
    /// Its inode.
    pub inode: u64,
    /// Whether the wal-index of that database is meant.
    pub index: bool,
}

impl From<&fs::Metadata> for FileId {
    fn from(metadata: &fs::Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            index: false,
        }
    }
}

impl From<&Stat> for FileId {
    #[allow(
        clippy::unnecessary_cast,
        reason = "the types differ from system to system"
    )]
    fn from(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            index: false,
        }
    }
}

/// One real file's account.
#[derive(Debug, Default)]
struct Account {
    /// The size that costs nothing.
    base: u64,
    /// The size as we last knew it.
    known: u64,
    /// The least it costs.
    floor: u64,
    handles: u32,
    removed: bool,
}

impl Account {
    fn cost(&self) -> u64 {
        self.known.saturating_sub(self.base).max(self.floor)
    }

    /// Notes the size as it is: what others added is none of our growth.
    fn observe(&mut self, size: u64) {
        if size > self.known {
            self.base = self.base.saturating_add(size - self.known);
        }
        self.known = size;
    }
}

#[derive(Debug, Default)]
struct State {
    used: u64,
    accounts: HashMap<FileId, Account>,
}

impl State {
    /// Lets `change` adjust an account and the sum with it.
    fn adjust(&mut self, id: FileId, change: impl FnOnce(&mut Account)) {
        if let Some(account) = self.accounts.get_mut(&id) {
            let before = account.cost();
            change(account);
            let after = account.cost();
            self.used = self.used.saturating_sub(before).saturating_add(after);
            if account.handles == 0 && (account.removed || after == 0) {
                self.used -= after;
                self.accounts.remove(&id);
            }
        }
    }
}

/// The disk quota of one storage.
#[derive(Debug)]
pub struct Quota {
    limit: u64,
    state: Mutex<State>,
}

impl Quota {
    /// A quota of `limit` bytes.
    pub fn new(limit: u64) -> Self {
        Self {
            limit,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is used up, in bytes.
    #[cfg(test)]
    pub fn used(&self) -> u64 {
        self.state().used
    }

    /// Takes `bytes`, or fails with [`ErrorCode::Full`] and takes nothing.
    pub fn take(&self, bytes: u64) -> Result<()> {
        let mut state = self.state();
        state.used = self.sum(&state, bytes)?;
        Ok(())
    }

    /// Gives `bytes` back.
    pub fn give(&self, bytes: u64) {
        let mut state = self.state();
        state.used = state.used.saturating_sub(bytes);
    }

    fn sum(&self, state: &State, bytes: u64) -> Result<u64> {
        state
            .used
            .checked_add(bytes)
            .filter(|sum| *sum <= self.limit)
            .ok_or(ErrorCode::Full)
    }

    /// Whether a handle of this file is open as one of a database.
    pub fn in_use(&self, id: FileId) -> bool {
        let state = self.state();
        state
            .accounts
            .get(&id)
            .is_some_and(|account| account.handles > 0)
    }

    /// Whether one more file can be made.
    pub fn check_new_file(&self) -> Result<()> {
        self.sum(&self.state(), FILE_BYTES).map(drop)
    }

    /// Notes that a real file of `size` bytes was opened; `created` if it was made by that.
    pub fn opened(&self, id: FileId, size: u64, created: bool) {
        let mut state = self.state();
        let account = state.accounts.entry(id).or_insert_with(|| Account {
            base: size,
            known: size,
            ..Account::default()
        });
        account.handles += 1;
        state.adjust(id, |account| {
            account.observe(size);
            if created {
                *account = Account {
                    base: 0,
                    known: size,
                    floor: FILE_BYTES,
                    handles: account.handles,
                    removed: false,
                };
            }
        });
    }

    /// Notes that a handle was closed.
    pub fn closed(&self, id: FileId) {
        self.state().adjust(id, |account| {
            account.handles = account.handles.saturating_sub(1)
        });
    }

    /// Notes that the file has no name any more.
    pub fn removed(&self, id: FileId) {
        self.state().adjust(id, |account| account.removed = true);
    }

    /// Notes that a file of `size` bytes, which nobody has open, made room for another.
    pub fn replaced(&self, id: FileId, size: u64) {
        let mut state = self.state();
        if state.accounts.contains_key(&id) {
            state.adjust(id, |account| account.removed = true);
        } else {
            state.used = state.used.saturating_sub(size.max(FILE_BYTES));
        }
    }

    /// Before a write that ends at `end`: pays for the growth, or fails with
    /// [`ErrorCode::Full`]. `size` measures the file; it is asked only when
    /// the write goes beyond what is known.
    pub fn grow(&self, id: FileId, end: u64, size: impl FnOnce() -> Result<u64>) -> Result<()> {
        let mut state = self.state();
        let Some(account) = state.accounts.get(&id) else {
            return Err(ErrorCode::Io);
        };
        if end <= account.known {
            return Ok(());
        }
        let size = size()?;
        state.adjust(id, |account| account.observe(size));
        let Some(account) = state.accounts.get(&id) else {
            return Err(ErrorCode::Io);
        };
        let grown = Account {
            known: end.max(size),
            ..*account
        };
        self.sum(&state, grown.cost().saturating_sub(account.cost()))?;
        state.adjust(id, |account| account.known = grown.known);
        Ok(())
    }

    /// After a truncation, or a write that failed: the file has `size` bytes.
    pub fn settle(&self, id: FileId, size: u64) {
        self.state().adjust(id, |account| account.known = size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: FileId = FileId {
        device: 1,
        inode: 2,
        index: false,
    };

    #[test]
    fn what_a_file_had_when_it_was_opened_costs_nothing() {
        let quota = Quota::new(100);
        quota.opened(ID, 1000, false);
        assert_eq!(quota.grow(ID, 1050, || Ok(1000)), Ok(()));
        assert_eq!(quota.used(), 50);
        assert_eq!(quota.grow(ID, 1101, || Ok(1050)), Err(ErrorCode::Full));
        assert_eq!(quota.used(), 50);
        quota.settle(ID, 10);
        assert_eq!(quota.used(), 0);
        assert_eq!(quota.grow(ID, 1100, || Ok(10)), Ok(()));
        assert_eq!(quota.used(), 100);
    }

    #[test]
    fn closing_and_opening_again_is_no_way_around_it() {
        let quota = Quota::new(100);
        quota.opened(ID, 0, false);
        quota.grow(ID, 80, || Ok(0)).unwrap();
        quota.closed(ID);
        quota.opened(ID, 80, false);
        assert_eq!(quota.used(), 80);
        assert_eq!(quota.grow(ID, 160, || Ok(80)), Err(ErrorCode::Full));
    }

    #[test]
    fn what_others_added_is_not_our_growth() {
        let quota = Quota::new(100);
        quota.opened(ID, 0, false);
        quota.grow(ID, 10, || Ok(0)).unwrap();
        quota.grow(ID, 5020, || Ok(5000)).unwrap();
        assert_eq!(quota.used(), 30);
    }

    #[test]
    fn a_removed_file_is_given_back_when_its_last_handle_is_closed() {
        let quota = Quota::new(10_000);
        quota.opened(ID, 0, true);
        assert_eq!(quota.used(), FILE_BYTES);
        quota.grow(ID, 9000, || Ok(0)).unwrap();
        quota.removed(ID);
        assert_eq!(quota.used(), 9000);
        quota.closed(ID);
        assert_eq!(quota.used(), 0);
    }

    #[test]
    fn what_is_replaced_makes_room() {
        let quota = Quota::new(20_000);
        for _ in 0..5 {
            quota.take(9_000).unwrap();
            quota.replaced(ID, 9_000);
        }
        assert_eq!(quota.used(), 0);
        quota.opened(ID, 0, true);
        quota.grow(ID, 5_000, || Ok(0)).unwrap();
        quota.closed(ID);
        quota.replaced(ID, 5_000);
        assert_eq!(quota.used(), 0);
    }

    #[test]
    fn a_sum_past_the_largest_number_is_full() {
        let quota = Quota::new(u64::MAX);
        quota.take(10).unwrap();
        assert_eq!(quota.take(u64::MAX), Err(ErrorCode::Full));
        assert_eq!(quota.used(), 10);
    }
}
