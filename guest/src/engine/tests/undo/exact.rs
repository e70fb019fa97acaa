//! Whatever is written is undone to the last byte.

use super::*;

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
