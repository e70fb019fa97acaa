//! The objects of a schema, and how two states of it differ.

use rusqlite::Connection;

use crate::engine::schema::catalogue::text;

/// A table, index, view or trigger of `main`; SQLite's own are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    /// `table`, `index`, `view` or `trigger`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The table it belongs to, or itself.
    pub table: String,
    /// Its DDL as stored.
    pub sql: String,
}

impl Object {
    /// Whether both are the same thing by name.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.kind == other.kind && self.name.eq_ignore_ascii_case(&other.name)
    }

    /// Whether it is a virtual table.
    pub(crate) fn is_virtual(&self) -> bool {
        self.kind == "table"
            && self
                .sql
                .get(..14)
                .is_some_and(|start| start.eq_ignore_ascii_case("CREATE VIRTUAL"))
    }
}

/// All objects, in the order in which they were made.
pub(crate) fn objects(connection: &Connection) -> rusqlite::Result<Vec<Object>> {
    let mut statement = connection.prepare(
        "SELECT type, name, tbl_name, sql FROM main.sqlite_schema \
         WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid",
    )?;
    let objects = statement.query_map([], |row| {
        Ok(Object {
            kind: text(row, 0)?,
            name: text(row, 1)?,
            table: text(row, 2)?,
            sql: text(row, 3)?,
        })
    })?;
    objects.collect()
}

/// How a schema changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Difference {
    /// What was not there before.
    pub made: Vec<Object>,
    /// What is no longer there.
    pub dropped: Vec<Object>,
    /// What has another definition: as it was, and as it is.
    pub altered: Vec<(Object, Object)>,
}

impl Difference {
    /// From one state to another.
    pub(crate) fn new(before: &[Object], after: &[Object]) -> Self {
        let counterpart =
            |object: &Object, others: &[Object]| others.iter().find(|o| o.is(object)).cloned();
        let mut difference = Self::default();
        for object in before {
            match counterpart(object, after) {
                None => difference.dropped.push(object.clone()),
                Some(now) if now.sql != object.sql || now.table != object.table => {
                    difference.altered.push((object.clone(), now));
                }
                Some(_) => {}
            }
        }
        difference.made = after
            .iter()
            .filter(|object| counterpart(object, before).is_none())
            .cloned()
            .collect();
        difference
    }

    /// The table that one statement renamed, as it was and as it is: no other statement drops one
    /// and makes one. The tables of a virtual table go along with it.
    pub(crate) fn rename(&self) -> Option<(&Object, &Object)> {
        Some((table(&self.dropped)?, table(&self.made)?))
    }
}

/// The table among objects that come or go together.
fn table(all: &[Object]) -> Option<&Object> {
    let ordinary = || all.iter().find(|object| object.kind == "table");
    all.iter().find(|o| o.is_virtual()).or_else(ordinary)
}
