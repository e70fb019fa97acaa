//! Named files in the host's memory: the `:memory:` database and its journal.
//!
//! They live on the host's side so that they outlive the guest: the next
//! one finds the journal of an aborted one, and rolls back.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::ffi;

use super::quota::Quota;
use super::{Device, ErrorCode, Handle, LockLevel, OpenOptions, Result};

/// The unit of allocation, so that growth copies nothing.
const CHUNK: usize = 64 << 10;

/// The bytes of one file. A chunk that was never written reads as zeros.
struct Data {
    chunks: Vec<Option<Box<[u8]>>>,
    size: u64,
    locks: Locks,
    quota: Arc<Quota>,
}

impl Drop for Data {
    fn drop(&mut self) {
        self.quota.give(self.size);
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
    fn empty(quota: &Arc<Quota>) -> SharedData {
        Arc::new(Mutex::new(Self {
            chunks: Vec::new(),
            size: 0,
            locks: Locks::default(),
            quota: quota.clone(),
        }))
    }

    fn resize(&mut self, size: u64) -> Result<()> {
        if size > self.size {
            self.quota.take(size - self.size)?;
            self.chunks
                .resize_with((size as usize).div_ceil(CHUNK), || None);
        } else {
            self.quota.give(self.size - size);
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

    fn read(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let length = self.size.saturating_sub(offset).min(buffer.len() as u64) as usize;
        let mut rest = &mut buffer[..length];
        for (chunk, range) in pieces(offset, length) {
            let (now, later) = rest.split_at_mut(range.len());
            match &self.chunks[chunk] {
                Some(bytes) => now.copy_from_slice(&bytes[range]),
                None => now.fill(0),
            }
            rest = later;
        }
        length
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

type SharedData = Arc<Mutex<Data>>;

fn lock(data: &SharedData) -> MutexGuard<'_, Data> {
    data.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The named files. Dropping this forgets them.
pub struct MemoryFiles {
    named: Mutex<HashMap<String, SharedData>>,
    quota: Arc<Quota>,
}

impl MemoryFiles {
    /// The databases of these names, empty: they are there before anyone writes to them.
    pub fn new<'a>(names: impl Iterator<Item = &'a str>, quota: Arc<Quota>) -> Self {
        let empty = names.map(|name| (name.to_owned(), Data::empty(&quota)));
        Self {
            named: Mutex::new(empty.collect()),
            quota,
        }
    }

    fn named(&self) -> MutexGuard<'_, HashMap<String, SharedData>> {
        self.named.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the file of that name.
    pub fn open(&self, name: &str, options: OpenOptions) -> Result<MemoryFile> {
        let mut named = self.named();
        let data = match named.get(name) {
            Some(_) if options.create && options.exclusive => return Err(ErrorCode::Io),
            Some(data) => data.clone(),
            None if options.create => {
                let data = Data::empty(&self.quota);
                named.insert(name.to_owned(), data.clone());
                data
            }
            None => return Err(ErrorCode::NotFound),
        };
        Ok(MemoryFile {
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
            .is_some_and(|data| lock(data).size > 0)
    }
}

/// A handle on a file in memory.
pub struct MemoryFile {
    data: SharedData,
    level: LockLevel,
    read_only: bool,
}

impl Handle for MemoryFile {
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        Ok(lock(&self.data).read(offset, buffer))
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> Result<()> {
        lock(&self.data).write(offset, data)
    }

    fn truncate(&mut self, size: u64) -> Result<()> {
        lock(&self.data).resize(size)
    }

    fn size(&mut self) -> Result<u64> {
        Ok(lock(&self.data).size)
    }

    fn lock(&mut self, level: LockLevel) -> Result<()> {
        if level <= self.level {
            return Ok(());
        }
        let locks = &mut lock(&self.data).locks;
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
            let locks = &mut lock(&self.data).locks;
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
        Ok(lock(&self.data).locks.writer.is_some())
    }

    fn device(&mut self) -> Device {
        // An aborted guest has made its writes in order and whole, and there is no power cut to survive.
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

impl Drop for MemoryFile {
    fn drop(&mut self) {
        // Cannot fail: nothing is asked of anyone.
        let _ = self.unlock(LockLevel::None);
    }
}
