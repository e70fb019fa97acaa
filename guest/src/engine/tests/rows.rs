//! Rows: how they come, and how many.

use super::*;

fn limited(rows: u32, max_rows: u32) -> Engine {
    let output = OutputLimits {
        rows,
        max_rows,
        ..OutputLimits::default()
    };
    engine_within(EngineSettings::default(), output, "")
}

fn series(count: u32) -> String {
    format!("SELECT value FROM generate_series(1, {count})")
}

fn query_limit(engine: &mut Engine, sql: &str, limit: u32) -> Output {
    engine
        .database(None)
        .unwrap()
        .query(sql, &Params::None, Some(limit))
        .unwrap()
}

#[test]
fn columns_keep_their_names_types_and_order() {
    let mut engine =
        engine("CREATE TABLE t(a integer, b VarChar(10), c); INSERT INTO t VALUES (1, 'x', NULL)");
    let rows = table(query(&mut engine, "SELECT a, b, c, a AS a, a + 1, t.a FROM t").unwrap());
    let columns: Vec<(&str, &str)> = rows
        .columns
        .iter()
        .map(|column| (column.name.as_str(), column.declared.as_str()))
        .collect();
    assert_eq!(
        columns,
        [
            ("a", "INTEGER"),
            ("b", "VARCHAR(10)"),
            ("c", ""),
            ("a", "INTEGER"),
            ("a + 1", ""),
            ("a", "INTEGER")
        ]
    );
    assert_eq!(rows.rows[0].len(), 6);
}

#[test]
fn an_empty_result_has_its_columns() {
    let mut engine = engine("CREATE TABLE t(a TEXT)");
    let rows = table(query(&mut engine, "SELECT a, 1 AS one FROM t").unwrap());
    assert_eq!(rows.columns.len(), 2);
    assert_eq!(
        (rows.rows.len(), rows.total, rows.more),
        (0, Some(0), false)
    );
}

#[test]
fn values_come_by_storage_class() {
    let mut engine = engine(
        "CREATE TABLE t(n INTEGER, s TEXT); INSERT INTO t VALUES ('007x', 5), (x'00ff', '1.0')",
    );
    let rows = table(query(&mut engine, "SELECT n, s FROM t").unwrap()).rows;
    assert_eq!(
        rows,
        [
            [text("007x"), text("5")],
            [Value::Blob(vec![0, 255]), text("1.0")]
        ]
    );
    let row = table(
        query(
            &mut engine,
            "SELECT 9223372036854775807, -9223372036854775808, 9e999, -9e999, 3.0, 5e-324, x'', '', NULL,
                    CAST(x'61ff62' AS TEXT), 'a' || char(0) || 'b', 'é🦀', 9e999 - 9e999",
        )
        .unwrap(),
    )
    .rows
    .remove(0);
    assert_eq!(
        row,
        [
            Value::Integer(i64::MAX),
            Value::Integer(i64::MIN),
            Value::Real(f64::INFINITY),
            Value::Real(f64::NEG_INFINITY),
            Value::Real(3.0),
            Value::Real(5e-324),
            Value::Blob(vec![]),
            text(""),
            Value::Null,
            Value::BadText(vec![b'a', 0xff, b'b']),
            text("a\0b"),
            text("é🦀"),
            Value::Null,
        ]
    );
}

#[test]
fn rows_beyond_the_limit_are_counted_and_reported() {
    let mut engine = limited(5, 100);
    for (count, limit, kept, total, more) in [
        (4, None, 4, Some(4), false),
        (5, None, 5, Some(5), false),
        (6, None, 5, Some(6), true),
        (100, None, 5, Some(100), true),
        (101, None, 5, None, true),
        (50, Some(10), 10, Some(50), true),
        (50, Some(50), 50, Some(50), false),
        (1_000, Some(100), 100, None, true),
        (3, Some(0), 0, Some(3), true),
        (0, Some(0), 0, Some(0), false),
    ] {
        let mut sql = series(count);
        if count == 0 {
            sql = "SELECT 1 WHERE 0".into();
        }
        let output = engine
            .database(None)
            .unwrap()
            .query(&sql, &Params::None, limit)
            .unwrap();
        let rows = table(output);
        assert_eq!(
            (rows.rows.len(), rows.total, rows.more, rows.limit),
            (kept, total, more, limit.unwrap_or(5)),
            "{count} rows, limit {limit:?}"
        );
    }
}

#[test]
fn a_limit_over_the_maximum_is_lowered_and_reported() {
    let mut engine = limited(5, 100);
    let output = query_limit(&mut engine, &series(200), 1_000);
    assert!(output.notes[0].contains("--max-rows"), "{:?}", output.notes);
    let rows = table(output);
    assert_eq!((rows.rows.len(), rows.limit), (100, 100));
}

#[test]
fn counting_stops_when_it_takes_as_long_again_as_the_rows() {
    let mut engine = limited(5, 1_000_000);
    // Six quick rows, then one that takes millions of steps.
    let sql = "SELECT value FROM generate_series(1, 6)
               UNION ALL SELECT sum(a.value * b.value) FROM generate_series(1, 3000) a, generate_series(1, 3000) b";
    let began = std::time::Instant::now();
    let rows = table(query(&mut engine, sql).unwrap());
    assert_eq!((rows.rows.len(), rows.total, rows.more), (5, None, true));
    let counting = began.elapsed();
    // And the same connection still works, for as long as it takes.
    let began = std::time::Instant::now();
    assert!(number(&mut engine, sql.split("UNION ALL").nth(1).unwrap()) > 0);
    assert!(
        counting < began.elapsed() / 4,
        "{counting:?} against {:?}",
        began.elapsed()
    );
}

#[test]
fn an_endless_result_ends_at_the_limit() {
    let mut engine = limited(5, 100);
    let rows = table(
        query(
            &mut engine,
            "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
        )
        .unwrap(),
    );
    assert_eq!((rows.rows.len(), rows.total, rows.more), (5, None, true));
}

#[test]
fn rows_too_heavy_for_the_reply_are_left_out_whole() {
    let output = OutputLimits {
        reply_bytes: 2_500,
        ..OutputLimits::default()
    };
    let mut engine = engine_within(EngineSettings::default(), output, "");
    let output = query(
        &mut engine,
        "SELECT zeroblob(3000) FROM generate_series(1, 20)",
    )
    .unwrap();
    assert!(output.notes[0].contains("--reply"), "{:?}", output.notes);
    let rows = table(output);
    assert_eq!(
        (rows.rows.len(), rows.total, rows.more),
        (3, Some(20), true)
    );
    let output = query(&mut engine, "SELECT zeroblob(30000)").unwrap();
    assert!(output.notes[0].contains("substr()"), "{:?}", output.notes);
    let rows = table(output);
    assert_eq!((rows.rows.len(), rows.total, rows.more), (0, Some(1), true));
    // Nothing of it is copied, so that it is the memory budget alone that counts.
    query(&mut engine, "SELECT length(zeroblob(30000))").unwrap();
}

#[test]
fn a_limit_within_the_sql_is_the_clients_own() {
    let mut engine = limited(5, 100);
    let rows = table(query(&mut engine, &format!("{} LIMIT 2", series(50))).unwrap());
    assert_eq!(
        (rows.rows.len(), rows.total, rows.more),
        (2, Some(2), false)
    );
}
