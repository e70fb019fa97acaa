//! The text form: an aligned table, whole rows up to a budget, and what is left.

use std::borrow::Cow;

use super::cell::{Cell, ESCAPES, put, shown};
use super::room::Room;
use super::table::Table;
use super::{COLUMN_CHARS, FOOT, read_on};
use crate::answer::failure::Failure;
use crate::answer::output::{Column, Output, Rows};
use crate::settings::OutputLimits;
use crate::text::count::count;
use crate::text::escape::{escaped, hides, visible, visible_lines};

/// More columns than this are shown one below the other.
const MOST_COLUMNS: usize = 40;

/// Sentences about the effects of a write.
const MOST_EFFECTS: usize = 20;

/// No cell is cut to fewer characters.
const SHORTEST_CELL: usize = 16;

/// What is said of a text that is shown with escapes, which it does not have.
const HIDDEN: &str = "Characters that cannot be seen are shown as \\uXXXX or \\r, which is not what the text \
                      holds; output json and files have it as it is.";

/// Characters of a cell of a sample.
const SAMPLE_CHARS: u32 = 200;

/// A refusal: its status, what was refused, and what to do instead.
pub(crate) fn refusal(failure: &Failure) -> String {
    format!(
        "{}: {}",
        failure.status.name(),
        visible_lines(&failure.to_string())
    )
}

/// What a command answers, within the owner's limits. `advice` says how to get what was left out.
pub(crate) fn render(advice: &str, output: &Output, limits: &OutputLimits) -> String {
    if output.printed {
        return String::new();
    }
    let mut page = Page::new(limits);
    let notes: usize = output.notes.iter().map(|note| note.len() + 1).sum();
    let reserved = page.room.reserve(FOOT + notes);
    for warning in &output.warnings {
        page.remark(warning);
    }
    if let Some(text) = &output.text {
        page.lines(text, advice);
    }
    if let Some(rows) = &output.rows {
        if !page.text.is_empty() {
            page.add("\n");
        }
        page.rows(rows, advice);
    }
    page.room.release(reserved);
    let mut end = String::new();
    if let Some(rows) = &output.rows {
        end += &total(rows, limits);
    }
    // Where the schema was the point, no rows are no news.
    let told = output
        .changes
        .filter(|changes| *changes > 0 || !output.defined && output.effects.is_empty());
    if let Some(changes) = told {
        end += &format!("{} changed.\n", count(changes, "row"));
        if let Some(rowid) = output.last_insert_rowid {
            end += &format!("Last inserted rowid: {rowid}.\n");
        }
    }
    for effect in output.effects.iter().take(MOST_EFFECTS) {
        end += &format!("{}\n", visible(effect));
    }
    page.foot(&end);
    for (index, note) in output.notes.iter().enumerate() {
        if !page.remark(note) {
            let left = output.notes.len() - index;
            page.add(&format!("… {} not shown.\n", count(left, "more remark")));
            break;
        }
    }
    if page.text.is_empty() && output.text.is_none() {
        page.add("Done.\n");
    }
    page.text
}

/// A few rows as a table, with cells short enough to look at, in at most a quarter of the budget.
pub(crate) fn sample(rows: &Rows, limits: &OutputLimits) -> String {
    let limits = OutputLimits {
        text_bytes: limits.text_bytes / 4,
        cell_chars: limits.cell_chars.min(SAMPLE_CHARS),
        ..*limits
    };
    let mut page = Page::new(&limits);
    let reserved = page.room.reserve(FOOT);
    page.table(rows);
    page.room.release(reserved);
    page.foot("");
    page.text
}

/// The text so far and what may still be added.
struct Page {
    text: String,
    room: Room,
    /// Characters of a cell.
    cell: usize,
    /// Whether a cell has escapes.
    escaped: bool,
    /// Whether a text has characters that are not shown.
    hidden: bool,
    /// What is to be said below the rows; what matters most comes first.
    below: Vec<String>,
}

impl Page {
    fn new(limits: &OutputLimits) -> Self {
        Self {
            text: String::new(),
            room: Room::new(limits),
            cell: limits.cell_chars as usize,
            escaped: false,
            hidden: false,
            below: Vec::new(),
        }
    }

    /// Adds a text that has to be there.
    fn add(&mut self, text: &str) {
        self.room.take(text);
        self.text.push_str(text);
    }

    /// Adds a text if the budgets allow it.
    fn try_add(&mut self, text: &str) -> bool {
        let fits = self.room.try_take(text);
        if fits {
            self.text.push_str(text);
        }
        fits
    }

    /// Adds a sentence on a line of its own, if the budgets allow it.
    fn remark(&mut self, sentence: &str) -> bool {
        self.try_add(&format!("{}\n", visible(sentence)))
    }

    /// Adds what is to be said below the rows, as far as there is room, and `end`, which has to be there.
    fn foot(&mut self, end: &str) {
        self.room.take(end);
        if self.escaped {
            self.below.push(ESCAPES.to_owned());
        }
        if self.hidden {
            self.below.push(HIDDEN.to_owned());
        }
        for sentence in std::mem::take(&mut self.below) {
            self.try_add(&format!("{sentence}\n"));
        }
        self.text.push_str(end);
    }

    /// Adds whole lines, and says how many did not fit.
    fn lines(&mut self, text: &str, advice: &str) {
        let text = visible_lines(text);
        self.hidden |= matches!(text, Cow::Owned(_));
        let lines: Vec<&str> = text.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            if self.try_add(&format!("{line}\n")) {
                continue;
            }
            let budget = self.room.budget();
            let mut left = count(lines.len() - index, "more line");
            if index == 0 {
                // Some of it is better than nothing.
                let start: String = line.chars().take(self.room.bytes() / 8).collect();
                self.add(&format!("{start}…\n"));
                left = format!("the rest of the first of {}", count(lines.len(), "line"));
            }
            self.below
                .insert(0, format!("… {left} not shown ({budget}): {advice}"));
            return;
        }
    }

    /// Adds a result set.
    fn rows(&mut self, rows: &Rows, advice: &str) {
        let shown = self.table(rows);
        let budget = self.room.budget();
        let left = count(
            rows.rows.len() - shown,
            if shown == 0 { "row" } else { "more row" },
        );
        let said = if shown == 0 {
            format!(
                "… the first of {left} is too long for the {budget}: name the columns that you need."
            )
        } else {
            format!("… {left} not shown ({budget}): {advice}")
        };
        if shown < rows.rows.len() {
            self.below.insert(0, said);
        }
    }

    /// Adds rows in the form that suits them. Answers how many there was room for.
    fn table(&mut self, rows: &Rows) -> usize {
        let mut cut = false;
        let names = rows.columns.iter().map(|column| {
            let mut name: String = column.name.chars().take(COLUMN_CHARS).collect();
            if name.len() < column.name.len() {
                name.push('…');
                cut = true;
            }
            self.escaped |= hides(&name);
            match hides(&name) {
                true => format!("'{}'", escaped(&name)),
                false => name,
            }
        });
        let header: Vec<String> = names.collect();
        if cut {
            self.below.push(format!(
                "Names of columns longer than {COLUMN_CHARS} characters are cut: AS gives short ones."
            ));
        }
        if rows.columns.len() > MOST_COLUMNS {
            self.vertical(rows, &header)
        } else {
            self.aligned(rows, &header)
        }
    }

    /// How many characters of a cell let the first row fit by itself: it is cut harder rather than left out.
    /// `other` bytes of its room are for something else.
    fn cell_budget(&self, rows: &Rows, other: usize) -> usize {
        let mut room = self.room;
        room.take_bytes(other);
        let fits = |budget: usize| match rows.rows.first() {
            Some(row) => {
                let cells = row.iter().map(|value| shown(value, budget) + "  ");
                room.fits(&cells.collect::<String>())
            }
            None => true,
        };
        if fits(self.cell) {
            return self.cell;
        }
        let fair = room.bytes() / (rows.columns.len() + 1);
        let mut budget = self.cell.min(fair.saturating_sub(40)).max(SHORTEST_CELL);
        while budget > SHORTEST_CELL && !fits(budget) {
            budget = (budget / 4 * 3).max(SHORTEST_CELL);
        }
        budget
    }

    /// One line for each row. Answers how many rows there was room for.
    fn aligned(&mut self, rows: &Rows, header: &[String]) -> usize {
        let names_length: usize = header.iter().map(|name| name.len() + 2).sum();
        // The dashes below them, too.
        let budget = self.cell_budget(rows, 2 * names_length);
        let mut table = Table::new(header);
        let mut room = self.room.bytes();
        for row in &rows.rows {
            // Widths come from what will be shown, so nothing is measured that cannot fit.
            let Some(left) = room.checked_sub(table.push(row, budget)) else {
                table.pop();
                break;
            };
            room = left;
        }
        table.fit();
        let mut head = table.head();
        // A row of long cells would be pushed out by the blanks of its own header.
        let blanks = head.len() > names_length + self.room.bytes() / 3;
        if table.rows() > 0 && (blanks || !self.room.fits(&(head.clone() + &table.line(0)))) {
            table.fit_nothing();
            head = table.head();
        }
        if !self.try_add(&head) {
            return 0;
        }
        let mut shown = 0;
        let mut cut = Vec::new();
        for row in 0..table.rows() {
            let (bytes, escaped) = table.length(row);
            if !self.room.try_take_bytes(bytes, escaped) {
                break;
            }
            table.put(&mut self.text, row);
            shown += 1;
            self.escaped |= table.row(row).iter().any(|cell| cell.escaped);
            note_cuts(table.row(row), &mut cut);
        }
        self.cuts(&cut, &rows.columns, budget);
        shown
    }

    /// One line for each value. Answers how many rows there was room for.
    fn vertical(&mut self, rows: &Rows, header: &[String]) -> usize {
        if rows.rows.is_empty() {
            for name in header {
                if !self.try_add(&format!("{name}\n")) {
                    break;
                }
            }
            return 0;
        }
        let names: usize = header.iter().map(|name| name.len() + 4).sum();
        let budget = self.cell_budget(rows, names);
        let mut cut = Vec::new();
        let mut shown = 0;
        for (index, row) in rows.rows.iter().enumerate() {
            let mut block = format!("-- row {} --\n", index + 1);
            let mut cells = Vec::with_capacity(row.len());
            for (name, value) in header.iter().zip(row) {
                block.push_str(name);
                block.push_str(" = ");
                cells.push(put(&mut block, value, budget));
                block.push('\n');
            }
            if !self.try_add(&block) {
                break;
            }
            shown += 1;
            self.escaped |= cells.iter().any(|cell| cell.escaped);
            note_cuts(&cells, &mut cut);
        }
        self.cuts(&cut, &rows.columns, budget);
        shown
    }

    /// Says which columns were cut, and how to read on.
    fn cuts(&mut self, cut: &[usize], columns: &[Column], budget: usize) {
        let Some(first) = cut.first() else { return };
        let name = &columns[*first].name;
        let others = match cut.len() {
            1 => String::new(),
            many => format!(" (and {})", count(many - 1, "other column")),
        };
        let shown: String = name.chars().take(COLUMN_CHARS).collect();
        self.below.push(format!(
            "Text longer than {budget} characters is cut in {}{others}: read the rest with {}, or ask for output \
             json.",
            visible(&shown),
            read_on(name, budget)
        ));
    }
}

fn note_cuts(row: &[Cell], cut: &mut Vec<usize>) {
    for (column, _) in row.iter().enumerate().filter(|(_, cell)| cell.cut) {
        if !cut.contains(&column) {
            cut.push(column);
        }
    }
}

/// How many rows there are, and whether that is all.
fn total(rows: &Rows, limits: &OutputLimits) -> String {
    let here = rows.rows.len() as u64;
    let (shown, more) = match rows.total {
        Some(total) if total > here => (format!("{here} of {}", count(total, "row")), true),
        _ => (count(here, "row"), rows.more),
    };
    let rest = match rows.limit {
        _ if !more => String::new(),
        limit if limit < limits.max_rows => {
            format!("; more rows exist, raise the limit of {limit}")
        }
        _ => "; more rows exist than --max-rows allows".to_owned(),
    };
    format!("({shown}{rest})\n")
}

#[cfg(test)]
mod tests;
