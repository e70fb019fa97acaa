//! The one wasmtime configuration: what the build script precompiles with is
//! what the host runs with, or the precompiled component does not load.

use wasmtime::Config;

/// The sandbox's configuration.
pub fn config() -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        // Calls across the wall are 2 to 3 times cheaper without it, and its ABI stays out of reach.
        .concurrency_support(false)
        .consume_fuel(true)
        .generate_address_map(false)
        // Proposals that the guest does not use; those that wasmtime is built without are off anyway.
        .wasm_extended_const(false)
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .wasm_relaxed_simd(false)
        .wasm_simd(false)
        .wasm_tail_call(false);
    config
}
