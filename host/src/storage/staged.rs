//! Files that have no name until they are whole.
//!
//! What is written lies in an unnamed file of the folder that it is meant for
//! (`O_TMPFILE`), or, where there are none, under a name of its own that goes
//! with it. Publishing gives it its name in one step. Whatever happens before
//! that, nobody sees a half of it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::sync::Arc;

use rusqlite::ffi;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::budget::{Budget, FILE_BYTES};
use super::guard::Guard;
use super::names::FilePlace;
use super::native::NativeFile;
use super::{Device, ErrorCode, Handle, LockLevel, Result};

/// What the files beside a database that is in use are called.
const COMPANIONS: [&str; 2] = ["-journal", "-wal"];

/// How often a new name is tried before a folder counts as hopeless.
const NAMES: u32 = 16;

/// A file that is being made.
pub struct Staged {
    file: fs::File,
    place: FilePlace,
    /// Its name meanwhile, where it has to have one.
    name: Option<OsString>,
    size: u64,
    paid: u64,
    published: bool,
    budget: Arc<Budget>,
    guard: Arc<Guard>,
}

impl Staged {
    /// An empty one for `place`, where nothing may be if `exclusive`.
    pub fn new(
        place: FilePlace,
        exclusive: bool,
        budget: Arc<Budget>,
        guard: Arc<Guard>,
    ) -> Result<Self> {
        if place.readonly {
            return Err(ErrorCode::ReadOnly);
        }
        match look(&place)? {
            Some(_) if exclusive => return Err(ErrorCode::Exists),
            Some(there) => replaceable(&there, &guard)?,
            None => {}
        }
        budget.take(FILE_BYTES)?;
        let made = make(&place.directory).inspect_err(|_| budget.give(FILE_BYTES));
        let (file, name) = made.map_err(code)?;
        Ok(Self {
            file,
            place,
            name,
            size: 0,
            paid: FILE_BYTES,
            published: false,
            budget,
            guard,
        })
    }

    /// Pays for growth to `size`, lets `change` make it, and takes the payment back if that fails.
    fn grow(&mut self, size: u64, change: impl FnOnce(&fs::File) -> io::Result<()>) -> Result<()> {
        let growth = size.saturating_sub(self.paid);
        self.budget.take(growth)?;
        if let Err(error) = change(&self.file) {
            self.budget.give(growth);
            return Err(error_code(&error));
        }
        self.paid += growth;
        self.size = self.size.max(size);
        Ok(())
    }

    /// Gives the file its name, if nothing has it.
    fn link(&self) -> rustix::io::Result<()> {
        let (directory, base) = (&self.place.directory, self.place.base.as_os_str());
        match &self.name {
            None => link_unnamed(&self.file, directory, base),
            Some(name) => {
                rustix::fs::linkat(directory, name, directory, base, AtFlags::empty())?;
                let _ = rustix::fs::unlinkat(directory, name, AtFlags::empty());
                Ok(())
            }
        }
    }

    /// Gives the file its name and takes that from what has it.
    fn supplant(&mut self, there: &Stat) -> Result<()> {
        replaceable(there, &self.guard)?;
        // Nobody may be in a transaction on what goes; whoever has it open is not
        // let into another (`databaseIsUnmoved` in SQLite's `pager.c`).
        let flags = ffi::SQLITE_OPEN_MAIN_DB | ffi::SQLITE_OPEN_READWRITE;
        let (mut old, read_only) = NativeFile::open(&self.place.path(), flags)?;
        if read_only {
            return Err(ErrorCode::ReadOnly);
        }
        old.lock(LockLevel::Shared)?;
        old.lock(LockLevel::Exclusive)?;
        self.companions()?;
        // Not readable by more people than before.
        let mode = fs::Permissions::from_mode(there.st_mode & 0o777);
        self.file
            .set_permissions(mode)
            .map_err(|error| error_code(&error))?;
        let directory = &self.place.directory;
        if self.name.is_none() {
            self.name =
                Some(unused_name(|name| link_unnamed(&self.file, directory, name)).map_err(code)?);
        }
        let name = self.name.as_deref().unwrap_or_default();
        rustix::fs::renameat(directory, name, directory, &self.place.base).map_err(code)
    }

    /// Refuses a name at which SQLite would find another file's journal or log.
    fn companions(&self) -> Result<()> {
        for suffix in COMPANIONS {
            let mut base = self.place.base.clone();
            base.push(suffix);
            match rustix::fs::statat(&self.place.directory, base, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(_) => return Err(ErrorCode::Busy),
                Err(Errno::NOENT) => {}
                Err(error) => return Err(code(error)),
            }
        }
        Ok(())
    }
}

impl Handle for Staged {
    fn read(&mut self, offset: u64, length: usize) -> Result<Vec<u8>> {
        let there = self.size.saturating_sub(offset).min(length as u64);
        let mut data = vec![0; there as usize];
        self.file
            .read_exact_at(&mut data, offset)
            .map_err(|error| error_code(&error))?;
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
        self.file
            .set_len(size)
            .map_err(|error| error_code(&error))?;
        let paid = size.max(FILE_BYTES);
        self.budget.give(self.paid.saturating_sub(paid));
        self.paid = self.paid.min(paid);
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

    fn is_read_only(&self) -> bool {
        self.published
    }

    fn publish(&mut self, replace: bool) -> Result<()> {
        if self.published {
            return Err(ErrorCode::Invalid);
        }
        self.file.sync_all().map_err(|error| error_code(&error))?;
        self.companions()?;
        match self.link() {
            Ok(()) => {}
            Err(Errno::EXIST) if !replace => return Err(ErrorCode::Exists),
            Err(Errno::EXIST) => {
                let there = look(&self.place)?.ok_or(ErrorCode::Busy)?;
                self.supplant(&there)?;
            }
            Err(error) => return Err(code(error)),
        }
        self.name = None;
        self.published = true;
        // The name is there; a folder that cannot be synced is no reason to say that it is not.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let _ = rustix::fs::openat(&self.place.directory, ".", flags, Mode::empty())
            .and_then(rustix::fs::fsync);
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some(name) = self.name.take() {
            let _ = rustix::fs::unlinkat(&self.place.directory, &name, AtFlags::empty());
        }
        if !self.published {
            self.budget.give(self.paid);
        }
    }
}

/// What has the name, if anything.
fn look(place: &FilePlace) -> Result<Option<Stat>> {
    match rustix::fs::statat(&place.directory, &place.base, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(code(error)),
    }
}

/// Refuses to replace what is no ordinary file, or a database that this process has open.
fn replaceable(there: &Stat, guard: &Guard) -> Result<()> {
    let regular = FileType::from_raw_mode(there.st_mode) == FileType::RegularFile;
    #[allow(
        clippy::unnecessary_cast,
        reason = "the types differ from system to system"
    )]
    let protected = guard.protects(there.st_dev as u64, there.st_ino as u64);
    if regular && !protected {
        Ok(())
    } else {
        Err(ErrorCode::Denied)
    }
}

/// A new file in `directory`, and its name if it has to have one.
fn make(directory: &fs::File) -> rustix::io::Result<(fs::File, Option<OsString>)> {
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

fn code(error: Errno) -> ErrorCode {
    error_code(&error.into())
}

/// What a failure of the operating system means to the guest.
pub fn error_code(error: &io::Error) -> ErrorCode {
    use io::ErrorKind as K;
    // What a symbolic link is refused as has no stable name in the standard library.
    if error.raw_os_error() == Some(libc::ELOOP) {
        return ErrorCode::Denied;
    }
    match error.kind() {
        K::StorageFull | K::QuotaExceeded | K::FileTooLarge => ErrorCode::Full,
        K::NotFound => ErrorCode::NotFound,
        K::ReadOnlyFilesystem => ErrorCode::ReadOnly,
        K::PermissionDenied | K::NotADirectory | K::InvalidFilename => ErrorCode::Denied,
        _ => ErrorCode::Io,
    }
}

impl Guard {
    /// Whether this is a file of the served database, or a database that is open.
    pub fn protects_file(&self, metadata: &fs::Metadata) -> bool {
        self.protects(metadata.dev(), metadata.ino())
    }
}
