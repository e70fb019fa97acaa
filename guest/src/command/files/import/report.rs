//! What came of an import.

use serde_json::json;

use super::records::Record;
use super::{Plan, shown};
use crate::answer::output::Output;

/// How many lines are named of those that were padded.
const NAMED: usize = 5;

/// What came of it.
pub(super) struct Report {
    /// Records that were taken.
    pub rows: u64,
    /// Empty lines, which were not.
    pub blank: u64,
    padded: u64,
    lines: Vec<u64>,
    made: Option<String>,
    columns: Vec<String>,
    headed: bool,
}

impl Report {
    /// Nothing yet.
    pub(super) fn new(plan: &Plan) -> Self {
        let names: Vec<String> = plan
            .columns
            .iter()
            .map(|column| column.name.clone())
            .collect();
        let made = plan.kinds.as_ref().map(|kinds| {
            let columns: Vec<String> = names
                .iter()
                .zip(kinds)
                .map(|(name, kind)| format!("{name} {}", kind.declared()))
                .collect();
            columns.join(", ")
        });
        Self {
            rows: 0,
            blank: 0,
            padded: 0,
            lines: Vec::new(),
            made,
            columns: names,
            headed: plan.headed,
        }
    }

    /// One more record, for `width` columns.
    pub(super) fn count(&mut self, record: &Record, width: usize) {
        self.rows += 1;
        if record.len() < width {
            self.padded += 1;
            if self.lines.len() < NAMED {
                self.lines.push(record.line);
            }
        }
    }

    /// Tells it, of `file` and `table`.
    pub(super) fn add_to(self, file: &str, table: &str, output: &mut Output) {
        let unit = if self.rows == 1 { "row" } else { "rows" };
        let file = shown(file);
        output.text = Some(format!(
            "Imported {} {unit} from {file} into {table}\n",
            self.rows
        ));
        if let Some(columns) = &self.made {
            output
                .notes
                .push(format!("Created the table with the columns {columns}."));
        } else if !self.headed {
            output.notes.push(
                "The first record was imported as data, because it is not a list of the table's \
                 column names."
                    .into(),
            );
        }
        if self.padded > 0 {
            let lines: Vec<String> = self.lines.iter().map(u64::to_string).collect();
            let more = if self.padded as usize > self.lines.len() {
                " and more"
            } else {
                ""
            };
            output.notes.push(format!(
                "{} records had fewer fields than columns and were padded with NULL: line {}{more}.",
                self.padded,
                lines.join(", ")
            ));
        }
        if self.blank > 0 {
            output
                .notes
                .push(format!("{} empty lines were skipped.", self.blank));
        }
        for (name, value) in [
            ("table", json!(table)),
            ("rows_imported", json!(self.rows)),
            ("created", json!(self.made.is_some())),
            ("column_names", json!(self.columns)),
            ("padded", json!(self.padded)),
        ] {
            output.extra.insert(name.into(), value);
        }
    }
}
