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
    ("ALTER TABLE t ALTER COLUMN name TYPE INT", "copy the rows"),
    (
        "ALTER TABLE t ALTER COLUMN name SET DEFAULT 5",
        "copy the rows",
    ),
    (
        "ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (id) REFERENCES u(id)",
        "copy the rows",
    ),
    ("SELECT POSITION('a' IN name) FROM t", "instr(text, part)"),
    ("SELECT * FROM UNNEST(ARRAY[1, 2])", "json_each"),
    ("SELECT ARRAY[1, 2]", "json_each"),
    (
        "SELECT * FROM t QUALIFY row_number() OVER (ORDER BY id) = 1",
        "no QUALIFY",
    ),
    ("SELECT * FROM t CROSS APPLY (SELECT 1)", "no APPLY"),
    ("SELECT * FROM t OUTER APPLY f(1)", "no APPLY"),
    ("UPDATE t SET name = 'x' LIMIT 1", "rowid IN"),
    ("DELETE FROM t WHERE id > 1 ORDER BY id LIMIT 1", "rowid IN"),
    ("CREATE INDEX CONCURRENTLY i ON t(name)", "no CONCURRENTLY"),
    (
        "SELECT * FROM t CROSS JOIN LATERAL (SELECT 1)",
        "no LATERAL",
    ),
    (
        "SELECT * FROM t TABLESAMPLE SYSTEM (5)",
        "ORDER BY random()",
    ),
    ("SELECT id DIV 2 FROM t", "a % b"),
    ("SELECT id MOD 2 FROM t", "a % b"),
    ("SELECT id // 2 FROM t", "a % b"),
    ("SELECT id ^ 2 FROM t", "power(a, b)"),
    ("SELECT TRY_CAST(id AS INT) FROM t", "CAST(x AS INTEGER)"),
    ("SELECT CURRENT_DATE()", "without brackets"),
    ("SELECT id FROM t MINUS SELECT 1", "EXCEPT"),
    ("SELECT id FROM t # all", "begins with --"),
    ("SELECT id FROM t\\G", "mysql program"),
    ("SELECT * FROM t WHERE id = %s", "params"),
    ("SELECT * FROM t WHERE id = {id}", "params"),
    ("SELECT @x := 5", "no variables"),
    ("CREATE TABLE n(a DEFAULT now())", "in brackets"),
    (
        "CREATE TABLE n(a TEXT DEFAULT gen_random_uuid())",
        "in brackets",
    ),
    ("INSERT INTO t(id, name) VALUES(DEFAULT, 'x')", "left out"),
    ("INSERT INTO t(id, name) VALUES(7, DEFAULT)", "left out"),
    ("INSERT INTO t VALUES()", "DEFAULT VALUES"),
    (
        "ALTER TABLE t ADD COLUMN (x INT, y INT)",
        "one column at a time",
    ),
    ("UPDATE t e SET e.id = 2", "UPDATE t AS x SET"),
    ("DELETE FROM t USING u WHERE t.id = u.id", "id IN (SELECT"),
    (
        "SELECT * FROM t PIVOT (sum(id) FOR name IN ('a'))",
        "FILTER",
    ),
    (
        "SELECT LISTAGG(name, ',') WITHIN GROUP (ORDER BY id) FROM t",
        "group_concat",
    ),
    (
        "SELECT REGEXP_REPLACE(name, 'a', 'b') FROM t",
        "replace(text",
    ),
    ("SELECT STDDEV(id) FROM t", "sqrt("),
    (
        "SELECT GENERATE_SERIES(1, 3)",
        "FROM generate_series(1, 10)",
    ),
    ("VACUUM FULL", "leave FULL out"),
    ("sp_help t", "sqlarium_describe"),
    ("KILL 5", "no sessions"),
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
    ("sql\nSELECT 1", "name of a language"),
    ("SELECT 1;\n```", "in a Markdown fence"),
    ("SQL: SELECT 1", "a label"),
    ("<sql>SELECT 1</sql>", "inside a tag"),
    ("{\"sql\": \"SELECT 1\"}", "inside JSON"),
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
fn a_type_that_numbers_rows_elsewhere_is_taken_and_told_of() {
    for (columns, word) in [
        ("id SERIAL PRIMARY KEY, a", "SERIAL of column id"),
        ("a, \"the id\" bigserial", "BIGSERIAL of column \"the id\""),
        ("id INT AUTO_INCREMENT PRIMARY KEY", "AUTO_INCREMENT"),
        ("id INT IDENTITY(1, 1) NOT NULL", "IDENTITY"),
    ] {
        let sql = format!("CREATE TABLE n({columns})");
        for run in [exec, batch] {
            let notes = run(&mut engine(""), &sql).unwrap().notes;
            let [note] = notes.as_slice() else {
                panic!("{sql}: {notes:?}");
            };
            assert!(
                note.starts_with(word) && note.contains("id INTEGER PRIMARY KEY"),
                "{note}"
            );
        }
    }
    for sql in [
        "CREATE TABLE n(id INTEGER PRIMARY KEY AUTOINCREMENT, serial TEXT DEFAULT 'SERIAL')",
        "CREATE TABLE n(identity INT CHECK (identity > 0), serial)",
        "CREATE VIEW n AS SELECT max(serial) FROM (SELECT 1 AS serial)",
        "CREATE INDEX n ON t(name, serial)",
    ] {
        let mut engine = engine("CREATE TABLE t(name, serial)");
        assert_eq!(exec(&mut engine, sql).unwrap().notes, [""; 0], "{sql}");
    }
}

#[test]
fn a_constraint_that_is_added_shows_no_query_of_sqlites_own() {
    let mut engine = engine("CREATE TABLE t(a, b); INSERT INTO t VALUES(1, NULL)");
    for sql in [
        "ALTER TABLE t ADD CONSTRAINT c CHECK (a > 0)",
        "ALTER TABLE t ADD CHECK (a < 9)",
        "ALTER TABLE t ALTER COLUMN a SET NOT NULL",
    ] {
        assert!(batch(&mut engine, sql).unwrap().rows.is_none(), "{sql}");
        let again = sql.replace(" CONSTRAINT c", "");
        assert!(exec(&mut engine, &again).unwrap().rows.is_none(), "{sql}");
    }
    assert!(
        query(&mut engine, "EXPLAIN ALTER TABLE t ADD CHECK (b > 0)")
            .unwrap()
            .rows
            .is_some()
    );
    for sql in [
        "ALTER TABLE t ADD CHECK (a > 1)",
        "ALTER TABLE t ALTER b SET NOT NULL",
    ] {
        refused(
            exec(&mut engine, sql),
            Status::Constraint,
            "A row that is there already does not satisfy the new constraint",
        );
    }
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

#[test]
fn what_runs_and_means_something_else_elsewhere_is_told_of() {
    let mut engine = engine(TABLE);
    for (sql, part) in [
        ("SELECT * FROM t WHERE name = NULL", "x IS NULL"),
        ("SELECT * FROM t WHERE id > 0 AND name != NULL", "x IS NULL"),
        ("SELECT name <> NULL FROM t", "x IS NULL"),
        (
            "SELECT CASE WHEN name = NULL THEN 1 END FROM t",
            "x IS NULL",
        ),
        ("SELECT CAST(d AS DATE) FROM t", "date(x) gives the day"),
        (
            "SELECT cast(substr(d, 1, 4) || (d) AS datetime) FROM t",
            "datetime(x)",
        ),
        ("UPDATE t SET name = NULL WHERE name = NULL", "x IS NULL"),
    ] {
        let notes = exec(&mut engine, sql).unwrap().notes;
        assert!(
            notes.iter().any(|note| note.contains(part)),
            "{sql}: {notes:?}"
        );
    }
    for sql in [
        "UPDATE t SET name = NULL, d = NULL WHERE id = 7",
        "SELECT name IS NULL, 'x = NULL', CAST(id AS TEXT) AS date FROM t",
        "SELECT id AS date, CAST(d AS INT) FROM t WHERE name IS NOT NULL",
        "INSERT INTO t(id, name) VALUES(8, NULL) ON CONFLICT(id) DO UPDATE SET name = NULL",
    ] {
        let notes = exec(&mut engine, sql).unwrap().notes;
        assert!(
            !notes.iter().any(|note| note.contains("This is SQLite")),
            "{sql}: {notes:?}"
        );
    }
}
