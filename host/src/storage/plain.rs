//! Files that are read as they are.

use std::fs;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use super::guard::Guard;
use super::names::FilePlace;
use super::{Device, ErrorCode, Handle, Result};

/// An ordinary file, open for reading.
pub struct Plain {
    /// Taken when it is closed.
    file: Option<fs::File>,
    guard: Arc<Guard>,
}

impl Plain {
    /// Opens what is at `place`. Only an ordinary file will do: a symbolic link leads
    /// elsewhere, a pipe would be waited for, and a device may do anything.
    pub fn open(place: &FilePlace, guard: Arc<Guard>) -> Result<Self> {
        if guard.is_full() {
            return Err(ErrorCode::Io);
        }
        let there = rustix::fs::statat(&place.directory, &place.base, AtFlags::SYMLINK_NOFOLLOW)?;
        #[allow(
            clippy::unnecessary_cast,
            reason = "the types differ from system to system"
        )]
        let protected = guard.protects(there.st_dev as u64, there.st_ino as u64);
        if FileType::from_raw_mode(there.st_mode) != FileType::RegularFile || protected {
            return Err(ErrorCode::Denied);
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&place.directory, &place.base, flags, Mode::empty())?;
        let plain = Self {
            file: Some(file.into()),
            guard,
        };
        // Whatever was put in its place since.
        let metadata = plain.file()?.metadata()?;
        if !metadata.is_file() || plain.guard.protects_file(&metadata) {
            return Err(ErrorCode::Denied);
        }
        Ok(plain)
    }

    fn file(&self) -> Result<&fs::File> {
        self.file.as_ref().ok_or(ErrorCode::Io)
    }
}

impl Handle for Plain {
    fn read(&mut self, offset: u64, length: usize) -> Result<Vec<u8>> {
        let file = self.file()?;
        let size = file.metadata()?.len();
        let mut data = vec![0; size.saturating_sub(offset).min(length as u64) as usize];
        let mut there = 0;
        while there < data.len() {
            match file.read_at(&mut data[there..], offset + there as u64) {
                Ok(0) => break,
                Ok(more) => there += more,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        data.truncate(there);
        Ok(data)
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

impl Drop for Plain {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            self.guard.close(file);
        }
    }
}
