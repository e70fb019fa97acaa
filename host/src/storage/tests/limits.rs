//! Arguments that make no sense.

use super::*;
use crate::storage::file::OPEN_FILES;

/// One open file of each kind, with ten bytes in it.
fn each(folder: &Path) -> Vec<(&'static str, File)> {
    let storage = with_root(folder, false, 100 * MIB);
    let open = |name: &str, role| storage.open(name, role, CREATE).unwrap();
    let mut files = vec![
        ("memory", open("memory", Role::MainDatabase)),
        ("disk", open("disk.db", Role::MainDatabase)),
        ("journal", open("disk.db-journal", Role::MainJournal)),
        ("temporary", open("", Role::Temporary)),
    ];
    for (_, file) in &mut files {
        file.write(0, b"0123456789").unwrap();
    }
    files
}

#[test]
fn every_kind_of_file_reads_what_was_written_and_zeros_in_between() {
    let folder = folder();
    for (kind, mut file) in each(folder.path()) {
        assert_eq!(file.read(0, 10).unwrap(), b"0123456789", "{kind}");
        assert_eq!(file.read(4, 100).unwrap(), b"456789", "{kind}");
        assert_eq!(file.read(10, 5).unwrap(), b"", "{kind}");
        assert_eq!(file.read(1 << 40, 5).unwrap(), b"", "{kind}");
        file.write(200_000, b"end").unwrap();
        assert_eq!(file.size().unwrap(), 200_003, "{kind}");
        let all = file.read(0, 300_000).unwrap();
        assert_eq!(all.len(), 200_003, "{kind}");
        assert!(all[10..200_000].iter().all(|byte| *byte == 0), "{kind}");
        assert_eq!(&all[200_000..], b"end", "{kind}");
        file.write(65_530, b"across a chunk").unwrap();
        assert_eq!(file.read(65_530, 14).unwrap(), b"across a chunk", "{kind}");
        file.truncate(5).unwrap();
        assert_eq!(file.read(0, 100).unwrap(), b"01234", "{kind}");
        file.truncate(12).unwrap();
        assert_eq!(
            file.read(0, 100).unwrap(),
            b"01234\0\0\0\0\0\0\0",
            "{kind}: what was cut off does not come back"
        );
        for mode in [SyncMode::Normal, SyncMode::Full, SyncMode::DataOnly] {
            assert_eq!(file.sync(mode), Ok(()), "{kind}");
        }
        assert!(file.device().sector_size.is_power_of_two(), "{kind}");
    }
}

#[test]
fn lengths_and_offsets_beyond_reason_are_refused_before_anything_is_allocated() {
    let folder = folder();
    for (kind, mut file) in each(folder.path()) {
        assert_eq!(
            file.read(0, (16 << 20) + 1),
            Err(ErrorCode::Invalid),
            "{kind}"
        );
        assert_eq!(file.read(0, u32::MAX), Err(ErrorCode::Invalid), "{kind}");
        for offset in [u64::MAX, u64::MAX - 4, 1 << 63, (1 << 63) - 2] {
            assert_eq!(
                file.read(offset, 5),
                Err(ErrorCode::Invalid),
                "{kind} {offset}"
            );
            assert_eq!(
                file.write(offset, b"01234"),
                Err(ErrorCode::Invalid),
                "{kind} {offset}"
            );
        }
        for size in [u64::MAX, 1 << 63] {
            assert_eq!(
                file.truncate(size),
                Err(ErrorCode::Invalid),
                "{kind} {size}"
            );
        }
        assert_eq!(
            file.write((1 << 63) - 10, b"01234"),
            Err(ErrorCode::Full),
            "{kind}"
        );
        assert_eq!(file.truncate((1 << 63) - 1), Err(ErrorCode::Full), "{kind}");
        assert_eq!(file.write(77, b""), Ok(()), "{kind}");
        assert_eq!(file.size(), Ok(10), "{kind}");
    }
}

#[test]
fn locks_out_of_order_are_refused() {
    let folder = folder();
    for (kind, mut file) in each(folder.path()) {
        for level in [LockLevel::None, LockLevel::Pending] {
            assert_eq!(file.lock(level), Err(ErrorCode::Invalid), "{kind}");
        }
        for level in [
            LockLevel::Reserved,
            LockLevel::Pending,
            LockLevel::Exclusive,
        ] {
            assert_eq!(file.unlock(level), Err(ErrorCode::Invalid), "{kind}");
        }
        if kind != "temporary" {
            for level in [LockLevel::Reserved, LockLevel::Exclusive] {
                assert_eq!(file.lock(level), Err(ErrorCode::Invalid), "{kind}");
            }
        }
        for level in [
            LockLevel::Shared,
            LockLevel::Shared,
            LockLevel::Reserved,
            LockLevel::Shared,
            LockLevel::Exclusive,
        ] {
            assert_eq!(file.lock(level), Ok(()), "{kind}");
        }
        for level in [
            LockLevel::Shared,
            LockLevel::Shared,
            LockLevel::None,
            LockLevel::None,
            LockLevel::Shared,
        ] {
            assert_eq!(file.unlock(level), Ok(()), "{kind}");
        }
    }
}

#[test]
fn missing_slots_are_refused() {
    let folder = folder();
    for (kind, mut file) in each(folder.path()) {
        for (slot, count) in [
            (0, 0),
            (8, 1),
            (0, 9),
            (7, 2),
            (u32::MAX, 1),
            (1, u32::MAX),
            (256, 1),
        ] {
            let locked = file.shm_lock(slot, count, ShmAction::LockExclusive);
            assert_eq!(locked, Err(ErrorCode::Invalid), "{kind} {slot} {count}");
        }
        assert_eq!(
            file.shm_lock(0, 2, ShmAction::LockShared),
            Err(ErrorCode::Invalid),
            "{kind}"
        );
        let expected = if kind == "disk" {
            ErrorCode::Invalid
        } else {
            ErrorCode::Unsupported
        };
        if kind != "journal" {
            assert_eq!(
                file.shm_lock(0, 1, ShmAction::LockShared),
                Err(expected),
                "{kind}: nothing is mapped"
            );
        }
        file.shm_barrier();
        assert_eq!(file.shm_unmap(true), Ok(()), "{kind}");
    }
}

#[test]
fn only_so_many_files_are_open_at_once() {
    let folder = folder();
    let storage = with_root(folder.path(), false, MIB);
    for round in 0..3 {
        let mut files = Vec::new();
        for at in 0..1_000_000 {
            let (name, role) = match at % 3 {
                0 => ("", Role::Temporary),
                1 => ("memory", Role::MainDatabase),
                _ => ("disk.db", Role::MainDatabase),
            };
            match storage.open(name, role, CREATE) {
                Ok(file) => files.push(file),
                Err(error) => {
                    assert_eq!(error, ErrorCode::Io);
                    break;
                }
            }
        }
        assert_eq!(files.len(), OPEN_FILES, "round {round}");
    }
    // A refusal takes up no place.
    for _ in 0..1000 {
        assert!(storage.open("../x", Role::MainDatabase, CREATE).is_err());
    }
    assert!(storage.open("memory", Role::MainDatabase, CREATE).is_ok());
}

#[test]
fn creating_goes_by_what_was_asked() {
    let folder = folder();
    let storage = with_root(folder.path(), false, MIB);
    for (name, role) in [
        ("memory-journal", Role::MainJournal),
        ("disk.db", Role::MainDatabase),
    ] {
        let open = |options| storage.open(name, role, options).map(drop);
        assert_eq!(open(WRITE), Err(ErrorCode::NotFound), "{name}");
        assert_eq!(open(READ), Err(ErrorCode::NotFound), "{name}");
        let reading = OpenOptions {
            create: true,
            ..READ
        };
        assert_eq!(
            open(reading),
            Err(ErrorCode::NotFound),
            "{name}: a reader makes nothing"
        );
        assert_eq!(open(CREATE), Ok(()), "{name}");
        assert_eq!(open(READ), Ok(()), "{name}");
        assert!(
            open(OpenOptions {
                exclusive: true,
                ..CREATE
            })
            .is_err(),
            "{name}"
        );
        assert_eq!(
            storage.exists(name, false),
            Ok(false),
            "{name}: an empty file is none"
        );
        storage
            .open(name, role, WRITE)
            .unwrap()
            .write(0, b"xyz")
            .unwrap();
        assert_eq!(storage.exists(name, true), Ok(true), "{name}");
        let mut reader = storage.open(name, role, READ).unwrap();
        assert!(reader.is_read_only());
        assert_eq!(reader.write(0, b"y"), Err(ErrorCode::ReadOnly), "{name}");
        assert_eq!(reader.truncate(0), Err(ErrorCode::ReadOnly), "{name}");
        assert_eq!(reader.lock(LockLevel::Shared), Ok(()), "{name}");
        assert_eq!(
            reader.lock(LockLevel::Reserved),
            Err(ErrorCode::ReadOnly),
            "{name}"
        );
        assert_eq!(reader.read(0, 9).unwrap(), b"xyz", "{name}");
    }
}

#[test]
fn the_database_in_memory_is_there_before_anyone_writes_to_it() {
    let folder = folder();
    let storage = with_root(folder.path(), false, MIB);
    for options in [READ, WRITE] {
        let mut file = storage.open("memory", Role::MainDatabase, options).unwrap();
        assert_eq!(file.size(), Ok(0));
    }
}
