//! Regions of the wal-index, shared memory that is mapped over buffers of the guest.

#![expect(
    unsafe_code,
    reason = "the mappings of this process are changed under the guest"
)]

use std::ptr::NonNull;

use super::native::REGION;
use super::{ErrorCode, Result};

/// Whether this system can put shared memory over a buffer without opening the
/// `-shm` once more, which would lose the locks on it when that is closed.
pub(super) fn available() -> bool {
    cfg!(target_os = "linux") && REGION.is_multiple_of(page_size())
}

/// A buffer in guest memory that one region of the wal-index is mapped over.
#[derive(Debug)]
pub struct ShmRegion {
    at: NonNull<u8>,
    /// Where to copy from, if the region could not be put here itself.
    source: Option<NonNull<u8>>,
}

// SAFETY: an address; what is done with it takes `&mut`, and happens inside the
// calls of the guest that owns the memory.
unsafe impl Send for ShmRegion {}

impl ShmRegion {
    /// The buffer of `length` bytes at `at`. Refuses one that is not exactly one
    /// region long, or does not consist of whole pages.
    ///
    /// # Safety
    ///
    /// The buffer must lie in pages that are a guest's linear memory and can be
    /// read and written; the guest must not be running. That has to stay so
    /// whenever one of [`super::File`]'s `shm_` methods is called on a file that
    /// has got the region, until `shm_unmap`. Nothing else touches it: the
    /// memory may go before the file does.
    pub unsafe fn new(at: *mut u8, length: usize) -> Result<Self> {
        let at = NonNull::new(at).ok_or(ErrorCode::Invalid)?;
        if !REGION.is_multiple_of(page_size()) {
            return Err(ErrorCode::Unsupported);
        }
        if length != REGION || !at.addr().get().is_multiple_of(page_size()) {
            return Err(ErrorCode::Invalid);
        }
        Ok(Self { at, source: None })
    }

    /// Where it is.
    pub(super) fn address(&self) -> usize {
        self.at.addr().get()
    }

    /// Maps the pages at `mapped`, which are shared memory, here too. After a
    /// failure the region has to be cleared.
    #[cfg(target_os = "linux")]
    pub(super) fn share(&mut self, mapped: NonNull<u8>) -> Result<()> {
        // SAFETY: an old size of zero leaves the shared mapping at `mapped` as
        // it is and makes a second one of the same pages, at the buffer, which
        // consists of whole pages that are the guest's (`ShmRegion::new`).
        let at = unsafe {
            libc::mremap(
                mapped.as_ptr().cast(),
                0,
                REGION,
                libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED,
                self.at.as_ptr().cast::<libc::c_void>(),
            )
        };
        if at == libc::MAP_FAILED {
            return Err(ErrorCode::Io);
        }
        Ok(())
    }

    /// Not on this system.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn share(&mut self, _mapped: NonNull<u8>) -> Result<()> {
        Err(ErrorCode::Unsupported)
    }

    /// Shows a copy of `mapped`, as of each [`ShmRegion::refresh`]. Used where that
    /// cannot be written: pages that the guest can read but not write
    /// would crash the host when it hands a result over to them.
    pub(super) fn copy_from(&mut self, mapped: NonNull<u8>) {
        self.source = Some(mapped);
        self.refresh();
    }

    /// Brings a copy up to date.
    pub(super) fn refresh(&mut self) {
        if let Some(source) = self.source {
            let (from, to) = (source.cast::<u64>(), self.at.cast::<u64>());
            for word in 0..REGION / size_of::<u64>() {
                // SAFETY: both are regions of mapped memory, aligned to a page:
                // `source` until the file's `shm_unmap`, which drops this
                // region, and the buffer as `ShmRegion::new` was promised. Other
                // processes store to `source` meanwhile, hence volatile.
                unsafe { to.add(word).write_volatile(from.add(word).read_volatile()) }
            }
        }
    }

    /// Makes the buffer ordinary memory again, all zeros.
    pub(super) fn clear(&mut self) -> Result<()> {
        self.source = None;
        // SAFETY: replaces whole pages that are the guest's (`ShmRegion::new`) by
        // private, zeroed ones that can be read and written, as they were.
        let at = unsafe {
            libc::mmap(
                self.at.as_ptr().cast(),
                REGION,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANON,
                -1,
                0,
            )
        };
        if at == libc::MAP_FAILED {
            Err(ErrorCode::Io)
        } else {
            Ok(())
        }
    }
}

/// The size of a page of this system, in bytes.
fn page_size() -> usize {
    // SAFETY: has no preconditions.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(usize::MAX)
}
