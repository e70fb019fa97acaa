//! One database: opened when it is first used, guarded in layers.
//!
//! A statement that only reads passes five guards, none of which is trusted alone:
//!
//! 1. one statement, by the tail that SQLite reports ([`super::statement::one`]);
//! 2. the authorizer, by the engine's action codes ([`super::guard::authorizer`]);
//! 3. SQLite's verdict on the compiled statement, `sqlite3_stmt_readonly`;
//! 4. `PRAGMA query_only`, while it runs;
//! 5. a connection that was opened for reading only, until something is to be written.
//!
//! From the first write on, one connection serves both, with `query_only` on for reads.

mod batch;
mod dry_run;
mod dumped;
mod followed;
mod recorded;
mod report;
mod run;
pub(crate) mod shell;
pub(crate) mod staged;
mod undo;
pub(crate) mod work;

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::hooks::Action;
use rusqlite::{Connection, ffi};

pub(crate) use self::dry_run::WriteMode;
use self::dry_run::untried;
use self::dumped::Dumped;
use self::followed::Followed;
use super::connection::{self, Access};
use super::guard::authorizer::{Authorizer, Mode};
use super::schema::lookup;
use super::statement::Unprepared;
use super::statement::errors;
use super::statement::errors::ErrorContext;
use super::statement::params::Params;
pub(crate) use super::undo::history::Held;
use super::undo::history::History;
use super::undo::reader::Reader;
use super::undo::recorder::Outcome;
use super::vfs;
use crate::answer::failure::{self, Failure, Status};
use crate::answer::output::Output;
use crate::host::interrupt::InterruptCheck;
use crate::settings::{EngineSettings, OutputLimits};

/// The guards that are in force: all of them, but for tests of each alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layers {
    pub single: bool,
    pub authorizer: bool,
    pub verdict: bool,
    pub query_only: bool,
    pub readonly_open: bool,
}

impl Layers {
    const ALL: Self = Self {
        single: true,
        authorizer: true,
        verdict: true,
        query_only: true,
        readonly_open: true,
    };
}

/// One database of a session.
#[derive(Debug)]
pub struct Database {
    settings: Arc<EngineSettings>,
    output: OutputLimits,
    interrupt: Arc<InterruptCheck>,
    authorizer: Arc<Authorizer>,
    /// The name that storage knows.
    file: String,
    title: String,
    link: Option<OpenConnection>,
    layers: Layers,
    /// Whether the statement itself inserted a row into a table with rowids.
    inserted: Arc<AtomicBool>,
    /// Whether a transaction may stay open when a call ends.
    keeps: bool,
    /// Whether the plan of a shell's statement includes those of its triggers.
    explains_triggers: bool,
    /// How far a shell has read a dump.
    dumped: Dumped,
    /// The record of what is written, once it is open.
    history: OnceCell<Rc<History>>,
    /// What was written and is not told yet.
    written: RefCell<Vec<Outcome>>,
}

/// An open connection.
#[derive(Debug)]
struct OpenConnection {
    /// The write that is followed; it goes before its connection does.
    followed: RefCell<Option<Followed>>,
    connection: Connection,
    /// Reads the database as it was before a write, where others can read meanwhile.
    reader: Rc<Reader>,
    access: Access,
    query_only: bool,
    /// The schema version whose names were last found to be UTF-8.
    checked: Option<i64>,
}

impl Database {
    /// The database that the owner serves.
    pub fn served(
        settings: &Arc<EngineSettings>,
        output: OutputLimits,
        interrupt: &Arc<InterruptCheck>,
    ) -> Self {
        // In the sandbox, a database in memory is a file that the host keeps in its memory, like
        // any other. Natively, which is for tests, it is SQLite's own: reopening would lose it.
        let native_memory = settings.in_memory && !cfg!(target_family = "wasm");
        let file = if native_memory {
            connection::in_memory()
        } else {
            settings.database.clone()
        };
        Self::new(file, settings.title.clone(), settings, output, interrupt)
    }

    /// A database below the owner's root.
    pub fn named(
        name: &str,
        settings: &Arc<EngineSettings>,
        output: OutputLimits,
        interrupt: &Arc<InterruptCheck>,
    ) -> Self {
        Self::new(
            name.to_owned(),
            name.to_owned(),
            settings,
            output,
            interrupt,
        )
    }

    fn new(
        file: String,
        title: String,
        settings: &Arc<EngineSettings>,
        output: OutputLimits,
        interrupt: &Arc<InterruptCheck>,
    ) -> Self {
        Self {
            settings: Arc::clone(settings),
            output,
            interrupt: Arc::clone(interrupt),
            authorizer: Authorizer::new(),
            file,
            title,
            link: None,
            layers: Layers::ALL,
            inserted: Arc::default(),
            keeps: false,
            explains_triggers: false,
            dumped: Dumped::default(),
            history: OnceCell::new(),
            written: RefCell::default(),
        }
    }

    /// What the database is called in answers.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Closes the connection, if there is one; the next call opens it again.
    pub fn close(&mut self) {
        self.link = None;
    }

    /// Runs one statement that only reads. `limit` is how many rows to keep at most; with 0 there
    /// are the columns and, if counting is quick, the total.
    ///
    /// # Errors
    ///
    /// `readonly` for a statement that would write, and whatever else SQLite or a budget refuses.
    pub fn query(
        &mut self,
        sql: &str,
        params: &Params,
        limit: Option<u32>,
    ) -> Result<Output, Failure> {
        let (limit, note) = self.limit(limit)?;
        self.begin(Access::Read)?;
        let result = self.read(sql, params, limit);
        self.end(result).map(|mut output| {
            output.notes.extend(note);
            output
        })
    }

    /// Runs one statement that may write, and commits it. A statement that only reads gives its rows.
    ///
    /// # Errors
    ///
    /// As for [`Database::query`]; nothing was changed then.
    pub fn exec(&mut self, sql: &str, params: &Params) -> Result<Output, Failure> {
        self.exec_to(sql, params, WriteMode::Keep)
    }

    /// The same, to either end: in a dry run it answers what it would change, and keeps nothing.
    ///
    /// # Errors
    ///
    /// As for [`Database::exec`]; `unsupported` for a dry run of what no rollback undoes.
    pub fn exec_to(
        &mut self,
        sql: &str,
        params: &Params,
        ending: WriteMode,
    ) -> Result<Output, Failure> {
        if self.settings.readonly {
            return self.query(sql, params, None);
        }
        self.begin(Access::Write)?;
        let result = match ending {
            WriteMode::Keep => self.kept(sql, || self.write(sql, params, Mode::Write)),
            WriteMode::DryRun => {
                untried(sql).and_then(|()| self.dry_run(|| self.write(sql, params, Mode::Try)))
            }
        };
        self.end(result)
    }

    /// Runs several statements in one transaction, all or nothing. Answers the rows of
    /// the last statement that has any, and the changes of all together.
    ///
    /// # Errors
    ///
    /// As for [`Database::query`], naming the statement by its number and its line; nothing was changed then.
    pub fn batch(&mut self, sql: &str) -> Result<Output, Failure> {
        self.batch_to(sql, WriteMode::Keep)
    }

    /// The same, to either end: in a dry run it answers what it would change, and keeps nothing.
    ///
    /// # Errors
    ///
    /// As for [`Database::batch`].
    pub fn batch_to(&mut self, sql: &str, ending: WriteMode) -> Result<Output, Failure> {
        if self.settings.readonly {
            return Err(errors::writes(
                "start a transaction that writes",
                &self.settings,
            ));
        }
        self.begin(Access::Write)?;
        let result = match ending {
            WriteMode::Keep => self.kept(sql, || self.transact(sql)),
            WriteMode::DryRun => self.dry_run(|| self.statements(sql, Mode::Try)),
        };
        self.end(result)
    }

    /// Tells how SQLite would run one statement, and whether it reads or writes; runs nothing.
    ///
    /// # Errors
    ///
    /// As for [`Database::query`], but for writing.
    pub fn explain(&mut self, sql: &str) -> Result<Output, Failure> {
        self.begin(Access::Read)?;
        let result = self.plan(sql);
        self.end(result)
    }

    /// Runs our own SQL about the schema, under the same budgets and with writing off.
    ///
    /// # Errors
    ///
    /// Whatever SQLite or a budget refuses.
    pub fn inspect<T>(
        &mut self,
        look: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Failure> {
        self.begin(Access::Read)?;
        self.authorizer.enter(Mode::Inspect);
        let result = self
            .connection()
            .and_then(|connection| look(connection).map_err(|error| self.failure(&error, "", 0)));
        self.end(result)
    }

    fn unprepared(&self, unprepared: Unprepared, sql: &str, start: usize) -> Failure {
        match unprepared {
            Unprepared::Empty => errors::empty(),
            Unprepared::Nul => errors::nul(),
            Unprepared::Second => errors::second(),
            Unprepared::Sqlite(error) => self.failure(&error, sql, start),
        }
    }

    /// The failure for an error of SQLite's on the statement at `start` of `sql`.
    fn failure(&self, error: &rusqlite::Error, sql: &str, start: usize) -> Failure {
        let denial = self.authorizer.denial();
        let about = ErrorContext {
            settings: &self.settings,
            title: &self.title,
            sql,
            writes: self
                .link
                .as_ref()
                .is_some_and(|link| link.access == Access::Write && !link.query_only),
            waited: self.interrupt.has_waited(),
            start,
            interruption: self.interrupt.interruption(),
            denial: denial.as_ref(),
        };
        let failure = errors::from_sqlite(error, &about);
        let (Status::NotFound, None, Some(link)) = (failure.status, &failure.hint, &self.link)
        else {
            return failure;
        };
        self.authorizer.enter(Mode::Inspect);
        match lookup::hint(&link.connection, error, sql) {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }

    /// Starts a call: asks the host, opens or upgrades the connection, sets `query_only`.
    fn begin(&mut self, want: Access) -> Result<(), Failure> {
        if let Some(interruption) = self.interrupt.start() {
            return Err(failure::interrupted(&interruption));
        }
        self.authorizer.enter(Mode::Trusted);
        vfs::allow_sleep(self.settings.limits.busy_ms);
        let mut access = want;
        // Natively, what is in memory is writable from the start.
        if connection::is_in_memory(&self.file) || !self.layers.readonly_open {
            access = Access::Write;
        }
        let guarded = want == Access::Read && self.layers.query_only;
        // What has to be put right first, which means writing.
        let mut wrong: Option<rusqlite::Error> = None;
        let failure = loop {
            if let Err(failure) = self.open(access) {
                break match &wrong {
                    Some(wrong) if failure.status == Status::Readonly => self.failure(wrong, "", 0),
                    _ => failure,
                };
            }
            match self.probe() {
                Ok(()) => return self.set_query_only(guarded),
                // Another program died in a transaction, or left a write-ahead log.
                Err(error) if wrong.is_none() && needs_writing(&error) && self.may_upgrade() => {
                    access = Access::Write;
                    wrong = Some(error);
                }
                Err(error) => {
                    let wrong = wrong.filter(|_| cannot_write(&error));
                    break self.failure(wrong.as_ref().unwrap_or(&error), "", 0);
                }
            }
        };
        self.authorizer.enter(Mode::Nothing);
        Err(failure)
    }

    fn may_upgrade(&self) -> bool {
        !self.settings.readonly
            && self
                .link
                .as_ref()
                .is_some_and(|link| link.access == Access::Read)
    }

    /// Opens the database for `access`, unless it is open for that or more.
    fn open(&mut self, access: Access) -> Result<(), Failure> {
        let enough = self
            .link
            .as_ref()
            .is_some_and(|link| link.access == Access::Write || access == Access::Read);
        if enough {
            return Ok(());
        }
        self.link = None;
        let opened = connection::open(
            Some(&self.file),
            access,
            &self.settings.limits,
            &self.authorizer,
            &self.interrupt,
        )
        .and_then(|mut connection| {
            // For the whole process, and never raised again: not within a process of many tests.
            if !cfg!(test) {
                connection::limit_heap(&connection, &self.settings.limits)?;
            }
            let inserted = Arc::clone(&self.inserted);
            let authorizer = Arc::clone(&self.authorizer);
            connection.update_hook(Some(move |action, _: &str, table: &str, _| {
                let found = inserted.load(Ordering::Relaxed);
                if action == Action::SQLITE_INSERT && !found && authorizer.inserts_into(table) {
                    inserted.store(true, Ordering::Relaxed);
                }
            }))?;
            Ok(connection)
        });
        let mut connection = opened.map_err(|error| self.failure(&error, "", 0))?;
        if !self.layers.authorizer {
            connection
                .authorizer(
                    None::<fn(rusqlite::hooks::AuthContext<'_>) -> rusqlite::hooks::Authorization>,
                )
                .map_err(|error| self.failure(&error, "", 0))?;
        }
        // SQLite falls back to reading a file that may not be written.
        if access == Access::Write && connection.is_readonly("main").unwrap_or(false) {
            return Err(errors::unwritable(&self.title));
        }
        self.link = Some(OpenConnection {
            followed: RefCell::default(),
            connection,
            reader: Rc::new(Reader::new(self.opens_for_us())),
            access,
            query_only: false,
            checked: None,
        });
        Ok(())
    }

    /// What opens a connection for our own use alone.
    fn opens_for_us(&self) -> Box<dyn Fn() -> rusqlite::Result<Connection>> {
        let settings = Arc::clone(&self.settings);
        let (file, interrupt) = (self.file.clone(), Arc::clone(&self.interrupt));
        Box::new(move || connection::open_for_us(&file, &settings.limits, &interrupt))
    }

    /// Reads the first page, which shows whether the file can be read at all,
    /// and makes sure that all names of the schema are UTF-8.
    fn probe(&mut self) -> rusqlite::Result<()> {
        let Some(link) = &mut self.link else {
            return Ok(());
        };
        let version: i64 = link
            .connection
            .query_row("PRAGMA schema_version", [], |row| row.get(0))?;
        if link.checked != Some(version) {
            lookup::check_names(&link.connection)?;
            link.checked = Some(version);
        }
        Ok(())
    }

    fn set_query_only(&mut self, on: bool) -> Result<(), Failure> {
        if self.link.as_ref().is_none_or(|link| link.query_only == on) {
            return Ok(());
        }
        self.trusted(if on {
            "PRAGMA query_only=ON"
        } else {
            "PRAGMA query_only=OFF"
        })?;
        if let Some(link) = &mut self.link {
            link.query_only = on;
        }
        Ok(())
    }

    /// Ends a call: nothing stays open, whatever happened, but for a shell.
    fn end<T>(&mut self, result: Result<T, Failure>) -> Result<T, Failure> {
        self.authorizer.enter(Mode::Trusted);
        let open = !self.keeps && self.in_transaction();
        let undone = if open { self.roll_back_open() } else { Ok(()) };
        if undone.is_err() {
            // Closing rolls back too.
            self.link = None;
        }
        self.authorizer.enter(Mode::Nothing);
        if let Some(link) = self.link.as_ref().filter(|_| !self.keeps) {
            link.followed.take();
        }
        let result = result?;
        if open {
            return Err(Failure::new(
                Status::InvalidState,
                "The statement left a transaction open; it was rolled back, because a transaction \
                 ends with its call.",
            )
            .hint("Give all statements of the transaction to sqlarium_batch."));
        }
        Ok(result)
    }

    /// Rolls back the open transaction, however little of the budgets is left.
    fn roll_back_open(&self) -> Result<(), Failure> {
        self.interrupt.mute(true);
        let undone = self.trusted("ROLLBACK");
        self.interrupt.mute(false);
        undone
    }

    /// Runs a statement of our own.
    fn trusted(&self, sql: &str) -> Result<(), Failure> {
        self.authorizer.enter(Mode::Trusted);
        self.connection()?
            .execute_batch(sql)
            .map_err(|error| self.failure(&error, sql, 0))
    }

    fn connection(&self) -> Result<&Connection, Failure> {
        self.link().map(|link| &link.connection)
    }

    fn link(&self) -> Result<&OpenConnection, Failure> {
        self.link
            .as_ref()
            .ok_or_else(|| Failure::new(Status::Internal, "The database is not open."))
    }

    /// Takes guards away, to test the others.
    #[cfg(test)]
    pub(super) fn set_layers(&mut self, layers: Layers) {
        self.layers = layers;
        self.link = None;
    }
}

/// Whether this is how the operating system refuses a write that SQLite tried.
fn cannot_write(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| {
        error.extended_code & 0xff == ffi::SQLITE_READONLY
            || error.extended_code == ffi::SQLITE_IOERR_DELETE
    })
}

/// Whether reading fails because something has to be written first.
fn needs_writing(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqliteFailure(error, _) => {
            matches!(
                error.extended_code,
                ffi::SQLITE_READONLY_ROLLBACK
                    | ffi::SQLITE_READONLY_RECOVERY
                    | ffi::SQLITE_READONLY_CANTINIT
                    | ffi::SQLITE_READONLY_CANTLOCK
            ) || error.extended_code & 0xff == ffi::SQLITE_CANTOPEN
        }
        _ => false,
    }
}
