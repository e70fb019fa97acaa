//! The columns of a table, as `PRAGMA table_xinfo` has them.

use rusqlite::Connection;

use super::catalogue::{quote, text};
use crate::answer::value::text_of;

/// How many columns a table or a result can have at most: `SQLITE_MAX_COLUMN`.
pub(crate) const MOST_COLUMNS: usize = 2_000;

/// One column.
#[derive(Clone, Debug)]
pub(crate) struct TableColumn {
    /// Its name.
    pub name: String,
    /// Its type, as it was declared.
    pub declared: String,
    /// Whether it is NOT NULL.
    pub not_null: bool,
    /// The expression of its default.
    pub default: Option<String>,
    /// Its place in the primary key, from 1; 0 if it is not part of it.
    pub key: i64,
    /// How it comes by its values.
    pub kind: ColumnKind,
}

/// How a column comes by its values, <https://www.sqlite.org/pragma.html#pragma_table_xinfo>.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    /// They are stored.
    Plain,
    /// A virtual table keeps it out of `SELECT *`.
    Hidden,
    /// They are computed when they are read.
    Virtual,
    /// They are computed when a row is written.
    Stored,
}

impl TableColumn {
    /// Whether it holds text by its declaration: rules 1 and 2 of
    /// <https://www.sqlite.org/datatype3.html#determination_of_column_affinity>.
    pub(crate) fn is_text(&self) -> bool {
        let declared = self.declared.to_ascii_uppercase();
        !declared.contains("INT")
            && ["CHAR", "CLOB", "TEXT"]
                .iter()
                .any(|part| declared.contains(part))
    }
}

/// The columns of a table or view, in their order; hidden and generated ones too.
///
/// # Errors
/// SQLite's, for a view that does not work among others.
pub(crate) fn columns(
    connection: &Connection,
    schema: &str,
    table: &str,
) -> rusqlite::Result<Vec<TableColumn>> {
    let mut statement = connection.prepare(&format!(
        "PRAGMA {}.table_xinfo({})",
        quote(schema),
        quote(table)
    ))?;
    let columns = statement.query_map([], |row| {
        Ok(TableColumn {
            name: text(row, "name")?,
            declared: text(row, "type")?,
            not_null: row.get("notnull")?,
            default: text_of(row.get_ref("dflt_value")?),
            key: row.get("pk")?,
            kind: match row.get::<_, i64>("hidden")? {
                1 => ColumnKind::Hidden,
                2 => ColumnKind::Virtual,
                3 => ColumnKind::Stored,
                _ => ColumnKind::Plain,
            },
        })
    })?;
    columns.collect()
}

/// A name by which a table with these columns has its rowid, if they leave one.
pub(crate) fn rowid(columns: &[TableColumn]) -> Option<&'static str> {
    let taken = |name: &&str| {
        columns
            .iter()
            .any(|column| column.name.eq_ignore_ascii_case(name))
    };
    ["rowid", "_rowid_", "oid"]
        .into_iter()
        .find(|name| !taken(name))
}
