//! Plain files: what is read as it is, and what gets its name when it is whole.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

const EXCLUSIVE: OpenOptions = OpenOptions {
    exclusive: true,
    ..CREATE
};

fn stage(storage: &Storage, name: &str) -> Result<File> {
    storage.open(name, Role::Staged, CREATE)
}

fn plain(storage: &Storage, name: &str) -> Result<File> {
    storage.open(name, Role::Plain, READ)
}

fn names(folder: &Path) -> Vec<String> {
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    contents(folder).keys().map(name).collect()
}

#[test]
fn a_staged_file_is_nowhere_until_it_is_published() {
    let folder = folder();
    let storage = with_root(folder.path(), false, MIB);
    let mut file = stage(&storage, "new").unwrap();
    file.write(0, b"hello").unwrap();
    file.write(3, b"p me").unwrap();
    assert_eq!(file.read(0, 100).unwrap(), b"help me");
    if cfg!(target_os = "linux") {
        assert!(names(folder.path()).is_empty());
    }
    file.publish(false).unwrap();
    assert_eq!(names(folder.path()), ["new"]);
    assert_eq!(fs::read(folder.path().join("new")).unwrap(), b"help me");
    // What has its name is not written any more.
    assert_eq!(file.write(0, b"x"), Err(ErrorCode::ReadOnly));
    assert_eq!(file.publish(true), Err(ErrorCode::Invalid));
    drop(file);
    let mut file = stage(&storage, "gone").unwrap();
    file.write(0, b"x").unwrap();
    drop(file);
    assert_eq!(names(folder.path()), ["new"]);
}

#[test]
fn an_existing_file_is_replaced_only_on_request() {
    let folder = folder();
    let storage = with_root(folder.path(), false, MIB);
    let path = folder.path().join("there");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let refused = storage.open("there", Role::Staged, EXCLUSIVE).map(drop);
    assert_eq!(refused, Err(ErrorCode::Exists));
    let mut file = stage(&storage, "there").unwrap();
    file.write(0, b"new").unwrap();
    assert_eq!(file.publish(false), Err(ErrorCode::Exists));
    assert_eq!(fs::read(&path).unwrap(), b"old");
    file.publish(true).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o640
    );
    // Whatever came to be there in the meantime is refused as well.
    let mut file = storage.open("late", Role::Staged, EXCLUSIVE).unwrap();
    fs::write(folder.path().join("late"), "theirs").unwrap();
    assert_eq!(file.publish(false), Err(ErrorCode::Exists));
    drop(file);
    assert_eq!(names(folder.path()), ["late", "there"]);
}

#[test]
fn only_ordinary_files_are_read_or_replaced() {
    let folder = folder();
    let storage = with_root(folder.path(), false, MIB);
    let at = |name: &str| folder.path().join(name);
    fs::write(at("file"), "text").unwrap();
    fs::create_dir(at("folder")).unwrap();
    symlink("file", at("link")).unwrap();
    symlink("/etc/passwd", at("away")).unwrap();
    let made = Command::new("mkfifo").arg(at("pipe")).status().unwrap();
    assert!(made.success());
    for name in ["folder", "link", "away", "pipe"] {
        assert_eq!(
            plain(&storage, name).map(drop),
            Err(ErrorCode::Denied),
            "{name}"
        );
        assert_eq!(
            stage(&storage, name).map(drop),
            Err(ErrorCode::Denied),
            "{name}"
        );
    }
    for name in [
        "x-journal",
        "x-wal",
        "x-shm",
        "-",
        "../x",
        "/x",
        "a/../x",
        "x/",
        "",
        "./x",
    ] {
        assert_eq!(
            plain(&storage, name).map(drop),
            Err(ErrorCode::Denied),
            "{name}"
        );
        assert_eq!(
            stage(&storage, name).map(drop),
            Err(ErrorCode::Denied),
            "{name}"
        );
    }
    assert_eq!(plain(&storage, "none").map(drop), Err(ErrorCode::NotFound));
    let mut file = plain(&storage, "file").unwrap();
    assert_eq!(file.read(1, 2).unwrap(), b"ex");
    assert_eq!(file.write(0, b"x"), Err(ErrorCode::ReadOnly));
    // A link that is put there while the file is written stays unchanged.
    let mut file = stage(&storage, "new").unwrap();
    symlink("file", at("new")).unwrap();
    assert_eq!(file.publish(true), Err(ErrorCode::Denied));
    assert_eq!(fs::read(at("file")).unwrap(), b"text");
}

#[test]
fn a_database_is_no_plain_file_whatever_it_is_called() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let connection = Connection::open(at("shop.db")).unwrap();
    connection.execute_batch("CREATE TABLE t (a)").unwrap();
    drop(connection);
    fs::hard_link(at("shop.db"), at("twin")).unwrap();
    let storage = with_root(folder.path(), false, MIB);
    assert!(plain(&storage, "shop.db").is_err(), "it has another name");
    fs::remove_file(at("twin")).unwrap();
    assert!(plain(&storage, "shop.db").is_ok(), "nobody has it open");
    let open = storage.open("shop.db", Role::MainDatabase, WRITE).unwrap();
    fs::hard_link(at("shop.db"), at("twin")).unwrap();
    for name in ["shop.db", "twin"] {
        assert_eq!(
            plain(&storage, name).map(drop),
            Err(ErrorCode::Denied),
            "{name}"
        );
        assert_eq!(
            stage(&storage, name).map(drop),
            Err(ErrorCode::Denied),
            "{name}"
        );
    }
    drop(open);
    // The served one never is, nor under the names of its companions.
    let storage = serving(folder.path(), false, MIB);
    for name in ["shop.db", "shop.db-journal", "twin"] {
        assert_eq!(
            plain(&storage, name).map(drop),
            Err(ErrorCode::Denied),
            "{name}"
        );
    }
}

#[test]
fn a_plain_file_that_becomes_a_database_takes_no_locks_with_it() {
    let folder = folder();
    let path = folder.path().join("shop.db");
    Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE t (a)")
        .unwrap();
    let storage = with_root(folder.path(), false, MIB);
    let text = plain(&storage, "shop.db").unwrap();
    let mut database = storage.open("shop.db", Role::MainDatabase, WRITE).unwrap();
    database.lock(LockLevel::Shared).unwrap();
    database.lock(LockLevel::Reserved).unwrap();
    drop(text);
    let mut native = Native::open(&path);
    let refused = native.try_sql("INSERT INTO t VALUES (1)");
    assert_eq!(refused, Err(rusqlite::ffi::SQLITE_BUSY));
}

#[test]
fn staged_files_count_against_the_budget_until_they_are_gone() {
    let folder = folder();
    let storage = with_root(folder.path(), false, 10_000);
    let mut file = stage(&storage, "a").unwrap();
    file.write(0, &[1; 8000]).unwrap();
    assert_eq!(file.write(8000, &[1; 8000]), Err(ErrorCode::Full));
    assert_eq!(storage.grown(), 8000);
    drop(file);
    assert_eq!(storage.grown(), 0);
    let mut file = stage(&storage, "a").unwrap();
    file.write(0, &[1; 8000]).unwrap();
    file.publish(false).unwrap();
    drop(file);
    assert_eq!(storage.grown(), 8000);
    assert_eq!(stage(&storage, "b").map(drop), Err(ErrorCode::Full));
}

#[test]
fn where_only_reading_is_granted_nothing_is_staged() {
    let folder = folder();
    fs::write(folder.path().join("file"), "text").unwrap();
    let storage = with_root(folder.path(), true, MIB);
    assert_eq!(stage(&storage, "new").map(drop), Err(ErrorCode::ReadOnly));
    assert!(plain(&storage, "file").is_ok());
}

#[test]
fn a_file_that_is_granted_by_itself_is_for_one_thing_alone() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("in.csv"), "text").unwrap();
    fs::write(at("beside.csv"), "text").unwrap();
    let files = vec![
        Granted {
            name: "in.csv".into(),
            target: Target::Read(at("in.csv")),
        },
        Granted {
            name: "out.csv".into(),
            target: Target::Write(at("out.csv")),
        },
    ];
    let database = Served::Memory {
        name: "memory".into(),
    };
    let grants = Grants {
        database,
        record: None,
        files,
        root: None,
    };
    let storage = Storage::new(grants, MIB).unwrap();
    assert_eq!(
        plain(&storage, "in.csv").unwrap().read(0, 9).unwrap(),
        b"text"
    );
    for name in ["out.csv", "beside.csv", "memory", "-"] {
        assert_eq!(
            plain(&storage, name).map(drop),
            Err(ErrorCode::Denied),
            "{name}"
        );
    }
    for name in ["in.csv", "beside.csv", "memory", "-"] {
        assert_eq!(
            stage(&storage, name).map(drop),
            Err(ErrorCode::Denied),
            "{name}"
        );
    }
    stage(&storage, "out.csv").unwrap().publish(false).unwrap();
    // As a database it can be read, and no more.
    let refused = storage.open("in.csv", Role::MainJournal, CREATE).map(drop);
    assert!(refused.is_err());
    let mut source = storage.open("in.csv", Role::MainDatabase, WRITE).unwrap();
    assert!(source.is_read_only());
    assert_eq!(source.write(0, b"x"), Err(ErrorCode::ReadOnly));
}
