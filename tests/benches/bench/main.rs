//! What the sandbox costs: sqlarium side by side with native SQLite of the same version and options, and
//! with other MCP servers where they are at hand.
//!
//! All candidates of a measurement are alive at once and take turns, so that a machine's slow phases hit
//! all of them; processor times are those that the system counts for a process. What they answer is
//! compared too. `make bench` runs everything; `make bench SECTIONS="mix vectors"` some of it. The results
//! are in `target/bench`: a table, JSON and a picture.
//!
//! - `mix`: statements in memory and on a file. `pages`: a file that is larger than the cache.
//!   `commits`: one row at a time, alone and beside others. `start`: starts, memory, an abort.
//!   `calls`: small calls over the pipe. `transfer`: import, export and dump. `vectors`: distances.

mod calls;
mod commits;
mod mix;
mod native;
mod pages;
mod pipe;
mod report;
mod start;
mod transfer;
mod vectors;

use std::env;

use report::Report;

/// Measures, and adds what it found.
type Section = fn(&mut Report);

fn main() {
    let mut arguments: Vec<String> = env::args().skip(1).collect();
    // cargo's own word.
    arguments.retain(|argument| argument != "--bench");
    if arguments.first().is_some_and(|first| first == native::WORD) {
        return native::serve(arguments.get(1).map_or(":memory:", String::as_str));
    }
    let sections: [(&str, Section); 7] = [
        ("mix", mix::run),
        ("pages", pages::run),
        ("commits", commits::run),
        ("start", start::run),
        ("calls", calls::run),
        ("transfer", transfer::run),
        ("vectors", vectors::run),
    ];
    let mut report = Report::new();
    for (name, run) in sections {
        if arguments.is_empty() || arguments.iter().any(|argument| argument == name) {
            eprintln!("== {name}");
            run(&mut report);
        }
    }
    report.write();
}
