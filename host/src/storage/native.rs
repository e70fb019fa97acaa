//! SQLite's own file layer for this operating system, behind a safe interface.
//!
//! It is that of the SQLite that this program links; the locks it takes are
//! those of every other SQLite. It trusts its caller not to break its rules
//! (a lock out of order, a negative size), so [`super::disk`] keeps them.

#![expect(unsafe_code, reason = "SQLite's file layer is a C interface")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{self, NonNull};

use rusqlite::ffi;

use super::{ErrorCode, LockLevel, Result, ShmAction, ShmSlots, SyncMode};

/// The size of one region of the wal-index, in bytes (`WALINDEX_PGSZ` in SQLite's `wal.c`).
pub const REGION: usize = 32768;

/// The parameter of a database's name that prevents its `-shm` from being created or written.
const READONLY_SHM: &CStr = c"readonly_shm";

/// SQLite's default file layer.
fn vfs() -> Result<NonNull<ffi::sqlite3_vfs>> {
    // SAFETY: both may be called at any time from any thread. The layer that
    // is found is a static of SQLite's and is never unregistered.
    let vfs = unsafe {
        if ffi::sqlite3_initialize() != ffi::SQLITE_OK {
            return Err(ErrorCode::Io);
        }
        ffi::sqlite3_vfs_find(ptr::null())
    };
    NonNull::new(vfs).ok_or(ErrorCode::Io)
}

/// Calls a method of SQLite's file layer; one that is missing is a failure of its own.
macro_rules! call {
    ($table:expr, $method:ident ( $($argument:expr),* )) => {
        match $table.$method {
            Some(method) => method($($argument),*),
            None => ffi::SQLITE_IOERR,
        }
    };
}

/// What a result code of SQLite's means to the guest.
fn check(code: c_int) -> Result<()> {
    Err(match code & 0xff {
        ffi::SQLITE_OK => return Ok(()),
        ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => ErrorCode::Busy,
        ffi::SQLITE_FULL => ErrorCode::Full,
        ffi::SQLITE_CANTOPEN => ErrorCode::NotFound,
        ffi::SQLITE_PERM | ffi::SQLITE_AUTH => ErrorCode::Denied,
        ffi::SQLITE_READONLY if code == ffi::SQLITE_READONLY_CANTINIT => ErrorCode::CannotInit,
        ffi::SQLITE_READONLY => ErrorCode::ReadOnly,
        ffi::SQLITE_MISUSE => ErrorCode::Invalid,
        _ if code == ffi::SQLITE_IOERR_DELETE_NOENT => ErrorCode::NotFound,
        _ => ErrorCode::Io,
    })
}

fn c_path(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| ErrorCode::Denied)
}

/// A file name as SQLite's layer wants it: with parameters behind it, at an
/// address that stays.
struct Name(NonNull<c_char>);

impl Name {
    fn new(path: &Path) -> Result<Self> {
        let path = c_path(path)?;
        let mut parameters = [READONLY_SHM.as_ptr(), c"0".as_ptr()];
        // SAFETY: all arguments are NUL-terminated strings, and there is one
        // pair of them in `parameters`; everything is copied.
        let name = unsafe {
            ffi::sqlite3_create_filename(
                path.as_ptr(),
                c"".as_ptr(),
                c"".as_ptr(),
                1,
                parameters.as_mut_ptr(),
            )
        };
        NonNull::new(name.cast_mut()).map(Self).ok_or(ErrorCode::Io)
    }

    fn as_ptr(&self) -> *const c_char {
        self.0.as_ptr()
    }

    /// Turns the parameter on or off.
    fn readonly_shm(&mut self, on: bool) {
        // SAFETY: the name was made by `sqlite3_create_filename` with this
        // parameter, whose value is one byte inside an allocation that is ours
        // alone. SQLite looks at it only while it opens the `-shm`, that is
        // inside `xShmMap`, which `&mut self` excludes.
        unsafe {
            let value = ffi::sqlite3_uri_parameter(self.as_ptr(), READONLY_SHM.as_ptr());
            if !value.is_null() {
                *value.cast_mut() = if on { b'1' as c_char } else { b'0' as c_char };
            }
        }
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        // SAFETY: made by `sqlite3_create_filename`; the file that used it is closed.
        unsafe { ffi::sqlite3_free_filename(self.as_ptr()) }
    }
}

/// An open file of SQLite's layer.
pub struct NativeFile {
    /// A `sqlite3_file` and what the layer keeps behind it. Boxed, for it must not move.
    file: Box<[u64]>,
    name: Name,
    shm: bool,
}

// SAFETY: SQLite's layer is compiled for use from several threads; a file may
// be used from any thread, one at a time, which `&mut self` sees to.
unsafe impl Send for NativeFile {}

impl NativeFile {
    /// Opens `path` with `SQLITE_OPEN_*` flags and answers whether it could
    /// only be opened for reading.
    pub fn open(path: &Path, flags: c_int) -> Result<(Self, bool)> {
        let vfs = vfs()?;
        let name = Name::new(path)?;
        // SAFETY: `vfs` is a valid file layer. `file` is zeroed memory of the
        // size it asks for, aligned for its pointers and integers, and neither
        // it nor the name moves or goes before the file is closed.
        unsafe {
            let table = vfs.as_ref();
            let size = usize::try_from(table.szOsFile).map_err(|_| ErrorCode::Io)?;
            let mut file = Self {
                file: vec![0; size.div_ceil(8)].into_boxed_slice(),
                name,
                shm: false,
            };
            let mut out = flags;
            let code = call!(
                table,
                xOpen(
                    vfs.as_ptr(),
                    file.name.as_ptr(),
                    file.raw(),
                    flags,
                    &raw mut out
                )
            );
            // On a failure that left something to close, the drop closes it.
            check(code)?;
            Ok((file, out & ffi::SQLITE_OPEN_READONLY != 0))
        }
    }

    fn raw(&mut self) -> *mut ffi::sqlite3_file {
        self.file.as_mut_ptr().cast()
    }

    /// The file and its methods.
    fn methods(&mut self) -> (*mut ffi::sqlite3_file, &'static ffi::sqlite3_io_methods) {
        let file = self.raw();
        // SAFETY: `xOpen` succeeded, so the file begins with a pointer to a
        // table of methods, which is a static of SQLite's.
        (file, unsafe { &*(*file).pMethods })
    }

    /// Fills `data` from `offset`; false if the file ends before that.
    pub fn read(&mut self, offset: u64, data: &mut [u8]) -> Result<bool> {
        let (file, methods) = self.methods();
        let length = c_int::try_from(data.len()).map_err(|_| ErrorCode::Invalid)?;
        // SAFETY: the file is open and `data` has room for `length` bytes.
        match unsafe {
            call!(
                methods,
                xRead(file, data.as_mut_ptr().cast(), length, offset as i64)
            )
        } {
            ffi::SQLITE_IOERR_SHORT_READ => Ok(false),
            code => check(code).map(|()| true),
        }
    }

    /// Writes all of `data` at `offset`.
    pub fn write(&mut self, offset: u64, data: &[u8]) -> Result<()> {
        let (file, methods) = self.methods();
        let length = c_int::try_from(data.len()).map_err(|_| ErrorCode::Invalid)?;
        // SAFETY: the file is open and `data` has `length` bytes.
        check(unsafe {
            call!(
                methods,
                xWrite(file, data.as_ptr().cast(), length, offset as i64)
            )
        })
    }

    /// Cuts or extends to `size` bytes.
    pub fn truncate(&mut self, size: u64) -> Result<()> {
        let (file, methods) = self.methods();
        // SAFETY: the file is open.
        check(unsafe { call!(methods, xTruncate(file, size as i64)) })
    }

    /// Pushes what was written towards the disk.
    pub fn sync(&mut self, mode: SyncMode) -> Result<()> {
        let (file, methods) = self.methods();
        let flags = match mode {
            SyncMode::Normal => ffi::SQLITE_SYNC_NORMAL,
            SyncMode::Full => ffi::SQLITE_SYNC_FULL,
            SyncMode::DataOnly => ffi::SQLITE_SYNC_NORMAL | ffi::SQLITE_SYNC_DATAONLY,
        };
        // SAFETY: the file is open.
        check(unsafe { call!(methods, xSync(file, flags)) })
    }

    /// The size in bytes.
    pub fn size(&mut self) -> Result<u64> {
        let (file, methods) = self.methods();
        let mut size = 0;
        // SAFETY: the file is open and `size` outlives the call.
        check(unsafe { call!(methods, xFileSize(file, &raw mut size)) })?;
        u64::try_from(size).map_err(|_| ErrorCode::Io)
    }

    /// Raises the lock.
    pub fn lock(&mut self, level: LockLevel) -> Result<()> {
        let (file, methods) = self.methods();
        // SAFETY: the file is open; the caller keeps to the order of levels.
        check(unsafe { call!(methods, xLock(file, lock_code(level))) })
    }

    /// Lowers the lock.
    pub fn unlock(&mut self, level: LockLevel) -> Result<()> {
        let (file, methods) = self.methods();
        // SAFETY: the file is open; the level is none or shared.
        check(unsafe { call!(methods, xUnlock(file, lock_code(level))) })
    }

    /// Whether anyone holds reserved or more.
    pub fn check_reserved(&mut self) -> Result<bool> {
        let (file, methods) = self.methods();
        let mut reserved = 0;
        // SAFETY: the file is open and `reserved` outlives the call.
        check(unsafe { call!(methods, xCheckReservedLock(file, &raw mut reserved)) })?;
        Ok(reserved != 0)
    }

    /// The sector size and the `SQLITE_IOCAP_*` bits.
    pub fn device(&mut self) -> (c_int, c_int) {
        let (file, methods) = self.methods();
        // SAFETY: the file is open.
        unsafe {
            (
                methods.xSectorSize.map_or(4096, |method| method(file)),
                methods
                    .xDeviceCharacteristics
                    .map_or(0, |method| method(file)),
            )
        }
    }

    /// Whether the path now leads to another file or to none.
    pub fn has_moved(&mut self) -> Result<bool> {
        let (file, methods) = self.methods();
        let mut moved: c_int = 0;
        // SAFETY: the file is open, and the answer to this question is an `int`, which outlives
        // the call.
        check(unsafe {
            call!(
                methods,
                xFileControl(file, ffi::SQLITE_FCNTL_HAS_MOVED, (&raw mut moved).cast())
            )
        })?;
        Ok(moved != 0)
    }

    /// Whether the `-shm` may be neither made nor written when it is next opened.
    pub fn readonly_shm(&mut self, on: bool) {
        self.name.readonly_shm(on);
    }

    /// Whether the `-shm` is open.
    pub fn has_shm(&self) -> bool {
        self.shm
    }

    /// Maps a region, [`REGION`] bytes, of the wal-index into this process,
    /// opening the `-shm` if need be. No address: the region is not there. The
    /// address is good until [`NativeFile::shm_unmap`]. The flag says that it
    /// cannot be written.
    pub fn shm_map(&mut self, region: u32, extend: bool) -> Result<(Option<NonNull<u8>>, bool)> {
        let (file, methods) = self.methods();
        if methods.iVersion < 2 {
            return Err(ErrorCode::Unsupported);
        }
        let region = c_int::try_from(region).map_err(|_| ErrorCode::Invalid)?;
        let mut address: *mut c_void = ptr::null_mut();
        // SAFETY: the file is an open database and `address` outlives the call.
        let code = unsafe {
            call!(
                methods,
                xShmMap(
                    file,
                    region,
                    REGION as c_int,
                    c_int::from(extend),
                    &raw mut address
                )
            )
        };
        match code {
            ffi::SQLITE_OK | ffi::SQLITE_READONLY => {
                self.shm = true;
                Ok((NonNull::new(address.cast()), code == ffi::SQLITE_READONLY))
            }
            _ => {
                // It is open, but may hold anything.
                self.shm |= code == ffi::SQLITE_READONLY_CANTINIT;
                Err(match check(code) {
                    Err(error) => error,
                    Ok(()) => ErrorCode::Io,
                })
            }
        }
    }

    /// Takes or releases slots of the wal-index lock. The `-shm` must be open.
    pub fn shm_lock(&mut self, slots: ShmSlots, action: ShmAction) -> Result<()> {
        if !self.shm {
            return Err(ErrorCode::Invalid);
        }
        let (file, methods) = self.methods();
        let flags = match action {
            ShmAction::LockShared => ffi::SQLITE_SHM_LOCK | ffi::SQLITE_SHM_SHARED,
            ShmAction::LockExclusive => ffi::SQLITE_SHM_LOCK | ffi::SQLITE_SHM_EXCLUSIVE,
            ShmAction::UnlockShared => ffi::SQLITE_SHM_UNLOCK | ffi::SQLITE_SHM_SHARED,
            ShmAction::UnlockExclusive => ffi::SQLITE_SHM_UNLOCK | ffi::SQLITE_SHM_EXCLUSIVE,
        };
        // SAFETY: the file is open and so is its `-shm`; the slots are among
        // the eight, and the caller releases only what it holds.
        check(unsafe {
            call!(
                methods,
                xShmLock(file, slots.first.into(), slots.count.into(), flags)
            )
        })
    }

    /// A full memory barrier.
    pub fn shm_barrier(&mut self) {
        let (file, methods) = self.methods();
        if let Some(method) = methods.xShmBarrier.filter(|_| self.shm) {
            // SAFETY: the file is open and so is its `-shm`.
            unsafe { method(file) }
        }
    }

    /// Closes the `-shm`; with `delete` it goes, if no one else in this process has it open.
    pub fn shm_unmap(&mut self, delete: bool) -> Result<()> {
        if !std::mem::take(&mut self.shm) {
            return Ok(());
        }
        let (file, methods) = self.methods();
        // SAFETY: the file is open and so is its `-shm`; the caller uses no
        // address in it any more.
        check(unsafe { call!(methods, xShmUnmap(file, delete.into())) })
    }
}

impl Drop for NativeFile {
    fn drop(&mut self) {
        let file = self.raw();
        // SAFETY: the memory begins with the pointer that `xOpen` set, or with
        // zeros if it did not get that far. The `-shm` has to be closed first.
        unsafe {
            if !(*file).pMethods.is_null() {
                let _ = self.shm_unmap(false);
                let _ = call!((*(*file).pMethods), xClose(file));
            }
        }
    }
}

fn lock_code(level: LockLevel) -> c_int {
    match level {
        LockLevel::None => ffi::SQLITE_LOCK_NONE,
        LockLevel::Shared => ffi::SQLITE_LOCK_SHARED,
        LockLevel::Reserved => ffi::SQLITE_LOCK_RESERVED,
        LockLevel::Pending => ffi::SQLITE_LOCK_PENDING,
        LockLevel::Exclusive => ffi::SQLITE_LOCK_EXCLUSIVE,
    }
}

/// Removes a file, and waits for the directory entry to go if `durable`.
pub fn delete(path: &Path, durable: bool) -> Result<()> {
    let (vfs, path) = (vfs()?, c_path(path)?);
    // SAFETY: `vfs` is a valid file layer and `path` a NUL-terminated string.
    check(unsafe {
        call!(
            vfs.as_ref(),
            xDelete(vfs.as_ptr(), path.as_ptr(), durable.into())
        )
    })
}

/// Whether a file is there and not empty; or may be read and written.
pub fn exists(path: &Path, writable: bool) -> Result<bool> {
    let (vfs, path) = (vfs()?, c_path(path)?);
    let question = if writable {
        ffi::SQLITE_ACCESS_READWRITE
    } else {
        ffi::SQLITE_ACCESS_EXISTS
    };
    let mut answer = 0;
    // SAFETY: `vfs` is a valid file layer, `path` a NUL-terminated string, and `answer` outlives the call.
    check(unsafe {
        call!(
            vfs.as_ref(),
            xAccess(vfs.as_ptr(), path.as_ptr(), question, &raw mut answer)
        )
    })?;
    Ok(answer != 0)
}
