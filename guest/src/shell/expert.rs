//! `.expert`: indexes that would help a statement, in the manner of the sqlite3 program.
//!
//! The schema is recreated in a private database in memory, without rows but with the statistics
//! of ANALYZE. There it creates an index for every column that the statement names, and for every two
//! and three of them; what the planner then uses is what helps.

use std::collections::BTreeSet;
use std::io::Write;

use rusqlite::Connection;

use super::{LineError, Shell, ShellContext, error};
use crate::engine::database::shell::statements;
use crate::engine::schema::catalogue::{quote, relations, text};
use crate::render::mode::identifier;
use crate::text::scan as words;

/// Columns of one table that are tried together, and indexes that are tried in all.
const COLUMNS: usize = 6;
const CANDIDATES: usize = 400;

/// The options of the command.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Expert {
    /// Whether to show what was tried as well.
    verbose: bool,
}

/// Runs the dot command: the next statements are examined instead of run.
pub(super) fn turn_on(
    shell: &mut Shell,
    given: &[String],
    _: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    let said = |text: String| Err(LineError::Said(text));
    let mut expert = Expert::default();
    let mut given = given.iter();
    while let Some(word) = given.next() {
        let option = match word.strip_prefix("--") {
            Some(name) => &format!("-{name}"),
            None => word,
        };
        if option.len() > 1 && "-verbose".starts_with(option) {
            expert.verbose = true;
        } else if option.len() > 1 && "-sample".starts_with(option) {
            let Some(number) = given.next() else {
                return said(format!("option requires an argument: {option}"));
            };
            // Rows are not sampled: ANALYZE says what is in a table.
            if !number.parse().is_ok_and(|share| (0..=100).contains(&share)) {
                return said(format!("value out of range: {number}"));
            }
        } else {
            return said(format!("unknown option: {option}"));
        }
    }
    shell.state.expert = Some(expert);
    Ok(())
}

/// Looks at the statements of a text.
pub(super) fn advise(
    shell: &mut Shell,
    sql: &str,
    expert: Expert,
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    let schema = shell.database(cx.context)?.inspect(Schema::read)?;
    let model = schema.model().map_err(|why| {
        error(format!(
            "the schema cannot be recreated to try indexes: {why}."
        ))
    })?;
    let mut studied = Vec::new();
    for statement in statements(sql).into_iter().map(str::trim) {
        let advice = find_indexes(&model, statement, &schema.columns).map_err(error)?;
        studied.push((statement, advice));
    }
    let mut out = shell.out(cx);
    if expert.verbose {
        writeln!(out, "-- Candidates -----------------------------")?;
        let candidates = studied.iter().flat_map(|(_, advice)| &advice.candidates);
        for index in candidates.collect::<BTreeSet<_>>() {
            writeln!(out, "{index}")?;
        }
        writeln!(out)?;
    }
    for (number, (statement, advice)) in studied.iter().enumerate() {
        if expert.verbose {
            let number = number + 1;
            writeln!(
                out,
                "-- Query {number} --------------------------------\n{statement}\n"
            )?;
        }
        if advice.indexes.is_empty() {
            writeln!(out, "(no new indexes)\n")?;
        }
        for index in &advice.indexes {
            writeln!(out, "{index}")?;
        }
        if !advice.indexes.is_empty() {
            writeln!(out)?;
        }
        for step in &advice.plan {
            writeln!(out, "{step}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// The contents of the private database.
struct Schema {
    /// Tables first, then indexes and views.
    definitions: Vec<String>,
    statistics: Vec<[String; 3]>,
    /// Each table with its columns.
    columns: Vec<(String, Vec<String>)>,
}

impl Schema {
    fn read(connection: &Connection) -> rusqlite::Result<Self> {
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

    fn model(&self) -> rusqlite::Result<Connection> {
        let model = Connection::open_in_memory()?;
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

struct Advice {
    /// Every index that was tried.
    candidates: Vec<String>,
    indexes: Vec<String>,
    plan: Vec<String>,
}

/// Finds the indexes that the planner would use for `sql`, and the plan with them.
fn find_indexes(
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
    let named: BTreeSet<String> = words::words(sql).collect();
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
