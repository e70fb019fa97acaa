//! The files of the sandbox, on the host's side of its boundary.
//!
//! [`Storage`] answers the imports of `wit/storage.wit`. Whoever calls it is
//! not trusted: every name, length, offset and order of calls is checked here.
//!
//! - [`types`]: what is asked for and answered; [`file`]: an open file of any kind.
//! - [`names`]: what may be named, and where that lies; [`root`]: below which folder;
//!   [`origin`]: whether a name still leads there.
//! - [`quota`]: how much all files together may grow.
//! - [`disk`]: real files, through [`native`], SQLite's own file layer, so that
//!   the locks are byte for byte those of every other SQLite on the machine.
//! - [`shm`]: regions of the wal-index, mapped over buffers of the guest.
//! - [`memory`]: files in the host's memory, which outlive the guest.
//! - [`temporary`]: files that nobody else can reach.
//! - [`plain`]: files read as they are; [`staged`]: files that get their name when
//!   they are whole; [`streams`]: standard input and output as either.
//! - [`protected`]: what is a database, and so no plain file.
//!
//! No one else in this process may open, and above all close, a database file
//! or its `-shm`: closing any descriptor of a file drops every POSIX lock that
//! the process holds on it (<https://www.sqlite.org/howtocorrupt.html>, 2.2).

#[cfg(test)]
pub mod crash_point;
mod disk;
mod file;
mod memory;
mod names;
mod native;
mod origin;
mod plain;
mod protected;
mod quota;
mod root;
mod shm;
mod staged;
mod streams;
mod temporary;
#[cfg(test)]
mod tests;
mod types;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

pub use file::File;
pub use names::{Granted, Grants, Root, Served, Target};
pub use shm::ShmRegion;
pub use types::{Device, ErrorCode, LockLevel, OpenOptions, Result, Role, ShmAction, SyncMode};

use disk::DiskFiles;
use file::{Handle, OpenPermit, ShmSlots};
use memory::MemoryFiles;
use names::{Names, Place, PlainPlace};
use plain::PlainFile;
use protected::ProtectedFiles;
use quota::Quota;
use staged::StagedFile;
use temporary::TemporaryFile;

/// What all files of one [`Storage`] share.
struct Shared {
    names: Names,
    quota: Arc<Quota>,
    memory: MemoryFiles,
    disk: DiskFiles,
    protected: Arc<ProtectedFiles>,
    open: Arc<AtomicUsize>,
    /// Whether the reader of standard output has gone.
    output_closed: Arc<AtomicBool>,
}

/// Every file the sandbox can reach. Clones are the same storage; it outlives
/// the guests that use it.
#[derive(Clone)]
pub struct Storage {
    shared: Arc<Shared>,
}

impl Storage {
    /// A storage of what `grants` names, whose files together may grow by
    /// `disk_bytes`. Fails if the root or the folder of a file cannot be opened.
    pub fn new(grants: Grants, disk_bytes: u64) -> io::Result<Self> {
        let quota = Arc::new(Quota::new(disk_bytes));
        let names = Names::new(grants)?;
        Ok(Self {
            shared: Arc::new(Shared {
                protected: Arc::new(ProtectedFiles::new(names.served(), quota.clone())),
                memory: MemoryFiles::new(names.in_memory(), quota.clone()),
                names,
                disk: DiskFiles::new(quota.clone()),
                quota,
                open: Arc::default(),
                output_closed: Arc::default(),
            }),
        })
    }

    /// How much all files have grown, in bytes.
    #[cfg(test)]
    pub fn grown(&self) -> u64 {
        self.shared.quota.used()
    }

    /// Whether something was written to standard output after its reader had gone.
    pub fn output_closed(&self) -> bool {
        self.shared.output_closed.load(Ordering::Relaxed)
    }

    /// Opens a file. A refusal leaves nothing behind.
    pub fn open(&self, name: &str, role: Role, options: OpenOptions) -> Result<File> {
        let permit = OpenPermit::take(&self.shared.open)?;
        let options = OpenOptions {
            create: options.create && options.read_write,
            ..options
        };
        let handle = match role {
            Role::Plain => self.open_plain(name)?,
            Role::Staged => self.open_staged(name, options.exclusive)?,
            Role::Temporary => self.open_temporary()?,
            _ if name.is_empty() => self.open_temporary()?,
            _ => self.open_database(name, role, options)?,
        };
        Ok(File::new(handle, permit))
    }

    /// Opens a database, its journal or its log.
    fn open_database(
        &self,
        name: &str,
        role: Role,
        options: OpenOptions,
    ) -> Result<Box<dyn Handle>> {
        if options.delete_on_close {
            return Err(ErrorCode::Invalid);
        }
        let (place, named) = self.shared.names.resolve(name)?;
        // A super-journal holds the names of the journals that belong to it, and a journal
        // its name. Ours mean nothing outside the sandbox: whoever else found such a
        // journal after a crash would take it for stale and not roll it back.
        if role != named || role == Role::SuperJournal {
            return Err(ErrorCode::Denied);
        }
        Ok(match place {
            Place::Memory(name) => Box::new(self.shared.memory.open(&name, options)?),
            Place::Disk(place) => Box::new(self.shared.disk.open(place, role, options)?),
        })
    }

    fn open_temporary(&self) -> Result<Box<dyn Handle>> {
        Ok(Box::new(TemporaryFile::unnamed(self.shared.quota.clone())?))
    }

    /// Opens a file that is no database, for reading.
    fn open_plain(&self, name: &str) -> Result<Box<dyn Handle>> {
        Ok(match self.shared.names.resolve_plain(name, false)? {
            PlainPlace::Stream => Box::new(streams::Input::open()),
            PlainPlace::File(place) => {
                Box::new(PlainFile::open(&place, self.shared.protected.clone())?)
            }
        })
    }

    /// Opens a new file that is not a database.
    fn open_staged(&self, name: &str, exclusive: bool) -> Result<Box<dyn Handle>> {
        let shared = &self.shared;
        Ok(match shared.names.resolve_plain(name, true)? {
            PlainPlace::Stream => Box::new(streams::Output::open(shared.output_closed.clone())),
            PlainPlace::File(place) => Box::new(StagedFile::new(
                place,
                exclusive,
                shared.quota.clone(),
                shared.protected.clone(),
            )?),
        })
    }

    /// Removes a journal or a log; `durable` returns when its directory entry is gone for good.
    pub fn delete(&self, name: &str, durable: bool) -> Result<()> {
        #[cfg(test)]
        crash_point::reached(|| ());
        match self.shared.names.resolve(name)? {
            // SQLite never deletes a database.
            (_, Role::MainDatabase | Role::SuperJournal) => Err(ErrorCode::Denied),
            (Place::Memory(name), _) => self.shared.memory.delete(&name),
            (Place::Disk(place), _) => self.shared.disk.delete(&place, durable),
        }
    }

    /// Whether a file is there, and may be written if `writable` asks for that.
    /// An empty file is not there, as for SQLite's own file layers.
    pub fn exists(&self, name: &str, writable: bool) -> Result<bool> {
        match self.shared.names.resolve(name)? {
            (Place::Memory(name), _) => Ok(self.shared.memory.exists(&name)),
            (Place::Disk(place), _) => self.shared.disk.exists(&place, writable),
        }
    }
}
