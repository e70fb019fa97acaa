//! The text form: an aligned table, whole rows up to a budget, and what is left.

use super::cell::{Cell, cell, visible, visible_lines};
use super::layout::{DASHES, fit, width};
use super::{ENVELOPE, escaped_len};
use crate::command::output::{Output, Rows};
use crate::command::status::Failure;
use crate::command::table::Command;
use crate::settings::Limits;

/// More columns than this are shown one below the other.
const MOST_COLUMNS: usize = 40;

/// Characters of a cell of a sample.
const SAMPLE_CHARS: u32 = 200;

/// Characters kept for what stands below the rows.
const FOOT: usize = 600;

/// A refusal: its status, what was refused, and what to do instead.
pub fn refusal(failure: &Failure) -> String {
    format!(
        "{}: {}",
        failure.status.name(),
        visible_lines(&failure.to_string())
    )
}

/// What a command answers, within the owner's limits.
pub fn render(command: &Command, output: &Output, limits: &Limits) -> String {
    let mut page = Page::new(limits);
    if let Some(text) = &output.text {
        page.lines(text, command);
    }
    if let Some(rows) = &output.rows {
        if !page.text.is_empty() {
            page.add("\n");
        }
        page.rows(rows, command, limits);
    }
    if let Some(changes) = output.changes {
        let unit = if changes == 1 { "row" } else { "rows" };
        page.add(&format!("{changes} {unit} changed.\n"));
        if let Some(rowid) = output.last_insert_rowid {
            page.add(&format!("Last inserted rowid: {rowid}.\n"));
        }
    }
    for note in &output.notes {
        page.add(&format!("{}\n", visible(note)));
    }
    if page.text.is_empty() {
        page.add("Done.\n");
    }
    page.text
}

/// A few rows as a table, with cells short enough to look at, in at most a quarter of the budget.
pub fn sample(rows: &Rows, limits: &Limits) -> String {
    let limits = Limits {
        text_chars: limits.text_chars / 4,
        cell_chars: limits.cell_chars.min(SAMPLE_CHARS),
        ..limits.clone()
    };
    let mut page = Page::new(&limits);
    page.table(rows, &limits);
    page.text
}

/// The text so far and what may still be added.
struct Page {
    text: String,
    /// Characters that the text budget still has.
    chars: usize,
    /// Bytes that the reply budget still has.
    bytes: u64,
    /// The text budget as the owner set it.
    budget: u32,
}

impl Page {
    fn new(limits: &Limits) -> Self {
        Self {
            text: String::new(),
            chars: (limits.text_chars as usize).saturating_sub(FOOT.min(limits.text_chars as usize / 4)),
            bytes: limits.reply_bytes.saturating_sub(ENVELOPE),
            budget: limits.text_chars,
        }
    }

    /// Adds a text that has to be there.
    fn add(&mut self, text: &str) {
        self.chars = self.chars.saturating_sub(text.chars().count());
        self.bytes = self.bytes.saturating_sub(escaped_len(text));
        self.text.push_str(text);
    }

    /// Adds a text if the budgets allow it.
    fn try_add(&mut self, text: &str) -> bool {
        let fits = text.chars().count() <= self.chars && escaped_len(text) <= self.bytes;
        if fits {
            self.add(text);
        }
        fits
    }

    /// Adds whole lines, and says how many did not fit.
    fn lines(&mut self, text: &str, command: &Command) {
        let text = visible_lines(text);
        let lines: Vec<&str> = text.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            if !self.try_add(&format!("{line}\n")) {
                let left = lines.len() - index;
                self.add(&format!(
                    "… {left} more lines not shown (text budget of {} characters, --text){}\n",
                    self.budget,
                    advice(command)
                ));
                return;
            }
        }
    }

    /// Adds a result set.
    fn rows(&mut self, rows: &Rows, command: &Command, limits: &Limits) {
        let shown = self.table(rows, limits);
        let left = rows.rows.len() - shown;
        if left > 0 && shown == 0 {
            self.add(&format!(
                "… the first of {left} rows is too long for the text budget of {} characters \
                 (--text): name the columns that you need, or ask for output json.\n",
                self.budget
            ));
        } else if left > 0 {
            self.add(&format!(
                "… {left} more rows not shown (text budget of {} characters, --text){}\n",
                self.budget,
                advice(command)
            ));
        }
        self.add(&count(rows));
    }

    /// Adds rows in the form that suits them. Answers how many there was room for.
    fn table(&mut self, rows: &Rows, limits: &Limits) -> usize {
        if rows.columns.len() > MOST_COLUMNS {
            self.vertical(rows, limits)
        } else {
            self.aligned(rows, limits)
        }
    }

    /// One line for each row. Answers how many rows there was room for.
    fn aligned(&mut self, rows: &Rows, limits: &Limits) -> usize {
        let mut budget = limits.cell_chars as usize;
        // A row that would not fit by itself is cut harder rather than left out.
        let fair = self.chars / (rows.columns.len() + 1);
        if rows
            .rows
            .first()
            .is_some_and(|row| length(row, budget) > self.chars)
        {
            budget = budget.min(fair.saturating_sub(40)).max(16);
        }
        let header: Vec<String> = rows
            .columns
            .iter()
            .map(|column| visible(&column.name).into_owned())
            .collect();
        let mut cells: Vec<Vec<Cell>> = Vec::new();
        let mut room = self.chars;
        for row in &rows.rows {
            let line: Vec<Cell> = row.iter().map(|value| cell(value, budget)).collect();
            let need: usize = line.iter().map(|cell| cell.text.chars().count() + 1).sum();
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
        let first: usize = widths.iter().zip(&fitted).map(|(cells, width)| width.max(&cells[0]) + 2).sum();
        if first * 3 > self.chars {
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
    fn vertical(&mut self, rows: &Rows, limits: &Limits) -> usize {
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
        let names: usize = header.iter().map(|name| name.chars().count() + 4).sum();
        if rows
            .rows
            .first()
            .is_some_and(|row| names + length(row, budget) > self.chars)
        {
            let fair = self.chars.saturating_sub(names) / (header.len() + 1);
            budget = budget.min(fair.saturating_sub(24)).max(16);
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
        self.add(&format!(
            "Text longer than {budget} characters is cut in {name}{others}: read on with \
             substr({name}, {}), or ask for output json.\n",
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
fn length(row: &[crate::engine::value::Value], budget: usize) -> usize {
    row.iter()
        .map(|value| cell(value, budget).text.chars().count() + 2)
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
fn count(rows: &Rows) -> String {
    let here = rows.rows.len() as u64;
    let unit = if here == 1 { "row" } else { "rows" };
    match rows.total {
        Some(total) if total > here => {
            format!("({here} of {total} rows: the limit is {})\n", rows.limit)
        }
        _ if rows.more => format!("({here} {unit}; more exist: the limit is {})\n", rows.limit),
        _ => format!("({here} {unit})\n"),
    }
}

/// How to get what was left out, by what the command takes.
fn advice(command: &Command) -> &'static str {
    let takes = |name: &str| {
        command
            .arguments
            .iter()
            .any(|argument| argument.name == name)
    };
    if takes("limit") {
        ": ask for fewer columns, page with LIMIT and OFFSET, or use output json."
    } else if takes("pattern") {
        ": narrow it with pattern, or use output json."
    } else {
        ": use output json."
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::command::output::Column;
    use crate::command::status::Status;
    use crate::command::table::find;
    use crate::engine::value::Value;

    fn rows(columns: &[&str], rows: Vec<Vec<Value>>) -> Rows {
        Rows {
            columns: columns
                .iter()
                .map(|name| Column { name: (*name).into(), declared: String::new() })
                .collect(),
            rows,
            limit: 200,
            ..Rows::default()
        }
    }

    fn shown(rows: Rows, limits: &Limits) -> String {
        let output = Output { rows: Some(rows), ..Output::default() };
        render(find("query").unwrap(), &output, limits)
    }

    fn text(text: &str) -> Value {
        Value::Text(text.into())
    }

    #[test]
    fn a_table_is_aligned_with_numbers_to_the_right() {
        let rows = rows(
            &["name", "n", "note"],
            vec![
                vec![text("ab"), Value::Integer(5), text("x")],
                vec![text("日本"), Value::Integer(-1200), Value::Null],
            ],
        );
        assert_eq!(
            shown(rows, &Limits::default()),
            "name      n  note\n----  -----  ----\nab        5  x\n日本  -1200  NULL\n(2 rows)\n"
        );
    }

    #[test]
    fn an_empty_result_shows_its_headers() {
        assert_eq!(shown(rows(&["a", "b"], vec![]), &Limits::default()), "a  b\n-  -\n(0 rows)\n");
    }

    #[test]
    fn columns_of_one_name_are_all_shown() {
        let rows = rows(&["id", "id"], vec![vec![Value::Integer(1), Value::Integer(2)]]);
        assert_eq!(shown(rows, &Limits::default()), "id  id\n--  --\n 1   2\n(1 row)\n");
    }

    #[test]
    fn more_rows_are_said_with_the_limit_and_the_total_where_it_is_known() {
        let mut some = rows(&["a"], vec![vec![Value::Integer(1)]]);
        some.more = true;
        assert!(shown(some.clone(), &Limits::default()).ends_with("(1 row; more exist: the limit is 200)\n"));
        some.total = Some(7);
        assert!(shown(some, &Limits::default()).ends_with("(1 of 7 rows: the limit is 200)\n"));
    }

    #[test]
    fn whole_rows_come_up_to_the_budget_and_then_what_is_left() {
        let many = (0..5_000).map(|n| vec![Value::Integer(n), text("twenty characters xx")]).collect();
        let page = shown(rows(&["n", "t"], many), &Limits::default());
        assert!(page.chars().count() <= 40_000, "{}", page.chars().count());
        let lines: Vec<&str> = page.lines().collect();
        let shown = lines.len() - 4;
        assert!(shown > 1_000);
        assert!(lines[2..2 + shown].iter().all(|line| line.ends_with("xx")));
        assert_eq!(
            lines[2 + shown],
            format!(
                "… {} more rows not shown (text budget of 40000 characters, --text): ask for fewer \
                 columns, page with LIMIT and OFFSET, or use output json.",
                5_000 - shown
            )
        );
        assert_eq!(lines[3 + shown], "(5000 rows)");
    }

    #[test]
    fn a_long_cell_is_cut_and_told_how_to_read_on() {
        let page = shown(
            rows(&["id", "body"], vec![vec![Value::Integer(1), text(&"x".repeat(1 << 20))]]),
            &Limits::default(),
        );
        assert!(page.contains("xxx… (1048576 characters)\n"));
        assert!(page.contains(
            "Text longer than 2000 characters is cut in body: read on with substr(body, 2001), or ask for output json."
        ));
        assert!(page.len() < 5_000);
    }

    #[test]
    fn a_row_that_would_not_fit_by_itself_is_cut_harder() {
        let row = || (0..30).map(|_| text(&"y".repeat(5_000))).collect::<Vec<Value>>();
        let names: Vec<String> = (0..30).map(|n| format!("c{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let page = shown(rows(&names, vec![row()]), &Limits::default());
        assert!(page.chars().count() <= 40_000);
        assert!(page.contains("(1 row)") && !page.contains("not shown"), "{}", &page[page.len() - 300..]);
        assert!(page.contains("is cut in c0 (and 29 other columns)"), "{}", &page[page.len() - 300..]);
    }

    #[test]
    fn one_very_long_cell_does_not_widen_every_row() {
        let mut many: Vec<Vec<Value>> =
            (0..300).map(|n| vec![Value::Integer(n), text("short"), text("tail")]).collect();
        many[7][1] = text(&"z".repeat(1_900));
        let data: usize = 10 + 90 * 2 + 200 * 3 + 299 * 5 + 1_900 + 300 * 4;
        let page = shown(rows(&["n", "body", "t"], many), &Limits::default());
        assert!(page.contains("(300 rows)"));
        // Separators and line ends are five for each row.
        let padding = page.len() - data - 302 * 5;
        assert!(padding <= data + 300, "{padding} for {data}");
    }

    #[test]
    fn hostile_cells_and_names_leave_a_row_a_row() {
        let page = shown(
            rows(
                &["a\nb", "\u{1b}[2J"],
                vec![vec![text("x\ny\u{202e}"), text("")], vec![Value::Null, text("NULL")]],
            ),
            &Limits::default(),
        );
        assert_eq!(
            page,
            "a\\nb        \\u001b[2J\n----------  ---------\n\
             x\\ny\\u202e  ''\nNULL        'NULL'\n(2 rows)\n"
        );
    }

    #[test]
    fn hundreds_of_columns_stand_below_each_other() {
        let names: Vec<String> = (0..300).map(|n| format!("c{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let row = (0..300).map(Value::Integer).collect::<Vec<Value>>();
        let page = shown(rows(&names, vec![row.clone(), row]), &Limits::default());
        assert!(page.starts_with("-- row 1 --\nc0 = 0\nc1 = 1\n"));
        assert!(page.contains("-- row 2 --\n") && page.ends_with("c299 = 299\n(2 rows)\n"));
        let empty = shown(rows(&names, vec![]), &Limits::default());
        assert!(empty.starts_with("c0\nc1\n") && empty.ends_with("(0 rows)\n"));
    }

    #[test]
    fn two_thousand_columns_with_long_names_stay_within_the_budget() {
        let names: Vec<String> = (0..2_000).map(|n| format!("{n}{}", "n".repeat(60))).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let row = (0..2_000).map(|_| text("value")).collect::<Vec<Value>>();
        let page = shown(rows(&names, vec![row]), &Limits::default());
        assert!(page.chars().count() <= 40_000);
        assert!(page.contains("name the columns that you need"), "{page}");
    }

    #[test]
    fn the_reply_budget_holds_for_text_too() {
        let limits = Limits { text_chars: 1_000_000, reply_bytes: 100_000, ..Limits::default() };
        let many = (0..5_000).map(|_| vec![text(&"\"".repeat(50))]).collect();
        let page = shown(rows(&["q"], many), &limits);
        assert!(serde_json::to_string(&page).unwrap().len() < 100_000);
        assert!(page.contains("more rows not shown"));
    }

    #[test]
    fn text_comes_before_rows_and_remarks_after_them() {
        let output = Output {
            text: Some("head\u{7}\n".into()),
            rows: Some(rows(&["a"], vec![])),
            changes: Some(1),
            last_insert_rowid: Some(9),
            notes: vec!["note\nwith break".into()],
            ..Output::default()
        };
        assert_eq!(
            render(find("exec").unwrap(), &output, &Limits::default()),
            "head\\u0007\n\na\n-\n(0 rows)\n1 row changed.\nLast inserted rowid: 9.\nnote\\nwith break\n"
        );
        assert_eq!(render(find("exec").unwrap(), &Output::default(), &Limits::default()), "Done.\n");
    }

    #[test]
    fn long_text_ends_with_what_is_left() {
        let output = Output { text: Some("line\n".repeat(20_000)), ..Output::default() };
        let page = render(find("schema").unwrap(), &output, &Limits::default());
        assert!(page.chars().count() <= 40_000);
        assert!(page.ends_with("--text): narrow it with pattern, or use output json.\n"));
    }

    #[test]
    fn a_refusal_is_its_status_and_sentences() {
        let failure = Failure::new(Status::NotFound, "There is no table x.").hint("Did you mean y?");
        assert_eq!(refusal(&failure), "not_found: There is no table x. Did you mean y?");
        let failure = Failure::new(Status::Syntax, "near \"\u{1b}[31m\"");
        assert_eq!(refusal(&failure), "syntax: near \"\\u001b[31m\"");
        assert_eq!(json!(refusal(&failure)).as_str().unwrap().lines().count(), 1);
    }
}
