//! `stats`: the database in numbers, each with what it means, and where its pages are.

use std::collections::HashMap;
use std::fmt::Write as _;

use rusqlite::Connection;
use serde_json::json;

use crate::answer::failure::Failure;
use crate::answer::output::Output;
use crate::answer::value::Value;
use crate::command::interface::argument::{Shape, option};
use crate::command::interface::arguments::Arguments;
use crate::command::interface::command::{Command, Effect, Group};
use crate::command::interface::context::Context;
use crate::engine::database::Held;
use crate::engine::schema::catalogue::{is_stop, rows, text};

/// `stats` in the command table.
pub(crate) const COMMAND: Command = Command {
    name: "stats",
    title: "Statistics",
    group: Group::Maintenance,
    summary: "Show sizes, pages and settings, and the size of each table",
    description: "Show size, pages, free pages, journal mode and cache, each explained; then \
                  pages and bytes of each table and its indexes, if the database has at most 128 \
                  MiB.",
    arguments: &[option(
        "full",
        Shape::Flag,
        "Measure tables of a larger database too.",
    )],
    database: true,
    effect: Effect::Reads,
    core: false,
    run,
};

/// A database of at most this many bytes is measured without being asked: every page of it is
/// read once.
const MEASURED_BYTES: i64 = 128 << 20;

/// Runs `stats`.
pub(crate) fn run(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let most = context.settings.output.max_rows;
    let bound = if arguments.flag("full") {
        i64::MAX
    } else {
        MEASURED_BYTES
    };
    let database = context.engine.database(arguments.db())?;
    let held = database.held()?;
    let mut output =
        database.inspect(|connection| report(connection, held.as_ref(), bound, most))?;
    output.notes.extend(context.host.audit_trouble());
    Ok(output)
}

/// One number or word of the database.
struct Statistic {
    name: &'static str,
    value: Value,
    meaning: String,
}

fn report(
    connection: &Connection,
    held: Option<&Held>,
    bound: i64,
    most: u32,
) -> rusqlite::Result<Output> {
    let (mut statistics, bytes) = statistics(connection)?;
    statistics.extend(held.into_iter().flat_map(undo));
    let mut output = Output::default();
    let listed = statistics.iter().map(|statistic| {
        json!({
            "name": statistic.name,
            "value": crate::render::json::value(&statistic.value),
            "meaning": statistic.meaning,
        })
    });
    output
        .extra
        .insert("statistics".into(), listed.collect::<Vec<_>>().into());
    output.text = Some(page(&statistics));
    if bytes > bound {
        output.notes.push(format!(
            "Tables were not measured, because that reads all {bytes} bytes of the database; set \
             full to measure them."
        ));
        return Ok(with_text(output));
    }
    match sizes(connection) {
        Ok(mut tables) => {
            tables.sort_by_key(|(name, size)| {
                (-(size.bytes + size.index_bytes), name.to_lowercase())
            });
            let listed = tables
                .into_iter()
                .map(|(name, size)| size.row(name, bytes))
                .collect();
            output.rows = Some(rows(&Size::COLUMNS, listed, most));
            output
                .notes
                .push("unused: free bytes in the pages of a table and its indexes.".into());
        }
        Err(error) if is_stop(&error) => return Err(error),
        Err(error) => {
            output
                .notes
                .push(format!("Tables could not be measured: {error}."));
            return Ok(with_text(output));
        }
    }
    Ok(output)
}

/// What undo holds, of all databases together.
fn undo(held: &Held) -> [Statistic; 2] {
    let statistic = |name, value: u64, meaning| Statistic {
        name,
        value: Value::Integer(value.cast_signed()),
        meaning,
    };
    [
        statistic(
            "undo_writes",
            held.writes,
            "writes of this session that can be undone".into(),
        ),
        statistic(
            "undo_bytes",
            held.bytes,
            format!("pages that are kept for that; at most {} bytes", held.room),
        ),
    ]
}

/// Without rows the text would stand in the JSON form as well, which has it all already.
fn with_text(mut output: Output) -> Output {
    output.rows = Some(rows(&Size::COLUMNS, Vec::new(), u32::MAX));
    output
}

/// The statistics, and the size of the database in bytes.
fn statistics(connection: &Connection) -> rusqlite::Result<(Vec<Statistic>, i64)> {
    let number = |pragma: &str| {
        connection.query_row(&format!("PRAGMA main.{pragma}"), [], |row| {
            row.get::<_, i64>(0)
        })
    };
    let word = |pragma: &str| {
        connection.query_row(&format!("PRAGMA main.{pragma}"), [], |row| text(row, 0))
    };
    let page_size = number("page_size")?;
    let pages = number("page_count")?;
    let free = number("freelist_count")?;
    let bytes = pages.saturating_mul(page_size);
    let mut all = Vec::new();
    let mut add = |name, value, meaning: String| {
        all.push(Statistic {
            name,
            value,
            meaning,
        });
    };
    add(
        "bytes",
        Value::Integer(bytes),
        "size of the database".into(),
    );
    add(
        "page_size",
        Value::Integer(page_size),
        "bytes in a page, the unit of reading and writing".into(),
    );
    add("page_count", Value::Integer(pages), "pages in total".into());
    add(
        "freelist_count",
        Value::Integer(free),
        format!(
            "unused pages; VACUUM would free {} bytes",
            free.saturating_mul(page_size)
        ),
    );
    for (name, kind) in [
        ("tables", "table"),
        ("indexes", "index"),
        ("views", "view"),
        ("triggers", "trigger"),
    ] {
        let count: i64 = connection.query_row(
            "SELECT count(*) FROM main.sqlite_schema WHERE type = ?1",
            [kind],
            |row| row.get(0),
        )?;
        let meaning = match kind {
            "table" => "including internal tables of SQLite and of virtual tables",
            "index" => "including those of UNIQUE and PRIMARY KEY",
            _ => "in the schema",
        };
        add(name, Value::Integer(count), meaning.into());
    }
    let journal = word("journal_mode")?;
    let meaning = match journal.as_str() {
        "wal" => "commits go to a write-ahead log; readers and a writer do not wait for each other",
        "memory" => "the rollback journal is kept in memory",
        "off" => "there is no rollback journal",
        _ => "a rollback journal; a writer waits until readers have finished",
    };
    add("journal_mode", Value::Text(journal), meaning.into());
    let auto = number("auto_vacuum")?;
    let meaning = match auto {
        0 => "free pages stay in the file until VACUUM",
        1 => "every commit removes free pages from the file",
        _ => "PRAGMA incremental_vacuum removes free pages from the file",
    };
    add("auto_vacuum", Value::Integer(auto), meaning.into());
    add(
        "encoding",
        Value::Text(word("encoding")?),
        "encoding of stored text".into(),
    );
    let cache = number("cache_size")?;
    add(
        "cache_size",
        Value::Integer(cache),
        if cache < 0 {
            format!(
                "up to {} KiB of pages are kept in memory",
                cache.unsigned_abs()
            )
        } else {
            format!("up to {cache} pages are kept in memory")
        },
    );
    add(
        "schema_version",
        Value::Integer(number("schema_version")?),
        "counter of schema changes".into(),
    );
    add(
        "user_version",
        Value::Integer(number("user_version")?),
        "for applications to set, often the version of their schema".into(),
    );
    let application = number("application_id")?;
    add(
        "application_id",
        Value::Integer(application),
        "the application that the file belongs to; 0 means none".into(),
    );
    let analyzed: bool = connection.query_row(
        "SELECT count(*) > 0 FROM main.sqlite_schema WHERE name = 'sqlite_stat1'",
        [],
        |row| row.get(0),
    )?;
    add(
        "analyzed",
        Value::Integer(analyzed.into()),
        "1 if the query planner has statistics from ANALYZE".into(),
    );
    let (now, in_half_a_year) = local_time(connection)?;
    let meaning = if (now, in_half_a_year) == (0, 0) {
        "local time is UTC here; TZ in the server's environment names another time zone"
    } else {
        "what the modifier localtime adds to UTC at present, in the owner's time zone"
    };
    let sign = if now < 0 { '-' } else { '+' };
    let (hours, minutes) = (now.abs() / 3600, now.abs() / 60 % 60);
    add(
        "local_time",
        Value::Text(format!("{sign}{hours:02}:{minutes:02}")),
        meaning.into(),
    );
    Ok((all, bytes))
}

/// The offsets of local time from UTC now and in half a year, in seconds.
fn local_time(connection: &Connection) -> rusqlite::Result<(i64, i64)> {
    let offset = |after: &str| {
        format!("unixepoch('now', '{after}', 'localtime') - unixepoch('now', '{after}')")
    };
    let sql = format!("SELECT {}, {}", offset("0 days"), offset("182 days"));
    connection.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
}

fn page(statistics: &[Statistic]) -> String {
    let shown = |value: &Value| crate::render::cell::shown(value, 100);
    let names = statistics.iter().map(|s| s.name.len()).max();
    let values = statistics.iter().map(|s| shown(&s.value).len()).max();
    let (names, values) = (names.unwrap_or_default(), values.unwrap_or_default());
    let mut text = String::new();
    for Statistic {
        name,
        value,
        meaning,
    } in statistics
    {
        let value = shown(value);
        let _ = writeln!(text, "{name:<names$}  {value:>values$}  {meaning}");
    }
    text
}

/// What one table takes.
#[derive(Default)]
struct Size {
    pages: i64,
    bytes: i64,
    index_pages: i64,
    index_bytes: i64,
    unused: i64,
}

impl Size {
    const COLUMNS: [(&'static str, &'static str); 7] = [
        ("table", "TEXT"),
        ("pages", "INTEGER"),
        ("bytes", "INTEGER"),
        ("index_pages", "INTEGER"),
        ("index_bytes", "INTEGER"),
        ("unused", "INTEGER"),
        ("percent", "REAL"),
    ];

    fn row(self, name: String, all: i64) -> Vec<Value> {
        let share = (self.bytes + self.index_bytes) as f64 / all.max(1) as f64;
        vec![
            Value::Text(name),
            Value::Integer(self.pages),
            Value::Integer(self.bytes),
            Value::Integer(self.index_pages),
            Value::Integer(self.index_bytes),
            Value::Integer(self.unused),
            Value::Real((share * 1_000.0).round() / 10.0),
        ]
    }
}

/// What each table takes, its indexes apart, by <https://www.sqlite.org/dbstat.html>.
fn sizes(connection: &Connection) -> rusqlite::Result<Vec<(String, Size)>> {
    let mut tables: HashMap<String, Size> = HashMap::new();
    let mut statement = connection.prepare(
        "SELECT coalesce(s.tbl_name, d.name), s.type IS 'index', d.pageno, d.pgsize, d.unused \
         FROM (SELECT name, pageno, pgsize, unused FROM dbstat WHERE schema = 'main' AND aggregate = 1) AS d \
         LEFT JOIN main.sqlite_schema AS s ON s.name = d.name AND s.rootpage > 0",
    )?;
    let mut cursor = statement.query([])?;
    while let Some(row) = cursor.next()? {
        let size = tables.entry(text(row, 0)?).or_default();
        let (pages, bytes): (i64, i64) = (row.get(2)?, row.get(3)?);
        if row.get(1)? {
            size.index_pages += pages;
            size.index_bytes += bytes;
        } else {
            size.pages += pages;
            size.bytes += bytes;
        }
        size.unused += row.get::<_, i64>(4)?;
    }
    Ok(tables.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::command::tests::{File, context, json_of, text};

    const SQL: &str = "
        PRAGMA page_size=1024; PRAGMA user_version=7;
        CREATE TABLE big(id INTEGER PRIMARY KEY, body TEXT UNIQUE); CREATE INDEX big_i ON big(body, id);
        CREATE TABLE small(x); CREATE VIEW v AS SELECT 1; CREATE TABLE gone(x);
        INSERT INTO small VALUES(1);
        WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i<500)
        INSERT INTO big(body) SELECT printf('%0100d', i) FROM n;
        INSERT INTO gone SELECT body FROM big; DROP TABLE gone;";

    fn value<'a>(object: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
        let all = object["statistics"].as_array().unwrap();
        let one = all.iter().find(|one| one["name"] == name).unwrap();
        assert!(!one["meaning"].as_str().unwrap().is_empty());
        &one["value"]
    }

    #[test]
    fn the_numbers_are_those_of_the_file() {
        let file = File::new(SQL);
        let object = json_of(&mut context(file.settings()), "stats", json!({}));
        let bytes = std::fs::metadata(file.path()).unwrap().len();
        assert_eq!(*value(&object, "bytes"), json!(bytes));
        assert_eq!(*value(&object, "page_size"), json!(1024));
        assert_eq!(*value(&object, "page_count"), json!(bytes / 1024));
        assert!(value(&object, "freelist_count").as_u64().unwrap() > 40);
        assert_eq!(*value(&object, "tables"), json!(2));
        assert_eq!(*value(&object, "indexes"), json!(2));
        assert_eq!(*value(&object, "views"), json!(1));
        assert_eq!(*value(&object, "user_version"), json!(7));
        assert_eq!(*value(&object, "journal_mode"), json!("delete"));
    }

    #[test]
    fn every_page_belongs_to_a_table_or_to_the_freelist() {
        let file = File::new(SQL);
        let object = json_of(&mut context(file.settings()), "stats", json!({}));
        let tables = object["rows"].as_array().unwrap();
        assert_eq!(tables[0][0], "big");
        assert!(tables[0][3].as_i64() > Some(0), "{object}");
        let pages: u64 = tables
            .iter()
            .map(|row| row[1].as_u64().unwrap() + row[3].as_u64().unwrap())
            .sum();
        let free = value(&object, "freelist_count").as_u64().unwrap();
        assert_eq!(json!(pages + free), *value(&object, "page_count"));
    }

    #[test]
    fn a_large_database_is_measured_only_when_asked() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(SQL).unwrap();
        let output = report(&connection, None, 1_000, 99).unwrap();
        assert!(output.rows.unwrap().rows.is_empty());
        assert!(output.notes[0].contains("set full to measure them"));
        let output = report(&connection, None, i64::MAX, 99).unwrap();
        assert!(output.rows.unwrap().rows.len() >= 2);
    }

    #[test]
    fn the_page_names_each_number_and_its_meaning() {
        let file = File::new(SQL);
        let page = text(
            &mut context(file.settings()),
            "stats",
            json!({"full": true}),
        );
        assert!(
            page.contains("user_version") && page.contains("often the version of their schema"),
            "{page}"
        );
        assert!(page.contains("\nlocal_time "), "{page}");
        assert!(page.contains("big  "), "{page}");
    }
}
