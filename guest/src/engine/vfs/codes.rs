//! What a failure of the storage is called in SQLite's result codes.

use std::ffi::c_int;

use rusqlite::ffi;

use crate::storage::{ErrorCode, Role};

/// What was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// To open a file.
    Open(Role),
    /// To remove one.
    Delete,
    /// To look for one.
    Access,
    /// To read.
    Read,
    /// To write.
    Write,
    /// To cut or to extend.
    Truncate,
    /// To push towards the disk.
    Sync,
    /// To measure.
    Size,
    /// To raise a lock.
    Lock,
    /// To lower one.
    Unlock,
    /// To ask for one.
    CheckReserved,
    /// To map the wal-index.
    ShmMap,
    /// To lock the wal-index.
    ShmLock,
    /// To let go of it.
    ShmUnmap,
}

/// The result code of an operation.
pub(super) fn result(result: Result<(), ErrorCode>, operation: Operation) -> c_int {
    match result {
        Ok(()) => ffi::SQLITE_OK,
        Err(error) => code(error, operation),
    }
}

/// The result code of a failure, <https://www.sqlite.org/rescode.html>.
pub(super) fn code(error: ErrorCode, operation: Operation) -> c_int {
    match error {
        ErrorCode::Busy => ffi::SQLITE_BUSY,
        ErrorCode::Full => ffi::SQLITE_FULL,
        ErrorCode::CannotInit => ffi::SQLITE_READONLY_CANTINIT,
        ErrorCode::Unsupported => ffi::SQLITE_IOERR_SHMMAP,
        ErrorCode::Invalid => ffi::SQLITE_MISUSE,
        ErrorCode::NotFound if operation == Operation::Delete => ffi::SQLITE_IOERR_DELETE_NOENT,
        ErrorCode::ReadOnly => match operation {
            Operation::Open(Role::MainJournal | Role::Wal | Role::SuperJournal) => {
                ffi::SQLITE_READONLY_DIRECTORY
            }
            _ => ffi::SQLITE_READONLY,
        },
        ErrorCode::NotFound | ErrorCode::Denied | ErrorCode::Exists => match operation {
            Operation::Open(_) => ffi::SQLITE_CANTOPEN,
            _ => failure(operation),
        },
        ErrorCode::Io => failure(operation),
    }
}

fn failure(operation: Operation) -> c_int {
    match operation {
        Operation::Open(_) => ffi::SQLITE_CANTOPEN,
        Operation::Delete => ffi::SQLITE_IOERR_DELETE,
        Operation::Access => ffi::SQLITE_IOERR_ACCESS,
        Operation::Read => ffi::SQLITE_IOERR_READ,
        Operation::Write => ffi::SQLITE_IOERR_WRITE,
        Operation::Truncate => ffi::SQLITE_IOERR_TRUNCATE,
        Operation::Sync => ffi::SQLITE_IOERR_FSYNC,
        Operation::Size => ffi::SQLITE_IOERR_FSTAT,
        Operation::Lock => ffi::SQLITE_IOERR_LOCK,
        Operation::Unlock => ffi::SQLITE_IOERR_UNLOCK,
        Operation::CheckReserved => ffi::SQLITE_IOERR_CHECKRESERVEDLOCK,
        Operation::ShmMap => ffi::SQLITE_IOERR_SHMMAP,
        Operation::ShmLock => ffi::SQLITE_IOERR_SHMLOCK,
        Operation::ShmUnmap => ffi::SQLITE_IOERR_SHMOPEN,
    }
}
