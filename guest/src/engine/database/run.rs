//! One statement of a client: prepared behind the guards, run, counted.

use rusqlite::Statement;

use super::Database;
use super::effects::Effects;
use crate::answer::failure::{Failure, Status};
use crate::answer::output::Output;
use crate::engine::guard::authorizer::{Denial, Mode, Rule};
use crate::engine::schema::lookup;
use crate::engine::statement::params::Params;
use crate::engine::statement::{self, ResultSet, RowLimits};
use crate::engine::statement::{dialect, errors, plan};
use crate::text::scan;

impl Database {
    pub(super) fn read(&self, sql: &str, params: &Params, limit: u32) -> Result<Output, Failure> {
        let (mut statement, mode) = self.prepare(sql, Mode::Read)?;
        if mode == Mode::Read && self.layers.verdict && !statement.readonly() {
            // SQLite does not distinguish a query of the journal mode from a change of it.
            let asks = self.authorizer.seen().bare_pragma.as_deref() == Some("journal_mode");
            if !asks {
                return Err(self.would_write(sql));
            }
        }
        params.bind(&mut statement, sql)?;
        self.authorizer.run(Mode::Read);
        let result_set =
            statement::result_set(&mut statement, &self.interrupt, self.row_limits(limit))
                .map_err(|error| self.failure(&error, sql, 0))?;
        let mut output = answer(result_set);
        output.notes.extend(dialect::misread(sql));
        Ok(output)
    }

    /// The refusal of a statement that SQLite says is no reading. The text of the statement
    /// chooses the sentence alone, and the verdict does not depend on it.
    pub(super) fn would_write(&self, sql: &str) -> Failure {
        let vacuum = scan::first_word(sql).eq_ignore_ascii_case("VACUUM");
        if vacuum && scan::words(sql).any(|word| word == "into") {
            let denial = Denial {
                rule: Rule::VacuumInto,
                mode: Mode::Read,
                what: "copy the database to another file".into(),
                table: None,
            };
            errors::denied(&denial, &self.settings)
        } else if vacuum {
            errors::writes("rewrite the whole database", &self.settings)
        } else {
            errors::writes("change the database", &self.settings)
        }
    }

    /// Runs one statement that may write; `wanted` is its mode, unless it explains.
    pub(super) fn write(
        &self,
        sql: &str,
        params: &Params,
        wanted: Mode,
    ) -> Result<Output, Failure> {
        let (mut statement, mode) = self.prepare(sql, wanted)?;
        params.bind(&mut statement, sql)?;
        let seen = self.authorizer.seen();
        self.before(&seen)?;
        self.set_off(&seen, sql)?;
        let before = self.changes()?;
        let explains = mode == Mode::Explain;
        self.authorizer
            .run(if explains { Mode::Read } else { wanted });
        let since = self.interrupt.work();
        let stepped = self.step(&mut statement, sql, 0).map_err(|failure| {
            let bound = params.bound(&statement, sql).unwrap_or_default();
            let values: Vec<_> = bound.into_iter().map(|(at, v)| (at, v.clone())).collect();
            self.with_met(failure, sql, &seen, &values, since)
        });
        let result_set = stepped?;
        let writes = !explains && !statement.readonly();
        drop(statement);
        let mut output = answer(result_set);
        output.notes.extend(dialect::misread(sql));
        if writes {
            let mut effects = Effects::default();
            let changed = self.count(&mut output, sql, before)?;
            self.add_effects(&mut effects, sql, &seen, changed);
            effects.tell(&mut output);
        }
        self.after(&seen)?;
        Ok(output)
    }

    pub(super) fn plan(&self, sql: &str, params: &Params) -> Result<Output, Failure> {
        let (statement, _) = self.prepare(sql, Mode::Explain)?;
        let explained = statement.is_explain();
        drop(statement);
        // A statement of our own making: its text is that of the client with three words before it.
        let wrapped = if explained == 0 {
            format!("EXPLAIN QUERY PLAN {sql}")
        } else {
            sql.to_owned()
        };
        let (mut statement, _) = self.prepare(&wrapped, Mode::Explain)?;
        if statement.is_explain() == 0 {
            return Err(Failure::new(
                Status::Internal,
                "SQLite returned no plan for the statement.",
            ));
        }
        if *params != Params::None {
            params.bind(&mut statement, &wrapped)?;
        }
        let reads = statement.readonly();
        self.authorizer.run(Mode::Read);
        let result_set = self.step(&mut statement, &wrapped, 0)?;
        let mut output = answer(result_set);
        if explained != 1 {
            plan::draw(&mut output);
        }
        output.extra.insert(
            "effect".into(),
            if reads { "reads" } else { "writes" }.into(),
        );
        output.notes.push(if reads {
            "The statement only reads; it was not run.".into()
        } else {
            "The statement writes; it was not run.".into()
        });
        Ok(output)
    }

    /// Prepares the one statement of `sql`, in `mode` or, if that is what it asks for, to be explained.
    pub(super) fn prepare(&self, sql: &str, mode: Mode) -> Result<(Statement<'_>, Mode), Failure> {
        let connection = self.connection()?;
        let mode = if explains(sql) { Mode::Explain } else { mode };
        self.authorizer.enter(mode);
        let mut prepared = statement::one(connection, sql, &self.authorizer, self.layers.single);
        // Once for each R-Tree that the statement opens.
        while prepared.is_err() && self.allow_rtree_shadow() {
            self.authorizer.enter(mode);
            prepared = statement::one(connection, sql, &self.authorizer, self.layers.single);
        }
        let statement = prepared.map_err(|unprepared| self.unprepared(unprepared, sql, 0))?;
        self.check(&statement, sql)?;
        Ok((statement, mode))
    }

    /// What the compiled statement must agree with, whatever its text looks like.
    pub(super) fn check(&self, statement: &Statement<'_>, sql: &str) -> Result<(), Failure> {
        if explains(sql) != (statement.is_explain() != 0) {
            return Err(Failure::new(
                Status::Internal,
                "SQLite and sqlarium disagree on whether this statement is an EXPLAIN.",
            ));
        }
        let seen = self.authorizer.seen();
        if seen.schema && !seen.ddl {
            return Err(Failure::new(
                Status::Readonly,
                "This statement would write to the schema table itself.",
            )
            .hint("Change the schema with CREATE, ALTER and DROP only."));
        }
        Ok(())
    }

    /// Whether the refusal was for a table of an R-Tree, which prepares its
    /// writes whenever it is opened; such a table is let through from then on.
    /// It cannot be written to directly: SQLite's defensive mode is on.
    pub(super) fn allow_rtree_shadow(&self) -> bool {
        let Some(denial) = self.authorizer.denial() else {
            return false;
        };
        let (Rule::Writes, Some(table)) = (&denial.rule, &denial.table) else {
            return false;
        };
        let Ok(connection) = self.connection() else {
            return false;
        };
        self.authorizer.enter(Mode::Inspect);
        let parts = lookup::rtree_of(connection, table).unwrap_or_default();
        let news = parts
            .iter()
            .filter(|part| self.authorizer.allow_rtree_shadow(part))
            .count()
            > 0;
        self.authorizer.recall(denial);
        news
    }

    /// Steps through `statement`, which starts at `start` in `sql`.
    pub(super) fn step(
        &self,
        statement: &mut Statement<'_>,
        sql: &str,
        start: usize,
    ) -> Result<ResultSet, Failure> {
        // An ALTER looks through the rows with a query of SQLite's own, whose columns are nobody's.
        let own = self.authorizer.seen().ddl && statement.is_explain() == 0;
        let mut result_set = statement::result_set(
            statement,
            &self.interrupt,
            self.row_limits(self.output.rows),
        )
        .map_err(|error| self.failure(&error, sql, start))?;
        if own {
            result_set.rows = None;
        }
        Ok(result_set)
    }

    /// Adds how many rows `sql`, the statement before, changed itself.
    pub(super) fn count(
        &self,
        output: &mut Output,
        sql: &str,
        before: u64,
    ) -> Result<u64, Failure> {
        let connection = self.connection()?;
        // SQLite keeps the count of the statement before, unless this one changed rows.
        // A new virtual table has rows of its own, which are nobody's data.
        let defines = ["CREATE", "DROP", "ALTER"];
        let defines = defines.contains(&scan::first_word(sql).to_uppercase().as_str());
        let changed = if !defines && connection.total_changes() > before {
            connection.changes()
        } else {
            0
        };
        output.defined |= defines;
        if defines {
            output.notes.extend(dialect::unsaid(sql));
        }
        output.changes = Some(output.changes.unwrap_or_default() + changed);
        // What a trigger or a virtual table inserts has its rowid elsewhere.
        let inserts = ["INSERT", "REPLACE", "WITH"];
        let inserts = inserts.contains(&scan::first_word(sql).to_uppercase().as_str());
        if self.link()?.inserted.take() && changed > 0 && inserts {
            output.last_insert_rowid = Some(connection.last_insert_rowid());
        }
        Ok(changed)
    }

    pub(super) fn changes(&self) -> Result<u64, Failure> {
        let link = self.link()?;
        link.inserted.take();
        Ok(link.connection.total_changes())
    }

    pub(super) fn limit(&self, asked: Option<u32>) -> Result<(u32, Option<String>), Failure> {
        let limits = &self.output;
        let most = limits.max_rows;
        match asked {
            None => Ok((limits.rows.min(most), None)),
            Some(rows) if rows > most => Ok((
                most,
                Some(format!(
                    "limit was lowered from {rows} to the maximum of {most} (--max-rows)."
                )),
            )),
            Some(rows) => Ok((rows, None)),
        }
    }

    pub(super) fn row_limits(&self, rows: u32) -> RowLimits {
        RowLimits {
            rows,
            count: self.output.max_rows,
            // Values of so many bytes make a reply that is refused; keeping more would be in vain.
            bytes: (self.output.reply_bytes.saturating_mul(4))
                .min(self.settings.limits.memory_bytes / 4),
        }
    }
}

/// Whether the statement announces itself as an EXPLAIN, which SQLite then has to confirm.
pub(super) fn explains(sql: &str) -> bool {
    scan::first_word(sql).eq_ignore_ascii_case("EXPLAIN")
}

pub(super) fn answer(result_set: ResultSet) -> Output {
    Output {
        rows: result_set.rows,
        notes: result_set.note.into_iter().collect(),
        ..Output::default()
    }
}
