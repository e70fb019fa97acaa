//! What a database consists of, in the order in which it can be made again.

use rusqlite::Connection;

use super::catalogue::{quote, text};
use super::columns::{ColumnKind, TableColumn, columns, rowid};

/// One row of the schema table that has SQL.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    /// `table`, `index`, `view` or `trigger`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The table it belongs to.
    pub table: String,
    /// What made it.
    pub sql: String,
    /// Whether it is a table of a module's, without pages of its own.
    pub is_virtual: bool,
}

impl Object {
    /// Whether it is a table with rows of its own.
    pub(crate) fn is_stored(&self) -> bool {
        self.kind == "table" && !self.is_virtual
    }

    /// Whether it is the table of AUTOINCREMENT's last numbers.
    pub(crate) fn is_sequence(&self) -> bool {
        self.name.eq_ignore_ascii_case("sqlite_sequence")
    }

    /// Whether it is a table of ANALYZE's that only some builds of SQLite make.
    pub(crate) fn is_samples(&self) -> bool {
        self.is_statistics() && !self.name.eq_ignore_ascii_case("sqlite_stat1")
    }

    /// Whether it is one of the tables that ANALYZE makes.
    pub(crate) fn is_statistics(&self) -> bool {
        self.name
            .get(..11)
            .is_some_and(|start| start.eq_ignore_ascii_case("sqlite_stat"))
    }
}

/// Every object: tables in the order in which they were made, the sequence behind them, then the rest.
pub(crate) fn objects(connection: &Connection) -> rusqlite::Result<Vec<Object>> {
    let mut statement = connection.prepare(
        "SELECT type, name, tbl_name, sql, coalesce(rootpage, 0) = 0 FROM main.sqlite_schema \
         WHERE sql IS NOT NULL AND type IN ('table', 'index', 'view', 'trigger') \
         ORDER BY type <> 'table', name = 'sqlite_sequence', rowid",
    )?;
    let rows = statement.query_map([], |row| {
        let kind = text(row, 0)?;
        Ok(Object {
            is_virtual: kind == "table" && row.get(4)?,
            kind,
            name: text(row, 1)?,
            table: text(row, 2)?,
            sql: text(row, 3)?,
        })
    })?;
    rows.collect()
}

/// What has to be written to make the rows of a table again.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    /// Its columns that are not generated, quoted; the rowid first, if it is none of them.
    pub columns: Vec<String>,
    /// How its rowid is called, if it has one that can be: the key that puts its rows in order.
    pub rowid: Option<&'static str>,
    /// Whether the first of `columns` is the rowid, which no column of the table is.
    pub with_rowid: bool,
    /// Whether it has rowids that nothing can name, since its columns took their names.
    pub hides_rowid: bool,
    /// Whether `columns`, but for the rowid, is what the table has, no more and no less.
    pub complete: bool,
}

impl Stored {
    /// The columns of `table`.
    pub(crate) fn of(connection: &Connection, table: &str) -> rusqlite::Result<Self> {
        let all = columns(connection, "main", table)?;
        let without: bool = connection.query_row(
            "SELECT count(*) FROM pragma_table_list(?1) WHERE schema = 'main' AND wr",
            [table],
            |row| row.get::<_, i64>(0).map(|count| count > 0),
        )?;
        let aliased = !without && has_alias(connection, table, &all)?;
        let rowid = rowid(&all).filter(|_| !without);
        let with_rowid = !aliased && rowid.is_some();
        let mut columns: Vec<String> = Vec::new();
        columns.extend(rowid.filter(|_| with_rowid).map(str::to_owned));
        let plain = all.iter().filter(|column| column.kind == ColumnKind::Plain);
        columns.extend(plain.map(|column| quote(&column.name)));
        let complete = columns.len() - usize::from(with_rowid) == all.len();
        Ok(Self {
            columns,
            rowid,
            with_rowid,
            hides_rowid: !without && !aliased && rowid.is_none(),
            complete,
        })
    }

    /// Reads them, in the order of the rowid.
    pub(crate) fn select(&self, table: &str) -> String {
        self.select_of(&self.columns, table)
    }

    /// Reads some of them, in the order of the rowid.
    pub(crate) fn select_of(&self, columns: &[String], table: &str) -> String {
        let order = self
            .rowid
            .map(|rowid| format!(" ORDER BY {rowid}"))
            .unwrap_or_default();
        format!(
            "SELECT {} FROM main.{}{order}",
            columns.join(","),
            quote(table)
        )
    }

    /// Writes one row of them.
    pub(crate) fn insert(&self, table: &str) -> String {
        let places: Vec<String> = (1..=self.columns.len())
            .map(|at| format!("?{at}"))
            .collect();
        format!(
            "INSERT INTO main.{}({}) VALUES({})",
            quote(table),
            self.columns.join(","),
            places.join(",")
        )
    }
}

/// Whether a column is the rowid under another name: an INTEGER PRIMARY KEY, unless it has an index, as
/// one that is DESC has.
fn has_alias(
    connection: &Connection,
    table: &str,
    columns: &[TableColumn],
) -> rusqlite::Result<bool> {
    let keys: Vec<_> = columns.iter().filter(|column| column.key > 0).collect();
    let integer = matches!(keys.as_slice(), [key] if key.declared.eq_ignore_ascii_case("INTEGER"));
    let indexed = || {
        connection.query_row(
            "SELECT count(*) FROM pragma_index_list(?1, 'main') WHERE origin = 'pk'",
            [table],
            |row| row.get::<_, i64>(0),
        )
    };
    Ok(integer && indexed()? == 0)
}
