//! The engine as its callers see it.

use super::*;
use crate::command::output::Output;
use crate::engine::params::Params;
use crate::engine::value::Value;
use crate::host::Alone;

/// An engine on a private database in memory, prepared by `sql`.
fn engine(sql: &str) -> Engine {
    engine_with(Settings::default(), sql)
}

fn engine_with(settings: Settings, sql: &str) -> Engine {
    let mut engine = Engine::new(&settings, &Alone);
    if !sql.is_empty() {
        engine.database(None).unwrap().batch(sql).unwrap();
    }
    engine
}

fn query(engine: &mut Engine, sql: &str) -> Result<Output, Failure> {
    engine
        .database(None)
        .unwrap()
        .query(sql, &Params::None, None)
}

fn exec(engine: &mut Engine, sql: &str) -> Result<Output, Failure> {
    engine.database(None).unwrap().exec(sql, &Params::None)
}

fn rows(output: &Output) -> Vec<Vec<Value>> {
    output.rows.as_ref().unwrap().rows.clone()
}

#[test]
fn a_query_answers_rows_under_their_columns() {
    let mut engine = engine("CREATE TABLE t(a INTEGER, b TEXT); INSERT INTO t VALUES (1, 'x');");
    let output = query(&mut engine, "SELECT a, b, a AS a FROM t").unwrap();
    let found = output.rows.unwrap();
    assert_eq!(
        found.rows,
        [[
            Value::Integer(1),
            Value::Text("x".into()),
            Value::Integer(1)
        ]]
    );
    let names: Vec<&str> = found
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    assert_eq!(names, ["a", "b", "a"]);
    assert_eq!(found.columns[0].declared, "INTEGER");
    assert_eq!((found.total, found.more), (Some(1), false));
}

#[test]
fn an_exec_commits_and_counts() {
    let mut engine = engine("CREATE TABLE t(a)");
    let output = exec(&mut engine, "INSERT INTO t VALUES (1), (2) RETURNING a").unwrap();
    assert_eq!(rows(&output), [[Value::Integer(1)], [Value::Integer(2)]]);
    assert_eq!(
        (output.changes, output.last_insert_rowid),
        (Some(2), Some(2))
    );
    let count = query(&mut engine, "SELECT count(*) FROM t").unwrap();
    assert_eq!(rows(&count), [[Value::Integer(2)]]);
}
