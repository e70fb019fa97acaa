//! Strings in double quotes: those of a file's own text mean what they meant to its program.

use super::*;

/// What a program wrote that takes them for strings.
const OLD: &str = "
    CREATE TABLE t(id INTEGER PRIMARY KEY, b CHECK(b IN (\"x\", \"y\")), \"odd name\" DEFAULT 1);
    CREATE TABLE log(what);
    INSERT INTO t(b) VALUES('x'), ('y');
    CREATE VIEW v AS SELECT id, \"told\" AS what FROM t WHERE b = \"x\";
    CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO log VALUES(\"added\"); END;
    CREATE INDEX i ON t(b) WHERE b <> \"z\";";

fn old(folder: &Folder) -> PathBuf {
    let path = folder.file("old.db");
    let connection = Connection::open(&path).unwrap();
    for config in [
        rusqlite::config::DbConfig::SQLITE_DBCONFIG_DQS_DDL,
        rusqlite::config::DbConfig::SQLITE_DBCONFIG_DQS_DML,
    ] {
        connection.set_db_config(config, true).unwrap();
    }
    connection.execute_batch(OLD).unwrap();
    path
}

#[test]
fn views_and_triggers_of_a_file_run_as_their_program_meant_them() {
    let folder = Folder::new();
    let mut engine = open(&old(&folder));
    assert_eq!(value(&mut engine, "SELECT what FROM v"), text("told"));
    assert_eq!(
        value(&mut engine, "SELECT \"what\" FROM \"v\" WHERE \"id\" = 1"),
        text("told")
    );
    exec(&mut engine, "INSERT INTO t(\"b\") VALUES('y')").unwrap();
    batch(
        &mut engine,
        "INSERT INTO t(b) VALUES('y'); INSERT INTO \"t\"(b) VALUES('x')",
    )
    .unwrap();
    assert_eq!(
        number(&mut engine, "SELECT count(*) FROM log WHERE what = 'added'"),
        3
    );
}

#[test]
fn a_clients_own_statement_stays_strict() {
    let folder = Folder::new();
    let mut engine = open(&old(&folder));
    for sql in [
        "SELECT \"nmae\" FROM t",
        "SELECT * FROM v WHERE what = \"told\"",
        "SELECT \"what\", \"nmae\" FROM v",
        "SELECT 1 FROM v WHERE \"odd name\" = \"x\"",
    ] {
        let failure = query(&mut engine, sql).unwrap_err();
        assert!(
            failure.to_string().contains("string in single quotes"),
            "{sql}: {failure}"
        );
    }
    exec(&mut engine, "INSERT INTO t(b) VALUES(\"x\")").unwrap_err();
    exec(&mut engine, "CREATE TABLE u(a CHECK(a IN (\"x\")))").unwrap_err();
    exec(&mut engine, "CREATE INDEX j ON t(b) WHERE b = \"x\"").unwrap_err();
    // Also after one that was let through.
    query(&mut engine, "SELECT * FROM v").unwrap();
    query(&mut engine, "SELECT \"nmae\" FROM t").unwrap_err();
}

#[test]
fn statements_that_run_the_schema_again_take_it_as_it_is() {
    let folder = Folder::new();
    let path = old(&folder);
    let mut engine = open(&path);
    exec(&mut engine, "VACUUM").unwrap();
    exec(&mut engine, "ALTER TABLE t ADD COLUMN c").unwrap();
    exec(&mut engine, "ALTER TABLE t RENAME COLUMN c TO d").unwrap();
    exec(&mut engine, "ALTER TABLE t DROP COLUMN d").unwrap();
    exec(&mut engine, "REINDEX").unwrap();
    exec(&mut engine, "INSERT INTO t(b) VALUES('z')").unwrap_err();
    exec(&mut engine, "INSERT INTO t(b) VALUES('x')").unwrap();
    assert_eq!(Folder::number(&path, "SELECT count(*) FROM log"), 1);
}
