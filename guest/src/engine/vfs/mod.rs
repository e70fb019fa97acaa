//! SQLite's file layer over [`Storage`], <https://www.sqlite.org/vfs.html>.
//!
//! In the component it is the only one there is: SQLite is compiled with
//! `SQLITE_OS_OTHER`, so it asks [`os`] for a file layer when it starts.
//! Natively, unit tests register it beside SQLite's own.

#![expect(
    unsafe_code,
    reason = "SQLite calls a file layer through C function pointers"
)]

mod codes;
#[cfg(test)]
pub(crate) mod faulty;
mod file;
#[cfg(any(test, target_family = "wasm"))]
mod local_time;
pub mod staged;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, ffi};

use crate::storage::{ErrorCode, OpenOptions, Role, Storage};
use codes::Operation;
use file::VfsFile;

/// The longest name, in bytes, its NUL included.
const NAME_BYTES: c_int = 4096;

thread_local! {
    /// What is left of the time that SQLite may sleep, in milliseconds.
    static SLEEP: Cell<u32> = const { Cell::new(u32::MAX) };
}

/// Lets SQLite sleep for `milliseconds` more in all; beyond that its sleeps take no time.
///
/// It sleeps by itself, asking nobody, where it waits for another process to put the index of
/// a write-ahead log right: a hundred times, ten seconds in all (`walTryBeginRead` in `wal.c`).
pub fn allow_sleep(milliseconds: u32) {
    SLEEP.set(milliseconds);
}

/// Whether the file of a connection's database no longer has its name: it was replaced, renamed or
/// deleted.
pub(crate) fn has_moved(connection: &Connection) -> bool {
    let mut moved: c_int = 0;
    // SAFETY: the connection is open, and the argument is what the opcode takes. A file layer that
    // does not know the opcode leaves it as it is.
    let code = unsafe {
        ffi::sqlite3_file_control(
            connection.handle(),
            c"main".as_ptr(),
            ffi::SQLITE_FCNTL_HAS_MOVED,
            ptr::from_mut(&mut moved).cast(),
        )
    };
    code == ffi::SQLITE_OK && moved != 0
}

/// Whether the file of a connection's database can have a write-ahead log whose index programs share.
pub(crate) fn shares_memory(connection: &Connection) -> bool {
    let mut file: *mut ffi::sqlite3_file = ptr::null_mut();
    // SAFETY: the connection is open, and the argument is what the opcode takes. The file lives as long as the
    // connection, and its methods are those of the file layer, or none.
    unsafe {
        let code = ffi::sqlite3_file_control(
            connection.handle(),
            c"main".as_ptr(),
            ffi::SQLITE_FCNTL_FILE_POINTER,
            ptr::from_mut(&mut file).cast(),
        );
        code == ffi::SQLITE_OK
            && file.as_ref().is_some_and(|file| {
                file.pMethods
                    .as_ref()
                    .is_some_and(|methods| methods.iVersion >= 2 && methods.xShmMap.is_some())
            })
    }
}

/// What a registered file layer works with.
struct Layer {
    storage: &'static dyn Storage,
    sleep: fn(u32),
}

/// Registers `storage` as the file layer `name`, the default one if `default`.
/// `sleep` waits for so many milliseconds. The layer stays for good, so
/// register each name once.
pub fn register(
    name: &'static CStr,
    storage: &'static dyn Storage,
    sleep: fn(u32),
    default: bool,
) -> rusqlite::Result<()> {
    let layer = Box::leak(Box::new(Layer { storage, sleep }));
    let vfs = Box::leak(Box::new(ffi::sqlite3_vfs {
        iVersion: 2,
        szOsFile: size_of::<VfsFile>() as c_int,
        mxPathname: NAME_BYTES,
        pNext: ptr::null_mut(),
        zName: name.as_ptr(),
        pAppData: ptr::from_mut(layer).cast(),
        xOpen: Some(open),
        xDelete: Some(delete),
        xAccess: Some(access),
        xFullPathname: Some(full_pathname),
        xDlOpen: Some(dl_open),
        xDlError: Some(dl_error),
        xDlSym: Some(dl_sym),
        xDlClose: Some(dl_close),
        xRandomness: Some(randomness),
        xSleep: Some(sleep_microseconds),
        xCurrentTime: Some(current_time),
        xGetLastError: None,
        xCurrentTimeInt64: Some(current_time_int64),
        xSetSystemCall: None,
        xGetSystemCall: None,
        xNextSystemCall: None,
    }));
    // SAFETY: the structure and what it points to live for good.
    match unsafe { ffi::sqlite3_vfs_register(vfs, default.into()) } {
        ffi::SQLITE_OK => Ok(()),
        code => Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)),
    }
}

/// The layer over real files, for unit tests of new files.
#[cfg(test)]
pub fn local() -> &'static CStr {
    use std::sync::Once;
    static REGISTERED: Once = Once::new();
    const NAME: &CStr = c"sqlarium-local";
    REGISTERED.call_once(|| {
        register(NAME, &crate::storage::local::Local, |_| {}, false).expect("registered");
    });
    NAME
}

/// Whether this thread's databases are on a layer that fails on demand, in unit tests.
pub(crate) fn is_faulty() -> bool {
    #[cfg(test)]
    return faulty::is_in_use();
    #[cfg(not(test))]
    false
}

/// The layer behind a `sqlite3_vfs` of ours.
///
/// # Safety
///
/// `vfs` must be one that [`register`] made.
unsafe fn layer(vfs: *mut ffi::sqlite3_vfs) -> &'static Layer {
    // SAFETY: `register` put a leaked `Layer` there.
    unsafe { &*(*vfs).pAppData.cast::<Layer>() }
}

/// The name that SQLite passes; no pointer is no name.
///
/// # Safety
///
/// `name` must be null or a NUL-terminated string that outlives the result.
unsafe fn text<'a>(name: *const c_char) -> Result<&'a str, ErrorCode> {
    if name.is_null() {
        return Ok("");
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(name) }
        .to_str()
        .map_err(|_| ErrorCode::Denied)
}

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    let has = |flag| flags & flag != 0;
    let role = if has(ffi::SQLITE_OPEN_MAIN_DB) {
        Role::MainDatabase
    } else if has(ffi::SQLITE_OPEN_MAIN_JOURNAL) {
        Role::MainJournal
    } else if has(ffi::SQLITE_OPEN_WAL) {
        Role::Wal
    } else if has(ffi::SQLITE_OPEN_SUPER_JOURNAL) {
        Role::SuperJournal
    } else {
        Role::Temporary
    };
    let mut options = OpenOptions {
        read_write: has(ffi::SQLITE_OPEN_READWRITE),
        create: has(ffi::SQLITE_OPEN_CREATE),
        exclusive: has(ffi::SQLITE_OPEN_EXCLUSIVE),
        delete_on_close: has(ffi::SQLITE_OPEN_DELETEONCLOSE),
    };
    // SAFETY: SQLite passes our `vfs`, a name that lives as long as the file,
    // and `szOsFile` bytes at `file`. The name of a log is part of the name of
    // its database, which SQLite opened through this layer, too.
    unsafe {
        let file = file.cast::<VfsFile>();
        (*file).prepare();
        // SQLite asks for a log to be written even if it opened the database for reading.
        if role == Role::Wal
            && VfsFile::is_read_only(ffi::sqlite3_database_file_object(name).cast())
        {
            options.read_write = false;
            options.create = false;
        }
        let opened = text(name).and_then(|name| match staged::name(name) {
            None => layer(vfs).storage.open(name, role, options),
            // Its journal is off: what it would undo is gone with the file.
            Some(_) if role != Role::MainDatabase => Err(ErrorCode::Denied),
            Some(name) => layer(vfs).storage.open(name, Role::Staged, options),
        });
        match opened {
            Ok(opened) => {
                let read_only = (*file).attach(opened);
                if !out_flags.is_null() {
                    let access = ffi::SQLITE_OPEN_READONLY
                        | ffi::SQLITE_OPEN_READWRITE
                        | ffi::SQLITE_OPEN_CREATE;
                    *out_flags = match read_only {
                        true => flags & !access | ffi::SQLITE_OPEN_READONLY,
                        false => flags,
                    };
                }
                ffi::SQLITE_OK
            }
            Err(code) => codes::code(code, Operation::Open(role)),
        }
    }
}

unsafe extern "C" fn delete(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    durable: c_int,
) -> c_int {
    // SAFETY: SQLite passes our `vfs` and a NUL-terminated name.
    let result =
        unsafe { text(name).and_then(|name| layer(vfs).storage.delete(name, durable != 0)) };
    codes::result(result, Operation::Delete)
}

unsafe extern "C" fn access(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    question: c_int,
    out: *mut c_int,
) -> c_int {
    let writable = question == ffi::SQLITE_ACCESS_READWRITE;
    // SAFETY: SQLite passes our `vfs`, a NUL-terminated name and a place for the answer.
    unsafe {
        let answer = text(name).and_then(|name| match staged::name(name) {
            None => layer(vfs).storage.exists(name, writable),
            // What may lie beside a file of its name does not belong to it.
            Some(_) => Ok(false),
        });
        *out = c_int::from(answer == Ok(true));
        codes::result(answer.map(drop), Operation::Access)
    }
}

/// Names are what the owner granted, so they are full as they stand.
unsafe extern "C" fn full_pathname(
    _vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    length: c_int,
    out: *mut c_char,
) -> c_int {
    // SAFETY: SQLite passes a NUL-terminated name and `length` bytes at `out`.
    unsafe {
        let name = CStr::from_ptr(name).to_bytes_with_nul();
        if usize::try_from(length).is_ok_and(|length| name.len() <= length) {
            ptr::copy_nonoverlapping(name.as_ptr().cast(), out, name.len());
            ffi::SQLITE_OK
        } else {
            ffi::SQLITE_CANTOPEN
        }
    }
}

unsafe extern "C" fn dl_open(_vfs: *mut ffi::sqlite3_vfs, _name: *const c_char) -> *mut c_void {
    ptr::null_mut()
}

unsafe extern "C" fn dl_error(_vfs: *mut ffi::sqlite3_vfs, length: c_int, out: *mut c_char) {
    let message = c"there are no loadable extensions here".to_bytes_with_nul();
    if usize::try_from(length).is_ok_and(|length| message.len() <= length) {
        // SAFETY: SQLite passes `length` bytes at `out`.
        unsafe { ptr::copy_nonoverlapping(message.as_ptr().cast(), out, message.len()) }
    }
}

unsafe extern "C" fn dl_sym(
    _vfs: *mut ffi::sqlite3_vfs,
    _library: *mut c_void,
    _symbol: *const c_char,
) -> Option<unsafe extern "C" fn(*mut ffi::sqlite3_vfs, *mut c_void, *const c_char)> {
    None
}

unsafe extern "C" fn dl_close(_vfs: *mut ffi::sqlite3_vfs, _library: *mut c_void) {}

unsafe extern "C" fn randomness(
    _vfs: *mut ffi::sqlite3_vfs,
    length: c_int,
    out: *mut c_char,
) -> c_int {
    let Ok(bytes) = usize::try_from(length) else {
        return 0;
    };
    // SAFETY: SQLite passes `length` bytes at `out`, initialised.
    let buffer = unsafe { std::slice::from_raw_parts_mut(out.cast::<u8>(), bytes) };
    match getrandom::fill(buffer) {
        Ok(()) => length,
        Err(_) => 0,
    }
}

unsafe extern "C" fn sleep_microseconds(vfs: *mut ffi::sqlite3_vfs, microseconds: c_int) -> c_int {
    let milliseconds = u32::try_from(microseconds).unwrap_or(0).div_ceil(1000);
    let left = SLEEP.get();
    let slept = milliseconds.min(left);
    SLEEP.set(left - slept);
    if slept > 0 {
        // SAFETY: SQLite passes our `vfs`.
        unsafe { (layer(vfs).sleep)(slept) };
    }
    c_int::try_from(u64::from(milliseconds) * 1000).unwrap_or(c_int::MAX)
}

/// The Unix epoch in SQLite's time, milliseconds since noon of November 24th, 4714 BC.
const EPOCH_MS: i64 = 210_866_760_000_000;

fn now_ms() -> i64 {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or(Duration::ZERO);
    EPOCH_MS.saturating_add(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

unsafe extern "C" fn current_time_int64(
    _vfs: *mut ffi::sqlite3_vfs,
    out: *mut ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite passes a place for the answer.
    unsafe { *out = now_ms() };
    ffi::SQLITE_OK
}

unsafe extern "C" fn current_time(_vfs: *mut ffi::sqlite3_vfs, out: *mut f64) -> c_int {
    // SAFETY: SQLite passes a place for the answer.
    unsafe { *out = now_ms() as f64 / 86_400_000.0 };
    ffi::SQLITE_OK
}

/// What SQLite calls when it starts and ends, in place of an operating system.
#[cfg(target_family = "wasm")]
mod os {
    use std::ffi::c_int;

    use rusqlite::ffi;

    use crate::storage::wit::{Imported, offset_at, sleep};

    #[unsafe(no_mangle)]
    extern "C" fn sqlite3_os_init() -> c_int {
        super::local_time::set(offset_at);
        match super::register(c"sqlarium", &Imported, sleep, true) {
            Ok(()) => ffi::SQLITE_OK,
            Err(_) => ffi::SQLITE_ERROR,
        }
    }

    #[unsafe(no_mangle)]
    extern "C" fn sqlite3_os_end() -> c_int {
        ffi::SQLITE_OK
    }
}
