//! Files: opened for reading until something is written, and never made.

use std::time::SystemTime;

use super::*;

fn stamp(path: &Path) -> (Vec<u8>, SystemTime) {
    (
        std::fs::read(path).unwrap(),
        std::fs::metadata(path).unwrap().modified().unwrap(),
    )
}

fn names(folder: &Folder) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(&folder.0)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn reading_leaves_the_file_as_it_was() {
    let folder = Folder::new();
    let path = folder.database("shop.db", "CREATE TABLE t(a); INSERT INTO t VALUES (1)");
    let before = stamp(&path);
    let mut engine = open(&path);
    query(&mut engine, "SELECT * FROM t ORDER BY a").unwrap();
    query(&mut engine, "PRAGMA integrity_check").unwrap();
    query(&mut engine, "DELETE FROM t").unwrap_err();
    explain(&mut engine, "DELETE FROM t").unwrap();
    drop(engine);
    assert_eq!(stamp(&path), before);
    assert_eq!(names(&folder), ["shop.db"]);
}

#[test]
fn the_first_write_upgrades_the_connection_and_reads_stay_guarded() {
    let folder = Folder::new();
    let path = folder.database("shop.db", "CREATE TABLE t(a)");
    let mut engine = open(&path);
    assert_eq!(number(&mut engine, "SELECT count(*) FROM t"), 0);
    exec(&mut engine, "INSERT INTO t VALUES (1)").unwrap();
    assert_eq!(number(&mut engine, "PRAGMA query_only"), 1);
    query(&mut engine, "INSERT INTO t VALUES (2)").unwrap_err();
    exec(&mut engine, "INSERT INTO t VALUES (2)").unwrap();
    assert_eq!(number(&mut engine, "SELECT count(*) FROM t"), 2);
    drop(engine);
    assert_eq!(number(&mut open(&path), "SELECT count(*) FROM t"), 2);
}

#[test]
fn what_another_process_writes_is_seen_at_once() {
    let folder = Folder::new();
    let path = folder.database("shop.db", "CREATE TABLE t(a)");
    let mut engine = open(&path);
    assert_eq!(number(&mut engine, "SELECT count(*) FROM t"), 0);
    let other = Connection::open(&path).unwrap();
    other
        .execute_batch("INSERT INTO t VALUES (1); ALTER TABLE t ADD COLUMN b")
        .unwrap();
    let rows = table(query(&mut engine, "SELECT * FROM t").unwrap());
    assert_eq!((rows.columns.len(), rows.rows.len()), (2, 1));
}

#[test]
fn a_missing_database_is_never_created() {
    let folder = Folder::new();
    let mut engine = open(&folder.file("typo.db"));
    refused(
        query(&mut engine, "SELECT 1"),
        Status::NotFound,
        "shop.db cannot be opened",
    );
    refused(
        exec(&mut engine, "CREATE TABLE t(a)"),
        Status::NotFound,
        "never creates a missing database",
    );
    assert!(names(&folder).is_empty());
    // It may appear later.
    folder.database("typo.db", "CREATE TABLE t(a)");
    assert_eq!(number(&mut engine, "SELECT count(*) FROM t"), 0);
}

#[test]
fn an_empty_file_is_an_empty_database() {
    let folder = Folder::new();
    let path = folder.file("empty.db");
    std::fs::write(&path, "").unwrap();
    let mut engine = open(&path);
    assert_eq!(number(&mut engine, "SELECT count(*) FROM sqlite_schema"), 0);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
    exec(&mut engine, "CREATE TABLE t(a)").unwrap();
}

#[test]
fn a_file_that_is_not_a_database_is_refused_as_such() {
    let folder = Folder::new();
    let path = folder.file("notes.txt");
    std::fs::write(&path, "Just a text that goes on for a while. ".repeat(100)).unwrap();
    let mut engine = open(&path);
    for result in [
        query(&mut engine, "SELECT 1"),
        exec(&mut engine, "CREATE TABLE t(a)"),
    ] {
        refused(
            result,
            Status::Corrupt,
            "shop.db is not a SQLite database, or it is encrypted.",
        );
    }
}

#[test]
fn a_damaged_file_is_reported_as_damaged() {
    let folder = Folder::new();
    let path = folder.database(
        "shop.db",
        "CREATE TABLE t(a); INSERT INTO t SELECT zeroblob(900) FROM (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9));",
    );
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[4096..8192].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    let mut engine = open(&path);
    refused(
        query(&mut engine, "SELECT count(a) FROM t"),
        Status::Corrupt,
        "shop.db is damaged",
    );
}

#[test]
fn names_that_are_not_utf_8_are_refused_before_they_can_do_harm() {
    let folder = Folder::new();
    let path = folder.database("shop.db", "CREATE TABLE cafe(cafe)");
    let bytes = std::fs::read(&path).unwrap();
    let mut changed = bytes.clone();
    let at = bytes
        .windows(10)
        .position(|part| part == b"cafe(cafe)")
        .unwrap();
    changed[at + 8] = 0xe9;
    std::fs::write(&path, changed).unwrap();
    let mut engine = open(&path);
    refused(
        query(&mut engine, "SELECT * FROM cafe"),
        Status::Corrupt,
        "cafe contains text that is not UTF-8",
    );
}

/// A copy of a database as a process leaves it that dies in a transaction.
fn dead_in_a_transaction(folder: &Folder) -> PathBuf {
    let path = folder.database("live.db", "CREATE TABLE t(a); INSERT INTO t SELECT randomblob(500) FROM (WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 200) SELECT i FROM n)");
    let connection = Connection::open(&path).unwrap();
    // A cache this small has to spill into the file, and so the journal has to be complete before.
    connection
        .execute_batch("PRAGMA cache_size = 5; BEGIN; UPDATE t SET a = randomblob(600); ")
        .unwrap();
    let copy = folder.file("dead.db");
    std::fs::copy(&path, &copy).unwrap();
    std::fs::copy(
        folder.file("live.db-journal"),
        folder.file("dead.db-journal"),
    )
    .unwrap();
    copy
}

#[test]
fn a_transaction_that_a_dead_process_left_is_rolled_back() {
    let folder = Folder::new();
    let path = dead_in_a_transaction(&folder);
    let mut engine = open(&path);
    assert_eq!(
        number(&mut engine, "SELECT count(*) FROM t WHERE length(a) = 500"),
        200
    );
    assert!(!folder.file("dead.db-journal").exists());
}

#[test]
fn with_readonly_a_left_transaction_is_explained_and_left_alone() {
    let folder = Folder::new();
    let path = dead_in_a_transaction(&folder);
    let before = stamp(&path);
    let mut engine = Engine::new(
        &EngineSettings {
            readonly: true,
            ..on_file(&path)
        },
        OutputLimits::default(),
        &Alone,
    );
    let failure = refused(
        query(&mut engine, "SELECT count(*) FROM t"),
        Status::InvalidState,
        "in the middle of a transaction",
    );
    assert!(failure.hint.unwrap().contains("without --readonly"));
    assert_eq!(stamp(&path), before);
    assert!(folder.file("dead.db-journal").exists());
}

#[test]
fn a_write_ahead_log_is_read_and_written() {
    let folder = Folder::new();
    let path = folder.database(
        "shop.db",
        "PRAGMA journal_mode = wal; CREATE TABLE t(a); INSERT INTO t VALUES (1)",
    );
    let mut engine = open(&path);
    assert_eq!(number(&mut engine, "SELECT count(*) FROM t"), 1);
    assert_eq!(value(&mut engine, "PRAGMA journal_mode"), text("wal"));
    exec(&mut engine, "INSERT INTO t VALUES (2)").unwrap();
    assert_eq!(number(&mut engine, "SELECT count(*) FROM t"), 2);
    assert_eq!(
        table(exec(&mut engine, "PRAGMA wal_checkpoint(TRUNCATE)").unwrap())
            .rows
            .len(),
        1
    );
    assert_eq!(
        table(exec(&mut engine, "PRAGMA journal_mode = delete").unwrap()).rows,
        [[text("delete")]]
    );
}

#[test]
fn a_connection_that_is_closed_opens_again() {
    let folder = Folder::new();
    let path = folder.database("shop.db", "CREATE TABLE t(a)");
    let mut engine = open(&path);
    exec(&mut engine, "INSERT INTO t VALUES (1)").unwrap();
    engine.database(None).unwrap().close();
    assert_eq!(number(&mut engine, "SELECT count(*) FROM t"), 1);
}

#[test]
fn sqlite_is_compiled_as_the_configuration_says() {
    let mut engine = engine("");
    let options: Vec<Value> = table(query(&mut engine, "PRAGMA compile_options").unwrap())
        .rows
        .concat();
    for option in [
        "DQS=0",
        "ENABLE_FTS5",
        "ENABLE_RTREE",
        "ENABLE_GEOPOLY",
        "ENABLE_MATH_FUNCTIONS",
        "ENABLE_STAT4",
        "ENABLE_DBSTAT_VTAB",
        "ENABLE_PERCENTILE",
        "ENABLE_API_ARMOR",
        "OMIT_LOAD_EXTENSION",
        "OMIT_SHARED_CACHE",
        "OMIT_DEPRECATED",
    ] {
        assert!(
            options.contains(&text(option)),
            "{option} is not in {options:?}"
        );
    }
    assert!(!options.contains(&text("ENABLE_LOAD_EXTENSION")));
}

#[test]
fn a_file_name_is_never_read_as_a_uri() {
    let folder = Folder::new();
    let path = folder.database("shop.db", "CREATE TABLE t(a)");
    let uri = PathBuf::from(format!("file:{}?mode=rwc", path.display()));
    refused(
        query(&mut open(&uri), "SELECT * FROM t"),
        Status::NotFound,
        "cannot be opened",
    );
}

#[test]
fn text_of_reals_in_an_index_is_that_of_the_program_that_made_the_file() {
    let folder = Folder::new();
    let path = folder.file("old.db");
    let connection = Connection::open(&path).unwrap();
    // As every SQLite before 3.52.
    crate::engine::connection::set_digits(&connection).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, a REAL, n TEXT AS (a || '') STORED);
             INSERT INTO t(a) VALUES(0.1 + 0.2), (1.0 / 3); CREATE INDEX i ON t(a || 'x')",
        )
        .unwrap();
    connection.close().unwrap();
    let mut engine = open(&path);
    let found = "SELECT count(*) FROM t WHERE a || 'x' = (0.1 + 0.2) || 'x'";
    assert_eq!(number(&mut engine, found), 1);
    assert_eq!(value(&mut engine, "PRAGMA integrity_check"), text("ok"));
    exec(&mut engine, "UPDATE t SET a = a + 0.7").unwrap();
    assert_eq!(
        value(&mut engine, "SELECT min(n = a || '') FROM t"),
        Value::Integer(1)
    );
    // All of it is there in an answer.
    assert_eq!(
        value(&mut engine, "SELECT a FROM t WHERE id = 1"),
        Value::Real(0.1 + 0.2 + 0.7)
    );
    drop(engine);
    let connection = Connection::open(&path).unwrap();
    crate::engine::connection::set_digits(&connection).unwrap();
    let check = "PRAGMA integrity_check";
    let said: String = connection.query_row(check, [], |row| row.get(0)).unwrap();
    assert_eq!(said, "ok");
}
