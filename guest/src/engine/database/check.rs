//! SQLite's check of a database, as far as it can be done without the program that made the file.

use super::{Access, Database, Role};
use crate::answer::failure::{Failure, Status};
use crate::engine::connection;
use crate::engine::guard::authorizer::{Authorizer, Mode};
use crate::engine::schema::catalogue::{Relation, quote};
use crate::engine::schema::foreign::{self, Need};
use crate::engine::schema::fts::{self, Content};
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
        self.interrupt.phase("checking the file", "row", None);
        let checked =
            self.inspect(
                |connection| match soundness::check(connection, table, pragma, most) {
                    Err(error) if soundness::is_foreign(&error) => Ok(None),
                    sound => sound.map(Some),
                },
            )?;
        if let Some(mut sound) = checked {
            self.compare_text_indexes(table, pragma, &mut sound)?;
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
        self.compare_text_indexes(table, pragma, &mut sound)?;
        Ok(sound)
    }

    /// Compares full-text indexes with the tables that keep their text, which SQLite's check does not do
    /// and FTS5 does only for a statement that writes, though it changes nothing.
    fn compare_text_indexes(
        &mut self,
        table: Option<&Relation>,
        pragma: &str,
        sound: &mut Soundness,
    ) -> Result<(), Failure> {
        if pragma == "quick_check" || self.role != Role::Served {
            return Ok(());
        }
        let indexes = self.inspect(fts::text_indexes)?.0;
        for index in indexes {
            let Content::Table(of) = &index.content else {
                continue;
            };
            if table.is_some_and(|table| table.name != index.name && table.name != *of) {
                continue;
            }
            let name = quote(&index.name);
            let compared = self.begin(Access::Write).and_then(|()| {
                let compared = self.trusted(&format!(
                    "SAVEPOINT compare; INSERT INTO main.{name}({name}, rank) VALUES('integrity-check', 1)"
                ));
                let undone = self.trusted("ROLLBACK TO compare; RELEASE compare");
                self.end(compared.and(undone))
            });
            match compared {
                Ok(()) => {}
                Err(failure) if failure.status == Status::InvalidState => {
                    sound.others.push(format!(
                        "full-text index {} is out of step with {of}; INSERT INTO {name}({name}) \
                         VALUES('rebuild') puts it right",
                        index.name
                    ));
                }
                Err(failure) if failure.status == Status::Interrupted => return Err(failure),
                Err(failure) => sound.unchecked.push(format!(
                    "Full-text index {} was not compared with {of}: {}",
                    index.name, failure.message
                )),
            }
        }
        Ok(())
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
