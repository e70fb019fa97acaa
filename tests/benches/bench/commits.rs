//! Commits of one row each, by the clock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sqlarium_tests::Folder;

use crate::native;
use crate::pipe::Pipe;
use crate::report::{Report, median};

/// How often each candidate commits alone.
const ROUNDS: usize = 400;

/// How long all write side by side.
const TIME: Duration = Duration::from_secs(6);

const INSERT: &str = "INSERT INTO t(a) VALUES (1)";

/// Runs them.
pub fn run(report: &mut Report) {
    for mode in ["wal", "delete"] {
        alone(report, mode);
    }
    for mode in ["wal", "delete"] {
        beside_others(report, mode);
    }
}

/// Native SQLite and sqlarium, each on a file of its own.
fn alone(report: &mut Report, mode: &str) {
    let folder = Folder::new();
    let path = |name| database(&folder, name, mode);
    let connection = native::open(&path("native.db"));
    let mut piped = Pipe::native(&path("piped.db"));
    let mut plain = Pipe::sqlarium(&["--no-undo"], &path("plain.db"));
    let mut undo = Pipe::sqlarium(&[], &path("undo.db"));
    let mut commit: [(&str, &mut dyn FnMut()); 4] = [
        ("native, in a loop", &mut || {
            connection.execute(INSERT, []).expect("a row");
        }),
        ("native, a line each", &mut || drop(piped.exec(INSERT))),
        ("sqlarium --no-undo", &mut || drop(plain.exec(INSERT))),
        ("sqlarium", &mut || drop(undo.exec(INSERT))),
    ];
    // In turns, and medians: a disk has moods.
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..ROUNDS {
        for ((_, commit), times) in commit.iter_mut().zip(&mut times) {
            let started = Instant::now();
            commit();
            times.push(started.elapsed().as_secs_f64());
        }
    }
    let rates = times.map(|times| 1.0 / median(times));
    for ((name, _), rate) in commit.iter().zip(rates) {
        report.detail(&format!("commits, {mode}"), "alone", name, rate, "a second");
    }
    report.rate(
        &format!("commits a second, {mode}"),
        "native, a line each",
        rates[2] / rates[1],
        0.8,
    );
    report.note(&format!(
        "{:.2} of native in a loop; with undo {:.2} of a line each",
        rates[2] / rates[0],
        rates[3] / rates[1]
    ));
}

/// Two native writers that never pause, and sqlarium on the same file.
fn beside_others(report: &mut Report, mode: &str) {
    let folder = Folder::new();
    let path = database(&folder, "shared.db", mode);
    let mut server = Pipe::sqlarium(&["--no-undo", "--busy-timeout", "60s"], &path);
    let done = AtomicBool::new(false);
    let (ours, others) = thread::scope(|scope| {
        let write = || {
            let connection = native::open(&path);
            let mut count = 0.0;
            while !done.load(Ordering::Relaxed) {
                connection.execute(INSERT, []).expect("a row");
                count += 1.0;
            }
            count
        };
        let writers = [scope.spawn(write), scope.spawn(write)];
        let started = Instant::now();
        let mut ours = 0.0;
        while started.elapsed() < TIME {
            server.exec(INSERT);
            ours += 1.0;
        }
        done.store(true, Ordering::Relaxed);
        (ours, writers.map(|writer| writer.join().expect("a writer")))
    });
    let [one, two] = others;
    let what = format!("commits beside two native writers, {mode}");
    report.detail(&what, "in all", "native", one + two, "");
    report.detail(&what, "in all", "sqlarium", ours, "");
    let aim = if mode == "wal" { 0.25 } else { 0.0 };
    report.rate(&what, "one of them", ours / (one + two) * 2.0, aim);
}

fn database(folder: &Folder, name: &str, mode: &str) -> String {
    let sql = format!("PRAGMA journal_mode={mode}; CREATE TABLE t(id INTEGER PRIMARY KEY, a INT)");
    let path = folder.database(name, &sql);
    path.to_str().expect("a path").to_owned()
}
