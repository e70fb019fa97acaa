//! Reads into the guest's own buffer (`wit/direct-io.wit`).

use wasmtime::component::{LinkerInstance, Resource, WasmList};
use wasmtime::{Result, StoreContextMut};

use super::GuestBytes;
use super::storage::add_file_to_linker;
use crate::sandbox::bindings::storage::ErrorCode;
use crate::sandbox::store::StoreData;
use crate::storage::File;

/// Defines the interface.
pub fn add_to_linker(to: &mut LinkerInstance<'_, StoreData>) -> Result<()> {
    add_file_to_linker(to)?;
    to.func_wrap(
        "read",
        |mut store: StoreContextMut<'_, StoreData>,
         (file, offset, buffer): (Resource<File>, u64, WasmList<u8>)| {
            let buffer = GuestBytes::of(&buffer, &store);
            let file = store.data_mut().file(&file)?;
            // SAFETY: the guest makes this call and so does not run; nothing else looks at its
            // memory until it returns.
            #[expect(unsafe_code, reason = "the buffer is an address")]
            let buffer = unsafe { buffer.as_mut_slice() };
            let there = file.read_into(offset, buffer).map_err(ErrorCode::from);
            // No list is longer than 4 GiB.
            Ok((there.map(|there| u32::try_from(there).unwrap_or(u32::MAX)),))
        },
    )
}
