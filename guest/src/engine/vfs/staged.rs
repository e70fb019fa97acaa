//! A database that has no name until it is whole ([`Role::Staged`](crate::storage::Role::Staged)).

use std::ffi::c_int;
use std::ptr;

use rusqlite::{Connection, ffi};

use crate::storage::ErrorCode;

/// What the name of a staged database starts with for SQLite. No grant does: a name is relative.
const PREFIX: &str = "/staged/";

/// Our opcode of `sqlite3_file_control`; those up to 100 are SQLite's own.
pub(super) const PUBLISH: c_int = 0x5351_4c41;

/// The argument of [`PUBLISH`].
pub(super) struct Publication {
    pub replace: bool,
    pub result: Result<(), ErrorCode>,
}

/// The name to open so that `name` exists once it is published.
pub fn path(name: &str) -> String {
    format!("{PREFIX}{name}")
}

/// Whether a name is one of ours, and so nobody else's.
pub fn is_reserved(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// The name that a staged database will get.
pub(super) fn name(path: &str) -> Option<&str> {
    path.strip_prefix(PREFIX)
}

/// Gives the staged database behind `connection` its name. All of it has to be
/// committed; from now on it cannot be written.
///
/// # Errors
///
/// [`ErrorCode::Exists`] if something has the name and is not to be replaced, and whatever else the host refuses.
pub fn publish(connection: &Connection, replace: bool) -> Result<(), ErrorCode> {
    let mut publication = Publication {
        replace,
        result: Err(ErrorCode::Invalid),
    };
    // SAFETY: the handle is open for as long as the borrow, and our file layer
    // takes the argument for what it is. Another layer does not know the opcode.
    let code = unsafe {
        ffi::sqlite3_file_control(
            connection.handle(),
            c"main".as_ptr(),
            PUBLISH,
            ptr::from_mut(&mut publication).cast(),
        )
    };
    match code {
        ffi::SQLITE_OK => publication.result,
        _ => Err(ErrorCode::Invalid),
    }
}
