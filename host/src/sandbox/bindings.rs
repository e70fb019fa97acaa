//! `wit/` as Rust types and traits.

wasmtime::component::bindgen!({
    path: "../wit",
    world: "sandbox",
    imports: {
        "sqlarium:sandbox/console.print": async | trappable,
        "sqlarium:sandbox/mailbox.poll": async | trappable,
        "sqlarium:sandbox/mailbox.send": async | trappable,
        "sqlarium:sandbox/storage.[method]file.sync": async | trappable,
        default: trappable,
    },
    exports: { default: async },
    trappable_error_type: {
        "sqlarium:sandbox/storage.error-code" => super::convert::StorageError,
    },
    additional_derives: [PartialEq],
    with: {
        "sqlarium:sandbox/storage.file": crate::storage::File,
    },
});

pub use self::exports::sqlarium::sandbox::{command, server, shell};
pub use self::sqlarium::sandbox::{console, mailbox, storage, types};
