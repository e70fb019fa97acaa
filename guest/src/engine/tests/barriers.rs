//! Writes that cannot be undone: made all the same, with the reason first.

use super::undo::{everything, past, recorded_in, recording, undo};
use super::*;

/// Makes a write that cannot be undone, for the reason `why`.
#[track_caller]
fn irreversible(engine: &mut Engine, sql: &str, why: &str) {
    let output = exec(engine, sql).unwrap();
    let told = &output.warnings[0];
    assert!(
        told.starts_with("Write ") && told.contains(" cannot be undone") && told.contains(why),
        "{output:?}"
    );
    refused(undo(engine), Status::InvalidState, why);
}

#[test]
fn pages_that_have_no_room_make_a_write_irreversible() {
    let mut settings = recording();
    if let Some(undo) = &mut settings.undo {
        undo.bytes = 2 << 20;
    }
    let mut engine = engine_with(settings, "CREATE TABLE t(a)");
    for _ in 0..3 {
        exec(&mut engine, "INSERT INTO t VALUES(randomblob(900000))").unwrap();
    }
    irreversible(
        &mut engine,
        "UPDATE t SET a = randomblob(900000)",
        "take more than the 2097152 bytes that are kept",
    );
    // What is written behind it is undone, up to there.
    exec(&mut engine, "INSERT INTO t VALUES(1)").unwrap();
    undo(&mut engine).unwrap();
    refused(
        undo(&mut engine),
        Status::InvalidState,
        "can never be undone",
    );
    assert_eq!(number(&mut engine, "SELECT count(*) FROM t"), 3);
    // What was rolled back is no write, however large.
    let count = past(&mut engine).len();
    let sql = "UPDATE t SET a = randomblob(900000); INSERT INTO nowhere VALUES(1)";
    batch(&mut engine, sql).unwrap_err();
    assert_eq!(past(&mut engine).len(), count);
}

#[test]
fn another_page_size_or_journal_mode_is_irreversible() {
    let folder = Folder::new();
    let path = folder.database("shop.db", "CREATE TABLE t(a); INSERT INTO t VALUES(1)");
    let settings = EngineSettings {
        undo: recorded_in(":memory:"),
        ..on_file(&path)
    };
    let mut engine = Engine::new(&settings, OutputLimits::default(), &Alone);
    exec(&mut engine, "PRAGMA page_size = 1024").unwrap();
    irreversible(&mut engine, "VACUUM", "the page size was changed");
    // It is ours all the same, whether pages became smaller or larger.
    exec(&mut engine, "PRAGMA page_size = 8192").unwrap();
    irreversible(&mut engine, "VACUUM", "the page size was changed");
    let told = engine.database(None).unwrap().past(9).unwrap();
    assert!(!told.since && told.entries.iter().all(|entry| !entry.apart));
    for mode in ["wal", "delete"] {
        let sql = format!("PRAGMA journal_mode = {mode}");
        irreversible(&mut engine, &sql, "the journal mode was changed");
    }
    exec(&mut engine, "PRAGMA journal_mode = truncate").unwrap();
    assert_eq!(past(&mut engine).len(), 4);
}

/// A file in that journal mode with 2 MiB in it, of which no more than 512 KiB can be undone.
fn required(folder: &Folder, mode: &str) -> (Engine, PathBuf) {
    let path = folder.database(
        &format!("{mode}.db"),
        &format!(
            "PRAGMA journal_mode = {mode}; CREATE TABLE t(a, b);
             INSERT INTO t VALUES(1, zeroblob(1000000)), (2, zeroblob(1000000))"
        ),
    );
    let settings = EngineSettings {
        undo: Some(Undo {
            file: ":memory:".into(),
            bytes: 512 << 10,
            required: true,
        }),
        ..on_file(&path)
    };
    (
        Engine::new(&settings, OutputLimits::default(), &Alone),
        path,
    )
}

#[test]
fn where_undo_is_required_a_write_that_cannot_be_undone_is_refused_and_changes_nothing() {
    for mode in ["delete", "truncate", "persist", "wal"] {
        let folder = Folder::new();
        let (mut engine, path) = required(&folder, mode);
        exec(&mut engine, "UPDATE t SET a = a + 10").unwrap();
        let before = everything(&path);
        for (sql, why) in [
            (
                "UPDATE t SET b = randomblob(1000000)",
                "more than the 524288 bytes",
            ),
            (
                "PRAGMA journal_mode = delete",
                "would change the journal mode",
            ),
            ("PRAGMA journal_mode(wal)", "would change the journal mode"),
        ] {
            let failure = refused(exec(&mut engine, sql), Status::InvalidState, why);
            assert!(failure.message.contains("could not be undone"), "{failure}");
            assert!(
                failure.message.ends_with("Nothing was changed."),
                "{failure}"
            );
            assert_eq!(everything(&path), before, "{mode}: {sql}");
        }
        let sql = "INSERT INTO t VALUES(3, 3); UPDATE t SET b = randomblob(900000)";
        refused(
            batch(&mut engine, sql),
            Status::InvalidState,
            "could not be undone",
        );
        assert_eq!(everything(&path), before, "{mode}");
        assert_eq!(past(&mut engine).len(), 1);
        exec(&mut engine, "INSERT INTO t VALUES(3, 3)").unwrap();
        undo(&mut engine).unwrap();
        assert_eq!(everything(&path), before, "{mode}");
    }
}

#[test]
fn where_undo_is_required_the_page_size_stays() {
    let folder = Folder::new();
    let path = folder.database("shop.db", "CREATE TABLE t(a); INSERT INTO t VALUES(1)");
    let mut settings = EngineSettings {
        undo: recorded_in(":memory:"),
        ..on_file(&path)
    };
    settings.undo.as_mut().unwrap().required = true;
    let mut engine = Engine::new(&settings, OutputLimits::default(), &Alone);
    exec(&mut engine, "PRAGMA page_size = 1024").unwrap();
    let before = everything(&path);
    refused(
        exec(&mut engine, "VACUUM"),
        Status::InvalidState,
        "the page size was changed",
    );
    assert_eq!(everything(&path), before);
}

#[test]
fn what_comes_from_a_file_is_undone_like_all_else() {
    let mut engine = engine_with(recording(), "CREATE TABLE t(a)");
    let mut output = Output::default();
    let database = engine.database(None).unwrap();
    database
        .change("import t.csv into t", &mut output, |work| {
            for sql in [
                "CREATE TABLE u(b)",
                "INSERT INTO u VALUES(1), (2)",
                "INSERT INTO t VALUES(1)",
            ] {
                work.write(sql)?
                    .raw_execute()
                    .map_err(|error| work.failure(&error, sql))?;
            }
            Ok(())
        })
        .unwrap();
    assert!(output.warnings.is_empty(), "{output:?}");
    assert_eq!(output.extra["write"], 2);
    assert_eq!(
        past(&mut engine)[0].0,
        "t: 1 row inserted; u: 2 rows inserted; table u created"
    );
    undo(&mut engine).unwrap();
    assert_eq!(number(&mut engine, "SELECT count(*) FROM t"), 0);
    assert_eq!(number(&mut engine, "SELECT count(*) FROM sqlite_schema"), 1);
}

#[test]
fn a_database_that_was_replaced_comes_back() {
    let folder = Folder::new();
    let path = folder.database("shop.db", "CREATE TABLE t(a); INSERT INTO t VALUES(1)");
    let other = Connection::open_in_memory().unwrap();
    other
        .execute_batch("CREATE TABLE u(b); INSERT INTO u VALUES(zeroblob(100000))")
        .unwrap();
    let settings = EngineSettings {
        undo: recorded_in(":memory:"),
        ..on_file(&path)
    };
    let mut engine = Engine::new(&settings, OutputLimits::default(), &Alone);
    let database = engine.database(None).unwrap();
    let mut output = Output::default();
    database
        .replace("restore other.db", &mut output, |to, _| {
            rusqlite::backup::Backup::new(&other, to)?
                .step(-1)
                .map(drop)
        })
        .unwrap();
    assert_eq!(number(&mut engine, "SELECT count(*) FROM u"), 1);
    undo(&mut engine).unwrap();
    assert_eq!(number(&mut engine, "SELECT a FROM t"), 1);
}

#[test]
fn a_database_with_a_log_comes_back_as_well() {
    let folder = Folder::new();
    let path = folder.database(
        "shop.db",
        "PRAGMA journal_mode = wal; CREATE TABLE t(a); INSERT INTO t VALUES(1)",
    );
    let other = Connection::open_in_memory().unwrap();
    other.execute_batch("CREATE TABLE u(b)").unwrap();
    let settings = EngineSettings {
        undo: recorded_in(":memory:"),
        ..on_file(&path)
    };
    let mut engine = Engine::new(&settings, OutputLimits::default(), &Alone);
    exec(&mut engine, "CREATE TABLE first(a)").unwrap();
    let database = engine.database(None).unwrap();
    database
        .replace("restore other.db", &mut Output::default(), |to, _| {
            rusqlite::backup::Backup::new(&other, to)?
                .step(-1)
                .map(drop)
        })
        .unwrap();
    assert_eq!(number(&mut engine, "SELECT count(*) FROM u"), 0);
    exec(&mut engine, "INSERT INTO u VALUES(2)").unwrap();
    for _ in 0..2 {
        undo(&mut engine).unwrap();
    }
    assert_eq!(number(&mut engine, "SELECT count(*) FROM first"), 0);
    undo(&mut engine).unwrap();
    assert_eq!(number(&mut engine, "SELECT a FROM t"), 1);
    assert_eq!(number(&mut engine, "SELECT count(*) FROM sqlite_schema"), 1);
}
