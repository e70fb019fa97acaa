//! What EXPLAIN and EXPLAIN QUERY PLAN say, laid out for a reader.

use std::io::{self, Write};

use crate::answer::output::{Output, Rows};
use crate::answer::value::Value;
use crate::engine::statement::plan;
use crate::text::pad::blanks;

/// The columns of EXPLAIN and how wide they are at least.
const COLUMNS: [(&str, usize); 8] = [
    ("addr", 4),
    ("opcode", 13),
    ("p1", 4),
    ("p2", 4),
    ("p3", 4),
    ("p4", 13),
    ("p5", 2),
    ("comment", 13),
];

/// Instructions that end a loop and lead back to its start.
const ENDS: [&str; 6] = ["Next", "Prev", "VPrev", "VNext", "SorterNext", "Return"];
/// Instructions to which a `Goto` leads back only in a loop.
const STARTS: [&str; 5] = ["Yield", "SeekLT", "SeekGT", "RowSetRead", "Rewind"];

/// Prints byte code, a line for each instruction, those within a loop indented.
pub(super) fn code(out: &mut dyn Write, rows: &[Vec<Value>]) -> io::Result<()> {
    let names = COLUMNS.map(|(name, width)| format!("{name:<width$}"));
    let dashes = COLUMNS.map(|(_, width)| "-".repeat(width));
    writeln!(out, "{}\n{}", names.join("  "), dashes.join("  "))?;
    for (values, depth) in rows.iter().zip(depths(rows)) {
        let last = values.len().saturating_sub(1);
        let cells = values.iter().zip(COLUMNS).enumerate();
        let cells: Vec<String> = cells
            .map(|(index, (value, (_, width)))| {
                let indent = if index == 1 { 2 * depth } else { 0 };
                let width = if index == last { 0 } else { width };
                format!("{}{:<width$}", blanks(indent), text(value))
            })
            .collect();
        writeln!(out, "{}", cells.join("  "))?;
    }
    Ok(())
}

/// In how many loops each instruction lies, as the sqlite3 program sees it.
fn depths(rows: &[Vec<Value>]) -> Vec<usize> {
    let column = |row: usize, column| rows[row].get(column).map(text).unwrap_or_default();
    let number = |row, at| column(row, at).parse::<i64>().unwrap_or_default();
    let mut depths = vec![0; rows.len()];
    for row in 0..rows.len() {
        // Addresses of a trigger's program begin at 0 again.
        let target = number(row, 3) + row as i64 - number(row, 0);
        let Some(target) = usize::try_from(target).ok().filter(|target| *target < row) else {
            continue;
        };
        let operation = column(row, 1);
        let loops = match operation.as_str() {
            "Goto" => STARTS.contains(&column(target, 1).as_str()) || number(row, 2) != 0,
            end => target > 0 && ENDS.contains(&end),
        };
        if loops {
            depths[target..row].iter_mut().for_each(|depth| *depth += 1);
        }
    }
    depths
}

fn text(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        _ => String::new(),
    }
}

/// Prints a plan as a tree, and one for each trigger; nothing for what has no steps.
pub(super) fn plan(out: &mut dyn Write, rows: &[Vec<Value>]) -> io::Result<()> {
    for part in rows.chunk_by(|_, next| trigger(next).is_none()) {
        let (title, steps) = match part {
            [first, steps @ ..] if let Some(title) = trigger(first) => (title, steps),
            steps => (plan::TITLE, steps),
        };
        if steps.is_empty() {
            continue;
        }
        let mut output = Output {
            rows: Some(Rows {
                rows: steps.to_vec(),
                ..Rows::default()
            }),
            ..Output::default()
        };
        plan::draw(&mut output);
        let tree = output.text.unwrap_or_default();
        writeln!(out, "{}", tree.replacen(plan::TITLE, title, 1))?;
    }
    Ok(())
}

/// The title of a trigger's plan, if this row begins one.
fn trigger(row: &[Value]) -> Option<&str> {
    match row {
        [_, _, _, Value::Text(detail)] => detail.strip_prefix("-- "),
        _ => None,
    }
}
