//! An open file, whatever its kind: the arguments are checked here, once for all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(test)]
use super::crash_point;
use super::shm::ShmRegion;
use super::types::{Device, ErrorCode, LockLevel, Result, ShmAction, SyncMode};

/// How many files may be open at once.
pub(super) const OPEN_FILES: usize = 256;
/// The longest read, in bytes.
const READ_BYTES: u32 = 16 << 20;
/// The largest offset a file can have; SQLite's are signed.
const LAST_OFFSET: u64 = i64::MAX as u64;

/// What every kind of file can do. Arguments are checked by [`File`]; the
/// defaults are those of a file that no one else can see.
pub(super) trait Handle: Send {
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize>;
    fn write(&mut self, offset: u64, data: &[u8]) -> Result<()>;
    fn truncate(&mut self, size: u64) -> Result<()>;
    fn size(&mut self) -> Result<u64>;
    fn device(&mut self) -> Device;

    fn sync(&mut self, _mode: SyncMode) -> Result<()> {
        Ok(())
    }
    fn lock(&mut self, _level: LockLevel) -> Result<()> {
        Ok(())
    }
    fn unlock(&mut self, _level: LockLevel) -> Result<()> {
        Ok(())
    }
    fn check_reserved(&mut self) -> Result<bool> {
        Ok(false)
    }
    fn is_read_only(&self) -> bool {
        false
    }
    fn has_moved(&mut self) -> Result<bool> {
        Ok(false)
    }
    fn publish(&mut self, _replace: bool) -> Result<()> {
        Err(ErrorCode::Invalid)
    }
    fn shm_map(&mut self, _index: u32, _over: ShmRegion, _extend: bool) -> Result<bool> {
        Err(ErrorCode::Unsupported)
    }
    fn shm_lock(&mut self, _slots: ShmSlots, _action: ShmAction) -> Result<()> {
        Err(ErrorCode::Unsupported)
    }
    fn shm_barrier(&mut self) {}
    fn shm_unmap(&mut self, _delete: bool) -> Result<()> {
        Ok(())
    }
    fn shm_unmap_failed(&self) -> bool {
        false
    }
}

/// Neighbouring slots of the wal-index lock; there are eight.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShmSlots {
    pub first: u8,
    pub count: u8,
}

impl ShmSlots {
    pub fn new(first: u32, count: u32) -> Result<Self> {
        match (u8::try_from(first), u8::try_from(count)) {
            (Ok(first), Ok(count @ 1..=8)) if first < 8 && first + count <= 8 => {
                Ok(Self { first, count })
            }
            _ => Err(ErrorCode::Invalid),
        }
    }

    /// One bit for each.
    pub fn mask(self) -> u8 {
        (((1u16 << self.count) - 1) << self.first) as u8
    }
}

/// Permission for one of [`OPEN_FILES`] files to be open.
pub(super) struct OpenPermit(Arc<AtomicUsize>);

impl OpenPermit {
    pub fn take(open: &Arc<AtomicUsize>) -> Result<Self> {
        let permit = Self(open.clone());
        // Counted first and given back by the drop, also when there were too many.
        if open.fetch_add(1, Ordering::Relaxed) >= OPEN_FILES {
            return Err(ErrorCode::Io);
        }
        Ok(permit)
    }
}

impl Drop for OpenPermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An open file. Dropping it closes it and lets go of its locks, and touches no
/// guest memory, so that it may be dropped before or after the guest. While the
/// guest lives on, [`File::shm_unmap`] comes first, so that its buffers become
/// its own again.
pub struct File {
    handle: Box<dyn Handle>,
    _permit: OpenPermit,
}

impl File {
    pub(super) fn new(handle: Box<dyn Handle>, permit: OpenPermit) -> Self {
        Self {
            handle,
            _permit: permit,
        }
    }

    /// Up to `length` bytes from `offset`; fewer only at the end of the file.
    pub fn read(&mut self, offset: u64, length: u32) -> Result<Vec<u8>> {
        if length > READ_BYTES {
            return Err(ErrorCode::Invalid);
        }
        let mut data = vec![0; length as usize];
        let there = self.read_into(offset, &mut data)?;
        data.truncate(there);
        Ok(data)
    }

    /// Reads from `offset` into `buffer` and answers how many bytes that were: fewer than its
    /// length only at the end of the file, and then what the rest of it holds is undefined.
    pub fn read_into(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        end(offset, buffer.len())?;
        self.handle.read(offset, buffer)
    }

    /// Writes all of `data` at `offset`, growing the file as needed.
    pub fn write(&mut self, offset: u64, data: &[u8]) -> Result<()> {
        end(offset, data.len())?;
        if self.handle.is_read_only() {
            return Err(ErrorCode::ReadOnly);
        }
        if data.is_empty() {
            return Ok(());
        }
        #[cfg(test)]
        crash_point::reached(|| {
            let _ = self.handle.write(offset, &data[..data.len() / 2]);
        });
        self.handle.write(offset, data)
    }

    /// Cuts the file, or extends it with zeros, to `size` bytes.
    pub fn truncate(&mut self, size: u64) -> Result<()> {
        end(size, 0)?;
        if self.handle.is_read_only() {
            return Err(ErrorCode::ReadOnly);
        }
        #[cfg(test)]
        crash_point::reached(|| ());
        self.handle.truncate(size)
    }

    /// Returns when what was written has reached the disk.
    pub fn sync(&mut self, mode: SyncMode) -> Result<()> {
        #[cfg(test)]
        crash_point::reached(|| ());
        self.handle.sync(mode)
    }

    /// The size in bytes.
    pub fn size(&mut self) -> Result<u64> {
        self.handle.size()
    }

    /// Raises the lock to `level`, one of shared, reserved and exclusive.
    pub fn lock(&mut self, level: LockLevel) -> Result<()> {
        match level {
            LockLevel::None | LockLevel::Pending => Err(ErrorCode::Invalid),
            // Nothing to intend: the file cannot be written.
            LockLevel::Reserved | LockLevel::Exclusive if self.handle.is_read_only() => {
                Err(ErrorCode::ReadOnly)
            }
            _ => self.handle.lock(level),
        }
    }

    /// Lowers the lock to `level`, shared or none.
    pub fn unlock(&mut self, level: LockLevel) -> Result<()> {
        match level {
            LockLevel::None | LockLevel::Shared => self.handle.unlock(level),
            _ => Err(ErrorCode::Invalid),
        }
    }

    /// Whether any connection holds reserved or more.
    pub fn check_reserved(&mut self) -> Result<bool> {
        self.handle.check_reserved()
    }

    /// What the device guarantees.
    pub fn device(&mut self) -> Device {
        self.handle.device()
    }

    /// Whether the file can only be read, whatever was asked.
    pub fn is_read_only(&self) -> bool {
        self.handle.is_read_only()
    }

    /// Whether the path that the file was opened by now leads to another file or to none.
    pub fn has_moved(&mut self) -> Result<bool> {
        self.handle.has_moved()
    }

    /// Gives a staged file its name, all of it at once and on the disk. What has
    /// the name is refused as [`ErrorCode::Exists`], or replaced.
    pub fn publish(&mut self, replace: bool) -> Result<()> {
        self.handle.publish(replace)
    }

    /// Maps region `index` of the wal-index over the buffer `over` and answers whether the
    /// region exists; with `extend` it is created if not. [`ErrorCode::ReadOnly`] means that
    /// it exists and that `over` holds a copy of it.
    pub fn shm_map(&mut self, index: u32, over: ShmRegion, extend: bool) -> Result<bool> {
        self.handle.shm_map(index, over, extend)
    }

    /// Takes or releases `count` lock slots of the wal-index from `slot` on.
    /// Brings regions that are copies up to date.
    pub fn shm_lock(&mut self, slot: u32, count: u32, action: ShmAction) -> Result<()> {
        let shared = matches!(action, ShmAction::LockShared | ShmAction::UnlockShared);
        if shared && count != 1 {
            return Err(ErrorCode::Invalid);
        }
        self.handle.shm_lock(ShmSlots::new(slot, count)?, action)
    }

    /// A full memory barrier between the guest and other processes.
    pub fn shm_barrier(&mut self) {
        self.handle.shm_barrier();
    }

    /// Lets go of the wal-index; its regions become ordinary, zeroed memory.
    pub fn shm_unmap(&mut self, delete: bool) -> Result<()> {
        self.handle.shm_unmap(delete)
    }

    /// Whether the system refused to make one of its regions ordinary memory. Then its pages
    /// may still be those of a file, or none: the guest must not continue.
    pub fn shm_unmap_failed(&self) -> bool {
        self.handle.shm_unmap_failed()
    }
}

/// Where `length` bytes from `offset` end.
fn end(offset: u64, length: usize) -> Result<u64> {
    offset
        .checked_add(length as u64)
        .filter(|end| *end <= LAST_OFFSET)
        .ok_or(ErrorCode::Invalid)
}
