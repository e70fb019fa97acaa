//! `integrity-check`: whether the file, its indexes, constraints and references hold together.

use rusqlite::Connection;

use crate::answer::failure::{Failure, Status};
use crate::answer::output::Output;
use crate::answer::value::Value;
use crate::command::interface::argument::{Shape, option, positional};
use crate::command::interface::arguments::Arguments;
use crate::command::interface::command::{Command, Effect, Group};
use crate::command::interface::context::Context;
use crate::engine::schema::catalogue::{Relation, is_stop, quote, relations, rows, text};
use crate::engine::schema::resolve::find;
use crate::engine::schema::soundness::Soundness;
use crate::text::count::count;

/// `integrity-check` in the command table.
pub(crate) const COMMAND: Command = Command {
    name: "integrity-check",
    title: "Check integrity",
    group: Group::Maintenance,
    summary: "Check the file, its indexes, constraints and foreign keys",
    description: "Check pages, indexes, constraints and foreign keys. Answers ok, or the first \
                  100 problems. Reads the whole database.",
    arguments: &[
        positional("table", Shape::Text, "Only this table."),
        option("quick", Shape::Flag, "Do not compare indexes with tables."),
    ],
    database: true,
    effect: Effect::Reads,
    core: false,
    run,
};

/// Problems that are listed. SQLite itself stops its check after as many.
const MOST: usize = 100;

/// Runs `integrity-check`.
pub(crate) fn run(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let pragma = if arguments.flag("quick") {
        "quick_check"
    } else {
        "integrity_check"
    };
    let name = arguments.text("table").map(str::to_owned);
    let database = context.engine.database(arguments.db())?;
    let table = database.inspect(|connection| {
        let table = match name.as_deref().map(|name| find(connection, name)) {
            None => None,
            Some(found) => match found? {
                Ok(table) if table.kind == "view" => return Ok(Err(a_view(&table))),
                Ok(table) => Some(table),
                Err(failure) => return Ok(Err(failure)),
            },
        };
        Ok(Ok(table))
    })??;
    let sound = database.check_soundness(table.as_ref(), pragma, MOST);
    let sound = sound.map_err(|failure| match failure.status {
        // What other commands say leads here.
        Status::Corrupt => failure.hint(
            "It cannot be checked further. Use an older backup; single tables may still be read with \
             sqlarium_query.",
        ),
        _ => failure,
    })?;
    database.inspect(|connection| answer(connection, table.as_ref(), pragma, sound))
}

fn a_view(table: &Relation) -> Failure {
    Failure::new(
        Status::Unsupported,
        format!(
            "{} is a view, which stores no rows to check.",
            table.shown()
        ),
    )
    .hint("Check the tables that it reads, or leave table out to check everything.")
}

/// What was found.
#[derive(Default)]
struct Findings {
    listed: Vec<Vec<Value>>,
    structure: usize,
    references: u64,
    more: bool,
    /// What was not looked at, as sentences.
    unchecked: Vec<String>,
}

impl Findings {
    fn add(&mut self, check: &str, table: Option<&str>, rowid: Value, problem: String) {
        if self.listed.len() < MOST {
            self.listed.push(vec![
                Value::Text(check.into()),
                table.map_or(Value::Null, |table| Value::Text(table.into())),
                rowid,
                Value::Text(problem),
            ]);
        } else {
            self.more = true;
        }
    }
}

/// Adds what SQLite's check does not look at, and tells all of it.
fn answer(
    connection: &Connection,
    table: Option<&Relation>,
    pragma: &str,
    sound: Soundness,
) -> rusqlite::Result<Output> {
    let mut found = Findings {
        more: sound.more,
        unchecked: sound.unchecked,
        ..Findings::default()
    };
    let problems = sound.damage.into_iter().chain(sound.free);
    for problem in problems.chain(sound.others) {
        found.structure += 1;
        found.add(pragma, None, Value::Null, problem);
    }
    let mut tables = 0;
    for one in relations(connection)? {
        let wanted = table.is_none_or(|table| *table == one);
        if wanted && one.kind == "table" && !one.is_internal() {
            tables += 1;
            references(connection, &one, &mut found)?;
        }
    }
    Ok(report(found, table, pragma, tables))
}

/// Rows of one table that refer to nothing.
fn references(
    connection: &Connection,
    table: &Relation,
    found: &mut Findings,
) -> rusqlite::Result<()> {
    const CHECK: &str = "foreign_key_check";
    let sql = format!(
        "PRAGMA {}.{CHECK}({})",
        quote(&table.schema),
        quote(&table.name)
    );
    let mut columns: Option<(i64, String)> = None;
    let result = connection.prepare(&sql).and_then(|mut statement| {
        let mut cursor = statement.query([])?;
        while let Some(row) = cursor.next()? {
            found.references += 1;
            if found.listed.len() >= MOST {
                found.more = true;
                continue;
            }
            let (rowid, parent) = (Value::from_sqlite(row.get_ref(1)?), text(row, 2)?);
            let key: i64 = row.get(3)?;
            let known = columns.as_ref().is_some_and(|(number, _)| *number == key);
            if !known {
                columns = Some((key, key_columns(connection, table, key)?));
            }
            let from = columns.as_ref().map_or("", |(_, names)| names.as_str());
            let problem = format!("({from}) has no matching row in {parent}");
            found.add(CHECK, Some(&table.shown()), rowid, problem);
        }
        Ok(())
    });
    match result {
        Err(error) if is_stop(&error) => Err(error),
        // Such as a foreign key to columns that are not unique.
        Err(error) => {
            found.references += 1;
            found.add(CHECK, Some(&table.shown()), Value::Null, error.to_string());
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

fn key_columns(connection: &Connection, table: &Relation, key: i64) -> rusqlite::Result<String> {
    connection.query_row(
        "SELECT group_concat(\"from\", ', ') FROM pragma_foreign_key_list(?1, ?2) WHERE id = ?3",
        (&table.name, &table.schema, key),
        |row| text(row, 0),
    )
}

fn report(found: Findings, table: Option<&Relation>, pragma: &str, tables: usize) -> Output {
    let what = table.map_or_else(
        || match tables {
            1 => "1 table".to_owned(),
            many => format!("{many} tables"),
        },
        Relation::shown,
    );
    let mut output = Output::default();
    let problems = found.structure as u64 + found.references;
    let result = if problems == 0 { "ok" } else { "problems" };
    output.extra.insert("result".into(), result.into());
    output.extra.insert("problems".into(), problems.into());
    output
        .extra
        .insert("foreign_key_problems".into(), found.references.into());
    if !found.unchecked.is_empty() {
        let unchecked = found.unchecked.clone();
        output.extra.insert("unchecked".into(), unchecked.into());
    }
    if problems == 0 {
        output.text = Some("ok\n".into());
        output.notes.push(format!(
            "Checked: {pragma} and foreign_key_check of {what}."
        ));
    } else {
        let columns = [
            ("check", "TEXT"),
            ("table", "TEXT"),
            ("rowid", "INTEGER"),
            ("problem", "TEXT"),
        ];
        output.notes.push(format!(
            "{}: {} of {pragma}, {} of foreign_key_check.",
            count(problems, "problem"),
            found.structure,
            found.references
        ));
        if found.more {
            output.notes.push(format!(
                "Only {MOST} are listed, and {pragma} stops there: there may be more."
            ));
        }
        output.rows = Some(rows(&columns, found.listed, u32::MAX));
    }
    output.notes.extend(found.unchecked);
    if pragma == "quick_check" {
        output
            .notes
            .push("quick_check does not compare indexes with their tables.".into());
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(sql: &str, table: Option<&str>, quick: bool) -> Output {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch(&format!("PRAGMA foreign_keys=OFF; {sql}"))
            .unwrap();
        look(&connection, table, quick)
    }

    fn look(connection: &Connection, table: Option<&str>, quick: bool) -> Output {
        let table = table.map(|name| find(connection, name).unwrap().unwrap());
        let pragma = if quick {
            "quick_check"
        } else {
            "integrity_check"
        };
        let sound =
            crate::engine::schema::soundness::check(connection, table.as_ref(), pragma, MOST)
                .unwrap();
        answer(connection, table.as_ref(), pragma, sound).unwrap()
    }

    fn problems(output: &Output) -> Vec<String> {
        let rows = output.rows.as_ref().map(|rows| rows.rows.as_slice());
        rows.unwrap_or_default()
            .iter()
            .map(|row| {
                let cells = row
                    .iter()
                    .map(|value| crate::render::cell::shown(value, 999));
                cells.collect::<Vec<_>>().join("|")
            })
            .collect()
    }

    const FAMILY: &str = "
        CREATE TABLE p(id INTEGER PRIMARY KEY);
        CREATE TABLE c(x, p REFERENCES p, q, FOREIGN KEY(q, x) REFERENCES nowhere(a, b));
        CREATE TABLE lone(a CHECK(a > 0), b NOT NULL);
        CREATE VIRTUAL TABLE f USING fts5(t); CREATE VIRTUAL TABLE old USING fts4(t);
        CREATE VIRTUAL TABLE r USING rtree(id, a, b);
        INSERT INTO f VALUES('a red fox'); INSERT INTO r VALUES(1, 0, 5);";

    #[test]
    fn a_sound_database_is_ok() {
        for quick in [false, true] {
            let output = checked(FAMILY, None, quick);
            assert_eq!(output.text.as_deref(), Some("ok\n"), "{output:?}");
            assert_eq!(output.extra["result"], "ok");
            assert!(output.rows.is_none());
            assert_eq!(output.notes.len(), if quick { 2 } else { 1 });
            assert!(output.notes[0].ends_with("of 3 tables."), "{output:?}");
        }
    }

    #[test]
    fn a_file_that_may_only_be_read_is_checked_all_the_same() {
        use crate::command::tests::{File, context, json_of};
        let file = File::new(FAMILY);
        let mut context = context(crate::settings::EngineSettings {
            readonly: true,
            ..file.settings()
        });
        let before = std::fs::read(file.path()).unwrap();
        let object = json_of(&mut context, "integrity-check", serde_json::json!({}));
        assert_eq!(object["result"], "ok", "{object}");
        assert_eq!(std::fs::read(file.path()).unwrap(), before);
    }

    #[test]
    fn rows_that_refer_to_nothing_are_named_with_their_columns() {
        let output = checked(
            &format!("{FAMILY} INSERT INTO c VALUES(1, 7, NULL), (2, NULL, 3);"),
            None,
            false,
        );
        assert_eq!(
            problems(&output),
            [
                "foreign_key_check|c|1|(p) has no matching row in p",
                "foreign_key_check|c|2|(q, x) has no matching row in nowhere",
            ]
        );
        assert_eq!(output.extra["foreign_key_problems"], 2);
        assert!(output.text.is_none());
    }

    #[test]
    fn a_reference_that_can_never_hold_is_a_problem_and_no_failure() {
        let output = checked(
            "CREATE TABLE p(a); CREATE TABLE c(x REFERENCES p(a)); INSERT INTO c VALUES(1);",
            None,
            false,
        );
        assert!(
            problems(&output)[0].contains("foreign key mismatch"),
            "{output:?}"
        );
    }

    #[test]
    fn a_broken_constraint_is_found_and_one_table_can_be_looked_at_alone() {
        let sql = format!(
            "{FAMILY} PRAGMA ignore_check_constraints=ON; INSERT INTO lone VALUES(-1, 1);
             PRAGMA ignore_check_constraints=OFF;
             INSERT INTO c VALUES(1, 7, NULL);"
        );
        assert_eq!(problems(&checked(&sql, None, false)).len(), 2);
        let lone = problems(&checked(&sql, Some("lone"), false));
        assert_eq!(lone.len(), 1);
        assert!(lone[0].contains("CHECK constraint failed"), "{lone:?}");
        assert_eq!(problems(&checked(&sql, Some("p"), false)).len(), 0);
    }

    #[test]
    fn an_index_that_disagrees_with_its_table_is_found_but_not_in_a_hurry() {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch(
                "CREATE TABLE t(a); CREATE INDEX i ON t(a); CREATE TABLE u(a);
                 INSERT INTO t VALUES(1), (2); INSERT INTO u VALUES(1);
                 PRAGMA writable_schema=ON;
                 UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'u')
                 WHERE name = 't';
                 PRAGMA writable_schema=RESET;",
            )
            .unwrap();
        let output = look(&connection, None, false);
        assert!(
            problems(&output)
                .iter()
                .any(|problem| problem.contains("wrong # of entries in index i")),
            "{output:?}"
        );
    }

    #[test]
    fn many_problems_are_counted_and_the_first_are_listed() {
        let output = checked(
            "CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE c(p REFERENCES p);
             WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i<500)
             INSERT INTO c SELECT i FROM n;",
            None,
            true,
        );
        assert_eq!(problems(&output).len(), MOST);
        assert_eq!(output.extra["problems"], 500);
        assert!(
            output.notes[1].contains("Only 100 are listed"),
            "{output:?}"
        );
    }

    #[test]
    fn a_full_text_index_out_of_step_is_found_whatever_keeps_its_text() {
        use crate::command::tests::{File, context, json_of};
        const INDEXES: [(&str, &str, &str); 3] = [
            (
                "CREATE TABLE d(a); INSERT INTO d VALUES('fox'); CREATE VIRTUAL TABLE f USING fts5(a, content='d');
                 INSERT INTO f(f) VALUES('rebuild'); UPDATE d SET a = 'dog'",
                "full-text index f is out of step with d",
                "INSERT INTO f(f) VALUES('rebuild')",
            ),
            (
                "CREATE VIRTUAL TABLE f USING fts5(a); INSERT INTO f VALUES('fox'); UPDATE f_content SET c0 = 'dog'",
                "checksum mismatch for table \\\"f\\\"",
                "INSERT INTO f(f) VALUES('rebuild')",
            ),
            (
                "CREATE TABLE d(a); INSERT INTO d VALUES('fox'); CREATE VIRTUAL TABLE f USING fts4(a, content='d');
                 INSERT INTO f(f) VALUES('rebuild'); UPDATE d SET a = 'dog'",
                "malformed inverted index for FTS4 table main.f",
                "INSERT INTO f(f) VALUES('rebuild')",
            ),
        ];
        for (sql, finding, cure) in INDEXES {
            let file = File::new(sql);
            let mut context = context(file.settings());
            let object = json_of(&mut context, "integrity-check", serde_json::json!({}));
            assert_eq!(object["result"], "problems", "{sql}: {object}");
            assert!(object["rows"].to_string().contains(finding), "{object}");
            json_of(&mut context, "exec", serde_json::json!({"sql": cure}));
            let object = json_of(&mut context, "integrity-check", serde_json::json!({}));
            assert_eq!(object["result"], "ok", "{sql}: {object}");
        }
    }
}
