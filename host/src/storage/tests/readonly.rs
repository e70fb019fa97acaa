//! Reading changes nothing.

use std::os::unix::fs::PermissionsExt;

use super::sandbox::Sandbox;
use super::*;

/// How to be a reader: by the owner's grant, or by one's own choice.
fn readers(folder: &Path) -> Vec<(&'static str, Sandbox)> {
    vec![
        (
            "granted for reading",
            Sandbox::new(&serving(folder, true, MIB)),
        ),
        (
            "opened for reading",
            Sandbox::new(&serving(folder, false, MIB)),
        ),
    ]
}

/// Opens a database and reads `t`, and answers how many rows it has.
fn count(sandbox: &Sandbox) -> String {
    run(&sandbox.read("shop.db"), "SELECT count(*) FROM t").unwrap()
}

/// A database with a log, as it is after `leave`.
fn logged(folder: &Path, leave: impl FnOnce(Native)) {
    let mut native = Native::open(&folder.join("shop.db"));
    native.sql("PRAGMA journal_mode = wal; CREATE TABLE t (x); INSERT INTO t VALUES (1)");
    leave(native);
}

#[test]
fn no_reader_leaves_a_trace_whatever_it_finds() {
    for case in [
        "no log",
        "clean log",
        "log left behind",
        "log without its index",
        "stale index",
    ] {
        let folder = folder();
        logged(folder.path(), |mut native| match case {
            "no log" => {
                native.sql("PRAGMA journal_mode = delete");
                native.close();
            }
            "clean log" => native.close(),
            _ => native.crash(),
        });
        match case {
            "log without its index" => fs::remove_file(folder.path().join("shop.db-shm")).unwrap(),
            "stale index" => {
                fs::write(folder.path().join("shop.db-shm"), vec![0xaa; 32768]).unwrap()
            }
            _ => {}
        }
        let names = fs::read_dir(folder.path()).unwrap().count();
        let expected = match case {
            "no log" | "clean log" => 1,
            "log without its index" => 2,
            _ => 3,
        };
        assert_eq!(names, expected, "{case}");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
        let before = contents(folder.path());
        for (how, sandbox) in readers(folder.path()) {
            for _ in 0..2 {
                assert_eq!(count(&sandbox), "1", "{case}, {how}");
            }
            assert!(contents(folder.path()) == before, "{case}, {how}");
        }
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        // And it is as good as before for whoever writes.
        let sandbox = Sandbox::new(&serving(folder.path(), false, MIB));
        assert_eq!(
            run(
                &sandbox.open("shop.db"),
                "INSERT INTO t VALUES (2); SELECT count(*) FROM t"
            )
            .unwrap(),
            "2"
        );
    }
}

#[test]
fn a_grant_for_reading_refuses_every_write_whatever_is_asked() {
    let folder = folder();
    logged(folder.path(), |mut native| {
        native.sql("PRAGMA journal_mode = delete");
        native.close();
    });
    let storage = serving(folder.path(), true, MIB);
    let before = contents(folder.path());
    let mut file = storage.open("shop.db", Role::MainDatabase, CREATE).unwrap();
    assert!(file.is_read_only());
    assert_eq!(file.write(0, b"x"), Err(ErrorCode::ReadOnly));
    assert_eq!(file.truncate(0), Err(ErrorCode::ReadOnly));
    assert_eq!(
        storage
            .open("shop.db-journal", Role::MainJournal, CREATE)
            .map(drop),
        Err(ErrorCode::NotFound)
    );
    assert_eq!(
        storage.delete("shop.db-journal", false),
        Err(ErrorCode::ReadOnly)
    );
    assert_eq!(storage.exists("shop.db", true), Ok(false));
    let connection = Sandbox::new(&storage).open("shop.db");
    for sql in [
        "INSERT INTO t VALUES (2)",
        "PRAGMA journal_mode = wal",
        "VACUUM",
        "PRAGMA user_version = 7",
    ] {
        let refused = run(&connection, sql);
        assert!(refused.is_err() || refused.unwrap() == "delete", "{sql}");
    }
    assert!(contents(folder.path()) == before);

    let storage = with_root(folder.path(), true, MIB);
    assert_eq!(
        storage.open("new.db", Role::MainDatabase, CREATE).map(drop),
        Err(ErrorCode::NotFound)
    );
    assert!(
        storage
            .open("shop.db", Role::MainDatabase, CREATE)
            .unwrap()
            .is_read_only()
    );
    assert!(contents(folder.path()) == before);
}

#[test]
fn a_journal_that_must_be_rolled_back_is_left_to_a_writer() {
    let folder = folder();
    let mut native = Native::open(&folder.path().join("shop.db"));
    let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)";
    native.sql(&format!(
        "CREATE TABLE t (x); {rows} INSERT INTO t SELECT i FROM n"
    ));
    native.sql("PRAGMA cache_size = 5; BEGIN; UPDATE t SET x = 'new'");
    native.crash();
    let before = contents(folder.path());
    for (how, sandbox) in readers(folder.path()) {
        let refused = run(&sandbox.read("shop.db"), "SELECT count(*) FROM t").unwrap_err();
        assert_eq!(
            code(&refused),
            rusqlite::ffi::SQLITE_READONLY_ROLLBACK,
            "{how}"
        );
        assert!(contents(folder.path()) == before, "{how}");
    }
}

#[test]
fn a_reader_beside_a_live_writer_sees_every_commit() {
    let folder = folder();
    let mut native = None;
    logged(folder.path(), |process| native = Some(process));
    let mut native = native.unwrap();
    for (how, sandbox) in readers(folder.path()) {
        let reader = sandbox.read("shop.db");
        let count = || run(&reader, "SELECT count(*) FROM t").unwrap();
        assert_eq!(count(), native.sql("SELECT count(*) FROM t"), "{how}");
        for _ in 0..50 {
            native.sql("INSERT INTO t VALUES (1)");
            assert_eq!(count(), native.sql("SELECT count(*) FROM t"), "{how}");
        }
        native.sql("PRAGMA wal_checkpoint(truncate)");
        assert_eq!(count(), native.sql("SELECT count(*) FROM t"), "{how}");
        run(&reader, "BEGIN; SELECT * FROM t").unwrap();
        let seen = count();
        native.sql("INSERT INTO t VALUES (1)");
        assert_eq!(
            native.sql("PRAGMA wal_checkpoint(truncate)"),
            "1",
            "{how}: the reader has marked what it reads"
        );
        assert_eq!(count(), seen, "{how}");
        run(&reader, "COMMIT").unwrap();
    }
    native.close();
}

#[test]
fn a_writer_that_has_not_read_yet_does_not_keep_readers_out() {
    let folder = folder();
    logged(folder.path(), Native::close);
    let mut native = Native::open(&folder.path().join("shop.db"));
    native.sql("INSERT INTO t VALUES (2)");
    for (how, sandbox) in readers(folder.path()) {
        assert_eq!(count(&sandbox), "2", "{how}");
    }
    native.close();
}

#[test]
fn a_writer_that_comes_in_the_middle_of_a_read_is_noticed() {
    let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)";
    for leave in ["clean log", "log left behind"] {
        let folder = folder();
        logged(folder.path(), |mut native| {
            native.sql(&format!(
                "DELETE FROM t; {rows} INSERT INTO t SELECT 'old' FROM n"
            ));
            match leave {
                "clean log" => native.close(),
                _ => {
                    native.crash();
                    fs::remove_file(folder.path().join("shop.db-shm")).unwrap();
                }
            }
        });
        for (how, sandbox) in readers(folder.path()) {
            let reader = sandbox.read("shop.db");
            run(
                &reader,
                "PRAGMA cache_size = 5; BEGIN; SELECT x FROM t LIMIT 1",
            )
            .unwrap();
            let old = "SELECT count(*) FROM t WHERE x = 'old'";
            assert_eq!(run(&reader, old).unwrap(), "20000", "{leave}, {how}");
            let mut native = Native::open(&folder.path().join("shop.db"));
            native.sql("UPDATE t SET x = 'new'");
            native.sql("PRAGMA wal_checkpoint(passive)");
            let noticed = run(&reader, old).unwrap_err();
            assert_eq!(
                code(&noticed) & 0xff,
                rusqlite::ffi::SQLITE_BUSY,
                "{leave}, {how}"
            );
            let _ = run(&reader, "ROLLBACK");
            assert_eq!(
                run(&reader, "SELECT count(*) FROM t WHERE x = 'new'").unwrap(),
                "20000",
                "{leave}, {how}"
            );
            native.sql("UPDATE t SET x = 'newer'");
            assert_eq!(
                run(&reader, "SELECT count(*) FROM t WHERE x = 'newer'").unwrap(),
                "20000",
                "{leave}, {how}"
            );
            native.sql("UPDATE t SET x = 'old'");
            drop(reader);
            native.close();
        }
    }
}

#[test]
fn an_index_that_may_only_be_read_is_shown_as_a_copy() {
    let folder = folder();
    let mut native = None;
    logged(folder.path(), |process| native = Some(process));
    let mut native = native.unwrap();
    let open_to_all = |name: &str, mode| {
        fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    open_to_all("", 0o755);
    open_to_all("shop.db-shm", 0o444);
    let mut reader = Native::unprivileged_reader(folder.path());
    for _ in 0..50 {
        assert_eq!(
            reader.sql("SELECT count(*) FROM t"),
            native.sql("SELECT count(*) FROM t")
        );
        native.sql("INSERT INTO t VALUES (1)");
    }
    native.sql("PRAGMA wal_checkpoint(truncate); INSERT INTO t VALUES (1)");
    assert_eq!(
        reader.sql("SELECT count(*) FROM t"),
        native.sql("SELECT count(*) FROM t")
    );
    reader.sql("BEGIN; SELECT * FROM t");
    native.sql("INSERT INTO t VALUES (1)");
    assert_eq!(
        native.sql("PRAGMA wal_checkpoint(truncate)"),
        "1",
        "its locks are real"
    );
    reader.close();
    native.close();
}
