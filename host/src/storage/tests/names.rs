//! What may be named.

use std::os::unix::fs::symlink;

use super::*;
use crate::storage::file::OPEN_FILES;

fn open(storage: &Storage, name: &str) -> Result<()> {
    storage.open(name, Role::MainDatabase, CREATE).map(drop)
}

#[test]
fn the_served_database_and_its_two_companions_are_all_there_is() {
    let folder = folder();
    fs::write(folder.path().join("other.db"), b"secret").unwrap();
    let storage = serving(folder.path(), false, MIB);
    assert_eq!(open(&storage, "shop.db"), Ok(()));
    assert!(
        storage
            .open("shop.db-journal", Role::MainJournal, CREATE)
            .is_ok()
    );
    assert!(storage.open("shop.db-wal", Role::Wal, CREATE).is_ok());
    let absolute = folder.path().join("shop.db");
    for name in [
        "other.db",
        "shop.db-shm",
        "shop.db-x",
        "shop",
        "shop.db ",
        "Shop.db",
        "./shop.db",
        "../shop.db",
        ".",
        "..",
        "/",
        "/etc/passwd",
        "shop.db\0",
        "shop.db/",
        "shop.db/../other.db",
        absolute.to_str().unwrap(),
        "file:shop.db",
        "shop.db?x=1",
    ] {
        assert_eq!(open(&storage, name), Err(ErrorCode::Denied), "{name}");
        assert_eq!(
            storage.exists(name, false),
            Err(ErrorCode::Denied),
            "{name}"
        );
        assert_eq!(
            storage.delete(name, false),
            Err(ErrorCode::Denied),
            "{name}"
        );
    }
}

#[test]
fn a_name_is_opened_only_as_what_it_is() {
    let folder = folder();
    let storage = serving(folder.path(), false, MIB);
    let names = [
        ("shop.db", Role::MainDatabase),
        ("shop.db-journal", Role::MainJournal),
        ("shop.db-wal", Role::Wal),
    ];
    for (name, own) in names {
        for role in [
            Role::MainDatabase,
            Role::MainJournal,
            Role::Wal,
            Role::SuperJournal,
        ] {
            let opened = storage.open(name, role, CREATE).map(drop);
            assert_eq!(
                opened,
                if role == own {
                    Ok(())
                } else {
                    Err(ErrorCode::Denied)
                },
                "{name} as {role:?}"
            );
        }
    }
    let transient = OpenOptions {
        delete_on_close: true,
        ..CREATE
    };
    assert_eq!(
        storage
            .open("shop.db", Role::MainDatabase, transient)
            .map(drop),
        Err(ErrorCode::Invalid)
    );
}

#[test]
fn a_database_is_never_deleted() {
    let folder = folder();
    fs::write(folder.path().join("a.db"), b"").unwrap();
    let storage = with_root(folder.path(), false, MIB);
    open(&storage, "memory").unwrap();
    for name in ["a.db", "memory"] {
        assert_eq!(
            storage.delete(name, false),
            Err(ErrorCode::Denied),
            "{name}"
        );
    }
    assert!(folder.path().join("a.db").exists());
}

#[test]
fn below_the_root_relative_paths_are_names() {
    let folder = folder();
    fs::create_dir_all(folder.path().join("a/b")).unwrap();
    let storage = with_root(folder.path(), false, MIB);
    for name in [
        "x.db",
        "a/x.db",
        "a/b/x.db",
        ".hidden",
        "a/ü\n.db",
        "name with-journal in it",
    ] {
        assert_eq!(open(&storage, name), Ok(()), "{name}");
        assert!(folder.path().join(name).is_file(), "{name}");
    }
    assert!(
        storage
            .open("a/x.db-journal", Role::MainJournal, CREATE)
            .is_ok()
    );
    assert!(storage.open("a/x.db-wal", Role::Wal, CREATE).is_ok());
    assert_eq!(storage.delete("a/x.db-journal", true), Ok(()));
    assert_eq!(
        storage.delete("a/x.db-journal", true),
        Err(ErrorCode::NotFound)
    );
    assert_eq!(open(&storage, "nowhere/x.db"), Err(ErrorCode::NotFound));
    assert_eq!(open(&storage, "x.db/x.db"), Err(ErrorCode::NotFound));
}

#[test]
fn no_name_leads_out_of_the_root() {
    let outside = folder();
    fs::write(outside.path().join("secret.db"), b"secret").unwrap();
    let folder = folder();
    let root = folder.path();
    fs::create_dir(root.join("sub")).unwrap();
    fs::write(root.join("real.db"), b"").unwrap();
    symlink(outside.path(), root.join("out")).unwrap();
    symlink(outside.path().join("secret.db"), root.join("link.db")).unwrap();
    symlink(outside.path().join("new.db"), root.join("dangling.db")).unwrap();
    symlink("real.db", root.join("inner.db")).unwrap();
    symlink("..", root.join("sub/up")).unwrap();
    symlink("../..", root.join("sub/upper")).unwrap();
    let storage = with_root(root, false, MIB);

    let absolute = root.join("real.db");
    let long = format!("{}x", "a/".repeat(3000));
    for name in [
        "..",
        ".",
        "../x",
        "sub/../../x",
        "sub/../real.db",
        "./real.db",
        "sub//x",
        "sub/",
        "/",
        "sub/./x",
        "x/.",
        "real.db\0x",
        "real.db-shm",
        absolute.to_str().unwrap(),
        "/etc/passwd",
        &long,
        "link.db",
        "dangling.db",
        "inner.db",
    ] {
        assert_eq!(open(&storage, name), Err(ErrorCode::Denied), "{name:?}");
    }
    for name in ["out/secret.db", "sub/upper/x"] {
        assert!(open(&storage, name).is_err(), "{name}");
        assert!(storage.exists(name, false).is_err(), "{name}");
    }
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    // A way through the root that stays in it is one.
    assert_eq!(open(&storage, "sub/up/real.db"), Ok(()));
}

#[test]
fn a_directory_that_is_swapped_for_a_link_does_not_lead_out() {
    let outside = folder();
    let folder = folder();
    let root = folder.path();
    fs::create_dir(root.join("sub")).unwrap();
    let storage = with_root(root, false, MIB);
    let mut file = storage
        .open("sub/x.db", Role::MainDatabase, CREATE)
        .unwrap();
    fs::rename(root.join("sub"), root.join("moved")).unwrap();
    symlink(outside.path(), root.join("sub")).unwrap();
    file.write(0, b"where it was").unwrap();
    assert_eq!(fs::read(root.join("moved/x.db")).unwrap(), b"where it was");
    assert!(
        storage
            .open("sub/x.db-journal", Role::MainJournal, CREATE)
            .is_err()
    );
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn what_is_no_file_is_not_waited_for() {
    let folder = folder();
    let pipe = folder.path().join("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    fs::create_dir(folder.path().join("sub")).unwrap();
    let storage = with_root(folder.path(), false, MIB);
    for name in ["pipe", "sub"] {
        assert_eq!(open(&storage, name), Err(ErrorCode::Denied), "{name}");
        assert_eq!(
            storage.open(name, Role::MainDatabase, READ).map(drop),
            Err(ErrorCode::Denied),
            "{name}"
        );
    }
}

#[test]
fn many_directories_are_reached_and_the_first_still_works() {
    let folder = folder();
    for at in 0..200 {
        fs::create_dir(folder.path().join(at.to_string())).unwrap();
    }
    let storage = with_root(folder.path(), false, 100 * MIB);
    let mut first = storage.open("0/x.db", Role::MainDatabase, CREATE).unwrap();
    for at in 0..200 {
        open(&storage, &format!("{at}/x.db")).unwrap();
    }
    first.write(0, b"first").unwrap();
    assert_eq!(fs::read(folder.path().join("0/x.db")).unwrap(), b"first");
}

#[test]
fn the_journal_of_a_linked_database_lies_beside_the_real_one() {
    let (here, there) = (folder(), folder());
    symlink(there.path().join("real.db"), here.path().join("shop.db")).unwrap();
    fs::write(there.path().join("real.db"), b"").unwrap();
    let storage = serving(here.path(), false, MIB);
    storage
        .open("shop.db-journal", Role::MainJournal, CREATE)
        .unwrap();
    assert!(there.path().join("real.db-journal").exists());
    assert!(!here.path().join("shop.db-journal").exists());
}

#[test]
fn a_served_path_that_is_too_long_for_sqlite_is_refused_at_start() {
    let folder = folder();
    let long = folder.path().join("x".repeat(250)).join("y".repeat(250));
    fs::create_dir_all(&long).unwrap();
    let database = Served::File {
        name: "shop.db".into(),
        path: long.join("shop.db"),
        readonly: false,
    };
    let refused = Storage::new(
        Grants {
            database,
            files: Vec::new(),
            record: None,
            root: None,
        },
        MIB,
    )
    .map(drop)
    .unwrap_err();
    assert!(refused.to_string().contains("500 bytes"), "{refused}");
    // Below a root only the last part counts, where there are paths through descriptors.
    let deep = format!("{}/{}/shop.db", "x".repeat(250), "y".repeat(250));
    assert_eq!(open(&with_root(folder.path(), false, MIB), &deep), Ok(()));
}

#[test]
fn super_journals_are_looked_for_but_not_made() {
    let folder = folder();
    let storage = serving(folder.path(), false, MIB);
    let name = "shop.db-mj0123AB9CD";
    assert_eq!(
        storage.open(name, Role::SuperJournal, CREATE).map(drop),
        Err(ErrorCode::Denied)
    );
    assert_eq!(storage.exists(name, false), Ok(false));
    // The one that a journal of another program names decides whether that journal is rolled back.
    let foreign = folder
        .path()
        .canonicalize()
        .unwrap()
        .join("other.db-mj0123AB9CD");
    assert_eq!(storage.exists(foreign.to_str().unwrap(), false), Ok(false));
    fs::write(&foreign, b"names").unwrap();
    assert_eq!(storage.exists(foreign.to_str().unwrap(), false), Ok(true));
    assert_eq!(
        storage.delete(foreign.to_str().unwrap(), false),
        Err(ErrorCode::Denied)
    );
    assert_eq!(
        storage.exists("/etc/x-mj0123AB9CD", false),
        Err(ErrorCode::Denied)
    );
    assert_eq!(storage.exists("/etc/passwd", false), Err(ErrorCode::Denied));
}

#[test]
fn the_record_is_a_file_in_memory_that_no_root_reaches() {
    let folder = folder();
    let grants = |record: Option<&str>| Grants {
        database: Served::Memory {
            name: "memory".into(),
        },
        files: Vec::new(),
        record: record.map(Into::into),
        root: Some(Root {
            directory: folder.path().into(),
            readonly: false,
        }),
    };
    let without = Storage::new(grants(None), MIB).unwrap();
    assert_eq!(open(&without, "//undo"), Err(ErrorCode::Denied));
    let storage = Storage::new(grants(Some("//undo")), MIB).unwrap();
    let mut file = storage.open("//undo", Role::MainDatabase, CREATE).unwrap();
    file.write(0, &[1; 1000]).unwrap();
    assert_eq!(storage.grown(), 1000);
    assert_eq!(file.write(0, &[1; 2 << 20]), Err(ErrorCode::Full));
    drop(file);
    // Another handle, as after a cut, finds what the first one wrote.
    let mut again = storage.open("//undo", Role::MainDatabase, CREATE).unwrap();
    assert_eq!(again.size(), Ok(1000));
    assert!(
        storage
            .open("//undo-journal", Role::MainJournal, CREATE)
            .is_ok()
    );
    assert_eq!(open(&storage, "undo"), Ok(()));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn any_number_of_folders_can_be_used_one_after_the_other() {
    let root = folder();
    let storage = with_root(root.path(), false, 100 * MIB);
    let path = |at: usize| format!("{at}/x.db");
    fs::create_dir(root.path().join("0")).unwrap();
    let mut first = storage.open(&path(0), Role::MainDatabase, CREATE).unwrap();
    for at in 1..3 * OPEN_FILES {
        fs::create_dir(root.path().join(at.to_string())).unwrap();
        assert_eq!(open(&storage, &path(at)), Ok(()), "{at}");
    }
    // The folder of a file that is open stays the one that it was.
    first.lock(LockLevel::Shared).unwrap();
    first.write(0, b"first").unwrap();
    assert_eq!(fs::read(root.path().join(path(0))).unwrap(), b"first");
    assert_eq!(storage.exists(&path(0), true), Ok(true));
}

#[test]
fn a_file_whose_path_leads_elsewhere_has_moved() {
    let folder = folder();
    let (path, other) = (
        folder.path().join("shop.db"),
        folder.path().join("other.db"),
    );
    fs::write(&path, "").unwrap();
    let storage = serving(folder.path(), false, MIB);
    let mut file = storage.open("shop.db", Role::MainDatabase, WRITE).unwrap();
    assert_eq!(file.has_moved(), Ok(false));
    fs::rename(&path, &other).unwrap();
    assert_eq!(file.has_moved(), Ok(true));
    fs::rename(&other, &path).unwrap();
    assert_eq!(file.has_moved(), Ok(false));
    fs::remove_file(&path).unwrap();
    assert_eq!(file.has_moved(), Ok(true));
    let mut nameless = storage.open("", Role::Temporary, CREATE).unwrap();
    assert_eq!(nameless.has_moved(), Ok(false));
}

#[test]
fn a_link_that_is_turned_elsewhere_leads_to_the_other_database_as_soon_as_the_first_is_closed() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    for name in ["one", "two"] {
        fs::create_dir(at(name)).unwrap();
        fs::write(at(name).join("real.db"), name).unwrap();
    }
    let turn = |to: &str| {
        let _ = fs::remove_file(at("shop.db"));
        symlink(at(to).join("real.db"), at("shop.db")).unwrap();
    };
    turn("one");
    let storage = serving(folder.path(), false, MIB);
    let open = || {
        let mut file = storage.open("shop.db", Role::MainDatabase, WRITE).unwrap();
        let start = file.read(0, 3).unwrap();
        (file, String::from_utf8(start).unwrap())
    };
    let (mut first, found) = open();
    assert_eq!((found.as_str(), first.has_moved()), ("one", Ok(false)));
    turn("two");
    assert_eq!(first.has_moved(), Ok(true));
    // Its journal stays beside it, and no one opens the other database meanwhile.
    let journal = storage.open("shop.db-journal", Role::MainJournal, CREATE);
    drop(journal.unwrap());
    assert!(at("one/real.db-journal").exists());
    assert!(!at("two/real.db-journal").exists());
    let (second, found) = open();
    assert_eq!(found, "one");
    drop((first, second));
    let (mut third, found) = open();
    assert_eq!((found.as_str(), third.has_moved()), ("two", Ok(false)));
    drop(storage.open("shop.db-journal", Role::MainJournal, CREATE));
    assert!(at("two/real.db-journal").exists());
    // What is served now is no plain file, and no link to nowhere makes one.
    fs::remove_file(at("shop.db")).unwrap();
    symlink(at("none"), at("shop.db")).unwrap();
    assert_eq!(third.has_moved(), Ok(true));
    drop(third);
    let gone = storage.open("shop.db", Role::MainDatabase, CREATE);
    assert_eq!(gone.map(drop), Err(ErrorCode::Denied));
    assert!(!at("none").exists());
}

#[test]
fn a_folder_on_the_way_that_is_swapped_means_another_file() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    for name in ["one", "two"] {
        fs::create_dir(at(name)).unwrap();
        fs::write(at(name).join("shop.db"), name).unwrap();
    }
    symlink("one", at("now")).unwrap();
    let served = serving(&at("now"), false, MIB);
    let root = with_root(folder.path(), false, MIB);
    let mut files = [(&served, "shop.db"), (&root, "now/shop.db")]
        .map(|(storage, name)| storage.open(name, Role::MainDatabase, WRITE).unwrap());
    for file in &mut files {
        assert_eq!(file.has_moved(), Ok(false));
    }
    fs::remove_file(at("now")).unwrap();
    symlink("two", at("now")).unwrap();
    for file in &mut files {
        assert_eq!(file.has_moved(), Ok(true));
    }
    drop(files);
    for (storage, name) in [(&served, "shop.db"), (&root, "now/shop.db")] {
        let mut file = storage.open(name, Role::MainDatabase, WRITE).unwrap();
        assert_eq!(file.read(0, 3).unwrap(), b"two");
        assert_eq!(file.has_moved(), Ok(false));
    }
}
