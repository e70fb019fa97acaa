//! What a constraint met: the value, and the row that is in its way.
//!
//! SQLite names the columns alone. The rows that a statement was about to write are read once more,
//! as a query, and looked up; nothing is written for that. What is not found is not told.

mod foreign_keys;

use rusqlite::types::ValueRef;

use super::Database;
use super::new_rows::{NewRows, UPDATED};
use crate::answer::failure::{Failure, Status};
use crate::answer::value::Value;
use crate::engine::guard::authorizer::{Mode, Observed};
use crate::engine::schema::catalogue::quote;
use crate::engine::schema::fts::plain;
use crate::engine::statement;
use crate::host::interrupt::Work;
use crate::text::escape::visible;
use crate::text::lexer::{Token, tokens};
use crate::text::scan;

/// Characters of a value that are shown.
const SHOWN: u32 = 60;

/// An expression that shows a value as SQL writes it, cut where it is long.
fn shown(value: &str) -> String {
    format!(
        "iif(typeof({value}) IN ('text', 'blob'), quote(substr({value}, 1, {SHOWN})) || \
         iif(length({value}) > {SHOWN}, '…', ''), quote({value}))"
    )
}

const NEW: &str = "\"sqlarium new rows\"";

impl Database {
    /// The failure of a statement with what its constraint met, as far as it can be found.
    /// `values` are those that were bound, by SQLite's number; it ran `since`.
    pub(super) fn with_met(
        &self,
        failure: Failure,
        sql: &str,
        seen: &Observed,
        values: &[(usize, Value)],
        since: Work,
    ) -> Failure {
        if failure.status != Status::Constraint {
            return failure;
        }
        // About as much work as the statement took; what takes longer is not told.
        self.interrupt.limit(since);
        let met = self.met(&failure.message, sql, seen, values);
        self.interrupt.unlimit();
        match met {
            Some(met) => Failure {
                message: format!("{} {}", failure.message, visible(&met)),
                ..failure
            },
            None => failure,
        }
    }

    fn met(
        &self,
        said: &str,
        sql: &str,
        seen: &Observed,
        values: &[(usize, Value)],
    ) -> Option<String> {
        let table = seen.target.as_deref()?;
        let said = said.trim_end_matches('.');
        if let Some(what) = said.strip_prefix("UNIQUE constraint failed: ") {
            if let Some(index) = what
                .strip_prefix("index '")
                .and_then(|name| name.strip_suffix('\''))
            {
                let sql =
                    "SELECT tbl_name, sql FROM sqlite_schema WHERE type = 'index' AND name = ?1";
                let index = Value::Text(index.to_owned());
                let found = self.first(sql, &[(1, index)])?;
                return Some(format!("It is on {}: {}.", found.first()?, found.get(1)?));
            }
            return self.met_key(table, what, sql, values);
        }
        if said.starts_with("FOREIGN KEY constraint failed") {
            return self.met_foreign_key(table, sql, values);
        }
        if seen.within {
            // It may be of what a trigger writes.
            return None;
        }
        if let Some(name) = said.strip_prefix("CHECK constraint failed: ") {
            let check = self.check_named(table, name);
            let text = check.as_deref().unwrap_or(name);
            let met = self.only(table, sql, values, |column| {
                scan::words(text).any(|word| word.eq_ignore_ascii_case(column))
            });
            let check = check.map(|check| format!("It is CHECK {check} on {table}."));
            let met = met.map(|met| format!("The new row of {table} has {met}."));
            let told: Vec<String> = check.into_iter().chain(met).collect();
            return (!told.is_empty()).then(|| told.join(" "));
        }
        // In a STRICT table; otherwise a rowid that is none.
        let wanted = match said.rsplit_once(&format!(" column {table}.")) {
            Some((_, column)) => column.to_owned(),
            None if said.ends_with("datatype mismatch") => {
                let key = "SELECT name FROM pragma_table_info(?1) WHERE pk = 1";
                let key = self.first(key, &[(1, Value::Text(table.to_owned()))])?;
                key.first()?.clone()
            }
            None => return None,
        };
        let met = self.only(table, sql, values, |column| column == wanted)?;
        Some(format!("The new row of {table} has {met}."))
    }

    /// The columns of the new row that are `wanted`, if there is one new row.
    fn only(
        &self,
        table: &str,
        sql: &str,
        values: &[(usize, Value)],
        wanted: impl Fn(&str) -> bool,
    ) -> Option<String> {
        let (with, mut named) = self.new_rows(&self.columns(table)?, sql)?;
        named.retain(|column| wanted(column));
        let list: String = named
            .iter()
            .map(|column| format!(", {}", shown(&format!("new.{}", quote(column)))))
            .collect();
        let found = self.first(
            &format!("{with} SELECT count(*){list} FROM {NEW} AS new"),
            values,
        )?;
        let (count, found) = found.split_first()?;
        let told: Vec<String> = named
            .iter()
            .zip(found)
            .map(|(column, value)| format!("{column} = {value}"))
            .collect();
        (count == "1" && !told.is_empty()).then(|| told.join(", "))
    }

    /// The row that has the key already, or the key that two of the new rows share.
    fn met_key(
        &self,
        table: &str,
        what: &str,
        sql: &str,
        values: &[(usize, Value)],
    ) -> Option<String> {
        let columns = self.columns(table)?;
        // Names may have commas and dots in them, so that they are put together rather than taken apart.
        let keys: Vec<&String> = {
            let mut rest = what;
            let mut keys = Vec::new();
            while !rest.is_empty() {
                let key = columns.iter().find(|column| {
                    let after = rest.strip_prefix(&format!("{table}.{column}"));
                    after.is_some_and(|after| after.is_empty() || after.starts_with(", "))
                })?;
                keys.push(key);
                rest = &rest[table.len() + 1 + key.len()..];
                rest = rest.strip_prefix(", ").unwrap_or(rest);
            }
            keys
        };
        let (with, named) = self.new_rows(&columns, sql)?;
        // An update meets no row that it changes itself, but for another new one.
        let others = if with.contains(UPDATED) {
            format!(" AND old.rowid NOT IN (SELECT {UPDATED} FROM {NEW})")
        } else {
            String::new()
        };
        if keys.is_empty() || !keys.iter().all(|key| named.contains(key)) {
            return None;
        }
        let each = |make: &dyn Fn(&str) -> String, joint: &str| {
            let parts: Vec<String> = keys.iter().map(|key| make(&quote(key))).collect();
            parts.join(joint)
        };
        let told = |found: &[String]| -> String {
            let pairs = keys
                .iter()
                .zip(found)
                .map(|(key, value)| format!("{key} = {value}"));
            pairs.collect::<Vec<_>>().join(", ")
        };
        let from = format!(
            "FROM {} AS old JOIN {NEW} AS new ON {}{others}",
            quote(table),
            each(&|key| format!("old.{key} = new.{key}"), " AND ")
        );
        let list = each(&|key| shown(&format!("old.{key}")), ", ");
        for rowid in ["old.rowid", "NULL"] {
            let look = format!("{with} SELECT {list}, {rowid} {from} LIMIT 1");
            if let Some(found) = self.first(&look, values) {
                let row = match found.last()?.as_str() {
                    "NULL" => format!("A row of {table}"),
                    rowid => format!("The row of {table} with rowid {rowid}"),
                };
                return Some(format!("{row} has {} already.", told(&found)));
            }
        }
        let list = each(&|key| shown(&format!("new.{key}")), ", ");
        let groups = each(&|key| format!("new.{key}"), ", ");
        let look = format!(
            "{with} SELECT {list} FROM {NEW} AS new GROUP BY {groups} HAVING count(*) > 1 LIMIT 1"
        );
        let found = self.first(&look, values)?;
        Some(format!(
            "More than one of the new rows has {}.",
            told(&found)
        ))
    }

    /// The text of a CHECK that has a name.
    fn check_named(&self, table: &str, name: &str) -> Option<String> {
        let sql = "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?1";
        let found = self.first(sql, &[(1, Value::Text(table.to_owned()))])?;
        let text = found.first()?;
        let code: Vec<Token<'_>> = tokens(text).into_iter().filter(Token::is_code).collect();
        let at = code.windows(4).position(|four| {
            four[0].is("CONSTRAINT") && plain(four[1].text) == name && four[2].is("CHECK")
        })?;
        let mut depth = 0_i32;
        let mut check = Vec::new();
        for token in &code[at + 3..] {
            match token.text {
                "(" => depth += 1,
                ")" => depth -= 1,
                _ => {}
            }
            check.push(token.text);
            if depth == 0 {
                break;
            }
        }
        Some(check.join(" "))
    }

    /// A WITH that has the new rows, and the columns of these.
    fn new_rows(&self, columns: &[String], sql: &str) -> Option<(String, Vec<String>)> {
        let rows = NewRows::of(sql)?;
        let canonical = |name: &String| {
            let known = columns
                .iter()
                .find(|column| column.eq_ignore_ascii_case(name));
            known.unwrap_or(name).clone()
        };
        let named: Vec<String> = if rows.columns.is_empty() {
            columns.to_vec()
        } else {
            rows.columns.iter().map(canonical).collect()
        };
        let mut list: Vec<String> = named.iter().map(|name| quote(name)).collect();
        if rows.updates {
            list.push(UPDATED.to_owned());
        }
        let with = format!("WITH {NEW}({}) AS ({}\n)", list.join(", "), rows.source);
        Some((with, named))
    }

    /// The columns of a table that rows are inserted with.
    fn columns(&self, table: &str) -> Option<Vec<String>> {
        let sql = "SELECT name FROM pragma_table_xinfo(?1) WHERE hidden = 0";
        let rows = self.all(sql, &[(1, Value::Text(table.to_owned()))])?;
        Some(rows.into_iter().flatten().collect())
    }

    fn first(&self, sql: &str, values: &[(usize, Value)]) -> Option<Vec<String>> {
        self.all(sql, values)?.into_iter().next()
    }

    /// The rows of a query as text, under the rules for a client's statement that reads.
    fn all(&self, sql: &str, values: &[(usize, Value)]) -> Option<Vec<Vec<String>>> {
        self.authorizer.enter(Mode::Read);
        let connection = self.connection().ok()?;
        let mut statement = statement::one(connection, sql, &self.authorizer, true).ok()?;
        if !statement.readonly() {
            return None;
        }
        for (index, value) in values {
            if *index <= statement.parameter_count() {
                statement.raw_bind_parameter(*index, value).ok()?;
            }
        }
        self.authorizer.run(Mode::Read);
        let columns = statement.column_count();
        let mut rows = statement.raw_query();
        let mut found = Vec::new();
        while let Some(row) = rows.next().ok()? {
            let cell = |index| match row.get_ref(index) {
                Ok(ValueRef::Text(text)) => String::from_utf8_lossy(text).into_owned(),
                Ok(ValueRef::Integer(number)) => number.to_string(),
                _ => "NULL".to_owned(),
            };
            found.push((0..columns).map(cell).collect());
        }
        Some(found)
    }
}
