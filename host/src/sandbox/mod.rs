//! The sandbox: one engine, one precompiled component, and what may pass its boundary.
//!
//! A [`Sandbox`] is made once; it makes an instance in microseconds. An
//! instance is one wasmtime store, and lives until it is dropped or aborted in
//! the middle of a call; the files live on this side and survive it.
//!
//! - [`config`]: the one wasmtime configuration, shared with the build script; [`image`]: the
//!   component, precompiled.
//! - [`bindings`]: `wit/` as Rust; [`imports`]: what the guest may ask for.
//! - [`store`], [`limits`], [`meter`]: what the host holds for an instance, its memory, its work.
//! - [`budget`]: the budget of a call; [`supervise`](mod@supervise) runs it and aborts it if need be.
//! - [`runner`]: calls on an instance, and what outlives it; [`client`]: what it may learn of its client.
//! - [`session`]: the lines of a client. [`person`]: commands and the shell. [`settings`]: what
//!   the guest is told of the budgets.

pub mod bindings;
pub mod budget;
pub mod client;
pub mod config;
mod image;
mod imports;
mod limits;
mod meter;
pub mod person;
pub mod runner;
pub mod session;
mod settings;
mod store;
mod supervise;
#[cfg(test)]
mod tests;

use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::{Engine, Result, Store};

use self::bindings::SandboxPre;
use self::store::StoreData;

/// Handles to files that one instance may hold at once, and then some.
const MAX_HANDLES: usize = 4096;

/// The engine and the component, ready to make instances. Cheap to clone.
#[derive(Clone)]
pub struct Sandbox {
    engine: Engine,
    pre: SandboxPre<StoreData>,
}

impl Sandbox {
    /// Loads the embedded component.
    pub fn new() -> Result<Self> {
        let (engine, component) = image::embedded(config::config)?;
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
    fn store(&self, data: StoreData) -> Store<StoreData> {
        let hostcall_bytes = data.budget.budgets().hostcall_bytes();
        let mut store = Store::new(&self.engine, data);
        store.limiter(|data| &mut data.memory);
        store.set_hostcall_fuel(hostcall_bytes);
        store.set_max_component_handles(MAX_HANDLES);
        store
    }
}
