use std::io::{BufRead, Read, Write};
use std::time::Duration;

use super::*;
use crate::host::{Host, Interruption, Verdict};
use crate::storage::memory::{Memory, Operation};

/// A host that may say stop at once.
struct Desk {
    stop: bool,
}

impl Host for Desk {
    fn check(&self) -> Verdict {
        match self.stop {
            true => Err(Interruption::Stopped("The time is up.".into())),
            false => Ok(Duration::ZERO),
        }
    }
}

fn desk(stop: bool) -> (Memory, Files) {
    files(stop, EngineSettings::default())
}

fn files(stop: bool, settings: EngineSettings) -> (Memory, Files) {
    let memory = Memory::default();
    let host = Box::leak(Box::new(Desk { stop }));
    let storage = Box::leak(Box::new(memory.clone()));
    let interrupt = Arc::new(InterruptCheck::new(host));
    (memory, Files::new(Arc::new(settings), interrupt, storage))
}

#[test]
fn what_is_written_is_there_only_once_it_is_published() {
    let (memory, files) = desk(false);
    let mut writer = files.write("a.csv", false).unwrap();
    let line = [b'x'; 1000];
    for _ in 0..200 {
        writer.write_all(&line).unwrap();
    }
    assert_eq!(writer.position(), 200_000);
    assert_eq!(memory.get("a.csv"), None);
    writer.publish().unwrap();
    assert_eq!(memory.get("a.csv").unwrap(), [b'x'; 200_000]);
    drop(files.write("b.csv", false).unwrap());
    assert_eq!(memory.get("b.csv"), None);
}

#[test]
fn a_name_that_is_taken_is_refused_unless_it_is_to_be_replaced() {
    let (memory, files) = desk(false);
    memory.put("a", b"old");
    let failure = files.write("a", false).map(drop).unwrap_err();
    assert_eq!(failure.status, Status::InvalidState);
    assert!(failure.to_string().contains("overwrite"), "{failure}");
    let mut writer = files.write("a", true).unwrap();
    writer.write_all(b"new").unwrap();
    assert_eq!(memory.get("a").unwrap(), b"old");
    writer.publish().unwrap();
    assert_eq!(memory.get("a").unwrap(), b"new");
    // Whatever came to be there in the meantime.
    let writer = files.write("b", false).unwrap();
    memory.put("b", b"theirs");
    let failure = files.failure(&writer.publish().unwrap_err());
    assert_eq!(failure.status, Status::InvalidState);
    assert_eq!(memory.get("b").unwrap(), b"theirs");
}

#[test]
fn a_file_is_read_from_its_start_to_its_end() {
    let (memory, files) = desk(false);
    let bytes: Vec<u8> = (0..150_000u32).map(|number| number as u8).collect();
    memory.put("a", &bytes);
    let mut reader = files.read("a").unwrap();
    assert_eq!(reader.size(), Some(150_000));
    let mut start = [0; 10];
    reader.read_exact(&mut start).unwrap();
    assert_eq!((start.as_slice(), reader.position()), (&bytes[..10], 10));
    let mut rest = Vec::new();
    reader.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, bytes[10..]);
    assert!(reader.fill_buf().unwrap().is_empty());
    assert_eq!(
        files.read("b").map(drop).unwrap_err().status,
        Status::NotFound
    );
    assert_eq!(
        files.read("").map(drop).unwrap_err().status,
        Status::NotFound
    );
}

#[test]
fn a_full_disk_and_a_spent_budget_are_reported() {
    let (memory, files) = desk(false);
    let mut writer = files.write("a", false).unwrap();
    memory.fail(Operation::Write, 0, ErrorCode::Full);
    writer.write_all(b"x").unwrap();
    let failure = files.failure(&writer.flush().unwrap_err());
    assert_eq!(failure.status, Status::Full);
    assert!(failure.message.contains("--disk"), "{failure}");
    let (memory, files) = self::desk(true);
    memory.put("a", b"x");
    let error = files.read("a").unwrap().fill_buf().map(drop).unwrap_err();
    let failure = files.failure(&error);
    assert_eq!(failure.status, Status::Interrupted);
    assert_eq!(failure.message, "The time is up.");
}

#[test]
fn readonly_allows_no_new_file_but_standard_output() {
    let readonly = EngineSettings {
        readonly: true,
        ..EngineSettings::default()
    };
    let (_, files) = files(false, readonly);
    let failure = files.write("a", false).map(drop).unwrap_err();
    assert_eq!(failure.status, Status::Readonly);
    assert!(files.write(STREAM, false).is_ok());
}
