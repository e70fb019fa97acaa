//! The record of what a session writes, so that it can be undone (`--undo`).
//!
//! It is a database of its own in the host's memory, which outlives an aborted instance. An
//! entry is written before the commit that it describes and confirmed behind it, so that what was
//! aborted in between is known to be in doubt.

use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};

use super::Step;
use super::changeset::Changeset;
use super::inverse::Inverse;
use super::saved::Saved;

/// How far an entry has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryState {
    /// Recorded, and perhaps committed.
    InDoubt,
    /// Committed.
    Done,
    /// About to be undone, and perhaps undone.
    Undoing,
    /// Taken back.
    Undone,
}

impl EntryState {
    const ALL: [Self; 4] = [Self::InDoubt, Self::Done, Self::Undoing, Self::Undone];

    /// The word that stands in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::InDoubt => "aborted",
            Self::Done => "done",
            Self::Undoing => "aborted during undo",
            Self::Undone => "undone",
        }
    }
}

/// One write of the session.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its number, from 1.
    pub number: i64,
    /// When it was made, in UTC.
    pub at: String,
    /// The command that made it.
    pub command: String,
    /// The beginning of its SQL.
    pub sql: String,
    /// What it changed, for a reader.
    pub summary: String,
    /// Why it is irreversible, if it is.
    pub irreversible: Option<String>,
    /// How far it has come.
    pub state: EntryState,
}

/// A write that is to be recorded.
#[derive(Clone, Debug)]
pub(crate) struct NewEntry<'a> {
    /// The database, by its title.
    pub database: &'a str,
    /// The command.
    pub command: &'a str,
    /// The beginning of its SQL.
    pub sql: &'a str,
    /// What it changed.
    pub summary: &'a str,
    /// Why it is irreversible, if it is.
    pub irreversible: Option<&'a str>,
}

/// The record.
#[derive(Debug)]
pub(crate) struct History {
    connection: Connection,
    /// How many bytes it may take.
    room: u64,
}

/// A step as it is written, less what lies beside it.
#[derive(Serialize, Deserialize)]
enum Written {
    Rows {
        columns: Vec<(String, Vec<String>)>,
    },
    Schema {
        before: Vec<super::schema_diff::Object>,
        after: Vec<super::schema_diff::Object>,
        inverse: Inverse,
        saved: Vec<Head>,
    },
    Statistics {
        before: Vec<Head>,
        after: Vec<Head>,
        alone: bool,
    },
}

/// Saved rows, less the rows: the table, its columns, its sequence.
type Head = (String, Vec<String>, Option<i64>);

fn heads(all: &[Saved]) -> Vec<Head> {
    let head = |saved: &Saved| (saved.table.clone(), saved.columns.clone(), saved.sequence);
    all.iter().map(head).collect()
}

/// The first of `parts` are the rows.
fn whole(heads: Vec<Head>, parts: &mut impl Iterator<Item = Vec<u8>>) -> Vec<Saved> {
    heads
        .into_iter()
        .zip(parts)
        .map(|((table, columns, sequence), bytes)| Saved {
            table,
            columns,
            bytes,
            sequence,
        })
        .collect()
}

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS entry(
        number INTEGER PRIMARY KEY AUTOINCREMENT, database TEXT, at TEXT, command TEXT, sql TEXT,
        summary TEXT, beyond TEXT, state INTEGER, bytes INTEGER);
    CREATE TABLE IF NOT EXISTS piece(
        entry INTEGER, step INTEGER, part INTEGER, data BLOB, PRIMARY KEY (entry, step, part));
    CREATE TABLE IF NOT EXISTS lost(entries INTEGER);";

impl History {
    /// Opens the record called `name`, which may hold no more than `room` bytes.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn open(name: &str, room: u64) -> rusqlite::Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(name, flags)?;
        // What is dropped is given back, since the record counts against the owner's budget.
        connection.execute_batch("PRAGMA auto_vacuum = FULL")?;
        connection.execute_batch(TABLES)?;
        Ok(Self { connection, room })
    }

    /// Records a write that is about to be committed; answers its number, and how many older ones
    /// were dropped for it.
    ///
    /// # Errors
    ///
    /// SQLite's; nothing is recorded then.
    pub(crate) fn add(&self, draft: &NewEntry<'_>, steps: &[Step]) -> rusqlite::Result<(i64, u64)> {
        let transaction = self.connection.unchecked_transaction()?;
        transaction.execute(
            "INSERT INTO entry(database, at, command, sql, summary, beyond, state, bytes) \
             VALUES(?1, strftime('%Y-%m-%dT%H:%M:%SZ'), ?2, ?3, ?4, ?5, 0, 0)",
            params![
                draft.database,
                draft.command,
                draft.sql,
                draft.summary,
                draft.irreversible
            ],
        )?;
        let number = transaction.last_insert_rowid();
        let mut bytes = 0;
        let mut put = |step: usize, part: usize, data: &[u8]| {
            bytes += data.len() as u64;
            transaction
                .execute(
                    "INSERT INTO piece VALUES(?1, ?2, ?3, ?4)",
                    params![number, step as i64, part as i64, data],
                )
                .map(drop)
        };
        for (at, step) in steps
            .iter()
            .enumerate()
            .filter(|_| draft.irreversible.is_none())
        {
            match step {
                Step::Rows { changes, columns } => {
                    let written = Written::Rows {
                        columns: columns.clone(),
                    };
                    put(at, 0, &json(&written))?;
                    put(at, 1, changes.bytes())?;
                }
                Step::Schema {
                    before,
                    after,
                    inverse,
                    saved,
                    ..
                } => {
                    let Some(Ok(inverse)) = inverse else { continue };
                    let written = Written::Schema {
                        before: before.clone(),
                        after: after.clone(),
                        inverse: inverse.clone(),
                        saved: heads(saved),
                    };
                    put(at, 0, &json(&written))?;
                    for (part, saved) in saved.iter().enumerate() {
                        put(at, part + 1, &saved.bytes)?;
                    }
                }
                Step::Statistics {
                    before,
                    after,
                    alone,
                } => {
                    let written = Written::Statistics {
                        before: heads(before),
                        after: heads(after),
                        alone: *alone,
                    };
                    put(at, 0, &json(&written))?;
                    for (part, saved) in before.iter().chain(after).enumerate() {
                        put(at, part + 1, &saved.bytes)?;
                    }
                }
            }
        }
        transaction.execute(
            "UPDATE entry SET bytes = ?2 WHERE number = ?1",
            params![number, bytes as i64],
        )?;
        let mut dropped = 0;
        loop {
            let all: i64 = transaction.query_row("SELECT total(bytes) FROM entry", [], |row| {
                row.get::<_, f64>(0)
            })? as i64;
            if all.unsigned_abs() <= self.room {
                break;
            }
            let oldest: Option<i64> = transaction.query_row(
                "SELECT min(number) FROM entry WHERE number < ?1",
                [number],
                |row| row.get(0),
            )?;
            let Some(oldest) = oldest else { break };
            transaction.execute("DELETE FROM piece WHERE entry = ?1", [oldest])?;
            transaction.execute("DELETE FROM entry WHERE number = ?1", [oldest])?;
            dropped += 1;
        }
        if dropped > 0 {
            transaction.execute("INSERT INTO lost VALUES(?1)", [dropped as i64])?;
        }
        transaction.commit()?;
        Ok((number, dropped))
    }

    /// Moves an entry on.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn mark(&self, number: i64, state: EntryState) -> rusqlite::Result<()> {
        self.connection.execute(
            "UPDATE entry SET state = ?2 WHERE number = ?1",
            params![number, state as i64],
        )?;
        if state == EntryState::Undone {
            self.connection
                .execute("DELETE FROM piece WHERE entry = ?1", [number])?;
        }
        Ok(())
    }

    /// Marks an entry as irreversible, with the reason.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn mark_irreversible(&self, number: i64, why: &str) -> rusqlite::Result<()> {
        self.connection
            .execute(
                "UPDATE entry SET beyond = ?2 WHERE number = ?1",
                params![number, why],
            )
            .map(drop)
    }

    /// Forgets an entry that came to nothing.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn forget(&self, number: i64) -> rusqlite::Result<()> {
        self.connection
            .execute("DELETE FROM piece WHERE entry = ?1", [number])?;
        self.connection
            .execute("DELETE FROM entry WHERE number = ?1", [number])
            .map(drop)
    }

    /// The latest entries of a database, the latest first.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn list(&self, database: &str, most: u32) -> rusqlite::Result<Vec<Entry>> {
        let mut statement = self.connection.prepare(&format!(
            "{ENTRIES} WHERE database = ?1 ORDER BY number DESC LIMIT ?2"
        ))?;
        statement
            .query_map(params![database, most], entry)?
            .collect()
    }

    /// How many entries were dropped because the record was full.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn dropped(&self) -> rusqlite::Result<u64> {
        self.connection
            .query_row("SELECT coalesce(sum(entries), 0) FROM lost", [], |row| {
                row.get::<_, i64>(0).map(i64::unsigned_abs)
            })
    }

    /// The last entry of a database that was not undone.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn last(&self, database: &str) -> rusqlite::Result<Option<Entry>> {
        self.connection
            .query_row(
                &format!(
                    "{ENTRIES} WHERE database = ?1 AND state <> ?2 ORDER BY number DESC LIMIT 1"
                ),
                params![database, EntryState::Undone as i64],
                entry,
            )
            .optional()
    }

    /// The steps of an entry, in the order in which they were done.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn steps(&self, number: i64) -> rusqlite::Result<Vec<Step>> {
        let mut statement = self
            .connection
            .prepare("SELECT step, part, data FROM piece WHERE entry = ?1 ORDER BY step, part")?;
        let mut rows = statement.query([number])?;
        let mut steps: Vec<(Written, Vec<Vec<u8>>)> = Vec::new();
        while let Some(row) = rows.next()? {
            let data: Vec<u8> = row.get(2)?;
            if row.get::<_, i64>(1)? == 0 {
                let written =
                    serde_json::from_slice(&data).map_err(|_| rusqlite::Error::InvalidQuery)?;
                steps.push((written, Vec::new()));
            } else if let Some((_, parts)) = steps.last_mut() {
                parts.push(data);
            }
        }
        let step = |(written, parts): (Written, Vec<Vec<u8>>)| {
            let mut parts = parts.into_iter();
            match written {
                Written::Rows { columns } => Step::Rows {
                    changes: Changeset::from(parts.next().unwrap_or_default()),
                    columns,
                },
                Written::Schema {
                    before,
                    after,
                    inverse,
                    saved,
                } => Step::Schema {
                    before,
                    after,
                    inverse: Some(Ok(inverse)),
                    saved: whole(saved, &mut parts),
                    lost: Vec::new(),
                },
                Written::Statistics {
                    before,
                    after,
                    alone,
                } => Step::Statistics {
                    before: whole(before, &mut parts),
                    after: whole(after, &mut parts),
                    alone,
                },
            }
        };
        Ok(steps.into_iter().map(step).collect())
    }
}

const ENTRIES: &str = "SELECT number, at, command, sql, summary, beyond, state FROM entry";

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let state: i64 = row.get(6)?;
    let state = usize::try_from(state)
        .ok()
        .and_then(|at| EntryState::ALL.get(at));
    Ok(Entry {
        number: row.get(0)?,
        at: row.get(1)?,
        command: row.get(2)?,
        sql: row.get(3)?,
        summary: row.get(4)?,
        irreversible: row.get(5)?,
        state: state.copied().unwrap_or(EntryState::Done),
    })
}

fn json(written: &Written) -> Vec<u8> {
    serde_json::to_vec(written).unwrap_or_default()
}
