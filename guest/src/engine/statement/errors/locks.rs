//! What other processes and the operating system are in the way of.

use rusqlite::ffi;

use super::{ErrorContext, unwritable, writes};
use crate::answer::failure::{Failure, Status};

pub(super) fn busy(code: i32, about: &ErrorContext<'_>) -> Failure {
    let title = about.title;
    if code == ffi::SQLITE_BUSY_SNAPSHOT {
        return Failure::new(
            Status::Busy,
            format!("Another process wrote to {title} since this transaction began to read."),
        )
        .hint("Try again.");
    }
    let ms = about.settings.limits.busy_ms;
    let waited = if ms.is_multiple_of(1_000) {
        format!("{} s", ms / 1_000)
    } else {
        format!("{ms} ms")
    };
    if code == ffi::SQLITE_PROTOCOL {
        return Failure::new(
            Status::Busy,
            format!(
                "Another process has locked the index of {title}'s write-ahead log and has not \
                 finished it; waited {waited} for it (--busy-timeout)."
            ),
        )
        .hint("Try again when that process has finished its transaction or has ended.");
    }
    // Some locks SQLite does not wait for.
    let waited = if about.waited {
        format!("; waited {waited} for it (--busy-timeout)")
    } else {
        String::new()
    };
    Failure::new(
        Status::Busy,
        format!("{title} is locked by another process{waited}."),
    )
    .hint("Try again when that process has finished its transaction.")
}

pub(super) fn readonly(code: i32, about: &ErrorContext<'_>) -> Failure {
    let title = about.title;
    let (forbids, mend) = if about.settings.readonly {
        (
            "--readonly forbids",
            "Open the database once with a program that can write to it, such as sqlite3, or \
             start the server without --readonly.",
        )
    } else {
        (
            "the permissions of the file or its folder forbid",
            "Open the database once with a program that can write to it, such as sqlite3.",
        )
    };
    match code {
        ffi::SQLITE_READONLY_ROLLBACK => Failure::new(
            Status::InvalidState,
            format!(
                "Another program left {title} in the middle of a transaction; rolling it back \
                     needs writing, which {forbids}."
            ),
        )
        .hint(mend),
        ffi::SQLITE_READONLY_RECOVERY
        | ffi::SQLITE_READONLY_CANTINIT
        | ffi::SQLITE_READONLY_CANTLOCK => Failure::new(
            Status::InvalidState,
            format!(
                "{title} has a write-ahead log that needs recovery; recovery needs writing, \
                     which {forbids}."
            ),
        )
        .hint(mend),
        ffi::SQLITE_READONLY_DBMOVED => Failure::new(
            Status::InvalidState,
            format!("{title} was moved or replaced while it was open."),
        )
        .hint("Try again: the next call opens the file that has the name then."),
        _ if about.writes => unwritable(title),
        _ => writes("write to the database", about.settings),
    }
}
