//! Every budget: it is hit, the sentence names its flag, and the next call works.

use std::time::{Duration, Instant};

use serde_json::json;
use sqlarium_tests::{ENDLESS, Folder, ONE_FUNCTION, Server};

/// Fills `t` with a thousand rows of `bytes` bytes, times `thousands`.
fn fill(thousands: u32, bytes: u32) -> String {
    format!(
        "INSERT INTO t SELECT NULL, hex(randomblob({})) FROM
         (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {}) SELECT i FROM n)",
        bytes / 2,
        thousands * 1000
    )
}

const TABLE: &str = "CREATE TABLE t (id INTEGER PRIMARY KEY, data TEXT)";

/// The refusal of `sql` by `command`: its status, checked to name `flag`.
fn refused(server: &mut Server, command: &str, sql: &str, flag: &str) -> String {
    let (status, sentences) = server.refusal(command, json!({ "sql": sql }));
    assert!(sentences.contains(flag), "{flag} is not in: {sentences}");
    server.assert_well();
    status
}

#[test]
fn fuel() {
    let mut server = Server::ready(["--fuel", "2700000"]);
    assert_eq!(
        refused(&mut server, "query", ENDLESS, "--fuel"),
        "interrupted"
    );
    assert_eq!(
        refused(&mut server, "query", ONE_FUNCTION, "--fuel"),
        "interrupted"
    );
}

/// What each call used on a fresh server: fuel, and peak memory in bytes.
fn used(flags: &[&str], calls: &[(&str, &str)]) -> Vec<(u64, u64)> {
    let mut server = Server::ready(flags);
    let mut call = |(command, sql): &(&str, &str)| {
        let answer = server.call(command, json!({ "sql": sql, "output": "json" }));
        assert!(answer.object["elapsed_ms"].is_f64(), "{}", answer.text);
        let of = |name: &str| answer.object[name].as_u64().expect("a number");
        (of("fuel"), of("peak_memory"))
    };
    calls.iter().map(&mut call).collect()
}

#[test]
fn the_same_call_in_the_same_state_uses_the_same_fuel_to_the_unit() {
    let rows = "INSERT INTO t SELECT value, 'row ' || (value * 7919 % 30011) FROM generate_series(1, 30000)";
    let calls = [
        ("exec", TABLE),
        ("exec", rows),
        ("query", "SELECT nothing"),
        (
            "query",
            "SELECT data FROM t ORDER BY data DESC LIMIT 20 OFFSET 20000",
        ),
        (
            "query",
            "SELECT count(*) FROM t a JOIN t b ON b.id = length(a.data) * 100",
        ),
        (
            "query",
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 300000) SELECT sum(i) FROM n",
        ),
        ("exec", "UPDATE t SET data = data || '!' WHERE id % 3 = 0"),
    ];
    let first = used(&["--no-undo"], &calls);
    assert!(
        first
            .iter()
            .all(|(fuel, peak)| *fuel > 500 && *peak > 10_000),
        "{first:?}"
    );
    assert!(
        first[3].1 > 900_000,
        "rows were sorted in {} bytes",
        first[3].1
    );
    for _ in 0..3 {
        assert_eq!(used(&["--no-undo"], &calls), first);
    }
    // A write that is recorded holds its time, of which the later ones may lie otherwise in memory.
    let first = used(&[], &calls[..2]);
    assert_eq!(used(&[], &calls[..2]), first);
}

#[test]
fn time() {
    let mut server = Server::ready(["--timeout", "500ms"]);
    for sql in [ENDLESS, ONE_FUNCTION] {
        let started = Instant::now();
        assert_eq!(
            refused(&mut server, "query", sql, "--timeout"),
            "interrupted",
            "{sql}"
        );
        let elapsed = started.elapsed();
        assert!(
            elapsed >= Duration::from_millis(500),
            "{elapsed:?} in {sql}"
        );
        assert!(elapsed < Duration::from_secs(3), "{elapsed:?} in {sql}");
    }
}

#[test]
fn memory() {
    let mut server = Server::ready(["--memory", "64M"]);
    for sql in [
        "SELECT length(hex(zeroblob(60000000)))",
        "WITH RECURSIVE n(s) AS (SELECT 'x' UNION ALL SELECT s || s FROM n) SELECT max(length(s)) FROM n",
        "SELECT group_concat(hex(zeroblob(500000))) FROM
           (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000) SELECT i FROM n)",
    ] {
        let status = refused(&mut server, "query", sql, "--memory");
        assert!(["full", "too_big"].contains(&status.as_str()), "{status} for {sql}");
    }
}

#[test]
fn disk_for_a_file() {
    let folder = Folder::new();
    let path = folder.database("t.db", TABLE);
    let mut server = Server::ready(["--disk", "4M", "--db", path.to_str().expect("a path")]);
    server.batch(&fill(1, 1000));
    let size = || std::fs::metadata(&path).expect("a file").len();
    let before = size();
    assert_eq!(
        refused(&mut server, "exec", &fill(20, 1000), "--disk"),
        "full"
    );
    // Rolled back at once, for those who may only read.
    assert_eq!(size(), before);
    assert_eq!(
        std::fs::metadata(path.with_extension("db-journal")).map_or(0, |it| it.len()),
        0
    );
    // What was there is there, and what is freed can be used again.
    assert_eq!(server.rows("SELECT count(*) FROM t"), json!([[1000]]));
    server.batch("DELETE FROM t");
    server.batch(&fill(1, 1000));
    drop(server);
    assert_eq!(Folder::native(&path, "SELECT count(*) FROM t"), ["1000"]);
    Folder::assert_whole(&path);
}

#[test]
fn disk_for_memory_and_temporary_files() {
    let mut server = Server::ready(["--disk", "8M", "--memory", "64M"]);
    server.batch(TABLE);
    server.batch(&fill(1, 1000));
    assert_eq!(
        refused(&mut server, "exec", &fill(40, 1000), "--disk"),
        "full"
    );
    let sort = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 200000)
        SELECT count(*) FROM (SELECT hex(randomblob(500)) AS r FROM n ORDER BY r LIMIT -1 OFFSET 1)";
    assert_eq!(refused(&mut server, "query", sort, "--disk"), "full");
    assert_eq!(server.rows("SELECT count(*) FROM t"), json!([[1000]]));
}

/// Ten rows, each with its number.
const TEN: &str =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 10) SELECT i FROM n";

#[test]
fn rows_when_the_call_does_not_say() {
    let mut server = Server::ready(["--rows", "4"]);
    let answer = server
        .call("query", json!({ "sql": TEN, "output": "json" }))
        .object;
    assert_eq!(answer["rows"], json!([[1], [2], [3], [4]]));
    assert_eq!(answer["row_count"], 4);
    assert_eq!(answer["more"], true);
    let text = server.call("query", json!({ "sql": TEN })).text;
    assert!(text.contains("\n4\n") && !text.contains("\n5\n"), "{text}");
    assert!(text.contains("4 of 10 rows"), "{text}");
    let all = server
        .call(
            "query",
            json!({ "sql": TEN, "limit": 10, "output": "json" }),
        )
        .object;
    assert_eq!(
        (&all["row_count"], &all["more"]),
        (&json!(10), &json!(false))
    );
}

#[test]
fn rows_at_most() {
    let mut server = Server::ready(["--max-rows", "6"]);
    let answer = server
        .call("query", json!({ "sql": TEN, "limit": 9, "output": "json" }))
        .object;
    assert_eq!(
        (&answer["row_count"], &answer["more"]),
        (&json!(6), &json!(true))
    );
    let text = server.call("query", json!({ "sql": TEN, "limit": 9 })).text;
    assert!(text.contains("--max-rows"), "{text}");
}

#[test]
fn text_of_one_result() {
    let mut server = Server::ready(["--text", "2000"]);
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100)
        SELECT i, printf('<%090d>', i) AS wide FROM n";
    let text = server.call("query", json!({ "sql": sql })).text;
    assert!(text.len() <= 2000, "{} bytes", text.len());
    assert!(text.contains("--text"), "{text}");
    // Whole rows only, and the right number of them is said to be left.
    let shown = text.matches('<').count();
    assert!(shown > 3 && text.matches('>').count() == shown, "{text}");
    assert!(text.contains(&(100 - shown).to_string()), "{text}");
    server.assert_well();
}

#[test]
fn a_result_in_any_alphabet_stays_within_what_clients_read_as_a_line() {
    let mut server = Server::ready([""; 0]);
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 200)
        SELECT i, printf('%.200c', '漢') AS name FROM n";
    let id = server.begin("query", json!({ "sql": sql }));
    let reply = server.next();
    assert_eq!(reply["id"], id);
    let length = reply.to_string().len();
    assert!((40 << 10..64 << 10).contains(&length), "{length} bytes");
}

#[test]
fn one_cell_of_the_text_form() {
    let mut server = Server::ready(["--cell", "30"]);
    let sql = "SELECT printf('%.500c', 'é') AS long, zeroblob(9000) AS bytes, 'short' AS short";
    let text = server.call("query", json!({ "sql": sql })).text;
    let kept = text.matches('é').count();
    assert!((10..=30).contains(&kept), "{kept} kept in {text}");
    assert!(
        text.contains("500") && text.contains("9000") && text.contains("short"),
        "{text}"
    );
    let cell = server.rows("SELECT printf('%.500c', 'é')");
    assert_eq!(
        cell[0][0].as_str().map(|cell| cell.chars().count()),
        Some(500),
        "whole as JSON"
    );
}

#[test]
fn sorting_and_indexing_more_than_the_memory_goes_through_temporary_files() {
    let folder = Folder::new();
    let path = folder.database("t.db", TABLE);
    let path = path.to_str().expect("a path");
    let mut server = Server::ready(["--memory", "64M", "--timeout", "300s", "--db", path]);
    // 120 MB of incompressible text.
    for _ in 0..4 {
        server.batch(&fill(30, 1000));
    }
    let sorted = "SELECT count(*), sum(later) FROM
        (SELECT data > lag(data) OVER (ORDER BY data) AS later FROM t)";
    assert_eq!(server.rows(sorted), json!([[120_000, 119_999]]));
    server.batch("CREATE INDEX by_data ON t (data)");
    let plan = server
        .call(
            "explain",
            json!({ "sql": "SELECT id FROM t WHERE data = 'x'" }),
        )
        .text;
    assert!(plan.contains("by_data"), "{plan}");
    drop(server);
    Folder::assert_whole(path.as_ref());
}

#[test]
fn after_an_abort_memory_keeps_what_was_committed() {
    let mut server = Server::ready(["--timeout", "500ms"]);
    server.batch("CREATE TABLE t (a UNIQUE); INSERT INTO t VALUES (1), (2), (3);");
    let sql = format!("INSERT INTO t VALUES (4); INSERT INTO t {ONE_FUNCTION};");
    assert_eq!(
        refused(&mut server, "batch", &sql, "--timeout"),
        "interrupted"
    );
    assert_eq!(
        server.rows("SELECT a FROM t ORDER BY a"),
        json!([[1], [2], [3]])
    );
    server.batch("INSERT INTO t VALUES (4)");
    assert_eq!(server.rows("PRAGMA integrity_check"), json!([["ok"]]));
}

#[test]
fn after_an_abort_a_file_rolls_back() {
    for mode in ["delete", "wal"] {
        let folder = Folder::new();
        let sql = format!("PRAGMA journal_mode = {mode}; {TABLE};");
        let path = folder.database("t.db", &sql);
        let mut server = Server::ready(["--timeout", "1s", "--db", path.to_str().expect("a path")]);
        server.batch("INSERT INTO t VALUES (1, 'kept')");
        // Much more than the page cache holds, so that the file itself was written to.
        let cut = format!(
            "{}; INSERT INTO t SELECT 0, {};",
            fill(5, 1000),
            &ONE_FUNCTION[7..]
        );
        assert_eq!(
            refused(&mut server, "batch", &cut, "--timeout"),
            "interrupted",
            "{mode}"
        );
        assert_eq!(
            server.rows("SELECT id, data FROM t"),
            json!([[1, "kept"]]),
            "{mode}"
        );
        server.batch("INSERT INTO t VALUES (2, 'after')");
        assert_eq!(server.finish().code, Some(0));
        assert_eq!(
            Folder::native(&path, "SELECT data FROM t"),
            ["kept", "after"],
            "{mode}"
        );
        Folder::assert_whole(&path);
    }
}

#[test]
fn a_busy_database_is_waited_for_no_longer_than_the_budget() {
    let folder = Folder::new();
    let path = folder.database("t.db", TABLE);
    let path = path.to_str().expect("a path");
    let mut server = Server::ready(["--busy-timeout", "400ms", "--db", path]);
    let native = rusqlite::Connection::open(path).expect("the database");
    native
        .execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES (1, 'x');")
        .expect("a lock");
    let started = Instant::now();
    let (status, sentences) =
        server.refusal("exec", json!({ "sql": "INSERT INTO t VALUES (2, 'y')" }));
    assert_eq!(status, "busy");
    assert!(sentences.contains("--busy-timeout"), "{sentences}");
    assert!(
        started.elapsed() >= Duration::from_millis(400),
        "{:?}",
        started.elapsed()
    );
    assert!(
        started.elapsed() < Duration::from_secs(3),
        "{:?}",
        started.elapsed()
    );
    native.execute_batch("COMMIT").expect("a commit");
    server.batch("INSERT INTO t VALUES (2, 'y')");
    assert_eq!(server.rows("SELECT count(*) FROM t"), json!([[2]]));
}
