//! The sandbox: one engine, one precompiled component, and what may pass its boundary.
//!
//! A [`Sandbox`] is made once; it makes an instance in microseconds. An
//! instance is one wasmtime store, and lives until it is dropped or aborted in
//! the middle of a call; the files live on this side and survive it.
//!
//! - [`config`]: the one wasmtime configuration, shared with the build script.
//! - [`bindings`]: `wit/` as Rust; [`imports`]: what the guest may ask for.
//! - [`store`], [`limits`]: what the host holds for an instance, and its memory.
//! - [`budget`]: the budget of a call; [`supervise`](mod@supervise) runs it and aborts it if need be.
//! - [`runner`]: calls on an instance, and what outlives it; [`client`]: what it may learn of its client.
//! - [`session`]: the lines of a client. [`person`]: commands and the shell. [`settings`]: what
//!   the guest is told of the budgets.

pub mod bindings;
pub mod budget;
pub mod client;
pub mod config;
mod imports;
mod limits;
pub mod person;
pub mod runner;
pub mod session;
mod settings;
mod store;
mod supervise;
#[cfg(test)]
mod tests;

use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::error::Context as _;
use wasmtime::{Engine, Result, Store};

use self::bindings::SandboxPre;
use self::store::StoreData;

/// The component, precompiled by the build script.
static COMPONENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/guest.cwasm"));

/// Handles to files that one instance may hold at once, and then some.
const MAX_HANDLES: usize = 4096;

/// Fuel after which the guest yields so that its supervisor looks at the
/// clock and the client's lines: about a millisecond.
const YIELD_INTERVAL: u64 = 10_000_000;

/// The engine and the component, ready to make instances. Cheap to clone.
#[derive(Clone)]
pub struct Sandbox {
    engine: Engine,
    pre: SandboxPre<StoreData>,
}

impl Sandbox {
    /// Loads the embedded component.
    pub fn new() -> Result<Self> {
        let (engine, component) = embedded(COMPONENT)?;
        Self::with_component(engine, &component)
    }

    fn with_component(engine: Engine, component: &Component) -> Result<Self> {
        let mut linker: Linker<StoreData> = Linker::new(&engine);
        imports::add_to_linker(&mut linker, component)?;
        let pre: InstancePre<StoreData> = linker.instantiate_pre(component)?;
        Ok(Self {
            engine,
            pre: SandboxPre::new(pre)?,
        })
    }

    /// A fresh store around `data`. Nothing of the guest has run yet.
    fn store(&self, data: StoreData, fuel: u64) -> Result<Store<StoreData>> {
        let hostcall_bytes = data.budget.budgets().hostcall_bytes();
        let mut store = Store::new(&self.engine, data);
        store.limiter(|data| &mut data.memory);
        store.set_fuel(fuel)?;
        store.fuel_async_yield_interval(Some(YIELD_INTERVAL))?;
        store.set_hostcall_fuel(hostcall_bytes);
        store.set_max_component_handles(MAX_HANDLES);
        Ok(store)
    }
}

/// Loads a component that is part of this program.
fn embedded(bytes: &'static [u8]) -> Result<(Engine, Component)> {
    let engine = Engine::new(&config::config())?;
    // SAFETY: the bytes are a build script's output, embedded unchanged: in what people run
    // `COMPONENT`, besides in unit tests those of a crate that is there for nothing else.
    #[expect(unsafe_code, reason = "precompiled code cannot be checked at load")]
    let component = unsafe { Component::deserialize(&engine, bytes) }
        .context("the embedded component does not fit this processor or build")?;
    Ok((engine, component))
}
