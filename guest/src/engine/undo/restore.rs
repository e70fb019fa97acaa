//! Puts pages back as they were, through SQLite's own pager
//! (<https://www.sqlite.org/dbpage.html>), in one transaction.

use rusqlite::config::DbConfig;
use rusqlite::types::Null;
use rusqlite::{Connection, ffi, params};

use super::capture::{BeforeCommit, COOKIE, Capture, End, Images, MARKS, content, cookie, hash};
use super::index::{self, STATE};
use super::tap::OpenFile;
use crate::storage::ErrorCode;

/// The byte whose page SQLite never uses, <https://www.sqlite.org/fileformat2.html#the_lock_byte_page>.
const LOCK_BYTE: u32 = 0x4000_0000;

/// Takes a write back on `connection`, which is used for nothing else, or says that something is in
/// the way; nothing was changed then. `before_commit` hears the states of the database before and
/// after ([`Images::state`]) just before it is done. The state after is the answer of this.
///
/// # Errors
///
/// SQLite's; nothing was changed then, but a transaction may be open.
pub(crate) fn put_back(
    connection: &Connection,
    images: &Images,
    mut before_commit: impl FnMut((u64, u64)) + 'static,
) -> rusqlite::Result<Result<u64, Conflict>> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false)?;
    connection.execute_batch("CREATE TEMP TABLE put(number INTEGER PRIMARY KEY, page, data)")?;
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let now = Now::look(connection)?;
    let certain = now.state == images.state.1;
    if !certain && !now.holds_after(connection, images)? {
        return Ok(Err(now.conflict()));
    }
    let from = now.state;
    let ask: BeforeCommit = Box::new(move |commit| {
        before_commit((from, commit.state.1));
        true
    });
    // It takes no pages.
    let Ok(capture) = Capture::start(connection, 0, None, ask)? else {
        return Ok(Err(now.conflict()));
    };
    stage(connection, images, &now)?;
    // One statement: one that is compiled half-way through would read a schema that is no whole one.
    connection.execute_batch(
        "INSERT INTO sqlite_dbpage(pgno, data) SELECT page, data FROM temp.put ORDER BY number",
    )?;
    if !certain && !is_whole(connection)? {
        return Ok(Err(now.conflict()));
    }
    connection.execute_batch("COMMIT")?;
    Ok(Ok(match capture.finish() {
        End::Committed(state) => state,
        End::Nothing => now.state,
    }))
}

/// The state of a database ([`Images::state`]).
///
/// # Errors
///
/// SQLite's.
pub(crate) fn state(connection: &Connection) -> rusqlite::Result<u64> {
    Now::look(connection).map(|now| now.state)
}

/// Whether a state tells nothing: that of every write-ahead log that is empty, or holds nothing but
/// what was not committed.
pub(crate) fn tells_nothing(state: u64) -> bool {
    state == hash(&[0; STATE])
}

/// Whether a database is as it was before a write.
///
/// # Errors
///
/// SQLite's.
pub(crate) fn is_not_made(connection: &Connection, images: &Images) -> rusqlite::Result<bool> {
    let now = Now::look(connection)?;
    if now.count != images.count.0 {
        return Ok(false);
    }
    for was in images.pages.all() {
        let is = content(was.number, &page(connection, was.number)?);
        let before = images.pages.read(was);
        if before.map(|before| content(was.number, &before)) != Ok(is) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The database is not as the write left it, so that undoing it would not be exact.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conflict {
    /// Its state ([`Images::state`]).
    pub state: u64,
}

/// The database as it is.
struct Now {
    first: Vec<u8>,
    count: u32,
    state: u64,
}

impl Now {
    fn look(connection: &Connection) -> rusqlite::Result<Self> {
        let count = connection.query_row("PRAGMA main.page_count", [], |row| row.get(0))?;
        let first = if count > 0 {
            page(connection, 1)?
        } else {
            Vec::new()
        };
        let log = OpenFile::database(connection)
            .filter(|_| first.get(18..20) == Some(&[2, 2]))
            .and_then(index::state);
        let state = match log {
            Some(log) => hash(&log),
            None if first.is_empty() => 0,
            None => hash(&first),
        };
        Ok(Self {
            first,
            count,
            state,
        })
    }

    fn conflict(&self) -> Conflict {
        Conflict { state: self.state }
    }

    /// Whether every page is as the write left it, so that others have written elsewhere alone.
    fn holds_after(&self, connection: &Connection, images: &Images) -> rusqlite::Result<bool> {
        if images.count != (self.count, self.count) || images.cookie != cookie(&self.first) {
            return Ok(false);
        }
        for left in images.pages.all() {
            if left.after != Some(content(left.number, &page(connection, left.number)?)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Page 1 as it was, but for what says nothing of the content.
    fn merge(&self, before: &[u8]) -> Vec<u8> {
        let mut merged = before.to_vec();
        for marks in MARKS {
            merged[marks.clone()].copy_from_slice(&self.first[marks]);
        }
        let (was, is) = (cookie(before), cookie(&self.first));
        if was != is {
            // One that no state of the schema has had, so that everyone reads it anew.
            let next = was.max(is).wrapping_add(1);
            merged[COOKIE].copy_from_slice(&next.to_be_bytes());
        }
        merged
    }

    /// Page 1 of a database without anything in it, of the same kind; for a file that was empty.
    fn nothing(&self) -> Vec<u8> {
        let mut page = self.first.clone();
        page[28..40].fill(0); // pages; free ones
        page[31] = 1;
        page[60..64].fill(0); // user_version
        page[68..72].fill(0); // application_id
        if page[52..56] != [0; 4] {
            page[52..56].copy_from_slice(&1_u32.to_be_bytes()); // the last root, for auto_vacuum
        }
        // A leaf of a table, without cells.
        let usable = page.len() - usize::from(page[20]);
        page[100..].fill(0);
        page[100] = 13;
        page[105..107].copy_from_slice(&(usable as u16).to_be_bytes());
        let next = cookie(&page).wrapping_add(1);
        page[COOKIE].copy_from_slice(&next.to_be_bytes());
        page
    }
}

/// Lays ready what is to be written, in order.
fn stage(connection: &Connection, images: &Images, now: &Now) -> rusqlite::Result<()> {
    let mut put = connection.prepare("INSERT INTO temp.put(page, data) VALUES(?1, ?2)")?;
    let pages = images.pages.all();
    let before = |page| images.pages.read(page).map_err(lost);
    for page in pages.iter().filter(|page| page.number > 1) {
        put.execute(params![page.number, before(page)?])?;
    }
    let count = images.count.0.max(1);
    // What is cut off passes through the journal only if it is written to.
    let empty = vec![0_u8; images.page_size as usize];
    let unused = LOCK_BYTE / images.page_size.max(1) + 1;
    for number in (count + 1..=now.count).filter(|number| *number != unused) {
        put.execute(params![number, empty])?;
    }
    // Page 1 comes last, and behind it where the file ends, which any other page would forget.
    if images.count.0 == 0 {
        put.execute(params![1, now.nothing()])?;
    } else if let Some(first) = pages.first().filter(|page| page.number == 1) {
        put.execute(params![1, now.merge(&before(first)?)])?;
    }
    if now.count > count {
        put.execute(params![count + 1, Null])?;
    }
    Ok(())
}

/// The error for a page that the record does not give.
fn lost(error: ErrorCode) -> rusqlite::Error {
    let what = format!("the record could not be read: {}", error.in_words());
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_IOERR_READ), Some(what))
}

/// Whether all indexes still agree with their tables, and all references with their keys. Where
/// that takes functions or collations of another program, it is not known.
fn is_whole(connection: &Connection) -> rusqlite::Result<bool> {
    let checked = || -> rusqlite::Result<bool> {
        let check: String =
            connection.query_row("PRAGMA main.integrity_check(1)", [], |row| row.get(0))?;
        let mut astray = connection.prepare("PRAGMA main.foreign_key_check")?;
        Ok(check == "ok" && !astray.exists([])?)
    };
    match checked() {
        Err(error) if error.sqlite_error_code() == Some(ffi::ErrorCode::Unknown) => Ok(false),
        checked => checked,
    }
}

fn page(connection: &Connection, number: u32) -> rusqlite::Result<Vec<u8>> {
    let sql = "SELECT data FROM sqlite_dbpage WHERE pgno = ?1";
    connection.query_row(sql, [number], |row| row.get(0))
}
