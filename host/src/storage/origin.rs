//! What led to a file, for a later look whether it still does: SQLite's own layer asks the path
//! that it opened, and the links on the way to that are followed before.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::names::PATH_BYTES;
use super::quota::FileId;
use super::root::OpenRoot;

/// What led to a file.
#[derive(Clone)]
pub enum Origin {
    /// Its path alone.
    Path,
    /// The served database's path. Who holds the second holds all who open it to the same file.
    Served(Arc<ServedPath>, Arc<PathBuf>),
    /// A name below the root.
    Below(Arc<OpenRoot>, String),
}

impl Origin {
    /// Whether it still leads to the file `id`.
    pub fn leads_to(&self, id: FileId) -> bool {
        match self {
            Self::Path => true,
            Self::Served(served, path) => {
                // Without a link the path is the one that SQLite's own layer asks.
                served.given == **path
                    || fs::metadata(&served.given).is_ok_and(|found| FileId::from(&found) == id)
            }
            // The root's descriptor leads to the root, whatever its path does.
            Self::Below(_, name) if !name.contains('/') => true,
            Self::Below(root, name) => root.locate(name).is_ok_and(|(path, _directory)| {
                fs::symlink_metadata(path).is_ok_and(|found| FileId::from(&found) == id)
            }),
        }
    }
}

/// The path of the served database.
///
/// It may lead through symbolic links, and these may be turned elsewhere: the way that many
/// programs are deployed. A database and its journal must be found in one folder, though: a journal
/// beside another database would be rolled back into that. So where the path leads is found out
/// anew when the database is opened, and only when nothing of it is open.
pub struct ServedPath {
    /// Absolute, as the owner gave it.
    given: PathBuf,
    /// Where it led when it was last found out.
    leads: Mutex<Arc<PathBuf>>,
}

impl ServedPath {
    /// Finds out where `path` leads.
    pub fn new(path: &Path) -> io::Result<Self> {
        Ok(Self {
            given: std::path::absolute(path)?,
            leads: Mutex::new(Arc::new(canonical(path)?)),
        })
    }

    /// Where it leads for what is open.
    pub fn current(&self) -> Arc<PathBuf> {
        let leads = self.leads.lock().unwrap_or_else(PoisonError::into_inner);
        leads.clone()
    }

    /// The same for what is to be opened.
    pub fn renewed(&self) -> Arc<PathBuf> {
        let mut leads = self.leads.lock().unwrap_or_else(PoisonError::into_inner);
        if Arc::strong_count(&leads) == 1
            && let Ok(path) = canonical(&self.given)
            && path != **leads
        {
            *leads = Arc::new(path);
        }
        leads.clone()
    }
}

/// The absolute path of a file that need not exist yet, its directory free of
/// symbolic links, so that the journal is where every other SQLite looks for it.
pub fn canonical(path: &Path) -> io::Result<PathBuf> {
    let path = match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let name = path.file_name().ok_or(error)?;
            let parent = path
                .parent()
                .filter(|parent| !parent.as_os_str().is_empty())
                .unwrap_or(Path::new("."));
            fs::canonicalize(parent)?.join(name)
        }
        found => found?,
    };
    if path.as_os_str().len() > PATH_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!(
                "the path of a database can have at most {PATH_BYTES} bytes; move it to a shorter \
                 path"
            ),
        ));
    }
    Ok(path)
}
