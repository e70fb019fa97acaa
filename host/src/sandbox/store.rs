//! What the host holds for one instance.

use std::sync::Arc;

use wasmtime::component::ResourceTable;
use wasmtime::{Result, bail};

use super::MAX_HANDLES;
use super::budget::CallBudget;
use super::client::{Client, SavedState};
use super::imports::console::Console;
use super::limits::MemoryBudget;
use super::meter::Meter;
use crate::audit::{Audit, Spent};
use crate::budgets::Budgets;
use crate::storage::Storage;
use crate::threads::{Known, Threads};

/// The data of a store.
pub struct StoreData {
    /// Open files and other handles the guest holds.
    pub(super) table: ResourceTable,
    /// The files; none for an instance that triages.
    pub(super) storage: Option<Storage>,
    /// The budget of the running call.
    pub(super) budget: Arc<CallBudget>,
    pub(super) memory: MemoryBudget,
    pub(super) meter: Meter,
    /// The client, if a session has one.
    pub(super) client: Option<Client>,
    /// Where the guest saves its state; none for an instance that triages.
    pub(super) saved: Option<Arc<SavedState>>,
    /// Where the guest prints for a person, if one is there.
    pub(super) console: Option<Console>,
    /// The record of the session's calls, if the owner wants one.
    pub(super) audit: Option<Arc<Audit>>,
    /// What is remembered of the client's threads, and what this instance knows of it.
    pub(super) threads: Option<Arc<Threads>>,
    pub(super) known: Known,
    /// Bytes of the guest's standard error that were passed on.
    pub(super) stderr_bytes: usize,
    /// How many imports were called.
    #[cfg(test)]
    pub(super) calls: std::sync::atomic::AtomicU64,
}

impl StoreData {
    /// Data with nothing open and nothing granted.
    pub fn new(budgets: Budgets) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_HANDLES);
        Self {
            table,
            storage: None,
            memory: MemoryBudget::new(budgets.memory),
            meter: Meter::default(),
            budget: Arc::new(CallBudget::new(budgets)),
            client: None,
            saved: None,
            console: None,
            audit: None,
            threads: None,
            known: Known::default(),
            stderr_bytes: 0,
            #[cfg(test)]
            calls: std::sync::atomic::AtomicU64::new(0),
        }
    }

    /// What the running call has used, of fuel as far as that is settled.
    pub(super) fn spent(&self) -> Spent {
        Spent {
            fuel: self.meter.used(),
            time: self.budget.elapsed(),
        }
    }

    /// An import is called.
    pub(super) fn called(&self) {
        #[cfg(test)]
        self.calls
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }

    /// The same, for all but those that let the supervisor look in. Ends a call that keeps the host at work beyond its time: what the host does takes
    /// no fuel, so that the supervisor would not see it for long.
    pub(super) fn in_time(&self) -> Result<()> {
        self.called();
        self.budget.check_time();
        if self.budget.has_overstayed() {
            bail!("the guest was told to stop but continues to call its imports");
        }
        Ok(())
    }
}
