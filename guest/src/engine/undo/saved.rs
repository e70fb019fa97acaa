//! Rows of a table that is about to be dropped, saved to restore it.

use std::hash::{DefaultHasher, Hash, Hasher};

use rusqlite::types::{Null, ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, OptionalExtension, Params, ToSql, params, params_from_iter};
use serde::{Deserialize, Serialize};

use crate::engine::schema::catalogue::{quote, text};

/// A table's rows, in a form of our own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Saved {
    /// The table.
    pub table: String,
    /// The columns that were saved, the rowid too where it is not one of them.
    pub columns: Vec<String>,
    /// The rows, one value after the other.
    pub bytes: Vec<u8>,
    /// The last rowid that AUTOINCREMENT gave away.
    pub sequence: Option<i64>,
}

/// The fingerprint of a table's content: the number of rows, and the sum of their hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fingerprint {
    rows: u64,
    sum: u64,
}

impl Fingerprint {
    /// That of a table of `main`.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn of(connection: &Connection, table: &str) -> rusqlite::Result<Self> {
        let mut statement = connection.prepare(&format!("SELECT * FROM main.{}", quote(table)))?;
        let width = statement.column_count();
        let mut rows = statement.query([])?;
        let mut print = Self::default();
        while let Some(row) = rows.next()? {
            let mut bytes = Vec::new();
            for column in 0..width {
                write(&mut bytes, row.get_ref(column)?);
            }
            let mut hasher = DefaultHasher::new();
            bytes.hash(&mut hasher);
            print.rows += 1;
            print.sum = print.sum.wrapping_add(hasher.finish());
        }
        Ok(print)
    }
}

/// The columns of a table that hold data of their own, and the rowid where no column is it.
fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(
        "SELECT name, pk, upper(type) FROM pragma_table_xinfo(?1, 'main') WHERE hidden = 0",
    )?;
    let all: Vec<(String, bool, String)> = statement
        .query_map([table], |row| {
            Ok((text(row, 0)?, row.get::<_, i64>(1)? > 0, text(row, 2)?))
        })?
        .collect::<rusqlite::Result<_>>()?;
    let keys: Vec<_> = all.iter().filter(|(_, key, _)| *key).collect();
    let alias = matches!(keys.as_slice(), [(_, _, kind)] if kind == "INTEGER");
    let taken = |name: &str| {
        all.iter()
            .any(|(column, _, _)| column.eq_ignore_ascii_case(name))
    };
    let mut names: Vec<String> = all.iter().map(|(name, _, _)| name.clone()).collect();
    let without_rowid: bool = connection.query_row(
        "SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?1",
        [table],
        |row| row.get(0),
    )?;
    if !alias && !without_rowid {
        let rowid = ["_rowid_", "rowid", "oid"]
            .into_iter()
            .find(|name| !taken(name));
        if let Some(rowid) = rowid {
            names.insert(0, rowid.to_owned());
        }
    }
    Ok(names)
}

impl Saved {
    /// Saves the rows of a table of `main`; `None` if they take more than `room` bytes.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn new(
        connection: &Connection,
        table: &str,
        room: u64,
    ) -> rusqlite::Result<Option<Self>> {
        let columns = columns(connection, table)?;
        let list = quoted(&columns);
        let mut statement =
            connection.prepare(&format!("SELECT {list} FROM main.{}", quote(table)))?;
        let mut rows = statement.query([])?;
        let mut bytes = Vec::new();
        while let Some(row) = rows.next()? {
            for column in 0..columns.len() {
                write(&mut bytes, row.get_ref(column)?);
            }
            if bytes.len() as u64 > room {
                return Ok(None);
            }
        }
        drop(rows);
        let sequence = connection
            .query_row(
                "SELECT seq FROM main.sqlite_sequence WHERE name = ?1",
                [table],
                |row| row.get(0),
            )
            .optional()
            // There is no such table unless one with AUTOINCREMENT was made.
            .unwrap_or_default();
        Ok(Some(Self {
            table: table.to_owned(),
            columns,
            bytes,
            sequence,
        }))
    }

    /// Puts the rows back into the table, which is empty.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn fill(&self, connection: &Connection) -> rusqlite::Result<()> {
        let places = vec!["?"; self.columns.len()].join(", ");
        let mut statement = connection.prepare(&format!(
            "INSERT INTO main.{}({}) VALUES({places})",
            quote(&self.table),
            quoted(&self.columns)
        ))?;
        let mut rest = self.bytes.as_slice();
        while !rest.is_empty() {
            let mut row = Vec::with_capacity(self.columns.len());
            for _ in &self.columns {
                row.push(read(&mut rest).ok_or(rusqlite::Error::InvalidQuery)?);
            }
            statement.execute(params_from_iter(row))?;
        }
        if let Some(sequence) = self.sequence {
            run(
                connection,
                "UPDATE main.sqlite_sequence SET seq = ?2 WHERE name = ?1",
                params![self.table, sequence],
            )?;
            run(
                connection,
                "INSERT INTO main.sqlite_sequence(name, seq) SELECT ?1, ?2 \
                 WHERE NOT EXISTS (SELECT 1 FROM main.sqlite_sequence WHERE name = ?1)",
                params![self.table, sequence],
            )?;
        }
        Ok(())
    }
}

fn run(connection: &Connection, sql: &str, params: impl Params) -> rusqlite::Result<()> {
    connection.execute(sql, params).map(drop)
}

fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| quote(name)).collect();
    names.join(", ")
}

fn write(bytes: &mut Vec<u8>, value: ValueRef<'_>) {
    let mut long = |tag: u8, data: &[u8]| {
        bytes.push(tag);
        bytes.extend_from_slice(&(data.len() as u64).to_le_bytes());
        bytes.extend_from_slice(data);
    };
    match value {
        ValueRef::Null => bytes.push(0),
        ValueRef::Integer(number) => {
            bytes.push(1);
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        ValueRef::Real(number) => {
            bytes.push(2);
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        ValueRef::Text(data) => long(3, data),
        ValueRef::Blob(data) => long(4, data),
    }
}

/// One value, as it was: text that is not UTF-8 too.
struct Raw<'a>(ValueRef<'a>);

impl ToSql for Raw<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self.0 {
            ValueRef::Null => ToSqlOutput::from(Null),
            value @ (ValueRef::Text(_) | ValueRef::Blob(_)) => ToSqlOutput::Borrowed(value),
            ValueRef::Integer(number) => ToSqlOutput::Owned(Value::Integer(number)),
            ValueRef::Real(number) => ToSqlOutput::Owned(Value::Real(number)),
        })
    }
}

fn read<'a>(rest: &mut &'a [u8]) -> Option<Raw<'a>> {
    let tag = *rest.split_off_first()?;
    let mut eight = || -> Option<[u8; 8]> { rest.split_off(..8)?.try_into().ok() };
    Some(Raw(match tag {
        0 => ValueRef::Null,
        1 => ValueRef::Integer(i64::from_le_bytes(eight()?)),
        2 => ValueRef::Real(f64::from_le_bytes(eight()?)),
        _ => {
            let length = usize::try_from(u64::from_le_bytes(eight()?)).ok()?;
            let data = rest.split_off(..length)?;
            if tag == 3 {
                ValueRef::Text(data)
            } else {
                ValueRef::Blob(data)
            }
        }
    }))
}
