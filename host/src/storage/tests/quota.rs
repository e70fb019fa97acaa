//! The disk quota.

use super::sandbox::Sandbox;
use super::*;

#[test]
fn growth_beyond_the_budget_is_refused_and_writes_nothing() {
    let folder = folder();
    // A new file costs a block by itself.
    for (name, role, least) in [
        ("memory", Role::MainDatabase, 0),
        ("disk.db", Role::MainDatabase, 4096),
        ("", Role::Temporary, 0),
    ] {
        let storage = with_root(folder.path(), false, 20_000);
        let mut file = storage.open(name, role, CREATE).unwrap();
        file.write(0, &[1; 12_000]).unwrap();
        assert_eq!(storage.grown(), 12_000, "{name}");
        assert_eq!(
            file.write(11_000, &[2; 10_000]),
            Err(ErrorCode::Full),
            "{name}"
        );
        assert_eq!(file.write(1 << 40, b"x"), Err(ErrorCode::Full), "{name}");
        assert_eq!(file.truncate(20_001), Err(ErrorCode::Full), "{name}");
        assert_eq!(file.size(), Ok(12_000), "{name}");
        assert!(
            file.read(0, 20_000).unwrap().iter().all(|byte| *byte == 1),
            "{name}"
        );
        file.write(0, &[3; 12_000]).unwrap();
        file.write(12_000, &[4; 8_000]).unwrap();
        assert_eq!(storage.grown(), 20_000, "{name}");
        let other = storage
            .open("", Role::Temporary, CREATE)
            .unwrap()
            .write(0, b"x");
        assert_eq!(
            other,
            Err(ErrorCode::Full),
            "{name}: the quota is one for all"
        );
        file.truncate(5_000).unwrap();
        assert_eq!(storage.grown(), 5_000, "{name}");
        file.truncate(0).unwrap();
        drop(file);
        assert_eq!(storage.grown(), least, "{name}");
    }
}

#[test]
fn what_was_there_before_costs_nothing() {
    let folder = folder();
    fs::write(folder.path().join("shop.db"), vec![1; 100_000]).unwrap();
    let storage = serving(folder.path(), false, 10_000);
    let mut file = storage.open("shop.db", Role::MainDatabase, WRITE).unwrap();
    file.write(0, &[2; 100_000]).unwrap();
    assert_eq!(storage.grown(), 0);
    file.truncate(50_000).unwrap();
    file.write(50_000, &[2; 60_000]).unwrap();
    assert_eq!(storage.grown(), 10_000);
    assert_eq!(file.write(110_000, b"x"), Err(ErrorCode::Full));
    drop(file);
    let mut again = storage.open("shop.db", Role::MainDatabase, WRITE).unwrap();
    assert_eq!(
        again.write(110_000, b"x"),
        Err(ErrorCode::Full),
        "opening it again is no way around"
    );
}

#[test]
fn what_is_deleted_is_given_back_once_no_one_has_it_open() {
    let folder = folder();
    let storage = with_root(folder.path(), false, 100_000);
    for (journal, database) in [("memory-journal", "memory"), ("a.db-journal", "a.db")] {
        storage.open(database, Role::MainDatabase, CREATE).unwrap();
        let before = storage.grown();
        let mut file = storage.open(journal, Role::MainJournal, CREATE).unwrap();
        file.write(0, &[1; 50_000]).unwrap();
        assert_eq!(storage.grown() - before, 50_000, "{journal}");
        storage.delete(journal, false).unwrap();
        assert_eq!(
            storage.grown() - before,
            50_000,
            "{journal}: it still takes up the disk"
        );
        file.write(50_000, &[1; 100]).unwrap();
        drop(file);
        assert_eq!(storage.grown(), before, "{journal}");
    }
}

#[test]
fn empty_files_use_up_the_budget_too() {
    let folder = folder();
    let storage = with_root(folder.path(), false, 10 * 4096);
    let mut made = 0;
    while storage
        .open(&format!("{made}.db"), Role::MainDatabase, CREATE)
        .is_ok()
    {
        made += 1;
    }
    assert_eq!(made, 10);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 10);
    assert_eq!(
        storage.open("x.db", Role::MainDatabase, CREATE).map(drop),
        Err(ErrorCode::Full)
    );
}

#[test]
fn sqlite_reports_that_the_disk_is_full_and_continues() {
    let folder = folder();
    for name in ["memory", "disk.db"] {
        let storage = with_root(folder.path(), false, 2 * MIB);
        let sandbox = Sandbox::new(&storage);
        let connection = sandbox.open(name);
        run(
            &connection,
            "PRAGMA temp_store = file; CREATE TABLE t (id INTEGER PRIMARY KEY, x)",
        )
        .unwrap();
        run(&connection, "INSERT INTO t VALUES (1, zeroblob(100000))").unwrap();
        let error = run(&connection, "INSERT INTO t VALUES (2, zeroblob(3000000))").unwrap_err();
        assert_eq!(code(&error), rusqlite::ffi::SQLITE_FULL, "{name}");
        let sort =
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
            SELECT max(x) FROM (SELECT randomblob(200) AS x FROM n ORDER BY x LIMIT -1 OFFSET 10)";
        run(&connection, "PRAGMA cache_size = 10").unwrap();
        let error = run(&connection, sort).unwrap_err();
        assert_eq!(
            code(&error),
            rusqlite::ffi::SQLITE_FULL,
            "{name}: sorter files count"
        );
        assert_eq!(
            run(&connection, "SELECT count(*) FROM t").unwrap(),
            "1",
            "{name}"
        );
        run(&connection, "INSERT INTO t VALUES (3, zeroblob(1000000))").unwrap();
        assert_eq!(
            run(&connection, "PRAGMA integrity_check").unwrap(),
            "ok",
            "{name}"
        );
        assert!(storage.grown() <= 2 * MIB);
    }
}
