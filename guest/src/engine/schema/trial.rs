//! Indexes that would help a statement, found by trying.
//!
//! The schema is recreated in a private database in memory, without rows but with the statistics
//! of ANALYZE. There it creates an index for every column that the statement names, and for every two
//! and three of them; what the planner then uses is what helps.

use std::collections::BTreeSet;

use rusqlite::Connection;

use super::catalogue::{quote, relations, text};
use crate::text::keyword::identifier;
use crate::text::scan;

/// Columns of one table that are tried together, and indexes that are tried in all.
const COLUMNS: usize = 6;
const CANDIDATES: usize = 400;

/// The contents of the private database.
pub(crate) struct Schema {
    /// Tables first, then indexes and views.
    definitions: Vec<String>,
    statistics: Vec<[String; 3]>,
    /// Each table with its columns.
    pub columns: Vec<(String, Vec<String>)>,
}

impl Schema {
    /// Reads it.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let mut statement = connection.prepare(
            "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND type <> 'trigger' \
             AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
             AND tbl_name NOT IN (SELECT name FROM pragma_table_list WHERE type = 'shadow') \
             ORDER BY type <> 'table', rowid",
        )?;
        let definitions = statement
            .query_map([], |row| text(row, 0))?
            .collect::<rusqlite::Result<_>>()?;
        let mut statistics = Vec::new();
        if connection.table_exists(None, "sqlite_stat1")? {
            let mut statement = connection.prepare("SELECT tbl, idx, stat FROM sqlite_stat1")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                statistics.push([text(row, 0)?, text(row, 1)?, text(row, 2)?]);
            }
        }
        let mut columns = Vec::new();
        for table in relations(connection)? {
            if table.kind != "table" || table.is_internal() || table.schema != "main" {
                continue;
            }
            let mut statement =
                connection.prepare("SELECT name FROM pragma_table_xinfo(?1) WHERE hidden <> 1")?;
            let names = statement
                .query_map([&table.name], |row| text(row, 0))?
                .collect::<rusqlite::Result<_>>()?;
            columns.push((table.name, names));
        }
        Ok(Self {
            definitions,
            statistics,
            columns,
        })
    }

    /// Recreates it in `model`, an empty database.
    ///
    /// # Errors
    ///
    /// SQLite's, about statistics.
    pub(crate) fn fill(&self, model: Connection) -> rusqlite::Result<Connection> {
        for definition in &self.definitions {
            // What cannot be made here is missed only by a statement that names it, and that says so.
            let _ = model.execute_batch(definition);
        }
        if !self.statistics.is_empty() {
            model.execute_batch("ANALYZE")?;
            model.execute_batch("DELETE FROM sqlite_stat1")?;
            let mut insert =
                model.prepare("INSERT INTO sqlite_stat1 VALUES(?1, nullif(?2, ''), ?3)")?;
            for statistic in &self.statistics {
                insert.execute(rusqlite::params_from_iter(statistic))?;
            }
            drop(insert);
            model.execute_batch("ANALYZE sqlite_schema")?;
        }
        Ok(model)
    }
}

/// What was found.
pub(crate) struct Advice {
    /// Every index that was tried, as the statement that makes it.
    pub candidates: Vec<String>,
    /// Those that help.
    pub indexes: Vec<String>,
    /// The steps of the plan with them.
    pub plan: Vec<String>,
}

/// Finds the indexes that the planner would use for `sql`, and the plan with them.
///
/// # Errors
///
/// What SQLite says of the statement.
pub(crate) fn find_indexes(
    model: &Connection,
    sql: &str,
    tables: &[(String, Vec<String>)],
) -> rusqlite::Result<Advice> {
    // Also says what is wrong with the statement, before anything is tried.
    plan(model, sql)?;
    model.execute_batch("SAVEPOINT trial")?;
    let tried = try_indexes(model, sql, tables);
    model.execute_batch("ROLLBACK TO trial; RELEASE trial")?;
    let (made, steps) = tried?;
    let uses = |name: &str| {
        let whole = |step: &String| {
            step.split_whitespace()
                .any(|word| word.trim_matches(|c| c == '(' || c == ')') == name)
        };
        steps.iter().any(whole)
    };
    // The plan once more, with these alone and under names that say what they are for.
    let chosen = made.iter().filter(|(name, ..)| uses(name));
    let indexes: Vec<String> = chosen.map(statement).collect();
    model.execute_batch("SAVEPOINT trial")?;
    let planned = model
        .execute_batch(&indexes.concat())
        .and_then(|()| plan(model, sql));
    model.execute_batch("ROLLBACK TO trial; RELEASE trial")?;
    Ok(Advice {
        candidates: made.iter().map(statement).collect(),
        indexes,
        plan: planned?,
    })
}

/// An index that was tried: its name, its table, its columns.
type Candidate = (String, String, Vec<String>);

/// What makes an index that was tried.
fn statement((_, table, columns): &Candidate) -> String {
    let list: Vec<String> = columns.iter().map(|column| identifier(column)).collect();
    format!(
        "CREATE INDEX {} ON {}({});",
        identifier(&format!("{table}_idx_{}", columns.join("_"))),
        identifier(table),
        list.join(", ")
    )
}

/// Makes every index that could help, and answers them and the plan that they lead to.
fn try_indexes(
    model: &Connection,
    sql: &str,
    tables: &[(String, Vec<String>)],
) -> rusqlite::Result<(Vec<Candidate>, Vec<String>)> {
    let named: BTreeSet<String> = scan::words(sql).collect();
    let mut made: Vec<Candidate> = Vec::new();
    for (table, columns) in tables {
        let used: Vec<&String> = columns
            .iter()
            .filter(|column| named.contains(&column.to_lowercase()))
            .take(COLUMNS)
            .collect();
        for choice in choices(&used) {
            if made.len() >= CANDIDATES {
                break;
            }
            let name = format!("sqlarium_candidate_{}", made.len());
            let list: Vec<String> = choice.iter().map(|column| quote(column)).collect();
            let create = format!(
                "CREATE INDEX {name} ON {}({})",
                quote(table),
                list.join(",")
            );
            if model.execute_batch(&create).is_ok() {
                made.push((name, table.clone(), choice.into_iter().cloned().collect()));
            }
        }
    }
    Ok((made, plan(model, sql)?))
}

/// Every column, every two and every three of them, in every order.
fn choices<'a>(columns: &[&'a String]) -> Vec<Vec<&'a String>> {
    let mut all: Vec<Vec<&String>> = columns.iter().map(|&column| vec![column]).collect();
    let mut last = all.clone();
    for _ in 0..2 {
        let longer: Vec<Vec<&String>> = last
            .iter()
            .flat_map(|choice| {
                columns
                    .iter()
                    .filter(|column| !choice.contains(column))
                    .map(|&column| choice.iter().copied().chain([column]).collect())
            })
            .collect();
        all.extend(longer.iter().cloned());
        last = longer;
    }
    all
}

/// The steps of a plan.
fn plan(model: &Connection, sql: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = model.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
    let mut rows = statement.raw_query();
    let mut steps = Vec::new();
    while let Some(row) = rows.next()? {
        steps.push(text(row, 3)?);
    }
    Ok(steps)
}
