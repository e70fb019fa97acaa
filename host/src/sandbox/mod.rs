//! The glass: one engine, one precompiled component, and what may pass.
//!
//! A [`Sandbox`] is made once; it makes an instance in microseconds. An
//! instance is one wasmtime store, and lives until it is dropped or cut off in
//! the middle of a call; the files live on this side and survive it.
//!
//! - [`config`]: the one wasmtime configuration, shared with the build script.
//! - [`bindings`]: `wit/` as Rust; [`convert`]: between its types and the storage's.
//! - [`imports`], [`console`]: what the guest may ask for; [`wasi`]: the sliver of WASI it gets.
//! - [`control`]: what a running call and its supervisor say to each other.
//! - [`call`]: runs a call under its budgets and cuts it off if need be.
//! - [`instance`]: one instance, and what outlives it.

pub mod bindings;
pub mod call;
pub mod config;
pub mod console;
pub mod control;
mod convert;
mod imports;
pub mod instance;
#[cfg(test)]
mod tests;
mod wasi;

use std::sync::Arc;

use wasmtime::component::{Component, HasSelf, InstancePre, Linker, ResourceTable};
use wasmtime::error::Context as _;
use wasmtime::{Engine, ResourceLimiter, Result, Store};

use self::bindings::SandboxPre;
use self::console::Console;
use self::control::Control;
use crate::budgets::Budgets;
use crate::storage::Storage;

/// The component, precompiled by the build script.
static COMPONENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/guest.cwasm"));

/// Handles to files that one instance may hold at once, and then some.
const MAX_HANDLES: usize = 4096;

/// Fuel after which the guest gives way so that its supervisor looks at the
/// clock and the client's lines: about a millisecond.
const YIELD_INTERVAL: u64 = 10_000_000;

/// The engine and the component, ready to make instances. Cheap to clone.
#[derive(Clone)]
pub struct Sandbox {
    engine: Engine,
    pre: SandboxPre<State>,
}

impl Sandbox {
    /// Loads the embedded component.
    pub fn new() -> Result<Self> {
        let (engine, component) = embedded(COMPONENT)?;
        Self::with_component(engine, &component)
    }

    fn with_component(engine: Engine, component: &Component) -> Result<Self> {
        let mut linker: Linker<State> = Linker::new(&engine);
        bindings::storage::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state)?;
        bindings::mailbox::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state)?;
        bindings::console::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state)?;
        imports::add_to_linker(&mut linker)?;
        wasi::add_to_linker(&mut linker, component)?;
        // Whatever else it imports exists, but traps when called.
        linker.define_unknown_imports_as_traps(component)?;
        let pre: InstancePre<State> = linker.instantiate_pre(component)?;
        Ok(Self {
            engine,
            pre: SandboxPre::new(pre)?,
        })
    }

    /// A fresh store around `state`. Nothing of the guest has run yet.
    fn store(&self, state: State, fuel: u64) -> Result<Store<State>> {
        let hostcall_bytes = state.budgets.hostcall_bytes();
        let mut store = Store::new(&self.engine, state);
        store.limiter(|state| &mut state.memory);
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

/// What the host holds for one instance.
pub struct State {
    /// Open files and other handles the guest holds.
    table: ResourceTable,
    /// The files; none for an instance that only overhears.
    storage: Option<Storage>,
    /// What its call and the call's supervisor say to each other.
    control: Arc<Control>,
    /// Where the lines wait: the same, unless it only judges a line.
    queue: Arc<Control>,
    budgets: Budgets,
    memory: MemoryBudget,
    /// Where the guest prints for a person, if one is there.
    console: Option<Console>,
    /// Bytes of the guest's standard error that were passed on.
    stderr_bytes: usize,
}

impl State {
    /// A state with nothing open.
    pub fn new(storage: Option<Storage>, control: Arc<Control>, budgets: Budgets) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_HANDLES);
        let memory = MemoryBudget {
            limit: budgets.memory,
            used: 0,
            refused: false,
        };
        Self {
            table,
            storage,
            queue: control.clone(),
            control,
            budgets,
            memory,
            console: None,
            stderr_bytes: 0,
        }
    }

    /// A state for an instance that only judges a line: no files, and nothing to do with
    /// the running call but to look at the lines that wait for it in `queue`.
    pub fn overhearing(control: Arc<Control>, queue: Arc<Control>, budgets: Budgets) -> Self {
        Self {
            queue,
            ..Self::new(None, control, budgets)
        }
    }
}

/// All linear memories and tables of one instance together.
#[derive(Debug)]
struct MemoryBudget {
    /// In bytes.
    limit: u64,
    used: u64,
    /// Whether growth was refused since the call began.
    refused: bool,
}

/// What one table entry costs the host, in bytes.
const TABLE_ENTRY: usize = 8;

impl MemoryBudget {
    fn grow(&mut self, current: usize, desired: usize, unit: usize) -> bool {
        let more = desired.saturating_sub(current).saturating_mul(unit) as u64;
        let fits = self
            .used
            .checked_add(more)
            .is_some_and(|sum| sum <= self.limit);
        if fits {
            self.used += more;
        } else {
            self.refused = true;
        }
        fits
    }
}

impl ResourceLimiter for MemoryBudget {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        Ok(self.grow(current, desired, 1))
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        Ok(self.grow(current, desired, TABLE_ENTRY))
    }
}
