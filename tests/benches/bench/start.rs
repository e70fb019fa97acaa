//! Starts, memory, and what follows an abort.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;
use sqlarium_tests::ONE_FUNCTION;

use crate::pipe::{OURS, Pipe};
use crate::report::Report;

/// How often each is started.
const STARTS: usize = 40;

/// The servers that idle together.
const SERVERS: usize = 100;

/// Runs them.
pub fn run(report: &mut Report) {
    starts(report);
    memory(report);
    after_an_abort(report);
}

fn starts(report: &mut Report) {
    // It answers a line with a line, and does nothing else.
    let empty = || Pipe::start("cat", &mut Command::new("cat"), None);
    let (mut least, mut ours) = (Duration::MAX, Duration::MAX);
    for _ in 0..STARTS {
        let started = Instant::now();
        let mut pipe = empty();
        pipe.exchange("{}");
        least = least.min(started.elapsed());
        let started = Instant::now();
        let pipe = Pipe::sqlarium(&[], ":memory:");
        ours = ours.min(started.elapsed());
        drop(pipe);
    }
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    report.detail(
        "start",
        "start to the first answer",
        "cat",
        milliseconds(least),
        "ms",
    );
    report.detail(
        "start",
        "start to the first answer",
        "sqlarium",
        milliseconds(ours),
        "ms",
    );
    report.figure(
        "start until initialize is answered, beyond cat",
        milliseconds(ours) - milliseconds(least),
        "ms",
        4.0,
    );
}

fn memory(report: &mut Report) {
    let mut server = Pipe::sqlarium(&[], ":memory:");
    server.exec("CREATE TABLE t(a, b)");
    for _ in 0..100 {
        server.exec("INSERT INTO t VALUES (1, 'one')");
        server.show("SELECT * FROM t");
    }
    report.figure(
        "peak memory after 200 calls",
        server.memory("status", "VmHWM:") / 1024.0,
        "MiB",
        14.0,
    );
    drop(server);
    let servers: Vec<Pipe> = (0..SERVERS)
        .map(|_| Pipe::sqlarium(&[], ":memory:"))
        .collect();
    let shares = servers
        .iter()
        .map(|server| server.memory("smaps_rollup", "Pss:"));
    report.figure(
        "100 idle servers together (PSS)",
        shares.sum::<f64>() / 1024.0,
        "MiB",
        400.0,
    );
}

fn after_an_abort(report: &mut Report) {
    let mut command = sqlarium_tests::sqlarium();
    command.args(["mcp", "--timeout", "100ms", "--db", ":memory:"]);
    let mut server = Pipe::start("sqlarium", &mut command, Some(OURS));
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let arguments = json!({ "name": OURS.query, "arguments": { "sql": ONE_FUNCTION } });
        let reply = server.ask("tools/call", &arguments).reply;
        assert!(reply.contains("\"isError\":true"), "{reply}");
        best = best.min(server.show("SELECT 1").wall);
    }
    report.figure("a call after an abort", best.as_secs_f64() * 1e3, "ms", 2.0);
}
