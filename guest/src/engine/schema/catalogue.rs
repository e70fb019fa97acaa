//! What the commands share that look at a schema: names, patterns, and counting within bounds.

use rusqlite::{Connection, ErrorCode, Row, RowIndex};

use super::columns::columns;
use super::foreign::{self, Need, module_of};
use crate::answer::output::{Column, Rows};
use crate::answer::value::{Value, text_of};

/// A database of at most this many bytes is counted exactly: every page of it is read once at
/// most, so that is also what it costs.
const EXACT_BYTES: i64 = 128 << 20;

/// Rows of one table of a larger database that are counted.
const ROWS_EACH: u64 = 100_000;

/// Rows of all tables of a larger database that are counted in one call.
const ROWS_TOGETHER: u64 = 1_000_000;

/// A table or view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Relation {
    /// `main`, `temp`, or the name it is attached by.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// `table`, `view`, `virtual` or `shadow`, by the engine's verdict.
    pub kind: String,
    /// The number of its columns, hidden ones included; 0 for a view that does not work.
    pub columns: i64,
    /// Whether it is WITHOUT ROWID.
    pub without_rowid: bool,
    /// Whether it is STRICT.
    pub strict: bool,
}

impl Relation {
    /// Its name for an SQL statement.
    pub(crate) fn quoted(&self) -> String {
        format!("{}.{}", quote(&self.schema), quote(&self.name))
    }

    /// Its name for a reader.
    pub(crate) fn shown(&self) -> String {
        if self.schema == "main" {
            self.name.clone()
        } else {
            format!("{}.{}", self.schema, self.name)
        }
    }

    /// Whether it is SQLite's own.
    pub(crate) fn is_internal(&self) -> bool {
        self.name
            .get(..7)
            .is_some_and(|start| start.eq_ignore_ascii_case("sqlite_"))
    }
}

/// Every table and view, in the order of their names; internal and shadow tables too.
pub(crate) fn relations(connection: &Connection) -> rusqlite::Result<Vec<Relation>> {
    let mut statement = connection.prepare(
        "SELECT schema, name, type, ncol, wr, strict FROM pragma_table_list \
         ORDER BY name COLLATE NOCASE, schema",
    )?;
    let rows = statement.query_map([], |row| {
        Ok(Relation {
            schema: text(row, 0)?,
            name: text(row, 1)?,
            kind: text(row, 2)?,
            columns: row.get::<_, i64>(3)?.max(0),
            without_rowid: row.get(4)?,
            strict: row.get(5)?,
        })
    })?;
    let mut all: Vec<Relation> = rows.collect::<rusqlite::Result<_>>()?;
    for relation in all.iter_mut().filter(|relation| relation.kind == "table") {
        // sqlite-vec does not tell SQLite of these.
        if let Some((owner, number)) = relation.name.rsplit_once("_vector_chunks")
            && number.bytes().all(|digit| digit.is_ascii_digit())
            && module_of(connection, owner).as_deref() == Some("vec0")
        {
            relation.kind = "shadow".into();
        }
    }
    // SQLite looks for the columns of views and virtual tables up to the first that it cannot read.
    for relation in all.iter_mut().filter(|relation| relation.columns == 0) {
        match columns(connection, &relation.schema, &relation.name) {
            Ok(columns) => relation.columns = i64::try_from(columns.len()).unwrap_or(i64::MAX),
            Err(error) if is_stop(&error) => return Err(error),
            Err(_) => {}
        }
    }
    Ok(all)
}

/// A text column, also where it is not UTF-8 or NULL.
pub(crate) fn text(row: &Row<'_>, index: impl RowIndex) -> rusqlite::Result<String> {
    Ok(text_of(row.get_ref(index)?).unwrap_or_default())
}

/// A name in quotes, whatever it holds.
pub(crate) fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// How many rows a table has, as far as it was worth finding out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    /// Exactly so many.
    Exact(u64),
    /// So many or more.
    AtLeast(u64),
    /// Not counted: a view, or the budget is used up.
    Uncounted,
    /// Counting failed, for this reason.
    Failed(String),
}

impl Count {
    /// The count as a value of a result.
    pub(crate) fn value(&self) -> Value {
        match self {
            Self::Exact(count) => Value::Integer(i64::try_from(*count).unwrap_or(i64::MAX)),
            Self::AtLeast(count) => Value::Text(format!("≥{count}")),
            Self::Uncounted | Self::Failed(_) => Value::Null,
        }
    }
}

/// Counts rows, and stops where that would take long.
#[derive(Debug)]
pub(crate) struct Counter {
    left: u64,
    each: u64,
    exact_bytes: i64,
}

impl Default for Counter {
    fn default() -> Self {
        Self {
            left: ROWS_TOGETHER,
            each: ROWS_EACH,
            exact_bytes: EXACT_BYTES,
        }
    }
}

impl Counter {
    /// Counts the rows of one table.
    ///
    /// # Errors
    /// Only if the call was stopped; a table that cannot be counted is a [`Count`] too.
    pub(crate) fn count(
        &mut self,
        connection: &Connection,
        table: &Relation,
    ) -> rusqlite::Result<Count> {
        // A view may take any time to give its first row.
        if table.kind == "view" {
            return Ok(Count::Uncounted);
        }
        let name = table.quoted();
        let ask = |select: &dyn Fn(&str) -> String| number(connection, &name, select);
        let counted = if table.kind != "virtual" && self.is_small(connection, &table.schema)? {
            ask(&|from| format!("SELECT count(*) FROM {from}")).map(Count::Exact)
        } else {
            let most = self.left.min(self.each);
            if most == 0 {
                return Ok(Count::Uncounted);
            }
            let some = most + 1;
            ask(&|from| format!("SELECT count(*) FROM (SELECT 1 FROM {from} LIMIT {some})")).map(
                |count| {
                    self.left -= count.min(most);
                    if count > most {
                        Count::AtLeast(most)
                    } else {
                        Count::Exact(count)
                    }
                },
            )
        };
        match counted {
            Err(error) if is_stop(&error) => Err(error),
            Err(error) => Ok(Count::Failed(foreign::why(&error))),
            Ok(count) => Ok(count),
        }
    }

    fn is_small(&self, connection: &Connection, schema: &str) -> rusqlite::Result<bool> {
        let ask = |pragma: &str| {
            let sql = format!("PRAGMA {}.{pragma}", quote(schema));
            connection.query_row(&sql, [], |row| row.get::<_, i64>(0))
        };
        Ok(ask("page_count")?.saturating_mul(ask("page_size")?) <= self.exact_bytes)
    }

    /// A counter that takes every database for a large one.
    #[cfg(test)]
    pub(crate) fn bounded(each: u64, together: u64) -> Self {
        Self {
            left: together,
            each,
            exact_bytes: -1,
        }
    }
}

/// The rows of a table.
///
/// # Errors
/// SQLite's.
pub(crate) fn count_rows(connection: &Connection, quoted: &str) -> rusqlite::Result<u64> {
    number(connection, quoted, &|from| {
        format!("SELECT count(*) FROM {from}")
    })
}

/// The number that a query answers, by what it selects from.
fn number(
    connection: &Connection,
    table: &str,
    select: &dyn Fn(&str) -> String,
) -> rusqlite::Result<u64> {
    let ask = |from: &str| {
        let asked = connection.query_row(&select(from), [], |row| row.get::<_, i64>(0));
        asked.map(i64::unsigned_abs)
    };
    match ask(table) {
        // SQLite counts by the smallest index, which may be in the order of a collation that only the
        // file's program has.
        Err(error) if Need::of(&error).is_some() => {
            let again = ask(&format!("{table} NOT INDEXED"));
            again.map_err(|again| if is_stop(&again) { again } else { error })
        }
        asked => asked,
    }
}

/// Whether the call was stopped, rather than one table being at fault.
pub(crate) fn is_stop(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::OperationInterrupted | ErrorCode::OutOfMemory | ErrorCode::DatabaseBusy)
    )
}

/// A result whose columns are these, each with its type.
pub(crate) fn rows(columns: &[(&str, &str)], rows: Vec<Vec<Value>>, most: u32) -> Rows {
    let total = rows.len() as u64;
    let mut rows = rows;
    rows.truncate(most as usize);
    Rows {
        columns: columns
            .iter()
            .map(|(name, declared)| Column {
                name: (*name).into(),
                declared: (*declared).into(),
            })
            .collect(),
        more: (rows.len() as u64) < total,
        rows,
        total: Some(total),
        limit: most,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_stops_at_the_bound_and_then_altogether() {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch(
                "CREATE TABLE a(x); CREATE TABLE b(x); CREATE VIEW v AS SELECT 1;
                 WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i<30)
                 INSERT INTO a SELECT i FROM n; INSERT INTO b SELECT x FROM a LIMIT 10;",
            )
            .unwrap();
        let relation = |name: &str| {
            relations(&connection)
                .unwrap()
                .into_iter()
                .find(|r| r.name == name)
                .unwrap()
        };
        let (a, b, v) = (relation("a"), relation("b"), relation("v"));
        let mut counter = Counter::default();
        assert_eq!(counter.count(&connection, &a).unwrap(), Count::Exact(30));
        assert_eq!(counter.count(&connection, &v).unwrap(), Count::Uncounted);
        let mut counter = Counter::bounded(20, 30);
        assert_eq!(counter.count(&connection, &a).unwrap(), Count::AtLeast(20));
        assert_eq!(counter.count(&connection, &b).unwrap(), Count::Exact(10));
        assert_eq!(counter.count(&connection, &b).unwrap(), Count::Uncounted);
        assert_eq!(Count::AtLeast(20).value(), Value::Text("≥20".into()));
    }

    #[test]
    fn a_table_that_cannot_be_counted_says_why() {
        let connection = Connection::open_in_memory().unwrap();
        let gone = Relation {
            schema: "main".into(),
            name: "gone".into(),
            kind: "table".into(),
            columns: 1,
            without_rowid: false,
            strict: false,
        };
        let count = Counter::default().count(&connection, &gone).unwrap();
        assert!(matches!(count, Count::Failed(why) if why.contains("no such table")));
    }
}
