//! The record of what a session writes, and taking the last write back.

use super::*;
use crate::engine::undo::history::EntryState;
use crate::settings::EngineLimits;

/// A record in `file`.
fn recorded_in(file: &str) -> Option<Undo> {
    Some(Undo {
        file: file.into(),
        bytes: 64 << 20,
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
    engine.database(None)?.undo()
}

pub(super) fn past(engine: &mut Engine) -> Vec<(String, EntryState)> {
    let (entries, _) = engine.database(None).unwrap().past(99).unwrap();
    entries
        .into_iter()
        .map(|entry| (entry.summary, entry.state))
        .collect()
}

/// Everything that is in the database, schema and rows.
fn everything(path: &Path) -> Vec<String> {
    let connection = Connection::open(path).unwrap();
    let check: String = connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(check, "ok");
    let list = |sql: &str| -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        let width = statement.column_count();
        let rows = statement.query_map([], |row| {
            let cells: Vec<String> = (0..width)
                .map(|at| format!("{:?}", row.get_ref(at).unwrap()))
                .collect();
            Ok(cells.join("|"))
        });
        rows.unwrap().map(Result::unwrap).collect()
    };
    let mut all = Vec::new();
    // Names and definitions, without the quotes that ALTER TABLE puts around names.
    for line in list(
        "SELECT type, name, tbl_name, replace(sql, '\"', '') FROM sqlite_schema ORDER BY type, name",
    ) {
        all.push(line);
    }
    let tables = connection
        .prepare("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_schema' ORDER BY name")
        .unwrap()
        .query_map([], |row| row.get::<_, String>(0))
        .unwrap()
        .map(Result::unwrap)
        .collect::<Vec<_>>();
    for table in tables {
        let mut rows = list(&format!("SELECT * FROM \"{table}\""));
        rows.sort();
        all.push(table);
        all.extend(rows);
    }
    all
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
    ] {
        let folder = Folder::new();
        let (mut engine, path) = on(&folder, SHOP);
        let before = everything(&path);
        batch(&mut engine, sql).unwrap();
        assert_ne!(everything(&path), before, "{sql}");
        undo(&mut engine).unwrap_or_else(|failure| panic!("{sql}: {failure}"));
        let ignore = |all: Vec<String>| -> Vec<String> {
            // What AUTOINCREMENT has given away stays given away.
            all.into_iter()
                .filter(|line| !line.contains("child\")|"))
                .collect()
        };
        assert_eq!(ignore(everything(&path)), ignore(before), "{sql}");
        assert_eq!(past(&mut engine)[0].1, EntryState::Undone);
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
fn later_changes_by_another_process_conflict_and_stay() {
    for (write, meddle, why) in [
        (
            "UPDATE items SET name = 'mine' WHERE id = 1",
            "UPDATE items SET name = 'theirs' WHERE id = 1",
            "a row of items that it changed has other values",
        ),
        (
            "UPDATE items SET name = 'mine' WHERE id = 1",
            "DELETE FROM items WHERE id = 1",
            "a row of items that it changed no longer exists",
        ),
        (
            "DELETE FROM items WHERE id = 2",
            "INSERT INTO items(id, name) VALUES(2, 'theirs')",
            "a row of items that it deleted exists again",
        ),
        (
            "INSERT INTO parent VALUES(9, 'r')",
            "INSERT INTO child(p) VALUES(9)",
            "foreign keys would be violated",
        ),
        (
            "UPDATE parent SET n = 'm' WHERE id = 1",
            "INSERT INTO parent VALUES(3, 'p')",
            "a constraint of parent would be violated",
        ),
        (
            "INSERT INTO plain VALUES(8)",
            "ALTER TABLE plain ADD COLUMN y",
            "the columns of the table plain have changed",
        ),
        (
            "CREATE TABLE t(a)",
            "INSERT INTO t VALUES(1)",
            "the rows of t have changed since",
        ),
        (
            "CREATE TABLE t(a)",
            "DROP TABLE t",
            "the table t no longer exists",
        ),
        (
            "CREATE TABLE t(a)",
            "ALTER TABLE t ADD COLUMN b",
            "the table t has changed since",
        ),
        (
            "DROP TABLE plain",
            "CREATE TABLE plain(z)",
            "another table plain exists",
        ),
        (
            "DROP TABLE plain",
            "CREATE VIEW plain AS SELECT 1",
            "view plain already exists",
        ),
        (
            "ALTER TABLE plain ADD COLUMN y",
            "INSERT INTO plain VALUES(1, 2)",
            "the rows of plain have changed since",
        ),
        (
            "CREATE VIRTUAL TABLE f USING fts5(x)",
            "INSERT INTO f VALUES('y')",
            "have changed since",
        ),
    ] {
        let folder = Folder::new();
        let (mut engine, path) = on(&folder, SHOP);
        exec(&mut engine, write).unwrap();
        Connection::open(&path)
            .unwrap()
            .execute_batch(&format!("PRAGMA foreign_keys=ON; {meddle}"))
            .unwrap();
        let state = everything(&path);
        let failure = refused(
            undo(&mut engine),
            Status::InvalidState,
            "Nothing was changed.",
        );
        assert!(
            failure.message.contains(why),
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

#[test]
fn changes_elsewhere_do_not_conflict() {
    let folder = Folder::new();
    let (mut engine, path) = on(&folder, SHOP);
    exec(&mut engine, "UPDATE items SET name = 'mine' WHERE id = 1").unwrap();
    Connection::open(&path)
        .unwrap()
        .execute_batch("UPDATE items SET price = 3 WHERE id = 1; DELETE FROM items WHERE id = 2")
        .unwrap();
    undo(&mut engine).unwrap();
    let row = query(&mut engine, "SELECT name, price FROM items WHERE id = 1").unwrap();
    assert_eq!(table(row).rows, [[text("lamp"), Value::Real(3.0)]]);
}

#[test]
fn a_full_record_drops_its_oldest_writes_and_reports_it() {
    let settings = EngineSettings {
        limits: EngineLimits {
            disk_bytes: 400_000,
            ..EngineLimits::default()
        },
        ..recording()
    };
    let mut engine = engine_with(settings, "CREATE TABLE t(a)");
    let mut said = false;
    for _ in 0..5 {
        let output = exec(&mut engine, "INSERT INTO t VALUES(randomblob(40000))").unwrap();
        said |= output
            .notes
            .iter()
            .any(|note| note.contains("oldest writes were dropped"));
    }
    assert!(said);
    let (entries, dropped) = engine.database(None).unwrap().past(99).unwrap();
    assert_eq!((entries.len(), dropped), (2, 4));
    undo(&mut engine).unwrap();
    undo(&mut engine).unwrap();
    refused(
        undo(&mut engine),
        Status::InvalidState,
        "older writes were dropped",
    );
    assert_eq!(number(&mut engine, "SELECT count(*) FROM t"), 3);
}

#[test]
fn what_changes_nothing_or_fails_is_not_recorded() {
    let mut engine = engine_with(recording(), "CREATE TABLE t(a UNIQUE)");
    exec(&mut engine, "SELECT 1").unwrap();
    exec(&mut engine, "DELETE FROM t").unwrap();
    exec(&mut engine, "PRAGMA user_version = 4").unwrap();
    exec(&mut engine, "VACUUM").unwrap();
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
    assert_eq!(
        past(&mut engine),
        [("table t created".to_owned(), EntryState::Done)]
    );
    assert_eq!(number(&mut engine, "PRAGMA user_version"), 4);
}

#[test]
fn a_write_that_was_aborted_during_its_commit_is_resolved() {
    let folder = Folder::new();
    let record = folder.file("record");
    let path = folder.database(
        "shop.db",
        "CREATE TABLE t(a INTEGER PRIMARY KEY, b); INSERT INTO t VALUES(1, 1)",
    );
    let settings = EngineSettings {
        undo: recorded_in(record.to_str().unwrap()),
        ..on_file(&path)
    };
    let fresh = || Engine::new(&settings, OutputLimits::default(), &Alone);
    let doubt = |state: EntryState| {
        let history = Connection::open(&record).unwrap();
        history
            .execute(
                "UPDATE entry SET state = ?1 WHERE number = (SELECT max(number) FROM entry)",
                [state as i64],
            )
            .unwrap();
    };
    exec(&mut fresh(), "UPDATE t SET b = 2").unwrap();
    // Committed, and aborted before that was confirmed.
    doubt(EntryState::InDoubt);
    assert_eq!(past(&mut fresh())[0].1, EntryState::Done);
    // Cut off before the commit.
    doubt(EntryState::InDoubt);
    Connection::open(&path)
        .unwrap()
        .execute_batch("UPDATE t SET b = 1")
        .unwrap();
    assert_eq!(past(&mut fresh()), []);
    // Cut off before the commit of an undo, and behind it.
    exec(&mut fresh(), "UPDATE t SET b = 3").unwrap();
    doubt(EntryState::Undoing);
    assert_eq!(past(&mut fresh())[0].1, EntryState::Done);
    undo(&mut fresh()).unwrap();
    assert_eq!(number(&mut fresh(), "SELECT b FROM t"), 1);
    doubt(EntryState::Undoing);
    assert_eq!(past(&mut fresh())[0].1, EntryState::Undone);
    // Changes of others hide what became of it.
    exec(&mut fresh(), "UPDATE t SET b = 4").unwrap();
    doubt(EntryState::InDoubt);
    Connection::open(&path)
        .unwrap()
        .execute_batch("UPDATE t SET b = 5")
        .unwrap();
    refused(
        undo(&mut fresh()),
        Status::InvalidState,
        "other changes hide whether it was committed",
    );
}

#[test]
fn without_a_record_undo_is_refused_with_how_to_get_one() {
    let mut engine = engine("CREATE TABLE t(a)");
    refused(undo(&mut engine), Status::Unsupported, "mcp --undo");
    let past = engine.database(None).unwrap().past(9);
    assert_eq!(past.unwrap_err().status, Status::Unsupported);
}

#[test]
fn mismatched_foreign_keys_do_not_conflict() {
    let folder = Folder::new();
    let (mut engine, path) = on(&folder, "");
    let mut states = Vec::new();
    for sql in [
        "CREATE TABLE p(id INTEGER PRIMARY KEY)",
        "CREATE TABLE k(x REFERENCES p(id))",
        "INSERT INTO p VALUES(1)",
        "DROP TABLE p",
        "CREATE TABLE p(z)",
        "INSERT INTO p VALUES(5)",
    ] {
        states.push(everything(&path));
        exec(&mut engine, sql).unwrap();
    }
    for state in states.iter().rev() {
        undo(&mut engine).unwrap();
        assert_eq!(everything(&path), *state);
    }
    // Those of another process as little.
    for (write, meddle) in [
        ("CREATE TABLE nn(x)", "CREATE TABLE fkc(x REFERENCES nn(x))"),
        (
            "CREATE TABLE a(x); INSERT INTO a VALUES(1)",
            "CREATE TABLE b(x REFERENCES a(nocol))",
        ),
    ] {
        batch(&mut engine, write).unwrap();
        Connection::open(&path)
            .unwrap()
            .execute_batch(meddle)
            .unwrap();
        undo(&mut engine).unwrap_or_else(|failure| panic!("{write}: {failure}"));
    }
}

#[test]
fn foreign_keys_that_undo_would_violate_conflict() {
    for (write, meddle, why) in [
        (
            "CREATE UNIQUE INDEX i ON plain(x)",
            "CREATE TABLE c(x REFERENCES plain(x)); INSERT INTO c VALUES(9)",
            "foreign keys of c would not match the table that they refer to",
        ),
        (
            "CREATE INDEX j ON plain(x); INSERT INTO parent VALUES(9)",
            "INSERT INTO child VALUES(9)",
            "foreign keys of child would be violated",
        ),
    ] {
        let folder = Folder::new();
        let sql = "CREATE TABLE plain(x); CREATE TABLE parent(id INTEGER PRIMARY KEY);
                   CREATE TABLE child(p REFERENCES parent(id)); INSERT INTO child VALUES(NULL)";
        let (mut engine, path) = on(&folder, sql);
        batch(&mut engine, write).unwrap();
        Connection::open(&path)
            .unwrap()
            .execute_batch(&format!("PRAGMA foreign_keys=OFF; {meddle}"))
            .unwrap();
        let state = everything(&path);
        refused(undo(&mut engine), Status::InvalidState, why);
        assert_eq!(everything(&path), state);
    }
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
        "DROP TABLE items",
        "DROP TABLE sqlite_stat1",
    ] {
        states.push(everything(&path));
        exec(&mut engine, sql).unwrap();
        assert_ne!(everything(&path), states[states.len() - 1], "{sql}");
    }
    assert_eq!(
        past(&mut engine)[0].0,
        "statistics for the query planner: gathered or dropped"
    );
    for state in states.iter().rev() {
        undo(&mut engine).unwrap();
        assert_eq!(everything(&path), *state);
    }
    // Others gather them, too; that does not keep a table from coming back.
    for (write, refusal) in [
        ("ANALYZE", Some("the statistics have changed")),
        ("DROP TABLE norowid", None),
    ] {
        exec(&mut engine, write).unwrap();
        let meddle = "INSERT INTO plain VALUES(9); ANALYZE";
        Connection::open(&path)
            .unwrap()
            .execute_batch(meddle)
            .unwrap();
        match refusal {
            Some(why) => drop(refused(undo(&mut engine), Status::InvalidState, why)),
            None => drop(undo(&mut engine).unwrap()),
        }
    }
}
