//! SQL that was written for another database gets a sentence with SQLite's way, and no other SQL does.

use super::*;

const TABLE: &str = "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, d DATE, top INT, \
     \"limit\" INT, \"show\" TEXT, u TEXT UNIQUE); INSERT INTO t(id, name, d) VALUES(1, 'Ada', '2024-12-31')";

/// A statement, and what the sentence has to name.
const FOREIGN: &[(&str, &str)] = &[
    ("SHOW TABLES", "sqlarium_tables"),
    ("show full tables", "sqlarium_tables"),
    ("SHOW TABLES LIKE 'a%'", "sqlite_schema"),
    ("SHOW COLUMNS FROM t", "table_xinfo"),
    ("SHOW CREATE TABLE t", "sqlarium_schema"),
    ("SHOW DATABASES;", "sqlarium_databases"),
    ("SHOW INDEX FROM t", "sqlarium_indexes"),
    ("SHOW search_path", "PRAGMA"),
    ("-- all\n  SHOW /* all */ TABLES", "sqlarium_tables"),
    ("DESCRIBE t", "sqlarium_describe"),
    ("DESC t", "sqlarium_describe"),
    ("USE shop", "is a file"),
    ("CREATE DATABASE shop", "is a file"),
    ("CREATE OR REPLACE VIEW v AS SELECT 1", "IF EXISTS"),
    ("CREATE USER a", "no users"),
    ("GRANT ALL ON t TO a", "no users"),
    ("CREATE FUNCTION f() RETURNS INT", "no stored procedures"),
    ("CALL f(1)", "no stored procedures"),
    ("EXEC sp_help", "no stored procedures"),
    ("DELIMITER //", "DELIMITER"),
    ("CREATE SEQUENCE s", "AUTOINCREMENT"),
    (
        "CREATE MATERIALIZED VIEW v AS SELECT 1",
        "CREATE TABLE t AS",
    ),
    ("TRUNCATE TABLE t", "DELETE FROM t"),
    ("TRUNCATE t", "DELETE FROM t"),
    (
        "MERGE INTO t USING u ON t.id = u.id WHEN MATCHED THEN DELETE",
        "ON CONFLICT",
    ),
    ("SET NAMES utf8", "PRAGMA"),
    ("START TRANSACTION", "sqlarium_batch"),
    ("LOCK TABLES t WRITE", "locks the whole database"),
    ("COPY t FROM '/tmp/x.csv'", "sqlarium_import"),
    ("\\d t", "sqlarium_describe"),
    ("\\d", "sqlarium_tables"),
    ("\\d+ t", "sqlarium_describe"),
    ("\\dt", "sqlarium_tables"),
    ("\\x", "psql"),
    (".tables", "sqlarium_tables"),
    (".schema t", "sqlarium_schema"),
    (".headers on", "sqlite3 program"),
    ("SELECT TOP 5 * FROM t", "LIMIT 5"),
    ("SELECT DISTINCT TOP 5 name FROM t", "LIMIT 5"),
    ("SELECT TOP (5) * FROM t", "LIMIT 5"),
    ("SELECT TOP(5) name FROM t", "LIMIT 5"),
    ("SELECT * FROM t FETCH FIRST 5 ROWS ONLY", "LIMIT 5"),
    (
        "SELECT * FROM t ORDER BY id OFFSET 5 ROWS FETCH NEXT 5 ROWS ONLY",
        "LIMIT",
    ),
    ("EXPLAIN ANALYZE SELECT * FROM t", "EXPLAIN QUERY PLAN"),
    ("SELECT id::int FROM t", "CAST(x AS INTEGER)"),
    ("SELECT '5'::int", "CAST(x AS INTEGER)"),
    (
        "SELECT * FROM t WHERE name ILIKE 'a%'",
        "LIKE ignores the case",
    ),
    ("SELECT name ILIKE 'a%' FROM t", "LIKE ignores the case"),
    ("SELECT * FROM t WHERE name ~ '^a'", "REGEXP"),
    ("SELECT * FROM t WHERE name ~* '^a'", "REGEXP"),
    ("SELECT * FROM t WHERE name !~ '^a'", "REGEXP"),
    ("SELECT * FROM t WHERE name SIMILAR TO 'a%'", "REGEXP"),
    ("SELECT * FROM t WHERE name RLIKE 'a'", "REGEXP"),
    ("SELECT d + INTERVAL '1 day' FROM t", "'+1 month'"),
    ("SELECT DATE_ADD(d, INTERVAL 1 DAY) FROM t", "'+1 month'"),
    ("SELECT NOW() - INTERVAL 1 DAY", "'+1 month'"),
    ("SELECT DATE '2024-01-01'", "dates are text"),
    ("SELECT EXTRACT(YEAR FROM d) FROM t", "strftime('%Y', x)"),
    ("SELECT SUBSTRING(name FROM 1 FOR 2) FROM t", "substr("),
    ("SELECT TRIM(BOTH ' ' FROM name) FROM t", "trim("),
    ("SELECT ISNULL(name, '') FROM t", "ifnull("),
    (
        "CREATE TABLE n(id INT PRIMARY KEY AUTO_INCREMENT)",
        "AUTOINCREMENT is one word",
    ),
    ("CREATE TABLE n(id INT) ENGINE=InnoDB", "no ENGINE"),
    ("CREATE TABLE n(e ENUM('a', 'b'))", "CHECK(x IN"),
    ("CREATE TABLE n(a INT, KEY k (a))", "CREATE INDEX"),
    ("CREATE TABLE n(a INT, INDEX k (a))", "CREATE INDEX"),
    (
        "INSERT INTO t(id) VALUES(1) ON DUPLICATE KEY UPDATE name = 'x'",
        "ON CONFLICT",
    ),
    ("INSERT IGNORE INTO t(id) VALUES(1)", "INSERT OR IGNORE"),
    ("INSERT INTO t SET id = 1", "names the columns first"),
    ("SELECT DISTINCT ON (name) * FROM t", "row_number()"),
    ("SELECT * FROM t FOR UPDATE", "locks the whole database"),
    ("SELECT * FROM t WITH (NOLOCK)", "locks the whole database"),
    (
        "SELECT name, count(*) FROM t GROUP BY name WITH ROLLUP",
        "UNION ALL",
    ),
    (
        "SELECT GROUP_CONCAT(name SEPARATOR ', ') FROM t",
        "group_concat(x, ', ')",
    ),
    ("SELECT * FROM t WHERE id > ALL (SELECT 1)", "no ANY or ALL"),
    ("ALTER TABLE t MODIFY name VARCHAR(9)", "copy the rows"),
    ("DROP TABLE t, u", "one table at a time"),
    ("DROP TABLE t CASCADE", "no CASCADE"),
    (
        "UPDATE t JOIN u ON t.id = u.id SET name = 'x'",
        "UPDATE t SET",
    ),
    ("SELECT * INTO n FROM t", "CREATE TABLE t AS"),
    ("SELECT E'a'", "'text'"),
    ("SELECT N'a'", "'text'"),
    ("SELECT @@version", "PRAGMA"),
    ("SELECT NOW()", "datetime('now')"),
    ("SELECT DATE_TRUNC('month', d) FROM t", "'start of month'"),
    ("SELECT DATEDIFF(d, d) FROM t", "julianday(a)"),
    ("SELECT TO_CHAR(d, 'YYYY') FROM t", "strftime("),
    ("SELECT NVL(name, '') FROM t", "ifnull("),
    ("SELECT LEN(name) FROM t", "length(x)"),
    ("SELECT LEFT(name, 2) FROM t", "first 3 characters"),
    ("SELECT YEAR(d) FROM t", "strftime('%Y', x)"),
    ("SELECT CONVERT(INT, name) FROM t", "CAST"),
    ("SELECT DATEDIFF(day, d, d) FROM t", "julianday(a)"),
    ("SELECT CONVERT(name, CHAR) FROM t", "CAST"),
    ("SELECT LAST_INSERT_ID()", "last_insert_rowid()"),
    ("SELECT * FROM information_schema.tables", "sqlarium_tables"),
    (
        "SELECT * FROM INFORMATION_SCHEMA.COLUMNS WHERE table_name = 't'",
        "sqlarium_describe",
    ),
    ("SELECT * FROM pg_catalog.pg_tables", "sqlarium_tables"),
    ("SELECT * FROM pg_tables", "sqlarium_tables"),
    ("SELECT * FROM sys.tables", "sqlarium_tables"),
    ("SELECT 1 FROM dual", "needs no table"),
    ("SELECT SYSDATE", "datetime('now')"),
    ("SELECT * FROM t WHERE ROWNUM < 5", "row_number()"),
];

/// Text around SQL, or in it, that no database takes.
const TEXT: &[(&str, &str)] = &[
    ("```sql\nSELECT 1\n```", "in a Markdown fence"),
    ("```\nSELECT 1;\n```\n", "in a Markdown fence"),
    ("SELECT 1\n```", "in a Markdown fence"),
    (
        "Here you are:\n```sql\nSELECT 1\n```",
        "in a Markdown fence",
    ),
    ("`SELECT 1`", "in quotation marks"),
    ("\"SELECT 1;\"", "in quotation marks"),
    ("'SELECT 1';", "in quotation marks"),
    (
        "SELECT * FROM t WHERE name = ‘Ada’",
        "typographic quotation marks",
    ),
    ("SELECT *\\nFROM t", "where a line break was meant"),
    ("SELECT 'it\\'s'", "'it''s'"),
    ("SELECT * FROM t WHERE id &lt; 5", "where < was meant"),
];

/// What SQLite does as it stands.
const NATIVE: &[&str] = &[
    "SELECT `name` FROM `t`",
    "SELECT name FROM t LIMIT 0, 5",
    "SELECT [name] FROM t",
    "SELECT string_agg(name, ',') FROM t",
    "SELECT concat(name, 'x') FROM t",
    "SELECT ifnull(name, 'x') FROM t",
    "SELECT if(id, 1, 2) FROM t",
    "SELECT ~id FROM t",
    "SELECT t.id FROM t FULL OUTER JOIN t AS o ON o.id = t.id",
    "INSERT INTO t(id) VALUES(7) RETURNING id",
    "CREATE TABLE n1(id SERIAL, a INT UNSIGNED, b VARCHAR(9), c DATETIME)",
    "SELECT top, \"limit\", show FROM t",
    "SELECT 'SHOW TABLES', '```', '::int', 'a ILIKE b'",
    "SELECT substring(name, 1, 2) FROM t",
    "REPLACE INTO t(id) VALUES(1)",
];

/// What SQLite refuses for reasons of its own.
const WRONG: &[&str] = &[
    "SELEC 1",
    "SELECT * FROM t WHER id = 1",
    "SELECT 'NOW()', 'x::int' FROM t WHERE",
    "SELECT name AS ilike FROM t WHER x",
    "SELECT interval FROM t",
    "SELECT date FROM t",
    "SELECT length(day) FROM t",
    "SELECT top FROM t 5 5",
    "SELECT -- SHOW TABLES\n FROM",
    "SELECT nothing FROM t",
    "SELECT * FROM nothing",
    "SELECT nothing(1)",
    "CREATE TABLE t(id)",
    "INSERT INTO t VALUES(1)",
    "SELECT ~ FROM t",
    "SELECT (1",
    "DELETE t WHERE id = 1 AND",
];

#[test]
fn sql_of_another_database_gets_the_way_of_sqlite() {
    let mut wrong = Vec::new();
    for (sql, part) in FOREIGN {
        let mut engine = engine(TABLE);
        for result in [exec(&mut engine, sql), batch(&mut engine, sql)] {
            let said = result.err();
            let hint = said
                .as_ref()
                .and_then(|failure| failure.hint.clone())
                .unwrap_or_default();
            if !hint.starts_with("This is SQLite: ") || !hint.contains(part) {
                wrong.push(format!("{sql} gives {said:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn text_around_sql_is_told_of() {
    let mut engine = engine(TABLE);
    for (sql, part) in TEXT {
        let hint = query(&mut engine, sql).unwrap_err().hint;
        assert!(
            hint.as_deref().unwrap_or_default().contains(part),
            "{sql}: {hint:?}"
        );
    }
}

#[test]
fn sql_of_sqlite_is_run_and_its_own_errors_get_no_such_sentence() {
    let mut engine = engine(TABLE);
    for sql in NATIVE {
        exec(&mut engine, sql).unwrap_or_else(|failure| panic!("{sql}: {failure}"));
    }
    for sql in WRONG {
        let said = exec(&mut engine, sql).unwrap_err().to_string();
        assert!(!said.contains("This is SQLite"), "{sql}: {said}");
    }
}

#[test]
fn no_function_that_is_there_is_said_to_be_missing() {
    let mut engine = engine("");
    for (names, hint) in crate::engine::statement::functions_elsewhere() {
        for name in *names {
            let sql = format!("SELECT count(*) FROM pragma_function_list WHERE name = '{name}'");
            assert_eq!(number(&mut engine, &sql), 0, "{name}: {hint}");
        }
    }
}
