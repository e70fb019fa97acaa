//! Abuse of the mailbox, and of a console that nobody looks at.

use crate::bindings::sqlarium::sandbox::console::{self, Stream};
use crate::bindings::sqlarium::sandbox::mailbox;
use crate::work::spin;

/// Longer than any line may be, and than all that a call may carry across the boundary.
pub const LONG: usize = 40 << 20;

/// One of them.
pub fn misdeed(name: &str) -> String {
    match name {
        "send-long" => mailbox::send(&"x".repeat(LONG)),
        "send-lines" => mailbox::send("{}\n{}"),
        "send-forever" => loop {
            mailbox::send(&"x".repeat(1000));
        },
        "bequeath-long" => mailbox::bequeath(&["x".repeat(LONG)]),
        "bequeath-lines" => {
            mailbox::bequeath(&["two\n".into(), "lines".into()]);
            spin();
        }
        "bequeath-many" => {
            // Nothing, a million times, with the host's reason in between.
            mailbox::bequeath(&vec![String::new(); 1_000_000]);
            spin();
        }
        "bequeath-most" => mailbox::bequeath(&vec![String::new(); 2_000_000]),
        "bequeath-forever" => loop {
            mailbox::bequeath(&["x".repeat(100_000), "y".into()]);
        },
        "keep-long" => mailbox::keep(&"x".repeat((64 << 10) + 1)),
        "keep-forever" => loop {
            mailbox::keep(&"x".repeat(64 << 10));
        },
        "waiting" => {
            let none = [0, 1, 1 << 20, u32::MAX].map(|index| mailbox::waiting(index).is_none());
            return format!("{none:?}");
        }
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
        name => panic!("no mail {name}"),
    }
    "done".into()
}
