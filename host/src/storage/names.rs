//! What the sandbox may name, and where that lies.
//!
//! A name is the served database's, that of a file which the command line
//! names, or a relative path below the root; with `-journal` or `-wal` after it,
//! it is the file that SQLite keeps beside that database. Nothing else is a name.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::origin::{Origin, ServedPath, canonical};
use super::root::{Directory, OpenRoot};
use super::{ErrorCode, Result, Role};

/// The longest path handed to SQLite's unix layer, in bytes: its buffers hold
/// 512 with the suffix of a journal.
pub const PATH_BYTES: usize = 500;

/// The longest name, in bytes.
const NAME_BYTES: usize = 4096;

/// The served database.
#[derive(Clone, Debug)]
pub enum Served {
    /// In the host's memory.
    Memory {
        /// What the sandbox calls it.
        name: String,
    },
    /// A file.
    File {
        /// What the sandbox calls it.
        name: String,
        /// Where it is.
        path: PathBuf,
        /// Whether every write is refused.
        readonly: bool,
    },
}

/// A directory below which files may be named.
#[derive(Clone, Debug)]
pub struct Root {
    /// Where it is.
    pub directory: PathBuf,
    /// Whether every write is refused.
    pub readonly: bool,
}

/// One file that the command line names.
#[derive(Clone, Debug)]
pub struct Granted {
    /// What the sandbox calls it.
    pub name: String,
    /// What it is, and what for.
    pub target: Target,
}

/// What the command line may do with a file it names.
#[derive(Clone, Debug)]
pub enum Target {
    /// Read it, as it is or as a database.
    Read(PathBuf),
    /// Make it.
    Write(PathBuf),
    /// Read standard input.
    Input,
    /// Write standard output.
    Output,
}

/// Everything the owner granted.
#[derive(Clone, Debug)]
pub struct Grants {
    /// The served database.
    pub database: Served,
    /// One more database in the host's memory, for the sandbox's own record, by its name.
    pub record: Option<String>,
    /// Other files, one by one.
    pub files: Vec<Granted>,
    /// All files of a directory.
    pub root: Option<Root>,
}

/// A real file.
#[derive(Clone)]
pub struct DiskPlace {
    /// A path for this process, without symbolic links that anyone could turn elsewhere.
    pub path: PathBuf,
    /// The path of the `-shm` of the database it belongs to.
    pub index: PathBuf,
    /// Whether the grant is for reading only.
    pub readonly: bool,
    /// What the paths lead through.
    pub directory: Directory,
    /// What led to them.
    pub origin: Origin,
}

/// A file that is no database, or is not used as one: a name in a directory
/// that leads there whatever is renamed meanwhile.
#[derive(Debug)]
pub struct FilePlace {
    /// The directory, open.
    pub directory: fs::File,
    /// The directory's path, for systems that have no paths through descriptors.
    #[cfg_attr(
        target_os = "linux",
        expect(dead_code, reason = "there are better ones")
    )]
    pub parent: PathBuf,
    /// The name in it.
    pub base: OsString,
    /// Whether the grant is for reading only.
    pub readonly: bool,
}

impl FilePlace {
    /// A path for this process.
    #[cfg(target_os = "linux")]
    pub fn path(&self) -> PathBuf {
        use std::os::fd::AsRawFd;
        let descriptor = self.directory.as_raw_fd();
        PathBuf::from(format!("/proc/self/fd/{descriptor}")).join(&self.base)
    }

    /// A path for this process.
    #[cfg(not(target_os = "linux"))]
    pub fn path(&self) -> PathBuf {
        self.parent.join(&self.base)
    }
}

/// Where the name of a file that is no database leads.
#[derive(Debug)]
pub enum PlainPlace {
    /// To standard input or output.
    Stream,
    /// To a file.
    File(FilePlace),
}

/// Where a name leads.
#[derive(Clone)]
pub enum Place {
    /// To a file in memory, of that name.
    Memory(String),
    /// To a real one.
    Disk(DiskPlace),
}

/// The names and what they lead to.
pub struct Names {
    /// What the sandbox calls the served database.
    served: String,
    /// Where that is, and whether it is read-only; nothing if it is in the host's memory.
    on_disk: Option<(Arc<ServedPath>, bool)>,
    files: Vec<Granted>,
    record: Option<String>,
    root: Option<Arc<OpenRoot>>,
}

impl Names {
    /// Resolves the paths of `grants` as they are now.
    pub fn new(grants: Grants) -> io::Result<Self> {
        let (served, on_disk) = match grants.database {
            Served::Memory { name } => (name, None),
            Served::File {
                name,
                path,
                readonly,
            } => (name, Some((Arc::new(ServedPath::new(&path)?), readonly))),
        };
        Ok(Self {
            served,
            on_disk,
            files: grants
                .files
                .into_iter()
                .map(absolute)
                .collect::<io::Result<_>>()?,
            record: grants.record,
            root: grants.root.map(OpenRoot::new).transpose()?.map(Arc::new),
        })
    }

    /// Where the served database is, if it is a file.
    pub fn served(&self) -> Option<Arc<ServedPath>> {
        self.on_disk.as_ref().map(|(path, _)| path.clone())
    }

    /// The names of the databases in the host's memory.
    pub fn in_memory(&self) -> impl Iterator<Item = &str> {
        let served = self.on_disk.is_none().then_some(&self.served);
        served.into_iter().chain(&self.record).map(String::as_str)
    }

    /// Where `name` leads as that of a file which is no database. What is one
    /// nevertheless, under whatever name, is for [`super::protected`] to find out.
    pub fn resolve_plain(&self, name: &str, writes: bool) -> Result<PlainPlace> {
        if name.len() > NAME_BYTES || name.contains('\0') {
            return Err(ErrorCode::Denied);
        }
        if beside(&self.served, name).is_some() {
            return Err(ErrorCode::Denied);
        }
        for file in self.files.iter().filter(|file| file.name == name) {
            match (&file.target, writes) {
                (Target::Input, false) | (Target::Output, true) => return Ok(PlainPlace::Stream),
                (Target::Read(path), false) | (Target::Write(path), true) => {
                    return granted(path).map(PlainPlace::File);
                }
                _ => {}
            }
        }
        let root = self.root.as_ref().ok_or(ErrorCode::Denied)?;
        // Not a file of that name: whoever says `-` means something else.
        if name == "-" || split(name)?.2 != Role::MainDatabase {
            return Err(ErrorCode::Denied);
        }
        root.place(name).map(PlainPlace::File)
    }

    /// Where `name` leads, and what it names there.
    pub fn resolve(&self, name: &str) -> Result<(Place, Role)> {
        if name.len() > NAME_BYTES || name.contains('\0') {
            return Err(ErrorCode::Denied);
        }
        if let Some(record) = &self.record
            && let Some((_, role)) = beside(record, name)
        {
            return Ok((Place::Memory(name.to_owned()), role));
        }
        let beside_served = beside(&self.served, name);
        match (&self.on_disk, beside_served) {
            (None, Some((_, role))) => return Ok((Place::Memory(name.to_owned()), role)),
            (None, None) => {}
            (Some((served, readonly)), Some((suffix, role))) => {
                let path = match role {
                    Role::MainDatabase => served.renewed(),
                    _ => served.current(),
                };
                let origin = Origin::Served(served.clone(), path.clone());
                return Ok((disk(&path, suffix, *readonly, None, origin), role));
            }
            (Some((served, _)), None) => {
                if let Some(place) = foreign_super_journal(served.current().parent(), name) {
                    return Ok((place, Role::SuperJournal));
                }
            }
        }
        for file in &self.files {
            let Target::Read(path) = &file.target else {
                continue;
            };
            if let Some((suffix, role)) = beside(&file.name, name) {
                return Ok((disk(path, suffix, true, None, Origin::Path), role));
            }
            if let Some(place) = foreign_super_journal(path.parent(), name) {
                return Ok((place, Role::SuperJournal));
            }
        }
        let root = self.root.as_ref().ok_or(ErrorCode::Denied)?;
        if let Some(place) = foreign_super_journal(Some(&root.path), name) {
            return Ok((place, Role::SuperJournal));
        }
        let (stem, suffix, role) = split(name)?;
        let (path, directory) = root.locate(stem)?;
        let origin = Origin::Below(root.clone(), stem.to_owned());
        Ok((disk(&path, suffix, root.readonly, directory, origin), role))
    }
}

fn disk(
    database: &Path,
    suffix: &str,
    readonly: bool,
    directory: Directory,
    origin: Origin,
) -> Place {
    let with = |suffix: &str| {
        let mut path = database.as_os_str().to_owned();
        path.push(suffix);
        PathBuf::from(path)
    };
    Place::Disk(DiskPlace {
        path: with(suffix),
        index: with("-shm"),
        readonly,
        directory,
        origin,
    })
}

/// The suffix of `name` and what it means, if it names a file of `database`.
fn beside<'a>(database: &str, name: &'a str) -> Option<(&'a str, Role)> {
    let suffix = name.strip_prefix(database)?;
    match suffix {
        "" => Some((suffix, Role::MainDatabase)),
        "-journal" => Some((suffix, Role::MainJournal)),
        "-wal" => Some((suffix, Role::Wal)),
        _ if is_super_journal_suffix(suffix) => Some((suffix, Role::SuperJournal)),
        _ => None,
    }
}

/// Splits a name below the root into the database and what of it is meant.
fn split(name: &str) -> Result<(&str, &str, Role)> {
    for (suffix, role) in [("-journal", Role::MainJournal), ("-wal", Role::Wal)] {
        if let Some(stem) = name.strip_suffix(suffix) {
            return Ok((stem, suffix, role));
        }
    }
    if name.ends_with("-shm") {
        return Err(ErrorCode::Denied);
    }
    if let Some(at) = name.rfind("-mj")
        && is_super_journal_suffix(&name[at..])
    {
        return Ok((&name[..at], &name[at..], Role::SuperJournal));
    }
    Ok((name, "", Role::MainDatabase))
}

/// `-mj`, six hexadecimal digits, a 9, two hexadecimal digits (`vdbeCommit` in SQLite's `vdbeaux.c`).
fn is_super_journal_suffix(suffix: &str) -> bool {
    suffix.strip_prefix("-mj").is_some_and(|digits| {
        digits.len() == 9
            && digits.as_bytes()[6] == b'9'
            && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

/// The super-journal that a journal left behind by another program names: an
/// absolute path. Whether it still exists decides whether the journal is
/// rolled back, so it may be asked for, if it lies in a directory we serve.
fn foreign_super_journal(directory: Option<&Path>, name: &str) -> Option<Place> {
    let path = Path::new(name);
    let at = name.rfind("-mj")?;
    let plain = path
        .components()
        .all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    (path.is_absolute()
        && plain
        && is_super_journal_suffix(&name[at..])
        && path.parent() == directory)
        .then(|| {
            Place::Disk(DiskPlace {
                path: path.to_owned(),
                index: PathBuf::new(),
                readonly: true,
                directory: None,
                origin: Origin::Path,
            })
        })
}

/// The grant with its path made absolute once and for all. What is read may be
/// named through symbolic links; what is made is what its own name says.
fn absolute(file: Granted) -> io::Result<Granted> {
    let target = match file.target {
        Target::Read(path) => Target::Read(canonical(&path)?),
        Target::Write(path) => {
            let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
            let parent = path
                .parent()
                .filter(|parent| !parent.as_os_str().is_empty())
                .unwrap_or(Path::new("."));
            Target::Write(fs::canonicalize(parent)?.join(name))
        }
        stream => stream,
    };
    Ok(Granted { target, ..file })
}

/// The place of a file that was granted by itself.
fn granted(path: &Path) -> Result<FilePlace> {
    let (Some(parent), Some(base)) = (path.parent(), path.file_name()) else {
        return Err(ErrorCode::Denied);
    };
    if base
        .to_str()
        .is_some_and(|base| !matches!(split(base), Ok((_, _, Role::MainDatabase))))
    {
        return Err(ErrorCode::Denied);
    }
    Ok(FilePlace {
        directory: fs::File::open(parent)?,
        parent: parent.to_owned(),
        base: base.to_owned(),
        readonly: false,
    })
}
