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
mod check;
mod dry_run;
mod dumped;
mod effects;
mod explained;
mod followed;
mod met;
mod new_rows;
mod open;
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

use rusqlite::Connection;

pub(crate) use self::dry_run::WriteMode;
use self::dry_run::untried;
use self::dumped::Dumped;
use self::followed::Followed;
pub(crate) use self::recorded::Past;
use super::connection;
use super::connection::Access;
use super::connection::insert_hook::InsertHook;
use super::guard::authorizer::{Authorizer, Mode};
use super::schema::blame::{self, Explanation};
use super::schema::lookup;
use super::statement::Unprepared;
use super::statement::dialect;
use super::statement::errors;
use super::statement::errors::ErrorContext;
use super::statement::leniency::{self, Leniency, Strings};
use super::statement::params::Params;
pub(crate) use super::undo::history::Held;
use super::undo::history::History;
use super::undo::recorder::Outcome;
use crate::answer::failure::{Failure, Status};
use crate::answer::output::Output;
use crate::host::interrupt::InterruptCheck;
use crate::settings::{EngineSettings, OutputLimits};
use crate::storage;

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

/// What a database is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// To be worked with.
    Served,
    /// Only to be read, and never changed by that, not even to put it right; what its schema needs
    /// of the program that made the file is stood in for ([`connection::stand_in`]).
    Source,
    /// The same without the modules of virtual tables.
    Pages,
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
    /// Whether a transaction may stay open when a call ends.
    keeps: bool,
    /// Whether the plan of a shell's statement includes those of its triggers.
    explains_triggers: bool,
    /// How far a shell has read a dump.
    dumped: Dumped,
    /// The record of what is written to all databases, once it is open.
    history: Rc<OnceCell<Rc<History>>>,
    /// What was written and is not told yet.
    written: RefCell<Vec<Outcome>>,
    role: Role,
    /// What happened to the file that a reader has to know.
    news: Vec<String>,
}

/// An open connection.
#[derive(Debug)]
struct OpenConnection {
    /// The write that is followed; it goes before its connection does.
    followed: RefCell<Option<Followed>>,
    connection: Connection,
    /// Goes after its connection.
    inserted: InsertHook,
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
            keeps: false,
            explains_triggers: false,
            dumped: Dumped::default(),
            history: Rc::default(),
            written: RefCell::default(),
            role: Role::Served,
            news: Vec::new(),
        }
    }

    /// The same, with what it writes in the record of another one.
    #[must_use]
    pub(super) fn with_record_of(self, other: &Self) -> Self {
        let history = Rc::clone(&other.history);
        Self { history, ..self }
    }

    /// What the database is called in answers.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Whether the file may be written: neither the owner nor the machine forbids it.
    pub fn is_writable(&self) -> bool {
        let there = || storage::granted().exists(&self.file, true) == Ok(true);
        !self.settings.readonly && (connection::is_in_memory(&self.file) || there())
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
            .and_then(|connection| self.lenient(connection))
            .and_then(|connection| look(connection).map_err(|error| self.failure(&error, "", 0)));
        self.end(result)
    }

    /// Lets statements of our own meet views with strings in double quotes; the next of a client's
    /// ends it.
    fn lenient<'c>(&self, connection: &'c Connection) -> Result<&'c Connection, Failure> {
        leniency::allow(connection, Leniency::of(Strings::Views))
            .map_err(|error| self.failure(&error, "", 0))?;
        Ok(connection)
    }

    fn unprepared(&self, unprepared: Unprepared, sql: &str, start: usize) -> Failure {
        match unprepared {
            Unprepared::Empty => errors::empty(),
            Unprepared::Nul => errors::nul(),
            Unprepared::Second => match dialect::wrapped(sql) {
                Some(hint) => errors::second().hint(hint),
                None => errors::second(),
            },
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
        if let (None, None, Some(link)) = (&about.interruption, about.denial, &self.link)
            && let Some(failure) = self.of_the_schema(&link.connection, error, sql)
        {
            return failure;
        }
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

    /// The failure for an error that comes from what the schema says, rather than `sql`.
    fn of_the_schema(
        &self,
        connection: &Connection,
        error: &rusqlite::Error,
        sql: &str,
    ) -> Option<Failure> {
        self.authorizer.enter(Mode::Inspect);
        let explained =
            |status| move |it: Explanation| Failure::new(status, it.message).hint(it.hint);
        blame::out_of_step(connection, error, sql)
            .map(explained(Status::InvalidState))
            .or_else(|| blame::explain(connection, error, sql).map(explained(Status::Unsupported)))
            .or_else(|| blame::absent(connection, error, sql).map(explained(Status::NotFound)))
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
        if !open && matches!(&result, Err(failure) if has_failed_to_store(failure.status)) {
            self.roll_back_journal();
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

    /// Rolls back what a write has left that met the end of the disk: SQLite puts that off to whoever reads next, and
    /// who may only read cannot.
    fn roll_back_journal(&self) {
        self.interrupt.mute(true);
        // In vain if the disk fails still; then the journal waits for its reader, and nothing is lost.
        let _ = self.trusted("PRAGMA schema_version");
        self.interrupt.mute(false);
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

/// Whether what was written could not be stored.
fn has_failed_to_store(status: Status) -> bool {
    matches!(status, Status::Full | Status::Io)
}
