//! The library that the sandbox has for vectors, natively.

use rusqlite::{Connection, ffi};
// Links the library's C code.
use sqlite_vec as _;

// The crate declares it without its arguments.
#[expect(unsafe_code, reason = "a C library")]
unsafe extern "C" {
    fn sqlite3_vec_init(
        db: *mut ffi::sqlite3,
        message: *mut *mut std::ffi::c_char,
        routines: *const ffi::sqlite3_api_routines,
    ) -> std::ffi::c_int;
}

/// Gives a native connection the functions and tables of sqlite-vec.
///
/// # Panics
/// If the library refuses.
pub fn load_sqlite_vec(connection: &Connection) {
    let mut message = std::ptr::null_mut();
    // SAFETY: the connection is open, and the library is linked in.
    #[expect(unsafe_code, reason = "a C library")]
    let code = unsafe { sqlite3_vec_init(connection.handle(), &raw mut message, std::ptr::null()) };
    assert_eq!(code, 0);
}
