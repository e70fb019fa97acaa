//! Real files, for unit tests that run natively: relative paths below the folder of the process.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::memory::Memory;
use super::{
    Device, ErrorCode, File, LockAction, LockLevel, OpenOptions, Result, Role, Storage, SyncMode,
};

/// The files below the current folder, without any of the host's care.
#[derive(Debug)]
pub struct Local;

fn code(error: std::io::Error) -> ErrorCode {
    match error.kind() {
        std::io::ErrorKind::NotFound => ErrorCode::NotFound,
        std::io::ErrorKind::AlreadyExists => ErrorCode::Exists,
        _ => ErrorCode::Io,
    }
}

thread_local! {
    /// Where the records in memory are that a test wants to look after.
    pub static RECORDS: RefCell<Option<Memory>> = const { RefCell::new(None) };
}

/// A file of undo's record: in memory, or wherever a test wants it to outlive an engine.
fn record(name: &str) -> Result<Box<dyn File>> {
    if name.starts_with(":memory:") {
        let new = OpenOptions {
            read_write: true,
            ..OpenOptions::default()
        };
        if let Some(memory) = RECORDS.with_borrow(Clone::clone) {
            let create = OpenOptions {
                create: true,
                ..new
            };
            return memory.open(name, Role::MainDatabase, create);
        }
        return Memory::default().open("", Role::Temporary, new);
    }
    let file = fs::File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(name)
        .map_err(code)?;
    Ok(Box::new(LocalFile { file, staged: None }))
}

impl Storage for Local {
    fn open(&self, name: &str, role: Role, options: OpenOptions) -> Result<Box<dyn File>> {
        if matches!(role, Role::MainDatabase | Role::MainJournal) && !name.is_empty() {
            return record(name);
        }
        if name.starts_with('/') || name.contains("..") {
            return Err(ErrorCode::Denied);
        }
        let path = PathBuf::from(name);
        let (file, staged) = match role {
            Role::Plain => (fs::File::open(&path).map_err(code)?, None),
            Role::Staged if options.exclusive && path.exists() => return Err(ErrorCode::Exists),
            Role::Staged => {
                let meanwhile = PathBuf::from(format!("{name}.meanwhile"));
                let file = fs::File::options()
                    .read(true)
                    .write(true)
                    .create(true)
                    .truncate(true)
                    .open(&meanwhile)
                    .map_err(code)?;
                (file, Some((meanwhile, path)))
            }
            _ => return Err(ErrorCode::Denied),
        };
        Ok(Box::new(LocalFile { file, staged }))
    }

    fn delete(&self, _name: &str, _durable: bool) -> Result<()> {
        Err(ErrorCode::Denied)
    }

    fn exists(&self, name: &str, writable: bool) -> Result<bool> {
        let there = fs::metadata(name);
        Ok(there.is_ok_and(|file| !writable || !file.permissions().readonly()))
    }
}

struct LocalFile {
    file: fs::File,
    /// What it is called, and what it will be called.
    staged: Option<(PathBuf, PathBuf)>,
}

impl Drop for LocalFile {
    fn drop(&mut self) {
        if let Some((meanwhile, _)) = &self.staged {
            let _ = fs::remove_file(meanwhile);
        }
    }
}

impl File for LocalFile {
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let mut there = 0;
        while there < buffer.len() {
            let at = offset + there as u64;
            match self.file.read_at(&mut buffer[there..], at).map_err(code)? {
                0 => break,
                more => there += more,
            }
        }
        Ok(there)
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> Result<()> {
        self.file.write_all_at(data, offset).map_err(code)
    }

    fn truncate(&mut self, size: u64) -> Result<()> {
        self.file.set_len(size).map_err(code)
    }

    fn sync(&mut self, _mode: SyncMode) -> Result<()> {
        Ok(())
    }

    fn size(&mut self) -> Result<u64> {
        Ok(self.file.metadata().map_err(code)?.len())
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

    fn device(&mut self) -> Device {
        Device {
            sector_size: 4096,
            characteristics: 0,
            shared_memory: false,
            direct_io: false,
        }
    }

    fn is_read_only(&self) -> bool {
        self.staged.is_none()
    }

    fn publish(&mut self, replace: bool) -> Result<()> {
        let (meanwhile, path) = self.staged.as_ref().ok_or(ErrorCode::Invalid)?;
        if path.exists() && !replace {
            return Err(ErrorCode::Exists);
        }
        fs::rename(meanwhile, path).map_err(code)?;
        self.staged = None;
        Ok(())
    }

    fn shm_map(&mut self, _region: u32, _buffer: &mut [u8], _extend: bool) -> Result<bool> {
        Err(ErrorCode::Unsupported)
    }

    fn shm_lock(&mut self, _slot: u32, _count: u32, _action: LockAction) -> Result<()> {
        Err(ErrorCode::Unsupported)
    }

    fn shm_barrier(&mut self) {}

    fn shm_unmap(&mut self, _delete: bool) -> Result<()> {
        Ok(())
    }
}
