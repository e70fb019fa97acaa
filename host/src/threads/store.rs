//! The file in which threads are remembered: a SQLite database of this one schema, which several
//! servers share.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, TransactionBehavior, params};
use uuid::Uuid;

use super::KEPT;

/// What tells the file from others: "sqlT".
const APPLICATION: i32 = 0x7371_6c54;
/// The version of its schema.
const VERSION: i32 = 1;
/// How many threads of one principal are kept; beyond it those go that were not used for longest.
const THREADS: u32 = 1_000;
/// How long a statement waits for other servers. No call waits for a statement.
const BUSY: Duration = Duration::from_millis(250);
/// The size in bytes to which the write-ahead log is cut.
const LOG_BYTES: u32 = 1 << 20;

const SCHEMA: &str = "
    CREATE TABLE thread (
        id INTEGER PRIMARY KEY,
        principal BLOB NOT NULL,
        name TEXT NOT NULL,
        used INTEGER NOT NULL,
        UNIQUE (principal, name)
    ) STRICT;
    CREATE INDEX thread_used ON thread (used);
    CREATE TABLE call (
        thread INTEGER NOT NULL,
        at INTEGER NOT NULL,
        entry BLOB NOT NULL
    ) STRICT;
    CREATE INDEX call_thread ON call (thread, at);
";

/// An entry, and when it was made, in microseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When.
    pub at: i64,
    /// What, in the guest's words.
    pub bytes: Vec<u8>,
}

/// A thread, as the owner lists it.
#[derive(Debug)]
pub struct Thread {
    /// Whose it is.
    pub principal: Uuid,
    /// The client's id.
    pub name: String,
    /// When it was last used.
    pub used: SystemTime,
    /// How many entries it has.
    pub calls: u32,
}

/// The open file.
pub struct Store(Connection);

impl Store {
    /// Opens the file, or makes it, readable by its owner alone.
    ///
    /// # Errors
    ///
    /// If it cannot be opened, or is something else.
    pub fn open(path: &Path) -> Result<Self> {
        // Nothing else of this process has it open, so closing it loses no locks.
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
        {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
        Self::existing(path)
    }

    /// Opens the file, which has to be there.
    ///
    /// # Errors
    ///
    /// As for [`Store::open`].
    pub fn existing(path: &Path) -> Result<Self> {
        if !fs::metadata(path)?.is_file() {
            bail!("it is not a file");
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        if !is_ours(&connection)? {
            // Another server may be making it.
            let made = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            if !is_ours(&made)? {
                made.execute_batch(SCHEMA)?;
                made.pragma_update(None, "application_id", APPLICATION)?;
                made.pragma_update(None, "user_version", VERSION)?;
            }
            made.commit()?;
        }
        // Where the file system has no shared memory, it stays a rollback journal.
        let _ = connection.pragma_update(None, "journal_mode", "wal");
        connection.pragma_update(None, "journal_size_limit", LOG_BYTES)?;
        // What a power cut may take is the last calls, never the file.
        connection.pragma_update(None, "synchronous", "normal")?;
        connection.pragma_update(None, "secure_delete", true)?;
        Ok(Self(connection))
    }

    /// Appends entries to threads of a principal, and answers what each thread holds then: the last
    /// entries, oldest first.
    ///
    /// # Errors
    ///
    /// Those of SQLite; nothing is appended then.
    pub fn append(
        &mut self,
        principal: Uuid,
        threads: &[(String, Vec<Entry>)],
    ) -> Result<Vec<Vec<Entry>>> {
        let now = seconds(SystemTime::now());
        let change = self
            .0
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        for (name, entries) in threads.iter().filter(|(_, entries)| !entries.is_empty()) {
            let id = match thread(&change, principal, name)? {
                Some(id) => {
                    change
                        .prepare_cached("UPDATE thread SET used = ?2 WHERE id = ?1 AND used <> ?2")?
                        .execute([id, now])?;
                    id
                }
                None => {
                    let mut insert = change.prepare_cached(
                        "INSERT INTO thread (principal, name, used) VALUES (?1, ?2, ?3)",
                    )?;
                    let id = insert.insert(params![principal.as_bytes(), name, now])?;
                    drop_surplus(&change, principal)?;
                    id
                }
            };
            let mut insert = change
                .prepare_cached("INSERT INTO call (thread, at, entry) VALUES (?1, ?2, ?3)")?;
            for Entry { at, bytes } in entries {
                insert.execute(params![id, at, bytes])?;
            }
            change
                .prepare_cached(
                    "DELETE FROM call WHERE rowid IN (SELECT rowid FROM call WHERE thread = ?1 \
                     ORDER BY at DESC, rowid DESC LIMIT -1 OFFSET ?2)",
                )?
                .execute(params![id, KEPT as u32])?;
        }
        let held = threads
            .iter()
            .map(|(name, _)| last(&change, principal, name))
            .collect();
        change.commit()?;
        held
    }

    /// Forgets threads that were not used for so long.
    ///
    /// # Errors
    ///
    /// Those of SQLite.
    pub fn expire(&mut self, age: Duration) -> Result<()> {
        let before = seconds(SystemTime::now()).saturating_sub_unsigned(age.as_secs());
        let change = self
            .0
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        change.execute(
            "DELETE FROM call WHERE thread IN (SELECT id FROM thread WHERE used < ?1)",
            [before],
        )?;
        change.execute("DELETE FROM thread WHERE used < ?1", [before])?;
        Ok(change.commit()?)
    }

    /// Every thread, the last used first; those of one principal, if it is given.
    ///
    /// # Errors
    ///
    /// Those of SQLite.
    pub fn list(&self, principal: Option<Uuid>) -> Result<Vec<Thread>> {
        let mut select = self.0.prepare(
            "SELECT principal, name, used, (SELECT count(*) FROM call WHERE thread = id) FROM thread \
             WHERE ?1 IS NULL OR principal = ?1 ORDER BY used DESC, id DESC",
        )?;
        let rows = select.query_map([principal.as_ref().map(Uuid::as_bytes)], |row| {
            Ok(Thread {
                principal: Uuid::from_bytes(row.get(0)?),
                name: row.get(1)?,
                used: UNIX_EPOCH + Duration::from_secs(row.get::<_, i64>(2)?.unsigned_abs()),
                calls: row.get(3)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The last entries of a thread, oldest first.
    ///
    /// # Errors
    ///
    /// Those of SQLite.
    pub fn show(&self, principal: Uuid, name: &str) -> Result<Vec<Vec<u8>>> {
        let entries = last(&self.0, principal, name)?;
        Ok(entries.into_iter().map(|entry| entry.bytes).collect())
    }

    /// Forgets a thread, and every trace of it in the file.
    ///
    /// # Errors
    ///
    /// Those of SQLite.
    pub fn forget(&mut self, principal: Uuid, name: &str) -> Result<()> {
        let change = self
            .0
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        if let Some(id) = thread(&change, principal, name)? {
            change.execute("DELETE FROM call WHERE thread = ?1", [id])?;
            change.execute("DELETE FROM thread WHERE id = ?1", [id])?;
        }
        change.commit()?;
        // Readers may be in the way; the log is overwritten later then.
        self.0
            .query_row("PRAGMA wal_checkpoint(truncate)", [], |_| Ok(()))
            .context("it is forgotten, but the write-ahead log still holds it")
    }
}

/// Whether the file is a store; not if it is empty.
fn is_ours(connection: &Connection) -> Result<bool> {
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0));
    let (application, version) = (number("application_id")?, number("user_version")?);
    let objects: u32 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (application, version, objects) {
        (APPLICATION, VERSION, _) => Ok(true),
        (0, 0, 0) => Ok(false),
        (APPLICATION, ..) => bail!("another version of sqlarium made it"),
        _ => bail!("it is a database of something else"),
    }
}

fn thread(connection: &Connection, principal: Uuid, name: &str) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached("SELECT id FROM thread WHERE principal = ?1 AND name = ?2")?
        .query_row(params![principal.as_bytes(), name], |row| row.get(0))
        .optional()
}

fn last(connection: &Connection, principal: Uuid, name: &str) -> Result<Vec<Entry>> {
    let Some(id) = thread(connection, principal, name)? else {
        return Ok(Vec::new());
    };
    let mut select = connection.prepare_cached(
        "SELECT at, entry FROM (SELECT rowid AS r, at, entry FROM call WHERE thread = ?1 \
         ORDER BY at DESC, rowid DESC LIMIT ?2) ORDER BY at, r",
    )?;
    let rows = select.query_map(params![id, KEPT as u32], |row| {
        Ok(Entry {
            at: row.get(0)?,
            bytes: row.get(1)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Drops the threads of a principal beyond the most that are kept.
fn drop_surplus(connection: &Connection, principal: Uuid) -> Result<()> {
    const SURPLUS: &str =
        "SELECT id FROM thread WHERE principal = ?1 ORDER BY used DESC, id DESC LIMIT -1 OFFSET ?2";
    for table in ["call WHERE thread", "thread WHERE id"] {
        connection
            .prepare_cached(&format!("DELETE FROM {table} IN ({SURPLUS})"))?
            .execute(params![principal.as_bytes(), THREADS])?;
    }
    Ok(())
}

/// Seconds since 1970.
fn seconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
