//! The text form: an aligned table, whole rows up to a budget, and what is left.

use super::cell::{Cell, cell};
use super::layout::{DASHES, fit, width};
use super::mode::identifier;
use super::{ENVELOPE, escaped_len};
use crate::answer::failure::Failure;
use crate::answer::output::{Output, Rows};
use crate::settings::OutputLimits;
use crate::text::escape::{visible, visible_lines};

/// More columns than this are shown one below the other.
const MOST_COLUMNS: usize = 40;

/// Characters of a cell of a sample.
const SAMPLE_CHARS: u32 = 200;

/// Bytes reserved for the notes below the rows.
const FOOT: usize = 600;

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
    for warning in &output.warnings {
        page.add(&format!("{}\n", visible(warning)));
    }
    if let Some(text) = &output.text {
        page.lines(text, advice);
    }
    if let Some(rows) = &output.rows {
        if !page.text.is_empty() {
            page.add("\n");
        }
        page.rows(rows, advice, limits);
    }
    // Where the schema was the point, no rows are no news.
    let told = output
        .changes
        .filter(|changes| *changes > 0 || !output.defined);
    if let Some(changes) = told {
        let unit = if changes == 1 { "row" } else { "rows" };
        page.add(&format!("{changes} {unit} changed.\n"));
        if let Some(rowid) = output.last_insert_rowid {
            page.add(&format!("Last inserted rowid: {rowid}.\n"));
        }
    }
    for note in &output.notes {
        page.add(&format!("{}\n", visible(note)));
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
    page.table(rows, &limits);
    page.text
}

/// The text so far and what may still be added.
struct Page {
    text: String,
    /// Bytes that the text budget still has.
    room: usize,
    /// Bytes that the reply budget still has, where some are escaped.
    escaped_room: u64,
    /// The text budget as the owner set it.
    budget: u32,
    /// The reply budget, too.
    reply: u64,
    /// Whether it was the reply budget that had no room.
    reply_is_full: bool,
}

impl Page {
    fn new(limits: &OutputLimits) -> Self {
        Self {
            text: String::new(),
            room: (limits.text_bytes as usize)
                .saturating_sub(FOOT.min(limits.text_bytes as usize / 4)),
            escaped_room: limits.reply_bytes.saturating_sub(ENVELOPE),
            budget: limits.text_bytes,
            reply: limits.reply_bytes,
            reply_is_full: false,
        }
    }

    /// The budget that had no room, and its flag.
    fn limit(&self) -> (String, &'static str) {
        if self.reply_is_full {
            (format!("reply budget of {} bytes", self.reply), "--reply")
        } else {
            (format!("text budget of {} bytes", self.budget), "--text")
        }
    }

    /// Adds a text that has to be there.
    fn add(&mut self, text: &str) {
        self.room = self.room.saturating_sub(text.len());
        self.escaped_room = self.escaped_room.saturating_sub(escaped_len(text));
        self.text.push_str(text);
    }

    /// Adds a text if the budgets allow it.
    fn try_add(&mut self, text: &str) -> bool {
        let short = text.len() <= self.room;
        let fits = short && escaped_len(text) <= self.escaped_room;
        if fits {
            self.add(text);
        }
        self.reply_is_full = short && !fits;
        fits
    }

    /// Adds whole lines, and says how many did not fit.
    fn lines(&mut self, text: &str, advice: &str) {
        let text = visible_lines(text);
        let lines: Vec<&str> = text.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            if !self.try_add(&format!("{line}\n")) {
                let left = lines.len() - index;
                let (budget, flag) = self.limit();
                self.add(&format!(
                    "… {left} more lines not shown ({budget}, {flag}): {advice}\n"
                ));
                return;
            }
        }
    }

    /// Adds a result set.
    fn rows(&mut self, rows: &Rows, advice: &str, limits: &OutputLimits) {
        let shown = self.table(rows, limits);
        let left = rows.rows.len() - shown;
        let (budget, flag) = self.limit();
        if left > 0 && shown == 0 {
            self.add(&format!(
                "… the first of {left} rows is too long for the {budget} ({flag}): name the \
                 columns that you need, or ask for output json.\n"
            ));
        } else if left > 0 {
            self.add(&format!(
                "… {left} more rows not shown ({budget}, {flag}): {advice}\n"
            ));
        }
        self.add(&count(rows, limits));
    }

    /// Adds rows in the form that suits them. Answers how many there was room for.
    fn table(&mut self, rows: &Rows, limits: &OutputLimits) -> usize {
        if rows.columns.len() > MOST_COLUMNS {
            self.vertical(rows, limits)
        } else {
            self.aligned(rows, limits)
        }
    }

    /// One line for each row. Answers how many rows there was room for.
    fn aligned(&mut self, rows: &Rows, limits: &OutputLimits) -> usize {
        let mut budget = limits.cell_chars as usize;
        // A row that would not fit by itself is cut harder rather than left out.
        let fair = self.room / (rows.columns.len() + 1);
        if let Some(row) = rows.rows.first()
            && length(row, budget) > self.room
        {
            budget = budget.min(fair.saturating_sub(40)).max(16);
            if length(row, budget) > self.room {
                // A character can take four bytes.
                budget = (budget / 4).max(16);
            }
        }
        let header: Vec<String> = rows
            .columns
            .iter()
            .map(|column| visible(&column.name).into_owned())
            .collect();
        let mut cells: Vec<Vec<Cell>> = Vec::new();
        let mut room = self.room;
        for row in &rows.rows {
            let line: Vec<Cell> = row.iter().map(|value| cell(value, budget)).collect();
            let need: usize = line.iter().map(|cell| cell.text.len() + 1).sum();
            // Widths come from what will be shown, so nothing is measured that cannot fit.
            if need > room {
                break;
            }
            room -= need;
            cells.push(line);
        }
        let right: Vec<bool> = (0..header.len())
            .map(|column| {
                cells.iter().any(|row| row[column].number)
                    && cells
                        .iter()
                        .all(|row| row[column].number || row[column].text == "NULL")
            })
            .collect();
        let widths: Vec<Vec<usize>> = header
            .iter()
            .enumerate()
            .map(|(column, name)| {
                std::iter::once(width(name))
                    .chain(cells.iter().map(|row| width(&row[column].text)))
                    .collect()
            })
            .collect();
        let mut fitted = fit(&widths, right.last().copied().unwrap_or_default());
        // A single row of long cells would be pushed out by the blanks of its own header.
        let first: usize = widths
            .iter()
            .zip(&fitted)
            .map(|(cells, width)| width.max(&cells[0]) + 2)
            .sum();
        if first * 3 > self.room {
            fitted.fill(1);
        }
        let names: Vec<&str> = header.iter().map(String::as_str).collect();
        let dashes: Vec<String> = fitted
            .iter()
            .map(|width| "-".repeat((*width).clamp(1, DASHES)))
            .collect();
        let dashes: Vec<&str> = dashes.iter().map(String::as_str).collect();
        if !self.try_add(&line(&names, &fitted, &right)) {
            return 0;
        }
        self.try_add(&line(&dashes, &fitted, &right));
        let mut shown = 0;
        let mut cut = Vec::new();
        for row in &cells {
            let texts: Vec<&str> = row.iter().map(|cell| cell.text.as_str()).collect();
            if !self.try_add(&line(&texts, &fitted, &right)) {
                break;
            }
            shown += 1;
            note_cuts(row, &mut cut);
        }
        self.cuts(&cut, &header, budget);
        shown
    }

    /// One line for each value. Answers how many rows there was room for.
    fn vertical(&mut self, rows: &Rows, limits: &OutputLimits) -> usize {
        let mut budget = limits.cell_chars as usize;
        let header: Vec<String> = rows
            .columns
            .iter()
            .map(|column| visible(&column.name).into_owned())
            .collect();
        if rows.rows.is_empty() {
            for name in &header {
                if !self.try_add(&format!("{name}\n")) {
                    break;
                }
            }
            return 0;
        }
        let names: usize = header.iter().map(|name| name.len() + 4).sum();
        if let Some(row) = rows.rows.first()
            && names + length(row, budget) > self.room
        {
            let fair = self.room.saturating_sub(names) / (header.len() + 1);
            budget = budget.min(fair.saturating_sub(24)).max(16);
            if names + length(row, budget) > self.room {
                budget = (budget / 4).max(16);
            }
        }
        let mut cut = Vec::new();
        let mut shown = 0;
        for (index, row) in rows.rows.iter().enumerate() {
            let mut block = format!("-- row {} --\n", index + 1);
            let row: Vec<Cell> = row.iter().map(|value| cell(value, budget)).collect();
            for (name, cell) in header.iter().zip(&row) {
                block.push_str(name);
                block.push_str(" = ");
                block.push_str(&cell.text);
                block.push('\n');
            }
            if !self.try_add(&block) {
                break;
            }
            shown += 1;
            note_cuts(&row, &mut cut);
        }
        self.cuts(&cut, &header, budget);
        shown
    }

    /// Says which columns were cut, and how to read on.
    fn cuts(&mut self, cut: &[usize], header: &[String], budget: usize) {
        let Some(first) = cut.first() else { return };
        let name: String = header[*first].chars().take(60).collect();
        let others = match cut.len() {
            1 => String::new(),
            2 => " (and 1 other column)".to_owned(),
            many => format!(" (and {} other columns)", many - 1),
        };
        // What looks like an expression can be written as it is; a name may have to be quoted.
        let named = name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | ' '));
        let written = if named {
            identifier(&name)
        } else {
            name.clone()
        };
        self.add(&format!(
            "Text longer than {budget} characters is cut in {name}{others}: read the rest with \
             substr({written}, {}), or ask for output json.\n",
            budget + 1
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

/// The characters of one row.
fn length(row: &[crate::answer::value::Value], budget: usize) -> usize {
    row.iter()
        .map(|value| cell(value, budget).text.len() + 2)
        .sum()
}

/// One line of the table. Nothing is padded that nothing follows.
fn line(cells: &[&str], widths: &[usize], right: &[bool]) -> String {
    let mut line = String::new();
    for (index, text) in cells.iter().enumerate() {
        if index > 0 {
            line.push_str("  ");
        }
        let blanks = widths[index].saturating_sub(width(text));
        if right[index] {
            line.extend(std::iter::repeat_n(' ', blanks));
            line.push_str(text);
        } else {
            line.push_str(text);
            if index + 1 < cells.len() {
                line.extend(std::iter::repeat_n(' ', blanks));
            }
        }
    }
    line.push('\n');
    line
}

/// How many rows there are, and whether that is all.
fn count(rows: &Rows, limits: &OutputLimits) -> String {
    let here = rows.rows.len() as u64;
    let unit = if here == 1 { "row" } else { "rows" };
    let (shown, more) = match rows.total {
        Some(total) if total > here => (format!("{here} of {total} rows"), true),
        _ => (format!("{here} {unit}"), rows.more),
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
