//! SQLite's own file layer, on real files, that fails on demand; for unit tests.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::Once;

use rusqlite::ffi;

pub(crate) const NAME: &CStr = c"sqlarium-faulty";

/// What fails: nothing before so many more operations, then one, or all from there on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) after: u32,
    pub(crate) lasts: bool,
    pub(crate) code: c_int,
}

thread_local! {
    static IN_USE: Cell<bool> = const { Cell::new(false) };
    static FAULT: Cell<Option<Fault>> = const { Cell::new(None) };
    static FAILED: Cell<bool> = const { Cell::new(false) };
    static BELOW: RefCell<HashMap<usize, *const ffi::sqlite3_io_methods>> = RefCell::default();
}

/// Whether this thread opens its databases on this layer.
pub(crate) fn is_in_use() -> bool {
    IN_USE.get()
}

/// From now on this thread opens its databases on this layer.
pub(crate) fn use_it() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(register);
    IN_USE.set(true);
}

/// Lets operations of this thread fail.
pub(crate) fn fail(fault: Fault) {
    FAULT.set(Some(fault));
    FAILED.set(false);
}

/// No more failures; whether there were any.
pub(crate) fn heal() -> bool {
    FAULT.set(None);
    FAILED.get()
}

fn attempt() -> Option<c_int> {
    let fault = FAULT.get()?;
    if fault.after > 0 {
        FAULT.set(Some(Fault {
            after: fault.after - 1,
            ..fault
        }));
        return None;
    }
    FAILED.set(true);
    FAULT.set(Some(fault).filter(|fault| fault.lasts));
    Some(fault.code)
}

fn base() -> *mut ffi::sqlite3_vfs {
    // SAFETY: a null name asks for the default one.
    unsafe { ffi::sqlite3_vfs_find(ptr::null()) }
}

fn register() {
    // SAFETY: SQLite's own layer is there for good, and so is the copy; its functions look for
    // their state in what is copied with them.
    unsafe {
        let layer = Box::leak(Box::new(*base()));
        layer.zName = NAME.as_ptr();
        layer.xOpen = Some(open);
        layer.xDelete = Some(delete);
        assert_eq!(ffi::sqlite3_vfs_register(layer, 0), ffi::SQLITE_OK);
    }
}

/// What the methods of an open file of this thread are without this; others may have replaced them
/// since.
fn below(file: *mut ffi::sqlite3_file) -> &'static ffi::sqlite3_io_methods {
    let methods = BELOW.with_borrow(|below| below[&file.addr()]);
    // SAFETY: SQLite's own methods are there for good.
    unsafe { &*methods }
}

unsafe extern "C" fn open(
    _: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: all is passed on; the methods are replaced by a copy that lives for good.
    unsafe {
        let code = (*base()).xOpen.unwrap()(base(), name, file, flags, out);
        let below = (*file).pMethods;
        if code == ffi::SQLITE_OK && !below.is_null() {
            let methods = ffi::sqlite3_io_methods {
                xRead: Some(read),
                xWrite: Some(write),
                xTruncate: Some(truncate),
                xSync: Some(sync),
                xFileSize: Some(size),
                ..*below
            };
            BELOW.with_borrow_mut(|all| all.insert(file.addr(), below));
            (*file).pMethods = Box::leak(Box::new(methods));
        }
        code
    }
}

unsafe extern "C" fn delete(_: *mut ffi::sqlite3_vfs, name: *const c_char, sync: c_int) -> c_int {
    // SAFETY: all is passed on.
    attempt().unwrap_or_else(|| unsafe { (*base()).xDelete.unwrap()(base(), name, sync) })
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    data: *mut c_void,
    length: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: all is passed on.
    attempt().unwrap_or_else(|| unsafe { below(file).xRead.unwrap()(file, data, length, offset) })
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    data: *const c_void,
    length: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: all is passed on.
    attempt().unwrap_or_else(|| unsafe { below(file).xWrite.unwrap()(file, data, length, offset) })
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: ffi::sqlite3_int64) -> c_int {
    // SAFETY: all is passed on.
    attempt().unwrap_or_else(|| unsafe { below(file).xTruncate.unwrap()(file, size) })
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: all is passed on.
    attempt().unwrap_or_else(|| unsafe { below(file).xSync.unwrap()(file, flags) })
}

unsafe extern "C" fn size(file: *mut ffi::sqlite3_file, size: *mut ffi::sqlite3_int64) -> c_int {
    // SAFETY: all is passed on.
    attempt().unwrap_or_else(|| unsafe { below(file).xFileSize.unwrap()(file, size) })
}
