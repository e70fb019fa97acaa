//! Irreversible writes: reported before they run, and undo stops at them.

use super::undo::{past, recording, undo};
use super::*;
use crate::engine::database::WriteMode;
use crate::settings::EngineLimits;

#[test]
fn an_irreversible_write_is_reported_before_and_after_and_stops_undo() {
    let mut engine = engine_with(
        recording(),
        "CREATE TABLE t(a TEXT PRIMARY KEY); CREATE VIRTUAL TABLE f USING fts5(x); INSERT INTO f VALUES('y')",
    );
    for (sql, why) in [
        (
            "INSERT INTO t VALUES(NULL)",
            "t has rows whose primary key is NULL",
        ),
        ("DROP TABLE f", "the virtual table f was dropped"),
    ] {
        let database = engine.database(None).unwrap();
        let tried = database
            .exec_to(sql, &Params::None, WriteMode::DryRun)
            .unwrap();
        assert!(
            tried
                .notes
                .iter()
                .any(|note| note.contains(&format!("The write could not be undone: {why}"))),
            "{tried:?}"
        );
        // One warning is enough.
        let done = exec(&mut engine, sql).unwrap();
        assert!(
            done.notes
                .iter()
                .any(|note| note.contains(&format!("This write cannot be undone: {why}"))),
            "{done:?}"
        );
        refused(undo(&mut engine), Status::InvalidState, why);
    }
    assert_eq!(past(&mut engine).len(), 3);
}

#[test]
fn a_write_too_large_to_record_is_irreversible() {
    let settings = EngineSettings {
        limits: EngineLimits {
            memory_bytes: 8 << 20,
            ..EngineLimits::default()
        },
        ..recording()
    };
    let mut engine = engine_with(settings, "CREATE TABLE t(a)");
    for _ in 0..2 {
        exec(&mut engine, "INSERT INTO t VALUES(randomblob(900000))").unwrap();
    }
    refused(
        exec(&mut engine, "DROP TABLE t"),
        Status::InvalidState,
        "could not be undone later",
    );
    let output = exec(&mut engine, "DROP TABLE t").unwrap();
    assert!(
        output.notes[0].contains("1048576 bytes kept for one write"),
        "{output:?}"
    );
    refused(
        undo(&mut engine),
        Status::InvalidState,
        "can never be undone",
    );
}

#[test]
fn an_irreversible_write_runs_when_it_is_sent_again() {
    let mut engine = engine_with(
        recording(),
        "CREATE TABLE t(a TEXT PRIMARY KEY, b); CREATE VIRTUAL TABLE f USING fts5(x)",
    );
    let null = |engine: &mut Engine, b: &str| {
        let params = Params::from_json(&json!([b])).unwrap();
        let database = engine.database(None).unwrap();
        database.exec("INSERT INTO t VALUES(NULL, ?)", &params)
    };
    refused(
        null(&mut engine, "x"),
        Status::InvalidState,
        "Send the same call again",
    );
    assert_eq!(number(&mut engine, "SELECT count(*) FROM t"), 0);
    assert_eq!(past(&mut engine).len(), 1);
    // Other values are another write.
    refused(
        null(&mut engine, "y"),
        Status::InvalidState,
        "could not be undone later",
    );
    null(&mut engine, "y").unwrap();
    exec(&mut engine, "DELETE FROM t").unwrap_err();
    exec(&mut engine, "DELETE FROM t").unwrap();
    // Each time again.
    let sql = "INSERT INTO t VALUES('z', 1); DROP TABLE f; CREATE VIRTUAL TABLE f USING fts5(x)";
    for _ in 0..2 {
        let failure = refused(
            batch(&mut engine, sql),
            Status::InvalidState,
            "the virtual table f",
        );
        assert!(
            failure.message.starts_with("This write was rolled back"),
            "{failure}"
        );
        assert_eq!(
            number(&mut engine, "SELECT count(*) FROM t WHERE a = 'z'"),
            0
        );
        batch(&mut engine, sql).unwrap();
        exec(&mut engine, "DELETE FROM t").unwrap();
    }
}

#[test]
fn what_is_not_recorded_is_not_asked_about() {
    let mut engine = engine("CREATE VIRTUAL TABLE f USING fts5(x)");
    exec(&mut engine, "DROP TABLE f").unwrap();
}

#[test]
fn what_comes_from_a_file_is_asked_about_before_it_runs() {
    let mut engine = engine_with(recording(), "CREATE TABLE t(a)");
    let mut ran = 0;
    let mut import = |engine: &mut Engine| {
        let mut output = Output::default();
        let database = engine.database(None)?;
        database.change("import t.csv into t", &mut output, |work| {
            ran += 1;
            let sql = "INSERT INTO t VALUES(1)";
            let inserted = work.write(sql)?.raw_execute();
            inserted.map_err(|error| work.failure(&error, sql))
        })?;
        Ok((output, ran))
    };
    let failure = import(&mut engine).map(|(output, _)| output);
    refused(failure, Status::InvalidState, "rows that come from a file");
    let (output, ran) = import(&mut engine).unwrap();
    assert_eq!(ran, 1);
    assert!(
        output.notes[0].contains("This write cannot be undone"),
        "{output:?}"
    );
    refused(
        undo(&mut engine),
        Status::InvalidState,
        "can never be undone",
    );
}
