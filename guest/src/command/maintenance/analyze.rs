//! `analyze`: gathers what the query planner goes by.

use rusqlite::Connection;

use crate::answer::failure::{Failure, Status};
use crate::answer::output::Output;
use crate::answer::value::Value;
use crate::command::interface::argument::{Shape, positional};
use crate::command::interface::arguments::Arguments;
use crate::command::interface::command::{Command, Effect, Group};
use crate::command::interface::context::Context;
use crate::engine::schema::catalogue::{Relation, quote, rows, text};
use crate::engine::schema::resolve::find;
use crate::engine::statement::params::Params;
use crate::text::count::count;

/// `analyze` in the command table.
pub(crate) const COMMAND: Command = Command {
    name: "analyze",
    title: "Analyze",
    group: Group::Maintenance,
    summary: "Gather statistics for the query planner",
    description: "Run ANALYZE, for better query plans, and show the statistics.",
    arguments: &[positional("table", Shape::Text, "Only this table.")],
    database: true,
    effect: Effect::Writes {
        destructive: false,
        idempotent: true,
    },
    core: false,
    run,
};

/// Runs `analyze`.
pub(crate) fn run(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let most = context.settings.output.max_rows;
    let database = context.engine.database(arguments.db())?;
    let table = match arguments.text("table") {
        None => None,
        Some(name) => Some(database.inspect(|connection| find(connection, name))??),
    };
    if let Some(table) = &table
        && table.kind != "table"
    {
        return Err(Failure::new(
            Status::Unsupported,
            format!(
                "{} is a {}; ANALYZE gathers nothing for it.",
                table.shown(),
                match table.kind.as_str() {
                    "view" => "view",
                    "virtual" => "virtual table",
                    _ => "shadow table of a virtual table",
                }
            ),
        )
        .hint("Name an ordinary table, or leave table out."));
    }
    let sql = match &table {
        None => "ANALYZE main".to_owned(),
        Some(table) => format!("ANALYZE {}", table.quoted()),
    };
    database.exec(&sql, &Params::None)?;
    database.inspect(|connection| report(connection, table.as_ref(), most))
}

/// The statistics as they are now, <https://www.sqlite.org/fileformat2.html#stat1tab>.
fn report(
    connection: &Connection,
    table: Option<&Relation>,
    most: u32,
) -> rusqlite::Result<Output> {
    let schema = quote(table.map_or("main", |table| &table.schema));
    let name = table.map(|table| table.name.as_str());
    let mut listed = Vec::new();
    let mut tables: Vec<String> = Vec::new();
    let there: bool = connection.query_row(
        &format!("SELECT count(*) > 0 FROM {schema}.sqlite_schema WHERE name = 'sqlite_stat1'"),
        [],
        |row| row.get(0),
    )?;
    if there {
        let mut statement = connection.prepare(&format!(
            "SELECT tbl, idx, stat FROM {schema}.sqlite_stat1 \
             WHERE ?1 IS NULL OR tbl = ?1 COLLATE NOCASE ORDER BY tbl, idx"
        ))?;
        let mut cursor = statement.query([name])?;
        while let Some(row) = cursor.next()? {
            let (table, stat) = (text(row, 0)?, text(row, 2)?);
            let (count, keys) = stat.split_once(' ').unwrap_or((&stat, ""));
            if tables.last() != Some(&table) {
                tables.push(table.clone());
            }
            listed.push(vec![
                Value::Text(table),
                Value::from_sqlite(row.get_ref(1)?),
                count
                    .parse()
                    .map_or_else(|_| Value::Text(count.into()), Value::Integer),
                if keys.is_empty() {
                    Value::Null
                } else {
                    Value::Text(keys.into())
                },
            ]);
        }
    }
    let columns = [
        ("table", "TEXT"),
        ("index", "TEXT"),
        ("rows", "INTEGER"),
        ("rows_per_key", "TEXT"),
    ];
    let mut output = Output::default();
    output.notes.push(match (name, tables.len()) {
        (Some(name), 0) => format!("{name} is empty: there is nothing to gather."),
        (None, 0) => "All tables are empty: there is nothing to gather.".into(),
        (_, 1) => format!("Analyzed {}.", tables[0]),
        (_, many) => format!(
            "Analyzed {}; empty tables have no statistics.",
            count(many, "table")
        ),
    });
    if !tables.is_empty() {
        output.notes.push(
            "rows_per_key: average number of rows with the same value in the index's first \
             column, then in its first two, and so on."
                .into(),
        );
    }
    output.extra.insert("tables".into(), tables.into());
    output.rows = Some(rows(&columns, listed, most));
    Ok(output)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::command::tests::{context, failure, json_of, text};
    use crate::settings::EngineSettings;

    const SQL: &str = "
        CREATE TABLE a(x, y); CREATE INDEX a_xy ON a(x, y); CREATE TABLE b(z); CREATE TABLE empty(z);
        CREATE VIEW v AS SELECT 1; CREATE VIRTUAL TABLE f USING fts5(t);
        INSERT INTO a VALUES(1, 1), (1, 2), (2, 3), (2, 4); INSERT INTO b VALUES(1), (2), (3);";

    #[test]
    fn gathered_statistics_are_shown_and_used() {
        let mut context = context(EngineSettings::default());
        text(&mut context, "batch", json!({"sql": SQL}));
        let object = json_of(&mut context, "analyze", json!({}));
        let rows = object["rows"].as_array().unwrap();
        assert!(rows.contains(&json!(["a", "a_xy", 4, "2 1"])), "{object}");
        assert!(rows.contains(&json!(["b", null, 3, null])), "{object}");
        assert!(!object["rows"].to_string().contains("empty"), "{object}");
        let stored = json_of(
            &mut context,
            "query",
            json!({"sql": "SELECT stat FROM sqlite_stat1 WHERE idx = 'a_xy'"}),
        );
        assert_eq!(stored["rows"], json!([["4 2 1"]]));
    }

    #[test]
    fn one_table_can_be_analyzed_alone() {
        let mut context = context(EngineSettings::default());
        text(&mut context, "batch", json!({"sql": SQL}));
        let object = json_of(&mut context, "analyze", json!({"table": "B"}));
        assert_eq!(object["tables"], json!(["b"]));
        assert_eq!(object["notes"][0], "Analyzed b.");
        let object = json_of(&mut context, "analyze", json!({"table": "empty"}));
        assert_eq!(object["row_count"], 0);
        assert_eq!(
            object["notes"],
            json!(["empty is empty: there is nothing to gather."])
        );
    }

    #[test]
    fn what_has_no_rows_of_its_own_is_refused() {
        let mut context = context(EngineSettings::default());
        text(&mut context, "batch", json!({"sql": SQL}));
        for (name, part) in [("v", "v is a view"), ("f", "f is a virtual table")] {
            let (status, sentence) = failure(&mut context, "analyze", json!({"table": name}));
            assert_eq!(status, Status::Unsupported);
            assert!(sentence.contains(part), "{sentence}");
        }
        let (status, _) = failure(&mut context, "analyze", json!({"table": "c"}));
        assert_eq!(status, Status::NotFound);
    }
}
