//! How a statement would run, and what each step of its plan took when it ran.

use rusqlite::{Connection, StatementStatus};
use serde_json::json;

use super::dry_run::untried;
use super::run::explains;
use super::{Access, Database};
use crate::answer::failure::{Failure, Status};
use crate::answer::output::Output;
use crate::engine::connection;
use crate::engine::guard::authorizer::{Authorizer, Mode};
use crate::engine::schema::catalogue::{Count, Counter, Relation, relations};
use crate::engine::schema::trial::{Schema, find_indexes};
use crate::engine::statement::errors;
use crate::engine::statement::loops::{Counted, Loop};
use crate::engine::statement::params::Params;
use crate::engine::statement::plan::{self, Remark};
use crate::text::count::{count, grouped};
use crate::text::scan;

/// Statements that an index can help.
const HELPED: [&str; 6] = ["SELECT", "WITH", "UPDATE", "DELETE", "INSERT", "REPLACE"];

/// What a statement took.
struct Ran {
    loops: Vec<Loop>,
    /// Rows that it gave, or changed.
    rows: u64,
    /// Figures of the whole, each with what it counts.
    figures: Vec<(&'static str, u64)>,
    /// What it used.
    fuel: u64,
    micros: u64,
}

impl Database {
    /// Tells how SQLite would run one statement, and whether it reads or writes; runs nothing. Its
    /// parameters need no values, but the plan may depend on them.
    ///
    /// # Errors
    ///
    /// As for [`Database::query`], but for writing.
    pub fn explain(&mut self, sql: &str, params: &Params) -> Result<Output, Failure> {
        self.begin(Access::Read)?;
        let result = self.plan(sql, params).and_then(|mut output| {
            if output.extra.contains_key("plan") && !explains(sql) {
                let loops = self.counted(sql, Mode::Explain)?.loops();
                self.remark(&mut output, sql, &loops, false)?;
            }
            Ok(output)
        });
        self.end(result)
    }

    /// The same of a statement that is run under the budgets: its rows are thrown away, and what it
    /// writes is rolled back.
    ///
    /// # Errors
    ///
    /// As for [`Database::exec_to`] as a dry run, and for [`Database::query`].
    pub fn explain_run(&mut self, sql: &str, params: &Params) -> Result<Output, Failure> {
        if explains(sql) {
            return Err(Failure::new(
                Status::Syntax,
                "An EXPLAIN itself cannot be run and measured.",
            )
            .hint("Give the statement without EXPLAIN."));
        }
        self.begin(Access::Read)?;
        let planned = self.plan(sql, params);
        let mut output = self.end(planned)?;
        let writes = output.extra.get("effect") == Some(&json!("writes"));
        if writes {
            if self.settings.readonly {
                return Err(errors::writes("change the database", &self.settings));
            }
            untried(sql)?;
        }
        self.begin(if writes { Access::Write } else { Access::Read })?;
        let result = match writes {
            true => self.trusted("BEGIN IMMEDIATE").and_then(|()| {
                let ran = self.ran(sql, params, Mode::Try);
                self.roll_back_open().and(ran)
            }),
            false => self.ran(sql, params, Mode::Read),
        };
        let result = result.and_then(|ran| {
            self.remark(&mut output, sql, &ran.loops, true)?;
            ran.tell(&mut output, writes);
            Ok(output)
        });
        self.end(result)
    }

    /// Prepares a statement so that its loops are known.
    fn counted(&self, sql: &str, mode: Mode) -> Result<Counted<'_>, Failure> {
        Counted::prepare(
            self.connection()?,
            || self.prepare(sql, mode).map(|(statement, _)| statement),
            |error| self.failure(&error, "", 0),
        )
    }

    fn ran(&self, sql: &str, params: &Params, mode: Mode) -> Result<Ran, Failure> {
        let mut counted = self.counted(sql, mode)?;
        if mode == Mode::Read && self.layers.verdict && !counted.statement.readonly() {
            return Err(self.would_write(sql));
        }
        params.bind(&mut counted.statement, sql)?;
        let changed = self.changes()?;
        self.authorizer.run(mode);
        let before = self.interrupt.usage();
        let stepped = {
            let mut rows = counted.statement.raw_query();
            let mut given = 0_u64;
            loop {
                match rows.next() {
                    Ok(Some(_)) => {
                        given += 1;
                        self.interrupt.step();
                    }
                    Ok(None) => break Ok(given),
                    Err(error) => break Err(error),
                }
            }
        };
        let given = stepped.map_err(|error| self.failure(&error, sql, 0))?;
        let after = self.interrupt.usage();
        let changed = self.connection()?.total_changes() - changed;
        let figure = |status| counted.statement.get_status(status).unsigned_abs().into();
        Ok(Ran {
            loops: counted.loops(),
            rows: if mode == Mode::Read { given } else { changed },
            figures: vec![
                ("instructions", figure(StatementStatus::VmStep)),
                ("full_scan_rows", figure(StatementStatus::FullscanStep)),
                ("sorts", figure(StatementStatus::Sort)),
                ("automatic_index_rows", figure(StatementStatus::AutoIndex)),
            ],
            fuel: after.fuel.saturating_sub(before.fuel),
            micros: u64::try_from(after.time.saturating_sub(before.time).as_micros())
                .unwrap_or(u64::MAX),
        })
    }

    /// Adds to a plan what its loops come to, what is known of its tables, and what would help.
    fn remark(
        &self,
        output: &mut Output,
        sql: &str,
        loops: &[Loop],
        ran: bool,
    ) -> Result<(), Failure> {
        self.authorizer.enter(Mode::Inspect);
        let connection = self
            .connection()
            .and_then(|connection| self.lenient(connection))?;
        let details: Vec<(i64, String)> = output.extra["plan"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|step| Some((step["id"].as_i64()?, step["detail"].as_str()?.to_owned())))
            .collect();
        let detail = |step: i64| {
            let found = details.iter().find(|(id, _)| *id == step);
            found.map_or("", |(_, detail)| detail.as_str())
        };
        let looked = || {
            let tables = tables_of(connection, loops)?;
            let mut counter = Counter::default();
            let mut remarks = Vec::new();
            for (one, table) in loops.iter().zip(&tables) {
                let scans = detail(one.step).starts_with("SCAN ");
                let size = match table {
                    Some(table) if scans && !ran => counter.count(connection, table)?,
                    _ => Count::Uncounted,
                };
                remarks.push(match ran {
                    true => came_to(one),
                    false => expected(one, &size),
                });
            }
            let mut unknown: Vec<&str> = Vec::new();
            for (one, table) in loops.iter().zip(&tables) {
                let Some(table) = table else { continue };
                if !detail(one.step).contains("INTEGER PRIMARY KEY")
                    && !unknown.contains(&table.name.as_str())
                    && lacks_statistics(connection, table)?
                {
                    unknown.push(&table.name);
                }
            }
            let slow = details.iter().any(|(step, detail)| {
                let one = loops.iter().position(|one| one.step == *step);
                let table = one.and_then(|at| tables[at].as_ref());
                detail.starts_with("SCAN ") && table.is_some()
                    || detail.contains("AUTOMATIC")
                    || detail.contains("TEMP B-TREE")
            });
            let helped = HELPED.contains(&scan::first_word(sql).to_uppercase().as_str());
            let schema = match slow && helped {
                true => Some(Schema::read(connection)?),
                false => None,
            };
            let unknown: Vec<String> = unknown.into_iter().map(str::to_owned).collect();
            Ok((remarks, unknown, schema))
        };
        let (remarks, unknown, schema) =
            looked().map_err(|error: rusqlite::Error| self.failure(&error, "", 0))?;
        plan::add(output, &remarks);
        let indexes = schema.map_or_else(Vec::new, |schema| self.missing(sql, &schema));
        if !indexes.is_empty() {
            let what = match indexes.len() {
                1 => "An index would help",
                _ => "Indexes would help",
            };
            output.notes.push(format!("{what}: {}", indexes.join(" ")));
        }
        output
            .extra
            .insert("missing_indexes".into(), json!(indexes));
        if !unknown.is_empty() {
            output.notes.push(format!(
                "The planner has no statistics on {}: ANALYZE gathers them.",
                unknown.join(", ")
            ));
        }
        output
            .extra
            .insert("no_statistics_on".into(), json!(unknown));
        Ok(())
    }

    /// The indexes that would help; none if that cannot be tried.
    fn missing(&self, sql: &str, schema: &Schema) -> Vec<String> {
        let (limits, authorizer) = (&self.settings.limits, Authorizer::new());
        connection::open(None, Access::Write, limits, &authorizer, &self.interrupt)
            .and_then(|model| schema.fill(model))
            .and_then(|model| find_indexes(&model, sql, &schema.columns))
            .map_or_else(|_| Vec::new(), |advice| advice.indexes)
    }
}

/// The ordinary table that each loop goes over; none for what is no such table.
fn tables_of(connection: &Connection, loops: &[Loop]) -> rusqlite::Result<Vec<Option<Relation>>> {
    let all = relations(connection)?;
    let mut owner = connection
        .prepare("SELECT tbl_name FROM main.sqlite_schema WHERE type = 'index' AND name = ?1")?;
    let mut found = Vec::new();
    for one in loops {
        let Some(object) = &one.object else {
            found.push(None);
            continue;
        };
        let table: String = match owner.query_row([object], |row| row.get(0)) {
            Ok(table) => table,
            Err(rusqlite::Error::QueryReturnedNoRows) => object.clone(),
            Err(error) => return Err(error),
        };
        let is = |relation: &&Relation| {
            relation.kind == "table"
                && relation.schema == "main"
                && relation.name.eq_ignore_ascii_case(&table)
        };
        found.push(all.iter().find(is).cloned());
    }
    Ok(found)
}

/// Whether a table has rows and indexes, and ANALYZE has not seen them.
fn lacks_statistics(connection: &Connection, table: &Relation) -> rusqlite::Result<bool> {
    let ask = |sql: &str| connection.query_row(sql, [&table.name], |row| row.get::<_, bool>(0));
    let has_index =
        "SELECT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE type = 'index' AND tbl_name = ?1)";
    let seen = "SELECT EXISTS (SELECT 1 FROM main.sqlite_stat1 WHERE tbl = ?1)";
    let filled = format!("SELECT EXISTS (SELECT 1 FROM {})", table.quoted());
    Ok(ask(has_index)?
        && !(connection.table_exists(Some("main"), "sqlite_stat1")? && ask(seen)?)
        && connection.query_row(&filled, [], |row| row.get::<_, bool>(0))?)
}

/// What is known of a loop that was not run.
fn expected(one: &Loop, size: &Count) -> Remark {
    let (said, size) = match size {
        Count::Exact(1) => ("1 row".into(), Some(1)),
        Count::Exact(rows) => (format!("{} rows", grouped(*rows)), Some(*rows)),
        Count::AtLeast(rows) => (format!("{} rows or more", grouped(*rows)), Some(*rows)),
        Count::Uncounted | Count::Failed(_) => (String::new(), None),
    };
    let mut members = vec![("estimated_rows", json!(one.expected.round()))];
    members.extend(size.map(|rows| ("table_rows", json!(rows))));
    Remark {
        step: one.step,
        said,
        members,
    }
}

/// What a loop came to.
fn came_to(one: &Loop) -> Remark {
    let all = (one.expected * one.runs as f64).round();
    let rows = match one.rows {
        1 => "1 row".to_owned(),
        rows => format!("{} rows", grouped(rows)),
    };
    let runs = match one.runs {
        1 => String::new(),
        runs => format!(" in {} loops", grouped(runs)),
    };
    Remark {
        step: one.step,
        said: format!("{rows}{runs}, {} estimated", grouped(all as u64)),
        members: vec![
            ("loops", json!(one.runs)),
            ("rows", json!(one.rows)),
            ("estimated_rows", json!(all)),
        ],
    }
}

impl Ran {
    /// Tells of the whole.
    fn tell(&self, output: &mut Output, writes: bool) {
        let mut run = serde_json::Map::new();
        let what = if writes { "changed" } else { "rows" };
        run.insert(what.into(), self.rows.into());
        let figures = self.figures.iter();
        run.extend(figures.map(|(name, number)| ((*name).to_owned(), json!(number))));
        run.insert("fuel".into(), self.fuel.into());
        run.insert("elapsed_ms".into(), json!(self.micros as f64 / 1_000.0));
        output.extra.insert("run".into(), run.into());

        let mut told = vec![match writes {
            true => format!("Ran, and rolled back: {} changed", count(self.rows, "row")),
            false => format!("Ran, and thrown away: {}", count(self.rows, "row")),
        }];
        for (name, number) in &self.figures {
            if *number > 0 {
                told.push(format!("{} {}", grouped(*number), name.replace('_', " ")));
            }
        }
        if self.fuel > 0 {
            told.push(format!("{} fuel", grouped(self.fuel)));
        }
        told.push(format!("{:.1} ms", self.micros as f64 / 1_000.0));
        let text = output.text.get_or_insert_default();
        text.push_str(&format!("\n{}.", told.join(", ")));
        // That it was not run.
        output
            .notes
            .retain(|note| !note.ends_with("it was not run."));
    }
}
