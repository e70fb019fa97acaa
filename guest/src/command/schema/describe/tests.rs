use super::*;

fn database(sql: &str) -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(sql).unwrap();
    connection
}

fn described(connection: &Connection, name: &str) -> Result<Output, Failure> {
    find(connection, name)
        .unwrap()
        .map(|table| page(connection, &table, None).unwrap())
}

fn column(output: &Output, index: usize) -> Vec<String> {
    output
        .rows
        .as_ref()
        .unwrap()
        .rows
        .iter()
        .map(|row| crate::render::cell::shown(&row[index], 99))
        .collect()
}

#[test]
fn columns_come_with_type_default_and_key() {
    let connection = database(
        "CREATE TABLE t(a INTEGER NOT NULL, b TEXT DEFAULT 'x', c ANY, PRIMARY KEY(c, a)) STRICT, WITHOUT ROWID",
    );
    let output = described(&connection, "t").unwrap();
    assert_eq!(column(&output, 0), ["a", "b", "c"]);
    assert_eq!(column(&output, 1), ["INTEGER", "TEXT", "ANY"]);
    assert_eq!(column(&output, 2), ["1", "0", "1"]);
    assert_eq!(column(&output, 3), ["NULL", "'x'", "NULL"]);
    assert_eq!(column(&output, 4), ["2", "0", "1"]);
    assert_eq!(output.rows.unwrap().columns.len(), 5);
    assert!(
        output
            .text
            .unwrap()
            .starts_with("t (table, STRICT, WITHOUT ROWID), 0 rows\n")
    );
    assert_eq!(output.extra["strict"], true);
}

#[test]
fn generated_and_hidden_columns_are_there_with_their_kind() {
    let connection = database(
        "CREATE TABLE g(a, b AS (a + 1), c AS (a + 2) STORED);
         CREATE VIRTUAL TABLE f USING fts5(body);",
    );
    let output = described(&connection, "g").unwrap();
    assert_eq!(
        column(&output, 5),
        ["ordinary", "generated virtual", "generated stored"]
    );
    let output = described(&connection, "f").unwrap();
    assert_eq!(column(&output, 0), ["body", "f", "rank"]);
    assert_eq!(column(&output, 5), ["ordinary", "hidden", "hidden"]);
    assert!(
        output
            .text
            .unwrap()
            .starts_with("f (virtual table of fts5), 0 rows\nCREATE VIRTUAL")
    );
}

#[test]
fn indexes_foreign_keys_and_triggers_are_listed() {
    let connection = database(
        "CREATE TABLE p(a, b, PRIMARY KEY(a, b)); CREATE TABLE q(a PRIMARY KEY);
         CREATE TABLE c(id INTEGER PRIMARY KEY, x, y, z REFERENCES q,
           FOREIGN KEY(x, y) REFERENCES p(a, b) ON DELETE CASCADE ON UPDATE SET NULL);
         CREATE UNIQUE INDEX c_x ON c(x DESC, lower(y)) WHERE x > 0;
         CREATE TRIGGER c_t AFTER INSERT ON c BEGIN
           SELECT 1; END;
         INSERT INTO c(x) VALUES(NULL);",
    );
    let output = described(&connection, "C").unwrap();
    let text = output.text.unwrap();
    assert_eq!(
        text,
        "c (table), 1 row\n\
         indexes:\n  c_x (x DESC, lower(y)) UNIQUE WHERE x > 0\n\
         foreign keys:\n  (z) -> q\n  (x, y) -> p(a, b) ON UPDATE SET NULL ON DELETE CASCADE\n\
         triggers:\n  c_t: CREATE TRIGGER c_t AFTER INSERT ON c BEGIN SELECT 1; END\n"
    );
    assert_eq!(
        output.extra["foreign_keys"][1]["columns"],
        json!(["x", "y"])
    );
    assert_eq!(output.extra["indexes"][0]["unique"], true);
    assert_eq!(output.extra["table_rows"], 1);
}

#[test]
fn a_view_has_columns_and_a_broken_one_shows_its_error() {
    let connection = database(
        "CREATE TABLE t(a); CREATE VIEW v(b) AS SELECT a FROM t;
         CREATE VIEW broken AS SELECT a FROM t2;",
    );
    assert_eq!(column(&described(&connection, "v").unwrap(), 0), ["b"]);
    let output = described(&connection, "broken").unwrap();
    assert_eq!(
        output.notes,
        ["This view cannot be read: no such table: main.t2."]
    );
    assert!(output.text.unwrap().contains("SELECT a FROM t2;"));
}

#[test]
fn any_name_works_however_it_is_written() {
    for name in [
        "order",
        "tab'le; DROP TABLE x; --",
        "a \"b\" c",
        "ünï🦀",
        " ",
        "a\nb",
        "[x",
        "`y",
        "a.b",
        "main.t",
        "\"q\"",
        "%",
        "x'00'",
        "select",
    ] {
        let connection = database(&format!(
            "CREATE TABLE {}(x, \"it's\"\"\" INT)",
            quote(name)
        ));
        let output = described(&connection, name).unwrap();
        assert_eq!(column(&output, 0), ["x", "it's\""], "{name:?}");
        assert_eq!(output.extra["table"], *name);
    }
    let connection =
        database("CREATE TABLE \"order\"(x); CREATE TEMP TABLE t(y); CREATE TABLE t(z);");
    for name in [
        "\"order\"",
        "[order]",
        "`order`",
        "main.order",
        "main.\"order\"",
        "ORDER",
    ] {
        assert_eq!(
            column(&described(&connection, name).unwrap(), 0),
            ["x"],
            "{name}"
        );
    }
    assert_eq!(column(&described(&connection, "t").unwrap(), 0), ["y"]);
    assert_eq!(column(&described(&connection, "main.t").unwrap(), 0), ["z"]);
}

#[test]
fn an_unknown_table_is_not_found_and_close_matches_are_offered() {
    let connection = database("CREATE TABLE customers(x); CREATE TABLE orders(x);");
    let failure = described(&connection, "custmer").unwrap_err();
    assert_eq!(failure.status, Status::NotFound);
    assert_eq!(
        failure.to_string(),
        "There is no table or view \"custmer\". Did you mean customers?"
    );
    let failure = described(&connection, "zzz\n").unwrap_err();
    assert_eq!(
        failure.to_string(),
        "There is no table or view \"zzz\\n\". Tables and views: customers, orders."
    );
    let failure = described(&database(""), "x").unwrap_err();
    assert!(failure.to_string().ends_with("The database has no tables."));
    for name in ["", "\"", "'", "[", "..", ".", "\"\""] {
        assert_eq!(
            described(&connection, name).unwrap_err().status,
            Status::NotFound
        );
    }
}

#[test]
fn names_in_the_heading_stay_on_their_line() {
    let connection = database("CREATE TABLE t(a); CREATE INDEX \"i\nj\" ON t(a);");
    let text = described(&connection, "t").unwrap().text.unwrap();
    assert_eq!(text, "t (table), 0 rows\nindexes:\n  i\\nj (a)\n");
}
