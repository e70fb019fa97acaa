//! `tables`, and `list_tables` of `--tools select`.

use rusqlite::Connection;

use super::annotate::{beside, unmatched};
use crate::answer::failure::Failure;
use crate::answer::output::Output;
use crate::answer::value::Value;
use crate::command::interface::argument::PATTERN;
use crate::command::interface::arguments::Arguments;
use crate::command::interface::command::{Command, Effect, Group};
use crate::command::interface::context::Context;
use crate::engine::schema::catalogue::{Count, Counter, Relation, is_stop, relations, rows};
use crate::engine::schema::columns::columns;
use crate::engine::schema::foreign;
use crate::engine::schema::pattern::Pattern;
use crate::text::suggest::{alternatives, closest};

/// `tables` in the command table.
pub(crate) const COMMAND: Command = Command {
    name: "tables",
    title: "Tables",
    group: Group::Schema,
    summary: "List tables and views with their row counts",
    description: "List tables and views: kind, number of columns and rows (≥ where counting would \
                  take long; none for views). Shadow tables of FTS and R-Tree are not listed.",
    arguments: &[PATTERN],
    database: true,
    effect: Effect::Reads,
    core: true,
    run: tables,
};

/// Runs `tables`.
pub(crate) fn tables(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let most = context.settings.output.max_rows;
    let pattern = arguments.text("pattern").map(str::to_owned);
    let notes = context.engine.notes(arguments.db());
    context
        .engine
        .database(arguments.db())?
        .inspect(|connection| {
            let mut output = list(
                connection,
                pattern.as_deref(),
                &mut Counter::default(),
                most,
            )?;
            if let Some(rows) = &mut output.rows {
                beside(rows, |name| notes.table(name)?.note.as_deref());
            }
            if pattern.is_none() {
                output.notes.extend(unmatched(connection, &notes)?);
            }
            Ok(output)
        })
}

/// Runs `list_tables`: the same, less what a reader of data has no use for.
pub(crate) fn list_tables(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let mut output = tables(context, arguments)?;
    if let Some(rows) = &mut output.rows {
        for column in ["columns", "kind"] {
            let at = rows.columns.iter().position(|c| c.name == column);
            if let Some(at) = at {
                rows.columns.remove(at);
                rows.rows.iter_mut().for_each(|row| drop(row.remove(at)));
            }
        }
    }
    Ok(output)
}

/// The tables and views that match, with their row counts.
fn list(
    connection: &Connection,
    pattern: Option<&str>,
    counter: &mut Counter,
    most: u32,
) -> rusqlite::Result<Output> {
    let all: Vec<Relation> = relations(connection)?
        .into_iter()
        .filter(|relation| !relation.is_internal())
        .collect();
    let (shadows, all): (Vec<Relation>, Vec<Relation>) = all
        .into_iter()
        .partition(|relation| relation.kind == "shadow");
    let pattern = pattern.map(|given| (given, Pattern::new(given)));
    let matching: Vec<&Relation> = all
        .iter()
        .filter(|table| pattern.as_ref().is_none_or(|(_, p)| p.matches(&table.name)))
        .collect();
    let schemas = all.iter().any(|relation| relation.schema != "main");
    let mut listed = Vec::new();
    let mut notes = Vec::new();
    let (mut bounded, mut uncounted, mut failed) = (false, false, Vec::new());
    for (index, table) in matching.iter().enumerate() {
        // What will not be shown need not be counted.
        let count = if index < most as usize {
            counter.count(connection, table)?
        } else {
            Count::Uncounted
        };
        match &count {
            Count::AtLeast(_) => bounded = true,
            Count::Uncounted if table.kind != "view" => uncounted = true,
            Count::Failed(why) => failed.push((table.shown(), why.clone())),
            _ => {}
        }
        let mut row = vec![
            Value::Text(table.name.clone()),
            Value::Text(table.kind.clone()),
            // A view that does not work has none; that is no number of columns.
            if table.columns > 0 {
                Value::Integer(table.columns)
            } else {
                Value::Null
            },
            count.value(),
        ];
        if schemas {
            row.push(Value::Text(table.schema.clone()));
        }
        listed.push(row);
    }
    if bounded {
        notes.push("≥: counting stopped there; SELECT count(*) gives the exact number.".to_owned());
    }
    if uncounted {
        notes.push("Some tables were not counted, to keep this quick.".to_owned());
    }
    if let Some((name, why)) = failed.first() {
        let others = match failed.len() {
            1 => String::new(),
            2 => " Another could not be counted either.".to_owned(),
            many => format!(" {} others could not be counted either.", many - 1),
        };
        notes.push(format!(
            "The rows of {name} could not be counted: {why}.{others}"
        ));
    }
    notes.extend(unreadable(connection, &matching)?);
    if let Some((given, _)) = pattern
        && matching.is_empty()
    {
        let near = closest(given, all.iter().map(|table| table.name.as_str()), 3);
        notes.push(if near.is_empty() {
            "No name matches; % or * stands for any characters.".to_owned()
        } else {
            format!("No name matches; did you mean {}?", alternatives(&near))
        });
    }
    if !shadows.is_empty() && pattern.is_none() {
        notes.push(format!(
            "{} shadow {} of virtual tables not listed.",
            shadows.len(),
            if shadows.len() == 1 {
                "table"
            } else {
                "tables"
            }
        ));
    }
    let mut columns = vec![
        ("name", "TEXT"),
        ("kind", "TEXT"),
        ("columns", "INTEGER"),
        ("rows", "INTEGER"),
    ];
    if schemas {
        columns.push(("schema", "TEXT"));
    }
    Ok(Output {
        rows: Some(rows(&columns, listed, most)),
        notes,
        ..Output::default()
    })
}

/// Which views do not work, and why the first does not.
fn unreadable(connection: &Connection, all: &[&Relation]) -> rusqlite::Result<Option<String>> {
    let mut broken = all
        .iter()
        .filter(|relation| relation.kind == "view" && relation.columns == 0);
    let Some(first) = broken.next() else {
        return Ok(None);
    };
    let why = match columns(connection, &first.schema, &first.name) {
        Ok(_) => return Ok(None),
        Err(error) if is_stop(&error) => return Err(error),
        Err(error) => foreign::why(&error),
    };
    let others = match broken.count() {
        0 => String::new(),
        1 => " Another view cannot be read either.".to_owned(),
        many => format!(" {many} other views cannot be read either."),
    };
    Ok(Some(format!(
        "View {} cannot be read: {why}.{others}",
        first.shown()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database(sql: &str) -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(sql).unwrap();
        connection
    }

    fn listed(connection: &Connection, pattern: Option<&str>) -> (Vec<Vec<Value>>, Vec<String>) {
        let output = list(connection, pattern, &mut Counter::default(), 10_000).unwrap();
        (output.rows.unwrap().rows, output.notes)
    }

    fn names(rows: &[Vec<Value>]) -> Vec<&str> {
        rows.iter()
            .map(|row| match &row[0] {
                Value::Text(name) => name.as_str(),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn tables_and_views_come_with_kind_columns_and_rows() {
        let connection = database(
            "CREATE TABLE orders(id INTEGER PRIMARY KEY, day TEXT) STRICT;
             INSERT INTO orders(day) VALUES('a'), ('b');
             CREATE VIEW days AS SELECT day FROM orders;",
        );
        let (rows, notes) = listed(&connection, None);
        let text = |text: &str| Value::Text(text.into());
        assert_eq!(
            rows,
            [
                vec![text("days"), text("view"), Value::Integer(1), Value::Null],
                vec![
                    text("orders"),
                    text("table"),
                    Value::Integer(2),
                    Value::Integer(2)
                ],
            ]
        );
        assert!(notes.is_empty(), "{notes:?}");
    }

    #[test]
    fn shadow_tables_are_folded_by_the_engines_verdict_and_never_by_their_suffix() {
        let connection = database(
            "CREATE VIRTUAL TABLE docs USING fts5(body); INSERT INTO docs VALUES('x');
             CREATE VIRTUAL TABLE old USING fts4(body);
             CREATE VIRTUAL TABLE places USING rtree(id, a, b);
             CREATE TABLE customer_data(x); CREATE TABLE my_content(x); CREATE TABLE docs_mine(x);",
        );
        let (rows, notes) = listed(&connection, None);
        assert_eq!(
            names(&rows),
            [
                "customer_data",
                "docs",
                "docs_mine",
                "my_content",
                "old",
                "places"
            ]
        );
        assert_eq!(rows[1][1], Value::Text("virtual".into()));
        assert_eq!(rows[1][3], Value::Integer(1));
        assert!(
            notes[0].contains("shadow tables of virtual tables not listed"),
            "{notes:?}"
        );
    }

    #[test]
    fn tables_of_sqlite_itself_are_left_out() {
        let connection = database(
            "CREATE TABLE a(id INTEGER PRIMARY KEY AUTOINCREMENT); INSERT INTO a VALUES(1); ANALYZE;",
        );
        assert_eq!(names(&listed(&connection, None).0), ["a"]);
    }

    #[test]
    fn one_broken_view_does_not_fail_the_listing() {
        let connection = database(
            "CREATE TABLE gone(x); CREATE VIEW broken AS SELECT x FROM gone; DROP TABLE gone;
             CREATE TABLE here(x);
             CREATE VIEW around AS SELECT * FROM around2; CREATE VIEW around2 AS SELECT * FROM around;",
        );
        let (rows, notes) = listed(&connection, None);
        assert_eq!(names(&rows), ["around", "around2", "broken", "here"]);
        assert_eq!(rows[2][2], Value::Null);
        assert!(
            notes[0].starts_with("View around cannot be read: ")
                && notes[0].ends_with(" 2 other views cannot be read either."),
            "{notes:?}"
        );
    }

    #[test]
    fn a_view_that_cannot_be_read_hides_the_columns_of_no_other() {
        let connection = database(
            "CREATE TABLE a(x); CREATE VIEW v AS SELECT x, 2 AS y FROM a;
             CREATE VIRTUAL TABLE f USING fts5(b); CREATE VIEW rx AS SELECT nofn(1);
             CREATE VIEW w AS SELECT * FROM gone; CREATE VIEW z AS SELECT 1, 2, 3",
        );
        // What is known of a schema that was read just now is little.
        for _ in 0..2 {
            let (rows, notes) = listed(&connection, None);
            let columns: Vec<&Value> = rows.iter().map(|row| &row[2]).collect();
            let (one, two, three) = (&Value::Integer(1), &Value::Integer(2), &Value::Integer(3));
            assert_eq!(
                columns,
                [one, three, &Value::Null, two, &Value::Null, three]
            );
            assert_eq!(
                notes[0],
                "View rx cannot be read: function nofn belongs to the program that made the file. \
                 Another view cannot be read either."
            );
            connection
                .execute_batch("PRAGMA writable_schema = RESET")
                .unwrap();
        }
    }

    #[test]
    fn any_name_is_listed_and_counted() {
        for name in [
            "order",
            "tab'le; DROP TABLE x; --",
            "a \"b\" c",
            "ünï🦀",
            "",
            " ",
            "a\nb",
            "[x]",
            "`y`",
            "a.b",
            "\u{202e}evil",
            "select",
        ] {
            let quoted = crate::engine::schema::catalogue::quote(name);
            let connection = database(&format!(
                "CREATE TABLE {quoted}(x); INSERT INTO {quoted} VALUES(1)"
            ));
            let (rows, notes) = listed(&connection, None);
            assert_eq!(names(&rows), [name]);
            assert_eq!(rows[0][3], Value::Integer(1), "{name:?} {notes:?}");
        }
    }

    #[test]
    fn a_pattern_narrows_and_a_miss_offers_what_is_near() {
        let connection =
            database("CREATE TABLE orders(x); CREATE TABLE order_lines(x); CREATE TABLE b(x)");
        assert_eq!(
            names(&listed(&connection, Some("ord%")).0),
            ["order_lines", "orders"]
        );
        assert_eq!(
            names(&listed(&connection, Some("*lines")).0),
            ["order_lines"]
        );
        let (rows, notes) = listed(&connection, Some("order"));
        assert!(rows.is_empty());
        assert_eq!(
            notes,
            ["No name matches; did you mean orders or order_lines?"]
        );
    }

    #[test]
    fn a_thousand_tables_are_listed_up_to_the_limit() {
        let sql: String = (0..1_000)
            .map(|n| format!("CREATE TABLE t{n:04}(x);"))
            .collect();
        let connection = database(&sql);
        let (rows, _) = listed(&connection, None);
        assert_eq!(rows.len(), 1_000);
        let output = list(&connection, None, &mut Counter::default(), 10).unwrap();
        let rows = output.rows.unwrap();
        assert_eq!(
            (rows.rows.len(), rows.total, rows.more),
            (10, Some(1_000), true)
        );
    }

    #[test]
    fn a_large_table_is_counted_up_to_a_reported_bound() {
        let connection = database(
            "CREATE TABLE a(x); INSERT INTO a SELECT value FROM json_each('[1,2,3,4,5]');",
        );
        let output = list(&connection, None, &mut Counter::bounded(3, 100), 10).unwrap();
        assert_eq!(output.rows.unwrap().rows[0][3], Value::Text("≥3".into()));
        assert!(
            output.notes[0].contains("SELECT count(*)"),
            "{:?}",
            output.notes
        );
    }

    #[test]
    fn temporary_tables_are_marked_by_their_schema() {
        let connection = database("CREATE TABLE a(x); CREATE TEMP TABLE a(x, y);");
        let (rows, _) = listed(&connection, None);
        let schemas: Vec<&Value> = rows.iter().map(|row| &row[4]).collect();
        assert_eq!(
            schemas,
            [&Value::Text("main".into()), &Value::Text("temp".into())]
        );
    }
}
