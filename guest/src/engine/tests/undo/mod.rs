//! The record of what a session writes, and taking the last write back.

mod exact;
mod faults;
mod foreign;
mod killed;
mod order;
pub(super) mod property;
mod record;

use super::*;

/// A record in `file`.
pub(super) fn recorded_in(file: &str) -> Option<Undo> {
    Some(Undo {
        file: file.into(),
        bytes: 64 << 20,
        required: false,
    })
}

pub(super) fn recording() -> EngineSettings {
    EngineSettings {
        undo: recorded_in(":memory:"),
        ..EngineSettings::default()
    }
}

/// A recording engine on a file that `sql` made beforehand.
fn on(folder: &Folder, sql: &str) -> (Engine, PathBuf) {
    let path = folder.database("shop.db", sql);
    let settings = EngineSettings {
        undo: recorded_in(":memory:"),
        ..on_file(&path)
    };
    (
        Engine::new(&settings, OutputLimits::default(), &Alone),
        path,
    )
}

pub(super) fn undo(engine: &mut Engine) -> Result<Output, Failure> {
    engine.database(None)?.undo(None)
}

/// What was written, the latest first, and whether it was undone.
pub(super) fn past(engine: &mut Engine) -> Vec<(String, bool)> {
    let past = engine.database(None).unwrap().past(99).unwrap();
    past.entries
        .into_iter()
        .map(|entry| (entry.summary, entry.undone))
        .collect()
}

/// Everything that is in the database: its size, the schema, the rows and their rowids.
pub(super) fn everything(path: &Path) -> Vec<String> {
    contents(&Connection::open(path).unwrap()).unwrap()
}

/// The same, on a connection.
pub(super) fn contents(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let list = |sql: &str| -> rusqlite::Result<Vec<String>> {
        let mut statement = connection.prepare(sql)?;
        let width = statement.column_count();
        let rows = statement.query_map([], |row| {
            let cells = (0..width).map(|at| Ok(format!("{:?}", row.get_ref(at)?)));
            Ok(cells.collect::<rusqlite::Result<Vec<_>>>()?.join("|"))
        })?;
        rows.collect()
    };
    let mut all =
        list("SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema ORDER BY type, name")?;
    all.extend(list(
        "SELECT page_count, freelist_count, user_version FROM pragma_page_count, pragma_freelist_count, pragma_user_version",
    )?);
    let mut tables = connection.prepare(
        "SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'shadow') ORDER BY name",
    )?;
    let tables = tables.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut names = Vec::new();
    for table in tables {
        let (table, without_rowid): (String, bool) = table?;
        names.push(table.clone());
        let rowid = if without_rowid { "" } else { "rowid, " };
        all.push(table.clone());
        // What its program alone can compute is left out.
        let read = list(&format!("SELECT {rowid}* FROM \"{table}\""));
        all.extend(read.or_else(|_| list(&format!("SELECT {rowid}id, v, n FROM \"{table}\"")))?);
    }
    let check = |table: &String| list(&format!("PRAGMA integrity_check(\"{table}\")"));
    let whole = list("PRAGMA integrity_check").or_else(|_| {
        // Table by table, but for those whose functions are their program's.
        let found = names.iter().filter_map(|table| check(table).ok());
        Ok::<_, rusqlite::Error>(found.max().unwrap_or_default())
    });
    all.extend(whole?);
    Ok(all)
}

const SHOP: &str = "
    CREATE TABLE items(id INTEGER PRIMARY KEY, name TEXT, price REAL, twice AS (price * 2), picture BLOB);
    INSERT INTO items VALUES(1, 'lamp', 49.5, x'00ff'), (2, 'pen', NULL, NULL), (7, 'x', 1e300, zeroblob(9));
    CREATE TABLE twin(x); CREATE TABLE plain(x); INSERT INTO plain VALUES(1), (1), ('a');
    CREATE TABLE norowid(k TEXT PRIMARY KEY, v) WITHOUT ROWID; INSERT INTO norowid VALUES('a', 1), ('b', 2);
    CREATE TABLE parent(id INTEGER PRIMARY KEY, n UNIQUE); INSERT INTO parent VALUES(1, 'p'), (2, 'q');
    CREATE TABLE child(id INTEGER PRIMARY KEY AUTOINCREMENT, p REFERENCES parent(id) ON DELETE CASCADE ON UPDATE CASCADE);
    INSERT INTO child(p) VALUES(1), (1), (2);
    CREATE TABLE log(what);
    CREATE TRIGGER logged AFTER UPDATE ON items BEGIN INSERT INTO log VALUES(old.name); END;
    CREATE INDEX by_name ON items(name); CREATE VIEW cheap AS SELECT name FROM items WHERE price < 50;";

/// Lets SQLite itself run statements on a file, as another program would.
fn native(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}
