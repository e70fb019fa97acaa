//! Real files, and the rules of reading without a trace.
//!
//! A handle for reading only neither makes nor removes anything. Where SQLite
//! would make a `-wal`, it gets one that is empty and nowhere; where there is
//! no `-shm`, it hears [`ErrorCode::CannotInit`] and indexes the log in its own
//! memory. That is sound as long as no one else opens the database in WAL mode:
//! no one who does can checkpoint without a `-shm`, nor remove it while the
//! reader's shared lock stands. So every read is followed by a look for it.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::ffi;

use super::names::DiskPlace;
use super::native::{self, NativeFile, REGION};
use super::quota::{FileId, Quota};
use super::root::Directory;
use super::shm::{self, ShmRegion};
use super::{
    Device, ErrorCode, Handle, LockLevel, OpenOptions, Result, Role, ShmAction, ShmSlots, SyncMode,
};

/// The size of the header of a log, in bytes (`WAL_HDRSIZE` in SQLite's `wal.c`).
const WAL_HEADER: u64 = 32;

/// How many regions a wal-index can have here: enough for a log of 33 million
/// frames, and each takes up two of the 65,530 mappings that Linux allows.
const INDEX_REGIONS: u32 = 8192;
/// How often a read is tried at the end of a file that keeps changing its size.
const READS: u32 = 100;
/// How many regions can be mapped at once, over all files.
const MAPPED_REGIONS: usize = 8192;

/// What all real files of a storage share.
#[derive(Clone)]
pub struct DiskFiles {
    quota: Arc<Quota>,
    mapped: Arc<AtomicUsize>,
    /// How many handles read each database in WAL mode without a `-shm`, by the path of that.
    without_shm: Arc<Mutex<HashMap<PathBuf, usize>>>,
    /// What closed handles on files that are still open were opened through: SQLite keeps the
    /// path of a `-shm` until the last handle is closed (`unixShmNode` in `os_unix.c`).
    directories: Arc<Mutex<HashMap<FileId, Vec<Arc<fs::File>>>>>,
}

impl DiskFiles {
    /// No files yet.
    pub fn new(quota: Arc<Quota>) -> Self {
        Self {
            quota,
            mapped: Arc::default(),
            without_shm: Arc::default(),
            directories: Arc::default(),
        }
    }

    fn without_shm(&self) -> MutexGuard<'_, HashMap<PathBuf, usize>> {
        self.without_shm
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a file.
    pub fn open(&self, place: DiskPlace, role: Role, options: OpenOptions) -> Result<DiskFile> {
        let read_only = place.readonly || !options.read_write;
        let mut file = DiskFile {
            open: None,
            files: self.clone(),
            place,
            role,
            read_only,
            level: LockLevel::None,
            index: Index::default(),
        };
        match file.attach(options) {
            // The log that a reader may not make: empty until someone else makes it.
            Err(ErrorCode::NotFound) if read_only && role == Role::Wal => Ok(file),
            Err(error) => Err(error),
            Ok(()) => Ok(file),
        }
    }

    /// Notes that a handle was closed, opened through `directory`.
    fn closed(&self, id: FileId, directory: Directory) {
        self.quota.closed(id);
        let mut directories = self
            .directories
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if !self.quota.in_use(id) {
            directories.remove(&id);
        } else if let Some(directory) = directory {
            let kept = directories.entry(id).or_default();
            if !kept.iter().any(|other| Arc::ptr_eq(other, &directory)) {
                kept.push(directory);
            }
        }
    }

    /// Removes a file.
    pub fn delete(&self, place: &DiskPlace, durable: bool) -> Result<()> {
        if place.readonly {
            return Err(ErrorCode::ReadOnly);
        }
        let id = regular(&place.path)?.map(|metadata| FileId::from(&metadata));
        native::delete(&place.path, durable)?;
        if let Some(id) = id {
            self.quota.removed(id);
        }
        Ok(())
    }

    /// Whether a file is there.
    pub fn exists(&self, place: &DiskPlace, writable: bool) -> Result<bool> {
        if regular(&place.path)?.is_none() || writable && place.readonly {
            return Ok(false);
        }
        native::exists(&place.path, writable)
    }
}

/// What lies at `path`, if anything. Only a regular file will do: a symbolic
/// link leads elsewhere, a pipe would be waited for.
fn regular(path: &Path) -> Result<Option<fs::Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(Some(metadata)),
        // Some systems serve a database from a block device.
        Ok(metadata) if metadata.file_type().is_block_device() => Ok(Some(metadata)),
        Ok(_) => Err(ErrorCode::Denied),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(ErrorCode::Denied),
        Err(_) => Err(ErrorCode::Io),
    }
}

/// What a handle has of the wal-index.
#[derive(Default)]
struct Index {
    /// The lock slots it holds, one bit each.
    shared: u8,
    exclusive: u8,
    regions: Vec<ShmRegion>,
    /// Whether it reads without one.
    absent: bool,
    /// Whether a region could not be made ordinary memory again.
    unmap_failed: bool,
}

/// An open real file.
pub struct DiskFile {
    /// Nothing: a missing log.
    open: Option<(NativeFile, FileId)>,
    files: DiskFiles,
    place: DiskPlace,
    role: Role,
    read_only: bool,
    level: LockLevel,
    index: Index,
}

impl DiskFile {
    fn attach(&mut self, options: OpenOptions) -> Result<()> {
        let before = regular(&self.place.path)?;
        let mut flags = match self.role {
            Role::MainDatabase => ffi::SQLITE_OPEN_MAIN_DB,
            Role::MainJournal => ffi::SQLITE_OPEN_MAIN_JOURNAL,
            Role::Wal => ffi::SQLITE_OPEN_WAL,
            _ => return Err(ErrorCode::Denied),
        };
        if self.read_only {
            flags |= ffi::SQLITE_OPEN_READONLY;
        } else {
            flags |= ffi::SQLITE_OPEN_READWRITE;
            if options.create {
                flags |= ffi::SQLITE_OPEN_CREATE;
                if options.exclusive {
                    // The layer would open an existing file for reading.
                    if before.is_some() {
                        return Err(ErrorCode::Io);
                    }
                    flags |= ffi::SQLITE_OPEN_EXCLUSIVE;
                }
                if before.is_none() {
                    self.files.quota.check_new_file()?;
                }
            }
        }
        let (mut file, read_only) = NativeFile::open(&self.place.path, flags)?;
        self.read_only |= read_only;
        let size = file.size()?;
        let now = regular(&self.place.path)?.ok_or(ErrorCode::NotFound)?;
        let id = FileId::from(&now);
        self.files.quota.opened(id, size, before.is_none());
        self.open = Some((file, id));
        Ok(())
    }

    /// The file, if it is there by now.
    fn file(&mut self) -> Result<Option<&mut NativeFile>> {
        if self.open.is_none() {
            match self.attach(OpenOptions::default()) {
                Ok(()) | Err(ErrorCode::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.open.as_mut().map(|(file, _)| file))
    }

    /// The file for an operation that needs one.
    fn opened(&mut self) -> Result<(&mut NativeFile, FileId)> {
        self.open
            .as_mut()
            .map(|(file, id)| (file, *id))
            .ok_or(ErrorCode::ReadOnly)
    }

    fn has_index(&self) -> bool {
        self.open.as_ref().is_some_and(|(file, _)| file.has_shm())
    }

    /// Whether a `-shm` is there.
    fn index_exists(&self) -> bool {
        // Anything but a clear no counts: then the operation is refused.
        !matches!(fs::symlink_metadata(&self.place.index), Err(error) if error.kind() == io::ErrorKind::NotFound)
    }

    /// After a read: whether what was read can be trusted.
    fn check_without_shm(&self) -> Result<()> {
        let without_shm = self.index.absent
            || self.role == Role::Wal && {
                let readers = self.files.without_shm();
                !readers.is_empty() && readers.contains_key(&self.place.index)
            };
        if without_shm && self.index_exists() {
            Err(ErrorCode::Busy)
        } else {
            Ok(())
        }
    }

    fn set_without_shm(&mut self, to: bool) {
        if std::mem::replace(&mut self.index.absent, to) == to {
            return;
        }
        let mut readers = self.files.without_shm();
        let count = readers.entry(self.place.index.clone()).or_default();
        *count = if to {
            *count + 1
        } else {
            count.saturating_sub(1)
        };
        if *count == 0 {
            readers.remove(&self.place.index);
        }
    }

    /// Opens the wal-index for a handle that may not make one, and maps a region.
    fn join_index(&mut self, region: u32, extend: bool) -> Result<(Option<NonNull<u8>>, bool)> {
        // It cannot go away in between: whoever removes it has to lock the
        // database exclusively first, and this handle has a shared lock.
        if !self.index_exists() {
            self.set_without_shm(true);
            return Err(ErrorCode::CannotInit);
        }
        if extend {
            self.pay_for_index(region)?;
        }
        let (file, _) = self.opened()?;
        file.readonly_shm(true);
        let mapped = file.shm_map(region, extend);
        if let Ok((_, true)) = mapped {
            // Others have it open, so it is what it should be. Joining them in
            // earnest lets this reader mark what it reads.
            file.shm_unmap(false)?;
            file.readonly_shm(false);
            return file.shm_map(region, extend);
        }
        mapped
    }

    /// Pays for an index that gets longer.
    fn pay_for_index(&mut self, region: u32) -> Result<()> {
        let (_, id) = self.opened()?;
        let id = FileId { index: true, ..id };
        let quota = self.files.quota.clone();
        let size = || Ok(regular(&self.place.index)?.map_or(0, |metadata| metadata.len()));
        quota.opened(id, size()?, false);
        let paid = quota.grow(id, (u64::from(region) + 1) * REGION as u64, size);
        quota.closed(id);
        paid
    }

    fn add_region(&mut self, region: ShmRegion) {
        let regions = &mut self.index.regions;
        match regions
            .iter()
            .position(|other| other.address() == region.address())
        {
            Some(at) => regions[at] = region,
            None => {
                self.files.mapped.fetch_add(1, Ordering::Relaxed);
                regions.push(region);
            }
        }
    }

    fn take_regions(&mut self) -> Vec<ShmRegion> {
        let regions = std::mem::take(&mut self.index.regions);
        self.files
            .mapped
            .fetch_sub(regions.len(), Ordering::Relaxed);
        regions
    }

    /// Lets go of all slots: SQLite's layer, when it closes the `-shm`, does not.
    fn release_slots(&mut self) {
        if let Some((file, _)) = &mut self.open {
            for first in 0..8 {
                let slots = ShmSlots { first, count: 1 };
                if self.index.shared & slots.mask() != 0 {
                    let _ = file.shm_lock(slots, ShmAction::UnlockShared);
                }
                if self.index.exclusive & slots.mask() != 0 {
                    let _ = file.shm_lock(slots, ShmAction::UnlockExclusive);
                }
            }
        }
        self.index.shared = 0;
        self.index.exclusive = 0;
    }

    /// Brings copies up to date. After locking alone, not at a barrier: SQLite
    /// reads the two copies of the header with a barrier in between, and would
    /// take any commit since the last look for damage.
    fn refresh_regions(&mut self) {
        self.index.regions.iter_mut().for_each(ShmRegion::refresh);
    }
}

impl Handle for DiskFile {
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let Some(file) = self.file()? else {
            return Ok(0);
        };
        let mut there = buffer.len();
        // SQLite's layer does not say where the file ended, so measure it and
        // read that again, in case it is just growing or shrinking.
        for _ in 0..READS {
            if there == 0 || file.read(offset, &mut buffer[..there])? {
                self.check_without_shm()?;
                return Ok(there);
            }
            there = file.size()?.saturating_sub(offset).min(buffer.len() as u64) as usize;
        }
        Err(ErrorCode::Io)
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> Result<()> {
        let quota = self.files.quota.clone();
        let (file, id) = self.opened()?;
        quota.grow(id, offset + data.len() as u64, || file.size())?;
        file.write(offset, data).inspect_err(|_| {
            if let Ok(size) = file.size() {
                quota.settle(id, size);
            }
        })
    }

    fn truncate(&mut self, size: u64) -> Result<()> {
        let quota = self.files.quota.clone();
        let (file, id) = self.opened()?;
        quota.grow(id, size, || file.size())?;
        let done = file.truncate(size);
        if let Ok(size) = file.size() {
            quota.settle(id, size);
        }
        done
    }

    fn sync(&mut self, mode: SyncMode) -> Result<()> {
        if self.read_only {
            return Ok(());
        }
        self.opened()?.0.sync(mode)
    }

    fn size(&mut self) -> Result<u64> {
        let Some(file) = self.file()? else {
            return Ok(0);
        };
        let size = file.size()?;
        self.check_without_shm()?;
        // Where SQLite indexes a log in its own memory, a header alone would make it
        // look again and again: it takes the salts only from a header with frames
        // after it, and then misses them (`walIndexRecover` and
        // `walBeginShmUnreliable` in `wal.c`). No frames are as good as no log.
        if self.role == Role::Wal && size <= WAL_HEADER {
            return Ok(0);
        }
        Ok(size)
    }

    fn device(&mut self) -> Device {
        let shared_memory = self.role == Role::MainDatabase && shm::available();
        let (sector_size, characteristics) = self.open.as_mut().map_or(
            (4096, ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE),
            |(file, _)| file.device(),
        );
        Device {
            sector_size: u32::try_from(sector_size).unwrap_or(4096),
            // Atomic batches need file controls that the contract does not have.
            characteristics: (characteristics & !ffi::SQLITE_IOCAP_BATCH_ATOMIC) as u32,
            shared_memory,
        }
    }

    fn is_read_only(&self) -> bool {
        self.read_only
    }

    fn has_moved(&mut self) -> Result<bool> {
        match &mut self.open {
            Some((file, id)) => Ok(file.has_moved()? || !self.place.origin.leads_to(*id)),
            None => Ok(false),
        }
    }

    fn lock(&mut self, level: LockLevel) -> Result<()> {
        if level <= self.level {
            return Ok(());
        }
        if level > LockLevel::Shared && self.level < LockLevel::Shared {
            return Err(ErrorCode::Invalid);
        }
        if self.role == Role::MainDatabase {
            self.opened()?.0.lock(level)?;
        }
        self.level = level;
        Ok(())
    }

    fn unlock(&mut self, level: LockLevel) -> Result<()> {
        if self.role == Role::MainDatabase {
            // Not only if `level` is lower: a refused exclusive lock leaves a pending one behind.
            self.opened()?.0.unlock(level)?;
        }
        if level < self.level {
            self.level = level;
        }
        Ok(())
    }

    fn check_reserved(&mut self) -> Result<bool> {
        if self.role == Role::MainDatabase {
            self.opened()?.0.check_reserved()
        } else {
            Ok(false)
        }
    }

    fn shm_map(&mut self, index: u32, mut over: ShmRegion, extend: bool) -> Result<bool> {
        if self.role != Role::MainDatabase || !shm::available() {
            return Err(ErrorCode::Unsupported);
        }
        if index >= INDEX_REGIONS || self.level < LockLevel::Shared {
            return Err(ErrorCode::Invalid);
        }
        if self.files.mapped.load(Ordering::Relaxed) >= MAPPED_REGIONS {
            return Err(ErrorCode::Io);
        }
        let extend = extend && !self.index.absent;
        let (address, copied) = if self.read_only && !self.has_index() {
            self.join_index(index, extend)?
        } else {
            if extend {
                self.pay_for_index(index)?;
            }
            self.opened()?.0.shm_map(index, extend)?
        };
        self.set_without_shm(false);
        match address {
            Some(address) if copied => {
                over.copy_from(address);
                self.add_region(over);
                Err(ErrorCode::ReadOnly)
            }
            Some(address) => {
                if let Err(error) = over.share(address) {
                    // The pages may be gone already, and a hole would crash the host.
                    self.index.unmap_failed |= over.clear().is_err();
                    return Err(error);
                }
                self.add_region(over);
                Ok(true)
            }
            // Someone is just making it, and this handle cannot do it for them.
            None if copied => Err(ErrorCode::Busy),
            None => Ok(false),
        }
    }

    fn shm_lock(&mut self, slots: ShmSlots, action: ShmAction) -> Result<()> {
        if self.index.absent {
            return Ok(());
        }
        let mask = slots.mask();
        let (shared, exclusive) = (self.index.shared & mask, self.index.exclusive & mask);
        match action {
            ShmAction::LockShared if exclusive != 0 => return Err(ErrorCode::Invalid),
            ShmAction::LockShared if shared != 0 => return Ok(()),
            ShmAction::LockExclusive if exclusive != 0 => return Err(ErrorCode::Invalid),
            ShmAction::UnlockShared if shared == 0 => return Ok(()),
            ShmAction::UnlockExclusive if exclusive == 0 => return Ok(()),
            ShmAction::UnlockExclusive if exclusive != mask => return Err(ErrorCode::Invalid),
            _ => {}
        }
        self.opened()?.0.shm_lock(slots, action)?;
        match action {
            ShmAction::LockShared => self.index.shared |= mask,
            ShmAction::LockExclusive => self.index.exclusive |= mask,
            ShmAction::UnlockShared => self.index.shared &= !mask,
            ShmAction::UnlockExclusive => self.index.exclusive &= !mask,
        }
        self.refresh_regions();
        Ok(())
    }

    fn shm_barrier(&mut self) {
        if let Some((file, _)) = &mut self.open {
            file.shm_barrier();
        }
    }

    fn shm_unmap(&mut self, delete: bool) -> Result<()> {
        let mut cleared = Ok(());
        for mut region in self.take_regions() {
            cleared = cleared.and(region.clear());
        }
        self.index.unmap_failed |= cleared.is_err();
        self.release_slots();
        self.set_without_shm(false);
        let delete = delete && !self.read_only;
        if let Some((file, id)) = &mut self.open {
            file.shm_unmap(delete)?;
            let id = FileId { index: true, ..*id };
            if delete && !self.index_exists() {
                self.files.quota.removed(id);
            }
        }
        cleared
    }

    fn shm_unmap_failed(&self) -> bool {
        self.index.unmap_failed
    }
}

impl Drop for DiskFile {
    fn drop(&mut self) {
        // The regions stay as they are: the guest they are part of may be gone.
        self.take_regions();
        self.release_slots();
        self.set_without_shm(false);
        if let Some((file, id)) = self.open.take() {
            drop(file);
            self.files.closed(id, self.place.directory.take());
        }
    }
}
