//! The folder below which other files may be named.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::sync::{Mutex, PoisonError};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::fs::{AtFlags, FileType};

use super::names::{FilePlace, PATH_BYTES, Root};
use super::{ErrorCode, Result};

/// How many directories below the root are kept open.
#[cfg(target_os = "linux")]
const DIRECTORIES: usize = 256;

/// The root, and the directories below it that were used.
pub struct OpenRoot {
    directory: Dir,
    /// Its absolute path.
    pub path: PathBuf,
    /// Whether files below it are only read.
    pub readonly: bool,
    /// Open for as long as the storage: SQLite keeps paths through these
    /// descriptors for longer than the file that brought them up.
    #[cfg(target_os = "linux")]
    used: Mutex<Vec<Used>>,
}

/// A directory below the root.
#[cfg(target_os = "linux")]
struct Used {
    file: fs::File,
    device: u64,
    inode: u64,
}

impl OpenRoot {
    /// Opens it.
    pub fn new(root: Root) -> io::Result<Self> {
        Ok(Self {
            directory: Dir::open_ambient_dir(&root.directory, ambient_authority())?,
            path: fs::canonicalize(&root.directory)?,
            readonly: root.readonly,
            #[cfg(target_os = "linux")]
            used: Mutex::default(),
        })
    }

    /// The directory of the file `name`, a relative path, its path below the root, and the name in it.
    fn enter<'a>(&self, name: &'a str) -> Result<(fs::File, &'a Path, &'a OsStr)> {
        // Not left to `Path`, which overlooks `//`, `/./` and a final `/`.
        if name.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(ErrorCode::Denied);
        }
        let path = Path::new(name);
        let (Some(base), Some(parent)) = (path.file_name(), path.parent()) else {
            return Err(ErrorCode::Denied);
        };
        let parent = if parent.as_os_str().is_empty() {
            Path::new(".")
        } else {
            parent
        };
        // Follows symbolic links as long as they stay below the root, component by component, whatever happens meanwhile.
        let directory = self
            .directory
            .open_dir(parent)
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ErrorCode::NotFound,
                io::ErrorKind::PermissionDenied => ErrorCode::Denied,
                _ => ErrorCode::Io,
            })?;
        Ok((directory.into_std_file(), parent, base))
    }

    /// Refuses a file that has other names: they may be outside, and whoever put this one
    /// here may not have been let in there.
    fn check_links(directory: &fs::File, base: &OsStr) -> Result<()> {
        match rustix::fs::statat(directory, base, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat)
                if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
                    && stat.st_nlink > 1 =>
            {
                Err(ErrorCode::Denied)
            }
            _ => Ok(()),
        }
    }

    /// The place of the file `name`, a relative path.
    pub fn place(&self, name: &str) -> Result<FilePlace> {
        let (directory, parent, base) = self.enter(name)?;
        Self::check_links(&directory, base)?;
        Ok(FilePlace {
            directory,
            parent: self.path.join(parent),
            base: base.to_owned(),
            readonly: self.readonly,
        })
    }

    /// The path for this process of the database `name`, a relative path.
    pub fn locate(&self, name: &str) -> Result<PathBuf> {
        let (directory, parent, base) = self.enter(name)?;
        Self::check_links(&directory, base)?;
        let path = self.reach(directory, parent)?.join(base);
        if path.as_os_str().as_bytes().len() > PATH_BYTES {
            return Err(ErrorCode::Denied);
        }
        Ok(path)
    }

    /// A path to `directory` that leads there whatever is renamed meanwhile.
    #[cfg(target_os = "linux")]
    fn reach(&self, directory: fs::File, _parent: &Path) -> Result<PathBuf> {
        use std::os::fd::AsRawFd;
        use std::os::unix::fs::MetadataExt;

        let metadata = directory.metadata().map_err(|_| ErrorCode::Io)?;
        let (device, inode) = (metadata.dev(), metadata.ino());
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let at = match used
            .iter()
            .position(|other| (other.device, other.inode) == (device, inode))
        {
            Some(at) => at,
            None if used.len() < DIRECTORIES => {
                used.push(Used {
                    file: directory,
                    device,
                    inode,
                });
                used.len() - 1
            }
            None => return Err(ErrorCode::Io),
        };
        Ok(PathBuf::from(format!(
            "/proc/self/fd/{}",
            used[at].file.as_raw_fd()
        )))
    }

    /// The directory's path. A symbolic link put in its way between this check
    /// and the use would be followed: this system has no paths through descriptors.
    #[cfg(not(target_os = "linux"))]
    fn reach(&self, _directory: fs::File, parent: &Path) -> Result<PathBuf> {
        let path = fs::canonicalize(self.path.join(parent)).map_err(|_| ErrorCode::NotFound)?;
        if path.starts_with(&self.path) {
            Ok(path)
        } else {
            Err(ErrorCode::Denied)
        }
    }
}
