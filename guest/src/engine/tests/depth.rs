//! Statements and schemas as deep as SQLite's own limits let them be, and deeper, on a stack that is
//! smaller than the sandbox's two together.

use super::*;

fn nested(open: &str, inner: &str, close: &str, depth: usize) -> String {
    format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
}

fn terms(count: usize) -> String {
    let terms: Vec<String> = (0..count).map(|term| format!("a = {term}")).collect();
    terms.join(" OR ")
}

/// In the sandbox there are 2 MiB for what has an address and 4 for the rest; natively it is one.
fn on_a_small_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(test)
        .unwrap();
    thread.join().unwrap();
}

/// Made by SQLite alone, with its default limits.
const DEEP: [&str; 6] = [
    "CREATE VIEW v AS SELECT * FROM t WHERE TERMS",
    "CREATE TABLE u(a CHECK(TERMS))",
    "CREATE INDEX i ON t(a) WHERE TERMS",
    "CREATE TRIGGER tr AFTER INSERT ON t BEGIN SELECT 1 FROM t WHERE TERMS; END",
    "CREATE VIEW r AS SELECT REPLACES AS b FROM t",
    "CREATE TABLE g(a, b AS (REPLACES))",
];

#[test]
fn a_schema_is_read_as_deep_as_sqlite_makes_it() {
    on_a_small_stack(|| {
        let folder = Folder::new();
        let replaces = nested("replace(", "a", ", 'x', 'y')", 90);
        let schema: Vec<String> = DEEP
            .iter()
            .map(|sql| {
                sql.replace("TERMS", &terms(990))
                    .replace("REPLACES", &replaces)
            })
            .collect();
        let long = format!(
            "CREATE VIEW long AS SELECT '{}' AS x",
            "x".repeat(1_100_000)
        );
        let path = folder.database(
            "deep.db",
            &format!(
                "CREATE TABLE t(a); {}; {long}; INSERT INTO t VALUES(5)",
                schema.join(";")
            ),
        );
        let mut engine = open(&path);
        assert_eq!(number(&mut engine, "SELECT count(*) FROM v"), 1);
        assert_eq!(number(&mut engine, "SELECT length(x) FROM long"), 1_100_000);
        assert_eq!(value(&mut engine, "SELECT b FROM r"), text("5"));
        exec(&mut engine, "INSERT INTO t VALUES(7)").unwrap();
        exec(&mut engine, "INSERT INTO u VALUES(7)").unwrap();
        exec(&mut engine, "ALTER TABLE t RENAME COLUMN a TO c").unwrap();
        exec(&mut engine, "VACUUM").unwrap();
        assert_eq!(value(&mut engine, "PRAGMA integrity_check"), text("ok"));
    });
}

#[test]
fn what_goes_beyond_a_limit_of_ours_is_no_damage() {
    let folder = Folder::new();
    let path = folder.file("deeper.db");
    let connection = Connection::open(&path).unwrap();
    let sql = format!("CREATE VIEW v AS SELECT * FROM t WHERE {}", terms(1_500));
    connection
        .execute_batch("CREATE TABLE t(a); CREATE VIEW v AS SELECT 1; PRAGMA writable_schema = ON")
        .unwrap();
    connection
        .execute("UPDATE sqlite_schema SET sql = ?1 WHERE name = 'v'", [&sql])
        .unwrap();
    connection.close().unwrap();
    let failure = query(&mut open(&path), "SELECT * FROM t").unwrap_err();
    assert_eq!(failure.status, Status::TooBig, "{failure}");
    assert!(
        failure.message.contains("the file is not damaged"),
        "{failure}"
    );
    assert!(!failure.to_string().contains("backup"), "{failure}");
    let failure = query(
        &mut engine("CREATE TABLE t(a)"),
        &format!("SELECT * FROM t WHERE {}", terms(1_500)),
    )
    .unwrap_err();
    assert!(failure.hint.unwrap().contains("use IN (…)"));
}

#[test]
fn a_hostile_depth_is_a_sentence_or_an_answer() {
    on_a_small_stack(|| {
        let mut engine = engine(
            "CREATE TABLE t(a); INSERT INTO t VALUES(1), (2);
             CREATE VIRTUAL TABLE f USING fts5(x); INSERT INTO f VALUES('a b')",
        );
        for depth in [100, 190, 400, 490, 800, 3_000] {
            for sql in [
                format!("SELECT 1 FROM t WHERE {}", terms(depth)),
                format!(
                    "SELECT {} FROM t",
                    nested("replace(", "a", ",'x','y')", depth)
                ),
                format!("SELECT {}a FROM t", "- ".repeat(depth)),
                format!("SELECT {} FROM t", nested("coalesce(a,", "1", ")", depth)),
                format!(
                    "SELECT {} FROM t",
                    nested("CASE WHEN a=3 THEN 1 ELSE ", "0", " END", depth)
                ),
                format!(
                    "SELECT * FROM {}",
                    nested("(SELECT * FROM ", "t", " LIMIT 5)", depth)
                ),
                format!(
                    "SELECT * FROM {}",
                    nested("(SELECT count(*) AS a FROM ", "t", ")", depth)
                ),
                format!(
                    "SELECT * FROM {}",
                    nested(
                        "(SELECT DISTINCT a FROM ",
                        "t",
                        " ORDER BY a LIMIT 3)",
                        depth
                    )
                ),
                format!(
                    "SELECT * FROM {}",
                    nested("(SELECT sum(a) OVER () AS a FROM ", "t", ")", depth)
                ),
                format!("SELECT {}", nested("(SELECT ", "1", ")", depth)),
                format!(
                    "SELECT {} FROM t",
                    nested("(SELECT t.a+", "1", " FROM t)", depth)
                ),
                format!("SELECT {} FROM t", nested("a IN (SELECT ", "1", ")", depth)),
                format!(
                    "SELECT 1 FROM t WHERE {}",
                    nested("EXISTS (SELECT 1 FROM t WHERE ", "1", ")", depth)
                ),
                format!("SELECT a FROM t{}", " UNION SELECT a FROM t".repeat(depth)),
                nested("SELECT * FROM (", "SELECT 1", " UNION SELECT 2)", depth),
                format!(
                    "SELECT length(json_pretty('{}'))",
                    nested("[", "", "]", depth)
                ),
                format!(
                    "SELECT * FROM f WHERE f MATCH '{}'",
                    nested("(", "a", ")", depth)
                ),
                format!(
                    "SELECT '{}' LIKE '{}b'",
                    "a".repeat(depth),
                    "%a".repeat(depth)
                ),
            ] {
                if let Err(failure) = query(&mut engine, &sql) {
                    let known = matches!(
                        failure.status,
                        Status::TooBig | Status::Syntax | Status::Constraint
                    );
                    assert!(known, "{depth}: {} {failure}", &sql[..40]);
                }
            }
        }
        assert_eq!(number(&mut engine, "SELECT 1"), 1);
    });
}
