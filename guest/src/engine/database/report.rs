//! What a transaction changes, in words and for the JSON form.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::answer::output::Output;
use crate::engine::undo::Summary;
use crate::engine::undo::schema_diff::Object;
use crate::engine::undo::tally::Counts;
use crate::text::count::count;

/// What becomes of an object of the schema.
pub(super) struct Change<'a> {
    object: &'a Object,
    what: What<'a>,
    /// The rows that it is created or dropped with.
    rows: Option<u64>,
}

enum What<'a> {
    Made,
    Dropped,
    Altered,
    Renamed(&'a Object),
    Replaced,
    Passing,
}

impl Change<'_> {
    /// `table t: dropped with 2 rows`.
    fn line(&self) -> String {
        let object = self.object;
        let words = self.words();
        format!("{} {}: {words}", object.kind, object.name)
    }

    /// The same, shorter.
    pub(super) fn in_short(&self) -> String {
        let object = self.object;
        format!("{} {} {}", object.kind, object.name, self.words())
    }

    fn words(&self) -> String {
        let rows = match self.rows {
            Some(1) => " with 1 row".to_owned(),
            Some(rows) if rows > 0 => format!(" with {}", count(rows, "row")),
            _ => String::new(),
        };
        match self.what {
            What::Made => format!("created{rows}"),
            What::Dropped => format!("dropped{rows}"),
            What::Altered => "altered".to_owned(),
            What::Renamed(to) => format!("renamed to {}", to.name),
            What::Replaced => "dropped and created again".to_owned(),
            What::Passing => "created and dropped again".to_owned(),
        }
    }

    fn json(&self) -> Value {
        let change = match self.what {
            What::Made => "created",
            What::Dropped => "dropped",
            What::Altered => "altered",
            What::Renamed(_) => "renamed",
            What::Replaced => "replaced",
            What::Passing => "created_and_dropped",
        };
        let object = self.object;
        let mut told = json!({"type": object.kind, "name": object.name, "change": change});
        if let What::Renamed(to) = self.what {
            told["to"] = to.name.as_str().into();
        }
        if let Some(rows) = self.rows {
            told["rows"] = rows.into();
        }
        told
    }
}

/// What becomes of the objects of the schema.
pub(super) fn changes(summary: &Summary) -> Vec<Change<'_>> {
    let schema = &summary.schema;
    let change = |object, what| Change {
        object,
        what,
        rows: None,
    };
    let mut all: Vec<Change<'_>> = Vec::new();
    all.extend(schema.made.iter().map(|o| change(o, What::Made)));
    all.extend(schema.dropped.iter().map(|object| {
        let stored = object.kind == "table" && !object.is_virtual();
        Change {
            object,
            what: What::Dropped,
            rows: summary.lost.get(&object.name).copied().filter(|_| stored),
        }
    }));
    let renamed = summary.renamed.iter();
    all.extend(renamed.map(|(old, new)| change(old, What::Renamed(new))));
    all.extend(summary.replaced.iter().map(|o| change(o, What::Replaced)));
    all.extend(schema.altered.iter().map(|(o, _)| change(o, What::Altered)));
    all.extend(summary.passing.iter().map(|o| change(o, What::Passing)));
    all
}

/// Makes `output` the answer of a dry run. `made` are the rows of what would be made.
pub(super) fn report(summary: &Summary, made: &[Option<u64>], output: &mut Output) {
    output.last_insert_rowid = None;
    let mut changes = changes(summary);
    for (change, rows) in changes.iter_mut().zip(made) {
        change.rows = *rows;
    }
    let mut text = "Dry run: everything was rolled back.\n".to_owned();
    text.push_str(if summary.is_empty() {
        "The SQL would change nothing.\n"
    } else {
        "The SQL would change:\n"
    });
    let lines = lines(summary).into_iter();
    for line in lines.chain(changes.iter().map(Change::line)) {
        _ = writeln!(text, "  {line}");
    }
    output.text = Some(text);
    let extra = &mut output.extra;
    extra.insert("dry_run".into(), true.into());
    extra.insert("would_change".into(), counts(summary));
    let objects: Vec<Value> = changes.iter().map(Change::json).collect();
    extra.insert("would_change_schema".into(), objects.into());
    if summary.statistics {
        extra.insert("would_change_statistics".into(), true.into());
    }
}

/// What becomes of rows, one line for each table.
pub(super) fn lines(summary: &Summary) -> Vec<String> {
    let mut lines: Vec<String> = summary
        .tables
        .iter()
        .map(|(table, counts)| format!("{table}: {}", in_words(*counts)))
        .collect();
    lines.extend(
        summary
            .virtuals
            .iter()
            .map(|table| format!("{table}: a virtual table, whose rows cannot be counted")),
    );
    if summary.statistics {
        lines.push("statistics for the query planner: gathered or dropped".to_owned());
    }
    lines
}

/// The same for the JSON form.
fn counts(summary: &Summary) -> Value {
    let tables = summary.tables.iter().map(|(table, counts)| {
        json!({
            "table": table,
            "inserted": counts.inserted,
            "updated": counts.updated,
            "deleted": counts.deleted,
        })
    });
    let virtuals = summary
        .virtuals
        .iter()
        .map(|table| json!({"table": table, "virtual": true}));
    tables.chain(virtuals).collect()
}

/// `1 row inserted, 2 deleted`.
pub(super) fn in_words(counts: Counts) -> String {
    let parts = [
        (counts.inserted, "inserted"),
        (counts.updated, "updated"),
        (counts.deleted, "deleted"),
    ];
    let mut words = String::new();
    for (count, what) in parts.into_iter().filter(|(count, _)| *count > 0) {
        let unit = match (words.is_empty(), count) {
            (true, 1) => " row",
            (true, _) => " rows",
            (false, _) => "",
        };
        let comma = if words.is_empty() { "" } else { ", " };
        _ = write!(words, "{comma}{count}{unit} {what}");
    }
    words
}
