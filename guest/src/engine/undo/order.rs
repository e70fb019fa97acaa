//! Which writes stand in the way of undoing one, and what undoing it means for the others.
//!
//! The writes of a database are a chain: each begins at the state that the one before it led to,
//! unless somebody else has written between them.

use rusqlite::{OptionalExtension, params};

use super::capture::content;
use super::history::{ENTRIES, Entry, History, entry};

/// The entries of the same database behind `?1` that were not undone.
const LATER: &str = "number > ?1 AND NOT undone
    AND database = (SELECT database FROM entry WHERE number = ?1)";

impl History {
    /// Of the later entries that were not undone, the one that is most in the way of undoing
    /// `number`: one that can never be undone, or else has written to the same pages, or else the
    /// last one.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn follower(&self, number: i64) -> rusqlite::Result<Option<Entry>> {
        let sql = format!(
            "{ENTRIES} AS later WHERE {LATER}
             ORDER BY irreversible IS NULL, NOT EXISTS (
               SELECT 1 FROM page AS mine JOIN page AS theirs USING (number)
               WHERE mine.entry = ?1 AND theirs.entry = later.number AND mine.number > 1), number DESC
             LIMIT 1"
        );
        self.connection.query_row(&sql, [number], entry).optional()
    }

    /// Whether later entries that were not undone have changed pages of `number`, or may have.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn is_overwritten(&self, number: i64) -> rusqlite::Result<bool> {
        let sql = format!(
            "SELECT 0, NULL, NULL FROM entry WHERE {LATER} AND irreversible IS NOT NULL
             UNION ALL
             SELECT theirs.number, theirs.before, theirs.after FROM page AS mine JOIN page AS theirs USING (number)
             WHERE mine.entry = ?1 AND theirs.entry IN (SELECT number FROM entry WHERE {LATER})"
        );
        let mut statement = self.connection.prepare(&sql)?;
        let mut rows = statement.query([number])?;
        while let Some(row) = rows.next()? {
            let page: u32 = row.get(0)?;
            let before: Option<Vec<u8>> = row.get(1)?;
            let after: Option<i64> = row.get(2)?;
            let before = before.map(|before| content(page, &before));
            if page == 0 || before != after.map(i64::cast_unsigned) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether from entry `number` to the `state` that its database is in, nobody else has written.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn leads_to(&self, number: i64, state: u64) -> rusqlite::Result<bool> {
        let sql = format!(
            "SELECT state_before, state_after FROM entry WHERE number = ?1 OR {LATER} ORDER BY number"
        );
        let mut statement = self.connection.prepare(&sql)?;
        let mut rows = statement.query([number])?;
        let mut reached = None;
        while let Some(row) = rows.next()? {
            let before: i64 = row.get(0)?;
            if reached.is_some_and(|reached| reached != before) {
                return Ok(false);
            }
            reached = Some(row.get(1)?);
        }
        Ok(reached == Some(state.cast_signed()))
    }

    /// An entry is about to be undone, which makes the state `to` of `from`.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn undoing(&self, number: i64, (from, to): (u64, u64)) -> rusqlite::Result<()> {
        let sql = "UPDATE entry SET undoing_from = ?2, undoing_to = ?3 WHERE number = ?1";
        let values = params![number, from.cast_signed(), to.cast_signed()];
        self.connection.execute(sql, values).map(drop)
    }

    /// What [`History::undoing`] has told of was done.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn undone(&self, database: &str, state: u64) -> rusqlite::Result<()> {
        let transaction = self.connection.unchecked_transaction()?;
        self.look(database, state)?;
        transaction.commit()
    }

    /// An entry was undone, which made the state `to` of `from`.
    pub(super) fn mark_undone(&self, number: i64, from: u64, to: u64) -> rusqlite::Result<()> {
        // The one before it has led to where we are; or the last one does, if there are later ones.
        self.connection.execute(
            "UPDATE entry SET state_after = ?3 FROM entry AS mine
             WHERE mine.number = ?1 AND entry.database = mine.database AND NOT entry.undone
               AND entry.state_after = iif(mine.state_after = ?2, mine.state_before, ?2)",
            params![number, from.cast_signed(), to.cast_signed()],
        )?;
        // The one behind it follows the one before it.
        self.connection.execute(
            "UPDATE entry SET state_before = mine.state_before FROM entry AS mine
             WHERE mine.number = ?1 AND entry.number > ?1 AND entry.database = mine.database
               AND entry.state_before = mine.state_after",
            [number],
        )?;
        // Later ones have left its pages as they were, and are not to bring them back.
        self.connection.execute(
            &format!(
                "DELETE FROM page WHERE entry IN (SELECT number FROM entry WHERE {LATER})
                   AND number IN (SELECT number FROM page WHERE entry = ?1)"
            ),
            [number],
        )?;
        self.connection.execute(
            "UPDATE entry SET undone = 1, bytes = 0, undoing_to = NULL WHERE number = ?1",
            [number],
        )?;
        self.forget_pages(number)
    }
}
