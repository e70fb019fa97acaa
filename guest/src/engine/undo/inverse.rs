//! How a schema change is reverted, decided when it is made.

use std::collections::BTreeSet;

use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use super::Parts;
use super::saved::Fingerprint;
use super::schema_diff::{Difference, Object};
use crate::engine::schema::catalogue::quote;
use crate::engine::schema::fts::plain;
use crate::text::lexer::tokens;

/// One act of taking a change of the schema back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum InverseOp {
    /// One statement, made by us or stored in the schema.
    Run(String),
    /// The rows that were saved, by their place in the step.
    Fill(usize),
}

/// How a schema change is reverted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Inverse {
    /// What has to be there as it was left.
    pub expect: Vec<Object>,
    /// What must not be there.
    pub absent: Vec<Object>,
    /// Tables whose rows have to be as they were left.
    pub prints: Vec<(String, Fingerprint)>,
    /// What is to be done, in order.
    pub acts: Vec<InverseOp>,
}

/// What was seen of a statement of the schema.
#[derive(Debug)]
pub(crate) struct SchemaChange<'a> {
    /// Tables that it altered.
    pub alters: &'a BTreeSet<String>,
    /// The columns of the altered tables, before it.
    pub columns: &'a [(String, Vec<String>)],
    /// The tables whose rows were saved.
    pub saved: &'a [String],
}

/// The same definition, however it is laid out and quoted.
pub(crate) fn same(one: &str, other: &str) -> bool {
    let words = |sql: &str| -> Vec<String> {
        tokens(sql)
            .iter()
            .filter(|token| token.is_code())
            .map(|token| plain(token.text))
            .collect()
    };
    one == other || words(one) == words(other)
}

/// The names of a table's columns.
///
/// # Errors
///
/// SQLite's.
pub(crate) fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement =
        connection.prepare("SELECT name FROM pragma_table_xinfo(?1, 'main') ORDER BY cid")?;
    let names = statement.query_map([table], |row| {
        crate::engine::schema::catalogue::text(row, 0)
    })?;
    names.collect()
}

impl Inverse {
    /// The inverse of a change, or why there is none.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn new(
        connection: &Connection,
        change: &Difference,
        deed: &SchemaChange<'_>,
        parts: &Parts,
    ) -> rusqlite::Result<Result<Self, String>> {
        if let Some(object) = change.dropped.iter().find(|object| object.is_virtual()) {
            return Ok(Err(format!(
                "the virtual table {} was dropped or renamed",
                object.name
            )));
        }
        let mut inverse = Self {
            expect: change.made.clone(),
            absent: change.dropped.clone(),
            ..Self::default()
        };
        inverse
            .expect
            .extend(change.altered.iter().map(|(_, now)| now.clone()));
        if let Some(table) = deed.alters.iter().next() {
            return inverse.alter(connection, change, deed, table);
        }
        let own = |object: &&Object| parts.owner(&object.name).is_none();
        let made: Vec<&Object> = change.made.iter().filter(own).collect();
        // What belongs to a table that was made goes with it.
        let with_table = |object: &Object| {
            object.kind != "table"
                && made.iter().any(|table| {
                    table.kind == "table" && table.name.eq_ignore_ascii_case(&object.table)
                })
        };
        for kind in ["trigger", "view", "index", "table"] {
            for object in made.iter().filter(|o| o.kind == kind && !with_table(o)) {
                inverse.acts.push(InverseOp::Run(format!(
                    "DROP {kind} main.{}",
                    quote(&object.name)
                )));
            }
        }
        for table in change
            .made
            .iter()
            .filter(|o| o.kind == "table" && !o.is_virtual())
        {
            inverse.prints.push((
                table.name.clone(),
                Fingerprint::of(connection, &table.name)?,
            ));
        }
        inverse.restore(&change.dropped, deed);
        Ok(Ok(inverse))
    }

    /// Makes what was dropped again: tables with their rows, then what stands on them.
    fn restore(&mut self, dropped: &[Object], deed: &SchemaChange<'_>) {
        for kind in ["table", "index", "view", "trigger"] {
            for object in dropped.iter().filter(|object| object.kind == kind) {
                self.acts.push(InverseOp::Run(object.sql.clone()));
                let saved = deed
                    .saved
                    .iter()
                    .position(|name| name.eq_ignore_ascii_case(&object.name));
                if let (Some(place), "table") = (saved, kind) {
                    self.acts.push(InverseOp::Fill(place));
                }
            }
        }
    }

    fn alter(
        mut self,
        connection: &Connection,
        change: &Difference,
        deed: &SchemaChange<'_>,
        table: &str,
    ) -> rusqlite::Result<Result<Self, String>> {
        let is_table = |object: &&Object| object.kind == "table";
        let gone = change.dropped.iter().find(is_table);
        let come = change.made.iter().find(is_table);
        if let (Some(old), Some(new)) = (gone, come) {
            self.acts.push(InverseOp::Run(format!(
                "ALTER TABLE main.{} RENAME TO {}",
                quote(&new.name),
                quote(&old.name)
            )));
            return Ok(Ok(self));
        }
        let before = deed.columns.iter().find(|(name, _)| name == table);
        let before = before
            .map(|(_, columns)| columns.clone())
            .unwrap_or_default();
        let after = columns(connection, table)?;
        let name = quote(table);
        let added: Vec<&String> = after
            .iter()
            .filter(|column| !before.contains(column))
            .collect();
        let removed: Vec<&String> = before
            .iter()
            .filter(|column| !after.contains(column))
            .collect();
        match (added.as_slice(), removed.as_slice()) {
            ([column], []) => {
                self.prints
                    .push((table.to_owned(), Fingerprint::of(connection, table)?));
                self.acts.push(InverseOp::Run(format!(
                    "ALTER TABLE main.{name} DROP COLUMN {}",
                    quote(column)
                )));
            }
            ([new], [old]) if before.len() == after.len() => {
                self.acts.push(InverseOp::Run(format!(
                    "ALTER TABLE main.{name} RENAME COLUMN {} TO {}",
                    quote(new),
                    quote(old)
                )));
            }
            ([], [_]) if !deed.saved.is_empty() => {
                self.prints
                    .push((table.to_owned(), Fingerprint::of(connection, table)?));
                self.acts
                    .push(InverseOp::Run(format!("DROP TABLE main.{name}")));
                let belongs = |object: &&Object| object.table.eq_ignore_ascii_case(table);
                let mut all: Vec<Object> =
                    change.altered.iter().map(|(was, _)| was.clone()).collect();
                all.extend(
                    super::schema_diff::objects(connection)?
                        .iter()
                        .filter(belongs)
                        .filter(|object| !all.iter().any(|other| other.is(object)))
                        .cloned()
                        .collect::<Vec<_>>(),
                );
                self.restore(&all, deed);
            }
            _ => {
                return Ok(Err(format!(
                    "the table {table} was altered in a way that has no inverse"
                )));
            }
        }
        Ok(Ok(self))
    }
}
