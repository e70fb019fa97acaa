//! `databases`.

use rusqlite::Connection;

use crate::answer::failure::Failure;
use crate::answer::output::Output;
use crate::answer::value::Value;
use crate::command::interface::arguments::Arguments;
use crate::command::interface::command::{Command, Effect, Group};
use crate::command::interface::context::Context;
use crate::engine::schema::catalogue::{quote, rows, text};

/// `databases` in the command table.
pub(crate) const COMMAND: Command = Command {
    name: "databases",
    title: "Databases",
    group: Group::Schema,
    summary: "Show the served database: size, encoding, journal mode",
    description: "Show the served database: title, size in bytes, page size, encoding, journal \
                  mode, whether it is read-only.",
    arguments: &[],
    database: true,
    effect: Effect::Reads,
    core: false,
    run,
};

/// Runs `databases`.
pub(crate) fn run(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let database = context.engine.database(arguments.db())?;
    let readonly = !database.is_writable();
    let title = database.title().to_owned();
    database.inspect(|connection| list(connection, &title, readonly))
}

/// `main`, and `temp` where it is in use.
fn list(connection: &Connection, title: &str, readonly: bool) -> rusqlite::Result<Output> {
    let mut statement = connection.prepare("PRAGMA database_list")?;
    let names: Vec<String> = statement
        .query_map([], |row| text(row, 1))?
        .collect::<rusqlite::Result<_>>()?;
    let mut listed = Vec::new();
    for name in names {
        let number = |pragma: &str| {
            let sql = format!("PRAGMA {}.{pragma}", quote(&name));
            connection.query_row(&sql, [], |row| row.get::<_, i64>(0))
        };
        let word = |pragma: &str| {
            let sql = format!("PRAGMA {}.{pragma}", quote(&name));
            connection.query_row(&sql, [], |row| text(row, 0))
        };
        let (pages, page_size) = (number("page_count")?, number("page_size")?);
        listed.push(vec![
            Value::Text(name.clone()),
            Value::Text(if name == "main" {
                title.to_owned()
            } else {
                "temporary".into()
            }),
            Value::Integer(pages.saturating_mul(page_size)),
            Value::Integer(page_size),
            Value::Text(word("encoding")?),
            Value::Text(word("journal_mode")?),
            Value::Integer((readonly && name == "main").into()),
        ]);
    }
    let columns = [
        ("name", "TEXT"),
        ("title", "TEXT"),
        ("bytes", "INTEGER"),
        ("page_size", "INTEGER"),
        ("encoding", "TEXT"),
        ("journal_mode", "TEXT"),
        ("readonly", "INTEGER"),
    ];
    Ok(Output {
        rows: Some(rows(&columns, listed, u32::MAX)),
        ..Output::default()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::command::tests::{File, context, json_of};
    use crate::settings::EngineSettings;

    #[test]
    fn a_file_that_cannot_be_written_is_readonly_whoever_forbids_it() {
        let file = File::new("CREATE TABLE t(x)");
        let readonly = |settings| {
            let object = json_of(&mut context(settings), "databases", json!({}));
            object["rows"][0][6].clone()
        };
        assert_eq!(readonly(file.settings()), 0);
        assert_eq!(readonly(EngineSettings::default()), 0);
        let forbidden = EngineSettings {
            readonly: true,
            ..file.settings()
        };
        assert_eq!(readonly(forbidden), 1);
        let mut permissions = std::fs::metadata(file.path()).unwrap().permissions();
        permissions.set_readonly(true);
        std::fs::set_permissions(file.path(), permissions).unwrap();
        assert_eq!(readonly(file.settings()), 1);
    }

    #[test]
    fn a_database_is_listed_with_its_size_encoding_and_journal_mode() {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch("PRAGMA page_size=1024; PRAGMA encoding='UTF-16le'; CREATE TABLE t(x);")
            .unwrap();
        let rows = list(&connection, "shop.db", true)
            .unwrap()
            .rows
            .unwrap()
            .rows;
        let text = |text: &str| Value::Text(text.into());
        assert_eq!(
            rows,
            [vec![
                text("main"),
                text("shop.db"),
                Value::Integer(2048),
                Value::Integer(1024),
                text("UTF-16le"),
                text("memory"),
                Value::Integer(1),
            ]]
        );
    }
}
