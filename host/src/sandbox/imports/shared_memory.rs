//! The wal-index as memory that processes share (`wit/shared-memory.wit`).

use wasmtime::component::{LinkerInstance, Resource, WasmList};
use wasmtime::{Result, StoreContextMut, bail};

use super::GuestBytes;
use super::storage::add_file_to_linker;
use crate::sandbox::bindings::shared_memory::LockAction;
use crate::sandbox::bindings::storage::ErrorCode;
use crate::sandbox::store::StoreData;
use crate::storage::{File, ShmRegion};

type Store<'a> = StoreContextMut<'a, StoreData>;

/// Defines the interface.
pub fn add_to_linker(to: &mut LinkerInstance<'_, StoreData>) -> Result<()> {
    add_file_to_linker(to)?;
    to.func_wrap(
        "map-region",
        |mut store: Store<'_>,
         (file, region, buffer, extend): (Resource<File>, u32, WasmList<u8>, bool)| {
            let buffer = GuestBytes::of(&buffer, &store);
            // SAFETY: the buffer lies in the linear memory of the guest that makes this call and so
            // does not run; it is never moved (`memory_may_move` is off), and the handle's `shm_`
            // methods are only called by the same guest.
            #[expect(unsafe_code, reason = "the buffer is an address")]
            let over = unsafe { ShmRegion::new(buffer.at, buffer.length) };
            let file = store.data_mut().file(&file)?;
            let mapped = over.and_then(|over| file.shm_map(region, over, extend));
            check_unmapped(file)?;
            Ok((mapped.map_err(ErrorCode::from),))
        },
    )?;
    to.func_wrap(
        "lock",
        |mut store: Store<'_>,
         (file, slot, count, action): (Resource<File>, u32, u32, LockAction)| {
            let file = store.data_mut().file(&file)?;
            let locked = file.shm_lock(slot, count, action.into());
            Ok((locked.map_err(ErrorCode::from),))
        },
    )?;
    to.func_wrap(
        "barrier",
        |mut store: Store<'_>, (file,): (Resource<File>,)| {
            store.data_mut().file(&file)?.shm_barrier();
            Ok(())
        },
    )?;
    to.func_wrap(
        "unmap",
        |mut store: Store<'_>, (file, delete): (Resource<File>, bool)| {
            let file = store.data_mut().file(&file)?;
            let unmapped = file.shm_unmap(delete);
            check_unmapped(file)?;
            Ok((unmapped.map_err(ErrorCode::from),))
        },
    )
}

/// Ends a guest that has kept shared memory in its own, or has a hole there.
pub fn check_unmapped(file: &File) -> Result<()> {
    if file.shm_unmap_failed() {
        bail!("a region of shared memory cannot be made ordinary memory again");
    }
    Ok(())
}
