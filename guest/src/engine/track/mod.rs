//! What a transaction changes, piece by piece: rows, and the schema between them.
//!
//! Rows are recorded by SQLite's session extension ([`session`]), which cannot follow a table
//! through a change of the schema. So what each statement of the schema does is found by comparing
//! the schema before and after it ([`schema`]), and the rows before it and behind it are recorded
//! apart.

pub mod schema;
pub mod session;

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;

use super::authorizer::Seen;
use crate::command::catalogue::{quote, relations};
use schema::{Difference, Object, objects};
use session::{Changeset, Counts, Recorder};

/// One piece of what was done.
#[derive(Clone, Debug)]
pub enum Step {
    /// Rows were changed.
    Rows(Changeset),
    /// The schema was changed.
    Schema {
        /// As it was.
        before: Vec<Object>,
        /// As it is.
        after: Vec<Object>,
    },
}

/// Follows a transaction from statement to statement.
#[derive(Debug)]
pub struct Tracker<'c> {
    connection: &'c Connection,
    recorder: Option<Recorder<'c>>,
    /// The schema before the statement of the schema that runs.
    before: Option<Vec<Object>>,
    steps: Vec<Step>,
    /// Tables that have rows whose primary key is NULL, which are not recorded.
    nameless: BTreeSet<String>,
}

impl<'c> Tracker<'c> {
    /// Starts to follow a transaction.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub fn start(connection: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            connection,
            recorder: None,
            before: None,
            steps: Vec::new(),
            nameless: BTreeSet::new(),
        })
    }

    /// Before a statement runs that was `seen` while it was prepared.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub fn before(&mut self, seen: &Seen) -> rusqlite::Result<()> {
        if seen.ddl {
            self.settle()?;
            self.before = Some(objects(self.connection)?);
            // The foreign keys that lead to a dropped table act on other tables.
            if !seen.drops.is_empty() {
                self.recorder = Some(Recorder::start(self.connection, &seen.drops)?);
            }
        } else {
            self.look_for_nameless(&seen.tables)?;
            if self.recorder.is_none() {
                self.recorder = Some(Recorder::start(self.connection, &BTreeSet::new())?);
            }
        }
        Ok(())
    }

    /// After a statement has run.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub fn after(&mut self, seen: &Seen) -> rusqlite::Result<()> {
        match self.before.take() {
            Some(before) => {
                self.settle()?;
                let after = objects(self.connection)?;
                if before != after {
                    self.steps.push(Step::Schema { before, after });
                }
            }
            None => self.look_for_nameless(&seen.tables)?,
        }
        Ok(())
    }

    /// The steps, in the order in which they were done, and the tables that were not recorded fully.
    ///
    /// # Errors
    ///
    /// SQLite's; `SQLITE_NOMEM` if there was too much to record.
    pub fn finish(mut self) -> rusqlite::Result<(Vec<Step>, BTreeSet<String>)> {
        self.settle()?;
        Ok((self.steps, self.nameless))
    }

    /// Closes the piece of rows that is being recorded.
    fn settle(&mut self) -> rusqlite::Result<()> {
        if let Some(recorder) = self.recorder.take() {
            let changes = recorder.changes()?;
            if !changes.is_empty() {
                self.steps.push(Step::Rows(changes));
            }
        }
        Ok(())
    }

    /// A primary key may be NULL, unless it is that of a STRICT or WITHOUT ROWID table or the
    /// rowid itself, and the session extension passes over such rows.
    fn look_for_nameless(&mut self, tables: &BTreeSet<String>) -> rusqlite::Result<()> {
        for table in tables {
            if self.nameless.contains(table) {
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
                self.nameless.insert(table.clone());
            }
        }
        Ok(())
    }
}

/// What was changed, by table, for a reader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Rows of ordinary tables.
    pub tables: BTreeMap<String, Counts>,
    /// Virtual tables whose own tables were changed: their rows cannot be counted.
    pub virtuals: BTreeSet<String>,
    /// What was made, dropped and altered, over all steps.
    pub schema: Difference,
}

impl Summary {
    /// Sums up the steps of one transaction. The virtual tables and their parts are those that
    /// `parts` knows.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub fn new(steps: &[Step], parts: &Parts) -> rusqlite::Result<Self> {
        let mut summary = Self::default();
        let mut ends: Option<(&[Object], &[Object])> = None;
        for step in steps {
            match step {
                Step::Rows(changes) => {
                    for (table, counts) in changes.counts()? {
                        if let Some(owner) = parts.owner(&table) {
                            summary.virtuals.insert(owner.to_owned());
                        } else {
                            let sum = summary.tables.entry(table).or_default();
                            sum.inserted += counts.inserted;
                            sum.updated += counts.updated;
                            sum.deleted += counts.deleted;
                        }
                    }
                }
                Step::Schema { before, after } => {
                    let first = ends.map_or(before.as_slice(), |(first, _)| first);
                    ends = Some((first, after));
                }
            }
        }
        if let Some((first, last)) = ends {
            summary.schema = Difference::new(first, last);
            let shown = |object: &Object| {
                parts.owner(&object.name).is_none() && parts.owner(&object.table).is_none()
            };
            summary.schema.made.retain(shown);
            summary.schema.dropped.retain(shown);
            summary.schema.altered.retain(|(object, _)| shown(object));
        }
        Ok(summary)
    }

    /// Whether nothing was changed.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.virtuals.is_empty() && self.schema.is_empty()
    }
}

/// The shadow tables of virtual tables.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    owners: BTreeMap<String, String>,
}

impl Parts {
    /// Adds those of the schema as it is now.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub fn look(&mut self, connection: &Connection) -> rusqlite::Result<()> {
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

    /// The virtual table that a table is a part of.
    pub fn owner(&self, table: &str) -> Option<&str> {
        self.owners
            .get(&table.to_ascii_lowercase())
            .map(String::as_str)
    }
}
