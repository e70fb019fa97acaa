//! Several statements of a client in one transaction.

use super::Database;
use super::effects::Effects;
use super::run::explains;
use crate::answer::failure::{Failure, Status};
use crate::answer::output::Output;
use crate::engine::guard::authorizer::Mode;
use crate::engine::statement;
use crate::engine::statement::errors;
use crate::text::scan;

impl Database {
    /// Runs several statements in a transaction of their own.
    pub(super) fn transact(&self, sql: &str) -> Result<Output, Failure> {
        self.trusted("BEGIN IMMEDIATE")?;
        let output = self.statements(sql, Mode::Batch)?;
        self.trusted("COMMIT").map_err(|failure| Failure {
            message: format!(
                "The batch of {} statements could not be committed: {} Nothing was changed.",
                output.extra["statements"], failure.message
            ),
            ..failure
        })?;
        Ok(output)
    }

    /// Runs several statements in the transaction that is open; `wanted` is their mode.
    pub(super) fn statements(&self, sql: &str, wanted: Mode) -> Result<Output, Failure> {
        if sql.contains('\0') {
            return Err(errors::nul());
        }
        if sql.len() as u64 > self.settings.limits.sql_bytes {
            return Err(Failure::new(
                Status::TooBig,
                format!(
                    "The SQL is longer than {} bytes (--request, or an eighth of --memory if that is more).",
                    self.settings.limits.sql_bytes
                ),
            ));
        }
        let mut output = Output {
            changes: Some(0),
            ..Output::default()
        };
        // SQLite reads text that ends in NUL where it is; other text it would copy for each statement.
        let text = format!("{sql}\0");
        let mut effects = Effects::default();
        let mut start = 0;
        let mut number = 0;
        // The statements that have returned rows.
        let mut returned = Vec::new();
        while scan::blank(&sql[start..]) < sql.len() - start {
            number += 1;
            let rows = output.rows.take();
            let length = self
                .member(&text, start, number, &mut output, &mut effects, wanted)
                .map_err(|failure| unchanged(failure, number, sql, start))?;
            if output.rows.is_some() {
                returned.push(number);
            } else {
                output.rows = rows;
            }
            start = (start + length).min(sql.len());
        }
        if number == 0 {
            return Err(errors::empty());
        }
        effects.tell(&mut output);
        output.extra.insert("statements".into(), number.into());
        output.notes.extend(unshown(&returned));
        Ok(output)
    }

    /// Runs the statement at `start` of `text`, which ends in NUL, as one of a batch and answers its
    /// length in bytes.
    fn member(
        &self,
        text: &str,
        start: usize,
        number: usize,
        output: &mut Output,
        effects: &mut Effects,
        wanted: Mode,
    ) -> Result<usize, Failure> {
        let (rest, sql) = (&text[start..], text.trim_end_matches('\0'));
        let mode = if explains(rest) {
            Mode::Explain
        } else {
            wanted
        };
        self.authorizer.enter(mode);
        let mut statement = statement::one(self.connection()?, rest, &self.authorizer, false)
            .map_err(|unprepared| self.unprepared(unprepared, sql, start))?;
        self.check(&statement, rest)?;
        if statement.parameter_count() > 0 {
            return Err(Failure::new(
                Status::Syntax,
                format!("Statement {number} has parameters, and a batch binds no values."),
            )
            .hint(
                "Write the values into the SQL, or run the statement alone with sqlarium_exec.",
            ));
        }
        // Without parameters this is the statement's own text, to its semicolon.
        let length = statement
            .expanded_sql()
            .map_or(rest.len(), |text| text.len());
        let seen = self.authorizer.seen();
        self.before(&seen)?;
        let own = rest.get(..length).unwrap_or(rest);
        self.set_off(&seen, own)?;
        let before = self.changes()?;
        self.authorizer.run(if mode == Mode::Explain {
            Mode::Read
        } else {
            mode
        });
        let since = self.interrupt.work();
        let result_set = self
            .step(&mut statement, sql, start)
            .map_err(|failure| self.with_met(failure, own, &seen, &[], since))?;
        let writes = mode != Mode::Explain && !statement.readonly();
        drop(statement);
        if let Some(rows) = result_set.rows {
            output.rows = Some(rows);
            output.notes = result_set.note.into_iter().collect();
        }
        if writes {
            let changed = self.count(output, rest, before)?;
            self.add_effects(effects, own, &seen, changed);
        }
        self.after(&seen)?;
        Ok(length)
    }
}

/// Says which statements returned rows that are not shown; the last one's are.
fn unshown(returned: &[usize]) -> Option<String> {
    let (last, others) = returned.split_last()?;
    let named: Vec<String> = others.iter().take(10).map(usize::to_string).collect();
    let which = match others.len() {
        0 => return None,
        1 => format!("Statement {} returned", named[0]),
        2..=10 => format!("Statements {} returned", named.join(", ")),
        many => format!(
            "Statements {} and {} more returned",
            named.join(", "),
            many - 10
        ),
    };
    Some(format!(
        "{which} rows as well, but only those of statement {last} are shown. To see other rows, \
         run their statement alone."
    ))
}

/// The failure of a whole batch for that of one of its statements.
fn unchanged(failure: Failure, number: usize, sql: &str, start: usize) -> Failure {
    let (line, _) = scan::position(sql, start + scan::blank(&sql[start..]));
    Failure {
        message: format!(
            "Statement {number} of the batch (line {line}) failed: {} Nothing was changed.",
            failure.message
        ),
        ..failure
    }
}
