//! One instance of the guest, and the files that outlive it.

use std::sync::Arc;
use std::time::Duration;

use wasmtime::Store;
use wasmtime::component::ResourceAny;

use super::bindings::Sandbox as Bindings;
use super::bindings::server::Overheard;
use super::bindings::shell::{Completion, Next};
use super::bindings::types::Settings;
use super::call::{Cut, supervise};
use super::console::Console;
use super::control::Control;
use super::{Sandbox, State};
use crate::budgets::Budgets;
use crate::storage::Storage;

/// Fuel on top of `--fuel` for what a server does before a call's last words are left: to make
/// the instance and to understand the line.
const LEAD: u64 = 100_000_000;

/// Fuel for judging one overheard line: some tens of milliseconds.
const OVERHEAR_FUEL: u64 = 1_000_000_000;

/// Time for judging one, however it is spent: the running call stands still meanwhile.
const OVERHEAR_TIME: Duration = Duration::from_secs(1);

/// Everything that outlives an instance.
pub struct Vessel {
    sandbox: Sandbox,
    settings: Settings,
    budgets: Budgets,
    control: Arc<Control>,
    /// Taken while an instance holds it.
    storage: Option<Storage>,
    console: Option<Console>,
    live: Option<Live>,
}

/// Looks in for nobody: while the guest waits, the processor is free.
pub fn rest(_: &Overhearing<'_>, time: Duration) {
    std::thread::sleep(time);
}

/// An instance at work.
pub struct Live {
    store: Store<State>,
    bindings: Bindings,
    session: Option<ResourceAny>,
}

/// What became of a call.
#[derive(Debug)]
pub enum Outcome<T> {
    /// It ended by itself.
    Done(T),
    /// It was cut off, for this reason; none if the client took it back. The
    /// last words are what to tell the client, if anything.
    Cut {
        /// The sentence.
        reason: Option<String>,
        /// The line for the client.
        last_words: Option<String>,
    },
}

impl Vessel {
    /// Nothing is instantiated until the first call.
    pub fn new(sandbox: Sandbox, settings: Settings, budgets: Budgets, storage: Storage) -> Self {
        let control = Arc::new(Control::default());
        Self {
            sandbox,
            settings,
            budgets,
            control,
            storage: Some(storage),
            console: None,
            live: None,
        }
    }

    /// What calls and their supervisor share.
    pub fn control(&self) -> &Arc<Control> {
        &self.control
    }

    /// The budgets in force.
    pub fn budgets(&self) -> &Budgets {
        &self.budgets
    }

    /// What the session is told of the owner's choices, until it is made.
    pub fn settings(&mut self) -> &mut Settings {
        &mut self.settings
    }

    /// From now on the guest may print for a person.
    pub fn listen(&mut self) {
        self.console = Some(Console::new());
    }

    /// Hands one line to the shell.
    pub fn feed(
        &mut self,
        line: &[u8],
        interactive: bool,
        look: impl FnMut(&Overhearing<'_>, Duration),
    ) -> Outcome<Next> {
        self.run(look, async |live, settings, kept| {
            let session = live.shell(settings, kept, interactive).await?;
            let shell = live.bindings.sqlarium_sandbox_shell().session();
            shell.call_feed(&mut live.store, session, line).await
        })
    }

    /// Makes the shell forget a statement that is not whole yet.
    pub fn forget(&mut self) {
        if self.live.is_some() {
            self.run(rest, async |live, settings, kept| {
                let session = live.shell(settings, kept, true).await?;
                let shell = live.bindings.sqlarium_sandbox_shell().session();
                shell.call_forget(&mut live.store, session).await
            });
        }
    }

    /// Tells the shell that the lines are over; answers the exit code.
    pub fn finish(&mut self, interactive: bool) -> Outcome<u8> {
        self.run(rest, async |live, settings, kept| {
            let session = live.shell(settings, kept, interactive).await?;
            let shell = live.bindings.sqlarium_sandbox_shell().session();
            shell.call_finish(&mut live.store, session).await
        })
    }

    /// Asks the shell how the word that ends at byte `place` of `text` could go on.
    pub fn complete(&mut self, text: &str, place: u32) -> Outcome<Completion> {
        self.run(rest, async |live, settings, kept| {
            let session = live.shell(settings, kept, true).await?;
            let shell = live.bindings.sqlarium_sandbox_shell().session();
            shell
                .call_complete(&mut live.store, session, text, place)
                .await
        })
    }

    /// Hands one line to the session.
    pub fn handle(
        &mut self,
        line: &[u8],
        look: impl FnMut(&Overhearing<'_>, Duration),
    ) -> Outcome<Option<String>> {
        self.run_on(self.led(), look, async |live, settings, kept| {
            let session = live.session(settings, kept).await?;
            let server = live.bindings.sqlarium_sandbox_server();
            server
                .session()
                .call_handle(&mut live.store, session, line)
                .await
        })
    }

    /// The reply to a line that was too long to hand over.
    pub fn overlong(&mut self) -> Outcome<String> {
        self.run_on(self.led(), rest, async |live, settings, kept| {
            let session = live.session(settings, kept).await?;
            let server = live.bindings.sqlarium_sandbox_server();
            server
                .session()
                .call_overlong(&mut live.store, session)
                .await
        })
    }

    /// Whether the settings can be served; if not, the guest's sentence. What is odd about those
    /// that can be, otherwise.
    pub fn check(&mut self) -> Outcome<Result<Vec<String>, String>> {
        self.run_on(self.led(), rest, async |live, settings, _| {
            let server = live.bindings.sqlarium_sandbox_server();
            server.call_check(&mut live.store, settings).await
        })
    }

    /// Lets the session close its databases.
    pub fn close(&mut self) {
        if self
            .live
            .as_ref()
            .is_some_and(|live| live.session.is_some())
        {
            self.run(rest, async |live, _, _| match live.session.take() {
                Some(session) => session.resource_drop_async(&mut live.store).await,
                None => Ok(()),
            });
        }
        self.drop_instance();
    }

    /// Runs `call` on the instance, making one if there is none.
    pub fn run<T>(
        &mut self,
        look: impl FnMut(&Overhearing<'_>, Duration),
        call: impl AsyncFnOnce(&mut Live, &Settings, &str) -> wasmtime::Result<T>,
    ) -> Outcome<T> {
        self.run_on(self.budgets.fuel, look, call)
    }

    /// The fuel of what ends before its meter starts, or starts it.
    fn led(&self) -> u64 {
        self.budgets.fuel.saturating_add(LEAD)
    }

    fn run_on<T>(
        &mut self,
        fuel: u64,
        mut look: impl FnMut(&Overhearing<'_>, Duration),
        call: impl AsyncFnOnce(&mut Live, &Settings, &str) -> wasmtime::Result<T>,
    ) -> Outcome<T> {
        self.control.begin(fuel);
        let kept = self.control.kept();
        let Self {
            sandbox,
            settings,
            budgets,
            control,
            storage,
            console,
            live,
        } = self;
        let overhearing = Overhearing {
            sandbox,
            settings,
            budgets,
            control,
        };
        let work = async {
            if live.is_none() {
                let mut state = State::new(storage.take(), control.clone(), budgets.clone());
                state.console = *console;
                let mut store = sandbox.store(state, fuel)?;
                let bindings = match sandbox.pre.instantiate_async(&mut store).await {
                    Ok(bindings) => bindings,
                    Err(error) => {
                        *storage = store.into_data().storage;
                        return Err(error);
                    }
                };
                *live = Some(Live {
                    store,
                    bindings,
                    session: None,
                });
            }
            let live = live.as_mut().expect("just made");
            live.store.set_fuel(fuel)?;
            live.store.data_mut().memory.refused = false;
            call(live, settings, &kept).await
        };
        match supervise(work, control, budgets, |time| look(&overhearing, time)) {
            Ok(answer) => Outcome::Done(answer),
            Err(cut) => self.cut(&cut),
        }
    }

    fn cut<T>(&mut self, cut: &Cut) -> Outcome<T> {
        let starved = self
            .live
            .as_ref()
            .is_some_and(|live| live.store.data().memory.refused);
        self.drop_instance();
        let reason = cut.reason(&self.control, &self.budgets, starved);
        cut.log("the sandbox was aborted");
        let last_words = reason
            .as_ref()
            .and_then(|reason| self.control.last_words(reason, self.budgets.reply));
        Outcome::Cut { reason, last_words }
    }

    /// Drops the guest's memory, then the handles it held, and keeps the files.
    fn drop_instance(&mut self) {
        if let Some(live) = self.live.take() {
            self.storage = live.store.into_data().storage;
        }
    }
}

impl Live {
    /// The guest's exports, and the store to call them with.
    pub fn exports(&mut self) -> (&Bindings, &mut Store<State>) {
        (&self.bindings, &mut self.store)
    }

    async fn session(&mut self, settings: &Settings, kept: &str) -> wasmtime::Result<ResourceAny> {
        if let Some(session) = self.session {
            return Ok(session);
        }
        let server = self.bindings.sqlarium_sandbox_server();
        let session = server
            .session()
            .call_constructor(&mut self.store, settings, kept)
            .await?;
        self.session = Some(session);
        Ok(session)
    }
}

impl Live {
    async fn shell(
        &mut self,
        settings: &Settings,
        kept: &str,
        interactive: bool,
    ) -> wasmtime::Result<ResourceAny> {
        if let Some(session) = self.session {
            return Ok(session);
        }
        let shell = self.bindings.sqlarium_sandbox_shell();
        let session = shell
            .session()
            .call_constructor(&mut self.store, settings, interactive, kept)
            .await?;
        self.session = Some(session);
        Ok(session)
    }
}

/// Judges lines that arrive while the instance is at work.
pub struct Overhearing<'a> {
    sandbox: &'a Sandbox,
    settings: &'a Settings,
    budgets: &'a Budgets,
    control: &'a Arc<Control>,
}

impl Overhearing<'_> {
    /// Asks an instance made for this one line, so that neither a busy guest
    /// nor an earlier line can be in the way.
    pub fn judge(&self, line: &[u8]) -> Overheard {
        // It has a control of its own: what the busy call is told is not for this one, and what
        // this one says in other ways than by its answer is for nobody.
        let own = Arc::new(Control::default());
        own.begin(OVERHEAR_FUEL);
        let budgets = Budgets {
            timeout: self.budgets.timeout.min(OVERHEAR_TIME),
            ..self.budgets.clone()
        };
        let state = State::overhearing(own.clone(), self.control.clone(), budgets.clone());
        let work = async {
            let mut store = self.sandbox.store(state, OVERHEAR_FUEL)?;
            let bindings = self.sandbox.pre.instantiate_async(&mut store).await?;
            let session = bindings.sqlarium_sandbox_server().session();
            let this = session
                .call_constructor(&mut store, self.settings, &self.control.kept())
                .await?;
            session.call_overhear(&mut store, this, line).await
        };
        let look = |time| {
            own.take_outbox();
            std::thread::sleep(time);
        };
        match supervise(work, &own, &budgets, look) {
            Ok(overheard) => overheard,
            Err(cut) => {
                cut.log("a line could not be overheard");
                Overheard::Later
            }
        }
    }
}
