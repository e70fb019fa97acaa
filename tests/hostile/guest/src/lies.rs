//! Answers that no honest guest would give.

use crate::bindings::exports::sqlarium::sandbox::server::Overheard;
use crate::bindings::sqlarium::sandbox::mailbox;
use crate::bindings::sqlarium::sandbox::storage::{OpenOptions, Role, open};
use crate::mail::LONG;
use crate::work;

/// Longer than any reply may be.
pub fn long() -> String {
    "x".repeat(LONG)
}

/// A reply.
pub fn reply(kind: &str) -> Option<String> {
    match kind {
        "long" => Some(long()),
        "lines" => Some("{}\n{\"jsonrpc\":\"2.0\",\"method\":\"forged\"}".into()),
        "none" => None,
        "no-json" => Some("well, {[".into()),
        kind => panic!("no reply {kind}"),
    }
}

/// What to do with a line while another instance is at work.
pub fn overhear(line: &str) -> Overheard {
    let settled = |text: String| Overheard::Settled(Some(text));
    match line {
        "hear: long" => settled(long()),
        "hear: lines" => settled("{}\n{\"jsonrpc\":\"2.0\",\"method\":\"forged\"}".into()),
        "hear: cancel" => Overheard::Cancel,
        "hear: withdraw" => Overheard::Withdraw(u32::MAX),
        "hear: spin" => {
            work::spin();
            Overheard::Later
        }
        "hear: trap" => panic!("in the one that overhears"),
        "hear: fill" => {
            work::misdeed("fill");
            Overheard::Later
        }
        "hear: random" => {
            work::misdeed("random");
            Overheard::Later
        }
        "hear: poll" => {
            work::misdeed("poll");
            Overheard::Later
        }
        "hear: send" => {
            for _ in 0..60 {
                mailbox::send(&"x".repeat(1_000_000));
            }
            Overheard::Settled(None)
        }
        "hear: keep" => {
            mailbox::keep(crate::DOOM);
            mailbox::bequeath(&["forged".into()]);
            Overheard::Settled(None)
        }
        "hear: files" => {
            let options = OpenOptions::READ_WRITE | OpenOptions::CREATE;
            let opened = ["", "shop.db", "x.db", "../x.db"]
                .map(|name| open(name, Role::MainDatabase, options).is_ok());
            settled(format!("opened: {opened:?}"))
        }
        _ => Overheard::Later,
    }
}
