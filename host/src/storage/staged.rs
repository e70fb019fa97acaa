//! Files that have no name until they are whole.
//!
//! What is written lies in an unnamed file of the folder that it is meant for
//! (`O_TMPFILE`), or, where there are none, under a name of its own that goes
//! with it. Publishing gives it its name in one step. Whatever happens before
//! that, nobody sees a half of it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use rusqlite::ffi;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::names::FilePlace;
use super::native::NativeFile;
use super::protected::ProtectedFiles;
use super::quota::{FILE_BYTES, FileId, Quota};
use super::temporary::TemporaryFile;
use super::{Device, ErrorCode, Handle, LockLevel, Result};

/// What the files beside a database that is in use are called.
const COMPANIONS: [&str; 2] = ["-journal", "-wal"];

/// How often a new name is tried before a folder counts as hopeless.
const NAMES: u32 = 16;

/// A new file and the name that it is to get.
pub struct StagedFile {
    file: TemporaryFile,
    place: FilePlace,
    /// Its name meanwhile, where it has to have one.
    name: Option<OsString>,
    published: bool,
    protected: Arc<ProtectedFiles>,
}

impl StagedFile {
    /// An empty one for `place`, where nothing may be if `exclusive`.
    pub fn new(
        place: FilePlace,
        exclusive: bool,
        quota: Arc<Quota>,
        protected: Arc<ProtectedFiles>,
    ) -> Result<Self> {
        if place.readonly {
            return Err(ErrorCode::ReadOnly);
        }
        match stat(&place)? {
            Some(_) if exclusive => return Err(ErrorCode::Exists),
            Some(old) => check_replaceable(&old, &protected)?,
            None => {}
        }
        quota.take(FILE_BYTES)?;
        let made = create_in(&place.directory).inspect_err(|_| quota.give(FILE_BYTES));
        let (file, name) = made?;
        Ok(Self {
            file: TemporaryFile::new(file, FILE_BYTES, quota),
            place,
            name,
            published: false,
            protected,
        })
    }

    /// Gives the file its name, if nothing has it.
    fn link(&self) -> rustix::io::Result<()> {
        let (directory, base) = (&self.place.directory, self.place.base.as_os_str());
        match &self.name {
            None => link_unnamed(self.file.file(), directory, base),
            Some(name) => {
                rustix::fs::linkat(directory, name, directory, base, AtFlags::empty())?;
                let _ = rustix::fs::unlinkat(directory, name, AtFlags::empty());
                Ok(())
            }
        }
    }

    /// Gives the file its name and takes that from what has it.
    fn replace(&mut self, old: &Stat) -> Result<()> {
        check_replaceable(old, &self.protected)?;
        // Nobody may be in a transaction on what goes; whoever has it open is not
        // let into another (`databaseIsUnmoved` in SQLite's `pager.c`).
        let flags = ffi::SQLITE_OPEN_MAIN_DB | ffi::SQLITE_OPEN_READWRITE;
        let (mut locked, read_only) = NativeFile::open(&self.place.path(), flags)?;
        if read_only {
            return Err(ErrorCode::ReadOnly);
        }
        locked.lock(LockLevel::Shared)?;
        locked.lock(LockLevel::Exclusive)?;
        self.check_companions()?;
        // Not readable by more people than before.
        let mode = fs::Permissions::from_mode(old.st_mode & 0o777);
        self.file.file().set_permissions(mode)?;
        let directory = &self.place.directory;
        if self.name.is_none() {
            self.name = Some(unused_name(|name| {
                link_unnamed(self.file.file(), directory, name)
            })?);
        }
        let name = self.name.as_deref().unwrap_or_default();
        rustix::fs::renameat(directory, name, directory, &self.place.base)?;
        let size = u64::try_from(old.st_size).unwrap_or_default();
        self.file.quota().replaced(FileId::from(old), size);
        Ok(())
    }

    /// Refuses a name at which SQLite would find another file's journal or log.
    fn check_companions(&self) -> Result<()> {
        for suffix in COMPANIONS {
            let mut base = self.place.base.clone();
            base.push(suffix);
            match rustix::fs::statat(&self.place.directory, base, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(_) => return Err(ErrorCode::Busy),
                Err(Errno::NOENT) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

impl Handle for StagedFile {
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        self.file.read(offset, buffer)
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> Result<()> {
        self.file.write(offset, data)
    }

    fn truncate(&mut self, size: u64) -> Result<()> {
        self.file.truncate(size)
    }

    fn size(&mut self) -> Result<u64> {
        self.file.size()
    }

    fn device(&mut self) -> Device {
        self.file.device()
    }

    fn is_read_only(&self) -> bool {
        self.published
    }

    fn publish(&mut self, replace: bool) -> Result<()> {
        if self.published {
            return Err(ErrorCode::Invalid);
        }
        self.file.file().sync_all()?;
        self.check_companions()?;
        match self.link() {
            Ok(()) => {}
            Err(Errno::EXIST) if !replace => return Err(ErrorCode::Exists),
            Err(Errno::EXIST) => {
                let old = stat(&self.place)?.ok_or(ErrorCode::Busy)?;
                self.replace(&old)?;
            }
            Err(error) => return Err(error.into()),
        }
        self.name = None;
        self.published = true;
        self.file.persist();
        // The name is there; a folder that cannot be synced is no reason to say that it is not.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let _ = rustix::fs::openat(&self.place.directory, ".", flags, Mode::empty())
            .and_then(rustix::fs::fsync);
        Ok(())
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        if let Some(name) = self.name.take() {
            let _ = rustix::fs::unlinkat(&self.place.directory, &name, AtFlags::empty());
        }
    }
}

/// What has the name, if anything.
fn stat(place: &FilePlace) -> Result<Option<Stat>> {
    match rustix::fs::statat(&place.directory, &place.base, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Refuses to replace what is no ordinary file, or a database that this process has open.
fn check_replaceable(old: &Stat, protected: &ProtectedFiles) -> Result<()> {
    let regular = FileType::from_raw_mode(old.st_mode) == FileType::RegularFile;
    if regular && !protected.contains(FileId::from(old)) {
        Ok(())
    } else {
        Err(ErrorCode::Denied)
    }
}

/// A new file in `directory`, and its name if it has to have one.
fn create_in(directory: &fs::File) -> rustix::io::Result<(fs::File, Option<OsString>)> {
    let mode = Mode::from_raw_mode(0o666);
    #[cfg(target_os = "linux")]
    if fs::exists("/proc/self/fd").unwrap_or(false) {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        match rustix::fs::openat(directory, ".", flags, mode) {
            Ok(file) => return Ok((file.into(), None)),
            // The file system has no such files, or does not know what they are.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => {}
            Err(error) => return Err(error),
        }
    }
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = None;
    let name = unused_name(|name| {
        file = Some(rustix::fs::openat(directory, name, flags, mode)?);
        Ok(())
    })?;
    let file = file.ok_or(Errno::IO)?;
    Ok((file.into(), Some(name)))
}

/// Gives an unnamed file a name that nothing has.
fn link_unnamed(file: &fs::File, directory: &fs::File, name: &OsStr) -> rustix::io::Result<()> {
    use std::os::fd::AsRawFd;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    rustix::fs::linkat(
        rustix::fs::CWD,
        path,
        directory,
        name,
        AtFlags::SYMLINK_FOLLOW,
    )
}

/// A name that `take` could take, nothing having had it.
fn unused_name(
    mut take: impl FnMut(&OsStr) -> rustix::io::Result<()>,
) -> rustix::io::Result<OsString> {
    for _ in 0..NAMES {
        let number = getrandom::u64().map_err(|_| Errno::IO)?;
        let name = OsString::from_vec(format!(".sqlarium-{number:016x}").into_bytes());
        match take(OsStr::from_bytes(name.as_bytes())) {
            Err(Errno::EXIST) => {}
            done => return done.map(|()| name),
        }
    }
    Err(Errno::EXIST)
}
