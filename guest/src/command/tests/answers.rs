//! What commands answer, to the letter.

use serde_json::{Value, json};

use super::{context, failure, json_of, shop, text};
use crate::answer::failure::Status;
use crate::command::interface::audience::Audience;
use crate::command::interface::toolset::Toolset;
use crate::registry::REGISTRY;
use crate::settings::EngineSettings;

#[test]
fn tables_folds_shadow_tables_and_counts_virtual_ones() {
    assert_eq!(
        text(&mut shop(), "tables", json!({})),
        "name       kind     columns  rows\n\
         ---------  -------  -------  ----\n\
         customers  table          3     2\n\
         notes      virtual        3     1\n\
         orders     table          3     3\n\
         places     virtual        3     1\n\
         spent      view           2  NULL\n\
         vectors    table          1     1\n\
         (6 rows)\n\
         8 shadow tables of virtual tables not listed.\n"
    );
}

#[test]
fn describe_shows_the_heading_and_the_columns() {
    assert_eq!(
        text(&mut shop(), "describe", json!({"table": "orders"})),
        "orders (table), 3 rows\n\
         indexes:\n  orders_customer (customer)\n\
         foreign keys:\n  (customer) -> customers(id)\n\
         \n\
         column    type     not_null  default  primary_key\n\
         --------  -------  --------  -------  -----------\n\
         id        INTEGER         0  NULL               1\n\
         customer  INTEGER         0  NULL               0\n\
         total     REAL            0  NULL               0\n\
         (3 rows)\n"
    );
}

#[test]
fn describe_and_schema_have_everything_in_json_too() {
    let mut context = shop();
    let object = json_of(&mut context, "describe", json!({"table": "orders"}));
    assert_eq!(object["table_rows"], 3);
    assert_eq!(object["indexes"][0]["columns"], json!(["customer"]));
    assert_eq!(object["rows"][0], json!(["id", "INTEGER", 0, null, 1]));
    assert!(object.get("text").is_none());
    let object = json_of(&mut context, "schema", json!({"pattern": "spent"}));
    assert_eq!(object["rows"][0][0], "view");
    assert_eq!(object["row_count"], 1);
}

#[test]
fn values_come_back_exactly_as_json() {
    let sql = "SELECT 9007199254740993 AS big, 9007199254740991 AS fits, 3.0 AS r, 9e999 AS inf, \
               x'00ff' AS b, '007' AS t, NULL AS n, '' AS e, CAST(x'61ff' AS TEXT) AS bad, 1 AS t";
    let object = json_of(
        &mut context(EngineSettings::default()),
        "query",
        json!({"sql": sql}),
    );
    assert_eq!(
        object["rows"].to_string(),
        "[[\"9007199254740993\",9007199254740991,3.0,\"Infinity\",{\"blob\":\"00ff\"},\"007\",null,\"\",\
         {\"text_hex\":\"61ff\"},1]]"
    );
    assert_eq!(object["columns"][0]["integers"], "string");
    assert_eq!(object["columns"][9]["name"], "t");
}

#[test]
fn reals_go_in_and_come_out_with_every_bit() {
    let mut context = context(EngineSettings::default());
    for written in [
        "0.1",
        "5e-324",
        "2.2250738585072014e-308",
        "1.7976931348623157e308",
        "9007199254740993.0",
        "-0.0",
    ] {
        let arguments = format!("{{\"sql\": \"SELECT ?1\", \"params\": [{written}]}}");
        let object = json_of(
            &mut context,
            "query",
            serde_json::from_str(&arguments).unwrap(),
        );
        let back: f64 = object["rows"][0][0].to_string().parse().unwrap();
        let sent: f64 = written.parse().unwrap();
        assert_eq!(
            back.to_bits(),
            sent.to_bits(),
            "{written} {}",
            object["rows"][0][0]
        );
    }
}

#[test]
fn a_thousand_tables_fit_into_the_text_or_are_counted() {
    let mut context = context(EngineSettings::default());
    let sql: String = (0..2_000)
        .map(|n| format!("CREATE TABLE a_table_with_quite_a_long_name_{n:04}(x);"))
        .collect();
    text(&mut context, "batch", json!({"sql": sql}));
    let page = text(&mut context, "tables", json!({}));
    assert!(page.len() <= 48_000);
    assert!(
        page.contains("more rows not shown") && page.contains("narrow it with pattern"),
        "{page}"
    );
    // What a client gets; a person's program gets them all.
    context.audience = Audience::Client(Toolset::all(&REGISTRY));
    let object = json_of(&mut context, "tables", json!({}));
    assert!(object["row_count"].as_u64().unwrap() > 500);
    assert_eq!(object["more"], true);
    context.audience = Audience::Person;
    let object = json_of(&mut context, "tables", json!({}));
    assert_eq!(object["row_count"], 2_000);
}

#[test]
fn hostile_names_go_through_every_look_at_the_schema() {
    for name in [
        "order",
        "tab'le; DROP TABLE customers; --",
        "a\"b",
        "ünï🦀",
        "a\nb\u{1b}[2J",
        "[x]",
        "%",
    ] {
        let mut context = context(EngineSettings::default());
        let quoted = format!("\"{}\"", name.replace('"', "\"\""));
        let sql = format!(
            "CREATE TABLE {quoted}({quoted} TEXT, b AS (1)); CREATE INDEX {} ON {quoted}({quoted});",
            quoted.replacen('"', "\"i ", 1)
        );
        text(&mut context, "batch", json!({"sql": sql}));
        for (command, arguments) in [
            ("tables", json!({})),
            ("describe", json!({"table": name})),
            ("schema", json!({})),
            ("indexes", json!({})),
            ("describe_table", json!({"table": name})),
            ("list_tables", json!({})),
        ] {
            let page = text(&mut context, command, arguments.clone());
            assert!(!page.contains('\u{1b}'), "{command} {page}");
            let object = json_of(&mut context, command, arguments);
            assert!(
                object.to_string().contains(&json!(name).to_string()),
                "{command} {object}"
            );
        }
    }
}

#[test]
fn run_select_counts_rows_off_and_never_touches_the_sql() {
    let mut context = context(EngineSettings::default());
    text(
        &mut context,
        "batch",
        json!({"sql": "CREATE TABLE n(i); INSERT INTO n SELECT value FROM generate_series(1, 1000)"}),
    );
    let mut rows = |arguments: Value| {
        let object = json_of(&mut context, "run_select", arguments);
        (
            object["row_count"].as_u64(),
            object["more"].as_bool(),
            object["status"].as_str().map(str::to_owned),
        )
    };
    let all = "SELECT i FROM n";
    assert_eq!(rows(json!({"sql": all})), (Some(50), Some(true), None));
    assert_eq!(
        rows(json!({"sql": all, "limit": 200})),
        (Some(200), Some(true), None)
    );
    assert_eq!(
        rows(json!({"sql": "SELECT i FROM n LIMIT 120 -- all"})),
        (Some(120), Some(false), None)
    );
    assert_eq!(
        rows(json!({"sql": "/* */ WITH a AS (SELECT i FROM n LIMIT 500) SELECT * FROM a;"})).0,
        Some(50)
    );
    assert_eq!(
        rows(json!({"sql": "SELECT i FROM n LIMIT 201"}))
            .2
            .as_deref(),
        Some("too_big")
    );
    assert_eq!(
        rows(json!({"sql": all, "limit": 201})).2.as_deref(),
        Some("syntax")
    );
    for sql in [
        "VALUES(1)",
        "PRAGMA table_info(n)",
        "DELETE FROM n",
        "EXPLAIN SELECT 1",
        "",
        "-- x",
    ] {
        assert_eq!(
            rows(json!({"sql": sql})).2.as_deref(),
            Some("unsupported"),
            "{sql}"
        );
    }
    assert_eq!(
        rows(json!({"sql": "WITH a AS (SELECT 1) DELETE FROM n"}))
            .2
            .as_deref(),
        Some("readonly")
    );
    assert_eq!(
        rows(json!({"sql": "SELECT 1; DELETE FROM n"})).2.as_deref(),
        Some("unsupported")
    );
}

#[test]
fn describe_table_shows_types_and_three_sample_rows() {
    let mut context = shop();
    assert_eq!(
        text(&mut context, "describe_table", json!({"table": "orders"})),
        "orders, 3 sample rows:\n\
         id  customer  total\n--  --------  -----\n 1         1    3.0\n 2         1    4.5\n 3         2   10.0\n\
         \n\
         column    type\n--------  -------\nid        INTEGER\ncustomer  INTEGER\ntotal     REAL\n(3 rows)\n"
    );
    let object = json_of(
        &mut context,
        "describe_table",
        json!({"table": "customers"}),
    );
    assert_eq!(
        object["sample"]["rows"],
        json!([[1, "Ada", null], [2, "Grace", null]])
    );
    let (status, _) = failure(&mut context, "describe_table", json!({"table": "nope"}));
    assert_eq!(status, Status::NotFound);
}

#[test]
fn failed_lines_are_not_ok_and_bail_is_reported() {
    let mut context = context(EngineSettings::default());
    let mut run = |input| json_of(&mut context, "run", json!({ "input": input }));
    let answer = run("SELEC;\nSELECT 1;");
    assert_eq!(answer["ok"], false);
    assert_eq!(answer["notes"][0], "1 error; the other lines ran.");
    let answer = run(".bail on\nSELEC;\nSELECT 1;");
    assert_eq!(answer["ok"], false);
    assert_eq!(
        answer["notes"][0],
        "1 error; the lines after it were not run, because of .bail on."
    );
    assert_eq!(run("SELECT 1;")["ok"], true);
}
