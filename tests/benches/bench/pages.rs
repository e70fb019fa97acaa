//! A file that is larger than the cache.

use std::time::Duration;

use rusqlite::Connection;
use sqlarium_tests::Folder;

use crate::pipe::Pipe;
use crate::report::Report;

/// Rows, of half a KiB each.
const ROWS: u32 = 400_000;

const QUERIES: [(&str, &str, f64); 3] = [
    (
        "30,000 point reads beyond the cache",
        "SELECT sum(length(b)) FROM t WHERE id IN (SELECT 1+value*7919%400000 FROM generate_series(1,30000))",
        1.3,
    ),
    (
        "scan of a file beyond the cache",
        "SELECT sum(length(b)), count(*) FROM t",
        1.6,
    ),
    (
        "count with a filter beyond the cache",
        "SELECT count(*) FROM t WHERE a%7=3",
        1.6,
    ),
];

const UPDATE: &str = "UPDATE t SET a=a+1 WHERE id%40=1";

/// Runs them.
pub fn run(report: &mut Report) {
    let folder = Folder::new();
    let path = folder.path("native.db");
    let copy = folder.path("sqlarium.db");
    let connection = Connection::open(&path).expect("the database");
    rusqlite::vtab::series::load_module(&connection).expect("generate_series");
    connection
        .execute_batch(&format!(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b TEXT);\
             INSERT INTO t SELECT value, value*31%1009, printf('%.480c', char(97+value%26)) FROM generate_series(1,{ROWS})"
        ))
        .expect("rows");
    drop(connection);
    std::fs::copy(&path, &copy).expect("a copy");
    let text = |path: &std::path::Path| path.to_str().expect("a path").to_owned();
    let mut candidates = [
        Pipe::native(&text(&path)),
        Pipe::sqlarium(&["--no-undo"], &text(&copy)),
    ];
    let mut compare =
        |what: &str, times: usize, aim: f64, run: &mut dyn FnMut(&mut Pipe) -> Duration| {
            let mut best = [Duration::MAX; 2];
            for _ in 0..times {
                for (candidate, best) in candidates.iter_mut().zip(&mut best) {
                    *best = run(candidate).min(*best);
                }
            }
            for (candidate, best) in candidates.iter().zip(best) {
                report.detail(
                    "pages",
                    what,
                    &candidate.name,
                    best.as_secs_f64() * 1e3,
                    "ms",
                );
            }
            report.ratio(
                what,
                "native SQLite",
                best[1].as_secs_f64() / best[0].as_secs_f64(),
                aim,
            );
        };
    for (what, sql, aim) in QUERIES {
        let mut expected = None;
        compare(what, 4, aim, &mut |candidate| {
            let (took, rows) = candidate.query(sql);
            assert_eq!(*expected.get_or_insert_with(|| rows.clone()), rows, "{sql}");
            took.cpu
        });
    }
    compare("update of 10,000 spread rows", 3, 1.85, &mut |candidate| {
        candidate.exec(UPDATE).cpu
    });
}
