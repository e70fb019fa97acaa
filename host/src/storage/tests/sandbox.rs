//! The guest's VFS, natively, over a storage of the host.

use std::collections::HashMap;
use std::ffi::CString;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rusqlite::{Connection, OpenFlags};
use sqlarium_guest::engine::vfs;
use sqlarium_guest::storage as guest;

use super::super::*;

type Files = Arc<Mutex<HashMap<usize, File>>>;

/// SQLite behind the import.
pub struct Sandbox {
    layer: CString,
    files: Files,
}

static NEXT: AtomicUsize = AtomicUsize::new(0);

impl Sandbox {
    pub fn new(storage: &Storage) -> Self {
        let layer =
            CString::new(format!("sandbox-{}", NEXT.fetch_add(1, Ordering::Relaxed))).unwrap();
        let name: &'static CString = Box::leak(Box::new(layer.clone()));
        let files = Files::default();
        let bridge = Box::leak(Box::new(Bridge {
            storage: storage.clone(),
            files: files.clone(),
        }));
        let sleep = |ms| std::thread::sleep(std::time::Duration::from_millis(u64::from(ms)));
        vfs::register(name, bridge, sleep, false).unwrap();
        Self { layer, files }
    }

    pub fn open_with(&self, name: &str, flags: OpenFlags) -> rusqlite::Result<Connection> {
        let connection = Connection::open_with_flags_and_vfs(name, flags, self.layer.as_c_str())?;
        connection.busy_timeout(std::time::Duration::ZERO)?;
        Ok(connection)
    }

    pub fn open(&self, name: &str) -> Connection {
        self.open_with(name, OpenFlags::default()).unwrap()
    }

    pub fn read(&self, name: &str) -> Connection {
        self.open_with(name, OpenFlags::SQLITE_OPEN_READ_ONLY)
            .unwrap()
    }

    /// What the host does to a guest that does not stop: its files are closed
    /// where they stand. Its connections are of no use any more.
    pub fn cut(self, connections: impl IntoIterator<Item = Connection>) {
        connections.into_iter().for_each(std::mem::forget);
        self.files.lock().unwrap().clear();
    }
}

struct Bridge {
    storage: Storage,
    files: Files,
}

impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bridge").finish_non_exhaustive()
    }
}

struct Handle {
    at: usize,
    files: Files,
}

fn code(code: ErrorCode) -> guest::ErrorCode {
    match code {
        ErrorCode::Busy => guest::ErrorCode::Busy,
        ErrorCode::Full => guest::ErrorCode::Full,
        ErrorCode::NotFound => guest::ErrorCode::NotFound,
        ErrorCode::Denied => guest::ErrorCode::Denied,
        ErrorCode::ReadOnly => guest::ErrorCode::ReadOnly,
        ErrorCode::CannotInit => guest::ErrorCode::CannotInit,
        ErrorCode::Unsupported => guest::ErrorCode::Unsupported,
        ErrorCode::Invalid => guest::ErrorCode::Invalid,
        ErrorCode::Io => guest::ErrorCode::Io,
        ErrorCode::Exists => guest::ErrorCode::Exists,
    }
}

fn level(level: guest::LockLevel) -> LockLevel {
    match level {
        guest::LockLevel::None => LockLevel::None,
        guest::LockLevel::Shared => LockLevel::Shared,
        guest::LockLevel::Reserved => LockLevel::Reserved,
        guest::LockLevel::Pending => LockLevel::Pending,
        guest::LockLevel::Exclusive => LockLevel::Exclusive,
    }
}

impl guest::Storage for Bridge {
    fn open(
        &self,
        name: &str,
        role: guest::Role,
        options: guest::OpenOptions,
    ) -> guest::Result<Box<dyn guest::File>> {
        let role = match role {
            guest::Role::MainDatabase => Role::MainDatabase,
            guest::Role::MainJournal => Role::MainJournal,
            guest::Role::Wal => Role::Wal,
            guest::Role::SuperJournal => Role::SuperJournal,
            guest::Role::Temporary => Role::Temporary,
            guest::Role::Plain => Role::Plain,
            guest::Role::Staged => Role::Staged,
        };
        let options = OpenOptions {
            read_write: options.read_write,
            create: options.create,
            exclusive: options.exclusive,
            delete_on_close: options.delete_on_close,
        };
        let file = self.storage.open(name, role, options).map_err(code)?;
        let at = NEXT.fetch_add(1, Ordering::Relaxed);
        self.files.lock().unwrap().insert(at, file);
        Ok(Box::new(Handle {
            at,
            files: self.files.clone(),
        }))
    }

    fn delete(&self, name: &str, durable: bool) -> guest::Result<()> {
        self.storage.delete(name, durable).map_err(code)
    }

    fn exists(&self, name: &str, writable: bool) -> guest::Result<bool> {
        self.storage.exists(name, writable).map_err(code)
    }
}

impl Handle {
    fn with<T>(&self, work: impl FnOnce(&mut File) -> Result<T>) -> guest::Result<T> {
        let mut files = self.files.lock().unwrap();
        work(files.get_mut(&self.at).ok_or(guest::ErrorCode::Io)?).map_err(code)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.files.lock().unwrap().remove(&self.at);
    }
}

impl guest::File for Handle {
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> guest::Result<usize> {
        let data = self.with(|file| file.read(offset, buffer.len() as u32))?;
        buffer[..data.len()].copy_from_slice(&data);
        Ok(data.len())
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> guest::Result<()> {
        self.with(|file| file.write(offset, data))
    }

    fn truncate(&mut self, size: u64) -> guest::Result<()> {
        self.with(|file| file.truncate(size))
    }

    fn sync(&mut self, mode: guest::SyncMode) -> guest::Result<()> {
        let mode = match mode {
            guest::SyncMode::Normal => SyncMode::Normal,
            guest::SyncMode::Full => SyncMode::Full,
            guest::SyncMode::DataOnly => SyncMode::DataOnly,
        };
        self.with(|file| file.sync(mode))
    }

    fn size(&mut self) -> guest::Result<u64> {
        self.with(File::size)
    }

    fn lock(&mut self, to: guest::LockLevel) -> guest::Result<()> {
        self.with(|file| file.lock(level(to)))
    }

    fn unlock(&mut self, to: guest::LockLevel) -> guest::Result<()> {
        self.with(|file| file.unlock(level(to)))
    }

    fn check_reserved(&mut self) -> guest::Result<bool> {
        self.with(File::check_reserved)
    }

    fn device(&mut self) -> guest::Device {
        let device = self.with(|file| Ok(file.device())).unwrap();
        guest::Device {
            sector_size: device.sector_size,
            characteristics: device.characteristics,
            shared_memory: device.shared_memory,
            direct_io: true,
        }
    }

    fn is_read_only(&self) -> bool {
        self.with(|file| Ok(file.is_read_only())).unwrap()
    }

    fn has_moved(&mut self) -> bool {
        self.with(File::has_moved).unwrap_or(false)
    }

    fn publish(&mut self, replace: bool) -> guest::Result<()> {
        self.with(|file| file.publish(replace))
    }

    fn shm_map(&mut self, index: u32, over: &mut [u8], extend: bool) -> guest::Result<bool> {
        self.with(|file| {
            // SAFETY: the guest allocated it for this and keeps it until `shm_unmap`.
            let over = unsafe { ShmRegion::new(over.as_mut_ptr(), over.len()) }?;
            file.shm_map(index, over, extend)
        })
    }

    fn shm_lock(&mut self, slot: u32, count: u32, action: guest::LockAction) -> guest::Result<()> {
        let action = match action {
            guest::LockAction::LockShared => ShmAction::LockShared,
            guest::LockAction::LockExclusive => ShmAction::LockExclusive,
            guest::LockAction::UnlockShared => ShmAction::UnlockShared,
            guest::LockAction::UnlockExclusive => ShmAction::UnlockExclusive,
        };
        self.with(|file| file.shm_lock(slot, count, action))
    }

    fn shm_barrier(&mut self) {
        let _ = self.with(|file| {
            file.shm_barrier();
            Ok(())
        });
    }

    fn shm_unmap(&mut self, delete: bool) -> guest::Result<()> {
        self.with(|file| file.shm_unmap(delete))
    }
}
