//! What is refused, with its reason.

use super::*;

const SCHEMA: &str = "
    CREATE TABLE t(a, b);
    CREATE INDEX t_a ON t(a);
    INSERT INTO t VALUES (1, 2);
    CREATE TRIGGER tr AFTER UPDATE ON t BEGIN DELETE FROM t; END;
    CREATE VIRTUAL TABLE docs USING fts5(body);
    INSERT INTO docs VALUES ('fox');
    CREATE VIRTUAL TABLE tree USING rtree(id, x0, x1);
    INSERT INTO tree VALUES (1, 0, 1);
";

/// Statements that write, each with a part of the reason.
const WRITES: &[(&str, &str)] = &[
    ("INSERT INTO t VALUES (3, 4)", "insert into t"),
    ("INSERT INTO t VALUES (3, 4) RETURNING a", "insert into t"),
    ("REPLACE INTO t VALUES (3, 4)", "insert into t"),
    ("UPDATE t SET a = 5", "update t"),
    ("DELETE FROM t", "delete from t"),
    (
        "WITH x AS (SELECT 1) INSERT INTO t SELECT 1, 2 FROM x",
        "insert into t",
    ),
    (
        "WITH x AS (SELECT 1) DELETE FROM t RETURNING a -- LIMIT 1",
        "delete from t",
    ),
    ("/* SELECT */ DELETE FROM t", "delete from t"),
    ("CREATE TABLE u(a)", "change the schema"),
    ("CREATE TABLE u AS SELECT 1", "change the schema"),
    ("CREATE TEMP TABLE u(a)", "change the schema"),
    ("CREATE TEMP VIEW u AS SELECT 1", "change the schema"),
    ("CREATE INDEX i ON t(a)", "change the schema"),
    ("CREATE VIEW u AS SELECT 1", "change the schema"),
    (
        "CREATE TRIGGER u AFTER INSERT ON t BEGIN SELECT 1; END",
        "create the trigger u",
    ),
    ("CREATE VIRTUAL TABLE u USING fts5(a)", "change the schema"),
    ("DROP TABLE t", "change the schema"),
    ("DROP TRIGGER tr", "drop the trigger tr"),
    ("ALTER TABLE t RENAME TO u", "alter the table t"),
    ("ALTER TABLE t ADD COLUMN c", "alter the table t"),
    ("ALTER TABLE t DROP COLUMN b", "alter the table t"),
    ("REINDEX t", "rebuild the index t_a"),
    ("ANALYZE", "change the schema"),
    ("VACUUM", "rewrite the whole database"),
    (
        "INSERT INTO docs(docs) VALUES ('rebuild')",
        "insert into docs",
    ),
    (
        "INSERT INTO docs(docs, rank) VALUES ('merge', 5)",
        "insert into docs",
    ),
    ("DELETE FROM docs", "delete from docs"),
    ("INSERT INTO tree VALUES (2, 0, 1)", "insert into tree"),
    ("PRAGMA user_version = 7", "PRAGMA user_version = 7"),
    ("PRAGMA user_version(7)", "PRAGMA user_version = 7"),
    ("PRAGMA main.application_id = 1", "application_id"),
    ("PRAGMA journal_mode = DELETE", "journal_mode"),
    ("PRAGMA journal_mode(wal)", "journal_mode"),
    ("PRAGMA foreign_keys = OFF", "foreign_keys"),
    ("PRAGMA optimize", "optimize"),
    ("PRAGMA incremental_vacuum", "incremental_vacuum"),
    ("PRAGMA wal_checkpoint(TRUNCATE)", "wal_checkpoint"),
];

/// Statements that no tool runs, each with its status and a part of the reason.
const NEVER: &[(&str, Status, &str)] = &[
    (
        "ATTACH 'other.db' AS other",
        Status::Unsupported,
        "attach another database file",
    ),
    (
        "ATTACH DATABASE 'file:x?mode=rwc' AS x",
        Status::Unsupported,
        "attach",
    ),
    ("ATTACH '' AS x", Status::Unsupported, "attach"),
    ("ATTACH ':memory:' AS x", Status::Unsupported, "attach"),
    ("ATTACH 'a' || 'b' AS x", Status::Unsupported, "attach"),
    ("DETACH main", Status::Unsupported, "ATTACH and DETACH"),
    (
        "SELECT load_extension('x')",
        Status::NotFound,
        "not built in",
    ),
    (
        "SELECT readfile('/etc/passwd')",
        Status::NotFound,
        "not built in",
    ),
    (
        "SELECT writefile('x', 'y')",
        Status::NotFound,
        "not built in",
    ),
    (
        "SELECT fts3_tokenizer('simple')",
        Status::Unsupported,
        "fts3_tokenizer",
    ),
    (
        "SELECT sqlite_log(1, 'x')",
        Status::Unsupported,
        "sqlite_log",
    ),
    (
        "PRAGMA writable_schema = 1",
        Status::Unsupported,
        "CREATE, ALTER and DROP",
    ),
    (
        "PRAGMA main.WRITABLE_SCHEMA(ON)",
        Status::Unsupported,
        "CREATE, ALTER and DROP",
    ),
    (
        "PRAGMA writable_schema = RESET",
        Status::Unsupported,
        "CREATE, ALTER and DROP",
    ),
    (
        "PRAGMA query_only = OFF",
        Status::Unsupported,
        "the called tool decides",
    ),
    (
        "PRAGMA trusted_schema = ON",
        Status::Unsupported,
        "never trusted",
    ),
    (
        "PRAGMA hard_heap_limit = 0",
        Status::Unsupported,
        "--memory",
    ),
    (
        "PRAGMA soft_heap_limit = 1000",
        Status::Unsupported,
        "--memory",
    ),
    (
        "PRAGMA cache_size = -1000000",
        Status::Unsupported,
        "--memory",
    ),
    (
        "PRAGMA mmap_size = 1000000",
        Status::Unsupported,
        "--memory",
    ),
    (
        "PRAGMA temp_store = MEMORY",
        Status::Unsupported,
        "--memory",
    ),
    (
        "PRAGMA busy_timeout = 1000000",
        Status::Unsupported,
        "--busy-timeout",
    ),
    (
        "PRAGMA cell_size_check = OFF",
        Status::Unsupported,
        "damaged files",
    ),
    (
        "PRAGMA locking_mode = EXCLUSIVE",
        Status::Unsupported,
        "locks end with the call",
    ),
    (
        "PRAGMA journal_mode = OFF",
        Status::Unsupported,
        "delete, truncate, persist or wal",
    ),
    (
        "PRAGMA journal_mode = MEMORY",
        Status::Unsupported,
        "could lose or damage data",
    ),
    (
        "PRAGMA synchronous = 0",
        Status::Unsupported,
        "could lose or damage data",
    ),
    (
        "PRAGMA schema_version = 1",
        Status::Unsupported,
        "damages the database",
    ),
    (
        "PRAGMA ignore_check_constraints = 1",
        Status::Unsupported,
        "CHECK",
    ),
    (
        "PRAGMA case_sensitive_like = 1",
        Status::Unsupported,
        "LIKE",
    ),
    (
        "PRAGMA temp_store_directory = '/tmp'",
        Status::NotFound,
        "no PRAGMA temp_store_directory",
    ),
    (
        "PRAGMA usr_version",
        Status::NotFound,
        "Did you mean user_version",
    ),
    ("BEGIN", Status::Unsupported, "sqlarium_batch"),
    ("BEGIN EXCLUSIVE", Status::Unsupported, "sqlarium_batch"),
    ("COMMIT", Status::Unsupported, "sqlarium_batch"),
    ("END", Status::Unsupported, "sqlarium_batch"),
    ("ROLLBACK", Status::Unsupported, "sqlarium_batch"),
    ("SAVEPOINT a", Status::Unsupported, "sqlarium_batch"),
    ("RELEASE a", Status::Unsupported, "sqlarium_batch"),
    (
        "EXPLAIN PRAGMA writable_schema = ON",
        Status::Unsupported,
        "CREATE, ALTER and DROP",
    ),
    (
        "EXPLAIN PRAGMA query_only = OFF",
        Status::Unsupported,
        "the called tool decides",
    ),
    (
        "EXPLAIN PRAGMA foreign_keys = OFF",
        Status::Readonly,
        "foreign_keys",
    ),
    ("EXPLAIN ATTACH 'x' AS x", Status::Unsupported, "attach"),
    (
        "SELECT 1; DROP TABLE t",
        Status::Unsupported,
        "more than one statement",
    ),
    (
        "SELECT 1; SELECT 2",
        Status::Unsupported,
        "more than one statement",
    ),
    (
        "SELECT 1; nonsense",
        Status::Unsupported,
        "more than one statement",
    ),
    (
        "SELECT 1; PRAGMA foreign_keys = OFF",
        Status::Unsupported,
        "more than one statement",
    ),
    (
        "SELECT 1 /* */ ; /* */ ATTACH 'x' AS x",
        Status::Unsupported,
        "more than one statement",
    ),
    ("SELECT 1\0; DROP TABLE t", Status::Syntax, "NUL"),
    ("", Status::Syntax, "no statement"),
    (" ; -- nothing", Status::Syntax, "no statement"),
    ("/* never closed", Status::Syntax, "no statement"),
];

/// Everything that could have changed.
fn state(engine: &mut Engine) -> Vec<Value> {
    [
        "SELECT group_concat(a || ',' || b) FROM t",
        "SELECT group_concat(name || coalesce(sql, '')) FROM sqlite_schema",
        "SELECT group_concat(body) FROM docs",
        "SELECT count(*) FROM tree",
        "PRAGMA user_version",
        "PRAGMA application_id",
        "PRAGMA foreign_keys",
        "PRAGMA query_only",
        "PRAGMA trusted_schema",
        "PRAGMA writable_schema",
        "PRAGMA cell_size_check",
        "PRAGMA busy_timeout",
        "PRAGMA cache_size",
        "PRAGMA journal_mode",
        "PRAGMA synchronous",
        "PRAGMA locking_mode",
        "PRAGMA temp_store",
        "PRAGMA mmap_size",
        "PRAGMA ignore_check_constraints",
        "SELECT count(*) FROM pragma_database_list",
    ]
    .iter()
    .filter_map(|sql| table(query(engine, sql).unwrap()).rows.pop())
    .flatten()
    .collect()
}

#[test]
fn a_query_never_writes_and_says_which_tool_does() {
    let mut engine = engine(SCHEMA);
    let before = state(&mut engine);
    for (sql, reason) in WRITES {
        let failure = refused(query(&mut engine, sql), Status::Readonly, reason);
        assert!(
            failure.to_string().contains("sqlarium_exec"),
            "{sql}: {failure}"
        );
        assert_eq!(state(&mut engine), before, "{sql}");
    }
}

#[test]
fn nothing_writes_where_the_owner_said_readonly() {
    let folder = Folder::new();
    let path = folder.database("shop.db", SCHEMA);
    let settings = EngineSettings {
        readonly: true,
        ..on_file(&path)
    };
    let bytes = std::fs::read(&path).unwrap();
    let mut engine = Engine::new(&settings, OutputLimits::default(), &Alone);
    for (sql, reason) in WRITES {
        for result in [query(&mut engine, sql), exec(&mut engine, sql)] {
            let failure = refused(result, Status::Readonly, reason);
            assert!(failure.message.contains("--readonly"), "{sql}: {failure}");
        }
        refused(batch(&mut engine, sql), Status::Readonly, "--readonly");
    }
    assert_eq!(number(&mut engine, "SELECT count(*) FROM t"), 1);
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[test]
fn what_reaches_out_or_loosens_policy_is_refused_by_every_tool() {
    let mut engine = engine(SCHEMA);
    let before = state(&mut engine);
    for (sql, status, reason) in NEVER {
        refused(query(&mut engine, sql), *status, reason);
        assert_eq!(state(&mut engine), before, "query {sql}");
        refused(exec(&mut engine, sql), *status, reason);
        assert_eq!(state(&mut engine), before, "exec {sql}");
    }
}

#[test]
fn vacuum_into_makes_no_file() {
    let folder = Folder::new();
    let path = folder.database("shop.db", SCHEMA);
    let copy = folder.file("copy.db");
    let sql = format!("VACUUM INTO '{}'", copy.display());
    let mut engine = open(&path);
    refused(query(&mut engine, &sql), Status::Unsupported, "VACUUM INTO");
    refused(exec(&mut engine, &sql), Status::Unsupported, "VACUUM INTO");
    refused(
        batch(&mut engine, &sql),
        Status::InvalidState,
        "within a transaction",
    );
    assert!(!copy.exists());
    exec(&mut engine, "VACUUM").unwrap();
}

#[test]
fn the_parts_of_virtual_tables_cannot_be_written_to() {
    let mut engine = engine(SCHEMA);
    query(&mut engine, "SELECT * FROM tree").unwrap();
    for sql in [
        "UPDATE docs_data SET block = 1",
        "DELETE FROM docs_content",
        "DELETE FROM tree_node",
        "INSERT INTO tree_rowid VALUES (9, 9)",
        "UPDATE sqlite_schema SET sql = 'x'",
        "DELETE FROM sqlite_master",
        "INSERT INTO sqlite_schema VALUES ('table', 'x', 'x', 0, 'x')",
    ] {
        refused(
            exec(&mut engine, sql),
            Status::Readonly,
            "may not be modified",
        );
        let failure = query(&mut engine, sql).unwrap_err();
        assert_eq!(failure.status, Status::Readonly, "{sql}: {failure}");
    }
    assert_eq!(
        value(&mut engine, "SELECT body FROM docs WHERE docs MATCH 'fox'"),
        text("fox")
    );
}

#[test]
fn a_database_beside_the_served_one_needs_a_root_and_a_path_below_it() {
    let mut engine = engine("");
    let failure = engine.database(Some("other.db")).unwrap_err();
    assert_eq!(failure.status, Status::Unsupported);
    assert!(failure.to_string().contains("--root"));
    let mut engine = engine_with(
        EngineSettings {
            root: true,
            ..EngineSettings::default()
        },
        "",
    );
    for name in [
        "/etc/passwd",
        "../x.db",
        "a/../../x.db",
        "",
        "a//b",
        "./x",
        "a\\b",
        "a\0b",
    ] {
        let failure = engine.database(Some(name)).unwrap_err();
        assert_eq!(failure.status, Status::NotFound, "{name:?}");
    }
    assert_eq!(
        engine.database(Some(":memory:")).unwrap().title(),
        ":memory:"
    );
    assert_eq!(
        engine.database(Some("shop/a.db")).unwrap().title(),
        "shop/a.db"
    );
}
