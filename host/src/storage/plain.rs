//! Files that are read as they are.

use std::fs;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use super::names::FilePlace;
use super::protected::ProtectedFiles;
use super::quota::FileId;
use super::{Device, ErrorCode, Handle, Result};

/// An ordinary file, open for reading.
pub struct PlainFile {
    /// Taken when it is closed.
    file: Option<fs::File>,
    protected: Arc<ProtectedFiles>,
}

impl PlainFile {
    /// Opens what is at `place`. Only an ordinary file will do: a symbolic link leads
    /// elsewhere, a pipe would be waited for, and a device may do anything.
    pub fn open(place: &FilePlace, protected: Arc<ProtectedFiles>) -> Result<Self> {
        if protected.is_full() {
            return Err(ErrorCode::Io);
        }
        let found = rustix::fs::statat(&place.directory, &place.base, AtFlags::SYMLINK_NOFOLLOW)?;
        let regular = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
        if !regular || protected.contains(FileId::from(&found)) {
            return Err(ErrorCode::Denied);
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&place.directory, &place.base, flags, Mode::empty())?;
        let plain = Self {
            file: Some(file.into()),
            protected,
        };
        // Whatever was put in its place since.
        let file = plain.file()?;
        if !file.metadata()?.is_file() || plain.protected.contains_file(file) {
            return Err(ErrorCode::Denied);
        }
        Ok(plain)
    }

    fn file(&self) -> Result<&fs::File> {
        self.file.as_ref().ok_or(ErrorCode::Io)
    }
}

impl Handle for PlainFile {
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let file = self.file()?;
        let mut filled = 0;
        while filled < buffer.len() {
            match file.read_at(&mut buffer[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(more) => filled += more,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(filled)
    }

    fn write(&mut self, _offset: u64, _data: &[u8]) -> Result<()> {
        Err(ErrorCode::ReadOnly)
    }

    fn truncate(&mut self, _size: u64) -> Result<()> {
        Err(ErrorCode::ReadOnly)
    }

    fn size(&mut self) -> Result<u64> {
        Ok(self.file()?.metadata()?.len())
    }

    fn device(&mut self) -> Device {
        Device::PRIVATE
    }

    fn is_read_only(&self) -> bool {
        true
    }
}

impl Drop for PlainFile {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            self.protected.close(file);
        }
    }
}
