//! The folder below which other files may be named.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
#[cfg(target_os = "linux")]
use std::sync::{Mutex, PoisonError};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::fs::{AtFlags, FileType};

#[cfg(target_os = "linux")]
use super::file::OPEN_FILES;
use super::names::{FilePlace, PATH_BYTES, Root};
#[cfg(target_os = "linux")]
use super::quota::FileId;
use super::{ErrorCode, Result};

/// How many directories below the root are kept open: each open file may need one.
#[cfg(target_os = "linux")]
const DIRECTORIES: usize = OPEN_FILES;

/// A directory below the root, open for as long as paths through its descriptor are in
/// use; nothing where there are no such paths.
pub type Directory = Option<Arc<fs::File>>;

/// The root, and the directories below it that were used.
pub struct OpenRoot {
    directory: Dir,
    /// Its absolute path.
    pub path: PathBuf,
    /// Whether files below it are only read.
    pub readonly: bool,
    /// A directory that is used again is found under the same path.
    #[cfg(target_os = "linux")]
    directories: Mutex<Vec<(FileId, Arc<fs::File>)>>,
}

impl OpenRoot {
    /// Opens it.
    pub fn new(root: Root) -> io::Result<Self> {
        Ok(Self {
            directory: Dir::open_ambient_dir(&root.directory, ambient_authority())?,
            path: fs::canonicalize(&root.directory)?,
            readonly: root.readonly,
            #[cfg(target_os = "linux")]
            directories: Mutex::default(),
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

    /// The path for this process of the database `name`, a relative path, and what
    /// has to stay open while it is used.
    pub fn locate(&self, name: &str) -> Result<(PathBuf, Directory)> {
        let (directory, parent, base) = self.enter(name)?;
        Self::check_links(&directory, base)?;
        let (path, directory) = self.reach(directory, parent)?;
        let path = path.join(base);
        if path.as_os_str().as_bytes().len() > PATH_BYTES {
            return Err(ErrorCode::Denied);
        }
        Ok((path, directory))
    }

    /// A path to `directory` that leads there whatever is renamed meanwhile.
    #[cfg(target_os = "linux")]
    fn reach(&self, directory: fs::File, _parent: &Path) -> Result<(PathBuf, Directory)> {
        use std::os::fd::AsRawFd;

        let id = FileId::from(&directory.metadata()?);
        let mut directories = self
            .directories
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let known = directories.iter().find(|(known, _)| *known == id);
        let directory = match known {
            Some((_, known)) => known.clone(),
            None => {
                if directories.len() >= DIRECTORIES {
                    // Those that no file needs any more.
                    directories.retain(|(_, directory)| Arc::strong_count(directory) > 1);
                }
                if directories.len() >= DIRECTORIES {
                    return Err(ErrorCode::Io);
                }
                let directory = Arc::new(directory);
                directories.push((id, directory.clone()));
                directory
            }
        };
        let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
        Ok((path.into(), Some(directory)))
    }

    /// The directory's path. A symbolic link put in its way between this check
    /// and the use would be followed: this system has no paths through descriptors.
    #[cfg(not(target_os = "linux"))]
    fn reach(&self, _directory: fs::File, parent: &Path) -> Result<(PathBuf, Directory)> {
        let path = fs::canonicalize(self.path.join(parent)).map_err(|_| ErrorCode::NotFound)?;
        if path.starts_with(&self.path) {
            Ok((path, None))
        } else {
            Err(ErrorCode::Denied)
        }
    }
}
