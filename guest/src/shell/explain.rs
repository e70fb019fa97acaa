//! What EXPLAIN and EXPLAIN QUERY PLAN say, laid out for a reader.

use std::io::{self, Write};

use crate::command::output::{Output, Rows};
use crate::engine::plan;
use crate::engine::value::Value;

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

/// Prints byte code, a line for each instruction.
#[derive(Debug, Default)]
pub struct Code {
    begun: bool,
}

impl Code {
    /// Prints one instruction, and the header before the first.
    pub fn row(&mut self, out: &mut dyn Write, values: &[Value]) -> io::Result<()> {
        if !std::mem::replace(&mut self.begun, true) {
            let names = COLUMNS.map(|(name, width)| format!("{name:<width$}"));
            let dashes = COLUMNS.map(|(_, width)| "-".repeat(width));
            writeln!(out, "{}\n{}", names.join("  "), dashes.join("  "))?;
        }
        let last = values.len().saturating_sub(1);
        let cells: Vec<String> = values
            .iter()
            .zip(COLUMNS)
            .enumerate()
            .map(|(index, (value, (_, width)))| {
                let text = match value {
                    Value::Text(text) => text.clone(),
                    Value::Integer(number) => number.to_string(),
                    _ => String::new(),
                };
                let width = if index == last { 0 } else { width };
                format!("{text:<width$}")
            })
            .collect();
        writeln!(out, "{}", cells.join("  "))
    }
}

/// Prints a plan as a tree; nothing, if it has no steps.
pub fn plan(out: &mut dyn Write, rows: Vec<Vec<Value>>) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut output = Output {
        rows: Some(Rows {
            rows,
            ..Rows::default()
        }),
        ..Output::default()
    };
    plan::draw(&mut output);
    writeln!(out, "{}", output.text.unwrap_or_default())
}
