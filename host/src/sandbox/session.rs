//! A session of a client: lines in, lines out, and a line for what was aborted.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use wasmtime::component::ResourceAny;

use super::Sandbox;
use super::bindings::server::{Interruption, Triaged};
use super::bindings::types::ServerSettings;
use super::budget::{CallBudget, Stop};
use super::client::{Client, SavedState};
use super::runner::{Instance, Record, Runner, rest};
use super::store::StoreData;
use super::supervise::supervise;
use crate::audit::Audit;
use crate::budgets::Budgets;
use crate::log::log;
use crate::storage::Storage;

/// Fuel for a line that is not answered but triaged, or answered for an instance that was
/// aborted: some tens of milliseconds, and what it takes to read a byte.
const SMALL_FUEL: u64 = 15_000_000;
const SMALL_FUEL_PER_BYTE: u64 = 2;

/// Time for the same, however it is spent: a running call stands still meanwhile.
const SMALL_TIME: Duration = Duration::from_secs(1);

/// Answers the lines of one client.
pub struct SessionRunner {
    runner: Runner,
    triage: Triage,
    audit: Option<Arc<Audit>>,
}

impl SessionRunner {
    /// Nothing is instantiated until the first call.
    pub fn new(
        sandbox: Sandbox,
        settings: ServerSettings,
        budgets: Budgets,
        storage: Storage,
    ) -> Self {
        let saved = Arc::new(SavedState::new(budgets.reply));
        Self {
            runner: Runner::new(sandbox.clone(), budgets.clone())
                .with_storage(storage)
                .with_saved(saved.clone()),
            triage: Triage {
                sandbox,
                settings,
                budgets,
                saved,
                client: None,
            },
            audit: None,
        }
    }

    /// The owner's choices, until the session is made.
    pub fn settings(&mut self) -> &mut ServerSettings {
        &mut self.triage.settings
    }

    /// Records calls from now on.
    pub fn record(&mut self, record: Record) {
        self.audit.clone_from(&record.audit);
        self.runner.record(record);
    }

    /// The budgets in force.
    pub fn budgets(&self) -> &Budgets {
        self.runner.budgets()
    }

    /// Lets the guest learn of its client.
    pub fn connect(&mut self, client: Client) {
        self.triage.client = Some(Client {
            notifications: None,
            ..client.clone()
        });
        self.runner.connect(client);
    }

    /// Whether the settings can be served; if not, the guest's sentence. What is odd about those
    /// that can be, otherwise.
    ///
    /// # Errors
    ///
    /// Why the call was aborted.
    pub fn check(&mut self) -> Result<Result<Vec<String>, String>, Interruption> {
        let Triage {
            settings, budgets, ..
        } = &self.triage;
        // However little a call may take.
        let budgets = Budgets {
            fuel: budgets.fuel.saturating_add(SMALL_FUEL),
            ..budgets.clone()
        };
        self.runner.call_within(budgets, rest, async |instance| {
            let server = instance.bindings.sqlarium_sandbox_server();
            server.call_check(&mut instance.store, settings).await
        })
    }

    /// Answers one line, with a line or with silence; if the call is aborted, by what a fresh
    /// instance says of that. `attend` serves the client meanwhile.
    ///
    /// # Errors
    ///
    /// If no instance has anything to say, so that the client would wait for ever.
    pub fn answer(
        &mut self,
        line: &[u8],
        mut attend: impl FnMut(&Triage, Duration) -> Option<Stop>,
    ) -> Result<Option<String>> {
        let Self { runner, triage, .. } = self;
        let answered = runner.call(
            |time| attend(triage, time),
            async |instance| {
                let session = open(instance, triage).await?;
                let sessions = instance.bindings.sqlarium_sandbox_server().session();
                sessions
                    .call_answer(&mut instance.store, session, line)
                    .await
            },
        );
        let (spent, mut cut_by) = runner.spent();
        let reply = match answered {
            Ok(reply) if triage.is_sendable(reply.as_deref()) => Ok(reply),
            Ok(_) => {
                log("the sandbox produced a reply that is too long or not one line");
                runner.drop_instance();
                cut_by = Some("fault");
                let reason = Interruption::Stopped(triage.budgets.fault());
                self.interrupted(line, &reason)
            }
            Err(reason) => self.interrupted(line, &reason),
        };
        if let Some(audit) = &self.audit {
            let line = reply.as_ref().ok().and_then(Option::as_ref);
            audit.finish(line.map(|line| line.len() as u64 + 1), spent, cut_by);
        }
        reply
    }

    /// The reply to a line whose instance was aborted.
    fn interrupted(&mut self, line: &[u8], reason: &Interruption) -> Result<Option<String>> {
        let Self { runner, triage, .. } = self;
        for _ in 0..2 {
            let budgets = triage.small_budgets(line);
            let replied = runner.call_within(budgets, rest, async |instance| {
                let session = open(instance, triage).await?;
                let sessions = instance.bindings.sqlarium_sandbox_server().session();
                sessions
                    .call_interrupted(&mut instance.store, session, line, reason)
                    .await
            });
            match replied {
                Ok(reply) if triage.is_sendable(reply.as_deref()) => return Ok(reply),
                _ => runner.drop_instance(),
            }
            // It may be the state that it fails on.
            triage.saved.clear();
        }
        bail!("the sandbox has no reply for a call that was aborted");
    }

    /// How many imports the instance has called.
    #[cfg(test)]
    pub fn imports_called(&self) -> u64 {
        self.runner.imports_called()
    }

    /// Decides about lines without answering them in their turn.
    pub fn triage(&self) -> &Triage {
        &self.triage
    }

    /// Lets the session close its databases.
    pub fn close(&mut self) {
        self.runner.close();
    }
}

/// The session on an instance, made if there is none.
async fn open(instance: &mut Instance, triage: &Triage) -> wasmtime::Result<ResourceAny> {
    if let Some(session) = instance.session {
        return Ok(session);
    }
    let server = instance.bindings.sqlarium_sandbox_server();
    let session = server
        .session()
        .call_constructor(&mut instance.store, &triage.settings, &triage.saved.get())
        .await?;
    instance.session = Some(session);
    Ok(session)
}

/// Decides about lines on an instance of its own for each, so that neither a busy guest nor an
/// earlier line can be in the way.
pub struct Triage {
    sandbox: Sandbox,
    settings: ServerSettings,
    budgets: Budgets,
    saved: Arc<SavedState>,
    client: Option<Client>,
}

impl Triage {
    /// What to do with a line that arrives while the session answers one.
    pub fn triage(&self, line: &[u8]) -> Triaged {
        let triaged = self.ask(line, &self.saved.get(), async |instance, session| {
            let sessions = instance.bindings.sqlarium_sandbox_server().session();
            sessions
                .call_triage(&mut instance.store, session, line)
                .await
        });
        match triaged {
            Ok(Triaged::Handled(reply)) if !self.is_sendable(reply.as_deref()) => {
                log("the sandbox produced a reply that is too long or not one line");
                Triaged::Handled(None)
            }
            Ok(triaged) => triaged,
            Err(_) => Triaged::Defer,
        }
    }

    /// The reply to a line that is longer than the budget, of which `head` is the start.
    ///
    /// # Errors
    ///
    /// If no instance has anything to say, so that the client would wait for ever.
    pub fn overlong(&self, head: &[u8]) -> Result<String> {
        for state in [self.saved.get(), Vec::new()] {
            let replied = self.ask(head, &state, async |instance, session| {
                let sessions = instance.bindings.sqlarium_sandbox_server().session();
                sessions
                    .call_overlong(&mut instance.store, session, head)
                    .await
            });
            if let Ok(reply) = replied
                && self.is_sendable(Some(&reply))
            {
                return Ok(reply);
            }
        }
        bail!("the sandbox has no reply for a line that is too long");
    }

    /// Asks an instance made from `state` for this one question. It has no files, and what it says
    /// in other ways than by its answer is for nobody.
    fn ask<T>(
        &self,
        line: &[u8],
        state: &[u8],
        question: impl AsyncFnOnce(&mut Instance, ResourceAny) -> wasmtime::Result<T>,
    ) -> Result<T, Interruption> {
        let budgets = self.small_budgets(line);
        let budget = Arc::new(CallBudget::new(budgets.clone()));
        let mut data = StoreData::new(self.budgets.clone());
        data.budget = budget.clone();
        data.meter.reset(budgets.fuel, 0);
        data.client.clone_from(&self.client);
        let work = async {
            let mut store = self.sandbox.store(data);
            let bindings = self.sandbox.pre.instantiate_async(&mut store).await?;
            let server = bindings.sqlarium_sandbox_server();
            let session = server
                .session()
                .call_constructor(&mut store, &self.settings, state)
                .await?;
            let mut instance = Instance {
                store,
                bindings,
                session: None,
            };
            question(&mut instance, session).await
        };
        supervise(work, &budget, rest).map_err(|aborted| {
            aborted.log("a line could not be looked at");
            aborted.reason(&budget, false).0
        })
    }

    fn small_budgets(&self, line: &[u8]) -> Budgets {
        Budgets {
            fuel: SMALL_FUEL + SMALL_FUEL_PER_BYTE * line.len() as u64,
            timeout: SMALL_TIME,
            ..self.budgets.clone()
        }
    }

    /// Whether a reply is one line that is short enough, or silence.
    fn is_sendable(&self, reply: Option<&str>) -> bool {
        reply.is_none_or(|reply| (reply.len() as u64) < self.budgets.reply && !reply.contains('\n'))
    }
}
