//! What is recorded, for how long, and that it is true whenever a call is cut off.

use super::*;
use crate::settings::EngineLimits;
use crate::storage::local::RECORDS;
use crate::storage::memory::Memory;

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
    put_down(&record, &json!([{ "Gone": 2 }]));
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
    let files = [record.clone(), journal(&record)];
    let before = files.clone().map(|file| std::fs::read(file).unwrap());
    undo(&mut fresh()).unwrap();
    let changed = last_of(&record, 1);
    let (from, to) = (
        last_of(&record, 2)["state"][1].clone(),
        changed["state"][1].clone(),
    );
    // Before the commit, it was noted where it leads to; what follows the commit is lost.
    for (file, before) in files.iter().zip(before) {
        std::fs::write(file, before).unwrap();
    }
    let note = |number: i64, states: [&serde_json::Value; 2]| {
        let mut write = last_of(&record, number);
        write["undoing"] = json!(states);
        put_down(&record, &json!([{ "Write": write }]));
    };
    note(2, [&from, &to]);
    let done: Vec<bool> = past(&mut fresh())
        .into_iter()
        .map(|(_, undone)| undone)
        .collect();
    assert_eq!(done, [true, false]);
    assert_eq!(Folder::number(&path, "SELECT b FROM t"), 2);
    // One that was cut off before its commit was not done.
    note(1, [&to, &json!(5)]);
    let done: Vec<bool> = past(&mut fresh())
        .into_iter()
        .map(|(_, undone)| undone)
        .collect();
    assert_eq!(done, [true, false]);
    undo(&mut fresh()).unwrap();
    assert_eq!(Folder::number(&path, "SELECT b FROM t"), 1);
}

fn journal(record: &Path) -> PathBuf {
    record.with_file_name("record-journal")
}

/// Adds a change to what the next engine reads.
fn put_down(record: &Path, changes: &serde_json::Value) {
    let mut text = std::fs::read_to_string(journal(record)).unwrap();
    text.push_str(&format!("{changes}\n"));
    std::fs::write(journal(record), text).unwrap();
}

/// What the record says of a write.
fn last_of(record: &Path, number: i64) -> serde_json::Value {
    let text = std::fs::read_to_string(journal(record)).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let changes: Vec<serde_json::Value> = lines.flat_map(|line: Vec<_>| line).collect();
    let mut writes = changes.iter().rev().map(|change| &change["Write"]);
    let found = writes.find(|write| write["entry"]["number"] == number);
    found.unwrap().clone()
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

#[test]
fn without_a_record_undo_is_refused_with_how_to_get_one() {
    let mut engine = engine("CREATE TABLE t(a)");
    refused(undo(&mut engine), Status::Unsupported, "--no-undo");
    let past = engine.database(None).unwrap().past(9);
    assert_eq!(past.unwrap_err().status, Status::Unsupported);
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

#[test]
fn the_record_is_no_larger_than_what_it_holds_and_the_next_instance_reads_it() {
    let record = Memory::default();
    RECORDS.set(Some(record.clone()));
    let folder = Folder::new();
    let (mut settings, path, _) = outliving(&folder);
    settings.undo = recorded_in(":memory:");
    if let Some(undo) = &mut settings.undo {
        undo.bytes = 100_000;
    }
    let fresh = || Engine::new(&settings, OutputLimits::default(), &Alone);
    let mut engine = fresh();
    for value in 2..800 {
        exec(&mut engine, &format!("UPDATE t SET b = {value}")).unwrap();
    }
    let (pages, journal) = (
        record.size_of(":memory:"),
        record.size_of(":memory:-journal"),
    );
    assert!(
        pages < Some(110_000) && journal < Some(400_000),
        "{pages:?} {journal:?}"
    );
    let told = past(&mut engine);
    drop(engine);
    let mut engine = fresh();
    assert_eq!(past(&mut engine), told);
    assert!(told.len() > 5, "{told:?}");
    // Space that undo has left is used again.
    undo(&mut engine).unwrap();
    exec(&mut engine, "UPDATE t SET b = 'again'").unwrap();
    for _ in &told {
        undo(&mut fresh()).unwrap();
    }
    assert_eq!(
        Folder::number(&path, "SELECT b FROM t"),
        799 - told.len() as i64
    );
    refused(
        undo(&mut fresh()),
        Status::InvalidState,
        "older writes were dropped",
    );
    RECORDS.set(None);
}

#[test]
fn the_tables_of_a_virtual_table_are_told_as_that() {
    let mut engine = engine_with(
        recording(),
        "CREATE VIRTUAL TABLE points USING vec0(v float[3])",
    );
    exec(&mut engine, "INSERT INTO points(v) VALUES('[1, 2, 3]')").unwrap();
    let told: Vec<String> = past(&mut engine)
        .into_iter()
        .map(|(told, _)| told)
        .collect();
    let rows = "points: a virtual table, whose rows cannot be counted";
    assert_eq!(told[0], rows);
    assert!(told[1].ends_with("table points created"), "{told:?}");
}
