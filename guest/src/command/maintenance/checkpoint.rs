//! `checkpoint`: moves the write-ahead log into the database file.
//!
//! What the modes do, and the three numbers that come back:
//! <https://www.sqlite.org/pragma.html#pragma_wal_checkpoint>.

use crate::answer::failure::{Failure, Status};
use crate::answer::output::Output;
use crate::answer::value::Value;
use crate::command::interface::argument::{Shape, option};
use crate::command::interface::arguments::Arguments;
use crate::command::interface::command::{Command, Effect, Group};
use crate::command::interface::context::Context;
use crate::engine::database::Database;
use crate::engine::schema::catalogue::{rows, text};
use crate::engine::statement::params::Params;

/// `checkpoint` in the command table.
pub(crate) const COMMAND: Command = Command {
    name: "checkpoint",
    title: "Checkpoint",
    group: Group::Maintenance,
    summary: "Move the write-ahead log into the database file",
    description: "Move the write-ahead log (WAL) into the database file and empty it. Reports how \
                  many pages moved, and whether another connection blocked it.",
    arguments: &[option(
        "mode",
        Shape::Choice(&MODES),
        "Default truncate; passive does not wait.",
    )],
    database: true,
    effect: Effect::Writes {
        destructive: false,
        idempotent: true,
    },
    core: false,
    run,
};

/// The modes of SQLite, the default first: what people expect of a checkpoint is that afterwards
/// the file is whole and the log is gone, which only this one promises.
pub(crate) const MODES: [&str; 4] = ["truncate", "passive", "full", "restart"];

/// Runs `checkpoint`.
pub(crate) fn run(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let mode = arguments.text("mode").unwrap_or(MODES[0]);
    let database = context.engine.database(arguments.db())?;
    let journal = database.inspect(|connection| {
        connection.query_row("PRAGMA main.journal_mode", [], |row| text(row, 0))
    })?;
    if journal != "wal" {
        return Ok(no_log(database.title(), &journal));
    }
    // Once the log is truncated SQLite no longer knows how long it was.
    let before = match mode {
        "truncate" => Some(checkpoint(database, "passive")?),
        _ => None,
    };
    let mut done = checkpoint(database, mode)?;
    if let (Some(before), false) = (before, done.busy) {
        done.log = before.log;
        done.checkpointed = before.log;
    }
    Ok(report(mode, done))
}

/// What SQLite says of one checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CheckpointResult {
    /// Whether another connection kept it from its end.
    busy: bool,
    /// Frames in the log, each one page.
    log: i64,
    /// How many of them are in the database file now.
    checkpointed: i64,
}

fn checkpoint(database: &mut Database, mode: &str) -> Result<CheckpointResult, Failure> {
    let output = database.exec(
        &format!("PRAGMA main.wal_checkpoint({mode})"),
        &Params::None,
    )?;
    let row = output.rows.and_then(|rows| rows.rows.into_iter().next());
    match row.as_deref() {
        Some(
            [
                Value::Integer(busy),
                Value::Integer(log),
                Value::Integer(checkpointed),
            ],
        ) => Ok(CheckpointResult {
            busy: *busy != 0,
            log: *log,
            checkpointed: *checkpointed,
        }),
        _ => Err(Failure::new(
            Status::Internal,
            "SQLite did not report the result of the checkpoint.",
        )),
    }
}

fn no_log(title: &str, journal: &str) -> Output {
    let mut output = Output {
        text: Some(format!(
            "{title} has no write-ahead log to checkpoint: its journal mode is {journal}, and \
             every commit goes into the database itself.\n"
        )),
        ..Output::default()
    };
    output.extra.insert("journal_mode".into(), journal.into());
    output
}

fn report(mode: &str, done: CheckpointResult) -> Output {
    let CheckpointResult {
        busy,
        log,
        checkpointed,
    } = done;
    let columns = [
        ("mode", "TEXT"),
        ("busy", "INTEGER"),
        ("log", "INTEGER"),
        ("checkpointed", "INTEGER"),
    ];
    let row = vec![
        Value::Text(mode.into()),
        Value::Integer(busy.into()),
        Value::Integer(log),
        Value::Integer(checkpointed),
    ];
    let mut said = if busy {
        format!(
            "Busy: another connection is reading or writing, so only {} of {} frames are known to be in \
             the database file; try again when it has finished.",
            checkpointed.max(0),
            log.max(0)
        )
    } else if checkpointed < log {
        format!(
            "{checkpointed} of {log} frames are in the database file; readers still need the \
             others. This mode does not wait for them."
        )
    } else {
        format!("All {log} frames of the log are in the database file.")
    };
    if mode == "truncate" && !busy {
        said.push_str(" The log is empty.");
    }
    let mut output = Output {
        rows: Some(rows(&columns, vec![row], u32::MAX)),
        notes: vec![said],
        ..Output::default()
    };
    output.extra.insert("journal_mode".into(), "wal".into());
    output
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::command::tests::{File, context, failure, json_of, text};
    use crate::settings::EngineSettings;

    const LOGGED: &str = "PRAGMA journal_mode=wal; PRAGMA wal_autocheckpoint=0;
        CREATE TABLE t(x); INSERT INTO t VALUES(1);";

    #[test]
    fn the_log_goes_into_the_file_and_is_counted_before_it_is_gone() {
        let file = File::new("");
        let writer = rusqlite::Connection::open(file.path()).unwrap();
        writer.execute_batch(LOGGED).unwrap();
        let log = file.path().with_extension("db-wal");
        assert!(std::fs::metadata(&log).unwrap().len() > 0);
        let mut context = context(file.settings());
        let object = json_of(&mut context, "checkpoint", json!({}));
        let row = &object["rows"][0];
        assert_eq!(row[0], "truncate");
        assert_eq!(row[1], 0);
        assert!(row[2].as_i64().unwrap() >= 2, "{row}");
        assert_eq!(row[2], row[3]);
        assert_eq!(std::fs::metadata(&log).unwrap().len(), 0);
        let object = json_of(&mut context, "checkpoint", json!({"mode": "passive"}));
        assert_eq!(object["rows"], json!([["passive", 0, 0, 0]]));
    }

    #[test]
    fn a_blocking_reader_is_reported() {
        let file = File::new("");
        let writer = rusqlite::Connection::open(file.path()).unwrap();
        writer.execute_batch(LOGGED).unwrap();
        let reader = rusqlite::Connection::open(file.path()).unwrap();
        reader.execute_batch("BEGIN; SELECT * FROM t;").unwrap();
        writer.execute_batch("INSERT INTO t VALUES(2)").unwrap();
        let mut settings = file.settings();
        settings.limits.busy_ms = 20;
        let mut context = context(settings);
        let object = json_of(&mut context, "checkpoint", json!({}));
        assert_eq!(object["rows"][0][1], 1);
        assert!(object["notes"][0].as_str().unwrap().starts_with("Busy: "));
        let object = json_of(&mut context, "checkpoint", json!({"mode": "passive"}));
        let row = &object["rows"][0];
        assert!(row[3].as_i64() < row[2].as_i64(), "{row}");
        assert_eq!(row[1], 0);
        assert!(
            object["notes"][0]
                .as_str()
                .unwrap()
                .contains("does not wait for them")
        );
    }

    #[test]
    fn a_database_without_a_log_gets_a_sentence() {
        let file = File::new("CREATE TABLE t(x)");
        let mut context = context(file.settings());
        assert!(text(&mut context, "checkpoint", json!({})).contains("its journal mode is delete"));
        assert_eq!(
            json_of(&mut context, "checkpoint", json!({}))["journal_mode"],
            "delete"
        );
    }

    #[test]
    fn a_database_that_is_only_read_is_not_checkpointed() {
        let file = File::new("");
        let writer = rusqlite::Connection::open(file.path()).unwrap();
        writer.execute_batch(LOGGED).unwrap();
        let mut context = context(EngineSettings {
            readonly: true,
            ..file.settings()
        });
        let (status, sentence) = failure(&mut context, "checkpoint", json!({}));
        assert_eq!(status, Status::Readonly);
        assert!(sentence.contains("--readonly"), "{sentence}");
    }
}
