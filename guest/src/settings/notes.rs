//! The owner's notes on tables and columns (`--notes`), so that a reader knows what `st` or `amt_c` means.
//!
//! TOML, and nothing but this:
//!
//! ```toml
//! [tables.orders]
//! note = "One row for each order, never deleted."
//!
//! [tables.orders.columns]
//! st = "State: o is open, p paid, s shipped."
//! ```

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;

/// What the owner wrote about tables. Names are compared as SQLite does, ASCII letters in any case.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    tables: BTreeMap<String, Note>,
}

/// What the owner wrote about one table.
#[derive(Clone, Debug, Default)]
pub struct Note {
    /// The name as the owner wrote it.
    pub table: String,
    /// About the table itself.
    pub note: Option<String>,
    columns: HashMap<String, (String, String)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    tables: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    note: Option<String>,
    #[serde(default)]
    columns: BTreeMap<String, String>,
}

impl Notes {
    /// Reads the text of the owner's file.
    ///
    /// # Errors
    ///
    /// A sentence that names the line, if it is not TOML of this form.
    pub fn read(text: &str) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|error| {
            let line = error
                .span()
                .and_then(|span| text.get(..span.start))
                .map_or(1, |before| before.matches('\n').count() + 1);
            let what: Vec<&str> = error.message().lines().collect();
            format!(
                "--notes: line {line}: {}. A note on a table is [tables.NAME] note = \"...\", notes on \
                 its columns are [tables.NAME.columns] COLUMN = \"...\".",
                what.join(", ")
            )
        })?;
        let mut tables = BTreeMap::new();
        for (table, entry) in file.tables {
            let columns = entry
                .columns
                .into_iter()
                .map(|(name, note)| (name.to_ascii_lowercase(), (name, note)))
                .collect();
            let note = Note {
                table: table.clone(),
                note: entry.note,
                columns,
            };
            if tables.insert(table.to_ascii_lowercase(), note).is_some() {
                return Err(format!(
                    "--notes: there are two sets of notes on {table}: upper and lower case do not \
                     distinguish table names."
                ));
            }
        }
        Ok(Self { tables })
    }

    /// What there is about a table.
    pub fn table(&self, name: &str) -> Option<&Note> {
        self.tables.get(&name.to_ascii_lowercase())
    }

    /// Every table that there are notes on.
    pub fn tables(&self) -> impl Iterator<Item = &Note> {
        self.tables.values()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }
}

impl Note {
    /// What there is about a column.
    pub fn column(&self, name: &str) -> Option<&str> {
        let (_, note) = self.columns.get(&name.to_ascii_lowercase())?;
        Some(note)
    }

    /// The names of the columns that there are notes on, in the order of the alphabet.
    pub fn columns(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self
            .columns
            .values()
            .map(|(name, _)| name.as_str())
            .collect();
        names.sort_unstable();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_found_in_any_case() {
        let notes = Notes::read(
            "[tables.Orders]\nnote = 'All of them.'\n[tables.Orders.columns]\nAmt_C = \"Cents.\"\n\
             [tables.\"odd name\".columns]\nx = 'y'",
        )
        .unwrap();
        let orders = notes.table("ORDERS").unwrap();
        assert_eq!(orders.note.as_deref(), Some("All of them."));
        assert_eq!(orders.column("amt_c"), Some("Cents."));
        assert_eq!(orders.column("amt"), None);
        assert_eq!(orders.columns(), ["Amt_C"]);
        assert_eq!(notes.table("odd name").unwrap().column("X"), Some("y"));
        assert!(notes.table("customers").is_none());
        assert!(Notes::read("").unwrap().is_empty());
    }

    #[test]
    fn a_file_that_is_no_such_toml_is_refused_with_the_line() {
        for (text, line, what) in [
            ("[tables.a]\nnote = 5", 2, "expected a string"),
            ("\n\n[tables.a\n", 3, "table"),
            ("[tables.a]\ntext = 'x'", 2, "unknown field `text`"),
            ("orders = 'x'", 1, "unknown field `orders`"),
            ("# Orders\n\n* st: the state", 3, "key"),
            (
                "[tables.a]\nnote='x'\n[tables.A]\nnote='y'",
                0,
                "two sets of notes on a",
            ),
        ] {
            let sentence = Notes::read(text).unwrap_err();
            assert!(sentence.starts_with("--notes: "), "{sentence}");
            assert!(sentence.contains(what), "{sentence}");
            if line > 0 {
                assert!(sentence.contains(&format!("line {line}: ")), "{sentence}");
                assert!(!sentence.contains('\n'), "{sentence}");
            }
        }
    }
}
