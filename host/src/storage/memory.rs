//! Named files in the host's memory: the `:memory:` database and its journal.
//!
//! They live on this side of the wall so that they outlive the guest: the next
//! one finds the journal of the one that was cut off, and rolls back.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::ffi;

use super::budget::Budget;
use super::{Device, ErrorCode, Handle, LockLevel, OpenOptions, Result};

/// The unit of allocation, so that growth copies nothing.
const CHUNK: usize = 64 << 10;

/// The bytes of one file. A chunk that was never written reads as zeros.
struct Data {
    chunks: Vec<Option<Box<[u8]>>>,
    size: u64,
    locks: Locks,
    budget: Arc<Budget>,
}

impl Drop for Data {
    fn drop(&mut self) {
        self.budget.give(self.size);
    }
}

/// Who holds what, among the handles of this process.
#[derive(Default)]
struct Locks {
    /// How many handles hold shared or more.
    readers: usize,
    /// The most that the one writer holds: reserved, pending or exclusive.
    writer: Option<LockLevel>,
}

/// Pieces of `[offset, offset + length)`, as (chunk, range inside the chunk).
fn pieces(offset: u64, length: usize) -> impl Iterator<Item = (usize, std::ops::Range<usize>)> {
    let (mut at, end) = (offset as usize, offset as usize + length);
    std::iter::from_fn(move || {
        (at < end).then(|| {
            let (chunk, from) = (at / CHUNK, at % CHUNK);
            let to = CHUNK.min(from + (end - at));
            at += to - from;
            (chunk, from..to)
        })
    })
}

impl Data {
    fn empty(budget: &Arc<Budget>) -> Shared {
        Arc::new(Mutex::new(Self {
            chunks: Vec::new(),
            size: 0,
            locks: Locks::default(),
            budget: budget.clone(),
        }))
    }

    fn resize(&mut self, size: u64) -> Result<()> {
        if size > self.size {
            self.budget.take(size - self.size)?;
            self.chunks
                .resize_with((size as usize).div_ceil(CHUNK), || None);
        } else {
            self.budget.give(self.size - size);
            self.chunks.truncate((size as usize).div_ceil(CHUNK));
            // What comes back by later growth has to be zeros.
            let tail = size as usize % CHUNK;
            if let Some(Some(last)) = self.chunks.last_mut()
                && tail > 0
            {
                last[tail..].fill(0);
            }
        }
        self.size = size;
        Ok(())
    }

    fn read(&self, offset: u64, length: usize) -> Vec<u8> {
        let length = self.size.saturating_sub(offset).min(length as u64) as usize;
        let mut data = Vec::with_capacity(length);
        for (chunk, range) in pieces(offset, length) {
            match &self.chunks[chunk] {
                Some(bytes) => data.extend_from_slice(&bytes[range]),
                None => data.resize(data.len() + range.len(), 0),
            }
        }
        data
    }

    fn write(&mut self, offset: u64, mut data: &[u8]) -> Result<()> {
        let end = offset + data.len() as u64;
        if end > self.size {
            self.resize(end)?;
        }
        for (chunk, range) in pieces(offset, data.len()) {
            let (now, later) = data.split_at(range.len());
            self.chunks[chunk].get_or_insert_with(|| vec![0; CHUNK].into_boxed_slice())[range]
                .copy_from_slice(now);
            data = later;
        }
        Ok(())
    }
}

type Shared = Arc<Mutex<Data>>;

fn guard(data: &Shared) -> MutexGuard<'_, Data> {
    data.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The named files. Dropping this forgets them.
pub struct Files {
    named: Mutex<HashMap<String, Shared>>,
    budget: Arc<Budget>,
}

impl Files {
    /// The databases of these names, empty: they are there before anyone writes to them.
    pub fn new(names: &[String], budget: Arc<Budget>) -> Self {
        let empty = names
            .iter()
            .map(|name| (name.clone(), Data::empty(&budget)));
        Self {
            named: Mutex::new(empty.collect()),
            budget,
        }
    }

    fn named(&self) -> MutexGuard<'_, HashMap<String, Shared>> {
        self.named.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the file of that name.
    pub fn open(&self, name: &str, options: OpenOptions) -> Result<Memory> {
        let mut named = self.named();
        let data = match named.get(name) {
            Some(_) if options.create && options.exclusive => return Err(ErrorCode::Io),
            Some(data) => data.clone(),
            None if options.create => {
                let data = Data::empty(&self.budget);
                named.insert(name.to_owned(), data.clone());
                data
            }
            None => return Err(ErrorCode::NotFound),
        };
        Ok(Memory {
            data,
            level: LockLevel::None,
            read_only: !options.read_write,
        })
    }

    /// Forgets the name; the bytes go with the last handle.
    pub fn delete(&self, name: &str) -> Result<()> {
        self.named()
            .remove(name)
            .map(drop)
            .ok_or(ErrorCode::NotFound)
    }

    /// Whether there is such a file, and something in it.
    pub fn exists(&self, name: &str) -> bool {
        self.named()
            .get(name)
            .is_some_and(|data| guard(data).size > 0)
    }
}

/// A handle on a file in memory.
pub struct Memory {
    data: Shared,
    level: LockLevel,
    read_only: bool,
}

impl Handle for Memory {
    fn read(&mut self, offset: u64, length: usize) -> Result<Vec<u8>> {
        Ok(guard(&self.data).read(offset, length))
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> Result<()> {
        guard(&self.data).write(offset, data)
    }

    fn truncate(&mut self, size: u64) -> Result<()> {
        guard(&self.data).resize(size)
    }

    fn size(&mut self) -> Result<u64> {
        Ok(guard(&self.data).size)
    }

    fn lock(&mut self, level: LockLevel) -> Result<()> {
        if level <= self.level {
            return Ok(());
        }
        let locks = &mut guard(&self.data).locks;
        let writing = self.level >= LockLevel::Reserved;
        match (self.level, level) {
            (LockLevel::None, LockLevel::Shared) => {
                if locks.writer >= Some(LockLevel::Pending) {
                    return Err(ErrorCode::Busy);
                }
                locks.readers += 1;
            }
            (LockLevel::None, _) => return Err(ErrorCode::Invalid),
            _ if locks.writer.is_some() && !writing => return Err(ErrorCode::Busy),
            (_, LockLevel::Exclusive) if locks.readers > 1 => {
                // No new reader gets in while this one waits for the old ones to leave.
                locks.writer = Some(LockLevel::Pending);
                self.level = LockLevel::Pending;
                return Err(ErrorCode::Busy);
            }
            _ => locks.writer = Some(level),
        }
        self.level = level;
        Ok(())
    }

    fn unlock(&mut self, level: LockLevel) -> Result<()> {
        if level < self.level {
            let locks = &mut guard(&self.data).locks;
            if self.level >= LockLevel::Reserved {
                locks.writer = None;
            }
            if level == LockLevel::None {
                locks.readers -= 1;
            }
            self.level = level;
        }
        Ok(())
    }

    fn check_reserved(&mut self) -> Result<bool> {
        Ok(guard(&self.data).locks.writer.is_some())
    }

    fn device(&mut self) -> Device {
        // A guest that is cut off has made its writes in order and whole, and there is no power cut to survive.
        let characteristics = ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE
            | ffi::SQLITE_IOCAP_SAFE_APPEND
            | ffi::SQLITE_IOCAP_SEQUENTIAL;
        Device {
            sector_size: 4096,
            characteristics: characteristics as u32,
            shared_memory: false,
        }
    }

    fn is_read_only(&self) -> bool {
        self.read_only
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // Cannot fail: nothing is asked of anyone.
        let _ = self.unlock(LockLevel::None);
    }
}
