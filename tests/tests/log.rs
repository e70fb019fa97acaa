//! The log on standard error: whoever reads it, or does not, keeps no server from its work.

use std::io::{PipeReader, Write, pipe};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;
use sqlarium_tests::{Server, sqlarium};

/// Little fuel, and what burns it inside one function: the call is aborted, and that is logged.
const FUEL: [&str; 2] = ["--fuel", "800000"];
const ABORTED: &str = "SELECT length(replace(hex(zeroblob(20000000)), '00', 'xyzz'))";

/// Serves several calls that are logged, and one that is not.
fn serve(errors: Stdio) -> Server {
    let mut server = Server::spawn_with_errors(sqlarium().arg("mcp").args(FUEL), errors);
    server.initialize();
    for _ in 0..3 {
        let answer = server.call("query", json!({ "sql": ABORTED }));
        assert!(
            answer.refused && answer.text.contains("--fuel"),
            "{}",
            answer.text
        );
        server.assert_well();
    }
    server
}

/// A pipe that takes nothing more, although it could be read.
fn full_pipe() -> (PipeReader, Stdio) {
    let (reader, mut writer) = pipe().expect("a pipe");
    let end = writer.try_clone().expect("its end");
    let written = Arc::new(AtomicUsize::new(0));
    let count = written.clone();
    thread::spawn(move || {
        while writer.write_all(b"x").is_ok() {
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    let mut before = 0;
    loop {
        thread::sleep(Duration::from_millis(200));
        match written.load(Ordering::Relaxed) {
            now if now > 0 && now == before => return (reader, end.into()),
            now => before = now,
        }
    }
}

#[test]
fn an_abort_is_logged_in_one_line() {
    let ended = serve(Stdio::piped()).finish();
    assert_eq!(ended.code, Some(0));
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(lines.len(), 3, "{}", ended.stderr);
    assert!(lines[0].starts_with("sqlarium: "), "{}", ended.stderr);
}

#[test]
fn nobody_reads_the_log_any_more() {
    let (reader, writer) = pipe().expect("a pipe");
    drop(reader);
    assert_eq!(serve(writer.into()).finish().code, Some(0));
}

#[test]
fn nobody_reads_the_log_although_it_is_open() {
    let (reader, writer) = full_pipe();
    assert_eq!(serve(writer).finish().code, Some(0));
    drop(reader);
}
