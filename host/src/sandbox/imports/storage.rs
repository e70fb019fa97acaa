//! Files by name (`wit/storage.wit`).

use wasmtime::component::{Linker, LinkerInstance, Resource, ResourceType, WasmList};
use wasmtime::{Result, StoreContextMut, format_err};

use super::convert::StorageError;
use super::shared_memory::check_unmapped;
use super::{GuestBytes, yield_now};
use crate::sandbox::bindings::storage::{
    Device, ErrorCode, Host, HostFile, LockLevel, OpenOptions, Role, SyncMode,
};
use crate::sandbox::store::StoreData;
use crate::storage::{File, Storage};

impl StoreData {
    /// The files; an instance without any is refused all of them.
    fn storage(&mut self) -> Result<&mut Storage, StorageError> {
        self.in_time()?;
        self.storage
            .as_mut()
            .ok_or(StorageError::Code(ErrorCode::Denied))
    }

    /// An open file.
    pub(super) fn file(&mut self, file: &Resource<File>) -> Result<&mut File> {
        self.in_time()?;
        Ok(self.table.get_mut(file)?)
    }
}

impl Host for StoreData {
    fn open(
        &mut self,
        name: String,
        role: Role,
        options: OpenOptions,
    ) -> Result<Resource<File>, StorageError> {
        let file = self.storage()?.open(&name, role.into(), options.into())?;
        Ok(self.table.push(file)?)
    }

    fn delete(&mut self, name: String, durable: bool) -> Result<(), StorageError> {
        Ok(self.storage()?.delete(&name, durable)?)
    }

    fn exists(&mut self, name: String, writable: bool) -> Result<bool, StorageError> {
        Ok(self.storage()?.exists(&name, writable)?)
    }

    fn convert_error_code(&mut self, error: StorageError) -> Result<ErrorCode> {
        match error {
            StorageError::Code(code) => Ok(code),
            StorageError::Trap(error) => Err(error),
        }
    }
}

impl HostFile for StoreData {
    fn read(
        &mut self,
        file: Resource<File>,
        offset: u64,
        length: u32,
    ) -> Result<Vec<u8>, StorageError> {
        Ok(self.file(&file)?.read(offset, length)?)
    }

    fn write(&mut self, _: Resource<File>, _: u64, _: Vec<u8>) -> Result<(), StorageError> {
        Err(format_err!("write takes its bytes by address; see add_write_to_linker").into())
    }

    fn truncate(&mut self, file: Resource<File>, size: u64) -> Result<(), StorageError> {
        Ok(self.file(&file)?.truncate(size)?)
    }

    async fn sync(&mut self, file: Resource<File>, mode: SyncMode) -> Result<(), StorageError> {
        let done = self.file(&file)?.sync(mode.into());
        // Disks take their time.
        yield_now().await;
        Ok(done?)
    }

    fn size(&mut self, file: Resource<File>) -> Result<u64, StorageError> {
        Ok(self.file(&file)?.size()?)
    }

    fn lock(&mut self, file: Resource<File>, level: LockLevel) -> Result<(), StorageError> {
        Ok(self.file(&file)?.lock(level.into())?)
    }

    fn unlock(&mut self, file: Resource<File>, level: LockLevel) -> Result<(), StorageError> {
        Ok(self.file(&file)?.unlock(level.into())?)
    }

    fn check_reserved(&mut self, file: Resource<File>) -> Result<bool, StorageError> {
        Ok(self.file(&file)?.check_reserved()?)
    }

    fn device(&mut self, file: Resource<File>) -> Result<Device> {
        Ok(self.file(&file)?.device().into())
    }

    fn is_read_only(&mut self, file: Resource<File>) -> Result<bool> {
        Ok(self.file(&file)?.is_read_only())
    }

    fn has_moved(&mut self, file: Resource<File>) -> Result<bool> {
        // What cannot be told is not said.
        Ok(self.file(&file)?.has_moved().unwrap_or(false))
    }

    fn publish(&mut self, file: Resource<File>, replace: bool) -> Result<(), StorageError> {
        Ok(self.file(&file)?.publish(replace)?)
    }

    fn drop(&mut self, file: Resource<File>) -> Result<()> {
        let mut file = self.table.delete(file)?;
        // The guest's memory is still there, and must not keep a region that nothing guards.
        let _ = file.shm_unmap(false);
        check_unmapped(&file)
    }
}

/// Defines the resource `file` in another interface that uses it.
pub fn add_file_to_linker(to: &mut LinkerInstance<'_, StoreData>) -> Result<()> {
    to.resource("file", ResourceType::host::<File>(), |mut store, file| {
        HostFile::drop(store.data_mut(), Resource::new_own(file))
    })
}

/// Defines `write`, which takes the guest's bytes where they lie.
pub fn add_write_to_linker(linker: &mut Linker<StoreData>) -> Result<()> {
    linker.allow_shadowing(true);
    linker
        .instance("sqlarium:sandbox/storage@0.2.0")?
        .func_wrap(
            "[method]file.write",
            |mut store: StoreContextMut<'_, StoreData>,
             (file, offset, bytes): (Resource<File>, u64, WasmList<u8>)| {
                let bytes = GuestBytes::of(&bytes, &store);
                let file = store.data_mut().file(&file)?;
                // SAFETY: the guest makes this call and so does not run.
                #[expect(unsafe_code, reason = "the bytes are an address")]
                let bytes = unsafe { bytes.as_slice() };
                Ok((file.write(offset, bytes).map_err(ErrorCode::from),))
            },
        )?;
    linker.allow_shadowing(false);
    Ok(())
}
