//! Small calls over the pipe, beside other MCP servers where they are installed.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::pipe::{Pipe, Tools};
use crate::report::Report;

/// What is called, what its answer holds, and how often.
const CALLS: [(&str, &str, &str, usize); 2] = [
    ("SELECT 1 over the pipe", "SELECT 1", "1", 5_000),
    (
        "1,000 rows of 4 as text",
        "SELECT id, a, b, c FROM t LIMIT 1000",
        "name 1000 lorem",
        500,
    ),
];

const ROWS: &str = "CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b TEXT, c REAL)";

/// One row each, which every server understands.
const ROW: &str = "INSERT INTO t VALUES ";

/// Runs them.
pub fn run(report: &mut Report) {
    let mut candidates = vec![Pipe::sqlarium(&["--text", "1000000"], ":memory:")];
    candidates.extend(peers());
    for candidate in &mut candidates {
        candidate.exec(ROWS);
        for first in (1..1000).step_by(100) {
            let row = |id: u32| {
                format!(
                    "({id},{},'name {id} lorem',{})",
                    id * 7919 % 1009,
                    f64::from(id) * 0.37
                )
            };
            let rows: Vec<String> = (first..first + 100).map(row).collect();
            candidate.insert(&format!("{ROW}{}", rows.join(",")));
        }
    }
    for (what, sql, part, times) in CALLS {
        let mut best = vec![Duration::MAX; candidates.len()];
        for _ in 0..times {
            for (candidate, best) in candidates.iter_mut().zip(&mut best) {
                let took = candidate.show(sql);
                assert!(
                    took.reply.contains(part),
                    "{}: {:.300}",
                    candidate.name,
                    took.reply
                );
                *best = took.wall.min(*best);
            }
        }
        for (candidate, best) in candidates.iter().zip(&best) {
            report.detail(
                "calls",
                what,
                &candidate.name,
                best.as_secs_f64() * 1e3,
                "ms",
            );
        }
        let peers = candidates.iter().zip(&best).skip(1);
        match peers.min_by_key(|(_, best)| **best) {
            Some((peer, least)) => report.ratio(
                what,
                &peer.name,
                best[0].as_secs_f64() / least.as_secs_f64(),
                1.0,
            ),
            None => report.figure(what, best[0].as_secs_f64() * 1e3, "ms", f64::INFINITY),
        }
    }
}

/// The other servers that are on PATH, on databases in memory.
fn peers() -> Vec<Pipe> {
    let known: [(&str, &[&str], Tools); 2] = [
        (
            "tursodb",
            &[":memory:", "--mcp"],
            Tools {
                query: "execute_query",
                exec: "schema_change",
                insert: "insert_data",
                sql: "query",
                limits: false,
            },
        ),
        (
            "inillucent-mcp",
            &[],
            Tools {
                query: "inillucent_query",
                exec: "inillucent_exec",
                insert: "inillucent_exec",
                sql: "sql",
                limits: true,
            },
        ),
    ];
    let mut found = Vec::new();
    for (name, arguments, tools) in known {
        let mut version = Command::new(name);
        version.arg("--version").stdin(Stdio::null());
        if version.output().is_err() {
            eprintln!("\n*** {name} is not on PATH: nothing is compared with it ***\n");
            continue;
        }
        let mut command = Command::new(name);
        found.push(Pipe::start(name, command.args(arguments), Some(tools)));
    }
    found
}
