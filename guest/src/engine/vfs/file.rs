//! The methods of an open file, <https://www.sqlite.org/c3ref/io_methods.html>.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::{c_int, c_void};
use std::ptr::{self, NonNull};

use rusqlite::ffi;

use super::codes::{self, Operation};
use super::staged;
use crate::storage::{Device, ErrorCode, File, LockAction, LockLevel, SyncMode};

/// The size of one region of the wal-index, in bytes (`WALINDEX_PGSZ` in SQLite's `wal.c`).
const REGION: usize = 32768;
/// Buffers of regions are aligned to a page of linear memory, so that they consist of
/// whole pages of whatever system the host is.
const REGION_LAYOUT: Layout = match Layout::from_size_align(REGION, 65536) {
    Ok(layout) => layout,
    Err(_) => panic!("the alignment is a power of two"),
};

/// What SQLite allocates for a file: its own part, and ours behind it.
#[repr(C)]
pub(super) struct VfsFile {
    base: ffi::sqlite3_file,
    /// From a `Box`; null where nothing is open.
    open: *mut Open,
}

/// An open file.
struct Open {
    file: Box<dyn File>,
    device: Device,
    read_only: bool,
    /// The wal-index by region, as far as it was asked for.
    regions: Vec<Option<Region>>,
    /// Whether a region was ever handed out as one that cannot be written.
    /// SQLite relies on never hearing otherwise before `xShmUnmap`
    /// (`walBeginShmUnreliable` in `wal.c`).
    shm_read_only: bool,
}

/// Memory that a region of the wal-index is mapped over.
struct Region {
    at: NonNull<u8>,
}

impl Region {
    fn new() -> Option<Self> {
        // SAFETY: the layout has a size.
        NonNull::new(unsafe { alloc_zeroed(REGION_LAYOUT) }).map(|at| Self { at })
    }

    fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: allocated with that size, initialised, and borrowed from the one owner.
        unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr(), REGION) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout. No region is mapped over it any
        // more: regions go after `shm_unmap`, or when mapping failed.
        unsafe { dealloc(self.at.as_ptr(), REGION_LAYOUT) }
    }
}

impl VfsFile {
    /// Makes it a file that is not open, which SQLite does not close.
    pub(super) fn prepare(&mut self) {
        self.base.pMethods = ptr::null();
        self.open = ptr::null_mut();
    }

    /// Makes it an open file and answers whether it can only be read.
    pub(super) fn attach(&mut self, mut file: Box<dyn File>) -> bool {
        let (device, read_only) = (file.device(), file.is_read_only());
        let open = Open {
            file,
            device,
            read_only,
            regions: Vec::new(),
            shm_read_only: false,
        };
        self.open = Box::into_raw(Box::new(open));
        self.base.pMethods = if device.shared_memory {
            &SHARED
        } else {
            &PLAIN
        };
        read_only
    }

    /// Whether `file` is an open file that can only be read.
    ///
    /// # Safety
    ///
    /// `file` must be null or a file of this layer.
    pub(super) unsafe fn is_read_only(file: *mut Self) -> bool {
        // SAFETY: as the caller promises; `open` is null or valid.
        unsafe {
            file.as_ref()
                .and_then(|file| file.open.as_ref())
                .is_some_and(|open| open.read_only)
        }
    }
}

/// Without shared memory SQLite keeps a wal-index to itself, or does without WAL.
static PLAIN: ffi::sqlite3_io_methods = methods(false);
static SHARED: ffi::sqlite3_io_methods = methods(true);

const fn methods(shared: bool) -> ffi::sqlite3_io_methods {
    ffi::sqlite3_io_methods {
        iVersion: if shared { 2 } else { 1 },
        xClose: Some(close),
        xRead: Some(read),
        xWrite: Some(write),
        xTruncate: Some(truncate),
        xSync: Some(sync),
        xFileSize: Some(file_size),
        xLock: Some(lock),
        xUnlock: Some(unlock),
        xCheckReservedLock: Some(check_reserved_lock),
        xFileControl: Some(file_control),
        xSectorSize: Some(sector_size),
        xDeviceCharacteristics: Some(device_characteristics),
        xShmMap: if shared { Some(shm_map) } else { None },
        xShmLock: if shared { Some(shm_lock) } else { None },
        xShmBarrier: if shared { Some(shm_barrier) } else { None },
        xShmUnmap: if shared { Some(shm_unmap) } else { None },
        xFetch: None,
        xUnfetch: None,
    }
}

/// The open file behind a `sqlite3_file` of ours.
///
/// # Safety
///
/// `file` must be one that [`VfsFile::attach`] made open and that is not closed,
/// and no other borrow of it may be alive: SQLite makes one call at a time.
unsafe fn open<'a>(file: *mut ffi::sqlite3_file) -> &'a mut Open {
    // SAFETY: `attach` put a boxed `Open` there.
    unsafe { &mut *(*file.cast::<VfsFile>()).open }
}

/// A size or an offset; SQLite's are signed.
fn unsigned(number: ffi::sqlite3_int64) -> Result<u64, ErrorCode> {
    u64::try_from(number).map_err(|_| ErrorCode::Invalid)
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite closes an open file of ours, once.
    unsafe {
        let file = file.cast::<VfsFile>();
        let mut open = Box::from_raw((*file).open);
        (*file).prepare();
        let _ = open.shm_unmap(false);
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    buffer: *mut c_void,
    length: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    let length = usize::try_from(length).unwrap_or(0);
    // SAFETY: an open file of ours; SQLite passes `length` bytes at `buffer`.
    let (open, buffer) = unsafe {
        (
            open(file),
            std::slice::from_raw_parts_mut(buffer.cast::<u8>(), length),
        )
    };
    match unsigned(offset).and_then(|offset| open.file.read(offset, buffer)) {
        Ok(there) if there >= length => ffi::SQLITE_OK,
        Ok(there) => {
            // SQLite takes what it gets for the page even then.
            buffer[there..].fill(0);
            ffi::SQLITE_IOERR_SHORT_READ
        }
        Err(error) => codes::code(error, Operation::Read),
    }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    data: *const c_void,
    length: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    let length = usize::try_from(length).unwrap_or(0);
    // SAFETY: an open file of ours; SQLite passes `length` bytes at `data`.
    let (open, data) = unsafe {
        (
            open(file),
            std::slice::from_raw_parts(data.cast::<u8>(), length),
        )
    };
    codes::result(
        unsigned(offset).and_then(|offset| open.file.write(offset, data)),
        Operation::Write,
    )
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: ffi::sqlite3_int64) -> c_int {
    // SAFETY: an open file of ours.
    let open = unsafe { open(file) };
    codes::result(
        unsigned(size).and_then(|size| open.file.truncate(size)),
        Operation::Truncate,
    )
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    let mode = if flags & ffi::SQLITE_SYNC_DATAONLY != 0 {
        SyncMode::DataOnly
    } else if flags & 0x0f == ffi::SQLITE_SYNC_FULL {
        SyncMode::Full
    } else {
        SyncMode::Normal
    };
    // SAFETY: an open file of ours.
    codes::result(unsafe { open(file) }.file.sync(mode), Operation::Sync)
}

unsafe extern "C" fn file_size(
    file: *mut ffi::sqlite3_file,
    out: *mut ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: an open file of ours, and a place for the answer.
    unsafe {
        let size = open(file)
            .file
            .size()
            .and_then(|size| i64::try_from(size).map_err(|_| ErrorCode::Io));
        codes::result(size.map(|size| *out = size), Operation::Size)
    }
}

fn level(code: c_int) -> Result<LockLevel, ErrorCode> {
    match code {
        ffi::SQLITE_LOCK_NONE => Ok(LockLevel::None),
        ffi::SQLITE_LOCK_SHARED => Ok(LockLevel::Shared),
        ffi::SQLITE_LOCK_RESERVED => Ok(LockLevel::Reserved),
        ffi::SQLITE_LOCK_PENDING => Ok(LockLevel::Pending),
        ffi::SQLITE_LOCK_EXCLUSIVE => Ok(LockLevel::Exclusive),
        _ => Err(ErrorCode::Invalid),
    }
}

unsafe extern "C" fn lock(file: *mut ffi::sqlite3_file, to: c_int) -> c_int {
    // SAFETY: an open file of ours.
    let open = unsafe { open(file) };
    codes::result(
        level(to).and_then(|level| open.file.lock(level)),
        Operation::Lock,
    )
}

unsafe extern "C" fn unlock(file: *mut ffi::sqlite3_file, to: c_int) -> c_int {
    // SAFETY: an open file of ours.
    let open = unsafe { open(file) };
    codes::result(
        level(to).and_then(|level| open.file.unlock(level)),
        Operation::Unlock,
    )
}

unsafe extern "C" fn check_reserved_lock(file: *mut ffi::sqlite3_file, out: *mut c_int) -> c_int {
    // SAFETY: an open file of ours, and a place for the answer.
    unsafe {
        let reserved = open(file).file.check_reserved();
        codes::result(
            reserved.map(|reserved| *out = reserved.into()),
            Operation::CheckReserved,
        )
    }
}

unsafe extern "C" fn file_control(
    file: *mut ffi::sqlite3_file,
    operation: c_int,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: an open file of ours; SQLite passes a place for the answer to its own question, and
    // whoever uses the opcode that is not one of SQLite's passes a `Publication`.
    unsafe {
        match operation {
            ffi::SQLITE_FCNTL_HAS_MOVED => {
                *argument.cast::<c_int>() = open(file).file.has_moved().into();
            }
            staged::PUBLISH => {
                let publication = &mut *argument.cast::<staged::Publication>();
                publication.result = open(file).file.publish(publication.replace);
            }
            _ => return ffi::SQLITE_NOTFOUND,
        }
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn sector_size(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: an open file of ours.
    c_int::try_from(unsafe { open(file) }.device.sector_size).unwrap_or(4096)
}

unsafe extern "C" fn device_characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: an open file of ours.
    unsafe { open(file) }.device.characteristics as c_int
}

impl Open {
    fn shm_unmap(&mut self, delete: bool) -> Result<(), ErrorCode> {
        let regions = std::mem::take(&mut self.regions);
        self.shm_read_only = false;
        if !self.device.shared_memory {
            return Ok(());
        }
        // What may still be shared with others must not be used for anything else.
        self.file
            .shm_unmap(delete)
            .inspect_err(|_| std::mem::forget(regions))
    }

    /// The memory of a region and the result code to hand it out with.
    fn shm_map(&mut self, region: c_int, size: c_int, extend: bool) -> (*mut c_void, c_int) {
        let (Ok(region), Ok(REGION)) = (u32::try_from(region), usize::try_from(size)) else {
            return (ptr::null_mut(), ffi::SQLITE_IOERR_SHMMAP);
        };
        let at = region as usize;
        if self.regions.len() <= at {
            self.regions.resize_with(at + 1, || None);
        }
        if self.regions[at].is_none() {
            let Some(mut buffer) = Region::new() else {
                return (ptr::null_mut(), ffi::SQLITE_IOERR_NOMEM);
            };
            match self.file.shm_map(region, buffer.as_mut_slice(), extend) {
                Ok(true) => {}
                // Not a plain success after a refusal to write; SQLite tries again.
                Ok(false) if self.shm_read_only => return (ptr::null_mut(), ffi::SQLITE_BUSY),
                Ok(false) => return (ptr::null_mut(), ffi::SQLITE_OK),
                Err(ErrorCode::ReadOnly) => self.shm_read_only = true,
                Err(error) => {
                    self.shm_read_only |= error == ErrorCode::CannotInit;
                    return (ptr::null_mut(), codes::code(error, Operation::ShmMap));
                }
            }
            self.regions[at] = Some(buffer);
        }
        let address = self.regions[at]
            .as_ref()
            .map_or(ptr::null_mut(), |region| region.at.as_ptr().cast());
        (
            address,
            if self.shm_read_only {
                ffi::SQLITE_READONLY
            } else {
                ffi::SQLITE_OK
            },
        )
    }
}

unsafe extern "C" fn shm_map(
    file: *mut ffi::sqlite3_file,
    region: c_int,
    size: c_int,
    extend: c_int,
    out: *mut *mut c_void,
) -> c_int {
    // SAFETY: an open file of ours, and a place for the address.
    unsafe {
        let (address, code) = open(file).shm_map(region, size, extend != 0);
        *out = address;
        code
    }
}

unsafe extern "C" fn shm_lock(
    file: *mut ffi::sqlite3_file,
    slot: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    let shared = flags & ffi::SQLITE_SHM_SHARED != 0;
    let action = match (flags & ffi::SQLITE_SHM_UNLOCK != 0, shared) {
        (false, true) => LockAction::LockShared,
        (false, false) => LockAction::LockExclusive,
        (true, true) => LockAction::UnlockShared,
        (true, false) => LockAction::UnlockExclusive,
    };
    let (Ok(slot), Ok(count)) = (u32::try_from(slot), u32::try_from(count)) else {
        return ffi::SQLITE_MISUSE;
    };
    // SAFETY: an open file of ours.
    codes::result(
        unsafe { open(file) }.file.shm_lock(slot, count, action),
        Operation::ShmLock,
    )
}

unsafe extern "C" fn shm_barrier(file: *mut ffi::sqlite3_file) {
    // SAFETY: an open file of ours.
    unsafe { open(file) }.file.shm_barrier();
}

unsafe extern "C" fn shm_unmap(file: *mut ffi::sqlite3_file, delete: c_int) -> c_int {
    // SAFETY: an open file of ours.
    codes::result(
        unsafe { open(file) }.shm_unmap(delete != 0),
        Operation::ShmUnmap,
    )
}
