//! What a transaction changes, piece by piece: rows, and the schema between them.
//!
//! Rows are recorded by SQLite's session extension ([`changeset`]), which cannot follow a table
//! through a change of the schema. So what each statement of the schema does is found by comparing
//! the schema before and after it ([`schema_diff`]), and the rows before it and behind it are recorded
//! apart. How to revert a schema change is decided when it is made ([`inverse`]), and the
//! rows that go with it are saved before ([`saved`]). What all of it comes to is a [`Summary`].

pub(crate) mod changeset;
pub(crate) mod history;
pub(crate) mod inverse;
pub(crate) mod references;
pub(crate) mod saved;
pub(crate) mod schema_diff;
pub(crate) mod statistics;
mod summary;

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;

use self::changeset::{Changeset, Recorder};
use self::inverse::{Inverse, SchemaChange};
use self::saved::Saved;
use self::schema_diff::{Difference, Object, objects};
pub(crate) use self::summary::Summary;
use super::guard::authorizer::Observed;
use super::schema::catalogue::{quote, relations};
use crate::text::scan;

/// One piece of what was done.
#[derive(Debug)]
pub(crate) enum Step {
    /// Rows were changed.
    Rows {
        /// Which and how.
        changes: Changeset,
        /// The columns that their tables had then; empty if it is not to be undone.
        columns: Vec<(String, Vec<String>)>,
    },
    /// The schema was changed.
    Schema {
        /// As it was.
        before: Vec<Object>,
        /// As it is.
        after: Vec<Object>,
        /// How to revert it, or why it is irreversible; none if it is not to be undone.
        inverse: Option<Result<Inverse, String>>,
        /// The rows that it needs for that.
        saved: Vec<Saved>,
        /// How many rows the tables had that it dropped.
        lost: Vec<(String, u64)>,
    },
    /// What the query planner goes by was changed.
    Statistics {
        /// As it was.
        before: Vec<Saved>,
        /// As it is.
        after: Vec<Saved>,
        /// Whether nothing else was changed with it.
        alone: bool,
    },
}

/// Follows a transaction from statement to statement.
#[derive(Debug)]
pub(crate) struct Tracker<'c> {
    connection: &'c Connection,
    recorder: Option<Recorder<'c>>,
    /// What was there before the statement of the schema that runs.
    before: Option<Before>,
    steps: Vec<Step>,
    /// How many bytes of rows may be saved, if all is to be undone one day.
    room: Option<u64>,
    /// Tables that have rows whose primary key is NULL, which are not recorded.
    null_keys: BTreeSet<String>,
}

/// What was there before a statement of the schema.
#[derive(Debug, Default)]
struct Before {
    objects: Vec<Object>,
    statistics: Vec<Saved>,
    /// How many rows the tables have that it drops.
    lost: Vec<(String, u64)>,
    /// The rows that taking it back will need.
    saved: Vec<Saved>,
    /// The columns of the tables that it alters.
    columns: Vec<(String, Vec<String>)>,
    /// Why it is irreversible, if that is known before it runs.
    irreversible: Option<String>,
}

impl<'c> Tracker<'c> {
    /// Starts to track a transaction; with `room`, so that it can be undone.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn start(connection: &'c Connection, room: Option<u64>) -> rusqlite::Result<Self> {
        // Before anything is prepared: SQLite leaves ways open then to delete all rows unseen.
        let recorder = Recorder::start(connection, &BTreeSet::new())?;
        Ok(Self {
            connection,
            recorder: Some(recorder),
            before: None,
            steps: Vec::new(),
            room,
            null_keys: BTreeSet::new(),
        })
    }

    /// Before a statement runs that was `seen` while it was prepared; `sql` starts with it.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn before(&mut self, seen: &Observed, sql: &str) -> rusqlite::Result<()> {
        if seen.ddl {
            self.settle()?;
            self.before = Some(self.look(seen, sql)?);
            // The foreign keys that lead to a dropped table act on other tables.
            if !seen.drops.is_empty() {
                let mut except = seen.drops.clone();
                except.extend(statistics::TABLES.map(str::to_owned));
                self.recorder = Some(Recorder::start(self.connection, &except)?);
            }
        } else {
            self.find_null_keys(&seen.tables)?;
        }
        Ok(())
    }

    /// After a statement has run.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn after(&mut self, seen: &Observed, parts: &Parts) -> rusqlite::Result<()> {
        let Some(before) = self.before.take() else {
            return self.find_null_keys(&seen.tables);
        };
        self.settle()?;
        self.recorder = Some(Recorder::start(self.connection, &BTreeSet::new())?);
        let after = objects(self.connection)?;
        let alone = before.objects == after;
        if !alone {
            let inverse = match (self.room, &before.irreversible) {
                (None, _) => None,
                (Some(_), Some(why)) => Some(Err(why.clone())),
                (Some(_), None) => Some(self.inverse(&before, &after, seen, parts)?),
            };
            self.steps.push(Step::Schema {
                before: before.objects,
                after,
                inverse,
                saved: before.saved,
                lost: before.lost,
            });
        }
        let after = statistics::of(self.connection)?;
        if before.statistics != after {
            self.steps.push(Step::Statistics {
                before: before.statistics,
                after,
                alone,
            });
        }
        Ok(())
    }

    /// The steps, in the order in which they were done, and the tables that were not recorded fully.
    ///
    /// # Errors
    ///
    /// SQLite's; `SQLITE_NOMEM` if there was too much to record.
    pub(crate) fn finish(mut self) -> rusqlite::Result<(Vec<Step>, BTreeSet<String>)> {
        self.settle()?;
        Ok((self.steps, self.null_keys))
    }

    /// Closes the piece of rows that is being recorded.
    fn settle(&mut self) -> rusqlite::Result<()> {
        if let Some(recorder) = self.recorder.take() {
            let changes = recorder.changes()?;
            if !changes.is_empty() {
                let mut columns = Vec::new();
                if self.room.is_some() {
                    for table in changes.counts()?.into_keys() {
                        let names = inverse::columns(self.connection, &table)?;
                        columns.push((table, names));
                    }
                }
                self.steps.push(Step::Rows { changes, columns });
            }
        }
        Ok(())
    }

    /// Looks at what a statement of the schema is about to change, and saves what taking it back
    /// will need.
    fn look(&self, seen: &Observed, sql: &str) -> rusqlite::Result<Before> {
        let mut before = Before {
            objects: objects(self.connection)?,
            statistics: statistics::of(self.connection)?,
            ..Before::default()
        };
        let stored = |table: &str| -> rusqlite::Result<bool> {
            self.connection.query_row(
                "SELECT count(*) > 0 FROM pragma_table_list \
                 WHERE schema = 'main' AND type = 'table' AND name = ?1",
                [table],
                |row| row.get(0),
            )
        };
        for table in &seen.drops {
            if stored(table)? {
                let sql = format!("SELECT count(*) FROM main.{}", quote(table));
                let rows: i64 = self.connection.query_row(&sql, [], |row| row.get(0))?;
                before.lost.push((table.clone(), rows.unsigned_abs()));
            }
        }
        let Some(room) = self.room else {
            return Ok(before);
        };
        for table in &seen.alters {
            let names = inverse::columns(self.connection, table)?;
            before.columns.push((table.clone(), names));
        }
        // What is saved in vain does no harm, so the text may say whether a column is dropped.
        let drops_column = scan::words(sql).any(|word| word == "drop");
        let altered = seen.alters.iter().filter(|_| drops_column);
        for table in seen.drops.iter().chain(altered) {
            if !stored(table)? {
                continue;
            }
            match Saved::new(self.connection, table, room)? {
                Some(saved) => before.saved.push(saved),
                None => {
                    before.irreversible = Some(format!(
                        "the rows of {table} take more than the {room} bytes kept for one write"
                    ));
                }
            }
        }
        Ok(before)
    }

    fn inverse(
        &self,
        before: &Before,
        after: &[Object],
        seen: &Observed,
        parts: &Parts,
    ) -> rusqlite::Result<Result<Inverse, String>> {
        let change = Difference::new(&before.objects, after);
        let saved: Vec<String> = before
            .saved
            .iter()
            .map(|saved| saved.table.clone())
            .collect();
        let deed = SchemaChange {
            alters: &seen.alters,
            columns: &before.columns,
            saved: &saved,
        };
        // Those that the statement made are parts, too.
        let mut parts = parts.clone();
        parts.look(self.connection)?;
        Inverse::new(self.connection, &change, &deed, &parts)
    }

    /// A primary key may be NULL, unless it is that of a STRICT or WITHOUT ROWID table or the
    /// rowid itself, and the session extension passes over such rows.
    fn find_null_keys(&mut self, tables: &BTreeSet<String>) -> rusqlite::Result<()> {
        for table in tables {
            if self.null_keys.contains(table) {
                continue;
            }
            let mut statement = self.connection.prepare(
                "SELECT name FROM pragma_table_xinfo(?1, 'main') WHERE pk > 0 AND \"notnull\" = 0",
            )?;
            let keys: Vec<String> = statement
                .query_map([table], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            if keys.is_empty() {
                continue;
            }
            let nulls: Vec<String> = keys
                .iter()
                .map(|key| format!("{} IS NULL", quote(key)))
                .collect();
            let sql = format!(
                "SELECT EXISTS (SELECT 1 FROM main.{} WHERE {})",
                quote(table),
                nulls.join(" OR ")
            );
            // A table of that name may be in temp alone.
            let found = self.connection.query_row(&sql, [], |row| row.get(0));
            if found.unwrap_or(false) {
                self.null_keys.insert(table.clone());
            }
        }
        Ok(())
    }
}

/// The shadow tables of virtual tables.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts {
    owners: BTreeMap<String, String>,
}

impl Parts {
    /// Adds those of the schema as it is now.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn look(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let all = relations(connection)?;
        let virtuals = || all.iter().filter(|table| table.kind == "virtual");
        for shadow in all
            .iter()
            .filter(|table| table.kind == "shadow" && table.schema == "main")
        {
            let owner = virtuals()
                .filter(|table| {
                    shadow
                        .name
                        .strip_prefix(table.name.as_str())
                        .is_some_and(|rest| rest.starts_with('_'))
                })
                .max_by_key(|table| table.name.len());
            if let Some(owner) = owner {
                self.owners
                    .insert(shadow.name.to_ascii_lowercase(), owner.name.clone());
            }
        }
        Ok(())
    }

    /// Adds those that others know.
    pub(crate) fn add(&mut self, others: Self) {
        self.owners.extend(others.owners);
    }

    /// The virtual table that a table is a part of.
    pub(crate) fn owner(&self, table: &str) -> Option<&str> {
        self.owners
            .get(&table.to_ascii_lowercase())
            .map(String::as_str)
    }
}
