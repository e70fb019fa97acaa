//! A mix of statements, in memory and on a file.

use sqlarium_tests::Folder;

use crate::pipe::Pipe;
use crate::report::{Report, geometric_mean, median};

/// Fresh databases and processes, each time.
const ROUNDS: usize = 3;

/// How often a query runs in a round.
const REPEATS: usize = 5;

/// Its name and itself; those that read are compared by their rows.
const STATEMENTS: [(&str, &str); 20] = [
    (
        "create",
        "CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b TEXT, c REAL)",
    ),
    (
        "insert",
        "INSERT INTO t SELECT value, value*7919%100003, 'name '||(value*31%9973)||' lorem ipsum dolor', value*0.37 FROM generate_series(1,100000)",
    ),
    ("scan", "SELECT sum(a), sum(length(b)), max(c) FROM t"),
    ("LIKE", "SELECT count(*) FROM t WHERE b LIKE '%99%lorem%'"),
    (
        "group",
        "SELECT a%100, count(*), sum(c) FROM t GROUP BY 1 ORDER BY 2, 1 LIMIT 5",
    ),
    ("index build", "CREATE INDEX i ON t(a)"),
    (
        "point reads",
        "SELECT sum(c) FROM t WHERE id IN (SELECT value*17%100000 FROM generate_series(1,50000))",
    ),
    (
        "join",
        "SELECT count(*) FROM t x JOIN t y ON y.a=x.id WHERE x.id<50000",
    ),
    ("sort", "SELECT b FROM t ORDER BY b LIMIT 3 OFFSET 50000"),
    (
        "CTE",
        "WITH RECURSIVE n(x,y) AS (SELECT 0,1 UNION ALL SELECT x+1,(y*3+x)%1000007 FROM n WHERE x<400000) SELECT max(y) FROM n",
    ),
    (
        "window",
        "SELECT max(r) FROM (SELECT row_number() OVER (PARTITION BY a%50 ORDER BY c) r FROM t)",
    ),
    (
        "JSON",
        "SELECT sum(json_extract(j,'$.a')) FROM (SELECT json_object('a',a,'b',b) j FROM t LIMIT 30000)",
    ),
    (
        "text",
        "SELECT sum(length(replace(upper(b),'LOREM','x')||substr(b,3,9))) FROM t",
    ),
    ("update", "UPDATE t SET c=c+1, b=b||'x' WHERE id%2=0"),
    ("delete", "DELETE FROM t WHERE id%3=0"),
    ("FTS table", "CREATE VIRTUAL TABLE f USING fts5(b)"),
    ("FTS build", "INSERT INTO f SELECT b FROM t LIMIT 30000"),
    (
        "FTS query",
        "SELECT count(*) FROM f WHERE f MATCH 'lorem AND dolor'",
    ),
    ("DISTINCT", "SELECT count(DISTINCT b) FROM t"),
    (
        "sum",
        "SELECT count(*), sum(a), sum(c), sum(length(b)) FROM t",
    ),
];

/// Statements that take less, in seconds, are not in the mean.
const SMALL: f64 = 1e-3;

/// Runs it.
pub fn run(report: &mut Report) {
    in_memory(report);
    on_a_file(report);
}

fn in_memory(report: &mut Report) {
    measure(report, "SQL in memory", |_| {
        let mut candidates = vec![
            Pipe::native(":memory:"),
            Pipe::sqlarium(&["--no-undo"], ":memory:"),
            Pipe::sqlarium(&[], ":memory:"),
        ];
        candidates.extend(other(":memory:"));
        candidates
    });
}

fn on_a_file(report: &mut Report) {
    measure(report, "SQL on a file", |folder| {
        let path = |name| {
            let path = folder.database(name, "CREATE TABLE other(x)");
            path.to_str().expect("a path").to_owned()
        };
        vec![
            Pipe::native(&path("native.db")),
            Pipe::sqlarium(&["--no-undo"], &path("plain.db")),
            Pipe::sqlarium(&[], &path("undo.db")),
        ]
    });
}

/// Another build of sqlarium, for who works on it: `BENCH_OTHER=path`.
fn other(database: &str) -> Option<Pipe> {
    let path = std::env::var_os("BENCH_OTHER")?;
    let mut command = std::process::Command::new(path);
    command.args([
        "mcp",
        "--timeout",
        "10m",
        "--disk",
        "4G",
        "--no-undo",
        "--db",
        database,
    ]);
    Some(Pipe::start(" other", &mut command, Some(crate::pipe::OURS)))
}

fn measure(report: &mut Report, title: &str, start: impl Fn(&Folder) -> Vec<Pipe>) {
    let mut names = Vec::new();
    // By statement, by candidate.
    let mut times: Vec<Vec<Vec<f64>>> = vec![Vec::new(); STATEMENTS.len()];
    for _ in 0..ROUNDS {
        let folder = Folder::new();
        let mut candidates = start(&folder);
        names = candidates
            .iter()
            .map(|candidate| candidate.name.clone())
            .collect();
        for ((_, sql), times) in STATEMENTS.iter().zip(&mut times) {
            times.resize(candidates.len(), Vec::new());
            let reads = sql.starts_with("SELECT") || sql.starts_with("WITH");
            for _ in 0..if reads { REPEATS } else { 1 } {
                let mut first = None;
                for (candidate, times) in candidates.iter_mut().zip(&mut *times) {
                    if !reads {
                        times.push(candidate.exec(sql).cpu.as_secs_f64());
                        continue;
                    }
                    let (took, rows) = candidate.query(sql);
                    times.push(took.cpu.as_secs_f64());
                    let expected = first.get_or_insert_with(|| rows.clone());
                    assert_eq!(rows, *expected, "{}: {sql}", candidate.name);
                }
            }
        }
    }
    let native: Vec<f64> = times.iter().map(|times| least(&times[0])).collect();
    for (at, name) in names.iter().enumerate() {
        // Medians of the ratios of what ran one after the other, and ratios of the least times.
        let (mut paired, mut leasts) = (Vec::new(), Vec::new());
        for (((what, _), times), native) in STATEMENTS.iter().zip(&times).zip(&native) {
            if *native < SMALL {
                continue;
            }
            let ratios = times[at]
                .iter()
                .zip(&times[0])
                .map(|(one, native)| one / native);
            paired.push(median(ratios.collect()));
            leasts.push(least(&times[at]) / native);
            report.detail(title, what, name, least(&times[at]) * 1e3, "ms");
        }
        if at == 0 {
            continue;
        }
        let flags = name.trim_start_matches("sqlarium");
        let what = format!("{title}, {} statements{flags}", paired.len());
        report.ratio(&what, "native SQLite", geometric_mean(&paired), 1.85);
        let worst = paired.iter().copied().fold(0.0, f64::max);
        report.note(&format!(
            "worst {worst:.2}; by least times {:.2}",
            geometric_mean(&leasts)
        ));
    }
}

fn least(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::INFINITY, f64::min)
}
