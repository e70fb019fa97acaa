//! One instance of the guest, and what outlives it.

use std::sync::Arc;
use std::time::Duration;

use wasmtime::Store;
use wasmtime::component::ResourceAny;

use super::Sandbox;
use super::bindings::Sandbox as Bindings;
use super::bindings::server::Interruption;
use super::budget::{CallBudget, Stop};
use super::client::{Client, SavedState};
use super::imports::console::Console;
use super::store::StoreData;
use super::supervise::supervise;
use crate::audit::{Audit, Spent};
use crate::budgets::Budgets;
use crate::storage::Storage;
use crate::threads::Threads;

/// Attends to nobody: while the guest waits, the processor is free.
pub fn rest(time: Duration) -> Option<Stop> {
    std::thread::sleep(time);
    None
}

/// Runs calls on an instance, and makes a new one where the last was aborted.
pub struct Runner {
    sandbox: Sandbox,
    budgets: Budgets,
    storage: Option<Storage>,
    client: Option<Client>,
    saved: Option<Arc<SavedState>>,
    /// Whether the guest prints for a person, and then whether that person sees how far it is.
    console: Option<bool>,
    record: Record,
    spent: Spent,
    cut_by: Option<&'static str>,
    instance: Option<Instance>,
}

/// Where a session's calls are recorded, as far as its owner wants that.
#[derive(Clone, Default)]
pub struct Record {
    /// For the owner.
    pub audit: Option<Arc<Audit>>,
    /// For the client.
    pub threads: Option<Arc<Threads>>,
}

/// An instance at work.
pub struct Instance {
    /// What calls it.
    pub store: Store<StoreData>,
    /// Its exports.
    pub bindings: Bindings,
    /// The session on it, once there is one.
    pub session: Option<ResourceAny>,
}

impl Runner {
    /// Nothing is granted, and nothing instantiated until the first call.
    pub fn new(sandbox: Sandbox, budgets: Budgets) -> Self {
        Self {
            sandbox,
            budgets,
            storage: None,
            client: None,
            saved: None,
            console: None,
            record: Record::default(),
            spent: Spent::default(),
            cut_by: None,
            instance: None,
        }
    }

    /// Grants files. They outlive every instance.
    #[must_use]
    pub fn with_storage(self, storage: Storage) -> Self {
        Self {
            storage: Some(storage),
            ..self
        }
    }

    /// Takes what the guest saves.
    #[must_use]
    pub fn with_saved(self, saved: Arc<SavedState>) -> Self {
        Self {
            saved: Some(saved),
            ..self
        }
    }

    /// Lets the guest print for a person; `bar` shows how far a command is.
    #[must_use]
    pub fn with_console(self, bar: bool) -> Self {
        Self {
            console: Some(bar),
            ..self
        }
    }

    /// Records calls, of instances that are made from now on.
    pub fn record(&mut self, record: Record) {
        self.record = record;
        self.drop_instance();
    }

    /// What the last call used, and what ended it from outside.
    pub fn spent(&self) -> (Spent, Option<&'static str>) {
        (self.spent, self.cut_by)
    }

    /// Lets the guest learn of its client, and starts with a fresh instance for it.
    pub fn connect(&mut self, client: Client) {
        self.client = Some(client);
        self.drop_instance();
    }

    /// The budgets in force.
    pub fn budgets(&self) -> &Budgets {
        &self.budgets
    }

    /// What the last instance saved.
    pub fn saved(&self) -> Vec<u8> {
        self.saved
            .as_ref()
            .map_or_else(Vec::new, |saved| saved.get())
    }

    /// Whether there is an instance with a session on it.
    pub fn has_session(&self) -> bool {
        self.instance
            .as_ref()
            .is_some_and(|instance| instance.session.is_some())
    }

    /// How many imports the instance has called.
    #[cfg(test)]
    pub fn imports_called(&self) -> u64 {
        self.instance.as_ref().map_or(0, |instance| {
            let calls = &instance.store.data().calls;
            calls.load(std::sync::atomic::Ordering::Relaxed)
        })
    }

    /// Runs `call` on the instance under the owner's budgets, making one if there is none.
    ///
    /// # Errors
    ///
    /// Why the call was aborted; the instance is gone then.
    pub fn call<T>(
        &mut self,
        attend: impl FnMut(Duration) -> Option<Stop>,
        call: impl AsyncFnOnce(&mut Instance) -> wasmtime::Result<T>,
    ) -> Result<T, Interruption> {
        self.call_within(self.budgets.clone(), attend, call)
    }

    /// The same, within other budgets of fuel and time.
    ///
    /// # Errors
    ///
    /// As for [`Runner::call`].
    pub fn call_within<T>(
        &mut self,
        budgets: Budgets,
        attend: impl FnMut(Duration) -> Option<Stop>,
        call: impl AsyncFnOnce(&mut Instance) -> wasmtime::Result<T>,
    ) -> Result<T, Interruption> {
        let budget = Arc::new(CallBudget::new(budgets));
        let work = async {
            if self.instance.is_none() {
                let mut data = StoreData::new(self.budgets.clone());
                data.budget = budget.clone();
                data.storage.clone_from(&self.storage);
                data.client.clone_from(&self.client);
                data.saved.clone_from(&self.saved);
                data.console = self.console.map(Console::new);
                data.audit.clone_from(&self.record.audit);
                data.threads.clone_from(&self.record.threads);
                let mut store = self.sandbox.store(data);
                let bindings = self.sandbox.pre.instantiate_async(&mut store).await?;
                self.instance = Some(Instance {
                    store,
                    bindings,
                    session: None,
                });
            }
            let instance = self.instance.as_mut().expect("just made");
            let data = instance.store.data_mut();
            data.meter
                .reset(budget.budgets().fuel, budget.budgets().fuel_reserve());
            data.budget = budget.clone();
            data.memory.refused = false;
            call(instance).await
        };
        let answered = supervise(work, &budget, attend);
        let data = self.instance.as_ref().map(|instance| instance.store.data());
        self.spent = data.map(StoreData::spent).unwrap_or_default();
        let starved = data.is_some_and(|data| data.memory.refused);
        let aborted = match answered {
            Ok(answer) => {
                self.cut_by = budget.stopped().map(|stop| stop.name());
                return Ok(answer);
            }
            Err(aborted) => aborted,
        };
        self.instance = None;
        aborted.log("a call was aborted");
        let (reason, name) = aborted.reason(&budget, starved);
        self.cut_by = Some(name);
        Err(reason)
    }

    /// Lets the session close its databases, and drops the instance.
    pub fn close(&mut self) {
        if self.has_session() {
            let _ = self.call(rest, async |instance| match instance.session.take() {
                Some(session) => session.resource_drop_async(&mut instance.store).await,
                None => Ok(()),
            });
        }
        self.drop_instance();
    }

    /// Drops the instance as it is: its memory, then the files that it held.
    pub fn drop_instance(&mut self) {
        self.instance = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::bindings::types::{CommandSettings, EngineSettings};
    use crate::storage::{Grants, Served};

    #[test]
    fn a_call_that_is_aborted_while_its_instance_is_made_loses_no_files() {
        let grants = Grants {
            database: Served::Memory {
                name: "shop".into(),
            },
            record: None,
            files: Vec::new(),
            root: None,
        };
        let storage = Storage::new(grants, 1 << 20).unwrap();
        let budgets = Budgets {
            // Less than an instance starts with.
            memory: 1,
            ..Budgets::default()
        };
        let mut runner = Runner::new(Sandbox::new().unwrap(), budgets).with_storage(storage);
        let settings = CommandSettings {
            engine: EngineSettings {
                database: "shop".into(),
                title: "shop".into(),
                in_memory: true,
                readonly: false,
                root: false,
                notes: String::new(),
                undo: None,
                limits: (&Budgets::default()).into(),
            },
            output: (&Budgets::default()).into(),
        };
        let exec = |runner: &mut Runner| {
            let arguments = r#"{"sql":"CREATE TABLE t (a)"}"#;
            runner.call(rest, async |instance| {
                let commands = instance.bindings.sqlarium_sandbox_command();
                let store = &mut instance.store;
                commands.call_run(store, &settings, "exec", arguments).await
            })
        };
        let refused = exec(&mut runner).unwrap_err();
        let reason = format!("{refused:?}");
        assert!(reason.contains("the sandbox failed"), "{reason}");
        runner.budgets.memory = Budgets::default().memory;
        let done = exec(&mut runner)
            .expect("a call")
            .map_err(|failure| failure.text);
        assert_eq!(done.as_deref(), Ok("Done.\n"));
    }
}
