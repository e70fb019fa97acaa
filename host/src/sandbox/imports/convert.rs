//! Between the types of the bindings and those of the storage.

use wasmtime::component::ResourceTableError;

use crate::sandbox::bindings::shared_memory::LockAction;
use crate::sandbox::bindings::storage as wit;
use crate::storage;

/// A file operation that failed: with a code for the guest, or with a trap, which ends the call.
#[derive(Debug)]
pub enum StorageError {
    /// What the guest is answered.
    Code(wit::ErrorCode),
    /// Why the call ends.
    Trap(wasmtime::Error),
}

impl From<storage::ErrorCode> for StorageError {
    fn from(code: storage::ErrorCode) -> Self {
        Self::Code(code.into())
    }
}

impl From<wasmtime::Error> for StorageError {
    fn from(error: wasmtime::Error) -> Self {
        Self::Trap(error)
    }
}

impl From<ResourceTableError> for StorageError {
    fn from(error: ResourceTableError) -> Self {
        Self::Trap(error.into())
    }
}

/// Converts between enums that have the same variants.
macro_rules! same_variants {
    ($from:ident to $to:ident: $name:ident { $($variant:ident),* }) => {
        impl From<$from::$name> for $to::$name {
            fn from(value: $from::$name) -> Self {
                match value {
                    $($from::$name::$variant => Self::$variant,)*
                }
            }
        }
    };
}

same_variants!(storage to wit: ErrorCode {
    Busy, Full, NotFound, Denied, ReadOnly, CannotInit, Unsupported, Invalid, Io, Exists
});
same_variants!(wit to storage: Role {
    MainDatabase, MainJournal, Wal, SuperJournal, Temporary, Plain, Staged
});
same_variants!(wit to storage: LockLevel { None, Shared, Reserved, Pending, Exclusive });
same_variants!(wit to storage: SyncMode { Normal, Full, DataOnly });

impl From<LockAction> for storage::ShmAction {
    fn from(action: LockAction) -> Self {
        match action {
            LockAction::LockShared => Self::LockShared,
            LockAction::LockExclusive => Self::LockExclusive,
            LockAction::UnlockShared => Self::UnlockShared,
            LockAction::UnlockExclusive => Self::UnlockExclusive,
        }
    }
}

impl From<wit::OpenOptions> for storage::OpenOptions {
    fn from(options: wit::OpenOptions) -> Self {
        Self {
            read_write: options.contains(wit::OpenOptions::READ_WRITE),
            create: options.contains(wit::OpenOptions::CREATE),
            exclusive: options.contains(wit::OpenOptions::EXCLUSIVE),
            delete_on_close: options.contains(wit::OpenOptions::DELETE_ON_CLOSE),
        }
    }
}

impl From<storage::Device> for wit::Device {
    fn from(device: storage::Device) -> Self {
        Self {
            sector_size: device.sector_size,
            characteristics: device.characteristics,
            shared_memory: device.shared_memory,
            // Every kind of file can be read into place.
            direct_io: true,
        }
    }
}
