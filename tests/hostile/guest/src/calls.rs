//! Abuse of the imports that surround a call, and of a console that nobody looks at.

use crate::bindings::sqlarium::sandbox::audit;
use crate::bindings::sqlarium::sandbox::console::{self, Stream};
use crate::bindings::sqlarium::sandbox::control;
use crate::bindings::sqlarium::sandbox::threads;
use crate::work::spin;

/// Longer than any line may be, and than all that a call may carry over the boundary.
pub const LONG: usize = 40 << 20;

/// The most that may be saved, where replies are at most 1 MiB.
const SAVED: usize = (1 << 20) + (64 << 10);

/// One of them.
pub fn misdeed(name: &str) -> String {
    match name {
        "notify-long" => control::notify(&"x".repeat(LONG)),
        "notify-lines" => control::notify("{}\n{}"),
        "notify-forever" => loop {
            control::notify(&"x".repeat(1000));
        },
        "save-most" => {
            control::save_state(&vec![b'x'; SAVED]);
            // The next instance has to take it.
            spin();
        }
        "save-more" => control::save_state(&vec![b'x'; SAVED + 1]),
        "save-long" => control::save_state(&vec![b'x'; LONG]),
        "save-forever" => loop {
            control::save_state(&[b'x'; 64 << 10]);
        },
        "extend-more" => {
            control::save_state(&vec![b'x'; SAVED]);
            control::extend_state(b"x");
        }
        "extend-nothing" => loop {
            control::extend_state(b"");
        },
        "extend-storm" => loop {
            control::extend_state(b"xx");
        },
        "running" => {
            let running =
                control::running().map(|line| String::from_utf8_lossy(&line).into_owned());
            return format!("{running:?}");
        }
        "running-forever" => loop {
            drop(control::running());
        },
        "queued" => {
            let none = [0, 1, 1 << 20, u32::MAX].map(|index| control::queued(index).is_none());
            return format!("{none:?}");
        }
        "meter" => {
            let slices = [i64::MIN, -1, 0, i64::MAX].map(control::meter);
            return format!("{slices:?}");
        }
        "offset" => {
            let times = [i64::MIN, -1, 0, 1 << 40, i64::MAX];
            return format!(
                "{}",
                times
                    .iter()
                    .all(|at| control::offset_at(*at).abs() < 86_400)
            );
        }
        "audit" => {
            let long = "x".repeat(1 << 20);
            let argument = audit::Argument {
                name: long.clone(),
                value: long.clone(),
            };
            let call = audit::Call {
                request: long.clone(),
                thread: Some(long.clone()),
                tool: "\u{1b}[2J\n".into(),
                arguments: vec![argument; 4],
                sql: Some(long),
            };
            // None is open, two are, none is again.
            end();
            audit::begin(&call);
            audit::begin(&call);
            end();
            end();
        }
        "audit-forever" => loop {
            end();
        },
        "audit-twice" => {
            audit::begin(&odd_call(&"x".repeat(100_000)));
            audit::begin(&odd_call("x"));
        }
        "audit-storm" => loop {
            audit::begin(&odd_call("x"));
            end();
        },
        "audit-odd" => {
            for odd in [
                "\u{1b}[2J\r\n{\"event\":\"start\"}\n",
                "\u{202e}\u{9b}\0\"\\",
                "7\n8",
            ] {
                audit::begin(&odd_call(odd));
                end();
            }
        }
        "threads" => {
            threads::append("../x", &[b'x'; 4 << 10]);
            return format!("{:?}", threads::recall("../x"));
        }
        // Whoever else has threads, and however they are kept.
        "threads-names" => {
            let names = [
                "t",
                "other",
                "other/t",
                "other\0t",
                "../t",
                "*",
                "%",
                "' OR 1 = 1 --",
                "rowid",
                "\0",
            ];
            let entry = |name| {
                threads::append(name, b"mine");
                threads::recall(name)
            };
            let found: Vec<String> = names
                .into_iter()
                .flat_map(entry)
                .map(|entry| String::from_utf8_lossy(&entry).into_owned())
                .collect();
            return found.join(" ");
        }
        "threads-long" => _ = threads::append("t", &[b'x'; (4 << 10) + 1]),
        "threads-nobodys" => _ = threads::append("", b"x"),
        "threads-long-id" => drop(threads::recall(&"x".repeat(257))),
        "threads-forever" => loop {
            threads::append("t", b"x");
        },
        // Between the lines of the protocol.
        "print" => {
            let heard =
                [Stream::Output, Stream::Errors].map(|stream| console::print(stream, b"forged\n"));
            return format!("{heard:?}");
        }
        "print-long" => drop(console::print(Stream::Output, &vec![b'x'; LONG])),
        "print-forever" => loop {
            console::print(Stream::Output, &[b'x'; 100_000]);
        },
        name => panic!("no call {name}"),
    }
    "done".into()
}

fn odd_call(odd: &str) -> audit::Call {
    let argument = audit::Argument {
        name: odd.into(),
        value: odd.into(),
    };
    audit::Call {
        request: odd.into(),
        thread: Some(odd.into()),
        tool: odd.into(),
        arguments: vec![argument; 2],
        sql: Some(odd.into()),
    }
}

fn end() {
    audit::end(&audit::Outcome {
        status: "x".repeat(1000),
        rows: u64::MAX,
        changes: u64::MAX,
    });
}
