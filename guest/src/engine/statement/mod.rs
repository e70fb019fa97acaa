//! One statement: prepared, and stepped through under the budgets.
//!
//! - [`params`]: values for its parameters, and which is for which: [`parameters`]. [`errors`]: its failure as a sentence to act on,
//!   and [`dialect`]: one for SQL that was written for another database.
//! - [`vectors`]: the failures of sqlite-vec. [`plan`]: how it would run, and [`loops`]: how it ran.
//! - [`leniency`]: what the text of a file may that a client's may not.

pub(crate) mod dialect;
pub(crate) mod errors;
pub(crate) mod leniency;
pub(crate) mod loops;
mod parameters;
pub mod params;
pub(crate) mod plan;
mod vectors;

#[cfg(test)]
pub(super) use dialect::functions_elsewhere;
use std::borrow::Cow;

use rusqlite::{Batch, Connection, Statement};

use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::types::ValueRef;

use self::leniency::{Leniency, Strings};
use super::guard::authorizer::Authorizer;
use crate::answer::output::{Column, Rows};
use crate::answer::value::Value;
use crate::host::interrupt::InterruptCheck;

/// Why no statement was prepared.
#[derive(Debug)]
pub enum Unprepared {
    /// There is nothing but white space and comments.
    Empty,
    /// A NUL byte, at which SQLite would stop reading.
    Nul,
    /// A second statement follows.
    Second,
    /// SQLite's own refusal.
    Sqlite(rusqlite::Error),
}

/// Prepares the one statement of `sql`. Nothing but comments and semicolons may
/// follow it, by the tail that SQLite itself reports.
pub fn one<'c>(
    connection: &'c Connection,
    sql: &str,
    authorizer: &Authorizer,
    only: bool,
) -> Result<Statement<'c>, Unprepared> {
    if only && sql.contains('\0') {
        return Err(Unprepared::Nul);
    }
    let allow = |leniency| leniency::allow(connection, leniency).map_err(Unprepared::Sqlite);
    let mut leniency = Leniency::needed_by(sql);
    allow(leniency)?;
    authorizer.lend(false);
    let refused = match first(connection, sql, authorizer, only) {
        Err(Unprepared::Sqlite(error)) => error,
        prepared => return prepared,
    };
    let mut text = Cow::Borrowed(sql);
    let mut again = leniency.for_the_schema(connection, &refused);
    while again {
        if leniency.strings == Strings::Views {
            // Then the client's own names get quotes that are never around strings.
            match leniency::strict_names(sql) {
                Some(strict) => text = strict,
                None => break,
            }
        }
        allow(leniency)?;
        authorizer.enter(authorizer.mode());
        authorizer.lend(leniency.trusted);
        match first(connection, &text, authorizer, only) {
            Ok(statement) => return Ok(statement),
            Err(Unprepared::Sqlite(error)) => again = leniency.for_the_schema(connection, &error),
            Err(_) => break,
        }
    }
    allow(Leniency::default())?;
    authorizer.lend(false);
    Err(Unprepared::Sqlite(refused))
}

/// Prepares the one statement of `sql`, which is the text of a file: strings may be in double quotes.
pub fn of_file<'c>(
    connection: &'c Connection,
    sql: &str,
    authorizer: &Authorizer,
) -> Result<Statement<'c>, Unprepared> {
    leniency::allow(connection, Leniency::of(Strings::Everywhere)).map_err(Unprepared::Sqlite)?;
    first(connection, sql, authorizer, true)
}

fn first<'c>(
    connection: &'c Connection,
    sql: &str,
    authorizer: &Authorizer,
    only: bool,
) -> Result<Statement<'c>, Unprepared> {
    let mut batch = Batch::new(connection, sql);
    let statement = batch
        .next()
        .map_err(Unprepared::Sqlite)?
        .ok_or(Unprepared::Empty)?;
    if only {
        // Some pragmas take effect while they are prepared; the gate keeps the tail from it.
        authorizer.shut();
        match batch.next() {
            Ok(None) => {}
            Ok(Some(_)) | Err(_) => return Err(Unprepared::Second),
        }
    }
    Ok(statement)
}

/// How much of a result is kept.
#[derive(Clone, Copy, Debug)]
pub struct RowLimits {
    /// Rows to keep.
    pub rows: u32,
    /// Rows to count to, at most, in all.
    pub count: u32,
    /// Bytes to keep, as they lie in memory.
    pub bytes: u64,
}

/// What stepping came to.
#[derive(Debug)]
pub struct ResultSet {
    /// The rows; `None` for a statement that has no columns.
    pub rows: Option<Rows>,
    /// A remark about what was left out.
    pub note: Option<String>,
}

/// Steps through a statement whose values are bound. A statement that writes is
/// always stepped to its end, or it would not be committed.
pub fn result_set(
    statement: &mut Statement<'_>,
    interrupt: &InterruptCheck,
    extent: RowLimits,
) -> rusqlite::Result<ResultSet> {
    let writes = !statement.readonly();
    if statement.column_count() == 0 {
        let mut rows = statement.raw_query();
        while rows.next()?.is_some() {}
        return Ok(ResultSet {
            rows: None,
            note: None,
        });
    }
    let before = interrupt.work();
    let mut columns = Vec::new();
    let mut kept: Vec<Vec<Value>> = Vec::new();
    let mut bytes = 0_u64;
    let mut seen = 0_u64;
    let mut note = None;
    let mut more = false;
    let mut ended = false;
    let mut rows = statement.raw_query();
    loop {
        let row = match rows.next() {
            Ok(Some(row)) => row,
            Ok(None) => {
                ended = true;
                break;
            }
            // Only the counting was cut short, by its own ceiling.
            Err(_) if interrupt.unlimit() && interrupt.interruption().is_none() => break,
            Err(error) => return Err(error),
        };
        if seen == 0 {
            // Another process may have changed the schema since the statement was prepared.
            columns = self::columns(row.as_ref());
        }
        seen += 1;
        interrupt.step();
        if !more {
            let wanted = kept.len() < extent.rows as usize;
            let mut values = Vec::with_capacity(columns.len());
            let mut size = 0;
            for index in 0..columns.len() {
                let value = row.get_ref(index)?;
                size += weight(value);
                // What does not fit is not copied either.
                if wanted && bytes + size <= extent.bytes {
                    values.push(Value::from_sqlite(value));
                }
            }
            let fits = bytes + size <= extent.bytes;
            if fits && wanted {
                bytes += size;
                kept.push(values);
                continue;
            }
            more = true;
            if !fits {
                note = Some(heavy(kept.len(), size, extent.bytes));
            }
            if !writes {
                interrupt.limit(before);
            }
        }
        if !writes && seen > u64::from(extent.count) {
            break;
        }
    }
    drop(rows);
    interrupt.unlimit();
    if seen == 0 {
        columns = self::columns(statement);
    }
    let rows = Rows {
        columns,
        rows: kept,
        total: ended.then_some(seen),
        more,
        limit: extent.rows,
    };
    Ok(ResultSet {
        rows: Some(rows),
        note,
    })
}

/// The columns of a result as SQLite reports them now.
fn columns(statement: &Statement<'_>) -> Vec<Column> {
    statement
        .columns()
        .map(|column| Column {
            name: column.name().to_owned(),
            declared: column.decl_type().unwrap_or_default().to_uppercase(),
        })
        .collect()
}

/// What a value takes in memory, roughly, in bytes.
fn weight(value: ValueRef<'_>) -> u64 {
    let held = match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len(),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => 0,
    };
    held as u64 + size_of::<Value>() as u64
}

fn heavy(kept: usize, size: u64, budget: u64) -> String {
    if kept == 0 {
        format!(
            "The first row has {size} bytes, but a reply can hold only {budget} (--reply); select \
             fewer columns, or parts of the long values with substr()."
        )
    } else {
        format!(
            "Only {kept} rows are returned, because a reply can hold only {budget} bytes \
             (--reply); select fewer columns, or continue with LIMIT and OFFSET."
        )
    }
}
