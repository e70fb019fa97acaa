//! Whether a statement itself inserts a row into a table with rowids.
//!
//! By SQLite's own hook rather than rusqlite's, which checks two names for each row that is changed.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Arc;

use rusqlite::{Connection, ffi};

use crate::engine::guard::authorizer::Authorizer;

/// Sees the rows that are inserted. It must go after its connection.
#[derive(Debug)]
pub(crate) struct InsertHook {
    /// From a `Box`; SQLite holds its address, too.
    seen: *mut Seen,
}

struct Seen {
    authorizer: Arc<Authorizer>,
    found: Cell<bool>,
}

impl InsertHook {
    /// Sees those of a connection. The authorizer knows where its statement inserts.
    pub(crate) fn new(connection: &Connection, authorizer: &Arc<Authorizer>) -> Self {
        let seen = Box::into_raw(Box::new(Seen {
            authorizer: Arc::clone(authorizer),
            found: Cell::new(false),
        }));
        // SAFETY: the connection is open, and gone before `drop` frees what it is given.
        #[expect(unsafe_code, reason = "SQLite's C interface")]
        unsafe {
            ffi::sqlite3_update_hook(connection.handle(), Some(inserted), seen.cast());
        }
        Self { seen }
    }

    /// Whether one was inserted since this was last asked.
    pub(crate) fn take(&self) -> bool {
        // SAFETY: it lives as long as `self`; all that changes in it is a cell.
        #[expect(unsafe_code, reason = "shared with SQLite")]
        unsafe { &*self.seen }.found.take()
    }
}

impl Drop for InsertHook {
    fn drop(&mut self) {
        // SAFETY: from a `Box`, and SQLite's no more: the connection is closed.
        #[expect(unsafe_code, reason = "shared with SQLite")]
        drop(unsafe { Box::from_raw(self.seen) });
    }
}

/// What SQLite calls for each row that is changed.
#[expect(unsafe_code, reason = "SQLite's C interface")]
unsafe extern "C" fn inserted(
    seen: *mut c_void,
    action: c_int,
    _database: *const c_char,
    table: *const c_char,
    _rowid: ffi::sqlite3_int64,
) {
    // SAFETY: `InsertHook::new` passes what lives longer than the connection.
    let seen = unsafe { &*seen.cast::<Seen>() };
    if action != ffi::SQLITE_INSERT || seen.found.get() {
        return;
    }
    // SAFETY: SQLite passes a C string.
    let table = unsafe { CStr::from_ptr(table) }.to_str();
    seen.found
        .set(table.is_ok_and(|table| seen.authorizer.inserts_into(table)));
}
