//! Import, export and dump of a million rows, beside the sqlite3 program.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use sqlarium_tests::{Folder, sqlarium};

use crate::report::Report;

const ROWS: u32 = 1_000_000;

/// How often each runs.
const TIMES: usize = 3;

/// Runs them.
pub fn run(report: &mut Report) {
    let version = Command::new("sqlite3").arg("--version").output();
    let Ok(version) = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    else {
        eprintln!("\n*** sqlite3 is not on PATH: no import, export or dump is compared ***\n");
        return;
    };
    let against = format!("sqlite3 {}", version.split(' ').next().unwrap_or_default());
    let folder = Folder::new();
    let row = |id: u32| {
        format!(
            "{id},{},name {id} lorem ipsum,{}\n",
            id * 7 % 100_003,
            f64::from(id) * 0.37
        )
    };
    let rows: String = (1..=ROWS).map(row).collect();
    fs::write(folder.path("rows.csv"), format!("id,a,b,c\n{rows}")).expect("rows");
    let table = "CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b TEXT, c REAL)";
    let folder_path = folder.path(".");
    let theirs = |lines: &[&str]| {
        let mut command = Command::new("sqlite3");
        command.arg("theirs.db").args(lines);
        measure(&folder_path, &mut command)
    };
    let ours = |arguments: &[&str]| {
        let mut command = sqlarium();
        command
            .args(arguments)
            .args(["--disk", "4G", "--timeout", "10m"]);
        measure(&folder_path, &mut command)
    };
    let mut compare =
        |what: &str, aim, theirs: &dyn Fn() -> Duration, ours: &dyn Fn() -> Duration| {
            let mut best = [Duration::MAX; 2];
            for _ in 0..TIMES {
                best = [best[0].min(theirs()), best[1].min(ours())];
            }
            report.detail("transfer", what, &against, best[0].as_secs_f64(), "s");
            report.detail("transfer", what, "sqlarium", best[1].as_secs_f64(), "s");
            report.ratio(
                &format!("{what} of 1,000,000 rows"),
                &against,
                best[1].as_secs_f64() / best[0].as_secs_f64(),
                aim,
            );
        };
    let fresh = |name: &str| {
        let _ = fs::remove_file(folder.path(name));
        folder.database(name, table);
    };
    compare(
        "import",
        1.3,
        &|| {
            fresh("theirs.db");
            theirs(&[".import --csv --skip 1 rows.csv t"])
        },
        &|| {
            fresh("ours.db");
            ours(&["import", "ours.db", "rows.csv", "t"])
        },
    );
    let sum = "SELECT count(*)||' '||sum(a)||' '||sum(length(b))||' '||round(sum(c)) FROM t";
    assert_eq!(
        Folder::native(&folder.path("ours.db"), sum),
        Folder::native(&folder.path("theirs.db"), sum)
    );
    compare(
        "export as CSV",
        1.3,
        &|| {
            theirs(&[
                ".mode csv",
                ".headers on",
                ".output theirs.csv",
                "SELECT * FROM t",
            ])
        },
        &|| ours(&["export", "ours.db", "t", "--out", "ours.csv", "--overwrite"]),
    );
    assert_same(&folder.path("theirs.csv"), &folder.path("ours.csv"));
    compare(
        "dump",
        1.3,
        &|| theirs(&[".output theirs.sql", ".dump"]),
        &|| ours(&["dump", "ours.db", "--out", "ours.sql", "--overwrite"]),
    );
}

/// The processor time of a command that works.
fn measure(folder: &Path, command: &mut Command) -> Duration {
    let before = children();
    let output = command
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .expect("the program starts");
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    children() - before
}

/// The processor time of all children that have ended, in the system's hundredths of a second.
fn children() -> Duration {
    let text = fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields: Vec<&str> = text
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    // The 16th and 17th field; the first two end with the parenthesis.
    let ticks = |at: usize| fields[at].parse::<u64>().expect("a number");
    Duration::from_millis((ticks(13) + ticks(14)) * 10)
}

/// Asserts that two exports hold the same: sqlite3 writes 15 digits of a real number, sqlarium all.
fn assert_same(left: &Path, right: &Path) {
    let read = |path| fs::read_to_string(path).expect("an export");
    let (left, right) = (read(left), read(right));
    assert_eq!(left.lines().count(), right.lines().count());
    for (left, right) in left.lines().zip(right.lines()).skip(1).step_by(997) {
        let (left, right) = (left.rsplit_once(','), right.rsplit_once(','));
        let ((left, one), (right, other)) = left.zip(right).expect("columns");
        let plain = |text: &str| text.replace('"', "");
        assert_eq!(plain(left), plain(right));
        let number = |text: &str| text.trim_end().parse::<f64>().expect("a number");
        assert!(
            (number(one) / number(other) - 1.0).abs() < 1e-14,
            "{one} {other}"
        );
    }
}
