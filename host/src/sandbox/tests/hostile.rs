//! A guest that misbehaves in every way it can: each misdeed is answered with an error or
//! aborted, the next call is answered, memory stays within bounds, and nothing outside is touched.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tempfile::TempDir;
use wasmtime::Trap;
use wasmtime::component::Linker;

use super::client::{Host, budgets};
use crate::sandbox::Sandbox;
use crate::sandbox::config::config;
use crate::sandbox::image::copied;
use crate::sandbox::store::StoreData;

const MIB: u64 = 1 << 20;

/// What may come on top of a budget of time, on a machine that is busy with other tests.
const SLACK: Duration = Duration::from_secs(10);

/// The most memory the host takes for a hostile guest: the guest's own twice, for one that is at
/// work and one that triages; what one call may carry over the boundary, in and out; and 64 MiB
/// for itself, the component's code included.
fn bound() -> u64 {
    let budgets = budgets();
    2 * budgets.memory + 2 * budgets.hostcall_bytes() as u64 + 64 * MIB
}

/// What comes of a misdeed.
enum Fate {
    /// It is answered, with this in the answer.
    Answered(&'static str),
    /// It is aborted, for a reason that says this.
    Aborted(&'static str),
    /// Nothing is sent for it.
    Silence,
}

use Fate::{Aborted, Answered, Silence};

/// Every misdeed with a single line.
const MISDEEDS: &[(&str, Fate)] = &[
    ("work spin", Aborted("--timeout")),
    ("work recurse", Aborted("nests deeper")),
    ("work recurse-in-memory", Aborted("the sandbox failed")),
    ("work trap", Aborted("the sandbox failed")),
    ("work panic", Aborted("the sandbox failed")),
    ("work grow", Answered("MiB")),
    ("work fill", Aborted("--memory")),
    ("work wait", Aborted("--timeout")),
    ("work check", Aborted("--timeout")),
    ("work random", Aborted("--timeout")),
    ("work random-numbers", Aborted("--timeout")),
    ("work too-random", Aborted("the sandbox failed")),
    ("work spin-in-realloc", Aborted("the sandbox failed")),
    ("work spin-in-post-return", Aborted("the sandbox failed")),
    ("work stderr", Aborted("--timeout")),
    ("work stderr-of-std", Answered("done")),
    ("work usage", Aborted("--timeout")),
    ("call notify-long", Aborted("the sandbox failed")),
    ("call notify-lines", Aborted("the sandbox failed")),
    ("call save-most", Aborted("--timeout")),
    ("state", Answered("1114112 bytes")),
    ("call save-more", Aborted("the sandbox failed")),
    ("call save-long", Aborted("the sandbox failed")),
    ("call save-forever", Aborted("--timeout")),
    ("call extend-more", Aborted("the sandbox failed")),
    ("call extend-nothing", Aborted("--timeout")),
    ("call extend-storm", Aborted("the sandbox failed")),
    ("call running", Answered(r#"Some("call running")"#)),
    ("call running-forever", Aborted("--timeout")),
    ("call queued", Answered("true, true, true]")),
    ("call meter", Aborted("the sandbox failed")),
    ("call offset", Answered("true")),
    ("call audit", Answered("done")),
    ("call audit-forever", Aborted("--timeout")),
    ("call threads", Answered("[]")),
    ("call threads-long", Aborted("the sandbox failed")),
    ("call threads-nobodys", Aborted("the sandbox failed")),
    ("call threads-long-id", Aborted("the sandbox failed")),
    ("call threads-forever", Aborted("--timeout")),
    ("call print", Answered("[false, false]")),
    ("call print-long", Aborted("the sandbox failed")),
    ("call print-forever", Aborted("--timeout")),
    ("opens 500", Answered("open ok: 25")),
    ("churn 500", Answered("open ok: ")),
    ("offsets", Answered("write full")),
    ("locks 5000", Answered("lock busy")),
    ("handles closed", Aborted("the sandbox failed")),
    ("handles zero", Aborted("the sandbox failed")),
    ("handles next", Aborted("the sandbox failed")),
    ("handles far", Aborted("the sandbox failed")),
    ("handles twice", Aborted("the sandbox failed")),
    ("busy read", Aborted("--timeout")),
    ("busy write", Aborted("--timeout")),
    ("busy truncate", Aborted("--timeout")),
    ("busy sync", Aborted("--timeout")),
    ("busy names", Aborted("--timeout")),
    ("busy exclusive", Aborted("--timeout")),
    ("edges", Aborted("the sandbox failed")),
    ("regions", Answered("odd invalid: 1")),
    ("reply long", Aborted("the sandbox failed")),
    ("reply lines", Aborted("the sandbox failed")),
    ("lies state", Aborted("the sandbox failed")),
    ("lies none", Silence),
    ("reply none", Silence),
    ("reply no-json", Answered("well, {[")),
];

/// A database with a write-ahead log, in a folder of its own.
fn shop() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    database(&folder.path().join("shop.db"));
    folder
}

pub(super) fn database(path: &Path) {
    let connection = Connection::open(path).unwrap();
    let sql = "PRAGMA journal_mode = wal; CREATE TABLE t (a); INSERT INTO t VALUES (1);";
    connection.execute_batch(sql).unwrap();
}

#[test]
fn every_attack_is_answered_or_aborted_and_the_next_call_is_answered() {
    let folder = shop();
    let mut host = Host::hostile(folder.path(), None);
    assert_eq!(host.ask("well"), "well");
    let files = host.count("fd");
    let mut slowest = Duration::ZERO;
    for (misdeed, fate) in MISDEEDS {
        let started = Instant::now();
        host.say(misdeed);
        host.say("well");
        let mut answers = Vec::new();
        loop {
            let line = host.hear(Duration::from_secs(60));
            let line = line.unwrap_or_else(|| panic!("{misdeed}: silence"));
            if line == "well" {
                break;
            }
            answers.push(line);
        }
        let elapsed = started.elapsed();
        slowest = slowest.max(elapsed);
        println!(
            "{misdeed}: {elapsed:.1?}, peak {} MiB: {answers:.100?}",
            host.memory("VmHWM") / MIB
        );
        match fate {
            Answered(what) => assert!(
                answers.len() == 1 && answers[0].contains(what),
                "{misdeed}: {answers:?}"
            ),
            Aborted(why) => assert!(
                answers.len() == 1
                    && answers[0].starts_with("aborted: ")
                    && answers[0].contains(why),
                "{misdeed}: {answers:?}"
            ),
            Silence => assert!(answers.is_empty(), "{misdeed}: {answers:?}"),
        }
        let limit = budgets().timeout + SLACK;
        assert!(elapsed < limit, "{misdeed} took {elapsed:?}");
        let peak = host.memory("VmHWM");
        assert!(
            peak < bound(),
            "{misdeed}: {} of {} MiB",
            peak / MIB,
            bound() / MIB
        );
    }
    println!(
        "the slowest took {slowest:.1?}; the bound is {} MiB",
        bound() / MIB
    );
    let left = host.count("fd");
    assert!(
        left <= files + 4,
        "{files} files were open, and then {left}"
    );
    assert_eq!(host.finish(), Some(0));
    let connection = Connection::open(folder.path().join("shop.db")).unwrap();
    let whole: String = connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(whole, "ok");
}

#[test]
fn lines_that_are_sent_without_end_are_passed_on_until_time_is_up() {
    let folder = shop();
    let mut host = Host::hostile(folder.path(), None);
    host.say("call notify-forever");
    let mut count = 0;
    let last = loop {
        let line = host.hear(Duration::from_secs(60)).unwrap();
        if line.starts_with("aborted: ") {
            break line;
        }
        assert_eq!(line.len(), 1000);
        count += 1;
    };
    println!("{count} lines, peak {} MiB", host.memory("VmHWM") / MIB);
    assert!(last.contains("--timeout"), "{last}");
    assert!(count > 64, "only {count} lines");
    assert!(host.memory("VmHWM") < bound());
    assert_eq!(host.ask("well"), "well");
    assert_eq!(host.finish(), Some(0));
}

#[test]
fn one_that_lies_when_it_triages_forges_nothing_and_keeps_no_one_waiting() {
    for lie in [
        "long", "lines", "cancel", "dequeue", "spin", "trap", "fill", "random", "wait", "notify",
        "save", "files",
    ] {
        let folder = shop();
        let mut host = Host::hostile(folder.path(), None);
        assert_eq!(host.ask("well"), "well");
        let started = Instant::now();
        host.say("work wait");
        std::thread::sleep(Duration::from_millis(50));
        for _ in 0..3 {
            host.say(&format!("triage: {lie}"));
        }
        host.say("well");
        let mut answers = Vec::new();
        loop {
            let line = host.hear(Duration::from_secs(60));
            let line = line.unwrap_or_else(|| panic!("{lie}: silence"));
            if line == "well" {
                break;
            }
            answers.push(line);
        }
        let elapsed = started.elapsed();
        let peak = host.memory("VmHWM");
        println!(
            "{lie}: {elapsed:.1?}, peak {} MiB: {answers:.100?}",
            peak / MIB
        );
        for answer in &answers {
            let expected = answer.starts_with("aborted: ")
                || answer == "answered late"
                || answer == "opened: [false, false, false, false]";
            assert!(expected, "{lie}: {answer:.100}");
        }
        // Its own time, and that of three lines that are triaged.
        assert!(
            elapsed < Duration::from_secs(4) + SLACK,
            "{lie} took {elapsed:?}"
        );
        assert!(
            peak < bound(),
            "{lie}: {} of {} MiB",
            peak / MIB,
            bound() / MIB
        );
        assert_eq!(host.finish(), Some(0), "{lie}");
    }
}

#[test]
fn regions_of_shared_memory_can_be_moved_about_in_any_order() {
    let folder = shop();
    let path = folder.path().join("shop.db");
    // Keeps the index in use, so that the guest joins it.
    let neighbour = Connection::open(&path).unwrap();
    let count: i64 = neighbour
        .query_row("SELECT count(*) FROM t", [], |row| row.get(0))
        .unwrap();
    assert_eq!(count, 1);
    let mut host = Host::hostile(folder.path(), None);
    assert_eq!(host.ask("well"), "well");
    let mappings = host.count("maps");
    let mut worst = 0;
    for seed in 0..30 {
        let told = host.ask(&format!("storm {seed} 500"));
        assert!(
            told.contains("map ok") || told.starts_with("aborted: "),
            "{told}"
        );
        worst = worst.max(host.count("maps"));
        if seed == 0 {
            println!("{told}");
        }
    }
    // A guest that is aborted with regions mapped.
    host.say("work trap");
    assert!(host.hear(SLACK).unwrap().contains("the sandbox failed"));
    assert_eq!(host.ask("well"), "well");
    let left = host.count("maps");
    println!("{mappings} mappings, {worst} at worst, {left} in the end");
    assert!(left < mappings + 20, "{left} mappings are left of {worst}");
    assert!(host.memory("VmHWM") < bound());
    assert_eq!(host.finish(), Some(0));
}

#[test]
fn one_that_cannot_start_from_what_was_saved_starts_from_nothing() {
    let folder = shop();
    let mut host = Host::hostile(folder.path(), None);
    assert!(host.ask("doom").starts_with("aborted: "));
    assert_eq!(host.ask("state"), "0 bytes");
    // What the one that replied has saved is there for the next.
    assert!(host.ask("lies state").starts_with("aborted: "));
    assert!(host.ask("work trap").starts_with("aborted: "));
    assert_eq!(host.ask("state"), "1001 bytes");
    assert_eq!(host.finish(), Some(0));
}

#[test]
fn one_that_has_no_reply_for_what_was_aborted_ends_the_session() {
    for lie in ["trap", "spin", "fill", "long", "lines"] {
        let folder = shop();
        let mut host = Host::hostile(folder.path(), None);
        let started = Instant::now();
        host.say(&format!("lies {lie}"));
        host.say("well");
        // No client waits for ever: the pipe is closed.
        assert_eq!(host.hear(Duration::from_secs(60)), None, "{lie}");
        assert_eq!(host.ended(), Some(1), "{lie}");
        let elapsed = started.elapsed();
        assert!(
            elapsed < Duration::from_secs(3) + SLACK,
            "{lie} took {elapsed:?}"
        );
    }
}

#[test]
fn one_that_clings_to_its_session_is_dropped() {
    let folder = shop();
    let mut host = Host::hostile(folder.path(), None);
    assert_eq!(host.ask("cling"), "clings");
    let started = Instant::now();
    assert_eq!(host.finish(), Some(0));
    let elapsed = started.elapsed();
    assert!(elapsed < budgets().timeout + SLACK, "{elapsed:?}");
}

#[test]
fn a_line_that_is_too_long_is_not_handed_over_and_the_next_one_is() {
    let folder = shop();
    let mut host = Host::hostile(folder.path(), None);
    let long = |first: char| format!("{first}{}", "x".repeat(2 << 20));
    // Of the start a byte more than may be, and the end.
    let kept = format!("{} bytes were too many", (1 << 20) + 1 + 512);
    assert_eq!(host.ask(&long('x')), kept);
    assert_eq!(host.ask("well"), "well");
    // While a call runs.
    host.say("work wait");
    host.say(&long('x'));
    assert_eq!(host.hear(SLACK).unwrap(), kept);
    assert!(host.hear(SLACK).unwrap().starts_with("aborted: "));
    // Whatever the guest says of it, memory stays within bounds.
    assert!(host.memory("VmHWM") < bound());
    for lie in ['l', 't'] {
        let mut host = Host::hostile(folder.path(), None);
        host.say(&long(lie));
        assert_eq!(host.hear(Duration::from_secs(20)), None, "{lie}");
        assert_eq!(host.ended(), Some(1), "{lie}");
    }
}

#[test]
fn tables_count_as_memory() {
    let (engine, component) = copied(&config(), sqlarium_hostile::TABLES).unwrap();
    let sandbox = Sandbox::new().unwrap();
    // An engine of its own, as the component's.
    let sandbox = Sandbox { engine, ..sandbox };
    let data = StoreData::new(budgets());
    let mut store = sandbox.store(data);
    let linker = Linker::new(&sandbox.engine);
    let done = futures(linker.instantiate_async(&mut store, &component));
    assert!(done.is_ok() || done.is_err_and(|error| error.downcast_ref::<Trap>().is_some()));
    let memory = &store.data().memory;
    assert!(memory.refused, "a thousand million elements were granted");
    assert!(memory.used <= budgets().memory, "{} bytes", memory.used);
    assert!(memory.used > budgets().memory / 2, "{} bytes", memory.used);
}

/// Runs a future to its end.
fn futures<T>(future: impl Future<Output = T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let mut future = std::pin::pin!(future);
    loop {
        if let std::task::Poll::Ready(done) = future.as_mut().poll(&mut context) {
            return done;
        }
    }
}
