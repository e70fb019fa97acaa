//! `wit/` as Rust types and traits.

wasmtime::component::bindgen!({
    path: "../wit",
    world: "sandbox",
    imports: {
        "sqlarium:sandbox/console.print": async | trappable,
        "sqlarium:sandbox/storage.[method]file.sync": async | trappable,
        default: trappable,
    },
    exports: { default: async },
    trappable_error_type: {
        "sqlarium:sandbox/storage.error-code" => super::imports::convert::StorageError,
    },
    additional_derives: [PartialEq],
    with: {
        "sqlarium:sandbox/storage.file": crate::storage::File,
    },
});

pub use self::exports::sqlarium::sandbox::{command, server, shell};
pub use self::sqlarium::sandbox::{
    audit, console, control, shared_memory, storage, threads, types,
};
