//! Very many calls, many servers, and clients that talk without listening.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sqlarium_tests::{Answer, ENDLESS, Folder, ONE_FUNCTION, Server, sqlarium};

use crate::{Dice, form, memory, text};

const MIB: u64 = 1 << 20;

/// Calls that are sent before a reply is read.
const SENT_AHEAD: u64 = 50;

#[test]
fn very_many_mixed_calls_leave_memory_as_it_was() {
    let folder = Folder::new();
    let schema = "PRAGMA journal_mode = wal;
        CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT NOT NULL, k INTEGER);
        CREATE INDEX by_k ON t (k);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000)
            INSERT INTO t SELECT i, 'name ' || i, i % 7 FROM n;";
    let path = folder.database("t.db", schema);
    let calls = form(10_000, 1_000_000);
    let mut server = Server::ready(["--timeout", "1s", "--fuel", "1300000", text(&path)]);
    let pid = server.pid();
    let mut dice = Dice(5);
    let (mut refused, mut cut, mut early) = (0, 0, None);
    let mut done = 0;
    while done < calls {
        for _ in 0..SENT_AHEAD {
            let (command, arguments) = any_call(&mut dice);
            server.begin(command, arguments);
        }
        for _ in 0..SENT_AHEAD {
            let answer = Answer::of(&server.next());
            refused += u64::from(answer.refused);
            cut += u64::from(answer.text.contains("--fuel"));
        }
        done += SENT_AHEAD;
        if early.is_none() && done >= calls / 10 {
            early = memory(pid, "VmRSS");
        }
    }
    assert_eq!(server.rows("PRAGMA integrity_check"), json!([["ok"]]));
    println!("{calls} calls, {refused} refused, {cut} of them cut");
    assert!(refused * 20 > calls, "only {refused} were refused");
    assert!(cut > 5, "only {cut} were cut");
    if let (Some(early), Some(late)) = (early, memory(pid, "VmRSS")) {
        println!("memory: {} MiB, then {} MiB", early / MIB, late / MIB);
        assert!(late < early + 16 * MIB, "from {early} to {late} bytes");
    }
}

/// A call as an agent might make it: most work, a tenth is refused, some are aborted.
fn any_call(dice: &mut Dice) -> (&'static str, Value) {
    let id = dice.below(1000) + 1;
    match dice.below(1000) {
        0 => ("query", json!({ "sql": ONE_FUNCTION })),
        1 => ("query", json!({ "sql": ENDLESS })),
        2..30 => ("query", json!({ "sql": format!("SELEC {id}") })),
        30..50 => (
            "query",
            json!({ "sql": "SELECT * FROM missing", "output": "json" }),
        ),
        50..70 => (
            "exec",
            json!({ "sql": format!("INSERT INTO t VALUES ({id}, NULL, 1)") }),
        ),
        70..90 => ("query", json!({ "limit": "many" })),
        90..100 => ("describe", json!({ "table": format!("t{id}") })),
        100..150 => (
            "batch",
            json!({ "sql": format!("UPDATE t SET k = k + 1 WHERE id = {id}; UPDATE t SET name = 'again {id}' WHERE id = {id};") }),
        ),
        150..200 => (
            "exec",
            json!({ "sql": "UPDATE t SET k = ?2 WHERE id = ?1", "params": [id, id % 7] }),
        ),
        200..220 => ("tables", json!({})),
        220..240 => ("describe", json!({ "table": "t", "output": "json" })),
        240..260 => (
            "explain",
            json!({ "sql": "SELECT name FROM t WHERE k = 3" }),
        ),
        260..300 => (
            "query",
            json!({ "sql": "SELECT k, count(*), max(name) FROM t GROUP BY k" }),
        ),
        300..320 => ("schema", json!({})),
        _ => (
            "query",
            json!({ "sql": "SELECT name FROM t WHERE id = ?", "params": [id] }),
        ),
    }
}

#[test]
fn many_servers_on_one_machine_each_answer() {
    let folder = Folder::new();
    let path = folder.database("t.db", "CREATE TABLE t (a); INSERT INTO t VALUES (7);");
    let count = form(50, 200);
    let started = Instant::now();
    let mut servers: Vec<Server> = (0..count).map(|_| Server::start([text(&path)])).collect();
    for server in &mut servers {
        server.initialize();
        server.begin(
            "query",
            json!({ "sql": "SELECT a FROM t", "output": "json" }),
        );
    }
    for server in &servers {
        let answer = Answer::of(&server.next());
        assert_eq!(answer.object["rows"], json!([[7]]), "{}", answer.text);
    }
    let resident: u64 = servers
        .iter()
        .filter_map(|server| memory(server.pid(), "VmRSS"))
        .sum();
    println!(
        "{count} servers in {:.1?}, {} MiB resident each",
        started.elapsed(),
        resident / count / MIB
    );
    for server in servers {
        assert_eq!(server.finish().code, Some(0));
    }
}

/// A client that sends `requests` and reads nothing.
struct Deaf {
    child: Child,
    sent: Arc<AtomicU64>,
}

impl Deaf {
    fn talk(arguments: &[&str], requests: impl Iterator<Item = Value> + Send + 'static) -> Self {
        let mut child = sqlarium()
            .arg("mcp")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let mut stdin = child.stdin.take().expect("its input");
        let sent = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&sent);
        thread::spawn(move || {
            for request in requests {
                match stdin.write_all(format!("{request}\n").as_bytes()) {
                    Ok(()) => count.fetch_add(1, Ordering::SeqCst),
                    Err(error) if error.kind() == ErrorKind::BrokenPipe => return,
                    Err(error) => panic!("{error}"),
                };
            }
        });
        Self { child, sent }
    }

    /// Waits until the server takes nothing more; how much it has taken.
    fn stuck(&self) -> u64 {
        let mut before = u64::MAX;
        loop {
            let sent = self.sent.load(Ordering::SeqCst);
            if sent == before {
                return sent;
            }
            before = sent;
            thread::sleep(Duration::from_secs(2));
        }
    }

    /// Reads the first `count` replies; they answer in order.
    fn listen(&mut self, count: u64) {
        let lines = BufReader::new(self.child.stdout.take().expect("its output")).lines();
        let mut next = 1;
        for line in lines {
            let reply: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
            assert_eq!(reply["id"], next, "{reply}");
            next += 1;
            if next > count {
                return;
            }
        }
        panic!("only {next} replies");
    }

    fn peak(&self) -> Option<u64> {
        memory(self.child.id(), "VmHWM")
    }
}

impl Drop for Deaf {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn query(id: u64, sql: &str) -> Value {
    let params = json!({ "name": "sqlarium_query", "arguments": { "sql": sql } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

#[test]
fn a_client_that_does_not_read_large_replies_has_to_wait() {
    let large = "SELECT hex(zeroblob(1000)) FROM json_each('[1,2,3,4,5,6,7,8,9,10]')";
    let mut deaf = Deaf::talk(&[], (1..10_000).map(|id| query(id, large)));
    let sent = deaf.stuck();
    println!(
        "large replies: {sent} of 10000 taken, peak {:?} MiB",
        deaf.peak().map(|peak| peak / MIB)
    );
    assert!(sent < 9_999, "all were taken");
    assert!(
        deaf.peak().is_none_or(|peak| peak < 128 * MIB),
        "{:?}",
        deaf.peak()
    );
    deaf.listen(sent);
}

#[test]
fn a_client_that_floods_with_requests_has_to_wait() {
    let mut deaf = Deaf::talk(&[], (1..100_001).map(|id| query(id, "SELECT 1")));
    let sent = deaf.stuck();
    println!(
        "a flood: {sent} of 100000 taken, peak {:?} MiB",
        deaf.peak().map(|peak| peak / MIB)
    );
    assert!(sent < 100_000, "all were taken");
    assert!(
        deaf.peak().is_none_or(|peak| peak < 128 * MIB),
        "{:?}",
        deaf.peak()
    );
    deaf.listen(form(2_000, 100_000));
}

#[test]
fn a_client_that_floods_while_a_call_runs_has_to_wait() {
    // As large as requests may be: at most 16 MiB of them wait.
    let padding = "x".repeat(900_000);
    let flood = (2..100_001).map(move |id| query(id, &format!("SELECT {id} /* {padding} */")));
    let requests = std::iter::once(query(1, ENDLESS)).chain(flood);
    let mut deaf = Deaf::talk(&["--timeout", "8s"], requests);
    let sent = deaf.stuck();
    println!(
        "a flood of large requests: {sent} taken, peak {:?} MiB",
        deaf.peak().map(|peak| peak / MIB)
    );
    assert!(sent < 200, "{sent} were taken");
    assert!(
        deaf.peak().is_none_or(|peak| peak < 192 * MIB),
        "{:?}",
        deaf.peak()
    );
    deaf.listen(10);
}
