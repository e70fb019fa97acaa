//! The modes that align columns: rows are held back until their widths are known.

use std::io::{self, Write};

use super::{Format, HELD, Mode, cells};
use crate::answer::value::Value;
use crate::text::pad::{Fill, blanks};

/// What a cell takes in memory besides its bytes.
const OVERHEAD: usize = 32;

/// As good as no width at all.
const UNBOUNDED: usize = 1_000_000;

/// One line of a row, cell by cell.
type Line = Vec<Vec<u8>>;

/// Prints aligned rows.
#[derive(Debug)]
pub struct Grid {
    mode: Mode,
    headers: bool,
    nullvalue: String,
    quote: bool,
    whole: bool,
    word_wrap: bool,
    names: Line,
    columns: Vec<Column>,
    /// Rows whose widths are not settled yet; `None` from when they are.
    held: Option<Vec<Vec<Line>>>,
    bytes: usize,
    /// Whether any row so far took more than one line, so that rows are told apart by rules.
    tall: bool,
    /// Whether a row was printed, and may need a rule behind it.
    printed: bool,
}

#[derive(Debug)]
struct Column {
    /// Where its cells are broken.
    wrap: usize,
    width: usize,
    right: bool,
}

/// What the lines of a mode are made of.
struct Style {
    left: &'static str,
    middle: &'static str,
    right: &'static str,
}

impl Grid {
    /// A printer for one of the aligned modes.
    pub fn new(format: &Format, columns: &[String]) -> Self {
        let mut names = Line::new();
        let columns = columns.iter().enumerate().map(|(index, name)| {
            let set = format.widths.get(index).copied().unwrap_or(0);
            let wrap = match set.unsigned_abs() {
                0 => format.wrap,
                width => width,
            };
            let wrap = if wrap == 0 { UNBOUNDED } else { wrap as usize };
            let (name, _) = cells::first_line(name.as_bytes(), wrap, format.word_wrap);
            let width = cells::characters(&name).max(set.unsigned_abs() as usize);
            names.push(name);
            Column {
                wrap,
                width,
                right: set < 0,
            }
        });
        let columns = columns.collect();
        Self {
            mode: format.mode,
            headers: format.headers || format.mode != Mode::Column,
            nullvalue: format.nullvalue.clone(),
            quote: format.quote,
            whole: format.whole,
            word_wrap: format.word_wrap,
            names,
            columns,
            held: Some(Vec::new()),
            bytes: 0,
            tall: false,
            printed: false,
        }
    }

    /// Keeps a row, or prints it once too much is kept.
    pub fn row(&mut self, out: &mut dyn Write, values: &[Value]) -> io::Result<()> {
        let lines = self.lines(values);
        self.tall |= lines.len() > 1;
        let Some(held) = &mut self.held else {
            return self.print(out, &lines);
        };
        for line in &lines {
            for (cell, column) in line.iter().zip(&mut self.columns) {
                self.bytes += cell.len() + OVERHEAD;
                column.width = column.width.max(cells::characters(cell));
            }
        }
        held.push(lines);
        if self.bytes > HELD {
            self.settle(out)?;
        }
        Ok(())
    }

    /// Prints what is left.
    pub fn finish(mut self, out: &mut dyn Write) -> io::Result<()> {
        self.settle(out)?;
        if self.printed {
            match self.mode {
                Mode::Table => self.rule(out, "+", "-", "+", "+")?,
                Mode::Box => self.rule(out, "└", "─", "┴", "┘")?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Fixes the widths and prints the rows that waited for them.
    fn settle(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let held = self.held.take().unwrap_or_default();
        if held.is_empty() {
            return Ok(());
        }
        self.header(out)?;
        for lines in held {
            self.print(out, &lines)?;
        }
        Ok(())
    }

    /// The lines of a row, every one with all cells.
    fn lines(&self, values: &[Value]) -> Vec<Line> {
        let texts: Vec<Vec<u8>> = values
            .iter()
            .map(|value| {
                if self.quote {
                    cells::short_literal(value)
                } else {
                    let null = || self.nullvalue.as_bytes().into();
                    let text = if self.whole {
                        cells::whole(value).map(cells::visible_nul)
                    } else {
                        cells::plain(value)
                    };
                    text.unwrap_or_else(null).into_owned()
                }
            })
            .collect();
        let mut rests: Vec<Option<&[u8]>> = texts.iter().map(|text| Some(&text[..])).collect();
        let mut lines = Vec::new();
        while lines.is_empty() || rests.iter().any(Option::is_some) {
            let line = rests.iter_mut().zip(&self.columns).map(|(rest, column)| {
                let text = rest.unwrap_or_default();
                let (line, next) = cells::first_line(text, column.wrap, self.word_wrap);
                *rest = next;
                line
            });
            lines.push(line.collect());
        }
        lines
    }

    fn header(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.mode {
            Mode::Table => self.rule(out, "+", "-", "+", "+")?,
            Mode::Box => self.rule(out, "┌", "─", "┬", "┐")?,
            _ => {}
        }
        if !self.headers {
            return Ok(());
        }
        let style = self.style();
        out.write_all(style.left.as_bytes())?;
        for (index, (name, column)) in self.names.iter().zip(&self.columns).enumerate() {
            if index > 0 {
                out.write_all(style.middle.as_bytes())?;
            }
            let padding = column.width.saturating_sub(cells::characters(name));
            let before = match self.mode {
                Mode::Column if column.right => padding,
                Mode::Column => 0,
                _ => padding / 2,
            };
            write!(out, "{}", blanks(before))?;
            out.write_all(name)?;
            write!(out, "{}", blanks(padding - before))?;
        }
        out.write_all(style.right.as_bytes())?;
        match self.mode {
            Mode::Table => self.rule(out, "+", "-", "+", "+"),
            Mode::Box => self.rule(out, "├", "─", "┼", "┤"),
            Mode::Markdown => self.rule(out, "|", "-", "|", "|"),
            _ => {
                for (index, column) in self.columns.iter().enumerate() {
                    let gap = if index > 0 { style.middle } else { "" };
                    write!(out, "{gap}{}", Fill("-", column.width))?;
                }
                out.write_all(b"\n")
            }
        }
    }

    fn print(&mut self, out: &mut dyn Write, lines: &[Line]) -> io::Result<()> {
        if self.printed && self.tall {
            match self.mode {
                Mode::Table => self.rule(out, "+", "-", "+", "+")?,
                Mode::Box => self.rule(out, "├", "─", "┼", "┤")?,
                Mode::Column => out.write_all(b"\n")?,
                _ => {}
            }
        }
        self.printed = true;
        let style = self.style();
        for line in lines {
            out.write_all(style.left.as_bytes())?;
            for (index, (cell, column)) in line.iter().zip(&self.columns).enumerate() {
                if index > 0 {
                    out.write_all(style.middle.as_bytes())?;
                }
                let padding = column.width.saturating_sub(cells::characters(cell));
                let before = if column.right { padding } else { 0 };
                write!(out, "{}", blanks(before))?;
                out.write_all(cell)?;
                write!(out, "{}", blanks(padding - before))?;
            }
            out.write_all(style.right.as_bytes())?;
        }
        Ok(())
    }

    fn style(&self) -> Style {
        let (left, middle, right) = match self.mode {
            Mode::Box => ("│ ", " │ ", " │\n"),
            Mode::Column => ("", "  ", "\n"),
            _ => ("| ", " | ", " |\n"),
        };
        Style {
            left,
            middle,
            right,
        }
    }

    /// A line across the table.
    fn rule(
        &self,
        out: &mut dyn Write,
        left: &str,
        dash: &'static str,
        cross: &str,
        right: &str,
    ) -> io::Result<()> {
        for (index, column) in self.columns.iter().enumerate() {
            let joint = if index == 0 { left } else { cross };
            write!(out, "{joint}{}", Fill(dash, column.width + 2))?;
        }
        writeln!(out, "{right}")
    }
}
