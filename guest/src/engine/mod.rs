//! SQLite: connections, guards, values, budgets.
//!
//! - [`database`]: one database; opens it, upgrades it, runs statements on it.
//! - [`connection`]: what is fixed on a connection before a client's SQL is seen; functions of our own.
//! - [`guard`]: what each action of a statement may do.
//! - [`statement`]: one statement, its values in and out, its errors.
//! - [`schema`]: the schema, as queries of our own see it.
//! - [`undo`]: what a transaction changes, for a dry run and to undo it.
//! - [`vfs`]: SQLite's files over [`crate::storage`]. `libc`: functions that SQLite's C code calls.

pub(crate) mod connection;
pub(crate) mod database;
pub(crate) mod guard;
// Natively the C library's own are faster.
#[cfg(any(target_family = "wasm", test))]
mod libc;
pub(crate) mod schema;
pub mod statement;
pub(crate) mod undo;
pub mod vfs;

use std::collections::HashMap;
use std::sync::Arc;

use self::database::staged::StagedDatabase;
use crate::host::interrupt::InterruptCheck;
use database::Database;

use crate::answer::failure::{Failure, Status};
use crate::host::Host;
use crate::settings::notes::Notes;
use crate::settings::{EngineSettings, OutputLimits};
use crate::storage;
use crate::storage::streams::Files;

/// How many databases below the root stay open at once.
const OPEN_DATABASES: usize = 8;

/// The databases of one session. Opens nothing until asked.
#[derive(Debug)]
pub struct Engine {
    settings: Arc<EngineSettings>,
    output: OutputLimits,
    interrupt: Arc<InterruptCheck>,
    served: Database,
    notes: Notes,
    others: HashMap<String, Database>,
}

impl Engine {
    /// An engine for what the owner chose; it opens nothing yet.
    pub fn new(settings: &EngineSettings, output: OutputLimits, host: &'static dyn Host) -> Self {
        let settings = Arc::new(settings.clone());
        let interrupt = Arc::new(InterruptCheck::new(host));
        let served = Database::served(&settings, output, &interrupt);
        // Whether they can be read was reported at the start.
        let notes = Notes::read(&settings.notes).unwrap_or_default();
        Self {
            settings,
            output,
            interrupt,
            served,
            notes,
            others: HashMap::new(),
        }
    }

    /// The database named by `db`; `None` is the served one. It is opened when it is first used.
    ///
    /// # Errors
    ///
    /// `unsupported` if the owner granted no root to look for `db` in, `not_found` if the name cannot be one below it.
    pub fn database(&mut self, db: Option<&str>) -> Result<&mut Database, Failure> {
        let Some(name) = db else {
            return Ok(&mut self.served);
        };
        if self.serves(Some(name)) {
            return Ok(&mut self.served);
        }
        if !self.settings.root {
            return Err(Failure::new(
                Status::Unsupported,
                format!(
                    "This session has only the database {} and cannot open {name}.",
                    self.settings.title
                ),
            )
            .hint("Leave db out. Only a server started with --root can open others."));
        }
        let apart = name.starts_with('/')
            || name.contains(['\\', '\0'])
            || name
                .split('/')
                .any(|part| part.is_empty() || part == "." || part == "..");
        if apart {
            return Err(Failure::new(
                Status::NotFound,
                format!("{name:?} is not a path below the server's root."),
            )
            .hint("Give a relative path, such as \"shop.db\" or \"archive/2025.db\"."));
        }
        if !self.others.contains_key(name) && self.others.len() >= OPEN_DATABASES {
            // Any of them can be opened again.
            self.others.clear();
        }
        Ok(self.others.entry(name.to_owned()).or_insert_with(|| {
            Database::named(name, &self.settings, self.output, &self.interrupt)
                .with_record_of(&self.served)
        }))
    }

    /// The plain files.
    pub fn files(&self) -> Files {
        Files::new(
            Arc::clone(&self.settings),
            Arc::clone(&self.interrupt),
            storage::granted(),
        )
    }

    /// A new database, to be filled and then published as `name`, a path. What has the
    /// name already is replaced only if `replace` says so.
    ///
    /// # Errors
    ///
    /// As for [`Files::write`].
    pub fn staged_database(&self, name: &str, replace: bool) -> Result<StagedDatabase, Failure> {
        StagedDatabase::new(name, replace, &self.settings, &self.interrupt, self.files())
    }

    /// Whether `db` means the served database.
    pub fn serves(&self, db: Option<&str>) -> bool {
        db.is_none_or(|name| name == self.settings.title || name == self.settings.database)
    }

    /// The owner's notes on the database named by `db`; there are some on the served one only.
    pub fn notes(&self, db: Option<&str>) -> Notes {
        if self.serves(db) {
            self.notes.clone()
        } else {
            Notes::default()
        }
    }

    /// Another database, to be read from: a file below the root, or one that the command line names.
    /// It is opened when it is first used.
    ///
    /// # Errors
    ///
    /// `invalid_state` if it is the served one.
    pub fn source(&self, name: &str) -> Result<Database, Failure> {
        if name == self.settings.title || name == self.settings.database {
            return Err(Failure::new(
                Status::InvalidState,
                format!("{name} is the served database itself."),
            )
            .hint("Name another file."));
        }
        if name.is_empty() || vfs::staged::is_reserved(name) {
            return Err(Failure::new(
                Status::NotFound,
                format!("There is no file {name:?}."),
            ));
        }
        let named = Database::named(name, &self.settings, self.output, &self.interrupt);
        Ok(named.as_source())
    }

    /// What happened to the files of the databases that a reader has to know; told once.
    pub fn news(&mut self) -> Vec<String> {
        let others = self.others.values_mut().flat_map(Database::news);
        self.served.news().into_iter().chain(others).collect()
    }

    /// The interrupt of the running call.
    pub fn interrupt(&self) -> &InterruptCheck {
        &self.interrupt
    }
}

#[cfg(test)]
mod tests;
