//! The files of the sandbox, as `wit/storage.wit` describes them.
//!
//! [`Storage`] is what SQLite's file layer ([`crate::engine::vfs`]) works on, and [`File`] what it opens:
//! the host's imports in the component (`wit`), memory in tests, fuzzing and examples.
//!
//! - [`streams`]: files that are no database, read and written from start to end.

#[cfg(test)]
pub mod local;
#[cfg(not(target_family = "wasm"))]
pub mod memory;
pub(crate) mod streams;
#[cfg(target_family = "wasm")]
pub(crate) mod wit;

/// Why an operation failed; see `wit/storage.wit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCode {
    /// A lock is in the way.
    Busy,
    /// The disk, or the owner's disk budget, is full.
    Full,
    /// There is no such file, and it was not to be created.
    NotFound,
    /// The name is not one the owner granted.
    Denied,
    /// The file or the grant does not allow writing.
    ReadOnly,
    /// The wal-index is not there and may not be made.
    CannotInit,
    /// The host has no such thing.
    Unsupported,
    /// The arguments make no sense.
    Invalid,
    /// The operating system reported a failure.
    Io,
    /// A file of that name is there, and was not to be replaced.
    Exists,
}

impl ErrorCode {
    /// What happened, as a part of a sentence.
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Self::Busy => "it is locked",
            Self::Full => "no space is left on the disk or in the disk budget, --disk",
            Self::NotFound => "there is no such file",
            Self::Denied => "its name is not one that was granted",
            Self::ReadOnly => "it can only be read",
            Self::CannotInit | Self::Unsupported | Self::Invalid => "the storage cannot do it",
            Self::Io => "disk I/O error",
            Self::Exists => "a file of that name is there",
        }
    }
}

/// What SQLite wants a file for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A database.
    MainDatabase,
    /// Its rollback journal.
    MainJournal,
    /// Its write-ahead log.
    Wal,
    /// The journal that ties the commits of several files together.
    SuperJournal,
    /// Anything that no one else is to see.
    Temporary,
    /// An existing file, to be read unchanged.
    Plain,
    /// A new file without a name until [`File::publish`].
    Staged,
}

/// How to open a file. Without `read_write` it is opened for reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// For writing as well as for reading.
    pub read_write: bool,
    /// Make it if it is not there.
    pub create: bool,
    /// Fail if it is there.
    pub exclusive: bool,
    /// Nobody wants it after this handle.
    pub delete_on_close: bool,
}

/// The five lock levels, <https://www.sqlite.org/lockingv3.html>.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockLevel {
    /// Nothing.
    None,
    /// Reading.
    Shared,
    /// Intending to write.
    Reserved,
    /// Waiting for readers to leave.
    Pending,
    /// Writing.
    Exclusive,
}

/// How hard to push written bytes towards the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncMode {
    /// To the drive.
    Normal,
    /// To the drive, and through its own cache.
    Full,
    /// To the drive, but no more of the file's description than is needed to read it back.
    DataOnly,
}

/// What to do with lock slots of the wal-index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockAction {
    /// Take a slot together with others.
    LockShared,
    /// Take slots alone.
    LockExclusive,
    /// Release a shared slot.
    UnlockShared,
    /// Release exclusive slots.
    UnlockExclusive,
}

/// What the device below a file guarantees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// The unit of a write that a power cut may tear, in bytes.
    pub sector_size: u32,
    /// SQLite's `SQLITE_IOCAP_*` bits.
    pub characteristics: u32,
    /// Whether [`File::shm_map`] can work.
    pub shared_memory: bool,
    /// Whether reads go straight into the buffer that they are for.
    pub direct_io: bool,
}

/// What every operation answers.
pub type Result<T> = std::result::Result<T, ErrorCode>;

/// Files by name.
///
/// ```
/// use sqlarium_guest::storage::memory::Memory;
/// use sqlarium_guest::storage::{OpenOptions, Role, Storage};
///
/// let storage = Memory::default();
/// let new = OpenOptions { read_write: true, create: true, ..OpenOptions::default() };
/// let mut file = storage.open("shop.db", Role::MainDatabase, new)?;
/// file.write(0, b"SQLite")?;
///
/// let mut page = [0; 4096];
/// assert_eq!(file.read(0, &mut page)?, 6, "fewer than asked for only at the end of the file");
/// # Ok::<(), sqlarium_guest::storage::ErrorCode>(())
/// ```
pub trait Storage: Sync {
    /// Opens a file. An empty name is a private temporary file.
    fn open(&self, name: &str, role: Role, options: OpenOptions) -> Result<Box<dyn File>>;
    /// Removes a file; `durable` returns when its directory entry is gone for good.
    fn delete(&self, name: &str, durable: bool) -> Result<()>;
    /// Whether a file is there, and may be written if `writable` asks for that.
    fn exists(&self, name: &str, writable: bool) -> Result<bool>;
}

/// The files that this build has: in the sandbox those that the host grants, in unit tests those of
/// the machine, to a fuzzer those in memory, else none.
pub fn granted() -> &'static dyn Storage {
    #[cfg(target_family = "wasm")]
    return &wit::Imported;
    #[cfg(test)]
    return &local::Local;
    #[cfg(fuzzing)]
    return memory::Memory::shared();
    #[cfg(not(any(test, fuzzing, target_family = "wasm")))]
    return &Nowhere;
}

/// No files at all.
#[cfg(not(any(test, fuzzing, target_family = "wasm")))]
struct Nowhere;

#[cfg(not(any(test, fuzzing, target_family = "wasm")))]
impl Storage for Nowhere {
    fn open(&self, _name: &str, _role: Role, _options: OpenOptions) -> Result<Box<dyn File>> {
        Err(ErrorCode::Denied)
    }
    fn delete(&self, _name: &str, _durable: bool) -> Result<()> {
        Err(ErrorCode::Denied)
    }
    fn exists(&self, _name: &str, _writable: bool) -> Result<bool> {
        Err(ErrorCode::Denied)
    }
}

/// An open file. Dropping it closes it and lets go of its locks.
pub trait File {
    /// Reads from `offset` into `buffer` and answers how many bytes there were;
    /// fewer than asked for only at the end of the file.
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize>;
    /// Writes all of `data` at `offset`, growing the file as needed.
    fn write(&mut self, offset: u64, data: &[u8]) -> Result<()>;
    /// Cuts the file, or extends it with zeros, to `size` bytes.
    fn truncate(&mut self, size: u64) -> Result<()>;
    /// Returns when what was written has reached the disk.
    fn sync(&mut self, mode: SyncMode) -> Result<()>;
    /// The size in bytes.
    fn size(&mut self) -> Result<u64>;
    /// Raises the lock to `level`.
    fn lock(&mut self, level: LockLevel) -> Result<()>;
    /// Lowers the lock to `level`, shared or none.
    fn unlock(&mut self, level: LockLevel) -> Result<()>;
    /// Whether any connection holds reserved or more.
    fn check_reserved(&mut self) -> Result<bool>;
    /// What the device guarantees.
    fn device(&mut self) -> Device;
    /// Whether the file can only be read, whatever was asked.
    fn is_read_only(&self) -> bool;
    /// Whether the name that the file was opened with now leads to another file or to none.
    fn has_moved(&mut self) -> bool {
        false
    }
    /// Gives a staged file its name and ends writing; [`ErrorCode::Exists`] if
    /// something has the name and is not to be replaced.
    fn publish(&mut self, replace: bool) -> Result<()>;

    /// Maps one region of the wal-index over `buffer`, which its owner keeps in
    /// place until [`File::shm_unmap`]; answers whether the region exists.
    /// [`ErrorCode::ReadOnly`]: it does, but what is stored in `buffer` reaches no one.
    fn shm_map(&mut self, region: u32, buffer: &mut [u8], extend: bool) -> Result<bool>;
    /// Takes or releases `count` lock slots of the wal-index from `slot` on.
    fn shm_lock(&mut self, slot: u32, count: u32, action: LockAction) -> Result<()>;
    /// A full memory barrier between this and other processes.
    fn shm_barrier(&mut self);
    /// Lets go of the wal-index; its buffers become ordinary, zeroed memory.
    fn shm_unmap(&mut self, delete: bool) -> Result<()>;
}
