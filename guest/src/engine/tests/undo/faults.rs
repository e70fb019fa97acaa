//! Storage that fails, a record that is full and calls that are stopped, at each point in turn: the
//! database is sound and as before the write or as after it, the history knows which, and what it
//! calls done can be undone.

use rusqlite::ffi;

use super::*;
use crate::engine::vfs::faulty::{self, Fault};
use crate::host::interrupt::STOP;
use crate::storage::ErrorCode;
use crate::storage::local::RECORDS;
use crate::storage::memory::{Memory, Operation};

const MADE: &str = "PRAGMA page_size = 512; CREATE TABLE t(id INTEGER PRIMARY KEY, v);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 60)
      INSERT INTO t SELECT i, hex(zeroblob(i)) FROM n;";
const FIRST: &str = "UPDATE t SET v = 'first' WHERE id < 9";
/// It overwrites pages, makes new ones and leaves free ones.
const SECOND: &str = "CREATE TABLE u AS SELECT id, hex(randomblob(40)) FROM t WHERE id > 30;
    UPDATE t SET v = v || hex(randomblob(9)) WHERE id % 2; DELETE FROM t WHERE id % 5 = 0";

/// A file with a write, an engine on it, and the states before and after that write.
struct Case {
    folder: Folder,
    path: PathBuf,
    engine: Engine,
    states: Vec<Vec<String>>,
}

impl Case {
    fn new(mode: &str) -> Self {
        let folder = Folder::new();
        let path = folder.database("shop.db", &format!("{MADE} PRAGMA journal_mode = {mode}"));
        let settings = EngineSettings {
            undo: recorded_in(":memory:"),
            ..on_file(&path)
        };
        let mut engine = Engine::new(&settings, OutputLimits::default(), &Alone);
        let mut states = vec![everything(&path)];
        exec(&mut engine, FIRST).unwrap();
        states.push(everything(&path));
        Self {
            folder,
            path,
            engine,
            states,
        }
    }

    /// Whether the second write is there, which the history has to know.
    fn is_written(&mut self, told: &str) -> bool {
        let now = everything(&self.path);
        assert_eq!(
            now.last().map(String::as_str),
            Some("Text([111, 107])"),
            "{told}"
        );
        let sql = "SELECT count(*) FROM sqlite_schema WHERE name = 'u'";
        let there = Folder::number(&self.path, sql) == 1;
        assert!(there || now == self.states[1], "{told}: it is neither");
        let done = past(&mut self.engine);
        let open: Vec<bool> = done.iter().map(|(_, undone)| !undone).collect();
        let second = open.len() - 1;
        assert_eq!(
            open[..second].iter().filter(|open| **open).count(),
            usize::from(there),
            "{told}: {done:?}"
        );
        assert!(open[second], "{told}");
        there
    }

    /// All that is done is undone, exactly, unless the answer to the second write was that it cannot be.
    fn undo_all(mut self, there: bool, irreversible: bool, told: &str) {
        let written = everything(&self.path);
        if irreversible {
            let done = undo(&mut self.engine);
            let failure = refused(done, Status::InvalidState, "Nothing was changed.");
            assert!(everything(&self.path) == written, "{told}: {failure}");
            return;
        }
        if there {
            undo(&mut self.engine).unwrap_or_else(|failure| panic!("{told}: {failure}"));
            assert!(everything(&self.path) == self.states[1], "{told}");
        }
        undo(&mut self.engine).unwrap_or_else(|failure| panic!("{told}: {failure}"));
        assert!(everything(&self.path) == self.states[0], "{told}");
        drop(self.folder);
    }
}

/// Whether an answer says that the write cannot be undone.
fn is_irreversible(done: &Result<Output, Failure>) -> bool {
    let warns = |output: &Output| {
        output
            .warnings
            .iter()
            .any(|told| told.contains("cannot be undone"))
    };
    done.as_ref().is_ok_and(warns)
}

/// Lets a write, or its undo, meet a failure at each point in turn: `arm` arms the n-th, and `disarm` says whether it was met.
fn sweep(what: &str, undoes: bool, arm: impl Fn(u32), disarm: impl Fn() -> bool) {
    for mode in ["delete", "wal"] {
        let (mut met, mut written) = (0, 0);
        for point in 0.. {
            let mut case = Case::new(mode);
            let act = if undoes { undo } else { second };
            if undoes {
                second(&mut case.engine).unwrap();
            }
            arm(point);
            let done = act(&mut case.engine);
            let hit = disarm();
            let told = format!("{what}, {mode}, {point}: {done:?}");
            let there = case.is_written(&told);
            if done.is_ok() {
                assert_eq!(there, !undoes, "{told}");
            }
            case.undo_all(there, is_irreversible(&done), &told);
            met += u32::from(hit);
            written += u32::from(there);
            if !hit {
                break;
            }
        }
        println!("{what}, {mode}: {met} points, {written} with the write made");
        assert!(met > 3, "{what}, {mode}: {met}");
    }
}

fn second(engine: &mut Engine) -> Result<Output, Failure> {
    batch(engine, SECOND)
}

#[test]
fn whenever_storage_fails_a_write_is_made_or_not_and_undone_or_not() {
    faulty::use_it();
    for (lasts, code) in [
        (false, ffi::SQLITE_IOERR_READ),
        (true, ffi::SQLITE_IOERR_WRITE),
        (true, ffi::SQLITE_FULL),
    ] {
        let arm = |after| faulty::fail(Fault { after, lasts, code });
        for undoes in [false, true] {
            let what = format!("undoes {undoes}, lasts {lasts}, code {code}");
            sweep(&what, undoes, arm, faulty::heal);
        }
    }
}

#[test]
fn whenever_a_call_is_stopped_a_write_is_made_or_not_and_undone_or_not() {
    faulty::use_it();
    let arm = |after| STOP.set(Some(after));
    let disarm = || STOP.replace(None) == Some(0);
    for undoes in [false, true] {
        sweep(&format!("stopped, undoes {undoes}"), undoes, arm, disarm);
    }
}

#[test]
fn a_write_whose_record_has_no_room_is_made_and_says_that_it_cannot_be_undone() {
    for mode in ["delete", "wal"] {
        for point in 0.. {
            let record = Memory::default();
            RECORDS.set(Some(record.clone()));
            let mut case = Case::new(mode);
            record.fail(Operation::Write, point, ErrorCode::Full);
            let done = second(&mut case.engine);
            let hit = record.heal();
            let told = format!("{mode}, {point}: {done:?}");
            let written = everything(&case.path);
            assert!(done.is_ok() && written != case.states[1], "{told}");
            if is_irreversible(&done) {
                assert!(told.contains("no space is left"), "{told}");
                refused(
                    undo(&mut case.engine),
                    Status::InvalidState,
                    "Nothing was changed.",
                );
                // What comes next can be undone again.
                exec(&mut case.engine, "DELETE FROM t").unwrap();
                undo(&mut case.engine).unwrap();
                assert!(everything(&case.path) == written, "{told}");
            }
            case.undo_all(true, is_irreversible(&done), &told);
            if !hit {
                assert!(point > 3);
                break;
            }
        }
    }
    RECORDS.set(None);
}
