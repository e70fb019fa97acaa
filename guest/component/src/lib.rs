//! The guest, built for WebAssembly.
//!
//! A package of its own, so that cargo builds the guest beside wasmtime rather than after it.

/// Where the component is.
pub const PATH: &str = concat!(env!("OUT_DIR"), "/guest.wasm");
