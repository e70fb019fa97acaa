//! The process ends in the middle of a call: what the call did is undone, its locks are gone, no
//! file is left behind, and the exit code says why.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode};
use serde_json::{Value, json};
use sqlarium_tests::{ENDLESS, Folder, PATIENCE, sqlarium};

use crate::text;

/// How a process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Terminated,
    Interrupted,
    InputClosed,
    OutputClosed,
}

/// For the process that ends in good order, on a machine that is busy with other tests.
const SOON: Duration = Duration::from_secs(10);

#[test]
fn a_signal_during_a_call_rolls_it_back_and_the_exit_code_names_the_signal() {
    for mode in ["delete", "wal"] {
        assert_eq!(end_in_a_transaction(mode, End::Terminated), Some(128 + 15));
        assert_eq!(end_in_a_transaction(mode, End::Interrupted), Some(128 + 2));
    }
}

#[test]
fn the_end_of_input_in_the_middle_of_a_call_undoes_it_and_the_exit_code_is_0() {
    for mode in ["delete", "wal"] {
        assert_eq!(end_in_a_transaction(mode, End::InputClosed), Some(0));
    }
}

#[test]
fn a_closed_output_in_the_middle_of_a_call_undoes_it_and_the_exit_code_is_0() {
    for mode in ["delete", "wal"] {
        assert_eq!(end_in_a_transaction(mode, End::OutputClosed), Some(0));
    }
}

/// Lets a server end in the middle of a transaction that writes to its file and sorts in a
/// temporary one; the exit code.
fn end_in_a_transaction(mode: &str, end: End) -> Option<i32> {
    let folder = Folder::new();
    let sql =
        format!("PRAGMA journal_mode = {mode}; CREATE TABLE t (a); INSERT INTO t VALUES ('x');");
    let path = folder.database("t.db", &sql);
    let temporary = Folder::new();
    let mut server = start(&path, &temporary);
    let count = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 60000)";
    let sql = format!(
        "INSERT INTO t {count} SELECT hex(randomblob(300)) FROM n;
         CREATE TABLE u AS {count} SELECT hex(randomblob(300)) AS r FROM n ORDER BY r;
         INSERT INTO t {ENDLESS};"
    );
    say(&mut server, &call("batch", json!({ "sql": sql })));
    wait_until_it_writes(&path);
    thread::sleep(Duration::from_millis(400));

    let asked = Instant::now();
    match end {
        End::Terminated => signal(&server, "TERM"),
        End::Interrupted => signal(&server, "INT"),
        End::InputClosed => drop(server.stdin.take()),
        End::OutputClosed => drop(server.stdout.take()),
    }
    let code = ended(&mut server);
    let elapsed = asked.elapsed();
    println!("{mode}, {end:?}: {code:?} after {elapsed:.1?}");
    assert!(elapsed < SOON, "{mode}, {end:?}: it took {elapsed:?}");

    assert_eq!(folder.files(), ["t.db"], "{mode}, {end:?}");
    assert_eq!(temporary.files(), [""; 0], "{mode}, {end:?}");
    let native = Connection::open(&path).expect("the database");
    native.busy_timeout(Duration::ZERO).expect("no time");
    native
        .execute_batch("BEGIN EXCLUSIVE; COMMIT")
        .expect("no lock is left");
    drop(native);
    assert_eq!(
        Folder::native(&path, "SELECT a FROM t"),
        ["x"],
        "{mode}, {end:?}"
    );
    assert_eq!(
        Folder::native(&path, "SELECT count(*) FROM sqlite_schema"),
        ["1"]
    );
    Folder::assert_whole(&path);
    code
}

#[test]
fn a_client_that_reads_nothing_cannot_keep_the_process_from_ending() {
    let folder = Folder::new();
    let path = folder.database("t.db", "CREATE TABLE t (a)");
    let temporary = Folder::new();
    let mut server = start(&path, &temporary);
    // Many times what a pipe holds; the last one waits in vain.
    let large = json!({ "sql": "SELECT hex(zeroblob(900)) FROM json_each('[1,2,3,4,5,6,7,8]')" });
    for _ in 0..200 {
        say(&mut server, &call("query", large.clone()));
    }
    thread::sleep(Duration::from_secs(1));
    let asked = Instant::now();
    signal(&server, "TERM");
    assert_eq!(ended(&mut server), Some(128 + 15));
    assert!(asked.elapsed() < SOON, "{:?}", asked.elapsed());
    assert_eq!(folder.files(), ["t.db"]);
}

#[test]
fn a_second_signal_ends_the_process_at_once() {
    let folder = Folder::new();
    let path = folder.database("t.db", "CREATE TABLE t (a)");
    let temporary = Folder::new();
    let mut server = start(&path, &temporary);
    let large = json!({ "sql": "SELECT hex(zeroblob(900)) FROM json_each('[1,2,3,4,5,6,7,8]')" });
    for _ in 0..200 {
        say(&mut server, &call("query", large.clone()));
    }
    thread::sleep(Duration::from_secs(1));
    signal(&server, "TERM");
    thread::sleep(Duration::from_millis(200));
    let asked = Instant::now();
    signal(&server, "INT");
    assert_eq!(ended(&mut server), Some(128 + 2));
    assert!(
        asked.elapsed() < Duration::from_secs(3),
        "{:?}",
        asked.elapsed()
    );
}

fn start(path: &Path, temporary: &Folder) -> Child {
    sqlarium()
        .args(["mcp", text(path)])
        .env("TMPDIR", temporary.path("."))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the server starts")
}

fn call(command: &str, arguments: Value) -> Value {
    let params = json!({
        "name": format!("sqlarium_{command}"),
        "arguments": arguments,
        "_meta": { "progressToken": 1 },
    });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
}

fn say(server: &mut Child, message: &Value) {
    let stdin = server.stdin.as_mut().expect("its input");
    stdin
        .write_all(format!("{message}\n").as_bytes())
        .expect("room in the pipe");
}

fn wait_until_it_writes(path: &Path) {
    let native = Connection::open(path).expect("the database");
    native.busy_timeout(Duration::ZERO).expect("no time");
    let started = Instant::now();
    loop {
        match native.execute_batch("BEGIN IMMEDIATE; ROLLBACK") {
            Ok(()) => {}
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => return,
            Err(error) => panic!("{error}"),
        }
        assert!(started.elapsed() < PATIENCE, "it never writes");
        thread::sleep(Duration::from_millis(5));
    }
}

fn signal(server: &Child, name: &str) {
    let line = format!("kill -{name} {}", server.id());
    let status = Command::new("sh")
        .args(["-c", &line])
        .status()
        .expect("a shell");
    assert!(status.success());
}

/// Waits for its end: the exit code.
fn ended(server: &mut Child) -> Option<i32> {
    let started = Instant::now();
    loop {
        if let Some(status) = server.try_wait().expect("its status") {
            // What it had still sent.
            if let Some(mut output) = server.stdout.take() {
                let _ = output.read_to_end(&mut Vec::new());
            }
            return status.code();
        }
        if started.elapsed() > PATIENCE {
            let _ = server.kill();
            panic!("the server does not end");
        }
        thread::sleep(Duration::from_millis(5));
    }
}
