//! Reads a database with a write-ahead log as it was before a write that is going on.

use std::cell::RefCell;
use std::fmt;

use rusqlite::Connection;

/// Opens a connection.
type Open = Box<dyn Fn() -> rusqlite::Result<Connection>>;

/// A second connection to a database, opened when it is first needed.
pub(crate) struct Reader {
    open: Open,
    connection: RefCell<Option<Connection>>,
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}

impl Reader {
    pub(crate) fn new(open: Open) -> Self {
        Self {
            open,
            connection: RefCell::default(),
        }
    }

    /// Sees the database as it is now, until [`Reader::end`].
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(super) fn begin(&self) -> rusqlite::Result<()> {
        self.end();
        let mut connection = self.connection.borrow_mut();
        let connection = match connection.take() {
            Some(there) => connection.insert(there),
            None => connection.insert((self.open)()?),
        };
        // A transaction begins with the first look.
        connection.prepare_cached("BEGIN")?.execute([])?;
        pages(connection).map(drop)
    }

    /// How many pages there are.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(super) fn pages(&self) -> rusqlite::Result<u32> {
        self.with(pages)
    }

    /// Some of them, by their numbers.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(super) fn read(
        &self,
        numbers: impl Iterator<Item = u32>,
    ) -> rusqlite::Result<Vec<(u32, Vec<u8>)>> {
        self.with(|connection| {
            let sql = "SELECT data FROM sqlite_dbpage WHERE pgno = ?1";
            let mut read = connection.prepare_cached(sql)?;
            numbers
                .map(|number| Ok((number, read.query_row([number], |row| row.get(0))?)))
                .collect()
        })
    }

    fn with<T>(&self, act: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        match &*self.connection.borrow() {
            Some(connection) => act(connection),
            None => Err(rusqlite::Error::InvalidQuery),
        }
    }

    /// Lets the state go that it sees.
    pub(super) fn end(&self) {
        let mut connection = self.connection.borrow_mut();
        if let Some(there) = &*connection
            && !there.is_autocommit()
            && there
                .prepare_cached("ROLLBACK")
                .and_then(|mut end| end.execute([]))
                .is_err()
        {
            *connection = None;
        }
    }

    /// Closes the connection, which is in the way of some statements.
    pub(crate) fn close(&self) {
        self.connection.take();
    }
}

fn pages(connection: &Connection) -> rusqlite::Result<u32> {
    let mut ask = connection.prepare_cached("PRAGMA main.page_count")?;
    ask.query_row([], |row| row.get(0))
}
