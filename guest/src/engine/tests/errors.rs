//! Errors are sentences that a model can act on.

use super::*;

const SCHEMA: &str = "
    CREATE TABLE customers(id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT CHECK (email LIKE '%@%'));
    CREATE TABLE orders(id INTEGER PRIMARY KEY, customer_id REFERENCES customers, total REAL, paid AS (total > 0));
    CREATE VIEW fine AS SELECT id FROM customers;
    CREATE VIEW broken AS SELECT missing FROM customers;
    CREATE VIRTUAL TABLE docs USING fts5(body);
";

#[test]
fn a_name_that_does_not_exist_meets_the_nearest_that_do() {
    let mut engine = engine(SCHEMA);
    for (sql, part) in [
        (
            "SELECT * FROM costumers",
            "No such table: costumers. Did you mean customers?",
        ),
        ("SELECT * FROM main.ordrs", "Did you mean orders?"),
        (
            "SELECT * FROM weather",
            "The tables are broken, customers, docs, fine, orders.",
        ),
        (
            "SELECT nmae FROM customers",
            "No such column: nmae at column 8. Did you mean name? customers has the columns id, name, email.",
        ),
        ("SELECT o.totl FROM orders AS o", "Did you mean total?"),
        ("SELECT paidd FROM orders", "Did you mean paid?"),
        (
            "SELECT x\nFROM customers,\n  orders WHERE zzz = 1",
            "orders has the columns id, customer_id, total, paid.",
        ),
        (
            "SELECT * FROM customers WHERE name = \"Ann\"",
            "Write a string in single quotes: 'Ann'",
        ),
        ("SELECT lenght('x')", "Did you mean length?"),
        ("SELECT frobnicate(1)", "pragma_function_list"),
        ("SELECT missing FROM broken", "No such column: missing"),
    ] {
        refused(query(&mut engine, sql), Status::NotFound, part);
    }
    refused(
        exec(&mut engine, "DROP TABLE ordres"),
        Status::NotFound,
        "Did you mean orders?",
    );
    refused(
        exec(&mut engine, "DROP INDEX i"),
        Status::NotFound,
        "No such index: i",
    );
    refused(
        exec(&mut engine, "INSERT INTO orders(totl) VALUES (1)"),
        Status::NotFound,
        "totl",
    );
    refused(
        exec(&mut engine, "CREATE VIRTUAL TABLE x USING fts9(a)"),
        Status::NotFound,
        "module_list",
    );
    exec(&mut engine, "CREATE TABLE \"order lines\"(amount)").unwrap();
    refused(
        query(&mut engine, "SELECT amuont FROM \"Order Lines\""),
        Status::NotFound,
        "Did you mean amount? order lines has the columns amount.",
    );
    let mut bare = Engine::new(&EngineSettings::default(), OutputLimits::default(), &Alone);
    refused(
        query(&mut bare, "SELECT * FROM t"),
        Status::NotFound,
        "The database has no tables yet.",
    );
}

#[test]
fn a_syntax_error_says_where() {
    let mut engine = engine(SCHEMA);
    for (sql, part) in [
        ("SELEC 1", "Near \"SELEC\": syntax error at column 1."),
        (
            "SELECT 1,\n  FROM customers",
            "Near \"FROM\": syntax error at line 2, column 3.",
        ),
        ("SELECT 'é' FRM x", "syntax error at column 16"),
        ("SELECT (1", "Incomplete input"),
        ("SELECT 'open", "Unrecognized token"),
        (
            "SELECT id FROM customers, orders",
            "Ambiguous column name: id",
        ),
        (
            "SELECT length(1, 2)",
            "Wrong number of arguments to function length()",
        ),
        ("INSERT INTO customers VALUES (1)", "3 columns but 1 value"),
    ] {
        refused(exec(&mut engine, sql), Status::Syntax, part);
    }
}

#[test]
fn a_constraint_is_named() {
    let mut engine = engine(SCHEMA);
    exec(
        &mut engine,
        "INSERT INTO customers VALUES (1, 'Ann', 'a@b')",
    )
    .unwrap();
    for (sql, part) in [
        (
            "INSERT INTO customers VALUES (1, 'Bob', 'a@b')",
            "UNIQUE constraint failed: customers.id",
        ),
        (
            "INSERT INTO customers(name) VALUES (NULL)",
            "NOT NULL constraint failed: customers.name",
        ),
        (
            "INSERT INTO customers VALUES (2, 'Bob', 'x')",
            "CHECK constraint failed: email LIKE",
        ),
        (
            "INSERT INTO orders(customer_id) VALUES (9)",
            "FOREIGN KEY constraint failed",
        ),
        (
            "INSERT INTO customers VALUES ('x', 'Bob', 'a@b')",
            "datatype mismatch",
        ),
    ] {
        let failure = refused(exec(&mut engine, sql), Status::Constraint, part);
        assert!(failure.message.ends_with('.'), "{failure}");
    }
}

#[test]
fn a_match_that_does_not_parse_is_explained() {
    let mut engine = engine(SCHEMA);
    for pattern in ["well-known", "\"open", "AND", "NEAR(", "c++"] {
        let sql = "SELECT * FROM docs WHERE docs MATCH ?";
        let result = query_with(&mut engine, sql, json!([pattern]));
        refused(result, Status::Syntax, "in double quotes inside the string");
    }
}

#[test]
fn existing_objects_and_runtime_errors_are_reported() {
    let mut engine = engine(SCHEMA);
    refused(
        exec(&mut engine, "CREATE TABLE orders(a)"),
        Status::InvalidState,
        "already exists",
    );
    refused(
        query(&mut engine, "SELECT json('{')"),
        Status::Syntax,
        "malformed JSON",
    );
    refused(
        query(&mut engine, "SELECT abs(-9223372036854775808)"),
        Status::Syntax,
        "integer overflow",
    );
    let trigger = "CREATE TRIGGER no BEFORE DELETE ON orders BEGIN SELECT RAISE(ABORT, 'orders are kept'); END";
    exec(&mut engine, trigger).unwrap();
    exec(&mut engine, "INSERT INTO orders(total) VALUES (1)").unwrap();
    refused(
        exec(&mut engine, "DELETE FROM orders"),
        Status::Constraint,
        "orders are kept",
    );
    refused(
        exec(&mut engine, "INSERT INTO fine VALUES (1)"),
        Status::Readonly,
        "view",
    );
}
