//! Answers that no honest guest would give.

use crate::bindings::exports::sqlarium::sandbox::server::{Interruption, Triaged};
use crate::bindings::sqlarium::sandbox::control;
use crate::bindings::sqlarium::sandbox::storage::{OpenOptions, Role, open};
use crate::calls::LONG;
use crate::work;

/// Longer than any reply may be.
fn long() -> String {
    "x".repeat(LONG)
}

/// Two lines, of which one is forged.
fn lines() -> String {
    "{}\n{\"jsonrpc\":\"2.0\",\"method\":\"forged\"}".into()
}

/// A reply.
pub fn reply(kind: &str) -> Option<String> {
    match kind {
        "long" => Some(long()),
        "lines" => Some(lines()),
        "none" => None,
        "no-json" => Some("well, {[".into()),
        kind => panic!("no reply {kind}"),
    }
}

/// What a client gets whose line was aborted: the reason, or what the line asks for.
pub fn interrupted(line: &str, reason: Interruption, state: &[u8]) -> Option<String> {
    let reason = match reason {
        Interruption::Cancelled => "cancelled".into(),
        Interruption::Stopped(sentence) => sentence,
    };
    match line.strip_prefix("lies ") {
        None => {}
        Some("none") => return None,
        Some("long") => return Some(long()),
        Some("lines") => return Some(lines()),
        Some("trap") => panic!("in the one that replies"),
        Some("spin") => work::spin(),
        Some("fill") => drop(work::misdeed("fill")),
        // Only as long as there is a state.
        Some("state") => {
            if state.is_empty() {
                control::save_state(b"s");
                control::extend_state(&[b's'; 1000]);
            } else {
                panic!("so that it is forgotten");
            }
        }
        Some(lie) => panic!("no lie {lie}"),
    }
    Some(format!("aborted: {reason}"))
}

/// The reply to a line that is too long.
pub fn overlong(head: &[u8]) -> String {
    match head {
        [b'l', ..] => long(),
        [b't', ..] => panic!("in the one that refuses"),
        _ => format!("{} bytes were too many", head.len()),
    }
}

/// What to do with a line while another instance is at work.
pub fn triage(line: &str) -> Triaged {
    let handled = |text: String| Triaged::Handled(Some(text));
    match line {
        "triage: long" => handled(long()),
        "triage: lines" => handled(lines()),
        "triage: cancel" => Triaged::CancelRunning,
        "triage: dequeue" => Triaged::CancelQueued(u32::MAX),
        "triage: spin" => {
            work::spin();
            Triaged::Defer
        }
        "triage: trap" => panic!("in the one that triages"),
        "triage: fill" => {
            work::misdeed("fill");
            Triaged::Defer
        }
        "triage: random" => {
            work::misdeed("random");
            Triaged::Defer
        }
        "triage: wait" => {
            work::misdeed("wait");
            Triaged::Defer
        }
        "triage: notify" => {
            for _ in 0..60 {
                control::notify(&"x".repeat(1_000_000));
            }
            Triaged::Handled(None)
        }
        "triage: save" => {
            control::save_state(crate::DOOM);
            control::extend_state(b"forged");
            Triaged::Handled(None)
        }
        "triage: files" => {
            let options = OpenOptions::READ_WRITE | OpenOptions::CREATE;
            let opened = ["", "shop.db", "x.db", "../x.db"]
                .map(|name| open(name, Role::MainDatabase, options).is_ok());
            handled(format!("opened: {opened:?}"))
        }
        _ => Triaged::Defer,
    }
}
