//! How often a call crosses the boundary of the sandbox: that is what it costs beside its work, in
//! every host.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{budgets, settings};
use crate::budgets::Budgets;
use crate::sandbox::Sandbox;
use crate::sandbox::runner::rest;
use crate::sandbox::session::SessionRunner;
use crate::storage::{Grants, Served, Storage};

/// A session over the database `shop.db` in `folder`, which is made.
fn session(folder: &Path) -> SessionRunner {
    let path = folder.join("shop.db");
    let native = rusqlite::Connection::open(&path).unwrap();
    native.execute_batch("CREATE TABLE t (a)").unwrap();
    drop(native);
    let budgets = Budgets {
        timeout: Duration::from_secs(60),
        ..budgets()
    };
    let grants = Grants {
        database: Served::File {
            name: "shop.db".into(),
            path,
            readonly: false,
        },
        record: None,
        files: Vec::new(),
        root: None,
    };
    let storage = Storage::new(grants, budgets.disk).unwrap();
    SessionRunner::new(
        Sandbox::new().unwrap(),
        settings(&budgets),
        budgets,
        storage,
    )
}

/// Runs a query and answers how many imports it called.
fn crossings(session: &mut SessionRunner, sql: &str) -> u64 {
    let before = session.imports_called();
    let params = json!({ "name": "sqlarium_query", "arguments": { "sql": sql } });
    let line = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let reply = session.answer(line.to_string().as_bytes(), |_, time| rest(time));
    let reply: Value = serde_json::from_str(&reply.unwrap().unwrap()).unwrap();
    assert_eq!(reply["result"]["isError"], false, "{reply}");
    session.imports_called() - before
}

#[test]
fn a_small_query_asks_its_host_twice_its_meter_thrice_and_its_files_seven_times() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = session(folder.path());
    // The first one opens the database.
    crossings(&mut session, "SELECT 1");
    // Whether it may begin, and what it has used; the meter at the beginning, before that and at the
    // end; whether the file still has its name, a lock, the header, whether there is a journal or a
    // log, the size, the end of the lock.
    assert_eq!(crossings(&mut session, "SELECT 1"), 12);
}

#[test]
fn a_long_query_asks_its_host_about_once_a_millisecond() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = session(folder.path());
    crossings(&mut session, "SELECT 1");
    let started = Instant::now();
    let count = crossings(
        &mut session,
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000000)
         SELECT count(*) FROM n",
    );
    let elapsed = started.elapsed();
    let milliseconds = u64::try_from(elapsed.as_millis()).unwrap();
    println!("{count} crossings in {elapsed:?}");
    // It is heard often enough, and no more often than that.
    assert!(count >= milliseconds / 20, "{count} in {elapsed:?}");
    assert!(count <= milliseconds * 2 + 30, "{count} in {elapsed:?}");
}
