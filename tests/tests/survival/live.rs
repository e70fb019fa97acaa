//! Two applications keep the database open and write, and two servers read and write it too,
//! while another program reads it.

use std::env;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use serde_json::{Value, json};
use sqlarium_tests::{Folder, PATIENCE, Server};

use crate::ledger::{BANK, STANDING, assert_balanced, logged, transfer};
use crate::{Dice, form, text};

/// Set for the process that is started to be an application: the file that it keeps open.
const APPLICATION: &str = "SQLARIUM_TEST_APPLICATION";

/// Its name.
const NAME: &str = "SQLARIUM_TEST_APPLICATION_NAME";

/// Its first transfer.
const FIRST: &str = "SQLARIUM_TEST_APPLICATION_FIRST";

/// How long to wait for a lock: an application, and servers by default.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Who writes: applications with native SQLite, and servers.
const WRITERS: [&str; 4] = ["shop", "till", "one", "two"];

/// How many of them are applications.
const APPLICATIONS: usize = 2;

/// Not a test of its own: what the other process runs, until its input ends. Writes a line to
/// standard error for every transfer that is committed.
#[test]
fn application() {
    let Some(path) = env::var_os(APPLICATION) else {
        return;
    };
    let name = env::var(NAME).expect("a name");
    let first = env::var(FIRST)
        .expect("the first")
        .parse()
        .expect("a number");
    let told_to_end = Arc::new(AtomicBool::new(false));
    let ending = Arc::clone(&told_to_end);
    thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        ending.store(true, Ordering::Relaxed);
    });
    let mut connection = Connection::open(path).expect("the database");
    connection.busy_timeout(BUSY_TIMEOUT).expect("a time");
    let mut n = first;
    while !told_to_end.load(Ordering::Relaxed) {
        let result = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .and_then(|transaction| {
                transaction.execute_batch(&transfer(&name, n))?;
                transaction.commit()
            });
        match result {
            Ok(()) => {
                n += 1;
                eprintln!("committed");
            }
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                eprintln!("busy");
            }
            Err(error) => panic!("{error}"),
        }
        // Room for the others.
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn two_applications_and_two_servers_share_a_file_with_a_write_ahead_log() {
    share("wal", Duration::from_secs(form(4, 60)), 0);
}

#[test]
fn two_applications_and_two_servers_share_a_file_with_a_rollback_journal() {
    share("delete", Duration::from_secs(form(4, 60)), 0);
}

#[test]
fn any_of_them_is_killed_at_any_time_with_a_write_ahead_log() {
    share("wal", Duration::ZERO, form(20, 200));
}

#[test]
fn any_of_them_is_killed_at_any_time_with_a_rollback_journal() {
    share("delete", Duration::ZERO, form(20, 200));
}

/// What the writers and their supervisor know of each other.
#[derive(Debug, Default)]
struct Common {
    path: PathBuf,
    over: AtomicBool,
    /// For each writer: the transfers that were answered, so that everyone has to see them.
    answered: [AtomicU64; WRITERS.len()],
    /// For each writer: whether it has to die now.
    doomed: [AtomicBool; WRITERS.len()],
    busy: AtomicU64,
}

impl Common {
    fn over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    /// Whether this writer has to die now.
    fn doomed(&self, writer: usize) -> bool {
        self.doomed[writer].swap(false, Ordering::SeqCst)
    }

    fn answered(&self) -> [u64; WRITERS.len()] {
        std::array::from_fn(|writer| self.answered[writer].load(Ordering::SeqCst))
    }

    /// Asserts that all that had been answered is in what was read afterwards.
    fn assert_seen(&self, answered: [u64; WRITERS.len()], standing: &Value) {
        for row in standing.as_array().expect("rows") {
            assert_eq!(row[0], 4000, "half a transfer is seen: {standing}");
        }
        for (who, answered) in WRITERS.iter().zip(answered) {
            let row = standing
                .as_array()
                .and_then(|rows| rows.iter().find(|row| row[1] == *who));
            let seen = row.and_then(|row| row[2].as_u64()).unwrap_or(0);
            assert!(
                seen >= answered,
                "{answered} of {who} were answered, {seen} are seen"
            );
        }
    }

    /// After a death: goes on where the log ends, which holds all that was answered, and maybe
    /// one that was not.
    fn resume(&self, writer: usize) -> u64 {
        let there = logged(&self.path, WRITERS[writer]);
        let answered = self.answered[writer].load(Ordering::SeqCst);
        assert!(
            there == answered || there == answered + 1,
            "{answered} of {} were answered, {there} are there",
            WRITERS[writer]
        );
        self.answered[writer].store(there, Ordering::SeqCst);
        there
    }
}

/// Lets all write for some time, and until so many of them were killed and came back.
fn share(mode: &str, time: Duration, kills: u32) {
    let folder = Folder::new();
    let path = folder.database("bank.db", &format!("PRAGMA journal_mode = {mode}; {BANK}"));
    let size_before = path.metadata().expect("the file").len();
    let common = Arc::new(Common {
        path: path.clone(),
        ..Common::default()
    });
    let mut writers = Vec::new();
    for writer in 0..WRITERS.len() {
        writers.push(spawn(&common, move |common| match writer {
            ..APPLICATIONS => run_application(common, writer),
            _ => run_server(common, writer),
        }));
    }
    writers.push(spawn(&common, run_reader));

    let started = Instant::now();
    let mut dice = Dice(u64::from(kills));
    let mut killed = 0;
    // On a busy machine some have to wait for their turn.
    let waits = || {
        let waits = common.answered().into_iter().any(|answered| answered < 5);
        waits && started.elapsed() < time + PATIENCE
    };
    while (killed < kills || started.elapsed() < time || waits()) && !common.over() {
        thread::sleep(Duration::from_millis(100 + dice.below(200)));
        if killed < kills {
            common.doomed[usize::try_from(dice.below(WRITERS.len() as u64)).expect("one of them")]
                .store(true, Ordering::SeqCst);
            killed += 1;
        }
    }
    let elapsed = started.elapsed();
    // Before the last one closes it and checkpoints anyway.
    let grown = path.metadata().expect("the file").len() > size_before;
    let log = folder
        .path("bank.db-wal")
        .metadata()
        .map_or(0, |log| log.len());
    common.over.store(true, Ordering::SeqCst);
    for writer in writers {
        writer.join().expect("a writer");
    }

    let answered = common.answered();
    println!(
        "{mode}, {killed} kills, {elapsed:.1?}: {answered:?} transfers, {} times busy, a log of {log} bytes",
        common.busy.load(Ordering::SeqCst)
    );
    assert_balanced(&path);
    for (who, answered) in WRITERS.iter().zip(answered) {
        assert_eq!(logged(&path, who), answered, "{who}");
        assert!(answered >= 5, "{who} made only {answered}");
    }
    assert!(grown, "nothing was checkpointed");
}

/// A thread that, if it fails, ends the others too.
fn spawn(
    common: &Arc<Common>,
    run: impl FnOnce(&Common) + Send + 'static,
) -> thread::JoinHandle<()> {
    struct Ending(Arc<Common>);
    impl Drop for Ending {
        fn drop(&mut self) {
            if thread::panicking() {
                self.0.over.store(true, Ordering::SeqCst);
            }
        }
    }
    let ending = Ending(Arc::clone(common));
    thread::spawn(move || run(&ending.0))
}

/// Starts this test executable again as an application, and again whenever it was killed.
fn run_application(common: &Common, writer: usize) {
    let name = "live::application";
    while !common.over() {
        let first = common.resume(writer);
        let mut child = Command::new(env::current_exe().expect("this executable"))
            .args(["--exact", name, "--nocapture", "--test-threads=1"])
            .env(APPLICATION, &common.path)
            .env(NAME, WRITERS[writer])
            .env(FIRST, first.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the application");
        let lines = BufReader::new(child.stderr.take().expect("its errors")).lines();
        thread::scope(|scope| {
            scope.spawn(|| {
                for line in lines.map_while(Result::ok) {
                    match line.as_str() {
                        "committed" => common.answered[writer].fetch_add(1, Ordering::SeqCst),
                        "busy" => common.busy.fetch_add(1, Ordering::SeqCst),
                        _ => panic!("{}: {line}", WRITERS[writer]),
                    };
                }
            });
            while !common.over() {
                if common.doomed(writer) {
                    child.kill().expect("killed");
                    break;
                }
                if child.try_wait().expect("its status").is_some() {
                    break;
                }
                thread::sleep(Duration::from_millis(2));
            }
            drop(child.stdin.take());
            finish(&mut child);
        });
    }
}

fn finish(child: &mut Child) {
    let started = Instant::now();
    while child.try_wait().expect("its status").is_none() {
        if started.elapsed() > PATIENCE {
            let _ = child.kill();
            panic!("the application does not end");
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// Writes and reads through a server, and through a new one whenever it was killed.
fn run_server(common: &Common, writer: usize) {
    let mut dice = Dice(writer as u64);
    while !common.over() {
        let mut n = common.resume(writer);
        let mut server = Server::ready([text(&common.path)]);
        while !common.over() {
            let sql = transfer(WRITERS[writer], n);
            if common.doomed(writer) {
                server.begin("batch", json!({ "sql": sql }));
                thread::sleep(Duration::from_micros(dice.below(6000)));
                break;
            }
            let answer = server.call("batch", json!({ "sql": sql, "output": "json" }));
            if answer.refused {
                assert_eq!(answer.object["status"], "busy", "{}", answer.text);
                common.busy.fetch_add(1, Ordering::SeqCst);
            } else {
                n += 1;
                common.answered[writer].store(n, Ordering::SeqCst);
            }
            let answered = common.answered();
            let answer = server.call("query", json!({ "sql": STANDING, "output": "json" }));
            if answer.refused {
                assert_eq!(answer.object["status"], "busy", "{}", answer.text);
                common.busy.fetch_add(1, Ordering::SeqCst);
            } else {
                common.assert_seen(answered, &answer.object["rows"]);
            }
        }
        // SIGKILL if it is doomed, and else the same: an agent's client seldom says goodbye.
        drop(server);
    }
    common.resume(writer);
}

/// A native reader that keeps its connection.
fn run_reader(common: &Common) {
    let connection = open(&common.path);
    let mut statement = connection.prepare(STANDING).expect("a statement");
    let mut reads = 0;
    while !common.over() {
        let answered = common.answered();
        let rows = statement.query_map([], |row| {
            let (sum, who): (i64, String) = (row.get(0)?, row.get(1)?);
            Ok(json!([sum, who, row.get::<_, i64>(2)?]))
        });
        match rows.and_then(Iterator::collect::<Result<Vec<_>, _>>) {
            Ok(rows) => common.assert_seen(answered, &json!(rows)),
            Err(error) => assert_eq!(
                error.sqlite_error_code(),
                Some(ErrorCode::DatabaseBusy),
                "{error}"
            ),
        }
        reads += 1;
        thread::sleep(Duration::from_millis(5));
    }
    assert!(reads > 10, "only {reads} reads");
}

fn open(path: &Path) -> Connection {
    let connection = Connection::open(path).expect("the database");
    connection.busy_timeout(BUSY_TIMEOUT).expect("a time");
    connection
}
