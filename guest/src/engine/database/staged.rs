//! A database under construction: it has no name until it is complete.

use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::answer::failure::Failure;
use crate::engine::connection;
use crate::engine::connection::{Access, stand_in};
use crate::engine::guard::authorizer::{Authorizer, Mode};
use crate::engine::statement;
use crate::engine::statement::Unprepared;
use crate::engine::statement::errors;
use crate::engine::statement::errors::ErrorContext;
use crate::engine::vfs::staged;
use crate::host::interrupt::InterruptCheck;
use crate::settings::EngineSettings;
use crate::storage::streams::{Files, Verb};

/// A new database under no name. Dropped unpublished, it is gone.
#[derive(Debug)]
pub struct StagedDatabase {
    settings: Arc<EngineSettings>,
    interrupt: Arc<InterruptCheck>,
    authorizer: Arc<Authorizer>,
    files: Files,
    connection: Connection,
    name: String,
    replace: bool,
}

impl StagedDatabase {
    /// An empty one. What has the name already is replaced only if `replace` says so.
    pub(in crate::engine) fn new(
        name: &str,
        replace: bool,
        settings: &Arc<EngineSettings>,
        interrupt: &Arc<InterruptCheck>,
        files: Files,
    ) -> Result<Self, Failure> {
        // The host knows better than SQLite why a file cannot be created.
        drop(files.write(name, replace)?);
        let authorizer = Authorizer::new();
        let opened = connection::open(
            Some(&staged::path(name)),
            Access::Make,
            &settings.limits,
            &authorizer,
            interrupt,
        )
        .and_then(|connection| {
            // Nobody sees it before it is whole, so there is nothing to undo, which the
            // defensive mode would insist on, and it is brought to the disk once, when
            // it gets its name.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false)?;
            connection.execute_batch(
                "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; \
                 PRAGMA foreign_keys=OFF",
            )?;
            Ok(connection)
        });
        let about = ErrorContext {
            settings,
            title: name,
            sql: "",
            writes: true,
            waited: interrupt.has_waited(),
            start: 0,
            interruption: interrupt.interruption(),
            denial: None,
        };
        let connection = opened.map_err(|error| errors::from_sqlite(&error, &about))?;
        Ok(Self {
            settings: Arc::clone(settings),
            interrupt: Arc::clone(interrupt),
            authorizer,
            files,
            connection,
            name: name.to_owned(),
            replace,
        })
    }

    /// The connection, for statements of our own.
    pub fn connection(&self) -> &Connection {
        self.authorizer.enter(Mode::Trusted);
        &self.connection
    }

    /// The failure for an error of SQLite's.
    pub fn failure(&self, error: &rusqlite::Error) -> Failure {
        let denial = self.authorizer.denial();
        let about = ErrorContext {
            settings: &self.settings,
            title: &self.name,
            sql: "",
            writes: true,
            waited: self.interrupt.has_waited(),
            start: 0,
            interruption: self.interrupt.interruption(),
            denial: denial.as_ref(),
        };
        errors::from_sqlite(error, &about)
    }

    /// Runs statements of our own.
    ///
    /// # Errors
    ///
    /// Whatever SQLite refuses.
    pub fn run(&self, sql: &str) -> Result<(), Failure> {
        self.connection()
            .execute_batch(sql)
            .map_err(|error| self.failure(&error))
    }

    /// Runs one statement of a schema that comes from elsewhere, under the rules for a client's.
    ///
    /// # Errors
    ///
    /// Whatever SQLite or a rule refuses.
    pub fn schema(&self, sql: &str) -> Result<(), Failure> {
        self.authorizer.enter(Mode::Write);
        let statement = statement::of_file(&self.connection, sql, &self.authorizer);
        let mut statement = statement.map_err(|unprepared| match unprepared {
            Unprepared::Empty => errors::empty(),
            Unprepared::Nul => errors::nul(),
            Unprepared::Second => errors::second(),
            Unprepared::Sqlite(error) => self.failure(&error),
        })?;
        self.authorizer.run(Mode::Write);
        statement
            .raw_execute()
            .map(drop)
            .map_err(|error| self.failure(&error))
    }

    /// From now on it is only read, whatever its schema needs of the program that made the file.
    ///
    /// # Errors
    ///
    /// None that SQLite documents.
    pub fn only_read(&self) -> Result<(), Failure> {
        let connection = self.connection();
        stand_in::no_modules(connection);
        connection
            .execute_batch("PRAGMA query_only=ON")
            .and_then(|()| stand_in::collations(connection))
            .map_err(|error| self.failure(&error))
    }

    /// Lets `fill` write the whole of it.
    ///
    /// # Errors
    ///
    /// Whatever SQLite refuses.
    pub fn fill<T>(
        &mut self,
        fill: impl FnOnce(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Failure> {
        self.authorizer.enter(Mode::Trusted);
        fill(&mut self.connection).map_err(|error| self.failure(&error))
    }

    /// Gives it its name.
    ///
    /// # Errors
    ///
    /// As for [`Files::write`]; it is gone then.
    pub fn publish(self) -> Result<(), Failure> {
        staged::publish(&self.connection, self.replace)
            .map_err(|code| self.files.refusal(&self.name, Verb::Write, code))
    }
}
