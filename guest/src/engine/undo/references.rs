//! Foreign-key violations, table by table.

use std::collections::BTreeMap;

use rusqlite::{Connection, ffi};

use crate::engine::schema::catalogue::text;

/// What is wrong with the foreign keys of each table of `main` that has any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ForeignKeyViolations {
    /// How many rows violate a foreign key; none if a key does not match the table that it names, so that
    /// SQLite cannot check.
    tables: BTreeMap<String, Option<i64>>,
}

impl ForeignKeyViolations {
    /// How it is now.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn look(connection: &Connection) -> rusqlite::Result<Self> {
        let mut statement = connection.prepare(
            "SELECT name FROM pragma_table_list AS t WHERE schema = 'main' AND type = 'table' \
             AND EXISTS (SELECT 1 FROM pragma_foreign_key_list(t.name, 'main'))",
        )?;
        let names: Vec<String> = statement
            .query_map([], |row| text(row, 0))?
            .collect::<rusqlite::Result<_>>()?;
        // One at a time: a table that does not fit hides those behind it.
        let mut check =
            connection.prepare("SELECT count(*) FROM pragma_foreign_key_check(?1, 'main')")?;
        let mut tables = BTreeMap::new();
        for name in names {
            let count = match check.query_row([&name], |row| row.get(0)) {
                Ok(count) => Some(count),
                Err(error) if is_mismatch(&error) => None,
                Err(error) => return Err(error),
            };
            tables.insert(name, count);
        }
        Ok(Self { tables })
    }

    /// What is worse than it was `before`, as a sentence's middle.
    pub(crate) fn worse(&self, before: &Self) -> Option<String> {
        self.tables
            .iter()
            .find_map(|(table, now)| match (before.tables.get(table), now) {
                (Some(None), _) => None,
                (_, None) => Some(format!(
                    "foreign keys of {table} would not match the table that they refer to"
                )),
                (was, Some(now)) => (*now > was.copied().flatten().unwrap_or_default())
                    .then(|| format!("foreign keys of {table} would be violated")),
            })
    }
}

fn is_mismatch(error: &rusqlite::Error) -> bool {
    error
        .sqlite_error()
        .is_some_and(|error| error.extended_code == ffi::SQLITE_ERROR)
}
