//! The modes that align columns: rows are held back until their widths are known.

use std::io::{self, Write};

use super::quoted::{as_literal, escaped, plain};
use super::{Format, HELD, Mode, lines};
use crate::answer::value::Value;
use crate::text::pad::{Fill, blanks};

/// What a cell takes in memory besides its bytes.
const OVERHEAD: usize = 32;

/// Prints aligned rows.
#[derive(Debug)]
pub(super) struct Grid {
    format: Format,
    names: Vec<Cell>,
    columns: Vec<Column>,
    /// Rows whose widths are not settled yet; `None` from when they are.
    held: Option<Vec<Vec<Cell>>>,
    bytes: usize,
    /// Whether any row takes more than one line, so that rules separate the rows.
    tall: bool,
    /// Whether a row was printed, and may need a rule behind it.
    printed: bool,
}

#[derive(Debug)]
struct Cell {
    text: Vec<u8>,
    align: Align,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Align {
    Left,
    Center,
    Right,
}

#[derive(Debug)]
struct Column {
    /// As wide as its widest cell so far, until widths are settled.
    width: usize,
    /// The width that was asked for.
    fixed: Option<usize>,
    /// Where its cells are broken.
    limit: usize,
    right: bool,
}

/// What stands at the left, between columns, and at the right.
type Frame = [&'static str; 3];

impl Grid {
    /// A printer for one of the aligned modes.
    pub(super) fn new(format: &Format, columns: &[String]) -> Self {
        let mut grid = Self {
            format: format.clone(),
            names: Vec::new(),
            columns: Vec::new(),
            held: Some(Vec::new()),
            bytes: 0,
            tall: false,
            printed: false,
        };
        for (index, name) in columns.iter().enumerate() {
            let asked = format.widths.get(index).copied().unwrap_or(0);
            let fixed = (asked != 0).then_some(asked.unsigned_abs() as usize);
            grid.columns.push(Column {
                width: 0,
                fixed,
                limit: match fixed {
                    None if format.wrap > 0 => format.wrap as usize,
                    None => usize::MAX,
                    // Where a character of two columns could not stand.
                    Some(width) => width.max(2),
                },
                right: asked < 0,
            });
            grid.names.push(Cell {
                text: escaped(name.as_bytes(), format.escape).into_owned(),
                align: Align::Center,
            });
        }
        if format.headers {
            let names = std::mem::take(&mut grid.names);
            grid.measure(&names);
            grid.names = names;
        }
        grid
    }

    /// Holds a row back, or prints it once too much is held.
    pub(super) fn row(&mut self, out: &mut dyn Write, values: &[Value]) -> io::Result<()> {
        let cells: Vec<Cell> = values
            .iter()
            .zip(&self.columns)
            .map(|(value, column)| Cell {
                text: self.text(value),
                align: match value {
                    Value::Integer(_) | Value::Real(_) => Align::Right,
                    _ if column.right => Align::Right,
                    _ => Align::Left,
                },
            })
            .collect();
        if self.held.is_none() {
            return self.print(out, &cells);
        }
        self.measure(&cells);
        self.bytes += cells
            .iter()
            .map(|cell| cell.text.len() + OVERHEAD)
            .sum::<usize>();
        self.held.get_or_insert_default().push(cells);
        if self.bytes > HELD {
            self.settle(out)?;
        }
        Ok(())
    }

    /// Prints what is left.
    pub(super) fn finish(mut self, out: &mut dyn Write) -> io::Result<()> {
        self.settle(out)?;
        if self.printed {
            match self.format.mode {
                Mode::Table => self.rule(out, "-", ["+", "+", "+"])?,
                Mode::Box => self.rule(out, "─", ["╰", "┴", "╯"])?,
                _ => {}
            }
        }
        Ok(())
    }

    fn text(&self, value: &Value) -> Vec<u8> {
        let escape = self.format.escape;
        match value {
            Value::Null => self.format.nullvalue.clone().into_bytes(),
            Value::Text(_) | Value::BadText(_) | Value::Blob(_) if self.format.quote => {
                as_literal(value, escape)
            }
            value => escaped(&plain(value), escape).into_owned(),
        }
    }

    /// Widens the columns for a row.
    fn measure(&mut self, cells: &[Cell]) {
        for (cell, column) in cells.iter().zip(&mut self.columns) {
            column.width = column.width.max(lines::width(&cell.text));
            self.tall |= cell.text.contains(&b'\n');
        }
    }

    /// Fixes the widths and prints the rows that waited for them.
    fn settle(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let held = self.held.take().unwrap_or_default();
        if held.is_empty() {
            return Ok(());
        }
        for column in &mut self.columns {
            self.tall |= column.width > column.limit;
            column.width = match column.fixed {
                Some(1) if column.width > 1 => 2,
                Some(width) => width,
                None => column.width.min(column.limit),
            };
        }
        self.header(out)?;
        for cells in held {
            self.print(out, &cells)?;
        }
        Ok(())
    }

    fn header(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.format.mode {
            Mode::Table => self.rule(out, "-", ["+", "+", "+"])?,
            Mode::Box => self.rule(out, "─", ["╭", "┬", "╮"])?,
            _ => {}
        }
        if !self.format.headers {
            return Ok(());
        }
        self.cells(out, &self.names)?;
        match self.format.mode {
            Mode::Table => self.rule(out, "-", ["+", "+", "+"]),
            Mode::Box => self.rule(out, "═", ["╞", "╪", "╡"]),
            Mode::Markdown => self.rule(out, "-", ["|", "|", "|"]),
            _ => {
                for (index, column) in self.columns.iter().enumerate() {
                    let gap = if index > 0 { "  " } else { "" };
                    write!(out, "{gap}{}", Fill("-", column.width))?;
                }
                out.write_all(b"\n")
            }
        }
    }

    fn print(&mut self, out: &mut dyn Write, cells: &[Cell]) -> io::Result<()> {
        if self.printed && self.tall {
            match self.format.mode {
                Mode::Table => self.rule(out, "-", ["+", "+", "+"])?,
                Mode::Box => self.rule(out, "─", ["├", "┼", "┤"])?,
                Mode::Column => out.write_all(b"\n")?,
                _ => {}
            }
        }
        self.printed = true;
        self.cells(out, cells)
    }

    /// The lines of a row.
    fn cells(&self, out: &mut dyn Write, cells: &[Cell]) -> io::Result<()> {
        let [left, middle, right]: Frame = match self.format.mode {
            Mode::Box => ["│ ", " │ ", " │\n"],
            Mode::Column => ["", "  ", "\n"],
            _ => ["| ", " | ", " |\n"],
        };
        let mut rests: Vec<&[u8]> = cells.iter().map(|cell| &cell.text[..]).collect();
        loop {
            let mut line = Vec::from(left);
            for (index, (rest, column)) in rests.iter_mut().zip(&self.columns).enumerate() {
                if index > 0 {
                    line.extend(middle.as_bytes());
                }
                let (start, next) = lines::first_line(rest, column.limit, self.format.word_wrap);
                *rest = next;
                let (text, width) = lines::shown(start);
                let padding = column.width.saturating_sub(width);
                let before = match cells[index].align {
                    Align::Left => 0,
                    Align::Center => padding / 2,
                    Align::Right => padding,
                };
                write!(line, "{}", blanks(before))?;
                line.extend(text);
                write!(line, "{}", blanks(padding - before))?;
            }
            if self.format.mode == Mode::Column {
                line.truncate(line.trim_ascii_end().len());
            }
            line.extend(right.as_bytes());
            out.write_all(&line)?;
            if rests.iter().all(|rest| rest.is_empty()) {
                return Ok(());
            }
        }
    }

    /// A line across the table.
    fn rule(&self, out: &mut dyn Write, dash: &'static str, frame: Frame) -> io::Result<()> {
        let [left, cross, right] = frame;
        for (index, column) in self.columns.iter().enumerate() {
            let joint = if index == 0 { left } else { cross };
            write!(out, "{joint}{}", Fill(dash, column.width + 2))?;
        }
        writeln!(out, "{right}")
    }
}
