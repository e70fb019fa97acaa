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
        .generate_address_map(false);
    config
}
