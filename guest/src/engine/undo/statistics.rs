//! What the query planner goes by, which ANALYZE gathers
//! (<https://www.sqlite.org/fileformat2.html#stat1tab>).

use rusqlite::Connection;

use super::saved::Saved;

/// The tables that hold it.
pub(crate) const TABLES: [&str; 2] = ["sqlite_stat1", "sqlite_stat4"];

/// All of it, as it is now.
///
/// # Errors
///
/// SQLite's.
pub(crate) fn of(connection: &Connection) -> rusqlite::Result<Vec<Saved>> {
    let mut all = Vec::new();
    for table in TABLES {
        if is_there(connection, table)? {
            // It is a sample, and never large.
            all.extend(Saved::new(connection, table, u64::MAX)?);
        }
    }
    Ok(all)
}

/// Puts it back.
///
/// # Errors
///
/// SQLite's.
pub(crate) fn put(connection: &Connection, all: &[Saved]) -> rusqlite::Result<()> {
    for table in TABLES {
        let saved = all.iter().find(|saved| saved.table == table);
        match (saved, is_there(connection, table)?) {
            (None, true) => connection.execute_batch(&format!("DROP TABLE main.{table}"))?,
            (None, false) => {}
            (Some(saved), there) => {
                if !there {
                    // SQLite alone may make such tables.
                    connection.execute_batch("ANALYZE main.sqlite_schema")?;
                }
                connection.execute_batch(&format!("DELETE FROM main.{table}"))?;
                saved.fill(connection)?;
            }
        }
    }
    Ok(())
}

fn is_there(connection: &Connection, table: &str) -> rusqlite::Result<bool> {
    connection.query_row(
        "SELECT count(*) > 0 FROM main.sqlite_schema WHERE name = ?1",
        [table],
        |row| row.get(0),
    )
}
