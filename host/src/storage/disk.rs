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
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::ffi;

use super::budget::{Budget, FileId};
use super::names::{DiskPlace, Kind};
use super::native::{self, NativeFile, REGION};
use super::window::{self, Window};
use super::{
    Device, ErrorCode, Handle, LockLevel, OpenOptions, Result, ShmAction, Slots, SyncMode,
};

/// The size of the header of a log, in bytes (`WAL_HDRSIZE` in SQLite's `wal.c`).
const WAL_HEADER: u64 = 32;

/// How many regions a wal-index can have here: enough for a log of 33 million
/// frames, and each takes up two of the 65,530 mappings that Linux allows.
const REGIONS: u32 = 8192;
/// How often a read is tried at the end of a file that keeps changing its size.
const READS: u32 = 100;
/// How many windows there can be at once.
const WINDOWS: usize = 8192;

/// What all real files of a storage share.
#[derive(Clone)]
pub struct Common {
    budget: Arc<Budget>,
    windows: Arc<AtomicUsize>,
    /// How many handles read each database without a `-shm`, by its path.
    adrift: Arc<Mutex<HashMap<PathBuf, usize>>>,
}

impl Common {
    /// No files yet.
    pub fn new(budget: Arc<Budget>) -> Self {
        Self {
            budget,
            windows: Arc::default(),
            adrift: Arc::default(),
        }
    }

    fn adrift(&self) -> MutexGuard<'_, HashMap<PathBuf, usize>> {
        self.adrift.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a file.
    pub fn open(&self, place: DiskPlace, kind: Kind, options: OpenOptions) -> Result<Disk> {
        let read_only = place.readonly || !options.read_write;
        let mut disk = Disk {
            open: None,
            common: self.clone(),
            place,
            kind,
            read_only,
            level: LockLevel::None,
            index: Index::default(),
        };
        match disk.attach(options) {
            // The log that a reader may not make: empty until someone else makes it.
            Err(ErrorCode::NotFound) if read_only && kind == Kind::Wal => Ok(disk),
            Err(error) => Err(error),
            Ok(()) => Ok(disk),
        }
    }

    /// Removes a file.
    pub fn delete(&self, place: &DiskPlace, durable: bool) -> Result<()> {
        if place.readonly {
            return Err(ErrorCode::ReadOnly);
        }
        let id = regular(&place.path)?.map(|metadata| id(&metadata));
        native::delete(&place.path, durable)?;
        if let Some(id) = id {
            self.budget.removed(id);
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

fn id(metadata: &fs::Metadata) -> FileId {
    FileId {
        device: metadata.dev(),
        inode: metadata.ino(),
        index: false,
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
    windows: Vec<Window>,
    /// Whether it has heard that there is none.
    adrift: bool,
    /// Whether a window could not be made ordinary memory again.
    lost: bool,
}

/// An open real file.
pub struct Disk {
    /// Nothing: a log that is not there.
    open: Option<(NativeFile, FileId)>,
    common: Common,
    place: DiskPlace,
    kind: Kind,
    read_only: bool,
    level: LockLevel,
    index: Index,
}

impl Disk {
    fn attach(&mut self, options: OpenOptions) -> Result<()> {
        let before = regular(&self.place.path)?;
        let mut flags = match self.kind {
            Kind::Database => ffi::SQLITE_OPEN_MAIN_DB,
            Kind::Journal => ffi::SQLITE_OPEN_MAIN_JOURNAL,
            Kind::Wal => ffi::SQLITE_OPEN_WAL,
            Kind::SuperJournal => return Err(ErrorCode::Denied),
        };
        if self.read_only {
            flags |= ffi::SQLITE_OPEN_READONLY;
        } else {
            flags |= ffi::SQLITE_OPEN_READWRITE;
            if options.create {
                flags |= ffi::SQLITE_OPEN_CREATE;
                if options.exclusive {
                    // The layer would open what is there for reading.
                    if before.is_some() {
                        return Err(ErrorCode::Io);
                    }
                    flags |= ffi::SQLITE_OPEN_EXCLUSIVE;
                }
                if before.is_none() {
                    self.common.budget.check_new_file()?;
                }
            }
        }
        let (mut file, read_only) = NativeFile::open(&self.place.path, flags)?;
        self.read_only |= read_only;
        let size = file.size()?;
        let now = regular(&self.place.path)?.ok_or(ErrorCode::NotFound)?;
        let id = id(&now);
        self.common.budget.opened(id, size, before.is_none());
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
    fn check_adrift(&self) -> Result<()> {
        let adrift = self.index.adrift
            || self.kind == Kind::Wal && {
                let adrift = self.common.adrift();
                !adrift.is_empty() && adrift.contains_key(&self.place.index)
            };
        if adrift && self.index_exists() {
            Err(ErrorCode::Busy)
        } else {
            Ok(())
        }
    }

    fn set_adrift(&mut self, to: bool) {
        if std::mem::replace(&mut self.index.adrift, to) == to {
            return;
        }
        let mut adrift = self.common.adrift();
        let count = adrift.entry(self.place.index.clone()).or_default();
        *count = if to {
            *count + 1
        } else {
            count.saturating_sub(1)
        };
        if *count == 0 {
            adrift.remove(&self.place.index);
        }
    }

    /// Opens the wal-index for a handle that may not make one, and maps a region.
    fn join_index(&mut self, region: u32, extend: bool) -> Result<(Option<NonNull<u8>>, bool)> {
        // It cannot go away in between: whoever removes it has to lock the
        // database exclusively first, and this handle has a shared lock.
        if !self.index_exists() {
            self.set_adrift(true);
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
        let budget = self.common.budget.clone();
        let size = || Ok(regular(&self.place.index)?.map_or(0, |metadata| metadata.len()));
        budget.opened(id, size()?, false);
        let paid = budget.grow(id, (u64::from(region) + 1) * REGION as u64, size);
        budget.closed(id);
        paid
    }

    fn keep_window(&mut self, window: Window) {
        let windows = &mut self.index.windows;
        match windows
            .iter()
            .position(|other| other.address() == window.address())
        {
            Some(at) => windows[at] = window,
            None => {
                self.common.windows.fetch_add(1, Ordering::Relaxed);
                windows.push(window);
            }
        }
    }

    fn forget_windows(&mut self) -> Vec<Window> {
        let windows = std::mem::take(&mut self.index.windows);
        self.common
            .windows
            .fetch_sub(windows.len(), Ordering::Relaxed);
        windows
    }

    /// Lets go of all slots: SQLite's layer, when it closes the `-shm`, does not.
    fn release_slots(&mut self) {
        if let Some((file, _)) = &mut self.open {
            for first in 0..8 {
                let slots = Slots { first, count: 1 };
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
    fn refresh_windows(&mut self) {
        self.index.windows.iter_mut().for_each(Window::refresh);
    }
}

impl Handle for Disk {
    fn read(&mut self, offset: u64, length: usize) -> Result<Vec<u8>> {
        let Some(file) = self.file()? else {
            return Ok(Vec::new());
        };
        let mut data = vec![0; length];
        // SQLite's layer does not say where the file ended, so measure it and
        // read that again, in case it is just growing or shrinking.
        for _ in 0..READS {
            if data.is_empty() || file.read(offset, &mut data)? {
                self.check_adrift()?;
                return Ok(data);
            }
            data.resize(
                file.size()?.saturating_sub(offset).min(length as u64) as usize,
                0,
            );
        }
        Err(ErrorCode::Io)
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> Result<()> {
        let budget = self.common.budget.clone();
        let (file, id) = self.opened()?;
        budget.grow(id, offset + data.len() as u64, || file.size())?;
        file.write(offset, data).inspect_err(|_| {
            if let Ok(size) = file.size() {
                budget.settle(id, size);
            }
        })
    }

    fn truncate(&mut self, size: u64) -> Result<()> {
        let budget = self.common.budget.clone();
        let (file, id) = self.opened()?;
        budget.grow(id, size, || file.size())?;
        let done = file.truncate(size);
        if let Ok(size) = file.size() {
            budget.settle(id, size);
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
        self.check_adrift()?;
        // Where SQLite indexes a log in its own memory, a header alone would make it
        // look again and again: it takes the salts only from a header with frames
        // after it, and then misses them (`walIndexRecover` and
        // `walBeginShmUnreliable` in `wal.c`). No frames are as good as no log.
        if self.kind == Kind::Wal && size <= WAL_HEADER {
            return Ok(0);
        }
        Ok(size)
    }

    fn device(&mut self) -> Device {
        let shared_memory = self.kind == Kind::Database && window::available();
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

    fn lock(&mut self, level: LockLevel) -> Result<()> {
        if level <= self.level {
            return Ok(());
        }
        if level > LockLevel::Shared && self.level < LockLevel::Shared {
            return Err(ErrorCode::Invalid);
        }
        if self.kind == Kind::Database {
            self.opened()?.0.lock(level)?;
        }
        self.level = level;
        Ok(())
    }

    fn unlock(&mut self, level: LockLevel) -> Result<()> {
        if self.kind == Kind::Database {
            // Not only if `level` is lower: a refused exclusive lock leaves a pending one behind.
            self.opened()?.0.unlock(level)?;
        }
        if level < self.level {
            self.level = level;
        }
        Ok(())
    }

    fn check_reserved(&mut self) -> Result<bool> {
        if self.kind == Kind::Database {
            self.opened()?.0.check_reserved()
        } else {
            Ok(false)
        }
    }

    fn shm_map(&mut self, region: u32, mut window: Window, extend: bool) -> Result<bool> {
        if self.kind != Kind::Database || !window::available() {
            return Err(ErrorCode::NoSharedMemory);
        }
        if region >= REGIONS || self.level < LockLevel::Shared {
            return Err(ErrorCode::Invalid);
        }
        if self.common.windows.load(Ordering::Relaxed) >= WINDOWS {
            return Err(ErrorCode::Io);
        }
        let extend = extend && !self.index.adrift;
        let (address, copied) = if self.read_only && !self.has_index() {
            self.join_index(region, extend)?
        } else {
            if extend {
                self.pay_for_index(region)?;
            }
            self.opened()?.0.shm_map(region, extend)?
        };
        self.set_adrift(false);
        match address {
            Some(address) if copied => {
                window.copy_from(address);
                self.keep_window(window);
                Err(ErrorCode::ReadOnly)
            }
            Some(address) => {
                if let Err(error) = window.share(address) {
                    // The pages may be gone already, and a hole would crash the host.
                    self.index.lost |= window.clear().is_err();
                    return Err(error);
                }
                self.keep_window(window);
                Ok(true)
            }
            // Someone is just making it, and this handle cannot do it for them.
            None if copied => Err(ErrorCode::Busy),
            None => Ok(false),
        }
    }

    fn shm_lock(&mut self, slots: Slots, action: ShmAction) -> Result<()> {
        if self.index.adrift {
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
        self.refresh_windows();
        Ok(())
    }

    fn shm_barrier(&mut self) {
        if let Some((file, _)) = &mut self.open {
            file.shm_barrier();
        }
    }

    fn shm_unmap(&mut self, delete: bool) -> Result<()> {
        let mut cleared = Ok(());
        for mut window in self.forget_windows() {
            cleared = cleared.and(window.clear());
        }
        self.index.lost |= cleared.is_err();
        self.release_slots();
        self.set_adrift(false);
        let delete = delete && !self.read_only;
        if let Some((file, id)) = &mut self.open {
            file.shm_unmap(delete)?;
            let id = FileId { index: true, ..*id };
            if delete && !self.index_exists() {
                self.common.budget.removed(id);
            }
        }
        cleared
    }

    fn has_lost_window(&self) -> bool {
        self.index.lost
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // The windows stay as they are: the guest they are part of may be gone.
        self.forget_windows();
        self.release_slots();
        self.set_adrift(false);
        if let Some((file, id)) = self.open.take() {
            drop(file);
            self.common.budget.closed(id);
        }
    }
}
