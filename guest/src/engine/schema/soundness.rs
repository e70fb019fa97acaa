//! SQLite's check of a database (<https://www.sqlite.org/pragma.html#pragma_integrity_check>),
//! sorted by what it means, and done as far as it can be without the program that made the file.

use rusqlite::{Connection, ErrorCode, ffi};

use super::catalogue::{Relation, quote, relations, text};
use super::foreign::{self, Affected, Foreign, Need};
use crate::engine::connection::stand_in;
use crate::text::lexer;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Soundness {
    /// B-trees and lists of pages that do not hold.
    pub damage: Vec<String>,
    /// What is wrong with the list of free pages alone: what is in use can be read.
    pub(crate) free: Vec<String>,
    /// What the rows, the constraints and the indexes have against each other.
    pub others: Vec<String>,
    /// What was not looked at, and why: sentences.
    pub unchecked: Vec<String>,
    /// Whether there may be more.
    pub more: bool,
}

impl Soundness {
    /// Adds what another look has found.
    pub(crate) fn add(&mut self, other: Self) {
        self.damage.extend(other.damage);
        self.free.extend(other.free);
        self.others.extend(other.others);
        self.unchecked.extend(other.unchecked);
        self.more |= other.more;
    }
}

/// Checks the whole database, or `table`, with what the connection knows; lists `most` problems
/// at most.
///
/// # Errors
///
/// SQLite's, among them that of a collation, function or module that only the file's program has:
/// see [`is_foreign`].
pub(crate) fn check(
    connection: &Connection,
    table: Option<&Relation>,
    pragma: &str,
    most: usize,
) -> rusqlite::Result<Soundness> {
    let mut found = Soundness::default();
    run(connection, table, pragma, most, &mut found, None)?;
    let foreign = Foreign::of(connection)?;
    let unknown = foreign.modules.iter();
    found.unchecked = unknown
        .filter(|module| table.is_none_or(|table| table.name == module.table))
        .map(|module| foreign::unlooked(&module.table, &module.needs()))
        .collect();
    found.unchecked.extend(unread_constraints(connection)?);
    Ok(found)
}

/// That SQLite has left out the CHECK constraints of a file that it may not write
/// (`sqlite3AddCheckConstraint` in its `build.c`), if there are any.
fn unread_constraints(connection: &Connection) -> rusqlite::Result<Option<String>> {
    if !connection.is_readonly("main")? {
        return Ok(None);
    }
    let mut statement =
        connection.prepare("SELECT sql FROM main.sqlite_schema WHERE type = 'table'")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let sql = text(row, 0)?;
        if lexer::tokens(&sql).iter().any(|token| token.is("check")) {
            let why = "SQLite does not read them where a file may not be written";
            return Ok(Some(format!("CHECK constraints were not checked: {why}.")));
        }
    }
    Ok(None)
}

/// Whether an error of [`check`] comes from what only the file's program has, so that the rest
/// can be checked without it.
pub(crate) fn is_foreign(error: &rusqlite::Error) -> bool {
    match error {
        // It does not compile.
        rusqlite::Error::SqlInputError { .. } => true,
        rusqlite::Error::SqliteFailure(error, _) => {
            error.code == ErrorCode::Unknown || error.extended_code == ffi::SQLITE_CORRUPT_VTAB
        }
        _ => false,
    }
}

/// The same as [`check`] for the virtual tables alone, one by one: one that needs the file's program
/// is named.
///
/// # Errors
///
/// SQLite's.
pub(crate) fn check_virtual_tables(
    connection: &Connection,
    table: Option<&Relation>,
    pragma: &str,
    most: usize,
) -> rusqlite::Result<Soundness> {
    let mut found = Soundness::default();
    let foreign = Foreign::of(connection)?;
    for one in relations(connection)? {
        if one.kind != "virtual" || table.is_some_and(|table| *table != one) {
            continue;
        }
        let unknown = foreign
            .modules
            .iter()
            .find(|module| module.table == one.name);
        match unknown {
            Some(module) => {
                let unlooked = foreign::unlooked(&one.name, &module.needs());
                found.unchecked.push(unlooked);
            }
            None => virtual_table(connection, &one, pragma, most, &mut found)?,
        }
    }
    Ok(found)
}

/// The same as [`check`] for all but the virtual tables, on a connection that only reads and has no
/// modules: the collations and functions of the file's program are stood in for, and what depends on
/// them is left out and named.
///
/// # Errors
///
/// SQLite's.
pub(crate) fn check_without_program(
    connection: &Connection,
    table: Option<&Relation>,
    pragma: &str,
    most: usize,
) -> rusqlite::Result<Soundness> {
    let foreign = Foreign::of(connection)?;
    let mut functions = Vec::new();
    loop {
        let affected = foreign.affected(&functions);
        let mut found = Soundness::default();
        match run(connection, table, pragma, most, &mut found, Some(&affected)) {
            Ok(()) => {
                let wanted =
                    |index: &&Affected| table.is_none_or(|table| table.name == index.table);
                let affected = affected.iter().filter(wanted).map(Affected::unchecked);
                found.unchecked = affected.collect();
                found.unchecked.extend(unread_constraints(connection)?);
                return Ok(found);
            }
            Err(error) => match Need::of(&error) {
                Some(need) if need.kind == "function" && !functions.contains(&need.name) => {
                    stand_in::function(connection, &need.name)?;
                    functions.push(need.name);
                }
                _ => return Err(error),
            },
        }
    }
}

fn virtual_table(
    connection: &Connection,
    table: &Relation,
    pragma: &str,
    most: usize,
    found: &mut Soundness,
) -> rusqlite::Result<()> {
    match run(connection, Some(table), pragma, most, found, None) {
        Err(error) if is_foreign(&error) => {
            let needs = foreign::tokenizer(connection, &table.name)?
                .map(|name| format!("tokenizer {name}"))
                .or_else(|| Need::of(&error).map(|need| need.to_string()));
            match needs {
                Some(needs) => found.unchecked.push(foreign::unlooked(&table.name, &needs)),
                None => found
                    .others
                    .push(format!("virtual table {}: {error}", table.name)),
            }
            Ok(())
        }
        result => result,
    }
}

/// What SQLite says of a full-text index, with what builds it anew.
fn with_cure(line: &str) -> String {
    let index = line
        .strip_prefix("malformed inverted index for FTS")
        .and_then(|rest| rest.split_once(" table main."));
    match index {
        Some((_, name)) => {
            let name = quote(name);
            format!(
                "{line}; INSERT INTO {name}({name}) VALUES('rebuild') builds it anew from its text"
            )
        }
        None => line.to_owned(),
    }
}

/// How many findings SQLite is asked for where some are left out.
const PLENTY: usize = 100_000;

/// Runs the pragma, and keeps `most` of its findings, but none that may come from stand-ins.
fn run(
    connection: &Connection,
    table: Option<&Relation>,
    pragma: &str,
    most: usize,
    found: &mut Soundness,
    affected: Option<&[Affected]>,
) -> rusqlite::Result<()> {
    let sql = match table {
        None => {
            let most = affected.map_or(most + 1, |_| PLENTY);
            format!("PRAGMA main.{pragma}({most})")
        }
        Some(table) => format!(
            "PRAGMA {}.{pragma}({})",
            quote(&table.schema),
            quote(&table.name)
        ),
    };
    let mut statement = connection.prepare(&sql)?;
    let mut cursor = statement.query([])?;
    loop {
        let row = match cursor.next() {
            Ok(Some(row)) => row,
            Ok(None) => return Ok(()),
            // The rows of a tree that does not hold.
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
                if found.damage.is_empty() {
                    found.damage.push(error.to_string());
                }
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let said = text(row, 0)?;
        // The trees of all tables are one answer of several lines, below a heading.
        let trees = said.starts_with("*** in database ");
        for line in said.lines() {
            if line == "ok" || line.starts_with("*** in database ") {
                continue;
            }
            let mut affected = affected.unwrap_or_default().iter();
            if !trees && affected.any(|index| index.explains(line)) {
                continue;
            }
            if found.damage.len() + found.free.len() + found.others.len() >= most {
                found.more = true;
                return Ok(());
            }
            // A page that is listed as free is met again where it is in use.
            let twice = !found.free.is_empty() && line.contains("2nd reference to page");
            let kind = match trees {
                true if twice || line.starts_with("Freelist: ") => &mut found.free,
                true if !line.ends_with(": never used") => &mut found.damage,
                _ => &mut found.others,
            };
            kind.push(with_cure(line));
        }
    }
}
