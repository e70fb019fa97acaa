//! Files that nobody else can reach: temporary ones, and those that have no name yet.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::quota::Quota;
use super::{Device, Handle, Result};

/// A file whose size only this handle changes, and whose bytes are paid for.
pub struct TemporaryFile {
    file: fs::File,
    size: u64,
    /// The least that it costs, in bytes.
    floor: u64,
    /// Whether it stays paid for when the handle goes.
    persisted: bool,
    quota: Arc<Quota>,
}

impl TemporaryFile {
    /// An empty file of the operating system without a name, for sorter runs, temporary
    /// tables and statement journals; gone when it is closed, also by a crash.
    pub fn unnamed(quota: Arc<Quota>) -> Result<Self> {
        Ok(Self::new(tempfile::tempfile()?, 0, quota))
    }

    /// The empty `file`, for which `floor` bytes have been taken from the quota.
    pub fn new(file: fs::File, floor: u64, quota: Arc<Quota>) -> Self {
        Self {
            file,
            size: 0,
            floor,
            persisted: false,
            quota,
        }
    }

    /// The file itself; its size must not be changed.
    pub fn file(&self) -> &fs::File {
        &self.file
    }

    /// The quota that pays for it.
    pub fn quota(&self) -> &Quota {
        &self.quota
    }

    /// Notes that the file outlives its handle.
    pub fn persist(&mut self) {
        self.persisted = true;
    }

    fn cost(&self, size: u64) -> u64 {
        size.max(self.floor)
    }

    /// Pays for growth to `size`, lets `change` make it, and takes the payment back if that fails.
    fn grow(&mut self, size: u64, change: impl FnOnce(&fs::File) -> io::Result<()>) -> Result<()> {
        let size = size.max(self.size);
        let growth = self.cost(size) - self.cost(self.size);
        self.quota.take(growth)?;
        if let Err(error) = change(&self.file) {
            self.quota.give(growth);
            return Err(error.into());
        }
        self.size = size;
        Ok(())
    }
}

impl Handle for TemporaryFile {
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let there = self.size.saturating_sub(offset).min(buffer.len() as u64) as usize;
        self.file.read_exact_at(&mut buffer[..there], offset)?;
        Ok(there)
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
        self.file.set_len(size)?;
        self.quota.give(self.cost(self.size) - self.cost(size));
        self.size = size;
        Ok(())
    }

    fn size(&mut self) -> Result<u64> {
        Ok(self.size)
    }

    fn device(&mut self) -> Device {
        Device::PRIVATE
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.persisted {
            self.quota.give(self.cost(self.size));
        }
    }
}
