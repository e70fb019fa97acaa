//! The one wasmtime configuration: what the build script precompiles with is
//! what the host runs with, or the precompiled component does not load.

use wasmtime::Config;

/// The sandbox's configuration.
pub fn config() -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        // Calls across the boundary are 2 to 3 times cheaper without it, and its ABI stays out of reach.
        .concurrency_support(false)
        // It counts by itself, and says which branches are rarely taken for that.
        .wasm_branch_hinting(true)
        // Nothing at the first call of each function.
        .table_lazy_init(false)
        .generate_address_map(false)
        // Calls of the guest hold addresses in its memory; 4 GiB are reserved for it from the start.
        .memory_may_move(false)
        // Twice the most that a statement was seen to take within SQLite's limits of depth, and 2 MiB
        // for the host's own calls, which run on the same stack.
        .max_wasm_stack(4 << 20)
        .async_stack_size(6 << 20)
        // What the guest does not use cannot be used against us.
        .wasm_tail_call(false)
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .wasm_extended_const(false)
        .wasm_relaxed_simd(false);
    config
}
