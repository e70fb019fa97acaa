//! What a session has written, and the pages that take it back.
//!
//! It is a database of its own in the host's memory, which outlives an instance that is cut off.

use std::cell::Cell;

use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params};

use super::capture::{Images, Irreversible, Page};

/// One write of the session.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its number, from 1.
    pub number: i64,
    /// The database, by its title.
    pub database: String,
    /// When it was made, in UTC.
    pub at: String,
    /// The command that made it.
    pub command: String,
    /// The beginning of its SQL.
    pub sql: String,
    /// What it changed, for a reader.
    pub summary: String,
    /// Why it cannot be undone, if it cannot.
    pub irreversible: Option<Irreversible>,
    /// Whether it was undone.
    pub undone: bool,
    /// Whether somebody else has written between the write before and this one.
    pub apart: bool,
}

/// A write that is to be kept.
#[derive(Clone, Debug)]
pub(crate) struct NewEntry<'a> {
    /// The database, by its title.
    pub database: &'a str,
    /// The command.
    pub command: &'a str,
    /// The beginning of its SQL.
    pub sql: &'a str,
}

/// What undo holds.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// Writes that can be undone.
    pub writes: u64,
    /// Bytes of the pages that are kept for that.
    pub bytes: u64,
    /// How many they may be.
    pub room: u64,
}

/// The writes.
#[derive(Debug)]
pub(crate) struct History {
    pub(super) connection: Connection,
    /// How many bytes of pages it may hold.
    room: u64,
    /// How many it holds, where that is known.
    bytes: Cell<Option<u64>>,
}

// Pages of 32 KiB hold seven of the usual 4 KiB each. There is no other connection, and what was
// written is there, whatever becomes of the instance.
const TABLES: &str = "
    PRAGMA page_size = 32768; PRAGMA auto_vacuum = FULL;
    PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = OFF;
    CREATE TABLE IF NOT EXISTS entry(
        number INTEGER PRIMARY KEY, database TEXT, at TEXT, command TEXT, sql TEXT,
        summary TEXT DEFAULT 'the call was aborted before it was counted', irreversible TEXT, undone INTEGER DEFAULT 0, bytes INTEGER, page_size INTEGER,
        count_before INTEGER, count_after INTEGER, cookie INTEGER, state_before INTEGER, state_after INTEGER,
        undoing_from INTEGER, undoing_to INTEGER);
    CREATE INDEX IF NOT EXISTS undoing ON entry(database) WHERE undoing_to IS NOT NULL;
    CREATE TABLE IF NOT EXISTS page(
        entry INTEGER, number INTEGER, after INTEGER, before BLOB, PRIMARY KEY (entry, number))
        WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS dropped(entries INTEGER);";

/// Begins a query of [`Entry`]s.
pub(super) const ENTRIES: &str =
    "SELECT number, database, at, command, sql, summary, irreversible, undone, 0 FROM entry";

impl History {
    /// Opens the file called `name`, for no more than `room` bytes of pages.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn open(name: &str, room: u64) -> rusqlite::Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(name, flags)?;
        connection.execute_batch(TABLES)?;
        Ok(Self {
            connection,
            room,
            bytes: Cell::default(),
        })
    }

    /// Keeps a write that is about to be committed and leads from one state to another; answers its
    /// number, and how many older ones were dropped for it.
    ///
    /// # Errors
    ///
    /// SQLite's; nothing is kept then.
    pub(crate) fn add(
        &self,
        draft: &NewEntry<'_>,
        (from, to): (u64, u64),
        written: &Result<Images, Irreversible>,
    ) -> rusqlite::Result<(i64, u64)> {
        let transaction = self.connection.unchecked_transaction()?;
        self.look(draft.database, from)?;
        let none = Images::default();
        let (images, irreversible) = match written {
            Ok(images) => (images, None),
            Err(why) => (&none, Some(why)),
        };
        let sizes = images.pages.iter().filter_map(|page| page.before.as_ref());
        let bytes: usize = sizes.map(Vec::len).sum();
        let mut insert = transaction.prepare_cached(
            "INSERT INTO entry(database, at, command, sql, irreversible, bytes, page_size,
               count_before, count_after, cookie, state_before, state_after)
             VALUES(?1, strftime('%Y-%m-%dT%H:%M:%SZ'), ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?;
        insert.execute(params![
            draft.database,
            draft.command,
            draft.sql,
            irreversible,
            bytes as i64,
            images.page_size,
            images.count.0,
            images.count.1,
            images.cookie,
            from.cast_signed(),
            to.cast_signed(),
        ])?;
        drop(insert);
        let number = transaction.last_insert_rowid();
        let mut put = transaction.prepare_cached("INSERT INTO page VALUES(?1, ?2, ?3, ?4)")?;
        for page in &images.pages {
            let after = page.after.map(u64::cast_signed);
            put.execute(params![number, page.number, after, page.before])?;
        }
        drop(put);
        let dropped = self.make_room(number, bytes as u64)?;
        let held = self.bytes.take();
        transaction.commit()?;
        self.bytes.set(held);
        Ok((number, dropped))
    }

    /// Drops the oldest entries, but not `number` with its `bytes`, until the pages of all have room.
    fn make_room(&self, number: i64, bytes: u64) -> rusqlite::Result<u64> {
        let mut held = match self.bytes.get() {
            Some(held) => held + bytes,
            None => self.held()?.bytes,
        };
        let mut dropped: u64 = 0;
        while held > self.room {
            let sql = "SELECT number, bytes FROM entry WHERE number < ?1 ORDER BY number LIMIT 1";
            let oldest = self.connection.query_row(sql, [number], |row| {
                Ok((row.get(0)?, row.get(1).map(i64::cast_unsigned)?))
            });
            let Some((oldest, bytes)) = oldest.optional()? else {
                break;
            };
            self.forget(oldest)?;
            held -= bytes;
            dropped += 1;
        }
        if dropped > 0 {
            self.connection
                .execute("INSERT INTO dropped VALUES(?1)", [dropped.cast_signed()])?;
        }
        self.bytes.set(Some(held));
        Ok(dropped)
    }

    pub(super) fn forget_pages(&self, number: i64) -> rusqlite::Result<()> {
        self.bytes.set(None);
        let sql = "DELETE FROM page WHERE entry = ?1";
        self.connection.execute(sql, [number]).map(drop)
    }

    /// Notes what an entry has changed, for a reader.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn summarize(&self, number: i64, summary: &str) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached("UPDATE entry SET summary = ?2 WHERE number = ?1")?
            .execute(params![number, summary])
            .map(drop)
    }

    /// Sees by the `state` that a database is in what became of the last things that were about to
    /// be committed when a call was aborted.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn look(&self, database: &str, state: u64) -> rusqlite::Result<()> {
        let undoing = self
            .connection
            .prepare_cached(
                "SELECT number, undoing_from, undoing_to FROM entry
                 WHERE database = ?1 AND undoing_to IS NOT NULL",
            )?
            .query_row([database], states)
            .optional()?;
        if let Some((number, from, to)) = undoing {
            if to == state {
                self.mark_undone(number, from, to)?;
            } else {
                self.connection.execute(
                    "UPDATE entry SET undoing_to = NULL WHERE number = ?1",
                    [number],
                )?;
            }
        }
        let last = self
            .connection
            .prepare_cached(
                "SELECT number, state_before, state_after FROM entry
                 WHERE database = ?1 AND NOT undone ORDER BY number DESC LIMIT 1",
            )?
            .query_row([database], states)
            .optional()?;
        match last {
            Some((number, before, after)) if before == state && after != state => {
                self.forget(number)
            }
            _ => Ok(()),
        }
    }

    /// Forgets an entry whose write was not committed.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn forget(&self, number: i64) -> rusqlite::Result<()> {
        self.forget_pages(number)?;
        let sql = "DELETE FROM entry WHERE number = ?1";
        self.connection.execute(sql, [number]).map(drop)
    }

    /// What is held of all databases.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn held(&self) -> rusqlite::Result<Held> {
        let sql = "SELECT count(*), coalesce(sum(bytes), 0) FROM entry
                   WHERE NOT undone AND irreversible IS NULL";
        self.connection.query_row(sql, [], |row| {
            let number = |at| row.get(at).map(i64::cast_unsigned);
            Ok(Held {
                writes: number(0)?,
                bytes: number(1)?,
                room: self.room,
            })
        })
    }

    /// A commit changed nothing but the state of a database.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn go_on(&self, database: &str, (from, to): (u64, u64)) -> rusqlite::Result<()> {
        self.look(database, from)?;
        let sql = "UPDATE entry SET state_after = ?3
                   WHERE database = ?1 AND state_after = ?2 AND NOT undone";
        let states = params![database, from.cast_signed(), to.cast_signed()];
        self.connection.execute(sql, states).map(drop)
    }

    /// The latest entries of a database, the latest first.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn list(&self, database: &str, most: u32) -> rusqlite::Result<Vec<Entry>> {
        let mut statement = self.connection.prepare(
            "SELECT number, database, at, command, sql, summary, irreversible, undone,
               NOT undone AND state_before <> lag(state_after, 1, state_before)
                 OVER (PARTITION BY undone ORDER BY number)
             FROM entry WHERE database = ?1 ORDER BY number DESC LIMIT ?2",
        )?;
        statement
            .query_map(params![database, most], entry)?
            .collect()
    }

    /// How many entries were dropped because there was no room for them.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn dropped(&self) -> rusqlite::Result<u64> {
        let sql = "SELECT coalesce(sum(entries), 0) FROM dropped";
        let dropped: i64 = self.connection.query_row(sql, [], |row| row.get(0))?;
        Ok(dropped.unsigned_abs())
    }

    /// The last entry of a database that was not undone.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn last(&self, database: &str) -> rusqlite::Result<Option<Entry>> {
        let sql =
            format!("{ENTRIES} WHERE database = ?1 AND NOT undone ORDER BY number DESC LIMIT 1");
        self.connection
            .query_row(&sql, [database], entry)
            .optional()
    }

    /// The entry of that number.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn find(&self, number: i64) -> rusqlite::Result<Option<Entry>> {
        let sql = format!("{ENTRIES} WHERE number = ?1");
        self.connection.query_row(&sql, [number], entry).optional()
    }

    /// Whether the entry of that number was dropped.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn was_dropped(&self, number: i64) -> rusqlite::Result<bool> {
        let sql = "SELECT ?1 > 0 AND ?1 < ifnull(min(number), 0) FROM entry";
        self.connection.query_row(sql, [number], |row| row.get(0))
    }

    /// The pages of an entry.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn images(&self, number: i64) -> rusqlite::Result<Images> {
        let mut images = self.connection.query_row(
            "SELECT page_size, count_before, count_after, state_before, state_after, cookie
             FROM entry WHERE number = ?1",
            [number],
            |row| {
                Ok(Images {
                    page_size: row.get(0)?,
                    count: (row.get(1)?, row.get(2)?),
                    cookie: row.get(5)?,
                    state: (
                        row.get::<_, i64>(3)?.cast_unsigned(),
                        row.get::<_, i64>(4)?.cast_unsigned(),
                    ),
                    pages: Vec::new(),
                })
            },
        )?;
        let sql = "SELECT number, after, before FROM page WHERE entry = ?1 ORDER BY number";
        images.pages = self
            .connection
            .prepare(sql)?
            .query_map([number], |row| {
                Ok(Page {
                    number: row.get(0)?,
                    after: row.get::<_, Option<i64>>(1)?.map(i64::cast_unsigned),
                    before: row.get(2)?,
                })
            })?
            .collect::<rusqlite::Result<_>>()?;
        Ok(images)
    }
}

/// A row of a number and two states.
fn states(row: &Row<'_>) -> rusqlite::Result<(i64, u64, u64)> {
    let state = |at| row.get(at).map(i64::cast_unsigned);
    Ok((row.get(0)?, state(1)?, state(2)?))
}

/// A row of [`ENTRIES`].
pub(super) fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    Ok(Entry {
        number: row.get(0)?,
        database: row.get(1)?,
        at: row.get(2)?,
        command: row.get(3)?,
        sql: row.get(4)?,
        summary: row.get(5)?,
        irreversible: row.get(6)?,
        undone: row.get(7)?,
        apart: row.get(8)?,
    })
}
