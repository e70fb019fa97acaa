//! The record of what a session writes, and taking the last write back.

use rusqlite::config::DbConfig;
use rusqlite::ffi;
use rusqlite::functions::FunctionFlags;

use super::*;
use crate::settings::EngineLimits;

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

#[test]
fn every_kind_of_write_is_undone_to_the_last_byte() {
    for sql in [
        "INSERT INTO items(name) VALUES('new'), ('er')",
        "UPDATE items SET price = 1, picture = x'11'",
        "DELETE FROM items",
        "INSERT INTO twin SELECT * FROM plain",
        "CREATE TABLE more(x); INSERT INTO more SELECT * FROM plain; DELETE FROM plain",
        "UPDATE items SET id = id + 100",
        "REPLACE INTO items(id, name) VALUES(1, 'other')",
        "DELETE FROM plain WHERE rowid = 1; INSERT INTO plain VALUES(5)",
        "UPDATE norowid SET v = 9; DELETE FROM norowid WHERE k = 'a'",
        "DELETE FROM parent WHERE id = 1",
        "UPDATE parent SET id = 5 WHERE id = 1",
        "CREATE TABLE fresh(a); INSERT INTO fresh VALUES(1); UPDATE items SET name = 'y'",
        "CREATE TABLE copied AS SELECT * FROM items",
        "CREATE INDEX i ON plain(x); CREATE VIEW v AS SELECT 1; CREATE TRIGGER t AFTER INSERT ON plain BEGIN SELECT 1; END",
        "DROP TABLE items",
        "DROP TABLE plain; CREATE TABLE plain(y, z); INSERT INTO plain VALUES(1, 2)",
        "DROP TABLE parent",
        "DELETE FROM child; DROP TABLE child",
        "DROP TABLE norowid",
        "DROP INDEX by_name; DROP VIEW cheap; DROP TRIGGER logged",
        "ALTER TABLE items RENAME TO goods",
        "ALTER TABLE parent RENAME TO elder; UPDATE elder SET n = 'z' WHERE id = 2",
        "ALTER TABLE items RENAME COLUMN name TO title; UPDATE items SET title = 'z'",
        "ALTER TABLE plain ADD COLUMN more DEFAULT 5",
        "UPDATE plain SET x = 7; ALTER TABLE plain ADD COLUMN more; UPDATE plain SET more = x; UPDATE plain SET x = 8",
        "ALTER TABLE items DROP COLUMN picture",
        "CREATE VIRTUAL TABLE docs USING fts5(body)",
        "CREATE VIRTUAL TABLE docs USING fts5(body); INSERT INTO docs VALUES('a red fox'); DELETE FROM docs",
        "INSERT INTO parent VALUES(NULL, NULL)",
        "REINDEX; ANALYZE",
    ] {
        let folder = Folder::new();
        let (mut engine, path) = on(&folder, SHOP);
        let before = everything(&path);
        batch(&mut engine, sql).unwrap();
        assert_ne!(everything(&path), before, "{sql}");
        undo(&mut engine).unwrap_or_else(|failure| panic!("{sql}: {failure}"));
        assert_eq!(everything(&path), before, "{sql}");
        assert!(past(&mut engine)[0].1);
        refused(undo(&mut engine), Status::InvalidState, "no write to undo");
    }
}

#[test]
fn writes_are_undone_one_after_the_other() {
    let folder = Folder::new();
    let (mut engine, path) = on(&folder, SHOP);
    let mut states = vec![everything(&path)];
    for sql in [
        "CREATE TABLE t(a INTEGER PRIMARY KEY, b)",
        "INSERT INTO t VALUES(1, 'x'), (2, 'y')",
        "ALTER TABLE t RENAME TO u",
        "UPDATE u SET b = 'z'",
        "ALTER TABLE u ADD COLUMN c",
        "UPDATE u SET c = 1",
        "DROP TABLE u",
    ] {
        exec(&mut engine, sql).unwrap();
        states.push(everything(&path));
    }
    assert_eq!(past(&mut engine).len(), 7);
    states.pop();
    for state in states.iter().rev() {
        undo(&mut engine).unwrap();
        assert_eq!(everything(&path), *state);
    }
    refused(
        undo(&mut engine),
        Status::InvalidState,
        "all its writes were undone",
    );
}

#[test]
fn full_text_search_finds_what_was_there_before() {
    let folder = Folder::new();
    let (mut engine, _) = on(
        &folder,
        "CREATE TABLE notes(id INTEGER PRIMARY KEY, body); CREATE VIRTUAL TABLE f USING fts5(body, content=notes, content_rowid=id);
         CREATE TRIGGER f1 AFTER INSERT ON notes BEGIN INSERT INTO f(rowid, body) VALUES(new.id, new.body); END;
         CREATE TRIGGER f2 AFTER DELETE ON notes BEGIN INSERT INTO f(f, rowid, body) VALUES('delete', old.id, old.body); END;
         INSERT INTO notes(body) VALUES('a red fox')",
    );
    let found = "SELECT count(*) FROM f WHERE f MATCH 'fox'";
    assert_eq!(number(&mut engine, found), 1);
    exec(&mut engine, "DELETE FROM notes").unwrap();
    assert_eq!(number(&mut engine, found), 0);
    undo(&mut engine).unwrap();
    assert_eq!(number(&mut engine, found), 1);
    exec(&mut engine, "INSERT INTO notes(body) VALUES('another fox')").unwrap();
    undo(&mut engine).unwrap();
    assert_eq!(number(&mut engine, found), 1);
    exec(&mut engine, "INSERT INTO f(f) VALUES('integrity-check')").unwrap();
}

#[test]
fn later_writes_of_another_process_are_in_the_way_and_stay() {
    for (write, meddle) in [
        (
            "UPDATE items SET name = 'mine' WHERE id = 1",
            "UPDATE items SET name = 'theirs' WHERE id = 1",
        ),
        (
            "UPDATE items SET name = 'mine' WHERE id = 1",
            "DELETE FROM items WHERE id = 1",
        ),
        (
            "DELETE FROM items WHERE id = 2",
            "INSERT INTO items(id, name) VALUES(2, 'theirs')",
        ),
        (
            "INSERT INTO parent VALUES(9, 'r')",
            "INSERT INTO child(p) VALUES(9)",
        ),
        (
            "UPDATE parent SET n = 'm' WHERE id = 1",
            "INSERT INTO parent VALUES(3, 'p')",
        ),
        (
            "INSERT INTO plain VALUES(8)",
            "ALTER TABLE plain ADD COLUMN y",
        ),
        ("CREATE TABLE t(a)", "INSERT INTO t VALUES(1)"),
        ("CREATE TABLE t(a)", "DROP TABLE t"),
        ("DROP TABLE plain", "CREATE TABLE plain(z)"),
        (
            "CREATE VIRTUAL TABLE f USING fts5(x)",
            "INSERT INTO f VALUES('y')",
        ),
    ] {
        let folder = Folder::new();
        let (mut engine, path) = on(&folder, SHOP);
        exec(&mut engine, write).unwrap();
        native(&path, &format!("PRAGMA foreign_keys=ON; {meddle}"));
        let state = everything(&path);
        let failure = refused(
            undo(&mut engine),
            Status::InvalidState,
            "was written to since",
        );
        assert!(
            failure.message.ends_with("Nothing was changed."),
            "{write}; {meddle}: {failure}"
        );
        assert_eq!(everything(&path), state, "{write}; {meddle}");
        // The session continues, with its guards and its triggers as before.
        exec(&mut engine, "UPDATE items SET name = 'w' WHERE id = 7").unwrap();
        assert_eq!(number(&mut engine, "SELECT count(*) > 0 FROM log"), 1);
        refused(
            exec(&mut engine, "UPDATE sqlite_schema SET sql = 'x'"),
            Status::Readonly,
            "",
        );
        refused(
            exec(&mut engine, "INSERT INTO child(p) VALUES(77)"),
            Status::Constraint,
            "FOREIGN KEY",
        );
    }
}

fn undo_number(engine: &mut Engine, write: i64) -> Result<Output, Failure> {
    engine.database(None)?.undo(Some(write))
}

#[test]
fn a_write_is_undone_by_its_number_where_later_ones_lie_elsewhere() {
    let folder = Folder::new();
    let (mut engine, path) = on(&folder, SHOP);
    let states: Vec<Vec<String>> = [
        "UPDATE items SET price = 1 WHERE id = 1",
        "UPDATE norowid SET v = 'second' WHERE k = 'a'",
        "UPDATE parent SET n = 'third' WHERE id = 1",
    ]
    .iter()
    .map(|sql| {
        let before = everything(&path);
        exec(&mut engine, sql).unwrap();
        before
    })
    .collect();
    let told = undo_number(&mut engine, 2).unwrap();
    assert_eq!(told.extra["undone"]["number"], 2);
    let sql = "SELECT price || v || n FROM items, norowid, parent
               WHERE items.id = 1 AND k = 'a' AND parent.id = 1";
    assert_eq!(value(&mut engine, sql), text("1.01third"));
    let again = refused(
        undo_number(&mut engine, 2),
        Status::InvalidState,
        "was undone already",
    );
    assert!(again.message.starts_with("Write 2 ("), "{again}");
    // The others follow each other now.
    undo(&mut engine).unwrap();
    assert_eq!(value(&mut engine, sql), text("1.01p"));
    undo_number(&mut engine, 1).unwrap();
    assert_eq!(everything(&path), states[0]);
    refused(
        undo_number(&mut engine, 4),
        Status::NotFound,
        "has no write 4",
    );
    refused(
        undo_number(&mut engine, 0),
        Status::NotFound,
        "has no write 0",
    );
}

#[test]
fn a_later_write_to_the_same_pages_is_in_the_way_and_named() {
    for later in [
        &["UPDATE items SET price = 2 WHERE id = 1"][..],
        // Changed and changed back: nothing is different, but the write between would bring it back.
        &[
            "UPDATE items SET price = 2 WHERE id = 1",
            "UPDATE items SET price = 1 WHERE id = 1",
        ],
        // And there and back again, across the write itself.
        &[
            "UPDATE items SET price = 49.5 WHERE id = 1",
            "DELETE FROM log WHERE rowid = 2",
        ],
        &["UPDATE norowid SET v = 5 WHERE k = 'a'", "DROP TABLE items"],
    ] {
        let folder = Folder::new();
        let (mut engine, path) = on(&folder, SHOP);
        let first = everything(&path);
        exec(&mut engine, "UPDATE items SET price = 1 WHERE id = 1").unwrap();
        for sql in later {
            exec(&mut engine, sql).unwrap();
        }
        let state = everything(&path);
        let last = later.len() + 1;
        let failure = refused(
            undo_number(&mut engine, 1),
            Status::InvalidState,
            &format!("Write {last} ("),
        );
        assert_eq!(
            failure.hint.as_deref(),
            Some(&*format!("Undo write {last} first.")),
            "{later:?}"
        );
        assert_eq!(everything(&path), state, "{later:?}");
        for write in (1..=last).rev() {
            undo_number(&mut engine, write as i64).unwrap();
        }
        assert_eq!(everything(&path), first, "{later:?}");
    }
}

#[test]
fn a_write_of_another_process_between_two_of_ours_is_found_when_the_first_is_undone() {
    let folder = Folder::new();
    let (mut engine, path) = on(&folder, SHOP);
    exec(&mut engine, "UPDATE norowid SET v = 'ours' WHERE k = 'a'").unwrap();
    exec(&mut engine, "UPDATE parent SET n = 'ours' WHERE id = 1").unwrap();
    native(&path, "UPDATE norowid SET v = 'theirs' WHERE k = 'a'");
    let told = |engine: &mut Engine| {
        let past = engine.database(None).unwrap().past(99).unwrap();
        let apart: Vec<bool> = past.entries.iter().map(|entry| entry.apart).collect();
        (apart, past.since)
    };
    assert_eq!(told(&mut engine), (vec![false, false], true));
    exec(&mut engine, "INSERT INTO twin VALUES(1)").unwrap();
    assert_eq!(told(&mut engine), (vec![true, false, false], false));
    undo(&mut engine).unwrap();
    // The second one lies elsewhere.
    undo(&mut engine).unwrap();
    let failure = refused(
        undo(&mut engine),
        Status::InvalidState,
        "by another connection",
    );
    assert!(failure.message.starts_with("Write 1 ("), "{failure}");
    assert_eq!(
        value(&mut engine, "SELECT v FROM norowid WHERE k = 'a'"),
        text("theirs")
    );
}

#[test]
fn writes_on_other_pages_stay_and_are_not_in_the_way_where_all_still_fits() {
    let folder = Folder::new();
    let (mut engine, path) = on(&folder, SHOP);
    exec(&mut engine, "UPDATE items SET price = 1 WHERE id = 1").unwrap();
    native(&path, "UPDATE norowid SET v = 'theirs' WHERE k = 'a'");
    undo(&mut engine).unwrap();
    let sql = "SELECT price || v FROM items, norowid WHERE id = 1 AND k = 'a'";
    assert_eq!(value(&mut engine, sql), text("49.5theirs"));
}

#[test]
fn the_oldest_writes_are_dropped_when_there_is_no_room_and_that_is_said() {
    let settings = EngineSettings {
        limits: EngineLimits {
            disk_bytes: 400_000,
            ..EngineLimits::default()
        },
        ..recording()
    };
    let mut engine = engine_with(
        settings,
        "CREATE TABLE t(a); INSERT INTO t VALUES(zeroblob(40000))",
    );
    let mut said = false;
    for _ in 0..5 {
        let output = exec(&mut engine, "UPDATE t SET a = randomblob(40000)").unwrap();
        said |= output
            .notes
            .iter()
            .any(|note| note.contains("can no longer be undone"));
    }
    assert!(said);
    let past = engine.database(None).unwrap().past(99).unwrap();
    assert_eq!((past.entries.len(), past.dropped), (2, 4));
    undo(&mut engine).unwrap();
    undo(&mut engine).unwrap();
    refused(
        undo(&mut engine),
        Status::InvalidState,
        "older writes were dropped",
    );
}

#[test]
fn what_changes_nothing_or_fails_is_no_write() {
    let mut engine = engine_with(recording(), "CREATE TABLE t(a UNIQUE)");
    exec(&mut engine, "SELECT 1").unwrap();
    exec(&mut engine, "DELETE FROM t").unwrap();
    exec(&mut engine, "PRAGMA recursive_triggers = 1").unwrap();
    batch(
        &mut engine,
        "INSERT INTO t VALUES(1); INSERT INTO t VALUES(1)",
    )
    .unwrap_err();
    refused(
        exec(&mut engine, "BEGIN"),
        Status::Unsupported,
        "A transaction ends with its call",
    );
    assert_eq!(past(&mut engine), [("table t created".to_owned(), false)]);
}

#[test]
fn settings_of_the_file_and_a_vacuum_are_writes() {
    let folder = Folder::new();
    let (mut engine, path) = on(&folder, SHOP);
    let mut states = Vec::new();
    for sql in ["PRAGMA user_version = 4", "DELETE FROM items", "VACUUM"] {
        states.push(everything(&path));
        exec(&mut engine, sql).unwrap();
    }
    let told: Vec<String> = past(&mut engine)
        .into_iter()
        .map(|(told, _)| told)
        .collect();
    assert_eq!(told[0], "VACUUM: no rows");
    assert_eq!(told[2], "PRAGMA: no rows");
    for state in states.iter().rev() {
        undo(&mut engine).unwrap();
        assert_eq!(everything(&path), *state);
    }
}

#[test]
fn a_write_that_was_recorded_and_whose_call_was_cut_off_before_its_commit_is_no_write() {
    let folder = Folder::new();
    let (settings, path, _) = outliving(&folder);
    let fresh = || Engine::new(&settings, OutputLimits::default(), &Alone);
    exec(&mut fresh(), "UPDATE t SET b = 2").unwrap();
    let before = std::fs::read(&path).unwrap();
    exec(&mut fresh(), "CREATE TABLE u AS SELECT * FROM t").unwrap();
    std::fs::write(&path, before).unwrap();
    assert_eq!(past(&mut fresh()).len(), 1);
    // Nor if it is found out by the next write.
    let before = std::fs::read(&path).unwrap();
    exec(&mut fresh(), "UPDATE t SET b = 3").unwrap();
    std::fs::write(&path, before).unwrap();
    exec(&mut fresh(), "UPDATE t SET b = 4").unwrap();
    assert_eq!(past(&mut fresh()).len(), 2);
    undo(&mut fresh()).unwrap();
    undo(&mut fresh()).unwrap();
    assert_eq!(Folder::number(&path, "SELECT b FROM t"), 1);
}

#[test]
fn a_write_that_is_not_in_the_record_is_in_the_way() {
    let folder = Folder::new();
    let (settings, path, record) = outliving(&folder);
    let fresh = || Engine::new(&settings, OutputLimits::default(), &Alone);
    exec(&mut fresh(), "UPDATE t SET b = 2").unwrap();
    exec(&mut fresh(), "UPDATE t SET b = 3").unwrap();
    native(&record, "DELETE FROM entry WHERE number = 2");
    refused(
        undo(&mut fresh()),
        Status::InvalidState,
        "by a call that was aborted",
    );
    assert_eq!(Folder::number(&path, "SELECT b FROM t"), 3);
}

#[test]
fn an_undo_that_was_cut_off_behind_its_commit_is_found_out() {
    let folder = Folder::new();
    let (settings, path, record) = outliving(&folder);
    let fresh = || Engine::new(&settings, OutputLimits::default(), &Alone);
    exec(&mut fresh(), "UPDATE t SET b = 2").unwrap();
    exec(&mut fresh(), "UPDATE t SET b = 3").unwrap();
    let before = std::fs::read(&record).unwrap();
    undo(&mut fresh()).unwrap();
    let state = Folder::number(&record, "SELECT state_after FROM entry WHERE number = 1");
    // Before the commit, it was noted where it leads to; what follows the commit is lost.
    std::fs::write(&record, before).unwrap();
    let note = "UPDATE entry SET undoing_from = state_after, undoing_to =";
    native(&record, &format!("{note} {state} WHERE number = 2"));
    let done: Vec<bool> = past(&mut fresh())
        .into_iter()
        .map(|(_, undone)| undone)
        .collect();
    assert_eq!(done, [true, false]);
    assert_eq!(Folder::number(&path, "SELECT b FROM t"), 2);
    // One that was cut off before its commit was not done.
    native(&record, &format!("{note} 5 WHERE number = 1"));
    let done: Vec<bool> = past(&mut fresh())
        .into_iter()
        .map(|(_, undone)| undone)
        .collect();
    assert_eq!(done, [true, false]);
    undo(&mut fresh()).unwrap();
    assert_eq!(Folder::number(&path, "SELECT b FROM t"), 1);
}

/// Settings for several engines, one after the other, that share one record of writes.
fn outliving(folder: &Folder) -> (EngineSettings, PathBuf, PathBuf) {
    let record = folder.file("record");
    let path = folder.database(
        "shop.db",
        "CREATE TABLE t(a INTEGER PRIMARY KEY, b); INSERT INTO t VALUES(1, 1)",
    );
    let settings = EngineSettings {
        undo: recorded_in(record.to_str().unwrap()),
        ..on_file(&path)
    };
    (settings, path, record)
}

/// Lets SQLite itself run statements on a file, as another program would.
fn native(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn without_a_record_undo_is_refused_with_how_to_get_one() {
    let mut engine = engine("CREATE TABLE t(a)");
    refused(undo(&mut engine), Status::Unsupported, "--no-undo");
    let past = engine.database(None).unwrap().past(9);
    assert_eq!(past.unwrap_err().status, Status::Unsupported);
}

#[test]
fn undoing_leaves_the_choice_of_foreign_keys_as_it_is() {
    let mut engine = engine_with(recording(), "CREATE TABLE t(a)");
    exec(&mut engine, "PRAGMA foreign_keys = OFF").unwrap();
    undo(&mut engine).unwrap();
    assert_eq!(number(&mut engine, "PRAGMA foreign_keys"), 0);
}

#[test]
fn statistics_are_undone_too() {
    let folder = Folder::new();
    let (mut engine, path) = on(&folder, SHOP);
    let mut states = Vec::new();
    for sql in [
        "ANALYZE",
        "DELETE FROM plain",
        "ANALYZE plain",
        "DROP INDEX by_name",
        "DROP TABLE sqlite_stat1",
    ] {
        states.push(everything(&path));
        exec(&mut engine, sql).unwrap();
        assert_ne!(everything(&path), states[states.len() - 1], "{sql}");
    }
    for state in states.iter().rev() {
        undo(&mut engine).unwrap();
        assert_eq!(everything(&path), *state);
    }
}

#[test]
fn what_refers_to_rowids_means_the_same_rows_after_undo() {
    for key in [
        "code TEXT PRIMARY KEY",
        "code INT PRIMARY KEY",
        "code INTEGER PRIMARY KEY DESC",
        "code, PRIMARY KEY (code, body)",
    ] {
        let folder = Folder::new();
        let (mut engine, path) = on(
            &folder,
            &format!(
                "CREATE TABLE k(body TEXT, {key}); INSERT INTO k(code, body) VALUES(1, 'gone'), (2, 'text of a'), (3, 'text of b');
                 DELETE FROM k WHERE code = 1;
                 CREATE VIRTUAL TABLE f USING fts5(body, content=k); INSERT INTO f(f) VALUES('rebuild')"
            ),
        );
        let hits = |engine: &mut Engine| {
            table(query(engine, "SELECT rowid, body FROM f('b')").unwrap()).rows
        };
        let (state, found) = (everything(&path), hits(&mut engine));
        for sql in [
            "DELETE FROM k",
            "UPDATE k SET code = code + 10",
            "REPLACE INTO k(code, body) VALUES(2, 'text of b')",
        ] {
            exec(&mut engine, sql).unwrap();
            undo(&mut engine).unwrap();
            assert_eq!(everything(&path), state, "{key}: {sql}");
            assert_eq!(hits(&mut engine), found, "{key}: {sql}");
        }
    }
}

extern "C" fn by_length(
    _: *mut std::ffi::c_void,
    one: i32,
    _: *const std::ffi::c_void,
    other: i32,
    _: *const std::ffi::c_void,
) -> i32 {
    one - other
}

/// A database of a program that has a collation and a function of its own, and text in double quotes.
fn of_another_program(path: &Path) {
    let connection = Connection::open(path).unwrap();
    for config in [
        DbConfig::SQLITE_DBCONFIG_DQS_DDL,
        DbConfig::SQLITE_DBCONFIG_DQS_DML,
    ] {
        connection.set_db_config(config, true).unwrap();
    }
    // SAFETY: the connection is open; the name is a C string; nothing is passed to `by_length`.
    #[expect(unsafe_code, reason = "rusqlite has it as a feature alone")]
    unsafe {
        ffi::sqlite3_create_collation_v2(
            connection.handle(),
            c"mine".as_ptr(),
            ffi::SQLITE_UTF8,
            std::ptr::null_mut(),
            Some(by_length),
            None,
        );
    }
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection
        .create_scalar_function("theirs", 1, flags, |context| context.get::<i64>(0))
        .unwrap();
    connection
        .execute_batch(
            "CREATE TABLE quoted(a, b CHECK(b IN (\"x\", \"y\"))); INSERT INTO quoted VALUES(1, 'x');
             CREATE INDEX on_quoted ON quoted(a) WHERE b <> \"z\";
             CREATE TABLE called(a, g AS (theirs(a)) VIRTUAL); INSERT INTO called VALUES(1);
             CREATE INDEX on_called ON called(theirs(a));
             CREATE TABLE collated(id INTEGER PRIMARY KEY, a TEXT COLLATE mine UNIQUE, n); INSERT INTO collated VALUES(1, 'x', 0);",
        )
        .unwrap();
}

#[test]
fn text_that_this_build_cannot_run_comes_back() {
    for sql in [
        "DROP TABLE quoted",
        "DROP INDEX on_quoted",
        "UPDATE quoted SET b = 'y'",
        "DROP TABLE called",
        "DROP INDEX on_called",
        "UPDATE collated SET n = 1",
    ] {
        let folder = Folder::new();
        let (mut engine, path) = on(&folder, "");
        of_another_program(&path);
        let schema = |path: &Path| -> Vec<u8> {
            // What SQLite wrote last is not told apart by pages that this build can read alone.
            std::fs::read(path).unwrap()[100..].to_vec()
        };
        let before = schema(&path);
        exec(&mut engine, sql).unwrap_or_else(|failure| panic!("{sql}: {failure}"));
        assert_ne!(schema(&path), before, "{sql}");
        undo(&mut engine).unwrap_or_else(|failure| panic!("{sql}: {failure}"));
        assert_eq!(schema(&path), before, "{sql}");
    }
}

#[test]
fn a_broken_view_elsewhere_is_not_in_the_way() {
    let folder = Folder::new();
    let (mut engine, path) = on(
        &folder,
        "CREATE TABLE t(a); CREATE VIEW v AS SELECT * FROM gone",
    );
    let before = everything(&path);
    exec(&mut engine, "ALTER TABLE t ADD COLUMN b").unwrap();
    undo(&mut engine).unwrap();
    assert_eq!(everything(&path), before);
}

#[test]
fn a_parent_that_was_rebuilt_comes_back_with_its_children() {
    for action in ["CASCADE", "SET NULL"] {
        let folder = Folder::new();
        let (mut engine, path) = on(
            &folder,
            &format!(
                "CREATE TABLE parent(id INTEGER PRIMARY KEY, n); INSERT INTO parent VALUES(1, 'a'), (2, 'b');
                 CREATE TABLE child(p REFERENCES parent ON DELETE {action}); INSERT INTO child VALUES(1), (2), (2)"
            ),
        );
        let before = everything(&path);
        batch(
            &mut engine,
            "CREATE TABLE p2(id INTEGER PRIMARY KEY, n, more); INSERT INTO p2 SELECT id, n, 0 FROM parent;
             DROP TABLE parent; ALTER TABLE p2 RENAME TO parent",
        )
        .unwrap();
        undo(&mut engine).unwrap();
        assert_eq!(everything(&path), before, "{action}");
    }
}

#[test]
fn a_key_that_is_equal_but_not_the_same_comes_back_as_it_was() {
    for collation in ["NOCASE", "RTRIM"] {
        let folder = Folder::new();
        let sql = format!(
            "CREATE TABLE t(a TEXT PRIMARY KEY COLLATE {collation}, b); INSERT INTO t VALUES('x', 1)"
        );
        let (mut engine, path) = on(&folder, &sql);
        let before = everything(&path);
        for other in ["X", "x  "] {
            exec(&mut engine, &format!("UPDATE t SET a = '{other}'")).unwrap();
            undo(&mut engine).unwrap();
            assert_eq!(everything(&path), before);
        }
    }
}

#[test]
fn the_last_rowid_is_told_all_the_same() {
    let mut engine = engine_with(recording(), "CREATE TABLE t(a INTEGER PRIMARY KEY)");
    let output = exec(&mut engine, "INSERT INTO t VALUES(7)").unwrap();
    assert_eq!(output.last_insert_rowid, Some(7));
}

#[test]
fn the_first_write_of_all_is_undone_to_nothing() {
    let folder = Folder::new();
    for auto_vacuum in [0, 1] {
        let path = folder.file(&format!("{auto_vacuum}.db"));
        std::fs::write(&path, "").unwrap();
        let settings = EngineSettings {
            undo: recorded_in(":memory:"),
            ..on_file(&path)
        };
        let mut engine = Engine::new(&settings, OutputLimits::default(), &Alone);
        exec(&mut engine, &format!("PRAGMA auto_vacuum = {auto_vacuum}")).unwrap();
        batch(
            &mut engine,
            "CREATE TABLE t(a PRIMARY KEY); INSERT INTO t VALUES(1)",
        )
        .unwrap();
        undo(&mut engine).unwrap();
        assert_eq!(
            everything(&path),
            [
                "Integer(1)|Integer(0)|Integer(0)",
                "sqlite_schema",
                "Text([111, 107])"
            ]
        );
        exec(&mut engine, "CREATE TABLE u(b)").unwrap();
    }
}

#[test]
fn the_pages_of_the_file_are_no_client_s_to_touch() {
    let mut engine = engine_with(recording(), "CREATE TABLE t(a)");
    for sql in [
        "SELECT count(*) FROM sqlite_dbpage",
        "INSERT INTO sqlite_dbpage VALUES(1, NULL)",
        "UPDATE SQLITE_DBPAGE SET data = zeroblob(4096)",
        "CREATE VIRTUAL TABLE v USING sqlite_dbpage",
        "CREATE TRIGGER x AFTER INSERT ON t BEGIN DELETE FROM sqlite_dbpage; END; INSERT INTO t VALUES(1)",
    ] {
        assert!(batch(&mut engine, sql).is_err(), "{sql}");
    }
    refused(
        query(&mut engine, "SELECT data FROM sqlite_dbpage"),
        Status::Unsupported,
        "below all tables",
    );
}
