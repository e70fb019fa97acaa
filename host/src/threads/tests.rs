use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;

use rusqlite::Connection;
use tempfile::TempDir;

use super::*;

const DAY: Duration = Duration::from_secs(24 * 3600);

fn threads(file: &Path, name: &str) -> Threads {
    Threads::new(Options {
        file: file.to_owned(),
        principal: principal(name),
        age: 30 * DAY,
    })
}

fn texts(entries: Vec<Vec<u8>>) -> Vec<String> {
    let text = |entry| String::from_utf8(entry).expect("text");
    entries.into_iter().map(text).collect()
}

fn recalled(threads: &Threads, thread: &str) -> Vec<String> {
    texts(threads.recall(thread, &mut Known::default()))
}

fn append(threads: &Threads, thread: &str, entry: &str) -> bool {
    threads.append(thread, entry.as_bytes().to_vec(), &Known::default())
}

/// The store, as it is once `threads` has ended.
fn kept(file: &Path, name: &str, thread: &str) -> Vec<String> {
    let store = Store::existing(file).expect("a store");
    texts(store.show(principal(name), thread).expect("entries"))
}

fn last(range: std::ops::Range<u32>, who: &str) -> Vec<String> {
    range.map(|number| format!("{who}{number}")).collect()
}

#[test]
fn two_servers_of_two_principals_keep_their_threads_apart() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("state");
    thread::scope(|scope| {
        for who in ["a", "b"] {
            let file = &file;
            scope.spawn(move || {
                let threads = threads(file, who);
                let mut known = Known::default();
                for number in 0..1_000 {
                    let entry = format!("{who}{number}").into_bytes();
                    if threads.append("t", entry, &known) {
                        threads.recall("t", &mut known);
                    }
                }
                assert_eq!(recalled(&threads, "t"), last(980..1_000, who));
            });
        }
    });
    for who in ["a", "b"] {
        assert_eq!(kept(&file, who, "t"), last(980..1_000, who));
    }
}

#[test]
fn servers_of_one_principal_learn_of_each_other() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("state");
    let (one, other) = (threads(&file, "a"), threads(&file, "a"));
    let mut known = Known::default();
    assert!(one.append("t", b"1".to_vec(), &known));
    assert_eq!(texts(one.recall("t", &mut known)), ["1"]);
    assert!(!one.append("t", b"2".to_vec(), &known));
    until(|| recalled(&other, "t") == ["1", "2"]);
    append(&other, "t", "3");
    // It is told with one of its next entries.
    let mut number = 3;
    until(|| {
        number += 1;
        // Twenty of its own would put the other's out of the thread.
        assert!(number < 20, "it is not told");
        thread::sleep(Duration::from_millis(500));
        one.append("t", number.to_string().into_bytes(), &known)
    });
    let found = texts(one.recall("t", &mut known));
    assert!(found.contains(&"3".to_owned()), "{found:?}");
    assert_eq!(found.last(), Some(&number.to_string()));
    // Another thread, and another instance of the guest, know nothing.
    assert!(one.append("u", b"1".to_vec(), &known));
    assert!(append(&one, "t", "5"));
}

/// Waits for what comes soon.
fn until(mut there: impl FnMut() -> bool) {
    let began = Instant::now();
    while !there() {
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "it does not come"
        );
        thread::sleep(Duration::from_millis(5));
    }
}

/// A hundred calls with this store: they are remembered all the same, and what they wait in all is what one may.
fn assert_harmless(file: &Path) {
    let threads = threads(file, "a");
    let began = Instant::now();
    for number in 0..100 {
        append(&threads, "t", &number.to_string());
    }
    // The machine may be busy; if each call waited, it would be 1.5 seconds and more.
    let took = began.elapsed();
    assert!(
        took < Duration::from_secs(1),
        "{}: {took:?}",
        file.display()
    );
    assert_eq!(recalled(&threads, "t"), last(80..100, ""));
}

#[test]
fn a_store_that_is_none_delays_nothing_and_is_left_as_it_is() {
    let folder = TempDir::new().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    assert_harmless(folder.path());
    assert_harmless(&path("no/such/folder"));
    let _socket = UnixListener::bind(path("socket")).expect("a socket");
    assert_harmless(&path("socket"));
    fs::write(
        path("text"),
        "no database, but a text of some length".repeat(100),
    )
    .expect("written");
    let before = fs::read(path("text")).expect("the text");
    assert_harmless(&path("text"));
    assert_eq!(fs::read(path("text")).expect("the text"), before);
    let sql = "CREATE TABLE thread (x); INSERT INTO thread VALUES (1); PRAGMA user_version = 1;";
    Connection::open(path("foreign"))
        .expect("open")
        .execute_batch(sql)
        .expect(sql);
    let before = fs::read(path("foreign")).expect("the file");
    assert_harmless(&path("foreign"));
    assert_eq!(fs::read(path("foreign")).expect("the file"), before);
    let sql = "PRAGMA application_id = 0x73716c54; PRAGMA user_version = 9;";
    Connection::open(path("newer"))
        .expect("open")
        .execute_batch(sql)
        .expect(sql);
    assert_harmless(&path("newer"));
    // One that says that it is ours, and is not.
    let sql = "PRAGMA application_id = 0x73716c54; PRAGMA user_version = 1; CREATE TABLE call (x);";
    Connection::open(path("forged"))
        .expect("open")
        .execute_batch(sql)
        .expect(sql);
    assert_harmless(&path("forged"));
}

#[test]
fn a_store_that_is_locked_delays_nothing_and_has_everything_later() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("state");
    drop(Store::open(&file).expect("a store"));
    let lock = Connection::open(&file).expect("open");
    lock.execute_batch("BEGIN IMMEDIATE").expect("locked");
    let threads = threads(&file, "a");
    let began = Instant::now();
    for number in 0..100 {
        append(&threads, "t", &number.to_string());
    }
    let took = began.elapsed();
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert_eq!(recalled(&threads, "t"), last(80..100, ""));
    lock.execute_batch("COMMIT").expect("unlocked");
    until(|| kept(&file, "a", "t") == last(80..100, ""));
}

#[test]
fn what_was_appended_is_written_when_the_server_ends() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("state");
    let threads = threads(&file, "a");
    for number in 0..50 {
        append(&threads, "t", &number.to_string());
        append(&threads, &format!("u{number}"), "x");
    }
    drop(threads);
    assert_eq!(kept(&file, "a", "t"), last(30..50, ""));
    assert_eq!(kept(&file, "a", "u7"), ["x"]);
    let again = self::threads(&file, "a");
    until(|| recalled(&again, "t") == last(30..50, ""));
}

#[test]
fn more_threads_than_are_held_in_memory_are_all_remembered() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("state");
    let threads = threads(&file, "a");
    for round in 0..2 {
        for number in 0..2 * HELD {
            append(&threads, &format!("t{number}"), &round.to_string());
            threads.shared.flushed();
        }
    }
    drop(threads);
    for number in 0..2 * HELD {
        assert_eq!(kept(&file, "a", &format!("t{number}")), ["0", "1"]);
    }
}

impl Shared {
    /// Waits until everything is written.
    fn flushed(&self) {
        until(|| self.state().rings.values().all(|ring| ring.unsaved == 0));
    }
}

#[test]
fn threads_that_are_not_used_expire() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("state");
    let mut store = Store::open(&file).expect("a store");
    let entries = |text: &str| {
        vec![Entry {
            at: 1,
            bytes: text.into(),
        }]
    };
    let both = [
        ("old".to_owned(), entries("1")),
        ("new".to_owned(), entries("2")),
    ];
    store.append(principal("a"), &both).expect("appended");
    let sql = "UPDATE thread SET used = used - 31 * 86400 WHERE name = 'old'";
    Connection::open(&file)
        .expect("open")
        .execute_batch(sql)
        .expect(sql);
    store.expire(30 * DAY).expect("expired");
    let names: Vec<String> = store
        .list(None)
        .expect("threads")
        .into_iter()
        .map(|thread| thread.name)
        .collect();
    assert_eq!(names, ["new"]);
    assert!(
        store
            .show(principal("a"), "old")
            .expect("entries")
            .is_empty()
    );
}

/// How many calls the test makes of which a store has to stay within its bounds.
fn calls() -> u32 {
    let calls = std::env::var("SQLARIUM_TEST_CALLS");
    calls.map_or(30_000, |calls| calls.parse().expect("a number"))
}

#[test]
fn a_store_stays_within_its_bounds_however_many_calls_there_are() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("state");
    let mut store = Store::open(&file).expect("a store");
    let entry = |at| Entry {
        at,
        bytes: vec![b'x'; 200],
    };
    // More threads than are kept, with more calls each.
    for call in 0..calls() / 25 {
        let name = format!("{:0256}", call % 1_200);
        let entries = (0..25).map(|at| entry(i64::from(call) * 25 + at)).collect();
        store
            .append(principal("a"), &[(name, entries)])
            .expect("appended");
    }
    let threads = store.list(None).expect("threads");
    assert!(threads.len() <= 1_000);
    assert!(threads.iter().all(|thread| thread.calls <= KEPT as u32));
    let size = |suffix: &str| {
        let path = folder.path().join(format!("state{suffix}"));
        fs::metadata(path).map_or(0, |file| file.len())
    };
    println!(
        "{} and {} bytes after {} calls",
        size(""),
        size("-wal"),
        calls()
    );
    assert!(size("") < 16 << 20 && size("-wal") < 16 << 20);
}

#[test]
fn what_is_forgotten_leaves_no_trace() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("state");
    let mut store = Store::open(&file).expect("a store");
    let entry = |text: &str| Entry {
        at: 1,
        bytes: text.into(),
    };
    for name in ["t", "u"] {
        let entries = vec![entry(&format!("what {name} did"))];
        store
            .append(principal("a"), &[(name.to_owned(), entries)])
            .expect("appended");
    }
    store.forget(principal("a"), "t").expect("forgotten");
    assert!(store.show(principal("a"), "t").expect("entries").is_empty());
    assert_eq!(store.show(principal("a"), "u").expect("entries").len(), 1);
    let holds = |text: &str| {
        let files = fs::read_dir(folder.path()).expect("the folder");
        files.into_iter().any(|file| {
            let bytes = fs::read(file.expect("an entry").path()).expect("a file");
            bytes
                .windows(text.len())
                .any(|window| window == text.as_bytes())
        })
    };
    assert!(holds("what u did") && !holds("what t did"));
}

#[test]
fn a_principal_is_a_uuid_of_version_5_that_never_changes() {
    let id = principal("alice");
    assert_eq!(id.get_version_num(), 5);
    assert_eq!(id, Uuid::new_v5(&NAMESPACE, b"alice"));
    assert_eq!(
        NAMESPACE.to_string(),
        "81fa4dbc-d1f3-43bb-9658-6ab429e70fc2"
    );
}
