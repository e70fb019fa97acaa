//! What may not be touched as a plain file.
//!
//! Closing any descriptor of a database drops every lock that this process has
//! on it (<https://www.sqlite.org/howtocorrupt.html>, 2.2). So what is in use
//! as a database is not opened in any other way, under whatever name, and a
//! descriptor that turns out to be one of a database is kept open.

use std::fs;
use std::sync::{Arc, Mutex, PoisonError};

use super::origin::ServedPath;
use super::quota::{FileId, Quota};

/// What SQLite keeps beside a database, and the database.
const SUFFIXES: [&str; 4] = ["", "-journal", "-wal", "-shm"];

/// How many descriptors are kept before no plain file is opened any more.
const KEPT_OPEN: usize = 64;

/// The files of one storage that are databases, or belong to one.
pub struct ProtectedFiles {
    /// Where the served database is, if it is a file.
    served: Option<Arc<ServedPath>>,
    quota: Arc<Quota>,
    kept_open: Mutex<Vec<fs::File>>,
}

impl ProtectedFiles {
    /// Protects the database at `served` and all that `quota` knows to be open.
    pub fn new(served: Option<Arc<ServedPath>>, quota: Arc<Quota>) -> Self {
        Self {
            served,
            quota,
            kept_open: Mutex::default(),
        }
    }

    /// Whether this is a file of the served database, or a database that is open.
    pub fn contains(&self, id: FileId) -> bool {
        self.quota.in_use(id)
            || self.served.as_ref().is_some_and(|served| {
                let served = served.current();
                SUFFIXES.iter().any(|suffix| {
                    let mut path = served.as_os_str().to_owned();
                    path.push(suffix);
                    fs::symlink_metadata(path).is_ok_and(|found| FileId::from(&found) == id)
                })
            })
    }

    /// Whether `file` is one of them, as far as can be told.
    pub fn contains_file(&self, file: &fs::File) -> bool {
        file.metadata()
            .map_or(true, |metadata| self.contains(FileId::from(&metadata)))
    }

    /// Whether so many descriptors are kept open that there can be no more.
    pub fn is_full(&self) -> bool {
        let mut kept = self
            .kept_open
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        kept.retain(|file| self.contains_file(file));
        kept.len() >= KEPT_OPEN
    }

    /// Closes `file`, or keeps it open while it is a database in use.
    pub fn close(&self, file: fs::File) {
        if self.contains_file(&file) {
            self.kept_open
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(file);
        }
    }
}
