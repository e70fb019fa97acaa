//! Sees what SQLite writes to a file of an open connection, whatever the file layer: while a
//! [`Tap`] is in place, the file's `xWrite`, `xTruncate` and `xFileControl` pass through it
//! (<https://www.sqlite.org/c3ref/io_methods.html>).

#![expect(
    unsafe_code,
    reason = "SQLite calls a file layer through C function pointers"
)]

use std::cell::{RefCell, RefMut};
use std::ffi::{c_int, c_void};
use std::ptr;

use rusqlite::{Connection, ffi};

/// The size of one region of the wal-index, in bytes.
pub(super) const REGION: usize = 32768;

/// What passes through a tap is handed to this, before it reaches the file.
pub(super) trait Watcher {
    /// `data` is about to be written at `offset`; whether it may be.
    fn write(&mut self, file: &Below, offset: u64, data: &[u8]) -> bool;
    /// All beyond `size` bytes is about to be cut off.
    fn truncate(&mut self, file: &Below, size: u64);
    /// All of a transaction was written, and the file is about to be synced; whether it may be.
    fn commit(&mut self, file: &Below) -> bool;
}

/// The file below a tap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Below {
    file: *mut ffi::sqlite3_file,
    methods: *const ffi::sqlite3_io_methods,
}

impl Below {
    /// Reads `buffer.len()` bytes at `offset`; what lies behind the end of the file reads as zeros.
    pub(super) fn read(&self, offset: u64, buffer: &mut [u8]) -> bool {
        let (Ok(length), Ok(offset)) = (c_int::try_from(buffer.len()), i64::try_from(offset))
        else {
            return false;
        };
        // SAFETY: the file is open while it is tapped, and the buffer has so many bytes.
        let code = unsafe {
            (*self.methods).xRead.map(|read| {
                read(
                    self.file,
                    buffer.as_mut_ptr().cast::<c_void>(),
                    length,
                    offset,
                )
            })
        };
        matches!(code, Some(ffi::SQLITE_OK | ffi::SQLITE_IOERR_SHORT_READ))
    }

    /// How many pages the file has.
    pub(super) fn pages(&self, page_size: usize) -> Option<u32> {
        let pages = self.size()? / page_size.max(1) as u64;
        u32::try_from(pages).ok()
    }

    /// The size of the file, in bytes.
    fn size(&self) -> Option<u64> {
        let mut size = 0;
        // SAFETY: the file is open while it is tapped.
        let code = unsafe {
            (*self.methods)
                .xFileSize
                .map(|of| of(self.file, &raw mut size))
        };
        (code == Some(ffi::SQLITE_OK)).then(|| u64::try_from(size).ok())?
    }
}

/// What a tap puts in the place of the file's methods.
#[repr(C)]
struct Tapped<W> {
    /// First, so that what points to the methods points to all of this.
    methods: ffi::sqlite3_io_methods,
    below: Below,
    watcher: RefCell<W>,
}

/// A tap on a file; gone, the file is as before. It must go before its connection does.
#[derive(Debug)]
pub(super) struct Tap<W: Watcher> {
    /// From a `Box`; a raw pointer, since SQLite uses it as well.
    tapped: *mut Tapped<W>,
}

impl<W: Watcher> Tap<W> {
    /// Taps an open file of a connection.
    pub(super) fn new(file: OpenFile, watcher: W) -> Self {
        // SAFETY: the file is open, so that it has methods.
        let methods = unsafe { (*file.0).pMethods };
        // SAFETY: as above; a copy of them is as good.
        let copied = unsafe { *methods };
        let below = Below {
            file: file.0,
            methods,
        };
        let tapped = Box::into_raw(Box::new(Tapped {
            methods: ffi::sqlite3_io_methods {
                xWrite: Some(write::<W>),
                xTruncate: Some(truncate::<W>),
                xFileControl: Some(control::<W>),
                xClose: Some(close::<W>),
                ..copied
            },
            below,
            watcher: RefCell::new(watcher),
        }));
        // SAFETY: SQLite looks the methods up for every call, and these live until `drop`.
        unsafe { (*file.0).pMethods = tapped.cast() };
        Self { tapped }
    }

    /// The file that is tapped, which is open.
    pub(super) fn below(&self) -> Below {
        // SAFETY: it lives as long as `self`.
        unsafe { &*self.tapped }.below
    }

    /// What has watched.
    pub(super) fn watcher(&self) -> RefMut<'_, W> {
        // SAFETY: it lives as long as `self`; the borrow is counted.
        unsafe { &*self.tapped }.watcher.borrow_mut()
    }
}

impl<W: Watcher> Drop for Tap<W> {
    fn drop(&mut self) {
        // SAFETY: the box is ours. The file is still open, or `close` has taken its pointer away.
        unsafe {
            let tapped = Box::from_raw(self.tapped);
            if !tapped.below.file.is_null() {
                (*tapped.below.file).pMethods = tapped.below.methods;
            }
        }
    }
}

/// The tap on a file, by its methods.
///
/// # Safety
///
/// `file` must be tapped.
unsafe fn tapped<'a, W>(file: *mut ffi::sqlite3_file) -> &'a Tapped<W> {
    // SAFETY: `Tap::new` put the methods there, which are the first field of this.
    unsafe { &*(*file).pMethods.cast::<Tapped<W>>() }
}

unsafe extern "C" fn write<W: Watcher>(
    file: *mut ffi::sqlite3_file,
    data: *const c_void,
    length: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite passes a tapped file and so many bytes.
    unsafe {
        let tapped = tapped::<W>(file);
        let bytes = std::slice::from_raw_parts(
            data.cast::<u8>(),
            usize::try_from(length).unwrap_or_default(),
        );
        if let Ok(offset) = u64::try_from(offset) {
            let mut watcher = tapped.watcher.borrow_mut();
            if !watcher.write(&tapped.below, offset, bytes) {
                return ffi::SQLITE_IOERR_WRITE;
            }
        }
        (*tapped.below.methods)
            .xWrite
            .map_or(ffi::SQLITE_IOERR_WRITE, |write| {
                write(file, data, length, offset)
            })
    }
}

unsafe extern "C" fn truncate<W: Watcher>(
    file: *mut ffi::sqlite3_file,
    size: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite passes a tapped file.
    unsafe {
        let tapped = tapped::<W>(file);
        if let Ok(size) = u64::try_from(size) {
            tapped.watcher.borrow_mut().truncate(&tapped.below, size);
        }
        (*tapped.below.methods)
            .xTruncate
            .map_or(ffi::SQLITE_IOERR_TRUNCATE, |truncate| truncate(file, size))
    }
}

unsafe extern "C" fn control<W: Watcher>(
    file: *mut ffi::sqlite3_file,
    operation: c_int,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: SQLite passes a tapped file.
    unsafe {
        let tapped = tapped::<W>(file);
        if operation == ffi::SQLITE_FCNTL_SYNC && !tapped.watcher.borrow_mut().commit(&tapped.below)
        {
            return ffi::SQLITE_IOERR_WRITE;
        }
        (*tapped.below.methods)
            .xFileControl
            .map_or(ffi::SQLITE_NOTFOUND, |control| {
                control(file, operation, argument)
            })
    }
}

unsafe extern "C" fn close<W: Watcher>(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite closes a tapped file once; its tap is told not to touch it any more.
    unsafe {
        let tapped = (*file).pMethods.cast::<Tapped<W>>().cast_mut();
        let methods = (*tapped).below.methods;
        (*tapped).below.file = ptr::null_mut();
        (*file).pMethods = methods;
        (*methods)
            .xClose
            .map_or(ffi::SQLITE_IOERR_CLOSE, |close| close(file))
    }
}

/// A file that a connection has open.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenFile(*mut ffi::sqlite3_file);

impl OpenFile {
    /// The file of `main` itself.
    pub(super) fn database(connection: &Connection) -> Option<Self> {
        Self::ask(connection, ffi::SQLITE_FCNTL_FILE_POINTER)
    }

    /// Its write-ahead log, in that mode; otherwise its rollback journal.
    pub(super) fn journal(connection: &Connection) -> Option<Self> {
        Self::ask(connection, ffi::SQLITE_FCNTL_JOURNAL_POINTER)
    }

    fn ask(connection: &Connection, which: c_int) -> Option<Self> {
        let mut file: *mut ffi::sqlite3_file = ptr::null_mut();
        // SAFETY: the connection is open, and the pager puts a pointer into `file`.
        unsafe {
            let code = ffi::sqlite3_file_control(
                connection.handle(),
                c"main".as_ptr(),
                which,
                (&raw mut file).cast(),
            );
            (code == ffi::SQLITE_OK && !file.is_null() && !(*file).pMethods.is_null())
                .then_some(Self(file))
        }
    }

    /// The file, for reading.
    pub(super) fn below(self) -> Below {
        // SAFETY: the file is open, so that it has methods.
        let methods = unsafe { (*self.0).pMethods };
        Below {
            file: self.0,
            methods,
        }
    }

    /// Copies `buffer.len()` bytes of the wal-index at `offset`, which lie within one of its regions.
    /// False where the index is not shared, or not so long.
    pub(super) fn read_index(self, offset: usize, buffer: &mut [u8]) -> bool {
        let mut region: *mut c_void = ptr::null_mut();
        let (number, within) = (offset / REGION, offset % REGION);
        if within + buffer.len() > REGION {
            return false;
        }
        // SAFETY: the file is open; the region is mapped since the log is in use, and it is copied
        // as SQLite itself copies it.
        unsafe {
            let methods = (*self.0).pMethods;
            if (*methods).iVersion < 2 {
                return false;
            }
            let Some(map) = (*methods).xShmMap else {
                return false;
            };
            let code = map(self.0, number as c_int, REGION as c_int, 0, &raw mut region);
            if code & 0xff != ffi::SQLITE_OK && code & 0xff != ffi::SQLITE_READONLY
                || region.is_null()
            {
                return false;
            }
            let from = region.cast::<u8>().add(within);
            ptr::copy_nonoverlapping(from, buffer.as_mut_ptr(), buffer.len());
        }
        true
    }
}

/// What SQLite counts up with each commit of `connection`, or another's that it has seen.
pub(crate) fn data_version(connection: &Connection) -> u32 {
    let mut version = 0_u32;
    // SAFETY: the connection is open, and the pager puts a number into `version`.
    unsafe {
        ffi::sqlite3_file_control(
            connection.handle(),
            c"main".as_ptr(),
            ffi::SQLITE_FCNTL_DATA_VERSION,
            (&raw mut version).cast(),
        );
    }
    version
}
