//! A guest that was taken over: it has the exports and imports of the real one, and uses both
//! in every way that no honest guest would.
//!
//! A line is the name of a misdeed and its words; the answer says what came of it, for the test
//! to judge. What is never answered has to be aborted by the host.

#![cfg(target_family = "wasm")]

mod calls;
mod files;
mod lies;
mod regions;
mod work;

use std::cell::Cell;

use bindings::exports::sqlarium::sandbox::{command, server, shell};
use bindings::sqlarium::sandbox::{control, types};

/// `wit/` as Rust.
#[expect(unsafe_code, reason = "generated from wit/")]
mod bindings {
    wit_bindgen::generate!({ path: "../../../wit", world: "sandbox" });
    use super::Hostile;
    export!(Hostile);
}

struct Hostile;

/// What the constructor of the next instance traps on.
const DOOM: &[u8] = b"doomed";

impl server::Guest for Hostile {
    type Session = Session;

    fn check(_settings: types::ServerSettings) -> Result<Vec<String>, String> {
        Ok(Vec::new())
    }
}

struct Session {
    /// The name of the served database.
    database: String,
    /// Whether it goes on for ever when it is dropped.
    clings: Cell<bool>,
    /// What an earlier instance saved.
    state: Vec<u8>,
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.clings.get() {
            work::spin();
        }
    }
}

impl server::GuestSession for Session {
    fn new(settings: types::ServerSettings, state: Vec<u8>) -> Self {
        assert_ne!(state, DOOM);
        Self {
            database: settings.engine.database,
            clings: Cell::new(false),
            state,
        }
    }

    fn answer(&self, line: Vec<u8>) -> Option<String> {
        let line = String::from_utf8(line).expect("tests speak UTF-8");
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| {
            words
                .get(at)
                .and_then(|word| word.parse().ok())
                .unwrap_or(0)
        };
        Some(match words[0] {
            "well" => "well".into(),
            "state" => format!("{} bytes", self.state.len()),
            "cling" => {
                self.clings.set(true);
                "clings".into()
            }
            "doom" => {
                control::save_state(DOOM);
                panic!("so that the next one has to start");
            }
            // What comes of it is in the hands of the one that takes over.
            "lies" => panic!("so that another one has to reply"),
            "work" => work::misdeed(words[1]),
            "call" => calls::misdeed(words[1]),
            "names" => files::names(&words[1..]),
            "opens" => files::opens(number(1)),
            "churn" => files::churn(&self.database, number(1)),
            "staged" => files::staged(&self.database),
            "offsets" => files::offsets(&self.database),
            "locks" => files::locks(&self.database, number(1)),
            "handles" => files::handles(words[1]),
            "busy" => files::busy(&self.database, words[1]),
            "edges" => files::edges(&self.database),
            "regions" => regions::bad(&self.database),
            "storm" => regions::storm(&self.database, number(1), number(2)),
            "reply" => return lies::reply(words[1]),
            // Its turn has come after all.
            "triage:" => "answered late".into(),
            word => panic!("no misdeed {word}"),
        })
    }

    fn triage(&self, line: Vec<u8>) -> server::Triaged {
        lies::triage(&String::from_utf8(line).expect("tests speak UTF-8"))
    }

    fn interrupted(&self, line: Vec<u8>, reason: server::Interruption) -> Option<String> {
        let line = String::from_utf8(line).expect("tests speak UTF-8");
        lies::interrupted(&line, reason, &self.state)
    }

    fn overlong(&self, head: Vec<u8>) -> String {
        lies::overlong(&head)
    }
}

impl command::Guest for Hostile {
    fn show_thread(_: String, _: Vec<Vec<u8>>, _: bool) -> String {
        "well".into()
    }

    fn catalog() -> Vec<command::Entry> {
        Vec::new()
    }

    fn run(_: types::CommandSettings, _: String, _: String) -> Result<String, command::Failure> {
        Ok(String::new())
    }
}

impl shell::Guest for Hostile {
    type Session = Idle;
}

/// A shell that does nothing.
struct Idle;

impl shell::GuestSession for Idle {
    fn new(_: types::CommandSettings, _: bool, _: Vec<u8>) -> Self {
        Self
    }

    fn feed(&self, _: Vec<u8>) -> shell::Next {
        shell::Next::Ready
    }

    fn abandon(&self) {}

    fn finish(&self) -> u8 {
        0
    }

    fn complete(&self, _: String, _: u32) -> shell::Completion {
        shell::Completion {
            start: 0,
            candidates: Vec::new(),
        }
    }
}

/// Numbers that look random and are the same in every run: `SplitMix64`,
/// after <https://prng.di.unimi.it/splitmix64.c>.
struct Dice(u64);

impl Dice {
    /// A number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}
