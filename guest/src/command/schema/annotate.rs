//! The owner's notes, beside what they are about.

use rusqlite::Connection;

use crate::answer::output::{Column, Rows};
use crate::answer::value::Value;
use crate::engine::schema::catalogue::relations;
use crate::engine::schema::columns::columns;
use crate::settings::notes::Notes;
use crate::text::escape::visible;
use crate::text::suggest::nearest;

/// Notes on what is not there that are named.
const LISTED: usize = 5;

/// Adds a column `note` to a list, if there is a note on any of its rows; `about` gives it for the
/// name in the first column.
pub(crate) fn beside<'a>(rows: &mut Rows, about: impl Fn(&str) -> Option<&'a str>) {
    let notes: Vec<&str> = rows
        .rows
        .iter()
        .map(|row| match row.first() {
            Some(Value::Text(name)) => about(name).unwrap_or_default(),
            _ => "",
        })
        .collect();
    if notes.iter().all(|note| note.is_empty()) {
        return;
    }
    rows.columns.push(Column {
        name: "note".into(),
        declared: "TEXT".into(),
    });
    for (row, note) in rows.rows.iter_mut().zip(notes) {
        row.push(Value::Text(note.to_owned()));
    }
}

/// Notes on tables and columns that are not there, a sentence each. A database without tables may
/// get them yet.
pub(crate) fn unmatched(connection: &Connection, notes: &Notes) -> rusqlite::Result<Vec<String>> {
    let tables = relations(connection)?;
    let names: Vec<&str> = tables
        .iter()
        .filter(|table| !table.is_internal() && table.kind != "shadow")
        .map(|table| table.name.as_str())
        .collect();
    let mut sentences = Vec::new();
    if names.is_empty() {
        return Ok(sentences);
    }
    for note in notes.tables() {
        let Some(table) = tables
            .iter()
            .find(|table| table.name.eq_ignore_ascii_case(&note.table))
        else {
            let meant = nearest(&note.table, names.iter().copied());
            sentences.push(sentence("table", &note.table, meant));
            continue;
        };
        let columns = columns(connection, &table.schema, &table.name);
        // A view that does not work has no columns to compare with.
        for name in columns.iter().flat_map(|_| note.columns()) {
            let there = columns.iter().flatten();
            if !there
                .clone()
                .any(|column| column.name.eq_ignore_ascii_case(name))
            {
                let meant = nearest(name, there.map(|column| column.name.as_str()));
                sentences.push(sentence("column", &format!("{}.{name}", note.table), meant));
            }
        }
    }
    if sentences.len() > LISTED {
        let more = sentences.len() - LISTED;
        sentences.truncate(LISTED);
        sentences.push(format!(
            "--notes: {more} more notes are on tables or columns that do not exist."
        ));
    }
    Ok(sentences)
}

fn sentence(kind: &str, name: &str, meant: Option<&str>) -> String {
    let name = visible(name);
    match meant {
        Some(meant) => format!(
            "--notes: there is a note on the {kind} {name}, which does not exist; did you mean {}?",
            visible(meant)
        ),
        None => format!("--notes: there is a note on the {kind} {name}, which does not exist."),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::command::interface::context::Context;
    use crate::command::tests::{context, json_of, text};
    use crate::settings::EngineSettings;

    fn shop(notes: &str) -> Context {
        let mut context = context(EngineSettings {
            notes: notes.into(),
            ..EngineSettings::default()
        });
        let sql = "CREATE TABLE orders(id INTEGER PRIMARY KEY, st TEXT, amt_c INTEGER); CREATE TABLE bare(x)";
        text(&mut context, "batch", json!({"sql": sql}));
        context
    }

    const NOTES: &str = "[tables.orders]\nnote = 'One for each sale.'\n\
        [tables.orders.columns]\nst = 'o: open, p: paid'\nAMT_C = 'in cents'";

    #[test]
    fn notes_stand_beside_tables_and_columns_in_both_forms() {
        let mut context = shop(NOTES);
        let shown = text(&mut context, "tables", json!({}));
        assert!(shown.contains("One for each sale."), "{shown}");
        let object = json_of(&mut context, "list_tables", json!({}));
        assert_eq!(
            object["rows"],
            json!([["bare", 0, ""], ["orders", 0, "One for each sale."]])
        );

        let shown = text(&mut context, "describe", json!({"table": "orders"}));
        assert!(
            shown.starts_with("orders (table), 0 rows\nnote: One for each sale.\n"),
            "{shown}"
        );
        assert!(
            shown.contains("o: open, p: paid") && shown.contains("in cents"),
            "{shown}"
        );
        let object = json_of(&mut context, "describe", json!({"table": "orders"}));
        assert_eq!(object["note"], "One for each sale.");
        assert_eq!(object["rows"][1][5], "o: open, p: paid");

        let shown = text(&mut context, "describe_table", json!({"table": "orders"}));
        assert!(shown.starts_with("note: One for each sale.\n"), "{shown}");
        let object = json_of(&mut context, "describe_table", json!({"table": "orders"}));
        assert_eq!(object["note"], "One for each sale.");
        assert_eq!(object["rows"][2], json!(["amt_c", "INTEGER", "in cents"]));
    }

    #[test]
    fn what_has_no_note_looks_as_it_does_without_any() {
        let bare = json!({"table": "bare"});
        for (name, arguments) in [("describe", bare.clone()), ("describe_table", bare)] {
            let with = text(&mut shop(NOTES), name, arguments.clone());
            assert_eq!(with, text(&mut shop(""), name, arguments));
        }
    }

    #[test]
    fn notes_on_missing_objects_are_reported_with_a_suggestion() {
        let mut context = shop("[tables.ordres]\nnote='x'\n[tables.orders.columns]\namt_cs='y'");
        let said = text(&mut context, "tables", json!({}));
        assert!(
            said.contains("the column orders.amt_cs, which does not exist; did you mean amt_c?"),
            "{said}"
        );
        assert!(
            said.contains("the table ordres, which does not exist; did you mean orders?"),
            "{said}"
        );
        let described = text(&mut context, "describe", json!({"table": "bare"}));
        assert!(!described.contains("ordres"));
    }

    #[test]
    fn many_notes_on_missing_objects_are_counted() {
        let notes: String = (0..2_000)
            .map(|n| format!("[tables.t{n}]\nnote='x'\n"))
            .collect();
        let said = text(&mut shop(&notes), "tables", json!({}));
        assert!(said.contains("1995 more notes"), "{said}");
    }
}
