//! What came of an import.

use std::borrow::Cow;

use serde_json::json;

use super::plan::{Affinity, Column, Plan, is_padded};
use super::records::{Cell, Record};
use super::sniff::Layout;
use super::{Header, Job};
use crate::answer::output::Output;
use crate::engine::schema::catalogue::quote;
use crate::text::escape::visible;

/// How many lines are named of those that were padded.
const NAMED: usize = 5;

/// Characters of a value that are shown.
const SHOWN: usize = 40;

/// What a text is as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// None.
    NoNumber,
    /// One that keeps all that the text says.
    Plain,
    /// One that does not keep the zeros in front.
    Zeros,
    /// A whole one that is too long for 64 bits.
    Long,
}

impl Form {
    /// That of a text as SQLite reads it.
    pub(super) fn of(text: &str) -> Self {
        // Mostly there is nothing around it.
        let text = if is_number(text) {
            text
        } else {
            let inner = text.trim_matches([' ', '\t', '\n', '\u{b}', '\u{c}', '\r']);
            if !is_number(inner) {
                return Self::NoNumber;
            }
            inner
        };
        let digits = text.trim_start_matches(['+', '-']);
        let whole = digits.bytes().all(|b| b.is_ascii_digit());
        if whole && digits.len() > 1 && digits.starts_with('0') {
            Self::Zeros
        } else if whole && digits.len() > 18 && text.parse::<i64>().is_err() {
            Self::Long
        } else {
            Self::Plain
        }
    }
}

/// Whether a text is a number in decimal digits, all of it.
fn is_number(text: &str) -> bool {
    fn digits(text: &[u8]) -> (usize, &[u8]) {
        let count = text.iter().take_while(|b| b.is_ascii_digit()).count();
        (count, &text[count..])
    }
    fn unsigned(text: &[u8]) -> &[u8] {
        match text {
            [b'+' | b'-', rest @ ..] => rest,
            text => text,
        }
    }
    let (whole, mut rest) = digits(unsigned(text.as_bytes()));
    let mut fraction = 0;
    if let [b'.', after @ ..] = rest {
        (fraction, rest) = digits(after);
    }
    if let [b'e' | b'E', after @ ..] = rest {
        match digits(unsigned(after)) {
            (1.., []) => rest = &[],
            _ => return false,
        }
    }
    whole + fraction > 0 && rest.is_empty()
}

/// Values of a column that are not stored as they stand in the file.
#[derive(Clone, Debug)]
struct Change {
    what: &'static str,
    count: u64,
    line: u64,
    value: String,
}

/// What came of it.
pub(super) struct Report {
    /// Records that were taken.
    pub rows: u64,
    /// Empty lines, which were not.
    pub blank: u64,
    /// How many rows more there are, if that was counted.
    pub more: Option<i128>,
    padded: u64,
    lines: Vec<u64>,
    /// For each column.
    changes: Vec<Vec<Change>>,
    /// The column of the first record that holds a list of objects.
    wrapped: Option<usize>,
    /// Whether values have kept spaces around them, as names have not.
    spaces: bool,
}

impl Report {
    /// Nothing yet.
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            rows: 0,
            blank: 0,
            more: None,
            padded: 0,
            lines: Vec::new(),
            changes: vec![Vec::new(); plan.columns.len()],
            wrapped: None,
            spaces: false,
        }
    }

    /// One more record.
    pub(super) fn count(&mut self, record: &Record, plan: &Plan) {
        self.rows += 1;
        if record.len() < plan.width {
            self.padded += 1;
            if self.lines.len() < NAMED {
                self.lines.push(record.number);
            }
        }
        if self.rows == 1 {
            let list = |column: &Column| is_list_of_objects(record.written(column.from));
            self.wrapped = plan.columns.iter().position(list);
        }
        self.spaces |= plan.trimmed
            && (0..record.len())
                .filter_map(|at| record.field(at))
                .any(is_padded);
        for (column, changes) in plan.columns.iter().zip(&mut self.changes) {
            let Some((what, value)) = changed(column, record) else {
                continue;
            };
            match changes.iter_mut().find(|change| change.what == what) {
                Some(change) => change.count += 1,
                None => changes.push(Change {
                    what,
                    count: 1,
                    line: record.number,
                    value: value.chars().take(SHOWN).collect(),
                }),
            }
        }
    }

    /// Tells it.
    pub(super) fn add_to(self, job: &Job<'_>, plan: &Plan, output: &mut Output) {
        let unit = if self.rows == 1 { "row" } else { "rows" };
        let (file, table) = (job.shown(), job.table);
        output.text = Some(format!(
            "Imported {} {unit} from {file} into {table}\n",
            self.rows
        ));
        let columns: Vec<String> = plan
            .columns
            .iter()
            .map(|column| format!("{} {}", column.name, column.declared))
            .map(|column| column.trim_end().to_owned())
            .collect();
        let list = columns.join(", ");
        output.notes.push(if plan.new {
            format!("Created the table with the columns {list}.")
        } else {
            format!("Filled the columns {list}.")
        });
        if let Some(more) = self.more.filter(|more| *more != i128::from(self.rows)) {
            output.notes.push(format!(
                "{table} has {} rows more than before, not {}: a conflict or a trigger replaced rows or \
                 left some out.",
                more, self.rows
            ));
            output.extra.insert(
                "rows_more".into(),
                i64::try_from(more).unwrap_or_default().into(),
            );
        }
        output.notes.extend(job.layout.told(file));
        if plan.new && !plan.headed && !job.is_json() && job.header == Header::Unsaid {
            output.notes.push(
                "The first record was imported as data, because it holds a number or a date. If it is \
                 the names of the columns, drop the table and import it again with header."
                    .into(),
            );
        }
        if self.spaces {
            output.notes.push(
                "Spaces around names in the header were left out; those around values were kept."
                    .into(),
            );
        }
        if let Some(mark) = plan.splits_at {
            output.notes.push(format!(
                "{file} has one column. If it is to be split at {}, name that as separator.",
                named(mark)
            ));
        }
        if let (1, Some(at), true) = (self.rows, self.wrapped, job.is_json()) {
            let name = &plan.columns[at].name;
            output.notes.push(format!(
                "{name} holds a list of objects as one text. To have each as a row, import a file that \
                 holds the list alone, or read them by SELECT value FROM {}, json_each({}).",
                quote(table),
                quote(name)
            ));
        }
        if !plan.new && !plan.headed && !job.is_json() && job.header == Header::Unsaid {
            output.notes.push(
                "The first record was imported as data, because it is not a list of the table's \
                 column names."
                    .into(),
            );
        }
        if !plan.computed.is_empty() {
            output.notes.push(format!(
                "Left out, because the table computes it: {}.",
                plan.computed.join(", ")
            ));
        }
        let unit = job.unit().to_lowercase();
        for (column, changes) in plan.columns.iter().zip(self.changes) {
            for change in changes {
                let values = if change.count == 1 {
                    "1 value was"
                } else {
                    &format!("{} values were", change.count)
                };
                output.notes.push(format!(
                    "{}: {values} {}, the first on {unit} {}: '{}'.",
                    format!("{} {}", column.name, column.declared).trim_end(),
                    change.what,
                    change.line,
                    visible(&change.value)
                ));
            }
        }
        if self.padded > 0 && !job.is_json() {
            let lines: Vec<String> = self.lines.iter().map(u64::to_string).collect();
            let more = if self.padded as usize > self.lines.len() {
                " and more"
            } else {
                ""
            };
            let (records, were) = match self.padded {
                1 => ("record", "was"),
                _ => ("records", "were"),
            };
            output.notes.push(format!(
                "{} {records} had fewer fields than columns and {were} padded with NULL: {unit} {}{more}.",
                self.padded,
                lines.join(", ")
            ));
        }
        if self.blank > 0 {
            let lines = if self.blank == 1 {
                "empty line was"
            } else {
                "empty lines were"
            };
            output
                .notes
                .push(format!("{} {lines} skipped.", self.blank));
        }
        let names: Vec<&str> = plan
            .columns
            .iter()
            .map(|column| column.name.as_str())
            .collect();
        let types: Vec<&str> = plan
            .columns
            .iter()
            .map(|column| column.declared.as_str())
            .collect();
        for (name, value) in [
            ("table", json!(table)),
            ("rows_imported", json!(self.rows)),
            ("created", json!(plan.new)),
            ("column_names", json!(names)),
            ("column_types", json!(types)),
            ("padded", json!(if job.is_json() { 0 } else { self.padded })),
        ] {
            output.extra.insert(name.into(), value);
        }
    }
}

/// Whether a value of JSON is a list whose first item is an object.
fn is_list_of_objects(value: &str) -> bool {
    let items = value.strip_prefix('[').map(str::trim_start);
    items.is_some_and(|items| items.starts_with('{'))
}

/// How a value changes when it is stored, and what it was, if it does.
fn changed<'r>(column: &Column, record: &'r Record) -> Option<(&'static str, Cow<'r, str>)> {
    const ROUNDED: &str = "stored rounded, with the digits that a real keeps";
    let inexact = |number: i64| i128::from(number) != number as f64 as i128;
    let what = match (column.affinity, record.cell(column.from)) {
        (Affinity::Text, Cell::Text(_)) => return None,
        (affinity, Cell::Text(text)) => match (affinity, Form::of(text)) {
            (Affinity::Number | Affinity::Real, Form::NoNumber) => "no number, stored as text",
            (Affinity::Number | Affinity::Real, Form::Zeros) => "stored without the zeros in front",
            (Affinity::Number | Affinity::Real, Form::Long) => {
                "too long for an integer, stored rounded"
            }
            (Affinity::Real, Form::Plain) if text.trim().parse().is_ok_and(inexact) => ROUNDED,
            (Affinity::None, form) if form != Form::NoNumber => {
                "stored as text, since the column has no type"
            }
            _ => return None,
        },
        (Affinity::Text, Cell::Integer(_) | Cell::Real(_)) => "a number, stored as text",
        (Affinity::Real, Cell::Integer(number)) if inexact(number) => ROUNDED,
        (_, Cell::Real(number)) if !keeps(record.written(column.from), number) => ROUNDED,
        _ => return None,
    };
    let value = match record.cell(column.from) {
        Cell::Integer(number) => number.to_string().into(),
        _ => record.written(column.from).into(),
    };
    Some((what, value))
}

/// Whether a number has all digits of the text that it was read from.
fn keeps(text: &str, number: f64) -> bool {
    fn digits(text: &str) -> String {
        let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        digits.trim_matches('0').to_owned()
    }
    let written = digits(text);
    // All texts of 15 digits are kept, of more than 17 none is told from its neighbours.
    let (enough, most) = (15, 17);
    written.len() <= enough
        || written.len() <= most && digits(&format!("{number:.*e}", written.len() - 1)) == written
}

impl Layout {
    /// What was found out of the file.
    fn told(&self, file: &str) -> Option<String> {
        let mut parts = Vec::new();
        if self.coding.gzip {
            parts.push("unpacked by gzip".to_owned());
        }
        if let Some(wide) = self.coding.wide {
            parts.push(format!("converted from {wide}"));
        }
        match self.dialect {
            None => parts.push("read as JSON".to_owned()),
            Some(dialect) => {
                if self.found || self.names_separator {
                    parts.push(format!("split at {}", named(dialect.separator)));
                }
                if dialect.end == b'\r' {
                    parts.push("read with carriage returns as line ends".to_owned());
                }
            }
        }
        let known = self.dialect.is_none() && parts.len() == 1;
        (!parts.is_empty() && !known).then(|| format!("{file} was {}.", parts.join(", ")))
    }
}

fn named(separator: u8) -> String {
    match separator {
        b',' => "commas".into(),
        b';' => "semicolons".into(),
        b'\t' => "tabs".into(),
        other => format!("{:?}", char::from(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_what_is_read_as_one() {
        let mut texts = vec![String::new()];
        for length in 0..6 {
            for start in texts.clone() {
                if start.len() == length {
                    texts.extend(["0", "7", "+", "-", ".", "e"].map(|next| start.clone() + next));
                }
            }
        }
        for text in texts
            .iter()
            .map(String::as_str)
            .chain(["1E5", "inf", "nan", "0x1", "1_0", "١"])
        {
            let is_read = text.parse::<f64>().is_ok() && !text.contains(['i', 'n']);
            assert_eq!(is_number(text), is_read, "{text}");
        }
    }

    #[test]
    fn what_a_number_would_not_keep_is_told() {
        for (text, form) in [
            ("12", Form::Plain),
            (" -1.50e3 ", Form::Plain),
            ("0", Form::Plain),
            ("007", Form::Zeros),
            ("-00", Form::Zeros),
            ("9223372036854775807", Form::Plain),
            ("-9223372036854775808", Form::Plain),
            ("9223372036854775808", Form::Long),
            ("1234567890123456789012", Form::Long),
            ("--1", Form::NoNumber),
            ("1 2", Form::NoNumber),
            ("", Form::NoNumber),
        ] {
            assert_eq!(Form::of(text), form, "{text}");
        }
    }
}
