//! Write-ahead logs that are shared with other processes.

use std::ptr::NonNull;

use super::locking::both_write;
use super::sandbox::Sandbox;
use super::*;
use crate::storage::file::OPEN_FILES;
use crate::storage::native::REGION;

const BUSY: i32 = rusqlite::ffi::SQLITE_BUSY;

/// Memory as a guest has it.
struct Guest {
    at: NonNull<u8>,
    length: usize,
}

impl Guest {
    fn new(buffers: usize) -> Self {
        let length = buffers * REGION;
        // SAFETY: asks for new memory anywhere.
        let at = unsafe {
            let (access, kind) = (
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANON,
            );
            libc::mmap(std::ptr::null_mut(), length, access, kind, -1, 0)
        };
        assert_ne!(at, libc::MAP_FAILED);
        Self {
            at: NonNull::new(at.cast()).unwrap(),
            length,
        }
    }

    fn byte(&self, buffer: usize, at: usize) -> *mut u8 {
        assert!(at < REGION && buffer < self.length / REGION);
        self.at.as_ptr().wrapping_add(buffer * REGION + at)
    }

    fn buffer(&self, buffer: usize) -> ShmRegion {
        // SAFETY: inside the mapping, which lives until `self` is dropped.
        unsafe { ShmRegion::new(self.byte(buffer, 0), REGION).unwrap() }
    }

    fn get(&self, buffer: usize, at: usize) -> u8 {
        // SAFETY: inside the mapping.
        unsafe { self.byte(buffer, at).read_volatile() }
    }

    fn set(&self, buffer: usize, at: usize, to: u8) {
        // SAFETY: inside the mapping.
        unsafe { self.byte(buffer, at).write_volatile(to) }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`; buffers are part of it.
        unsafe { libc::munmap(self.at.as_ptr().cast(), self.length) };
    }
}

fn database(storage: &Storage) -> File {
    database_at(storage, "shop.db")
}

fn database_at(storage: &Storage, name: &str) -> File {
    let mut file = storage.open(name, Role::MainDatabase, CREATE).unwrap();
    file.lock(LockLevel::Shared).unwrap();
    file
}

#[test]
fn a_buffer_is_the_shared_memory_itself_until_it_is_unmapped() {
    let folder = folder();
    let storage = serving(folder.path(), false, MIB);
    let (mut one, mut other) = (database(&storage), database(&storage));
    let guest = Guest::new(4);
    guest.set(0, 7, 99);
    assert_eq!(
        one.shm_map(0, guest.buffer(0), false),
        Ok(false),
        "there is none yet"
    );
    assert_eq!(guest.get(0, 7), 99, "and the buffer is untouched");
    assert_eq!(one.shm_map(1, guest.buffer(1), true), Ok(true));
    assert_eq!(one.shm_map(0, guest.buffer(0), true), Ok(true));
    assert_eq!(other.shm_map(0, guest.buffer(2), false), Ok(true));
    assert_eq!(other.shm_map(1, guest.buffer(3), false), Ok(true));
    for (from, to, value) in [(0, 2, 11), (3, 1, 22)] {
        guest.set(from, 1000, value);
        guest.set(from, REGION - 1, value);
        assert_eq!(
            (guest.get(to, 1000), guest.get(to, REGION - 1)),
            (value, value)
        );
    }
    let file = fs::metadata(folder.path().join("shop.db-shm")).unwrap();
    assert_eq!(file.len(), 2 * REGION as u64);
    one.shm_unmap(false).unwrap();
    assert_eq!((guest.get(0, 1000), guest.get(1, 1000)), (0, 0));
    guest.set(0, 1000, 33);
    assert_eq!(
        guest.get(2, 1000),
        11,
        "the buffer is ordinary memory again"
    );
    assert_eq!(guest.get(3, 1000), 22);
    other.shm_unmap(true).unwrap();
    assert_eq!(guest.get(2, 1000), 0);
    assert!(!folder.path().join("shop.db-shm").exists());
    assert_eq!(
        one.shm_map(0, guest.buffer(0), true),
        Ok(true),
        "it can be mapped again"
    );
}

#[test]
fn a_file_may_go_before_or_after_the_guest() {
    let folder = folder();
    let storage = serving(folder.path(), false, MIB);
    let (mut before, mut after) = (database(&storage), database(&storage));
    let guest = Guest::new(2);
    before.shm_map(0, guest.buffer(0), true).unwrap();
    after.shm_map(0, guest.buffer(1), true).unwrap();
    drop(before);
    guest.set(0, 500, 5);
    assert_eq!(guest.get(0, 500), 5);
    drop(guest);
    drop(after);
}

/// SQLite removes it under the name that the first handle opened it by.
#[test]
fn an_index_is_removed_from_the_folder_where_it_was_made() {
    let root = folder();
    for name in ["old", "new"] {
        fs::create_dir(root.path().join(name)).unwrap();
    }
    let storage = with_root(root.path(), false, 100 * MIB);
    let guest = Guest::new(2);
    let mut first = database_at(&storage, "old/shop.db");
    first.shm_map(0, guest.buffer(0), true).unwrap();
    let path = |folder: &str, name: &str| root.path().join(folder).join(name);
    fs::rename(path("old", "shop.db"), path("new", "shop.db")).unwrap();
    let mut second = database_at(&storage, "new/shop.db");
    second.shm_map(0, guest.buffer(1), false).unwrap();
    drop(first);
    // Folders enough for every descriptor that was let go of to be in use again.
    for at in 0..3 * OPEN_FILES {
        let at = at.to_string();
        fs::create_dir(root.path().join(&at)).unwrap();
        fs::write(path(&at, "shop.db-shm"), b"another's").unwrap();
        storage
            .open(&format!("{at}/shop.db"), Role::MainDatabase, CREATE)
            .unwrap();
    }
    second.shm_unmap(true).unwrap();
    assert!(!path("old", "shop.db-shm").exists());
    for at in 0..3 * OPEN_FILES {
        assert!(path(&at.to_string(), "shop.db-shm").exists(), "{at}");
    }
}

#[test]
fn a_buffer_is_one_region_of_whole_pages() {
    let guest = Guest::new(3);
    for (at, length) in [
        (0, REGION - 1),
        (0, REGION + 1),
        (0, 2 * REGION),
        (0, 0),
        (1, REGION),
        (512, REGION),
    ] {
        // SAFETY: inside the mapping.
        let region = unsafe { ShmRegion::new(guest.byte(0, at), length) };
        assert_eq!(region.map(drop), Err(ErrorCode::Invalid), "{at} {length}");
    }
    // SAFETY: refused, so never used.
    assert!(unsafe { ShmRegion::new(std::ptr::null_mut(), REGION) }.is_err());
}

#[test]
fn the_index_is_not_extended_beyond_reason_or_budget() {
    let folder = folder();
    let storage = serving(folder.path(), false, MIB);
    let mut file = database(&storage);
    let guest = Guest::new(1);
    for region in [8192, u32::MAX] {
        assert_eq!(
            file.shm_map(region, guest.buffer(0), true),
            Err(ErrorCode::Invalid)
        );
    }
    assert_eq!(
        file.shm_map(100, guest.buffer(0), true),
        Err(ErrorCode::Full)
    );
    assert_eq!(file.shm_map(9, guest.buffer(0), true), Ok(true));
    assert_eq!(
        storage.grown(),
        10 * REGION as u64 + 4096,
        "the file that was made costs a block"
    );
    assert_eq!(file.shm_map(9, guest.buffer(0), true), Ok(true));
    file.shm_unmap(true).unwrap();
    assert_eq!(storage.grown(), 4096);
    file.unlock(LockLevel::None).unwrap();
    assert_eq!(
        file.shm_map(0, guest.buffer(0), true),
        Err(ErrorCode::Invalid),
        "only under a shared lock"
    );
}

#[test]
fn slots_are_locked_between_handles_and_released_only_by_their_holder() {
    let folder = folder();
    let storage = serving(folder.path(), false, MIB);
    let (mut one, mut other) = (database(&storage), database(&storage));
    let guest = Guest::new(2);
    one.shm_map(0, guest.buffer(0), true).unwrap();
    other.shm_map(0, guest.buffer(1), true).unwrap();
    one.shm_lock(3, 1, ShmAction::LockShared).unwrap();
    other.shm_lock(3, 1, ShmAction::LockShared).unwrap();
    assert_eq!(
        other.shm_lock(3, 5, ShmAction::LockExclusive),
        Err(ErrorCode::Busy)
    );
    other.shm_lock(3, 1, ShmAction::UnlockShared).unwrap();
    other.shm_lock(3, 1, ShmAction::UnlockShared).unwrap();
    assert_eq!(
        other.shm_lock(3, 5, ShmAction::LockExclusive),
        Err(ErrorCode::Busy),
        "the other's hold is its own"
    );
    one.shm_lock(3, 1, ShmAction::UnlockShared).unwrap();
    other.shm_lock(3, 5, ShmAction::LockExclusive).unwrap();
    assert_eq!(
        one.shm_lock(4, 1, ShmAction::LockShared),
        Err(ErrorCode::Busy)
    );
    assert_eq!(
        one.shm_lock(4, 1, ShmAction::UnlockExclusive),
        Ok(()),
        "nothing of its own to release"
    );
    assert_eq!(
        one.shm_lock(4, 1, ShmAction::LockShared),
        Err(ErrorCode::Busy)
    );
    assert_eq!(
        other.shm_lock(2, 2, ShmAction::UnlockExclusive),
        Err(ErrorCode::Invalid)
    );
    drop(other);
    assert_eq!(
        one.shm_lock(4, 1, ShmAction::LockShared),
        Ok(()),
        "closing lets go"
    );
}

#[test]
fn each_side_sees_what_the_other_commits() {
    let folder = folder();
    let mut native = Native::open(&folder.path().join("shop.db"));
    assert_eq!(native.sql("PRAGMA journal_mode = wal"), "wal");
    native.sql("CREATE TABLE t (x); INSERT INTO t VALUES (1)");
    let storage = serving(folder.path(), false, 100 * MIB);
    let sandbox = Sandbox::new(&storage);
    let ours = sandbox.open("shop.db");
    assert_eq!(run(&ours, "SELECT count(*) FROM t").unwrap(), "1");
    run(&ours, "INSERT INTO t VALUES (2)").unwrap();
    assert_eq!(native.sql("SELECT count(*) FROM t"), "2");

    native.sql("BEGIN IMMEDIATE; INSERT INTO t VALUES (3)");
    assert_eq!(
        run(&ours, "SELECT count(*) FROM t").unwrap(),
        "2",
        "readers go on"
    );
    assert_eq!(
        code(&run(&ours, "INSERT INTO t VALUES (4)").unwrap_err()),
        BUSY
    );
    run(&ours, "BEGIN; SELECT * FROM t").unwrap();
    native.sql("COMMIT");
    assert_eq!(
        run(&ours, "SELECT count(*) FROM t").unwrap(),
        "2",
        "a transaction keeps what it has seen"
    );
    assert_eq!(
        native.sql("PRAGMA wal_checkpoint(truncate)"),
        "1",
        "and the log with it"
    );
    assert_eq!(run(&ours, "COMMIT; SELECT count(*) FROM t").unwrap(), "3");
    assert_eq!(native.sql("PRAGMA wal_checkpoint(truncate)"), "0");
    assert_eq!(
        run(&ours, "INSERT INTO t VALUES (4); SELECT count(*) FROM t").unwrap(),
        "4"
    );
    native.close();
    assert!(
        folder.path().join("shop.db-shm").exists(),
        "we still have it open"
    );
    assert_eq!(run(&ours, "PRAGMA integrity_check").unwrap(), "ok");
    ours.close().unwrap();
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "the last one to close leaves the database alone"
    );
}

#[test]
fn two_that_write_a_log_at_once_lose_nothing() {
    let folder = folder();
    let mut native = Native::open(&folder.path().join("shop.db"));
    native.sql("PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 20; CREATE TABLE other (x)");
    both_write(folder.path(), 3);
    native.close();
}

#[test]
fn a_log_of_several_regions_is_indexed() {
    let folder = folder();
    let storage = serving(folder.path(), false, 1000 * MIB);
    let sandbox = Sandbox::new(&storage);
    let ours = sandbox.open("shop.db");
    run(
        &ours,
        "PRAGMA page_size = 512; CREATE TABLE t (id INTEGER PRIMARY KEY, x)",
    )
    .unwrap();
    run(
        &ours,
        "PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = 10",
    )
    .unwrap();
    let fill = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
        INSERT INTO t SELECT i, hex(zeroblob(200)) FROM n";
    run(&ours, fill).unwrap();
    assert!(
        fs::metadata(folder.path().join("shop.db-shm"))
            .unwrap()
            .len()
            >= 4 * REGION as u64
    );
    let mut native = Native::open(&folder.path().join("shop.db"));
    assert_eq!(native.sql("SELECT count(*) FROM t"), "20000");
    native.sql("UPDATE t SET x = id");
    assert_eq!(run(&ours, "SELECT sum(x) FROM t").unwrap(), "200010000");
    assert_eq!(run(&ours, "PRAGMA integrity_check").unwrap(), "ok");
    native.close();
}

#[test]
fn a_guest_that_is_aborted_during_a_write_keeps_no_one_waiting() {
    let folder = folder();
    let mut native = Native::open(&folder.path().join("shop.db"));
    native.sql("PRAGMA journal_mode = wal; CREATE TABLE t (x)");
    let storage = serving(folder.path(), false, 100 * MIB);
    let sandbox = Sandbox::new(&storage);
    let ours = sandbox.open("shop.db");
    run(
        &ours,
        "INSERT INTO t VALUES (1); BEGIN IMMEDIATE; INSERT INTO t VALUES (2)",
    )
    .unwrap();
    assert_eq!(native.try_sql("INSERT INTO t VALUES (3)"), Err(BUSY));
    sandbox.cut([ours]);
    native.sql("INSERT INTO t VALUES (3)");
    let next = Sandbox::new(&storage);
    assert_eq!(
        run(&next.open("shop.db"), "SELECT group_concat(x) FROM t").unwrap(),
        "1,3"
    );
    native.close();
}

#[test]
fn a_log_that_was_left_behind_is_recovered() {
    let folder = folder();
    let mut native = Native::open(&folder.path().join("shop.db"));
    native.sql("PRAGMA journal_mode = wal; CREATE TABLE t (x); INSERT INTO t VALUES (1)");
    native.crash();
    let sandbox = Sandbox::new(&serving(folder.path(), false, 100 * MIB));
    let ours = sandbox.open("shop.db");
    assert_eq!(run(&ours, "SELECT count(*) FROM t").unwrap(), "1");
    run(&ours, "INSERT INTO t VALUES (2)").unwrap();
    ours.close().unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
