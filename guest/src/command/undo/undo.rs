//! `history` and `undo`: what the session has written and was refused, and taking a write back.

use serde_json::json;

use crate::answer::failure::Failure;
use crate::answer::output::Output;
use crate::answer::value::Value;
use crate::command::interface::argument::{LIMIT, Shape, positional};
use crate::command::interface::arguments::Arguments;
use crate::command::interface::command::{Command, Effect, Group, WRITES};
use crate::command::interface::context::Context;
use crate::command::interface::session_log::{ENTRIES, Logged};
use crate::engine::database::Past;
use crate::engine::schema::catalogue::rows;
use crate::engine::undo::history::Entry;

/// `history` in the command table.
pub(crate) const HISTORY: Command = Command {
    name: "history",
    title: "History",
    group: Group::Undo,
    summary: "List the writes and refusals of this session",
    description: "List the writes of this session and the calls that were refused, latest first: \
                  number, time, command, changes, and what became of it.",
    arguments: &[LIMIT],
    database: true,
    effect: Effect::Reads,
    core: true,
    run: history,
};

/// `undo` in the command table.
pub(crate) const UNDO: Command = Command {
    name: "undo",
    title: "Undo",
    group: Group::Undo,
    summary: "Undo a write of this session",
    description: "Undo a write of this session, rows and schema. Refused, with nothing changed, if \
                  later changes conflict. Call it again to undo the write before.",
    arguments: &[positional(
        "write",
        Shape::Integer {
            min: 1,
            max: i64::MAX,
        },
        "Its number, which its answer tells; the last one that was not undone if left \
         out.",
    )],
    database: true,
    effect: WRITES,
    core: true,
    run: undo,
};

/// Runs `history`.
fn history(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let limits = &context.settings.output;
    let most = arguments
        .integer("limit")
        .map_or(limits.rows, |limit| {
            u32::try_from(limit).unwrap_or(u32::MAX)
        })
        .min(limits.max_rows);
    let undo = context.settings.engine.undo.is_some();
    let database = context.engine.database(arguments.db())?;
    // A command of a person has no session: then this says so.
    let past = match undo || context.audience.is_person() {
        true => database.past(most)?,
        false => Past::default(),
    };
    let mut others = Vec::new();
    if past.since {
        others.push("since the last write".to_owned());
    }
    let apart = past.entries.iter().filter(|entry| entry.apart);
    others.extend(apart.map(|entry| format!("before write {}", entry.number)));
    let dropped = past.dropped;
    let engine = &context.engine;
    let wanted = arguments.db().filter(|db| !engine.serves(Some(db)));
    let about = |entry: &&Logged| match wanted {
        Some(db) => entry.db == db,
        None => entry.db.is_empty() || engine.serves(Some(&entry.db)),
    };
    let mut logged = context.log.latest().filter(about).peekable();
    let mut listed = Vec::new();
    for entry in past.entries {
        let later = |refusal: &&Logged| refusal.after >= entry.number;
        while let Some(refusal) = logged.next_if(later) {
            listed.push(of_log(refusal));
        }
        listed.push(of_record(entry));
    }
    listed.extend(logged.map(of_log));
    let more = listed.len() > most as usize;
    listed.truncate(most as usize);
    let columns = [
        ("number", "INTEGER"),
        ("time", "TEXT"),
        ("command", "TEXT"),
        ("changes", "TEXT"),
        ("state", "TEXT"),
        ("sql", "TEXT"),
    ];
    let mut listed = rows(&columns, listed, most);
    listed.more |= more;
    let mut output = Output {
        rows: Some(listed),
        ..Output::default()
    };
    if !others.is_empty() {
        output.notes.push(format!(
            "Another connection has written to the database: {}.",
            others.join(", ")
        ));
    }
    if !undo {
        output.notes.push(format!(
            "Nothing is kept for undo; the last {ENTRIES} writes and refusals are remembered."
        ));
    }
    output.extra.insert("dropped".into(), json!(dropped));
    if dropped > 0 {
        output.notes.push(format!(
            "The {dropped} oldest writes were dropped from the record, because it was full."
        ));
    }
    Ok(output)
}

/// A row of the list, for a write that undo has recorded.
fn of_record(entry: Entry) -> Vec<Value> {
    let state = match &entry.irreversible {
        Some(why) => format!("cannot be undone: {why}"),
        None if entry.undone => "undone".to_owned(),
        None => "done".to_owned(),
    };
    vec![
        Value::Integer(entry.number),
        Value::Text(entry.at),
        Value::Text(entry.command),
        Value::Text(entry.summary),
        Value::Text(state),
        Value::Text(entry.sql),
    ]
}

/// The same for what the session remembers.
fn of_log(entry: &Logged) -> Vec<Value> {
    let state = match &entry.refused {
        Some(why) => format!("refused, {why}"),
        None => "done".to_owned(),
    };
    let text = |text: &str| Value::Text(text.to_owned());
    vec![
        Value::Null,
        text(&entry.at),
        text(&entry.command),
        text(&entry.changes),
        Value::Text(state),
        text(&entry.given),
    ]
}

/// Runs `undo`.
fn undo(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let write = arguments.integer("write");
    context.engine.database(arguments.db())?.undo(write)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::command::tests::{context, json_of, text};
    use crate::settings::{EngineSettings, Undo};

    fn recording(sql: &str) -> Context {
        let mut context = context(EngineSettings {
            undo: Some(Undo {
                file: ":memory:".into(),
                bytes: 64 << 20,
                required: false,
            }),
            ..EngineSettings::default()
        });
        text(&mut context, "batch", json!({ "sql": sql }));
        context
    }

    fn lines(context: &mut Context, input: &str) -> String {
        text(context, "run", json!({ "input": input }))
    }

    fn revert(context: &mut Context) -> String {
        text(context, "undo", json!({}))
    }

    /// What each write changed, the first one first, without the first batch.
    fn written(context: &mut Context) -> Vec<(String, String)> {
        let object = json_of(context, "history", json!({}));
        let word = |cell: &Value| cell.as_str().unwrap_or_default().to_owned();
        let rows = object["rows"].as_array().unwrap();
        let told = rows.iter().rev().skip(1);
        told.map(|row| (word(&row[3]), word(&row[4]))).collect()
    }

    fn letters(context: &mut Context) -> String {
        let sql = "SELECT coalesce(group_concat(a, ''), '') FROM t";
        let object = json_of(context, "query", json!({ "sql": sql }));
        object["rows"][0][0].as_str().unwrap().to_owned()
    }

    #[test]
    fn each_statement_of_a_shell_is_a_write_of_its_own() {
        let mut context = recording("CREATE TABLE t(a); CREATE TABLE other(b)");
        text(
            &mut context,
            "exec",
            json!({"sql": "INSERT INTO t VALUES('1')"}),
        );
        lines(
            &mut context,
            "INSERT INTO t VALUES('2');\nSELECT * FROM t;\nPRAGMA user_version = 3;\nDROP TABLE other; INSERT INTO t VALUES('3') RETURNING a;",
        );
        assert_eq!(letters(&mut context), "123");
        let done = "done".to_owned();
        assert_eq!(
            written(&mut context),
            [
                ("t: 1 row inserted".to_owned(), done.clone()),
                ("t: 1 row inserted".to_owned(), done.clone()),
                ("PRAGMA: no rows".to_owned(), done.clone()),
                ("table other dropped".to_owned(), done.clone()),
                ("t: 1 row inserted".to_owned(), done),
            ]
        );
        for left in ["12", "12", "12", "1", ""] {
            revert(&mut context);
            assert_eq!(letters(&mut context), left);
        }
    }

    #[test]
    fn a_transaction_of_a_shell_is_one_write() {
        for (input, told, left) in [
            ("BEGIN; INSERT INTO t VALUES('1'); DELETE FROM t; CREATE TABLE u(b); COMMIT;", "table u created", ""),
            ("SAVEPOINT s; INSERT INTO t VALUES('1'); RELEASE s;", "t: 1 row inserted", "01"),
            (
                "BEGIN; INSERT INTO t VALUES('1'); SAVEPOINT s; INSERT INTO t VALUES('2'); SAVEPOINT r; DROP TABLE t;
                 ROLLBACK TO S; INSERT INTO t VALUES('3'); RELEASE s; END;",
                "t: 2 rows inserted",
                "013",
            ),
            ("BEGIN; INSERT INTO t VALUES('1');\nINSERT INTO t VALUES('0');\nCOMMIT;", "t: 1 row inserted", "01"),
            ("INSERT OR FAIL INTO t VALUES('1'), ('0'), ('2');", "t: 1 row inserted", "01"),
        ] {
            let mut context = recording("CREATE TABLE t(a UNIQUE); INSERT INTO t VALUES('0')");
            lines(&mut context, input);
            assert_eq!(letters(&mut context), left, "{input}");
            let all = written(&mut context);
            assert_eq!(all.len(), 1, "{input}: {all:?}");
            assert!(all[0].0.contains(told), "{input}: {all:?}");
            revert(&mut context);
            assert_eq!(letters(&mut context), "0", "{input}");
        }
    }

    #[test]
    fn what_a_shell_rolls_back_is_no_write() {
        for input in [
            "BEGIN; INSERT INTO t VALUES('1'); ROLLBACK;",
            "BEGIN; INSERT INTO t VALUES('1');",
            "SAVEPOINT s; INSERT INTO t VALUES('1'); ROLLBACK TO s; RELEASE s;",
            "BEGIN; INSERT INTO t VALUES('1'); INSERT OR ROLLBACK INTO t VALUES('0');",
            "INSERT INTO t VALUES('1'), ('0');",
            "EXPLAIN INSERT INTO t VALUES('1');",
            "CREATE TEMP TABLE x(a); INSERT INTO x VALUES(1); DROP TABLE x;",
        ] {
            let mut context = recording("CREATE TABLE t(a UNIQUE); INSERT INTO t VALUES('0')");
            lines(&mut context, input);
            assert_eq!(letters(&mut context), "0", "{input}");
            assert_eq!(written(&mut context), [], "{input}");
        }
    }

    #[test]
    fn a_commit_that_fails_leaves_the_transaction_to_be_put_right() {
        let mut context = recording(
            "CREATE TABLE t(a PRIMARY KEY); CREATE TABLE c(a REFERENCES t DEFERRABLE INITIALLY DEFERRED)",
        );
        let told = lines(
            &mut context,
            "BEGIN;\nINSERT INTO c VALUES('1');\nCOMMIT;\nINSERT INTO t VALUES('1');\nCOMMIT;\nINSERT INTO c VALUES('2');",
        );
        assert_eq!(told.matches("FOREIGN KEY").count(), 2, "{told}");
        assert_eq!(
            written(&mut context),
            [(
                "c: 1 row inserted; t: 1 row inserted".to_owned(),
                "done".to_owned()
            )]
        );
    }

    #[test]
    fn virtual_tables_are_filled_and_emptied_in_a_shell() {
        let mut context = recording("CREATE TABLE t(a); INSERT INTO t VALUES('0')");
        for input in [
            "CREATE VIRTUAL TABLE r USING rtree(id, x0, x1);\nINSERT INTO r VALUES(1, 0, 1);\nDELETE FROM t;",
            "BEGIN;\nCREATE VIRTUAL TABLE f USING fts5(x);\nINSERT INTO f VALUES('a fox');\nDELETE FROM f;\nDELETE FROM t;\nCOMMIT;",
        ] {
            let told = lines(&mut context, input);
            assert!(told.starts_with("Recorded as write"), "{input}: {told}");
            for _ in written(&mut context)
                .iter()
                .filter(|(_, state)| state == "done")
            {
                revert(&mut context);
            }
            assert_eq!(letters(&mut context), "0");
        }
        let schema = json_of(
            &mut context,
            "query",
            json!({"sql": "SELECT name FROM sqlite_schema"}),
        );
        assert_eq!(schema["rows"], json!([["t"]]));
    }

    #[test]
    fn statistics_that_are_gathered_are_a_write() {
        let mut context = recording("CREATE TABLE t(a); INSERT INTO t VALUES('1')");
        text(&mut context, "analyze", json!({}));
        assert_eq!(written(&mut context).len(), 1);
        revert(&mut context);
        assert_eq!(letters(&mut context), "1");
    }
}
