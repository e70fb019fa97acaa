//! Names that were not granted, numbers without sense, handles that are none.

use std::collections::BTreeMap;

use crate::Dice;
use crate::bindings::sqlarium::sandbox::direct_io;
use crate::bindings::sqlarium::sandbox::shared_memory::{self, LockAction};
use crate::bindings::sqlarium::sandbox::storage::{
    ErrorCode, File, LockLevel, OpenOptions, Role, SyncMode, delete, exists, open,
};
use crate::work::spin;

const ROLES: [Role; 7] = [
    Role::MainDatabase,
    Role::MainJournal,
    Role::Wal,
    Role::SuperJournal,
    Role::Temporary,
    Role::Plain,
    Role::Staged,
];

const LEVELS: [LockLevel; 5] = [
    LockLevel::None,
    LockLevel::Shared,
    LockLevel::Reserved,
    LockLevel::Pending,
    LockLevel::Exclusive,
];

/// For writing, and made if need be.
pub const CREATE: OpenOptions = OpenOptions::READ_WRITE.union(OpenOptions::CREATE);

/// How often each outcome was seen, for a report.
#[derive(Default)]
pub struct Tally(BTreeMap<String, u64>);

impl Tally {
    /// Counts one.
    pub fn count<T>(&mut self, what: &str, outcome: Result<T, ErrorCode>) -> Option<T> {
        let (outcome, value) = match outcome {
            Ok(value) => ("ok".to_owned(), Some(value)),
            Err(code) => (code.name().to_owned(), None),
        };
        *self.0.entry(format!("{what} {outcome}")).or_default() += 1;
        value
    }

    /// All of it on one line.
    pub fn report(&self) -> String {
        let all: Vec<String> = self
            .0
            .iter()
            .map(|(what, n)| format!("{what}: {n}"))
            .collect();
        all.join(", ")
    }
}

/// The served database.
pub fn served(database: &str) -> File {
    open(database, Role::MainDatabase, OpenOptions::READ_WRITE).expect("the served database")
}

/// Tries these names and others in every way; names those that anything came of.
pub fn names(given: &[&str]) -> String {
    let mut names: Vec<String> = given.iter().map(|&name| name.to_owned()).collect();
    names.extend(
        [
            "..",
            ".",
            "/",
            "//",
            "a/../../b",
            "./",
            "\0",
            "shop.db\0",
            "shop.db-shm",
            "shop.db/",
            "./shop.db",
            "shop.db-mj000000",
            "shop.db-mj00000A9BC",
            "shop.db-journal-journal",
            "/etc/passwd",
            "/proc/self/mem",
            "/proc/self/fd/0",
            "/dev/zero",
            "/dev/stdin",
            "file:/etc/passwd",
            "\u{202e}",
            "~/.profile",
            "C:\\boot.ini",
            "\\\\host\\share",
            " ",
            "shop.db ",
            "shop.db\n",
            "SHOP.DB",
        ]
        .map(str::to_owned),
    );
    names.push("x".repeat(1_000_000));
    names.push("../".repeat(300_000));
    names.push("a/".repeat(2000));
    let mut granted = Vec::new();
    for name in &names {
        let mut came_of = Vec::new();
        for role in ROLES {
            for bits in 0..8 {
                let mut options = OpenOptions::empty();
                for (bit, option) in [
                    OpenOptions::READ_WRITE,
                    OpenOptions::CREATE,
                    OpenOptions::EXCLUSIVE,
                ]
                .into_iter()
                .enumerate()
                {
                    if bits & 1 << bit != 0 {
                        options |= option;
                    }
                }
                let Ok(file) = open(name, role, options) else {
                    continue;
                };
                match role {
                    // It has no name, whatever it is called.
                    Role::Temporary => {}
                    Role::Staged if file.publish(bits & 1 != 0).is_err() => {}
                    _ => came_of.push("open"),
                }
            }
        }
        if exists(name, false) == Ok(true) || exists(name, true) == Ok(true) {
            came_of.push("exists");
        }
        if delete(name, true).is_ok() {
            came_of.push("delete");
        }
        came_of.dedup();
        if !came_of.is_empty() {
            let short: String = name.chars().take(40).collect();
            granted.push(format!("{short:?} {came_of:?}"));
        }
    }
    format!("{} names, granted: [{}]", names.len(), granted.join("; "))
}

/// Opens without closing.
pub fn opens(count: u64) -> String {
    let mut held = Vec::new();
    let mut tally = Tally::default();
    for _ in 0..count {
        held.extend(tally.count("open", open("", Role::Temporary, CREATE)));
    }
    tally.report()
}

/// Opens and closes, while one handle holds a lock.
pub fn churn(database: &str, count: u64) -> String {
    let held = served(database);
    held.lock(LockLevel::Shared).expect("a lock");
    let mut tally = Tally::default();
    let journal = format!("{database}-journal");
    for n in 0..count {
        let options = if n % 3 == 0 {
            OpenOptions::empty()
        } else {
            OpenOptions::READ_WRITE
        };
        if let Some(file) = tally.count("open", open(database, Role::MainDatabase, options)) {
            let _ = file.lock(LockLevel::Shared);
        }
        if n % 16 == 0 {
            tally.count("journal", open(&journal, Role::MainJournal, CREATE));
            tally.count("delete", delete(&journal, false));
        }
    }
    tally.report()
}

/// Files that are made: too many, over what is in use, after their end. Below the root are the
/// database `inside.db` and the folder `below`.
pub fn staged(database: &str) -> String {
    let stage = |name: &str| open(name, Role::Staged, CREATE);
    let mut tally = Tally::default();
    let mut held = Vec::new();
    for n in 0..500 {
        held.extend(tally.count("open", stage(&format!("half-{n}"))));
    }
    for file in &held {
        let _ = file.write(0, b"half of it");
    }
    // The most there may be; room is made for those below.
    drop(held);
    let inside = open("inside.db", Role::MainDatabase, OpenOptions::READ_WRITE).expect("inside.db");
    inside.lock(LockLevel::Shared).expect("a lock");
    for name in [
        database,
        &format!("{database}-journal"),
        &format!("{database}-wal"),
        "inside.db",
        "inside.db-wal",
        "below",
        "below/../whole",
        "whole/",
        "",
        "-",
    ] {
        let made = stage(name).and_then(|file| file.publish(true));
        tally.count("over", made);
    }
    let file = stage("whole").expect("a new file");
    file.write(0, b"all of it").expect("written");
    tally.count("publish", file.publish(false));
    tally.count("again", file.publish(true));
    tally.count("late", file.write(0, b"not this"));
    tally.count("late", file.truncate(0));
    let plain = open("whole", Role::Plain, CREATE).expect("it is there");
    tally.count("plain", plain.write(0, b"nor this"));
    tally.count("plain", plain.publish(true));
    tally.report()
}

/// Offsets and lengths at every edge.
pub fn offsets(database: &str) -> String {
    let edges = [
        0,
        1,
        4095,
        1 << 20,
        1 << 24,
        (1 << 31) - 1,
        1 << 31,
        1 << 32,
        1 << 40,
        (1 << 62) + 7,
        i64::MAX as u64 - 1,
        i64::MAX as u64,
        1 << 63,
        (1 << 63) + 1,
        u64::MAX - 1,
        u64::MAX,
    ];
    let lengths = [0, 1, 1 << 24, (1 << 24) + 1, 1 << 31, u32::MAX];
    let mut tally = Tally::default();
    let mut files = vec![
        ("file", served(database)),
        ("temporary", open("", Role::Temporary, CREATE).expect("one")),
    ];
    // Only where there is a root.
    let staged = open("edges", Role::Staged, CREATE);
    files.extend(staged.ok().map(|file| ("staged", file)));
    for (what, file) in files {
        for offset in edges {
            for length in lengths {
                // As much as there may be, but not again and again.
                if length != 1 << 24 || offset == 0 {
                    tally.count(&format!("{what} read"), file.read(offset, length));
                }
            }
            for data in [&b""[..], b"x", &[7; 4096]] {
                // The file itself is to stay as it is.
                if what != "file" || offset >= 1 << 40 {
                    tally.count(&format!("{what} write"), file.write(offset, data));
                }
            }
            if what != "file" || offset >= 1 << 40 {
                tally.count(&format!("{what} truncate"), file.truncate(offset));
            }
        }
    }
    tally.report()
}

/// Reads into buffers at the edges of the guest's memory, and beyond them.
#[expect(unsafe_code, reason = "buffers are made up")]
pub fn edges(database: &str) -> String {
    let mut tally = Tally::default();
    let pages = core::arch::wasm32::memory_size::<0>();
    let end = pages << 16;
    let file = served(database);
    // SAFETY: none of this is safe for the guest; it is for the host to stop it.
    let buffer = |at: usize, length: usize| unsafe {
        std::slice::from_raw_parts(std::ptr::without_provenance::<u8>(at), length)
    };
    for length in [0, 1, 4096] {
        tally.count(
            "end",
            direct_io::read(&file, 0, buffer(end - length, length)),
        );
    }
    for offset in [1 << 40, i64::MAX as u64, u64::MAX] {
        tally.count(
            "far",
            direct_io::read(&file, offset, buffer(end - 4096, 4096)),
        );
    }
    let temporary = open("", Role::Temporary, CREATE).expect("a temporary file");
    tally.count("write", temporary.write(0, buffer(end - 4096, 4096)));
    // One byte beyond.
    tally.count(
        "beyond",
        direct_io::read(&file, 0, buffer(end - 4095, 4096)),
    );
    tally.report()
}

/// Locks in any order, on several handles of one file.
pub fn locks(database: &str, count: u64) -> String {
    let mut dice = Dice(7);
    let mut tally = Tally::default();
    let mut files: Vec<File> = (0..4).map(|_| served(database)).collect();
    for _ in 0..count {
        let at = dice.below(4) as usize;
        let level = LEVELS[dice.below(5) as usize];
        let (slot, slots) = (dice.below(12) as u32, dice.below(12) as u32);
        let file = &files[at];
        match dice.below(10) {
            0..=3 => tally.count("lock", file.lock(level)),
            4..=6 => tally.count("unlock", file.unlock(level)),
            7 => tally.count("check", file.check_reserved().map(drop)),
            8 => {
                let action = [
                    LockAction::LockShared,
                    LockAction::LockExclusive,
                    LockAction::UnlockShared,
                    LockAction::UnlockExclusive,
                ][dice.below(4) as usize];
                tally.count("slots", shared_memory::lock(file, slot, slots, action))
            }
            _ => {
                files[at] = served(database);
                None
            }
        };
    }
    for file in &files {
        let _ = shared_memory::lock(file, u32::MAX, u32::MAX, LockAction::LockExclusive);
        let _ = file.unlock(LockLevel::None);
    }
    tally.report()
}

/// Handles that are closed, forged, or of another kind.
#[expect(unsafe_code, reason = "handles are made up")]
pub fn handles(kind: &str) -> String {
    let file = open("", Role::Temporary, CREATE).expect("a temporary file");
    let handle = file.handle();
    let forged = match kind {
        "closed" => {
            drop(file);
            handle
        }
        "zero" => 0,
        "next" => handle + 1,
        "far" => u32::MAX,
        "twice" => {
            // SAFETY: none of this is safe for the guest; it is for the host to stop it.
            drop(unsafe { File::from_handle(handle) });
            drop(file);
            return "dropped twice".into();
        }
        kind => panic!("no handle {kind}"),
    };
    // SAFETY: as above.
    let forged = unsafe { File::from_handle(forged) };
    format!("{:?}", forged.size())
}

/// Calls that keep the host busy while the guest does next to nothing.
pub fn busy(database: &str, kind: &str) -> String {
    let file = open("", Role::Temporary, CREATE).expect("a temporary file");
    file.truncate(8 << 20).expect("room");
    let data = vec![1; 8 << 20];
    match kind {
        "read" => loop {
            drop(file.read(0, 8 << 20));
        },
        "write" => loop {
            let _ = file.write(0, &data);
        },
        "truncate" => loop {
            let _ = file.write(0, &data);
            let _ = file.truncate(0);
        },
        "sync" => {
            let file = served(database);
            loop {
                let _ = file.sync(SyncMode::Full);
            }
        }
        "names" => loop {
            let _ = exists(&"a/".repeat(2000), true);
        },
        "exclusive" => {
            // Keeps every other process out for as long as it can.
            let file = served(database);
            for level in [LockLevel::Shared, LockLevel::Reserved, LockLevel::Exclusive] {
                file.lock(level).expect("a lock");
            }
            spin();
        }
        kind => panic!("no work {kind}"),
    }
    "done".into()
}
