//! Commands and the shell, for a person.

use std::sync::Arc;
use std::time::Duration;

use wasmtime::component::ResourceAny;

use super::Sandbox;
use super::bindings::command::{Entry, Failure};
use super::bindings::server::Interruption;
use super::bindings::shell::{Completion, Next};
use super::bindings::types::CommandSettings;
use super::budget::Stop;
use super::client::SavedState;
use super::runner::{Instance, Runner, rest};
use crate::budgets::Budgets;
use crate::storage::Storage;

/// Every command, in the order in which help lists them.
///
/// # Errors
///
/// Why the call was aborted.
pub fn catalog(sandbox: Sandbox) -> Result<Vec<Entry>, Interruption> {
    Runner::new(sandbox, Budgets::default()).call(rest, async |instance| {
        let commands = instance.bindings.sqlarium_sandbox_command();
        commands.call_catalog(&mut instance.store).await
    })
}

/// What was done in a thread, by its entries, oldest first: as lines, or as JSON.
///
/// # Errors
///
/// Why the call was aborted.
pub fn show_thread(
    sandbox: Sandbox,
    id: &str,
    entries: &[Vec<u8>],
    json: bool,
) -> Result<String, Interruption> {
    Runner::new(sandbox, Budgets::default()).call(rest, async |instance| {
        let commands = instance.bindings.sqlarium_sandbox_command();
        let store = &mut instance.store;
        commands.call_show_thread(store, id, entries, json).await
    })
}

/// Runs one command, with the arguments in a JSON object. `stop` says if it has to end.
///
/// # Errors
///
/// Why the call was aborted.
pub fn run_command(
    runner: Runner,
    settings: &CommandSettings,
    name: &str,
    arguments: &str,
    stop: impl Fn() -> Option<Stop>,
) -> Result<Result<String, Failure>, Interruption> {
    let mut runner = runner;
    let attend = |time| {
        let stopped = stop();
        if stopped.is_none() {
            rest(time);
        }
        stopped
    };
    runner.call(attend, async |instance| {
        let commands = instance.bindings.sqlarium_sandbox_command();
        commands
            .call_run(&mut instance.store, settings, name, arguments)
            .await
    })
}

/// Runs the shell.
pub struct ShellRunner {
    runner: Runner,
    settings: CommandSettings,
}

impl ShellRunner {
    /// Nothing is instantiated until the first call.
    pub fn new(
        sandbox: Sandbox,
        settings: CommandSettings,
        budgets: Budgets,
        storage: Storage,
    ) -> Self {
        let saved = Arc::new(SavedState::new(budgets.reply));
        Self {
            runner: Runner::new(sandbox, budgets)
                .with_storage(storage)
                .with_saved(saved)
                .with_console(false),
            settings,
        }
    }

    /// The budgets in force.
    pub fn budgets(&self) -> &Budgets {
        self.runner.budgets()
    }

    /// Hands one line to the shell. `attend` says if the call has to end.
    ///
    /// # Errors
    ///
    /// Why the call was aborted; a fresh instance takes the next line.
    pub fn feed(
        &mut self,
        line: &[u8],
        interactive: bool,
        attend: impl FnMut(Duration) -> Option<Stop>,
    ) -> Result<Next, Interruption> {
        self.call(interactive, attend, async |instance, session| {
            let shell = instance.bindings.sqlarium_sandbox_shell().session();
            shell.call_feed(&mut instance.store, session, line).await
        })
    }

    /// Makes the shell forget a statement that is not whole yet.
    pub fn abandon(&mut self) {
        if self.runner.has_session() {
            let _ = self.call(true, rest, async |instance, session| {
                let shell = instance.bindings.sqlarium_sandbox_shell().session();
                shell.call_abandon(&mut instance.store, session).await
            });
        }
    }

    /// Tells the shell that the lines are over; answers the exit code.
    ///
    /// # Errors
    ///
    /// Why the call was aborted.
    pub fn finish(&mut self, interactive: bool) -> Result<u8, Interruption> {
        self.call(interactive, rest, async |instance, session| {
            let shell = instance.bindings.sqlarium_sandbox_shell().session();
            shell.call_finish(&mut instance.store, session).await
        })
    }

    /// Asks the shell how the word that ends at byte `place` of `text` could go on.
    ///
    /// # Errors
    ///
    /// Why the call was aborted.
    pub fn complete(&mut self, text: &str, place: u32) -> Result<Completion, Interruption> {
        self.call(true, rest, async |instance, session| {
            let shell = instance.bindings.sqlarium_sandbox_shell().session();
            shell
                .call_complete(&mut instance.store, session, text, place)
                .await
        })
    }

    /// Lets the shell close its databases.
    pub fn close(&mut self) {
        self.runner.close();
    }

    fn call<T>(
        &mut self,
        interactive: bool,
        attend: impl FnMut(Duration) -> Option<Stop>,
        call: impl AsyncFnOnce(&mut Instance, ResourceAny) -> wasmtime::Result<T>,
    ) -> Result<T, Interruption> {
        let saved = self.runner.saved();
        let settings = &self.settings;
        self.runner.call(attend, async |instance| {
            let session = match instance.session {
                Some(session) => session,
                None => {
                    let shell = instance.bindings.sqlarium_sandbox_shell().session();
                    let store = &mut instance.store;
                    let session = shell
                        .call_constructor(store, settings, interactive, &saved)
                        .await?;
                    *instance.session.insert(session)
                }
            };
            call(instance, session).await
        })
    }
}
