//! The files of the sandbox, on the host's side of the wall.
//!
//! [`Storage`] answers the imports of `wit/storage.wit`. Whoever calls it is
//! not trusted: every name, length, offset and order of calls is checked here.
//!
//! - [`names`]: what may be named, and where that lies; [`root`]: below which folder.
//! - [`budget`]: how much all files together may grow.
//! - [`disk`]: real files, through [`native`], SQLite's own file layer, so that
//!   the locks are byte for byte those of every other SQLite on the machine.
//! - [`memory`]: files in the host's memory, which outlive the guest.
//! - [`owned`]: files that nobody else can reach, such as temporary ones.
//! - [`plain`]: files read as they are; [`staged`]: files that get their name when
//!   they are whole; [`streams`]: standard input and output as either.
//! - [`guard`]: what is a database, and so no plain file.
//! - [`shm`]: regions of the wal-index, mapped over buffers of the guest.
//! - [`types`]: what is asked for and answered.
//!
//! No one else in this process may open, and above all close, a database file
//! or its `-shm`: closing any descriptor of a file drops every POSIX lock that
//! the process holds on it (<https://www.sqlite.org/howtocorrupt.html>, 2.2).

mod budget;
mod disk;
#[cfg(test)]
pub mod fault;
mod guard;
mod memory;
mod names;
mod native;
mod owned;
mod plain;
mod root;
mod shm;
mod staged;
mod streams;
mod types;

#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

pub use names::{Granted, Grants, Root, Served, Target};
pub use shm::ShmRegion;
pub use types::{Device, ErrorCode, LockLevel, OpenOptions, Result, Role, ShmAction, SyncMode};

use budget::Budget;
use guard::Guard;
use names::{Kind, Names, Place, PlainPlace};

/// The longest read, in bytes.
const READ_BYTES: u32 = 16 << 20;
/// The longest name, in bytes.
const NAME_BYTES: usize = 4096;
/// How many files may be open at once.
const OPEN_FILES: usize = 256;
/// The largest offset a file can have; SQLite's are signed.
const LAST_OFFSET: u64 = i64::MAX as u64;

/// What every kind of file can do. Arguments are checked by [`File`]; the
/// defaults are those of a file that no one else can see.
trait Handle: Send {
    fn read(&mut self, offset: u64, length: usize) -> Result<Vec<u8>>;
    fn write(&mut self, offset: u64, data: &[u8]) -> Result<()>;
    fn truncate(&mut self, size: u64) -> Result<()>;
    fn size(&mut self) -> Result<u64>;
    fn device(&mut self) -> Device;

    fn sync(&mut self, _mode: SyncMode) -> Result<()> {
        Ok(())
    }
    fn lock(&mut self, _level: LockLevel) -> Result<()> {
        Ok(())
    }
    fn unlock(&mut self, _level: LockLevel) -> Result<()> {
        Ok(())
    }
    fn check_reserved(&mut self) -> Result<bool> {
        Ok(false)
    }
    fn is_read_only(&self) -> bool {
        false
    }
    fn publish(&mut self, _replace: bool) -> Result<()> {
        Err(ErrorCode::Invalid)
    }
    fn shm_map(&mut self, _index: u32, _over: ShmRegion, _extend: bool) -> Result<bool> {
        Err(ErrorCode::NoSharedMemory)
    }
    fn shm_lock(&mut self, _slots: Slots, _action: ShmAction) -> Result<()> {
        Err(ErrorCode::NoSharedMemory)
    }
    fn shm_barrier(&mut self) {}
    fn shm_unmap(&mut self, _delete: bool) -> Result<()> {
        Ok(())
    }
    fn shm_unmap_failed(&self) -> bool {
        false
    }
}

/// Neighbouring slots of the wal-index lock; there are eight.
#[derive(Clone, Copy, Debug)]
struct Slots {
    first: u8,
    count: u8,
}

impl Slots {
    fn new(first: u32, count: u32) -> Result<Self> {
        match (u8::try_from(first), u8::try_from(count)) {
            (Ok(first), Ok(count @ 1..=8)) if first < 8 && first + count <= 8 => {
                Ok(Self { first, count })
            }
            _ => Err(ErrorCode::Invalid),
        }
    }

    /// One bit for each.
    fn mask(self) -> u8 {
        (((1u16 << self.count) - 1) << self.first) as u8
    }
}

/// What all files of one [`Storage`] share.
struct Shared {
    names: Names,
    budget: Arc<Budget>,
    memory: memory::Files,
    disk: disk::Common,
    guard: Arc<Guard>,
    open: AtomicUsize,
    /// Whether whoever reads standard output has gone.
    closed: Arc<AtomicBool>,
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
        let budget = Arc::new(Budget::new(disk_bytes));
        let served = match &grants.database {
            Served::Memory { name } => Some(name.clone()),
            Served::File { .. } => None,
        };
        let in_memory: Vec<String> = served.into_iter().chain(grants.record.clone()).collect();
        let names = Names::new(grants)?;
        Ok(Self {
            shared: Arc::new(Shared {
                guard: Arc::new(Guard::new(names.served().cloned(), budget.clone())),
                names,
                memory: memory::Files::new(&in_memory, budget.clone()),
                disk: disk::Common::new(budget.clone()),
                budget,
                open: AtomicUsize::new(0),
                closed: Arc::default(),
            }),
        })
    }

    /// How much all files have grown, in bytes.
    #[cfg(test)]
    pub fn grown(&self) -> u64 {
        self.shared.budget.used()
    }

    /// Whether something was to be written to standard output after whoever reads it had gone.
    pub fn output_closed(&self) -> bool {
        self.shared.closed.load(Ordering::Relaxed)
    }

    /// Opens a file. A refusal leaves nothing behind.
    pub fn open(&self, name: &str, role: Role, options: OpenOptions) -> Result<File> {
        let slot = Slot::take(&self.shared)?;
        let options = OpenOptions {
            create: options.create && options.read_write,
            ..options
        };
        let handle: Box<dyn Handle> = if matches!(role, Role::Plain | Role::Staged) {
            self.open_plain(name, role, options.exclusive)?
        } else if name.is_empty() || role == Role::Temporary {
            Box::new(owned::Owned::temporary(self.shared.budget.clone())?)
        } else {
            if options.delete_on_close {
                return Err(ErrorCode::Invalid);
            }
            let (place, kind) = self.shared.names.resolve(name)?;
            match (role, kind) {
                (Role::MainDatabase, Kind::Database)
                | (Role::MainJournal, Kind::Journal)
                | (Role::Wal, Kind::Wal) => {}
                // A super-journal holds the names of the journals that belong to it, and a journal
                // its name. Ours mean nothing outside the sandbox: whoever else found such a
                // journal after a crash would take it for stale and not roll it back.
                _ => return Err(ErrorCode::Denied),
            }
            match place {
                Place::Memory(name) => Box::new(self.shared.memory.open(&name, options)?),
                Place::Disk(place) => Box::new(self.shared.disk.open(place, kind, options)?),
            }
        };
        Ok(File {
            handle,
            _slot: slot,
        })
    }

    /// Opens a file that is no database, for reading or to be made.
    fn open_plain(&self, name: &str, role: Role, exclusive: bool) -> Result<Box<dyn Handle>> {
        let shared = &self.shared;
        let writes = role == Role::Staged;
        Ok(match shared.names.resolve_plain(name, writes)? {
            PlainPlace::Stream if writes => Box::new(streams::Output::open(shared.closed.clone())),
            PlainPlace::Stream => Box::new(streams::Input::open()),
            PlainPlace::File(place) if writes => Box::new(staged::Staged::new(
                place,
                exclusive,
                shared.budget.clone(),
                shared.guard.clone(),
            )?),
            PlainPlace::File(place) => Box::new(plain::Plain::open(&place, shared.guard.clone())?),
        })
    }

    /// Removes a journal or a log; `durable` returns when its directory entry is gone for good.
    pub fn delete(&self, name: &str, durable: bool) -> Result<()> {
        #[cfg(test)]
        fault::strike(|| ());
        match self.shared.names.resolve(name)? {
            // SQLite never deletes a database.
            (_, Kind::Database | Kind::SuperJournal) => Err(ErrorCode::Denied),
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

/// One of the [`OPEN_FILES`] places for an open file.
struct Slot(Arc<Shared>);

impl Slot {
    fn take(shared: &Arc<Shared>) -> Result<Self> {
        let slot = Self(shared.clone());
        // Counted first and given back by the drop, also when there was no place.
        if shared.open.fetch_add(1, Ordering::Relaxed) >= OPEN_FILES {
            return Err(ErrorCode::Io);
        }
        Ok(slot)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An open file. Dropping it closes it and lets go of its locks, and touches no
/// guest memory, so that it may be dropped before or after the guest. While the
/// guest lives on, [`File::shm_unmap`] comes first, so that its buffers become
/// its own again.
pub struct File {
    // Dropped first: what it holds may need the storage.
    handle: Box<dyn Handle>,
    _slot: Slot,
}

impl File {
    /// Up to `length` bytes from `offset`; fewer only at the end of the file.
    pub fn read(&mut self, offset: u64, length: u32) -> Result<Vec<u8>> {
        if length > READ_BYTES {
            return Err(ErrorCode::Invalid);
        }
        end(offset, length as usize)?;
        self.handle.read(offset, length as usize)
    }

    /// Writes all of `data` at `offset`, growing the file as needed.
    pub fn write(&mut self, offset: u64, data: &[u8]) -> Result<()> {
        end(offset, data.len())?;
        if self.handle.is_read_only() {
            return Err(ErrorCode::ReadOnly);
        }
        if data.is_empty() {
            return Ok(());
        }
        #[cfg(test)]
        fault::strike(|| {
            let _ = self.handle.write(offset, &data[..data.len() / 2]);
        });
        self.handle.write(offset, data)
    }

    /// Cuts the file, or extends it with zeros, to `size` bytes.
    pub fn truncate(&mut self, size: u64) -> Result<()> {
        end(size, 0)?;
        if self.handle.is_read_only() {
            return Err(ErrorCode::ReadOnly);
        }
        #[cfg(test)]
        fault::strike(|| ());
        self.handle.truncate(size)
    }

    /// Returns when what was written has reached the disk.
    pub fn sync(&mut self, mode: SyncMode) -> Result<()> {
        #[cfg(test)]
        fault::strike(|| ());
        self.handle.sync(mode)
    }

    /// The size in bytes.
    pub fn size(&mut self) -> Result<u64> {
        self.handle.size()
    }

    /// Raises the lock to `level`, one of shared, reserved and exclusive.
    pub fn lock(&mut self, level: LockLevel) -> Result<()> {
        match level {
            LockLevel::None | LockLevel::Pending => Err(ErrorCode::Invalid),
            // Nothing to intend: the file cannot be written.
            LockLevel::Reserved | LockLevel::Exclusive if self.handle.is_read_only() => {
                Err(ErrorCode::ReadOnly)
            }
            _ => self.handle.lock(level),
        }
    }

    /// Lowers the lock to `level`, shared or none.
    pub fn unlock(&mut self, level: LockLevel) -> Result<()> {
        match level {
            LockLevel::None | LockLevel::Shared => self.handle.unlock(level),
            _ => Err(ErrorCode::Invalid),
        }
    }

    /// Whether any connection holds reserved or more.
    pub fn check_reserved(&mut self) -> Result<bool> {
        self.handle.check_reserved()
    }

    /// What the device guarantees.
    pub fn device(&mut self) -> Device {
        self.handle.device()
    }

    /// Whether the file can only be read, whatever was asked.
    pub fn is_read_only(&self) -> bool {
        self.handle.is_read_only()
    }

    /// Gives a staged file its name, all of it at once and on the disk. What has
    /// the name is refused as [`ErrorCode::Exists`], or replaced.
    pub fn publish(&mut self, replace: bool) -> Result<()> {
        self.handle.publish(replace)
    }

    /// Maps region `index` of the wal-index over the buffer `over` and answers whether the
    /// region exists; with `extend` it is created if not. [`ErrorCode::ReadOnly`] means that
    /// it exists and that `over` holds a copy of it.
    pub fn shm_map(&mut self, index: u32, over: ShmRegion, extend: bool) -> Result<bool> {
        self.handle.shm_map(index, over, extend)
    }

    /// Takes or releases `count` lock slots of the wal-index from `slot` on.
    /// Brings regions that are copies up to date.
    pub fn shm_lock(&mut self, slot: u32, count: u32, action: ShmAction) -> Result<()> {
        let shared = matches!(action, ShmAction::LockShared | ShmAction::UnlockShared);
        if shared && count != 1 {
            return Err(ErrorCode::Invalid);
        }
        self.handle.shm_lock(Slots::new(slot, count)?, action)
    }

    /// A full memory barrier between the guest and other processes.
    pub fn shm_barrier(&mut self) {
        self.handle.shm_barrier();
    }

    /// Lets go of the wal-index; its regions become ordinary, zeroed memory.
    pub fn shm_unmap(&mut self, delete: bool) -> Result<()> {
        self.handle.shm_unmap(delete)
    }

    /// Whether the system refused to make one of its regions ordinary memory. Then its pages
    /// may still be those of a file, or none: the guest must not go on.
    pub fn shm_unmap_failed(&self) -> bool {
        self.handle.shm_unmap_failed()
    }
}

/// Where `length` bytes from `offset` end.
fn end(offset: u64, length: usize) -> Result<u64> {
    offset
        .checked_add(length as u64)
        .filter(|end| *end <= LAST_OFFSET)
        .ok_or(ErrorCode::Invalid)
}
