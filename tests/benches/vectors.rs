//! The nearest of 100,000 vectors of 384 numbers, without an index: the sandbox against native sqlite-vec.

use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::json;
use sqlarium_tests::{Folder, Server, load_sqlite_vec};

fn main() {
    let folder = Folder::new();
    let path = folder.database("v.db", "CREATE TABLE t(id INTEGER PRIMARY KEY, v BLOB)");
    let connection = Connection::open(&path).expect("the database");
    load_sqlite_vec(&connection);
    connection
        .execute_batch(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000) \
             INSERT INTO t SELECT i, randomblob(0) FROM n",
        )
        .expect("rows");
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
    for id in 1..=100_000 {
        connection
            .execute(
                "UPDATE t SET v = ?2 WHERE id = ?1",
                rusqlite::params![id, vector()],
            )
            .expect("a vector");
    }
    connection.execute_batch("COMMIT").expect("rows");
    let probe = vector();
    let hex: String = probe.iter().map(|byte| format!("{byte:02x}")).collect();
    let best = |run: &mut dyn FnMut()| {
        run();
        let time = |run: &mut dyn FnMut()| {
            let started = Instant::now();
            run();
            started.elapsed()
        };
        (0..5).map(|_| time(run)).min().unwrap_or(Duration::ZERO)
    };
    for (measure, function) in [("cos", "vec_distance_cosine"), ("l2", "vec_distance_l2")] {
        let sql = format!("SELECT id, {function}(v, x'{hex}') AS d FROM t ORDER BY d LIMIT 10");
        let mut native_ids = Vec::new();
        let native = best(&mut || {
            let mut statement = connection.prepare(&sql).expect("the query");
            let ids = statement
                .query_map([], |row| row.get::<_, i64>(0))
                .expect("rows");
            native_ids = ids.map(|id| id.expect("a row")).collect();
        });
        let mut server = Server::ready([path.to_str().expect("a path")]);
        let by_sql = best(&mut || {
            assert!(!server.call("query", json!({ "sql": sql })).refused);
        });
        let arguments = json!({ "table": "t", "column": "v", "vector": { "blob": hex }, "measure": measure, "output": "json" });
        let mut ids = Vec::new();
        let by_command = best(&mut || {
            let answer = server.call("vector-search", arguments.clone());
            let rows = answer.object["rows"].as_array().expect("rows").clone();
            ids = rows
                .iter()
                .map(|row| row[0].as_i64().expect("a rowid"))
                .collect();
        });
        assert_eq!(ids, native_ids);
        println!(
            "{measure}: native sqlite-vec {native:?}, sandboxed by SQL {by_sql:?} ({:.2}), vector-search {by_command:?} ({:.2})",
            by_sql.as_secs_f64() / native.as_secs_f64(),
            by_command.as_secs_f64() / native.as_secs_f64()
        );
    }
}
