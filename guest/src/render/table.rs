//! Rows under each other: cells written one behind the other into one text, measured meanwhile, and
//! put into lines when it is known how wide the columns are.

use super::cell::{self, Cell};
use super::layout::{DASHES, Widths, fit, width};
use crate::answer::value::Value;

/// A table that is being made.
pub(super) struct Table<'h> {
    header: &'h [String],
    /// All cells, row by row.
    text: String,
    cells: Vec<Cell>,
    /// Where each cell ends in the text.
    ends: Vec<usize>,
    columns: Vec<Column>,
}

struct Column {
    widths: Widths,
    /// How many cells hold numbers, and how many NULL.
    numbers: usize,
    nulls: usize,
    /// The width that is chosen.
    width: usize,
    /// Whether its cells are aligned to the right.
    right: bool,
}

impl<'h> Table<'h> {
    /// A table without rows.
    pub(super) fn new(header: &'h [String]) -> Self {
        let columns = header.iter().map(|name| {
            let mut widths = Widths::default();
            widths.add(width(name));
            Column {
                widths,
                numbers: 0,
                nulls: 0,
                width: 0,
                right: false,
            }
        });
        Self {
            header,
            text: String::new(),
            cells: Vec::new(),
            ends: Vec::new(),
            columns: columns.collect(),
        }
    }

    /// Adds a row, each value in about `budget` characters at most. Answers the bytes that it takes
    /// without any padding.
    pub(super) fn push(&mut self, row: &[Value], budget: usize) -> usize {
        let start = self.text.len();
        for value in row {
            self.cells.push(cell::put(&mut self.text, value, budget));
            self.ends.push(self.text.len());
        }
        self.text.len() - start + row.len()
    }

    /// Takes the last row away.
    pub(super) fn pop(&mut self) {
        let left = self.cells.len().saturating_sub(self.columns.len());
        self.cells.truncate(left);
        self.ends.truncate(left);
    }

    /// How many rows there are.
    pub(super) fn rows(&self) -> usize {
        self.cells
            .len()
            .checked_div(self.columns.len())
            .unwrap_or_default()
    }

    /// The cells of a row.
    pub(super) fn row(&self, row: usize) -> &[Cell] {
        &self.cells[row * self.columns.len()..][..self.columns.len()]
    }

    /// Chooses how wide the columns are, and how they are aligned.
    pub(super) fn fit(&mut self) {
        let rows = self.rows();
        for row in self.cells.chunks_exact(self.columns.len().max(1)) {
            for (column, cell) in self.columns.iter_mut().zip(row) {
                column.widths.add(cell.width);
                column.numbers += usize::from(cell.number);
                column.nulls += usize::from(cell.null);
            }
        }
        for column in &mut self.columns {
            column.right = column.numbers > 0 && column.numbers + column.nulls == rows;
        }
        let widths: Vec<Widths> = self
            .columns
            .iter_mut()
            .map(|column| std::mem::take(&mut column.widths))
            .collect();
        let right = self.columns.last().is_some_and(|column| column.right);
        for (column, width) in self.columns.iter_mut().zip(fit(&widths, right)) {
            column.width = width;
        }
    }

    /// Gives up all alignment.
    pub(super) fn fit_nothing(&mut self) {
        for column in &mut self.columns {
            column.width = 1;
        }
    }

    /// The names of the columns, and dashes below them.
    pub(super) fn head(&self) -> String {
        let mut head = String::new();
        let names = self.header.iter().map(|name| (name.as_str(), width(name)));
        self.put_line(&mut head, names);
        let dashes: Vec<String> = self
            .columns
            .iter()
            .map(|column| "-".repeat(column.width.clamp(1, DASHES)))
            .collect();
        let dashes = dashes.iter().map(|dashes| (dashes.as_str(), dashes.len()));
        self.put_line(&mut head, dashes);
        head
    }

    /// A row as a line.
    pub(super) fn line(&self, row: usize) -> String {
        let mut line = String::new();
        self.put(&mut line, row);
        line
    }

    /// Writes a row as a line.
    pub(super) fn put(&self, out: &mut String, row: usize) {
        let first = row * self.columns.len();
        let mut start = match first {
            0 => 0,
            first => self.ends[first - 1],
        };
        let cells = self.row(row).iter().zip(&self.ends[first..]);
        let texts = cells.map(|(cell, &end)| {
            let text = &self.text[start..end];
            start = end;
            (text, cell.width)
        });
        self.put_line(out, texts);
    }

    /// The bytes of a row as a line, and how many these are inside a JSON string.
    pub(super) fn length(&self, row: usize) -> (u64, u64) {
        let first = row * self.columns.len();
        let end = |cell: usize| cell.checked_sub(1).map_or(0, |cell| self.ends[cell]);
        let mut bytes = end(first + self.columns.len()) - end(first);
        let mut escapes = 0;
        for (index, (column, cell)) in self.columns.iter().zip(self.row(row)).enumerate() {
            if self.pads(index) {
                bytes += column.width.saturating_sub(cell.width);
            }
            escapes += cell.escapes;
        }
        // Two blanks between cells, and the line break, which is two bytes inside a string.
        bytes += 2 * self.columns.len().saturating_sub(1) + 1;
        (bytes as u64, (bytes + escapes + 1) as u64)
    }

    /// Whether cells of this column are padded: nothing is that nothing follows.
    fn pads(&self, column: usize) -> bool {
        self.columns[column].right || column + 1 < self.columns.len()
    }

    fn put_line<'t>(&self, out: &mut String, cells: impl Iterator<Item = (&'t str, usize)>) {
        for (index, (text, width)) in cells.enumerate() {
            if index > 0 {
                out.push_str("  ");
            }
            let column = &self.columns[index];
            let blanks = column.width.saturating_sub(width);
            if column.right {
                put_blanks(out, blanks);
            }
            out.push_str(text);
            if !column.right && self.pads(index) {
                put_blanks(out, blanks);
            }
        }
        out.push('\n');
    }
}

fn put_blanks(out: &mut String, count: usize) {
    const BLANKS: &str = "                                ";
    let mut left = count;
    while left > 0 {
        let piece = left.min(BLANKS.len());
        out.push_str(&BLANKS[..piece]);
        left -= piece;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_as_long_as_is_said_before_it_is_made() {
        let header = ["id", "naïve", "x"].map(str::to_owned);
        let mut table = Table::new(&header);
        let texts = ["", "a", "\"q\"", "日本", "tab\t", "back\\slash", "é\u{301}"];
        for (number, text) in texts.iter().enumerate() {
            let row = [
                Value::Integer(10_i64.pow(number as u32)),
                Value::Text((*text).into()),
                [Value::Null, Value::Real(0.5), Value::Blob(vec![7; 20])][number % 3].clone(),
            ];
            table.push(&row, 16);
        }
        table.fit();
        for narrow in [false, true] {
            if narrow {
                table.fit_nothing();
            }
            for row in 0..table.rows() {
                let line = table.line(row);
                let length = (line.len() as u64, super::super::escaped_len(&line));
                assert_eq!(table.length(row), length, "{line:?}");
            }
        }
    }

    #[test]
    fn a_row_that_is_taken_away_leaves_nothing() {
        let header = ["a".to_owned()];
        let mut table = Table::new(&header);
        table.push(&[Value::Integer(7)], 16);
        table.push(&[Value::Text("long".repeat(9))], 99);
        table.pop();
        table.fit();
        assert_eq!(
            (table.rows(), table.head() + &table.line(0)),
            (1, "a\n-\n7\n".into())
        );
    }
}
