//! `.expert`: indexes that would help a statement, in the manner of the sqlite3 program.
//!
use std::collections::BTreeSet;
use std::io::Write;

use rusqlite::Connection;

use super::{LineError, Shell, ShellContext, error};
use crate::engine::database::shell::statements;
use crate::engine::schema::trial::{Schema, find_indexes};

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
    let model = Connection::open_in_memory().and_then(|model| schema.fill(model));
    let model = model.map_err(|why| {
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
