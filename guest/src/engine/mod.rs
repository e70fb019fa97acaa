//! SQLite: connections, guards, values, budgets.
//!
//! - [`database`]: one database file; opens it, upgrades it, runs statements on it.
//! - [`connection`]: what is fixed on a connection before a client's SQL is seen.
//! - [`authorizer`], [`pragma`]: what each action of a statement may do.
//! - [`statement`], [`params`], [`value`]: one statement, its values in and out.
//! - [`functions`]: the SQL functions that SQLite itself is without.
//! - [`vector`]: vectors in columns, and the functions and tables of sqlite-vec.
//! - [`pulse`]: the budgets of time and work, cancellation, progress.
//! - [`track`], [`history`]: what a transaction changes, for a dry run and to take it back.
//! - [`failure`], [`lookup`]: errors as sentences to act on, with what may have been meant.

pub mod authorizer;
pub mod connection;
pub mod database;
pub mod failure;
mod functions;
pub mod history;
pub mod lookup;
pub mod params;
pub mod plan;
pub mod pragma;
pub mod pulse;
pub mod statement;
pub mod text;
pub mod track;
pub mod value;
pub mod vector;
pub mod vfs;

use std::collections::HashMap;
use std::sync::Arc;

use database::Database;
use pulse::Pulse;

use crate::command::status::{Failure, Status};
use crate::host::Host;
use crate::notes::Notes;
use crate::settings::Settings;

/// How many databases below the root stay open at once.
const OPEN_DATABASES: usize = 8;

/// The databases of one session. Opens nothing until asked.
#[derive(Debug)]
pub struct Engine {
    settings: Arc<Settings>,
    pulse: Arc<Pulse>,
    served: Database,
    notes: Notes,
    others: HashMap<String, Database>,
}

impl Engine {
    /// An engine for what the owner chose; it opens nothing yet.
    pub fn new(settings: &Settings, host: &'static dyn Host) -> Self {
        let settings = Arc::new(settings.clone());
        let pulse = Arc::new(Pulse::new(host));
        let served = Database::served(&settings, &pulse);
        // Whether they can be read was said at the start.
        let notes = Notes::read(&settings.notes).unwrap_or_default();
        Self {
            settings,
            pulse,
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
                    "This session has one database, {}, and cannot open {name}.",
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
        Ok(self
            .others
            .entry(name.to_owned())
            .or_insert_with(|| Database::named(name, &self.settings, &self.pulse)))
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

    /// The pulse of the running call.
    pub fn pulse(&self) -> &Pulse {
        &self.pulse
    }
}

#[cfg(test)]
mod tests;
