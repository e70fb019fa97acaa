//! Files without a name: sorter runs, temporary tables, statement journals.

use std::fs;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use rusqlite::ffi;

use super::budget::Budget;
use super::{Device, ErrorCode, Handle, Result};

/// An unnamed file of the operating system; gone when it is closed, also by a crash.
pub struct Temporary {
    file: fs::File,
    size: u64,
    budget: Arc<Budget>,
}

impl Temporary {
    /// An empty one.
    pub fn new(budget: Arc<Budget>) -> Result<Self> {
        let file = tempfile::tempfile().map_err(code)?;
        Ok(Self {
            file,
            size: 0,
            budget,
        })
    }

    /// Pays for growth to `size`, lets `change` make it, and takes the payment back if that fails.
    fn grow(
        &mut self,
        size: u64,
        change: impl FnOnce(&fs::File) -> std::io::Result<()>,
    ) -> Result<()> {
        let growth = size.saturating_sub(self.size);
        self.budget.take(growth)?;
        if let Err(error) = change(&self.file) {
            self.budget.give(growth);
            return Err(code(error));
        }
        self.size += growth;
        Ok(())
    }
}

impl Handle for Temporary {
    fn read(&mut self, offset: u64, length: usize) -> Result<Vec<u8>> {
        let there = self.size.saturating_sub(offset).min(length as u64);
        let mut data = vec![0; there as usize];
        self.file.read_exact_at(&mut data, offset).map_err(code)?;
        Ok(data)
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> Result<()> {
        self.grow(offset + data.len() as u64, |file| {
            file.write_all_at(data, offset)
        })
    }

    fn truncate(&mut self, size: u64) -> Result<()> {
        if size > self.size {
            return self.grow(size, |file| file.set_len(size));
        }
        self.file.set_len(size).map_err(code)?;
        self.budget.give(self.size - size);
        self.size = size;
        Ok(())
    }

    fn size(&mut self) -> Result<u64> {
        Ok(self.size)
    }

    fn device(&mut self) -> Device {
        Device {
            sector_size: 4096,
            characteristics: ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE as u32,
            shared_memory: false,
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        self.budget.give(self.size);
    }
}

fn code(error: std::io::Error) -> ErrorCode {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    match error.kind() {
        StorageFull | QuotaExceeded | FileTooLarge => ErrorCode::Full,
        _ => ErrorCode::Io,
    }
}
