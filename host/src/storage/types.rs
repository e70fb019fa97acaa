//! What the storage is asked for and answers, in its own words. They are those of SQLite's
//! VFS, <https://www.sqlite.org/c3ref/vfs.html> and <https://www.sqlite.org/c3ref/io_methods.html>.

use std::io;

use rusqlite::ffi;
use rustix::io::Errno;

/// Why an operation failed. Each maps onto one of SQLite's result codes,
/// <https://www.sqlite.org/rescode.html>.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCode {
    /// A lock of another connection is in the way, or standard input has nothing to read
    /// yet (`SQLITE_BUSY`).
    Busy,
    /// The disk or its budget is full (`SQLITE_FULL`).
    Full,
    /// There is no such file, and it was not to be created (`SQLITE_CANTOPEN`).
    NotFound,
    /// The name is not one that the owner granted (`SQLITE_CANTOPEN`).
    Denied,
    /// The file or its grant does not allow writing (`SQLITE_READONLY`).
    ReadOnly,
    /// There is no wal-index and none may be created: the reader has to build a private
    /// one (`SQLITE_READONLY_CANTINIT`).
    CannotInit,
    /// The file has no such thing as shared memory (`SQLITE_IOERR_SHMMAP`).
    Unsupported,
    /// The arguments make no sense, or a lock is taken out of order (`SQLITE_MISUSE`).
    Invalid,
    /// The operating system reported a failure (`SQLITE_IOERR`).
    Io,
    /// A file of that name exists and was not to be replaced (`SQLITE_CANTOPEN`).
    Exists,
}

/// The result of an operation of the storage.
pub type Result<T> = std::result::Result<T, ErrorCode>;

impl From<io::Error> for ErrorCode {
    fn from(error: io::Error) -> Self {
        use io::ErrorKind as K;
        // What a symbolic link is refused as has no stable name in the standard library.
        if error.raw_os_error() == Some(libc::ELOOP) {
            return Self::Denied;
        }
        match error.kind() {
            K::StorageFull | K::QuotaExceeded | K::FileTooLarge => Self::Full,
            K::NotFound => Self::NotFound,
            K::ReadOnlyFilesystem => Self::ReadOnly,
            K::PermissionDenied | K::NotADirectory | K::InvalidFilename => Self::Denied,
            _ => Self::Io,
        }
    }
}

impl From<Errno> for ErrorCode {
    fn from(error: Errno) -> Self {
        io::Error::from(error).into()
    }
}

/// What SQLite wants a file for: the `SQLITE_OPEN_MAIN_DB` to `SQLITE_OPEN_WAL` of
/// `xOpen`, and two kinds of file that are no database's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A database.
    MainDatabase,
    /// Its rollback journal.
    MainJournal,
    /// Its write-ahead log.
    Wal,
    /// The journal of a transaction on several databases.
    SuperJournal,
    /// A temporary database, its journal, or what a sorter writes.
    Temporary,
    /// A file that exists, to be read as it is.
    Plain,
    /// A new file that has no name until it is published.
    Staged,
}

/// How to open a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// For writing as well as for reading.
    pub read_write: bool,
    /// Create it if it does not exist.
    pub create: bool,
    /// Fail if it exists.
    pub exclusive: bool,
    /// Nobody wants it after this handle; for temporary files only.
    pub delete_on_close: bool,
}

/// The five levels of a lock, <https://www.sqlite.org/lockingv3.html>, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockLevel {
    /// No lock.
    None,
    /// For reading.
    Shared,
    /// For writing later; readers come and go.
    Reserved,
    /// For writing as soon as the readers have left; no new ones are let in.
    Pending,
    /// For writing.
    Exclusive,
}

/// How hard to push written bytes towards the disk: the `SQLITE_SYNC_*` of `xSync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncMode {
    /// `fsync`.
    Normal,
    /// As far as the system can, such as `F_FULLFSYNC` on macOS.
    Full,
    /// The bytes and the size, not the file's times.
    DataOnly,
}

/// What to do with slots of the wal-index lock: the `SQLITE_SHM_*` of `xShmLock`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShmAction {
    /// Take one slot for reading.
    LockShared,
    /// Take slots for oneself alone.
    LockExclusive,
    /// Release a slot that was taken for reading.
    UnlockShared,
    /// Release slots that were taken exclusively.
    UnlockExclusive,
}

/// What the device below a file guarantees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// The unit of a write that a power cut may tear, in bytes (`xSectorSize`).
    pub sector_size: u32,
    /// `SQLITE_IOCAP_*` bits (`xDeviceCharacteristics`).
    pub characteristics: u32,
    /// Whether `shm_map` works.
    pub shared_memory: bool,
}

impl Device {
    /// That of a file which no one else has open: nothing depends on what it promises.
    pub const PRIVATE: Self = Self {
        sector_size: 4096,
        characteristics: ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE as u32,
        shared_memory: false,
    };
}
