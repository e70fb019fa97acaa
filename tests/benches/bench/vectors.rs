//! The nearest of 100,000 vectors of 384 numbers, without an index: the sandbox against native sqlite-vec.

use rusqlite::params;
use serde_json::{Value, json};
use sqlarium_tests::Folder;

use crate::native;
use crate::pipe::Pipe;
use crate::report::Report;

/// How often each query runs.
const TIMES: usize = 5;

/// Runs them.
pub fn run(report: &mut Report) {
    let folder = Folder::new();
    let path = folder.database("v.db", "CREATE TABLE t(id INTEGER PRIMARY KEY, v BLOB)");
    let path = path.to_str().expect("a path");
    let connection = native::open(path);
    let mut state = 1_u64;
    let mut vector = || -> Vec<u8> {
        let next = |_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            ((state >> 40) as f32 / 16_777_216.0 - 0.5).to_le_bytes()
        };
        (0..384).flat_map(next).collect()
    };
    connection.execute_batch("BEGIN").expect("a transaction");
    let mut insert = connection
        .prepare("INSERT INTO t VALUES (?1, ?2)")
        .expect("a statement");
    for id in 1..=100_000 {
        insert.execute(params![id, vector()]).expect("a vector");
    }
    connection.execute_batch("COMMIT").expect("rows");
    let hex: String = vector().iter().map(|byte| format!("{byte:02x}")).collect();
    let mut candidates = [
        Pipe::native(path),
        Pipe::sqlarium(&["--memory", "512M"], path),
    ];
    for (measure, function) in [("cos", "vec_distance_cosine"), ("l2", "vec_distance_l2")] {
        let sql = format!("SELECT id, {function}(v, x'{hex}') AS d FROM t ORDER BY d LIMIT 10");
        let arguments = json!({ "table": "t", "column": "v", "vector": { "blob": hex }, "measure": measure, "output": "json" });
        // Native, by SQL, by the command.
        let mut best = [f64::INFINITY; 3];
        for _ in 0..TIMES {
            let mut found = Vec::new();
            for (candidate, best) in candidates.iter_mut().zip(&mut best) {
                let (took, rows) = candidate.query(&sql);
                *best = best.min(took.cpu.as_secs_f64());
                found.push(ids(&rows));
            }
            let took = candidates[1].call("sqlarium_vector_search", &arguments);
            best[2] = best[2].min(took.cpu.as_secs_f64());
            let reply: Value = serde_json::from_str(&took.reply).expect("JSON");
            found.push(ids(&reply["result"]["structuredContent"]["rows"]));
            assert!(found.iter().all(|ids| *ids == found[0]), "{found:?}");
        }
        for (name, best) in ["native", "sqlarium by SQL", "sqlarium vector-search"]
            .iter()
            .zip(best)
        {
            report.detail("vectors", measure, name, best * 1e3, "ms");
        }
        report.ratio(
            &format!("100,000 vectors of 384, {measure}"),
            "native sqlite-vec",
            best[1] / best[0],
            1.2,
        );
        report.note(&format!("vector-search {:.2}", best[2] / best[0]));
    }
}

fn ids(rows: &Value) -> Vec<i64> {
    let rows = rows.as_array().expect("rows");
    rows.iter()
        .map(|row| row[0].as_i64().expect("a rowid"))
        .collect()
}
