//! The FTS5 tables of a database, and what each of them indexes.
//!
//! By their declarations: <https://www.sqlite.org/fts5.html#external_content_and_contentless_tables>.

use rusqlite::Connection;

use super::catalogue::text;
use super::columns::{ColumnKind, columns};
use super::foreign;
use crate::text::lexer;
use crate::text::lexer::Token;

/// Where the text of an FTS5 table is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// In the FTS5 table itself.
    Own,
    /// In this table or view.
    Table(String),
    /// Nowhere: only the index is kept.
    Nothing,
}

/// An FTS5 table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextIndex {
    /// Its name.
    pub name: String,
    /// Its columns, in order.
    pub columns: Vec<String>,
    /// Where its text is.
    pub content: Content,
    /// Whether it is cut into pieces of three characters rather than into words.
    pub trigram: bool,
}

/// The FTS5 tables of `main`, by name; and the names of those of older versions of FTS.
pub(crate) fn text_indexes(
    connection: &Connection,
) -> rusqlite::Result<(Vec<TextIndex>, Vec<String>)> {
    let mut statement = connection.prepare(
        "SELECT name, sql FROM main.sqlite_schema \
         WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL%' ORDER BY name COLLATE NOCASE",
    )?;
    let mut cursor = statement.query([])?;
    let (mut found, mut old) = (Vec::new(), Vec::new());
    while let Some(row) = cursor.next()? {
        let (name, declaration) = (text(row, 0)?, text(row, 1)?);
        let Some(list) = lexer::list(&declaration) else {
            continue;
        };
        let Some(module) = list.head.iter().rfind(|token| token.is_code()) else {
            continue;
        };
        match plain(module.text).to_ascii_lowercase().as_str() {
            "fts5" => found.push(TextIndex {
                columns: visible_columns(connection, &name)?,
                content: content(&list.parts),
                trigram: foreign::tokenizer_of(&declaration).as_deref() == Some("trigram"),
                name,
            }),
            "fts3" | "fts4" => old.push(name),
            _ => {}
        }
    }
    Ok((found, old))
}

/// Without the column of the table's own name and the rank, which are hidden.
fn visible_columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut columns = columns(connection, "main", table)?;
    columns.retain(|column| column.kind != ColumnKind::Hidden);
    Ok(columns.into_iter().map(|column| column.name).collect())
}

fn content(parts: &[Vec<Token<'_>>]) -> Content {
    for part in parts {
        let code: Vec<&Token<'_>> = part.iter().filter(|token| token.is_code()).collect();
        let [key, sign, value @ ..] = code.as_slice() else {
            continue;
        };
        // FTS5 takes the beginning of an option's name for the whole.
        let key = key.text.to_ascii_lowercase();
        if sign.text != "=" || !"content".starts_with(&key) {
            continue;
        }
        let value: String = value.iter().map(|token| plain(token.text)).collect();
        return if value.is_empty() {
            Content::Nothing
        } else {
            Content::Table(value)
        };
    }
    Content::Own
}

/// A name or a string without its quotes.
pub(crate) fn plain(token: &str) -> String {
    let Some(first) = token.chars().next() else {
        return String::new();
    };
    let close = if first == '[' { ']' } else { first };
    let inner = match first {
        '\'' | '"' | '`' | '[' => token[1..].strip_suffix(close),
        _ => None,
    };
    match inner {
        Some(inner) if first != '[' => {
            inner.replace(&format!("{first}{first}"), &first.to_string())
        }
        Some(inner) => inner.to_owned(),
        None => token.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_table_is_found_with_its_columns_and_the_source_of_its_text() {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch(
                "CREATE TABLE docs(id INTEGER PRIMARY KEY, a, b); CREATE TABLE \"it's, (odd)\"(a);
                 CREATE VIRTUAL TABLE own USING fts5(a, b UNINDEXED, prefix='2 3');
                 CREATE VIRTUAL TABLE [ext ernal] USING \"FTS5\"(a, b, content=docs, content_rowid='id');
                 CREATE VIRTUAL TABLE odd USING fts5(a, content='it''s, (odd)');
                 CREATE VIRTUAL TABLE short USING fts5(a, c = \"docs\");
                 CREATE VIRTUAL TABLE less USING fts5(a /* , b */, contentless_delete=1, content='');
                 CREATE VIRTUAL TABLE four USING fts4(a); CREATE VIRTUAL TABLE r USING rtree(id, x, y);",
            )
            .unwrap();
        let (found, old) = text_indexes(&connection).unwrap();
        let table = |name: &str| Content::Table(name.into());
        let found: Vec<(&str, Vec<&str>, Content)> = found
            .iter()
            .map(|one| {
                let columns = one.columns.iter().map(String::as_str).collect();
                (one.name.as_str(), columns, one.content.clone())
            })
            .collect();
        assert_eq!(
            found,
            [
                ("ext ernal", vec!["a", "b"], table("docs")),
                ("less", vec!["a"], Content::Nothing),
                ("odd", vec!["a"], table("it's, (odd)")),
                ("own", vec!["a", "b"], Content::Own),
                ("short", vec!["a"], table("docs")),
            ]
        );
        assert_eq!(old, ["four"]);
    }

    #[test]
    fn names_lose_their_quotes() {
        for (quoted, name) in [
            ("a", "a"),
            ("\"a\"\"b\"", "a\"b"),
            ("[a]", "a"),
            ("''", ""),
            ("`ä`", "ä"),
            ("", ""),
            ("'", "'"),
        ] {
            assert_eq!(plain(quoted), name);
        }
    }
}
