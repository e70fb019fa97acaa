//! SQLite's check of a database, as far as it can be done without the program that made the file.

use super::{Access, Database, Role};
use crate::answer::failure::Failure;
use crate::engine::connection;
use crate::engine::guard::authorizer::{Authorizer, Mode};
use crate::engine::schema::catalogue::Relation;
use crate::engine::schema::foreign::{self, Need};
use crate::engine::schema::objects::objects;
use crate::engine::schema::soundness::{self, Soundness};

impl Database {
    /// Checks the whole database, or `table`, by `pragma` (`integrity_check` or `quick_check`); lists
    /// `most` problems at most.
    ///
    /// # Errors
    ///
    /// Whatever SQLite or a budget refuses.
    pub(crate) fn check_soundness(
        &mut self,
        table: Option<&Relation>,
        pragma: &str,
        most: usize,
    ) -> Result<Soundness, Failure> {
        if self.role == Role::Served && !self.settings.readonly {
            // SQLite reads CHECK constraints only then. Without the right to write, the rest is checked.
            let _ = self.begin(Access::Write).and_then(|()| self.end(Ok(())));
        }
        let checked =
            self.inspect(
                |connection| match soundness::check(connection, table, pragma, most) {
                    Err(error) if soundness::is_foreign(&error) => Ok(None),
                    sound => sound.map(Some),
                },
            )?;
        if let Some(sound) = checked {
            return Ok(sound);
        }
        let mut sound = self.inspect(|connection| {
            soundness::check_virtual_tables(connection, table, pragma, most)
        })?;
        if table.is_none_or(|table| table.kind != "virtual") {
            let mut pages = self.in_role(Role::Pages);
            // The same goes for this connection; it writes as little.
            let link = self.link.as_ref();
            pages.layers.readonly_open = link.is_none_or(|link| link.access == Access::Read);
            sound.add(pages.inspect(|connection| {
                soundness::check_without_program(connection, table, pragma, most)
            })?);
        }
        Ok(sound)
    }

    /// What tables and indexes need that only the program has which made the file.
    ///
    /// # Errors
    ///
    /// As for [`Database::check_soundness`].
    pub(crate) fn foreign_needs(&mut self) -> Result<Vec<Need>, Failure> {
        let all = self.inspect(objects)?;
        // Nobody's database, in memory; what is run on it comes from the file.
        let authorizer = Authorizer::new();
        let limits = &self.settings.limits;
        connection::open(None, Access::Write, limits, &authorizer, &self.interrupt)
            .and_then(|scratch| {
                authorizer.enter(Mode::Write);
                foreign::needs(&scratch, &all)
            })
            .map_err(|error| self.failure(&error, "", 0))
    }
}
