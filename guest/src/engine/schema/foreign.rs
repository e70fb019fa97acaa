//! What a schema uses that this build does not have: collations, functions, tokenizers and modules
//! that the program brings which made the file.

use std::fmt;

use rusqlite::Connection;

use super::catalogue::text;
use super::fts;
use super::objects::Object;
use crate::engine::connection::stand_in;
use crate::text::{lexer, scan};

/// What of a schema is foreign.
#[derive(Clone, Debug, Default)]
pub(crate) struct Foreign {
    /// The indexes, with what they need.
    indexes: Vec<Index>,
    /// The tables, with their virtual columns.
    tables: Vec<Table>,
    /// The virtual tables whose module is not known.
    pub modules: Vec<Module>,
}

/// A virtual table of a module that is not known.
#[derive(Clone, Debug)]
pub(crate) struct Module {
    /// Its name.
    pub table: String,
    /// Its module.
    pub name: String,
}

impl Module {
    /// What it needs.
    pub(crate) fn needs(&self) -> String {
        format!("module {}", self.name)
    }
}

/// An index, as it is of interest here.
#[derive(Clone, Debug)]
struct Index {
    name: String,
    table: String,
    /// The collation of a key that is not known.
    collation: Option<String>,
    /// What defines it, in lower case, and its table if a generated column is among its keys.
    words: Vec<String>,
}

/// A table, as it is of interest here.
#[derive(Clone, Debug)]
struct Table {
    name: String,
    /// What defines it, in lower case.
    words: Vec<String>,
    /// Its columns that are computed when they are read.
    computed: Vec<String>,
}

/// What cannot be checked.
#[derive(Clone, Debug)]
pub(crate) struct Affected {
    /// Its table.
    pub table: String,
    /// An index of the table; else what the table itself declares.
    index: Option<String>,
    computed: Vec<String>,
    /// What is missing.
    pub needs: String,
}

impl Affected {
    /// Whether a finding of SQLite's may come from what stands in for what is missing.
    pub(crate) fn explains(&self, finding: &str) -> bool {
        let Some(index) = &self.index else {
            let place = finding.split_once(" value in ").map(|(_, place)| place);
            return self.computed.iter().any(|column| {
                place.is_some_and(|place| place == format!("{}.{column}", self.table))
            });
        };
        if finding == format!("row not in PRIMARY KEY order for {}", self.table) {
            return true;
        }
        // The number of entries needs no comparison.
        let compared = [
            "missing from index ",
            "values differ from index ",
            "non-unique entry in index ",
        ]
        .iter()
        .filter_map(|what| finding.split_once(what))
        .any(|(_, name)| name == index);
        compared || finding.starts_with(&format!("index {index} stores"))
    }

    /// That it was not checked, as a sentence.
    pub(crate) fn unchecked(&self) -> String {
        let (table, why) = (&self.table, belongs(&self.needs));
        match &self.index {
            Some(index) => {
                format!("Index {index} of table {table} was not compared with its rows: {why}.")
            }
            None => format!(
                "CHECK constraints and generated columns of table {table} were checked as far as \
                 possible: {why}."
            ),
        }
    }
}

/// Whose something is that is missing, as a clause.
pub(crate) fn belongs(needs: &str) -> String {
    format!("{needs} belongs to the program that made the file")
}

/// Why a part of the schema cannot be read, as a clause: whose it is what is missing, or what SQLite
/// says, without the code that rusqlite puts before it.
pub(crate) fn why(error: &rusqlite::Error) -> String {
    match (Need::of(error), error) {
        (Some(need), _) => belongs(&need.to_string()),
        (
            None,
            rusqlite::Error::SqliteFailure(_, Some(said))
            | rusqlite::Error::SqlInputError { msg: said, .. },
        ) => said.clone(),
        (None, other) => other.to_string(),
    }
}

/// That a virtual table was not looked into, as a sentence.
pub(crate) fn unlooked(table: &str, needs: &str) -> String {
    format!("Virtual table {table} was not checked: {}.", belongs(needs))
}

impl Foreign {
    /// Reads the schema of `main`.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn of(connection: &Connection) -> rusqlite::Result<Self> {
        // A generated column has an expression of the table's.
        let mut statement = connection.prepare(
            "SELECT i.name, t.name,
               (SELECT coll FROM pragma_index_xinfo(i.name, 'main')
                WHERE key AND upper(coll) NOT IN ('BINARY', 'NOCASE', 'RTRIM')),
               coalesce((SELECT sql FROM main.sqlite_schema WHERE name = i.name), '')
               || CASE WHEN EXISTS (SELECT 1 FROM pragma_index_xinfo(i.name, 'main') AS k
                    JOIN pragma_table_xinfo(t.name, 'main') AS c ON c.cid = k.cid WHERE c.hidden = 2)
                  THEN ' ' || t.sql ELSE '' END
             FROM main.sqlite_schema AS t, pragma_index_list(t.name, 'main') AS i
             WHERE t.type = 'table' AND t.rootpage > 0",
        )?;
        let indexes = statement.query_map([], |row| {
            Ok(Index {
                name: text(row, 0)?,
                table: text(row, 1)?,
                collation: row
                    .get_ref(2)?
                    .as_str_or_null()
                    .ok()
                    .flatten()
                    .map(str::to_owned),
                words: scan::words(&text(row, 3)?).collect(),
            })
        })?;
        let indexes = indexes.collect::<rusqlite::Result<_>>()?;
        let mut statement = connection.prepare(
            "SELECT name, sql, (SELECT json_group_array(name) FROM pragma_table_xinfo(t.name, 'main') WHERE hidden = 2)
             FROM main.sqlite_schema AS t WHERE type = 'table' AND rootpage > 0 AND sql IS NOT NULL",
        )?;
        let tables = statement.query_map([], |row| {
            Ok(Table {
                name: text(row, 0)?,
                words: scan::words(&text(row, 1)?).collect(),
                computed: serde_json::from_str(&text(row, 2)?).unwrap_or_default(),
            })
        })?;
        let tables = tables.collect::<rusqlite::Result<_>>()?;
        let mut statement = connection.prepare(
            "SELECT name, sql FROM main.sqlite_schema
             WHERE type = 'table' AND coalesce(rootpage, 0) = 0 ORDER BY name",
        )?;
        let mut rows = statement.query([])?;
        let mut modules = Vec::new();
        while let Some(row) = rows.next()? {
            let (table, sql) = (text(row, 0)?, text(row, 1)?);
            if let Some(name) = module(&sql)
                && !is_known(connection, &name)?
            {
                modules.push(Module { table, name });
            }
        }
        Ok(Self {
            indexes,
            tables,
            modules,
        })
    }

    /// What cannot be checked without the collations that are missing, and `functions`.
    pub(crate) fn affected(&self, functions: &[String]) -> Vec<Affected> {
        let function = |words: &[String]| {
            let mut functions = functions.iter();
            functions
                .find(|name| words.contains(&name.to_lowercase()))
                .map(|name| format!("function {name}"))
        };
        let indexes = self.indexes.iter().filter_map(|index| {
            let collation = index.collation.as_ref();
            Some(Affected {
                table: index.table.clone(),
                index: Some(index.name.clone()),
                computed: Vec::new(),
                needs: collation
                    .map(|name| format!("collation {name}"))
                    .or_else(|| function(&index.words))?,
            })
        });
        let tables = self.tables.iter().filter_map(|table| {
            Some(Affected {
                table: table.name.clone(),
                index: None,
                computed: table.computed.clone(),
                needs: function(&table.words)?,
            })
        });
        indexes.chain(tables).collect()
    }
}

/// The module of a virtual table, by its definition.
fn module(sql: &str) -> Option<String> {
    let code = |token: &&lexer::Token<'_>| token.is_code();
    let name = match lexer::list(sql) {
        Some(list) => fts::plain(list.head.iter().rfind(code)?.text),
        // No arguments, and no brackets.
        None => scan::words(sql).last()?,
    };
    Some(name)
}

/// The module of a virtual table of `main`, in lower case.
pub(crate) fn module_of(connection: &Connection, table: &str) -> Option<String> {
    let sql = connection.query_row(
        "SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND name = ?1 COLLATE NOCASE",
        [table],
        |row| text(row, 0),
    );
    module(&sql.ok()?).map(|name| name.to_lowercase())
}

fn is_known(connection: &Connection, module: &str) -> rusqlite::Result<bool> {
    connection.query_row(
        "SELECT count(*) > 0 FROM pragma_module_list WHERE name = ?1 COLLATE NOCASE",
        [module],
        |row| row.get(0),
    )
}

/// Something that is missing, by what SQLite says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    /// `collation`, `function`, `tokenizer` or `module`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
}

impl Need {
    /// What an error says is missing.
    pub(crate) fn of(error: &rusqlite::Error) -> Option<Self> {
        const SAID: [(&str, &str); 6] = [
            ("no such collation sequence: ", "collation"),
            ("unknown function: ", "function"),
            ("no such function: ", "function"),
            ("no such tokenizer: ", "tokenizer"),
            ("unknown tokenizer: ", "tokenizer"),
            ("no such module: ", "module"),
        ];
        let (rusqlite::Error::SqlInputError { msg: said, .. }
        | rusqlite::Error::SqliteFailure(_, Some(said))) = error
        else {
            return None;
        };
        // ALTER puts before it which part of the schema it was about to rewrite.
        let said = match said.strip_prefix("error in ") {
            Some(rest) => rest.split_once(": ")?.1,
            None => said,
        };
        let (start, kind) = SAID.iter().find(|(start, _)| said.starts_with(start))?;
        let name = &said[start.len()..];
        Some(Self {
            kind,
            name: name.strip_suffix("()").unwrap_or(name).to_owned(),
        })
    }

    /// Puts something in its place on a connection whose content does not matter; answers whether
    /// it could.
    fn stand_in(&self, connection: &Connection) -> rusqlite::Result<bool> {
        match self.kind {
            "collation" => stand_in::collation(connection, &self.name)?,
            "function" => stand_in::function(connection, &self.name)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}

/// What tables and indexes need that this build does not have: they are made on `scratch`, a
/// connection to an empty database.
///
/// # Errors
///
/// SQLite's, if memory is used up.
pub(crate) fn needs(scratch: &Connection, objects: &[Object]) -> rusqlite::Result<Vec<Need>> {
    let mut needs: Vec<Need> = Vec::new();
    let made = objects
        .iter()
        .filter(|object| matches!(object.kind.as_str(), "table" | "index"));
    for object in made {
        while let Err(error) = scratch.execute_batch(&object.sql) {
            let Some(need) = Need::of(&error).filter(|need| !needs.contains(need)) else {
                // It is there already, as shadow tables are, or fails by itself.
                break;
            };
            let again = need.stand_in(scratch)?;
            needs.push(need);
            if !again {
                break;
            }
        }
    }
    Ok(needs)
}

/// The tokenizer of a full-text table that this build does not have, by the table's definition.
///
/// # Errors
///
/// SQLite's.
pub(crate) fn tokenizer(connection: &Connection, table: &str) -> rusqlite::Result<Option<String>> {
    let sql: String = connection.query_row(
        "SELECT sql FROM main.sqlite_schema WHERE name = ?1",
        [table],
        |row| text(row, 0),
    )?;
    const OURS: [&str; 5] = ["ascii", "porter", "trigram", "unicode61", "simple"];
    Ok(tokenizer_of(&sql).filter(|name| !OURS.contains(&name.as_str())))
}

/// The tokenizer that the definition of a full-text table names, in lower case.
pub(crate) fn tokenizer_of(sql: &str) -> Option<String> {
    let parts = lexer::list(sql)?.parts;
    parts.iter().find_map(|part| {
        let code: Vec<_> = part.iter().filter(|token| token.is_code()).collect();
        let [key, sign, value @ ..] = code.as_slice() else {
            return None;
        };
        // FTS5 takes the beginning of an option's name for the whole.
        let key = key.text.to_ascii_lowercase();
        if sign.text != "=" || !"tokenize".starts_with(&key) {
            return None;
        }
        let value: String = value.iter().map(|token| fts::plain(token.text)).collect();
        scan::words(&value).next()
    })
}
