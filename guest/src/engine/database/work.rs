//! Statements of our own, and a client's among them, in one transaction: what the commands that
//! read and make files work with.

use rusqlite::{Connection, Statement};

use super::Database;
use crate::answer::failure::{self, Failure};
use crate::answer::output::Output;
use crate::engine::connection::{self, Access};
use crate::engine::guard::authorizer::Mode;
use crate::engine::statement::errors;
use crate::engine::statement::params::Params;
use crate::engine::undo::schema_diff::objects;
use crate::host::interrupt::InterruptCheck;

/// A database in one transaction.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    database: &'a Database,
}

impl Database {
    /// Looks at the database in one read transaction, so that nothing changes meanwhile.
    ///
    /// # Errors
    ///
    /// What `look` says, and whatever SQLite or a budget refuses.
    pub fn look<T>(
        &mut self,
        look: impl FnOnce(Work<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.within(Access::Read, "BEGIN", look)
    }

    /// The same for a look at all rows, whatever their keys need of the program that made the file.
    ///
    /// # Errors
    ///
    /// As for [`Database::look`].
    pub fn look_at_all<T>(
        &mut self,
        look: impl FnOnce(Work<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        // What a shell's transaction has written, its own connection alone sees.
        if self.in_transaction() || connection::is_in_memory(&self.file) {
            return self.look(look);
        }
        // Puts right what another program has left.
        self.inspect(|_| Ok(()))?;
        self.as_source().look(look)
    }

    /// Changes the database in one transaction, all or nothing. `what` names it in the history;
    /// whether it can be undone is said in `output`.
    ///
    /// # Errors
    ///
    /// As for [`Database::look`], and `readonly`; nothing was changed then.
    pub fn change<T>(
        &mut self,
        what: &str,
        output: &mut Output,
        change: impl FnOnce(Work<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if self.settings.readonly {
            return Err(errors::writes("write to the database", &self.settings));
        }
        self.begin(Access::Write)?;
        let result = self.recorded(what, output, |_| {
            self.trusted("BEGIN IMMEDIATE")?;
            let before =
                objects(self.connection()?).map_err(|error| self.failure(&error, "", 0))?;
            let done = change(Work { database: self })?;
            self.after_all(before)?;
            self.trusted("COMMIT").map(|()| done)
        });
        self.end(result)
    }

    /// Lets `replace` overwrite the whole database, outside of a transaction of ours. What the
    /// connection knows of the old one is forgotten then. `what` and `output` as for [`Database::change`].
    ///
    /// # Errors
    ///
    /// What `replace` says, `readonly`, and whatever SQLite or a budget refuses.
    pub fn replace<T>(
        &mut self,
        what: &str,
        output: &mut Output,
        replace: impl FnOnce(&mut Connection, &InterruptCheck) -> rusqlite::Result<T>,
    ) -> Result<T, Failure> {
        if self.settings.readonly {
            return Err(errors::writes("replace the database", &self.settings));
        }
        self.begin(Access::Write)?;
        let recorded = self.is_recorded();
        let followed = if recorded {
            self.record(what, true)
        } else {
            Ok(())
        };
        let result = followed.and_then(|()| {
            self.authorizer.enter(Mode::Trusted);
            let result = match &mut self.link {
                Some(link) => replace(&mut link.connection, &self.interrupt),
                None => Err(rusqlite::Error::InvalidQuery),
            };
            result.map_err(|error| self.failure(&error, "", 0))
        });
        let refused = self.keep().filter(|_| recorded);
        self.describe_writes(output);
        let result = result.map_err(|failure| refused.unwrap_or(failure));
        let result = self.end(result);
        // What is in memory natively would be lost with its connection.
        if !connection::is_in_memory(&self.file)
            && let Some(link) = self.link.take()
        {
            // While it is open, so is a write-ahead log, whose state the record knows.
            if self.open(Access::Write).is_ok() {
                let _ = self.probe();
            }
            drop(link);
        }
        result
    }

    fn within<T>(
        &mut self,
        access: Access,
        begin: &str,
        work: impl FnOnce(Work<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.begin(access)?;
        // The transaction of a shell stays what it is; this is one within it.
        let (begin, commit, undo) = if self.in_transaction() {
            (
                "SAVEPOINT sqlarium_work",
                "RELEASE sqlarium_work",
                "ROLLBACK TO sqlarium_work; RELEASE sqlarium_work",
            )
        } else {
            (begin, "COMMIT", "ROLLBACK")
        };
        let result = self
            .trusted(begin)
            .and_then(|()| work(Work { database: self }))
            .and_then(|done| self.trusted(commit).map(|()| done));
        if result.is_err() && self.keeps && self.in_transaction() {
            self.interrupt.mute(true);
            // What cannot be undone alone is undone with the whole when the connection closes.
            if self.trusted(undo).is_err() {
                self.link = None;
            }
            self.interrupt.mute(false);
        }
        self.end(result)
    }
}

impl<'a> Work<'a> {
    /// The connection, for looks at the schema and statements of our own.
    ///
    /// # Errors
    ///
    /// None that should happen.
    pub fn connection(&self) -> Result<&'a Connection, Failure> {
        self.database.authorizer.enter(Mode::Inspect);
        self.database.connection()
    }

    /// Prepares a statement of our own that reads.
    ///
    /// # Errors
    ///
    /// Whatever SQLite refuses.
    pub fn own(&self, sql: &str) -> Result<Statement<'a>, Failure> {
        self.connection()?
            .prepare(sql)
            .map_err(|error| self.failure(&error, sql))
    }

    /// Prepares a client's statement that reads, its values bound.
    ///
    /// # Errors
    ///
    /// As for [`Database::query`].
    pub fn read(&self, sql: &str, params: &Params) -> Result<Statement<'a>, Failure> {
        let (mut statement, mode) = self.database.prepare(sql, Mode::Read)?;
        if mode == Mode::Read && !statement.readonly() {
            return Err(self.database.would_write(sql));
        }
        params.bind(&mut statement, sql)?;
        self.database.authorizer.run(Mode::Read);
        Ok(statement)
    }

    /// Prepares a statement that writes, under the rules for a client's: it may set off triggers.
    ///
    /// # Errors
    ///
    /// As for [`Database::exec`].
    pub fn write(&self, sql: &str) -> Result<Statement<'a>, Failure> {
        let (statement, _) = self.database.prepare(sql, Mode::Write)?;
        self.database.authorizer.run(Mode::Write);
        Ok(statement)
    }

    /// What the database is called in answers.
    pub fn title(&self) -> &'a str {
        &self.database.title
    }

    /// The interrupt of the running call.
    pub fn interrupt(&self) -> &'a InterruptCheck {
        &self.database.interrupt
    }

    /// The failure for an error of SQLite's on `sql`.
    pub fn failure(&self, error: &rusqlite::Error, sql: &str) -> Failure {
        self.database.failure(error, sql, 0)
    }

    /// The failure for a call that is to stop, if it is.
    pub fn tick(&self) -> Result<(), Failure> {
        if self.database.interrupt.tick() {
            return Err(failure::interrupted(&self.interrupt().halted()));
        }
        Ok(())
    }
}
