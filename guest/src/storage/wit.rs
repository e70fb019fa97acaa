//! The storage that the host provides (`wit/storage.wit`, `wit/shared-memory.wit`, `wit/direct-io.wit`).

use std::hint::black_box;

use super::{
    Device, ErrorCode, File, LockAction, LockLevel, OpenOptions, Result, Role, Storage, SyncMode,
};
use crate::bindings::sqlarium::sandbox::{control, direct_io, shared_memory, storage as wit};

/// Lets up to `ms` milliseconds pass, as SQLite asks its file layer to. The host wakes us when the
/// call has to end; SQLite asks for that by itself.
pub(crate) fn sleep(ms: u32) {
    let _ = control::wait(ms);
}

/// The offset of the owner's local time from UTC at a time since 1970, both in seconds.
pub(crate) fn offset_at(seconds: i64) -> i32 {
    control::offset_at(seconds)
}

/// The host's files.
#[derive(Debug)]
pub(crate) struct Imported;

impl Storage for Imported {
    fn open(&self, name: &str, role: Role, options: OpenOptions) -> Result<Box<dyn File>> {
        let role = match role {
            Role::MainDatabase => wit::Role::MainDatabase,
            Role::MainJournal => wit::Role::MainJournal,
            Role::Wal => wit::Role::Wal,
            Role::SuperJournal => wit::Role::SuperJournal,
            Role::Temporary => wit::Role::Temporary,
            Role::Plain => wit::Role::Plain,
            Role::Staged => wit::Role::Staged,
        };
        let flags = [
            (options.read_write, wit::OpenOptions::READ_WRITE),
            (options.create, wit::OpenOptions::CREATE),
            (options.exclusive, wit::OpenOptions::EXCLUSIVE),
            (options.delete_on_close, wit::OpenOptions::DELETE_ON_CLOSE),
        ];
        let flags = flags
            .into_iter()
            .filter(|(on, _)| *on)
            .fold(wit::OpenOptions::empty(), |all, (_, flag)| all | flag);
        let file = wit::open(name, role, flags)?;
        let device = file.device();
        Ok(Box::new(ImportedFile {
            read_only: file.is_read_only(),
            device: Device {
                sector_size: device.sector_size,
                characteristics: device.characteristics,
                shared_memory: device.shared_memory,
                direct_io: device.direct_io,
            },
            file,
        }))
    }

    fn delete(&self, name: &str, durable: bool) -> Result<()> {
        Ok(wit::delete(name, durable)?)
    }

    fn exists(&self, name: &str, writable: bool) -> Result<bool> {
        Ok(wit::exists(name, writable)?)
    }
}

struct ImportedFile {
    file: wit::File,
    device: Device,
    read_only: bool,
}

impl File for ImportedFile {
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        if self.device.direct_io {
            let there = direct_io::read(&self.file, offset, buffer)?;
            // The host wrote into it behind the compiler's back.
            black_box(buffer);
            return usize::try_from(there).map_err(|_| ErrorCode::Io);
        }
        let length = u32::try_from(buffer.len()).map_err(|_| ErrorCode::Invalid)?;
        let data = self.file.read(offset, length)?;
        buffer
            .get_mut(..data.len())
            .ok_or(ErrorCode::Io)?
            .copy_from_slice(&data);
        Ok(data.len())
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> Result<()> {
        Ok(self.file.write(offset, data)?)
    }

    fn truncate(&mut self, size: u64) -> Result<()> {
        Ok(self.file.truncate(size)?)
    }

    fn sync(&mut self, mode: SyncMode) -> Result<()> {
        Ok(self.file.sync(match mode {
            SyncMode::Normal => wit::SyncMode::Normal,
            SyncMode::Full => wit::SyncMode::Full,
            SyncMode::DataOnly => wit::SyncMode::DataOnly,
        })?)
    }

    fn size(&mut self) -> Result<u64> {
        Ok(self.file.size()?)
    }

    fn lock(&mut self, level: LockLevel) -> Result<()> {
        Ok(self.file.lock(level.into())?)
    }

    fn unlock(&mut self, level: LockLevel) -> Result<()> {
        Ok(self.file.unlock(level.into())?)
    }

    fn check_reserved(&mut self) -> Result<bool> {
        Ok(self.file.check_reserved()?)
    }

    fn device(&mut self) -> Device {
        self.device
    }

    fn is_read_only(&self) -> bool {
        self.read_only
    }

    fn has_moved(&mut self) -> bool {
        self.file.has_moved()
    }

    fn publish(&mut self, replace: bool) -> Result<()> {
        Ok(self.file.publish(replace)?)
    }

    fn shm_map(&mut self, region: u32, buffer: &mut [u8], extend: bool) -> Result<bool> {
        let exists = shared_memory::map_region(&self.file, region, buffer, extend)?;
        black_box(buffer);
        Ok(exists)
    }

    fn shm_lock(&mut self, slot: u32, count: u32, action: LockAction) -> Result<()> {
        let action = match action {
            LockAction::LockShared => shared_memory::LockAction::LockShared,
            LockAction::LockExclusive => shared_memory::LockAction::LockExclusive,
            LockAction::UnlockShared => shared_memory::LockAction::UnlockShared,
            LockAction::UnlockExclusive => shared_memory::LockAction::UnlockExclusive,
        };
        Ok(shared_memory::lock(&self.file, slot, count, action)?)
    }

    fn shm_barrier(&mut self) {
        shared_memory::barrier(&self.file);
    }

    fn shm_unmap(&mut self, delete: bool) -> Result<()> {
        Ok(shared_memory::unmap(&self.file, delete)?)
    }
}

impl From<LockLevel> for wit::LockLevel {
    fn from(level: LockLevel) -> Self {
        match level {
            LockLevel::None => Self::None,
            LockLevel::Shared => Self::Shared,
            LockLevel::Reserved => Self::Reserved,
            LockLevel::Pending => Self::Pending,
            LockLevel::Exclusive => Self::Exclusive,
        }
    }
}

impl From<wit::ErrorCode> for ErrorCode {
    fn from(code: wit::ErrorCode) -> Self {
        match code {
            wit::ErrorCode::Busy => Self::Busy,
            wit::ErrorCode::Full => Self::Full,
            wit::ErrorCode::NotFound => Self::NotFound,
            wit::ErrorCode::Denied => Self::Denied,
            wit::ErrorCode::ReadOnly => Self::ReadOnly,
            wit::ErrorCode::CannotInit => Self::CannotInit,
            wit::ErrorCode::Unsupported => Self::Unsupported,
            wit::ErrorCode::Invalid => Self::Invalid,
            wit::ErrorCode::Io => Self::Io,
            wit::ErrorCode::Exists => Self::Exists,
        }
    }
}
