//! Databases of programs that bring functions and collations of their own.

use rusqlite::config::DbConfig;
use rusqlite::ffi;
use rusqlite::functions::FunctionFlags;

use super::*;

extern "C" fn by_length(
    _: *mut std::ffi::c_void,
    one: i32,
    _: *const std::ffi::c_void,
    other: i32,
    _: *const std::ffi::c_void,
) -> i32 {
    one - other
}

/// A database of a program that has a collation and a function of its own, and text in double quotes.
fn of_another_program(path: &Path) {
    let connection = Connection::open(path).unwrap();
    for config in [
        DbConfig::SQLITE_DBCONFIG_DQS_DDL,
        DbConfig::SQLITE_DBCONFIG_DQS_DML,
    ] {
        connection.set_db_config(config, true).unwrap();
    }
    // SAFETY: the connection is open; the name is a C string; nothing is passed to `by_length`.
    #[expect(unsafe_code, reason = "rusqlite has it as a feature alone")]
    unsafe {
        ffi::sqlite3_create_collation_v2(
            connection.handle(),
            c"mine".as_ptr(),
            ffi::SQLITE_UTF8,
            std::ptr::null_mut(),
            Some(by_length),
            None,
        );
    }
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection
        .create_scalar_function("theirs", 1, flags, |context| context.get::<i64>(0))
        .unwrap();
    connection
        .execute_batch(
            "CREATE TABLE quoted(a, b CHECK(b IN (\"x\", \"y\"))); INSERT INTO quoted VALUES(1, 'x');
             CREATE INDEX on_quoted ON quoted(a) WHERE b <> \"z\";
             CREATE TABLE called(a, g AS (theirs(a)) VIRTUAL); INSERT INTO called VALUES(1);
             CREATE INDEX on_called ON called(theirs(a));
             CREATE TABLE collated(id INTEGER PRIMARY KEY, a TEXT COLLATE mine UNIQUE, n); INSERT INTO collated VALUES(1, 'x', 0);",
        )
        .unwrap();
}

#[test]
fn text_that_this_build_cannot_run_comes_back() {
    for sql in [
        "DROP TABLE quoted",
        "DROP INDEX on_quoted",
        "UPDATE quoted SET b = 'y'",
        "DROP TABLE called",
        "DROP INDEX on_called",
        "UPDATE collated SET n = 1",
    ] {
        let folder = Folder::new();
        let (mut engine, path) = on(&folder, "");
        of_another_program(&path);
        let schema = |path: &Path| -> Vec<u8> {
            // What SQLite wrote last is not told apart by pages that this build can read alone.
            std::fs::read(path).unwrap()[100..].to_vec()
        };
        let before = schema(&path);
        exec(&mut engine, sql).unwrap_or_else(|failure| panic!("{sql}: {failure}"));
        assert_ne!(schema(&path), before, "{sql}");
        undo(&mut engine).unwrap_or_else(|failure| panic!("{sql}: {failure}"));
        assert_eq!(schema(&path), before, "{sql}");
    }
}

#[test]
fn a_broken_view_elsewhere_is_not_in_the_way() {
    let folder = Folder::new();
    let (mut engine, path) = on(
        &folder,
        "CREATE TABLE t(a); CREATE VIEW v AS SELECT * FROM gone",
    );
    let before = everything(&path);
    exec(&mut engine, "ALTER TABLE t ADD COLUMN b").unwrap();
    undo(&mut engine).unwrap();
    assert_eq!(everything(&path), before);
}
