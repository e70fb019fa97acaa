//! A process that is killed in the middle of writes and undos: the database and the record agree
//! on what was done. `SQLARIUM_UNDO_KILLS` says how often, in each journal mode.

use std::process::{Command, Stdio};
use std::time::Duration;

use super::property::{Dice, number_from};
use super::{everything, past, recorded_in, undo};
use crate::engine::tests::*;

/// Names the folder to work in, for the process that is to be killed.
const FOLDER: &str = "SQLARIUM_UNDO_KILLED";

const MADE: &str = "PRAGMA page_size = 512; CREATE TABLE t(id INTEGER PRIMARY KEY, v);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 200)
      INSERT INTO t SELECT i, hex(zeroblob(i)) FROM n;";
/// Never the same twice: a log that is begun anew would have the last page of the commit already.
const WRITE: &str = "CREATE INDEX i ON t(v); UPDATE t SET v = v || hex(randomblob(9));
    DELETE FROM t WHERE id % 5 = 0";

fn engine_in(folder: &Path) -> Engine {
    let settings = EngineSettings {
        undo: recorded_in(folder.join("record").to_str().unwrap()),
        ..on_file(&folder.join("shop.db"))
    };
    Engine::new(&settings, OutputLimits::default(), &Alone)
}

/// Writes and undoes for ever, in the process that [`killed`] starts.
#[test]
#[ignore = "is run by the test of this file"]
fn to_be_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let mut engine = engine_in(Path::new(&folder));
    loop {
        batch(&mut engine, WRITE).unwrap();
        undo(&mut engine).unwrap();
    }
}

/// Kills a process that works in `folder`, after some milliseconds.
fn killed(folder: &Path, after: u64) {
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args([
            "--ignored",
            "--exact",
            "engine::tests::undo::killed::to_be_killed",
        ])
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(after));
    process.kill().unwrap();
    process.wait().unwrap();
}

#[test]
fn whenever_a_process_is_killed_each_write_is_undone_or_not_and_the_record_knows_which() {
    let mut dice = Dice(7);
    let wanted = number_from("SQLARIUM_UNDO_KILLS", 5);
    for mode in ["delete", "wal"] {
        let folder = Folder::new();
        let path = folder.database("shop.db", &format!("{MADE} PRAGMA journal_mode = {mode}"));
        let before = everything(&path);
        let (mut written, mut unwritten, mut patience) = (0, 0, 20);
        while written < wanted || unwritten < wanted {
            killed(path.parent().unwrap(), patience + dice.below(40));
            // A machine that is busy takes longer to start it.
            patience += 2 * u64::from(written == 0);
            let mut engine = engine_in(path.parent().unwrap());
            let sql = "SELECT count(*) FROM sqlite_schema WHERE name = 'i'";
            let there = number(&mut engine, sql) == 1;

            let open = past(&mut engine)
                .iter()
                .filter(|(_, undone)| !undone)
                .count();
            assert_eq!(open, usize::from(there), "{mode}");
            if there {
                written += 1;
                undo(&mut engine).unwrap();
            } else {
                unwritten += 1;
            }
            drop(engine);
            assert_eq!(everything(&path), before, "{mode}");
        }
        println!(
            "{mode}: killed with the write made {written} times, without it {unwritten} times"
        );
    }
}
