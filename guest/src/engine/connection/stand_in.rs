//! What a connection does without that the program of a file would bring: collations, functions
//! and modules of its own.
//!
//! Stand-ins are for connections that only read. What a stand-in would order or compute is not what
//! the program does, so nothing that is written, and nothing that is compared, may come from one.

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;

use rusqlite::functions::FunctionFlags;
use rusqlite::types::Null;
use rusqlite::{Connection, ffi};

/// Lets rows be read whatever collations their keys have: one that is not known compares bytes.
///
/// # Errors
///
/// None that SQLite documents.
#[expect(
    unsafe_code,
    reason = "rusqlite's callback leaves out databases in UTF-16"
)]
pub(crate) fn collations(connection: &Connection) -> rusqlite::Result<()> {
    // SAFETY: the connection is open; the callback has no state.
    let code = unsafe {
        ffi::sqlite3_collation_needed(connection.handle(), ptr::null_mut(), Some(needed))
    };
    match code {
        ffi::SQLITE_OK => Ok(()),
        code => Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)),
    }
}

#[expect(unsafe_code, reason = "a callback of a C library")]
unsafe extern "C" fn needed(_: *mut c_void, db: *mut ffi::sqlite3, _: c_int, name: *const c_char) {
    // SAFETY: SQLite passes an open connection and a NUL-terminated name. A failure shows, as the
    // collation is still missing.
    unsafe { create(db, name) };
}

/// Makes a collation that compares bytes.
///
/// # Safety
///
/// The connection must be open, and the name NUL-terminated.
#[expect(unsafe_code, reason = "a C library")]
unsafe fn create(db: *mut ffi::sqlite3, name: *const c_char) -> c_int {
    let utf8 = ffi::SQLITE_UTF8;
    // SAFETY: as the caller promises; the comparison has no state.
    unsafe {
        ffi::sqlite3_create_collation_v2(db, name, utf8, ptr::null_mut(), Some(compare), None)
    }
}

#[expect(unsafe_code, reason = "a callback of a C library")]
unsafe extern "C" fn compare(
    _: *mut c_void,
    left: c_int,
    left_at: *const c_void,
    right: c_int,
    right_at: *const c_void,
) -> c_int {
    let bytes = |length: c_int, at: *const c_void| match usize::try_from(length) {
        // SAFETY: SQLite passes so many bytes at `at`.
        Ok(length) if length > 0 => unsafe { std::slice::from_raw_parts(at.cast::<u8>(), length) },
        _ => &[],
    };
    bytes(left, left_at).cmp(bytes(right, right_at)) as c_int
}

/// Lets the collation `name` be used, which is not known.
///
/// # Errors
///
/// SQLite's, if memory is used up.
#[expect(unsafe_code, reason = "the same as for many")]
pub(crate) fn collation(connection: &Connection, name: &str) -> rusqlite::Result<()> {
    let name = CString::new(name)?;
    // SAFETY: the connection is open.
    match unsafe { create(connection.handle(), name.as_ptr()) } {
        ffi::SQLITE_OK => Ok(()),
        code => Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)),
    }
}

/// Lets statements be compiled that call `name`, which is not known: it answers NULL.
///
/// # Errors
///
/// SQLite's, if memory is used up.
pub(crate) fn function(connection: &Connection, name: &str) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function(name, -1, flags, |_| Ok(Null))
}

/// Takes all modules of virtual tables away, so that nothing looks into those.
#[expect(unsafe_code, reason = "rusqlite does not wrap it")]
pub(crate) fn no_modules(connection: &Connection) {
    // SAFETY: the connection is open, and no statement on it uses a virtual table.
    unsafe { ffi::sqlite3_drop_modules(connection.handle(), ptr::null_mut()) };
}
