//! What may not be touched as a plain file.
//!
//! Closing any descriptor of a database drops every lock that this process has
//! on it (<https://www.sqlite.org/howtocorrupt.html>, 2.2). So what is in use
//! as a database is not opened in any other way, under whatever name, and a
//! descriptor that turns out to be one of a database is kept open.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::budget::{Budget, FileId};

/// What SQLite keeps beside a database, and the database.
const SUFFIXES: [&str; 4] = ["", "-journal", "-wal", "-shm"];

/// How many descriptors are kept before no plain file is opened any more.
const KEPT: usize = 64;

/// The guard of one storage.
pub struct Guard {
    /// Where the served database is, if it is a file.
    served: Option<PathBuf>,
    budget: Arc<Budget>,
    kept: Mutex<Vec<fs::File>>,
}

impl Guard {
    /// A guard of the database at `served` and of all that `budget` knows to be open.
    pub fn new(served: Option<PathBuf>, budget: Arc<Budget>) -> Self {
        Self {
            served,
            budget,
            kept: Mutex::default(),
        }
    }

    /// Whether this is a file of the served database, or a database that is open.
    pub fn protects(&self, device: u64, inode: u64) -> bool {
        let id = FileId {
            device,
            inode,
            index: false,
        };
        self.budget.in_use(id)
            || self.served.as_ref().is_some_and(|served| {
                SUFFIXES.iter().any(|suffix| {
                    let mut path = served.as_os_str().to_owned();
                    path.push(suffix);
                    fs::symlink_metadata(path)
                        .is_ok_and(|there| (there.dev(), there.ino()) == (device, inode))
                })
            })
    }

    /// Whether so many descriptors are kept that there can be no more.
    pub fn is_full(&self) -> bool {
        self.kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
            >= KEPT
    }

    /// Closes `file`, or keeps it open for as long as the storage if it is a database in use.
    pub fn close(&self, file: fs::File) {
        let in_use = file.metadata().map_or(true, |metadata| {
            self.protects(metadata.dev(), metadata.ino())
        });
        if in_use {
            self.kept
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(file);
        }
    }
}
