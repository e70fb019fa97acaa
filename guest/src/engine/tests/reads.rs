//! What a query may ask.

use super::*;

const SCHEMA: &str = "
    CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, updated TEXT);
    INSERT INTO t(name) VALUES ('one'), ('two');
    CREATE INDEX t_name ON t(name);
    CREATE VIEW v AS SELECT name FROM t;
    CREATE TABLE child(t_id REFERENCES t(id));
    CREATE VIRTUAL TABLE docs USING fts5(title, body);
    INSERT INTO docs VALUES ('well-known', 'the quick brown fox'), ('other', 'a lazy dog');
    CREATE VIRTUAL TABLE old USING fts4(body);
    INSERT INTO old VALUES ('the quick brown fox');
    CREATE VIRTUAL TABLE tree USING rtree(id, x0, x1, y0, y1);
    INSERT INTO tree VALUES (1, 0, 1, 0, 1), (2, 5, 6, 5, 6);
    CREATE VIRTUAL TABLE shapes USING geopoly(note);
    INSERT INTO shapes(_shape, note) VALUES ('[[0,0],[1,0],[1,1],[0,0]]', 'triangle');
    CREATE VIRTUAL TABLE words USING fts5vocab(docs, 'row');
";

const QUESTIONS: &[&str] = &[
    "SELECT 1",
    "SELECT 1;",
    "SELECT 1 ; ; -- done",
    "-- first\n/* then */ SELECT 1",
    "\u{feff}SELECT 1",
    "; SELECT 1",
    "SELECT 'please DELETE FROM t; DROP TABLE t'",
    "SELECT replace('a', 'a', 'b'), updated FROM t",
    "SELECT * FROM t WHERE name = 'INSERT' LIMIT (SELECT count(*) FROM t LIMIT 1)",
    "VALUES (1, 2), (3, 4)",
    "WITH a AS (SELECT 1 AS x) SELECT x FROM a",
    "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT sum(i) FROM n",
    "SELECT * FROM (SELECT 1) UNION SELECT 2",
    "SELECT name FROM v",
    "SELECT row_number() OVER (ORDER BY name) FROM t",
    "SELECT value FROM json_each('[1,2]')",
    "SELECT value FROM generate_series(1, 3)",
    "SELECT median(id), sqrt(4), soundex('x') FROM t",
    "SELECT name FROM dbstat LIMIT 1",
    "SELECT title FROM docs WHERE docs MATCH 'quick'",
    "SELECT title FROM docs WHERE docs MATCH '\"well-known\"' ORDER BY rank",
    "SELECT snippet(docs, 1, '[', ']', '…', 5), highlight(docs, 1, '<', '>'), bm25(docs) FROM docs('fox')",
    "SELECT term FROM words",
    "SELECT body FROM old WHERE old MATCH 'brown'",
    "SELECT id FROM tree WHERE x0 < 2",
    "SELECT note FROM shapes WHERE geopoly_overlap(_shape, '[[0,0],[2,0],[2,2],[0,0]]')",
    "SELECT * FROM docs_content",
    "SELECT nodeno FROM tree_node",
    "SELECT name FROM sqlite_schema",
    "SELECT name FROM pragma_table_info('t')",
    "SELECT name, (SELECT count(*) FROM pragma_index_info(i.name)) FROM pragma_index_list('t') AS i",
    "SELECT * FROM pragma_foreign_key_list('child')",
    "SELECT * FROM pragma_table_list",
    "PRAGMA table_info(t)",
    "PRAGMA main.table_xinfo('t')",
    "pragma TABLE_LIST",
    "PRAGMA index_list(t)",
    "PRAGMA foreign_key_list(child)",
    "PRAGMA foreign_key_check",
    "PRAGMA integrity_check",
    "PRAGMA integrity_check(t)",
    "PRAGMA quick_check(1)",
    "PRAGMA journal_mode",
    "PRAGMA main.journal_mode",
    "PRAGMA user_version",
    "PRAGMA page_size",
    "PRAGMA query_only",
    "PRAGMA compile_options",
    "PRAGMA function_list",
    "PRAGMA database_list",
    "EXPLAIN SELECT * FROM t",
    "EXPLAIN QUERY PLAN SELECT * FROM t",
    "EXPLAIN INSERT INTO t(name) VALUES ('three')",
    "EXPLAIN DELETE FROM t",
    "explain query plan UPDATE t SET name = 'x'",
    "/* why */ EXPLAIN QUERY PLAN DROP TABLE t",
    "EXPLAIN CREATE TABLE u(a)",
    "EXPLAIN VACUUM",
];

#[test]
fn every_harmless_question_is_answered_in_memory() {
    let mut engine = engine(SCHEMA);
    for sql in QUESTIONS {
        let rows =
            table(query(&mut engine, sql).unwrap_or_else(|failure| panic!("{sql}: {failure}")));
        assert!(!rows.columns.is_empty(), "{sql}");
    }
    assert_eq!(number(&mut engine, "SELECT count(*) FROM t"), 2);
}

#[test]
fn every_harmless_question_is_answered_on_a_file_opened_for_reading() {
    let folder = Folder::new();
    let path = folder.database("shop.db", SCHEMA);
    for readonly in [false, true] {
        for sql in QUESTIONS {
            // Each on a connection of its own, where virtual tables are not open yet.
            let mut engine = Engine::new(
                &EngineSettings {
                    readonly,
                    ..on_file(&path)
                },
                OutputLimits::default(),
                &Alone,
            );
            query(&mut engine, sql).unwrap_or_else(|failure| panic!("{sql}: {failure}"));
        }
    }
}

#[test]
fn our_own_looks_at_the_schema_open_virtual_tables_too() {
    let folder = Folder::new();
    let path = folder.database("shop.db", SCHEMA);
    let mut engine = open(&path);
    let columns: i64 = engine
        .database(None)
        .unwrap()
        .inspect(|connection| {
            connection.query_row(
                "SELECT count(*) FROM pragma_table_xinfo('tree')",
                [],
                |row| row.get(0),
            )
        })
        .unwrap();
    assert_eq!(columns, 5);
    let failure = engine
        .database(None)
        .unwrap()
        .inspect(|connection| connection.execute("DELETE FROM t", []))
        .unwrap_err();
    assert_eq!(failure.status, Status::Readonly);
}

#[test]
fn a_plan_is_a_tree_and_runs_nothing() {
    let mut engine = engine(SCHEMA);
    let output = explain(
        &mut engine,
        "SELECT * FROM t WHERE name = 'one' ORDER BY updated;",
    )
    .unwrap();
    let drawn = output.text.unwrap();
    assert_eq!(
        drawn,
        "QUERY PLAN\n|--SEARCH t USING INDEX t_name (name=?)\n`--USE TEMP B-TREE FOR ORDER BY"
    );
    assert_eq!(output.extra["effect"], "reads");
    assert_eq!(
        output.extra["plan"][0]["detail"],
        "SEARCH t USING INDEX t_name (name=?)"
    );

    let output = explain(&mut engine, "DELETE FROM t WHERE id = ?1").unwrap();
    assert_eq!(output.extra["effect"], "writes");
    assert!(
        output
            .text
            .unwrap()
            .contains("SEARCH t USING INTEGER PRIMARY KEY")
    );
    assert_eq!(number(&mut engine, "SELECT count(*) FROM t"), 2);

    let output = explain(&mut engine, "EXPLAIN QUERY PLAN SELECT 1").unwrap();
    assert!(output.text.unwrap().starts_with("QUERY PLAN"));
    let listing = table(explain(&mut engine, "EXPLAIN SELECT 1").unwrap());
    assert_eq!(listing.columns[1].name, "opcode");
    assert_eq!(
        explain(&mut engine, "CREATE TABLE z(a)").unwrap().extra["effect"],
        "writes"
    );
    assert_eq!(
        number(
            &mut engine,
            "SELECT count(*) FROM sqlite_schema WHERE name = 'z'"
        ),
        0
    );
}

#[test]
fn a_plan_is_for_one_statement_without_effects() {
    let mut engine = engine(SCHEMA);
    refused(
        explain(&mut engine, "SELECT 1; DELETE FROM t"),
        Status::Unsupported,
        "one statement",
    );
    refused(
        explain(&mut engine, " -- nothing"),
        Status::Syntax,
        "no statement",
    );
    refused(
        explain(&mut engine, "PRAGMA foreign_keys = OFF"),
        Status::Readonly,
        "foreign_keys",
    );
    refused(
        explain(&mut engine, "SELECT nam FROM t"),
        Status::NotFound,
        "Did you mean name",
    );
    refused(
        explain(&mut engine, "ATTACH 'x' AS x"),
        Status::Unsupported,
        "attach",
    );
    assert_eq!(number(&mut engine, "PRAGMA foreign_keys"), 1);
    assert_eq!(number(&mut engine, "SELECT count(*) FROM t"), 2);
}

#[test]
fn a_plan_takes_the_values_of_a_statement_and_needs_none() {
    let mut engine = engine("CREATE TABLE t(a INTEGER PRIMARY KEY, b)");
    let mut explained = |params: serde_json::Value| {
        let params = Params::from_json(&params).unwrap();
        let database = engine.database(None).unwrap();
        database.explain("DELETE FROM t WHERE a = :a AND b = ?2", &params)
    };
    for params in [json!(null), json!({"a": 1, "2": "x"})] {
        let text = explained(params.clone()).unwrap().text.unwrap();
        assert!(
            text.contains("SEARCH t USING INTEGER PRIMARY KEY"),
            "{params} {text}"
        );
    }
    let failure = explained(json!({"z": 1})).unwrap_err();
    assert!(
        failure.message.contains("no value for the parameter :a"),
        "{failure}"
    );
}
