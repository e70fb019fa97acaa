//! What `explain` says beside the plan: sizes, missing indexes and statistics, and what a run came to.

use serde_json::{Value as Json, json};

use super::*;

const SHOP: &str = "
    CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, town TEXT);
    CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER, total REAL);
    CREATE INDEX orders_total ON orders(total);
    INSERT INTO customers SELECT value, 'name ' || value, 'town ' || (value % 7) FROM generate_series(1, 200);
    INSERT INTO orders SELECT value, value % 200 + 1, value * 0.5 FROM generate_series(1, 3000);";

fn run(engine: &mut Engine, sql: &str, params: Json) -> Result<Output, Failure> {
    let params = Params::from_json(&params)?;
    engine.database(None)?.explain_run(sql, &params)
}

fn said(output: &Output) -> String {
    let text = output.text.clone().unwrap_or_default();
    format!("{text}\n{}", output.notes.join("\n"))
}

#[test]
fn a_scan_says_how_many_rows_there_are_and_which_index_would_help() {
    let mut engine = engine(SHOP);
    let sql = "SELECT total FROM orders AS o WHERE customer = 5";
    let output = explain(&mut engine, sql).unwrap();
    let text = said(&output);
    assert!(text.contains("`--SCAN o: 3,000 rows\n"), "{text}");
    let index = "CREATE INDEX orders_idx_customer_total ON orders(customer, total);";
    assert!(
        text.contains(&format!("An index would help: {index}")),
        "{text}"
    );
    assert!(text.contains("no statistics on orders: ANALYZE"), "{text}");
    assert_eq!(output.extra["plan"][0]["table_rows"], 3_000);
    assert_eq!(output.extra["plan"][0]["detail"], "SCAN o");
    assert_eq!(output.extra["missing_indexes"], json!([index]));

    engine
        .database(None)
        .unwrap()
        .batch(&format!("{index} ANALYZE;"))
        .unwrap();
    let output = explain(&mut engine, sql).unwrap();
    let text = said(&output);
    assert!(
        text.contains("SEARCH o USING COVERING INDEX orders_idx_customer_total (customer=?)\n"),
        "{text}"
    );
    assert!(
        !text.contains("would help") && !text.contains("statistics"),
        "{text}"
    );
    assert_eq!(output.extra["missing_indexes"], json!([]));
    let estimate = output.extra["plan"][0]["estimated_rows"].as_f64().unwrap();
    assert!((10.0..=20.0).contains(&estimate), "{estimate}");
}

#[test]
fn what_no_index_helps_and_what_is_no_table_is_left_alone() {
    let mut engine = engine(SHOP);
    for sql in [
        "SELECT * FROM customers",
        "SELECT 1",
        "SELECT * FROM generate_series(1, 3)",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT * FROM n",
        "PRAGMA table_info(orders)",
        "CREATE INDEX x ON orders(customer)",
        "DELETE FROM orders",
        "EXPLAIN QUERY PLAN SELECT * FROM orders WHERE customer = 5",
    ] {
        let text = said(&explain(&mut engine, sql).unwrap());
        assert!(!text.contains("would help"), "{sql}: {text}");
    }
}

#[test]
fn a_run_tells_rows_and_loops_of_each_step_against_what_was_expected() {
    let mut engine = engine(SHOP);
    let sql = "SELECT c.name, sum(o.total) FROM orders o JOIN customers c ON c.id = o.customer
               WHERE o.total > :least GROUP BY c.town ORDER BY 2";
    let output = run(&mut engine, sql, json!({ "least": 1400 })).unwrap();
    let text = said(&output);
    let plan = output.extra["plan"].as_array().unwrap();
    let step = |part: &str| {
        let found = plan
            .iter()
            .find(|step| step["detail"].as_str().unwrap().contains(part));
        found.unwrap_or_else(|| panic!("no {part} in {text}"))
    };
    let orders = step("SEARCH o USING INDEX orders_total");
    assert_eq!(
        (&orders["rows"], &orders["loops"]),
        (&json!(200), &json!(1))
    );
    let customers = step("SEARCH c USING INTEGER PRIMARY KEY");
    assert_eq!(
        (&customers["rows"], &customers["loops"]),
        (&json!(200), &json!(200))
    );
    assert!(orders["estimated_rows"].as_f64().unwrap() > 0.0);
    assert!(
        text.contains("(rowid=?): 200 rows in 200 loops, "),
        "{text}"
    );
    assert!(text.contains("Ran, and thrown away: 7 rows, "), "{text}");
    let ran = &output.extra["run"];
    assert_eq!((&ran["rows"], &ran["sorts"]), (&json!(7), &json!(2)));
    assert!(ran["instructions"].as_u64().unwrap() > 2_000);
    assert!(!text.contains("was not run"), "{text}");
    assert!(output.rows.is_none());
    // Nothing is counted of what comes after.
    assert_eq!(number(&mut engine, "SELECT count(*) FROM orders"), 3_000);
}

#[test]
fn a_run_that_writes_leaves_everything_as_it_was() {
    let mut engine = engine(SHOP);
    let output = run(
        &mut engine,
        "DELETE FROM orders WHERE customer = ?1",
        json!([5]),
    )
    .unwrap();
    let text = said(&output);
    assert!(text.contains("SCAN orders: 3,000 rows, "), "{text}");
    assert!(
        text.contains("Ran, and rolled back: 15 rows changed, "),
        "{text}"
    );
    assert!(text.contains("ON orders(customer)"), "{text}");
    assert_eq!(output.extra["run"]["changed"], 15);
    let output = run(&mut engine, "CREATE TABLE t(a)", json!([])).unwrap();
    assert_eq!(output.extra["effect"], "writes");
    let sql = "INSERT INTO orders(id, customer) VALUES (9999, 1) RETURNING id";
    assert_eq!(
        run(&mut engine, sql, json!([])).unwrap().extra["run"]["changed"],
        1
    );
    assert_eq!(number(&mut engine, "SELECT count(*) FROM orders"), 3_000);
    assert_eq!(
        number(
            &mut engine,
            "SELECT count(*) FROM sqlite_schema WHERE name = 't'"
        ),
        0
    );
    exec(&mut engine, "DELETE FROM orders WHERE id = 1").unwrap();
    assert_eq!(number(&mut engine, "SELECT count(*) FROM orders"), 2_999);
}

#[test]
fn what_is_not_to_be_run_is_refused_and_changes_nothing() {
    let mut engine = engine(SHOP);
    for (sql, status, part) in [
        ("SELECT ?1", Status::Syntax, "params"),
        ("EXPLAIN SELECT 1", Status::Syntax, "without EXPLAIN"),
        ("VACUUM", Status::Unsupported, "VACUUM"),
        ("PRAGMA user_version = 5", Status::Readonly, "PRAGMA"),
        ("BEGIN", Status::Unsupported, ""),
        ("ATTACH 'x' AS y", Status::Unsupported, "attach"),
        (
            "SELECT 1; DELETE FROM orders",
            Status::Unsupported,
            "one statement",
        ),
        (
            "INSERT INTO customers(id) VALUES (1)",
            Status::Constraint,
            "UNIQUE",
        ),
    ] {
        let failure = run(&mut engine, sql, json!([])).unwrap_err();
        assert_eq!(failure.status, status, "{sql}: {failure}");
        assert!(failure.to_string().contains(part), "{sql}: {failure}");
    }
    assert_eq!(number(&mut engine, "PRAGMA user_version"), 0);
    assert_eq!(number(&mut engine, "SELECT count(*) FROM orders"), 3_000);

    let settings = EngineSettings {
        readonly: true,
        ..EngineSettings::default()
    };
    let mut engine = Engine::new(&settings, OutputLimits::default(), &Alone);
    let failure = run(&mut engine, "CREATE TABLE t(a)", json!([])).unwrap_err();
    assert_eq!(failure.status, Status::Readonly);
    assert!(run(&mut engine, "SELECT 1", json!([])).is_ok());
}
