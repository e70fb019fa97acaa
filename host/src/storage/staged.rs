//! Files that have no name until they are whole.
//!
//! What is written lies in an unnamed file of the folder that it is meant for
//! (`O_TMPFILE`), or, where there are none, under a name of its own that goes
//! with it. Publishing gives it its name in one step. Whatever happens before
//! that, nobody sees a half of it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::Arc;

use rusqlite::ffi;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::budget::{Budget, FILE_BYTES, FileId};
use super::guard::Guard;
use super::names::FilePlace;
use super::native::NativeFile;
use super::owned::Owned;
use super::{Device, ErrorCode, Handle, LockLevel, Result};

/// What the files beside a database that is in use are called.
const COMPANIONS: [&str; 2] = ["-journal", "-wal"];

/// How often a new name is tried before a folder counts as hopeless.
const NAMES: u32 = 16;

/// A file that is being made.
pub struct Staged {
    file: Owned,
    place: FilePlace,
    /// Its name meanwhile, where it has to have one.
    name: Option<OsString>,
    published: bool,
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
        let (file, name) = made?;
        Ok(Self {
            file: Owned::new(file, FILE_BYTES, budget),
            place,
            name,
            published: false,
            guard,
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
        let file = self.file.file();
        file.set_permissions(mode)?;
        let directory = &self.place.directory;
        if self.name.is_none() {
            self.name = Some(unused_name(|name| {
                link_unnamed(self.file.file(), directory, name)
            })?);
        }
        let name = self.name.as_deref().unwrap_or_default();
        rustix::fs::renameat(directory, name, directory, &self.place.base)?;
        self.file.budget().replaced(
            FileId {
                #[allow(
                    clippy::unnecessary_cast,
                    reason = "the types differ from system to system"
                )]
                device: there.st_dev as u64,
                inode: there.st_ino,
                index: false,
            },
            u64::try_from(there.st_size).unwrap_or_default(),
        );
        Ok(())
    }

    /// Refuses a name at which SQLite would find another file's journal or log.
    fn companions(&self) -> Result<()> {
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

impl Handle for Staged {
    fn read(&mut self, offset: u64, length: usize) -> Result<Vec<u8>> {
        self.file.read(offset, length)
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
        self.companions()?;
        match self.link() {
            Ok(()) => {}
            Err(Errno::EXIST) if !replace => return Err(ErrorCode::Exists),
            Err(Errno::EXIST) => {
                let there = look(&self.place)?.ok_or(ErrorCode::Busy)?;
                self.supplant(&there)?;
            }
            Err(error) => return Err(error.into()),
        }
        self.name = None;
        self.published = true;
        self.file.keep();
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
    }
}

/// What has the name, if anything.
fn look(place: &FilePlace) -> Result<Option<Stat>> {
    match rustix::fs::statat(&place.directory, &place.base, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
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

impl Guard {
    /// Whether this is a file of the served database, or a database that is open.
    pub fn protects_file(&self, metadata: &fs::Metadata) -> bool {
        self.protects(metadata.dev(), metadata.ino())
    }
}
