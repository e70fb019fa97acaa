//! Native SQLite in a process of its own: a statement a line, as a JSON string, answered by its rows.

use std::io::{BufRead, Write, stdin, stdout};

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde_json::{Value, json};
use sqlarium_tests::load_sqlite_vec;

/// The argument that makes the benchmark this.
pub const WORD: &str = "native";

/// Answers lines until there are no more.
pub fn serve(database: &str) {
    let connection = open(database);
    let mut output = stdout().lock();
    for line in stdin().lock().lines() {
        let line = line.expect("a line");
        let sql: String = serde_json::from_str(&line).expect("a JSON string");
        let rows = rows(&connection, &sql);
        writeln!(output, "{rows}").expect("a line");
        output.flush().expect("a line");
    }
}

/// A connection with what the sandbox has.
pub fn open(database: &str) -> Connection {
    let connection = Connection::open(database).expect("the database");
    connection
        .busy_timeout(std::time::Duration::from_secs(60))
        .expect("a time");
    rusqlite::vtab::series::load_module(&connection).expect("generate_series");
    load_sqlite_vec(&connection);
    connection
}

/// All rows of a statement, as sqlarium writes them.
pub fn rows(connection: &Connection, sql: &str) -> Value {
    let mut statement = connection.prepare(sql).expect(sql);
    let columns = statement.column_count();
    let mut found = statement.raw_query();
    let mut rows = Vec::new();
    while let Some(row) = found.next().expect(sql) {
        let value = |column| match row.get_ref(column).expect("a value") {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(number) => json!(number),
            ValueRef::Real(number) => json!(number),
            ValueRef::Text(text) => json!(String::from_utf8_lossy(text)),
            ValueRef::Blob(bytes) => json!({ "blob": bytes.len() }),
        };
        rows.push((0..columns).map(value).collect::<Value>());
    }
    rows.into()
}
