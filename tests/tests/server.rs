//! The server on its pipe: framing, start and end, cancellation and ping.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sqlarium_tests::{ENDLESS, Folder, ONE_FUNCTION, PATIENCE, Server, run};

/// Nothing at all, for a moment long enough to notice.
const A_MOMENT: Duration = Duration::from_millis(700);

/// A ping of exactly `length` bytes, without its newline.
fn ping_of(length: usize, id: u64) -> Vec<u8> {
    let mut line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#).into_bytes();
    line.resize(length, b' ');
    line
}

fn pong(id: u64) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": {} })
}

#[test]
fn a_line_of_exactly_the_limit_is_served() {
    let mut server = Server::ready(["--request", "4096"]);
    server.write(&[&ping_of(4096, 7)[..], b"\n"].concat());
    assert_eq!(server.next(), pong(7));
    server.assert_well();
}

#[test]
fn a_line_one_byte_too_long_is_refused_under_its_id_and_the_next_one_is_served() {
    let mut server = Server::ready(["--request", "4096"]);
    server.write(&[&ping_of(4097, 7)[..], b"\n"].concat());
    let reply = server.next();
    assert_eq!(
        (&reply["id"], &reply["error"]["code"]),
        (&json!(7), &json!(-32600))
    );
    let message = reply["error"]["message"].as_str().expect("a message");
    assert!(
        message.contains("4096") && message.contains("--request"),
        "{message}"
    );
    server.write(&[&ping_of(100, 8)[..], b"\n"].concat());
    assert_eq!(server.next(), pong(8));
    // At the end, as the official SDKs write it, or behind what was read.
    for (id, expected) in [("\"id\":9", json!(9)), ("\"id\":9,\"x\":0", Value::Null)] {
        let long = "y".repeat(9000);
        server.write(
            format!(
                "{{\"method\":\"ping\",\"params\":{{\"x\":\"{long}\"}},\"jsonrpc\":\"2.0\",{id}}}\n"
            )
            .as_bytes(),
        );
        let reply = server.next();
        assert_eq!(reply["error"]["code"], -32600, "{reply}");
        assert_eq!(
            reply.get("id").unwrap_or(&Value::Null),
            &expected,
            "{reply}"
        );
    }
    server.assert_well();
}

#[test]
fn a_line_too_long_is_refused_while_a_query_runs_and_nothing_of_the_session_is_lost() {
    let mut server = Server::ready(["--request", "4096"]);
    server.batch("CREATE TABLE t (a); INSERT INTO t VALUES (1);");
    let running = server.begin("query", json!({ "sql": ENDLESS }));
    server.write(&[&ping_of(1 << 20, 7)[..], b"\n"].concat());
    let reply = server.next();
    assert_eq!(
        (&reply["id"], &reply["error"]["code"]),
        (&json!(7), &json!(-32600))
    );
    server.cancel(running);
    assert_eq!(server.rows("SELECT a FROM t"), json!([[1]]));
}

#[test]
fn a_line_of_any_length_is_refused_at_its_end_and_the_next_one_is_served() {
    let mut server = Server::ready([""; 0]);
    let part = vec![b' '; 1 << 20];
    for _ in 0..100 {
        server.write(&part);
    }
    server.write(b"\n");
    assert_eq!(server.next()["error"]["code"], -32600);
    server.write(&[&ping_of(100, 8)[..], b"\n"].concat());
    assert_eq!(server.next(), pong(8));
}

#[test]
fn a_megabyte_is_served_by_default() {
    let mut server = Server::ready([""; 0]);
    server.write(&[&ping_of(1 << 20, 7)[..], b"\n"].concat());
    assert_eq!(server.next(), pong(7));
}

#[test]
fn blank_lines_carriage_returns_and_a_byte_order_mark_are_no_matter() {
    let mut server = Server::start([""; 0]);
    server.write(b"\xef\xbb\xbf");
    server.write(&[&ping_of(60, 1)[..], b"\n\n   \n\r\n"].concat());
    server.write(&[&ping_of(60, 2)[..], b"\r\n"].concat());
    server.write(&[b"  \t", &ping_of(60, 3)[..], b"\n"].concat());
    for id in 1..=3 {
        assert_eq!(server.next(), pong(id));
    }
    assert_eq!(server.finish().rest, Vec::<Value>::new());
}

#[test]
fn a_line_that_is_not_utf_8_is_an_error_and_the_next_one_is_served() {
    let mut server = Server::ready([""; 0]);
    server.write(b"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"\xff\xfe\"}\n");
    let reply = server.next();
    assert_eq!(reply["error"]["code"], -32700, "{reply}");
    server.assert_well();
}

#[test]
fn the_last_line_needs_no_newline() {
    let mut server = Server::ready([""; 0]);
    server.write(&ping_of(60, 9));
    let ended = server.finish();
    assert_eq!(ended.rest, [pong(9)]);
    assert_eq!(ended.code, Some(0));
}

#[test]
fn the_end_of_input_ends_the_process_at_once_with_code_0() {
    let ended = Server::ready([""; 0]).finish();
    assert_eq!(ended.code, Some(0));
    assert!(
        ended.elapsed < Duration::from_secs(1),
        "{:?}",
        ended.elapsed
    );
    let silent = Server::start([""; 0]).finish();
    assert_eq!((silent.code, silent.rest), (Some(0), vec![]));
}

#[test]
fn requests_that_wait_at_the_end_of_input_are_still_answered() {
    let mut server = Server::ready([""; 0]);
    let ids: Vec<u64> = (0..50)
        .map(|n| server.begin("query", json!({ "sql": format!("SELECT {n}") })))
        .collect();
    let ended = server.finish();
    let answered: Vec<u64> = ended
        .rest
        .iter()
        .filter_map(|reply| reply["id"].as_u64())
        .collect();
    assert_eq!(answered, ids);
    assert_eq!(ended.code, Some(0));
}

#[test]
fn an_endless_query_does_not_outlive_its_client() {
    for sql in [ENDLESS, ONE_FUNCTION] {
        let mut server = Server::ready([""; 0]);
        server.begin("query", json!({ "sql": sql }));
        assert_eq!(server.receive(A_MOMENT), None);
        let ended = server.finish();
        assert_eq!(ended.code, Some(0));
        assert!(
            ended.elapsed < Duration::from_millis(2500),
            "{:?}: {sql}",
            ended.elapsed
        );
    }
}

#[test]
fn standard_output_carries_messages_alone_and_standard_error_is_quiet() {
    // `Server` checks every line that it reads.
    let mut server = Server::ready([""; 0]);
    server.write(b"nonsense\n[]\n{}\n");
    server.write(b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"no/such\"}\n");
    server.begin("query", json!({ "sql": "SELECT * FROM nowhere" }));
    server.begin("no-such-tool", json!({}));
    server.begin(
        "query",
        json!({ "sql": "SELECT 'a\nb\r\nc', char(0x2028), char(7)" }),
    );
    let ended = server.finish();
    assert!(ended.rest.len() >= 5, "{:?}", ended.rest);
    assert_eq!(ended.stderr, "");
}

#[test]
fn a_missing_database_is_refused_at_the_start() {
    let folder = Folder::new();
    for flags in [&[][..], &["--readonly"]] {
        let missing = folder.path("missing.db");
        let mut arguments = vec!["mcp", "--db", missing.to_str().expect("a path")];
        arguments.extend(flags);
        let finished = run(&arguments);
        assert_eq!(finished.code, Some(1), "{}", finished.stderr);
        assert_eq!(finished.stdout, "");
        assert!(
            finished.stderr.contains("missing.db"),
            "{}",
            finished.stderr
        );
        assert!(
            finished.stderr.starts_with("sqlarium: "),
            "{}",
            finished.stderr
        );
        assert_eq!(
            finished.stderr.trim_end().lines().count(),
            1,
            "{}",
            finished.stderr
        );
    }
    assert_eq!(folder.files(), [""; 0], "and it is not made");
}

#[test]
fn without_a_file_the_database_is_in_memory() {
    let mut server = Server::ready([""; 0]);
    server.batch("CREATE TABLE t (a); INSERT INTO t VALUES (1), (2);");
    assert_eq!(server.rows("SELECT sum(a) FROM t"), json!([[3]]));
    let mut fresh = Server::ready([":memory:"]);
    assert_eq!(
        fresh.rows("SELECT count(*) FROM sqlite_schema"),
        json!([[0]])
    );
}

#[test]
fn two_servers_work_on_one_file() {
    let folder = Folder::new();
    let path = folder.database("shared.db", "CREATE TABLE t (who, n)");
    let mut servers = [Server::ready([&path]), Server::ready([&path])];
    for n in 0..20 {
        for (who, server) in servers.iter_mut().enumerate() {
            server.batch(&format!("INSERT INTO t VALUES ({who}, {n})"));
        }
    }
    for server in &mut servers {
        let counts = server.rows("SELECT who, count(*) FROM t GROUP BY who ORDER BY who");
        assert_eq!(counts, json!([[0, 20], [1, 20]]));
    }
    Folder::assert_whole(&path);
}

#[test]
fn a_result_beyond_its_budget_ends_at_a_row_and_says_how_to_go_on() {
    let mut server = Server::ready(["--reply", "65536"]);
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100)
        SELECT i, hex(zeroblob(500)) FROM n";
    for output in ["text", "json"] {
        server.begin("query", json!({ "sql": sql, "output": output }));
        let reply = server.next();
        let length = reply.to_string().len();
        assert!((30_000..65_536).contains(&length), "{length}");
        let text = reply["result"]["content"][0]["text"]
            .as_str()
            .expect("a text");
        assert!(text.contains("more rows not shown") && text.contains("LIMIT and OFFSET"));
    }
    // It was too long: less of the same is answered whole, in both its copies.
    let few = server.call("query", json!({ "sql": sql, "output": "json", "limit": 5 }));
    assert_eq!(few.object["row_count"], 5);
    assert_eq!(few.object["notes"], json!(null));
    server.assert_well();
}

#[test]
fn from_the_start_of_the_process_to_the_answer_of_initialize_it_is_milliseconds() {
    let folder = Folder::new();
    let path = folder.database("t.db", "CREATE TABLE t (a)");
    let time = |_| {
        let started = Instant::now();
        let _server = Server::ready([&path]);
        started.elapsed()
    };
    // The best of a few, so that a busy machine does not matter.
    let best = (0..8).map(time).min().expect("a time");
    assert!(best < Duration::from_millis(100), "{best:?}");
}

#[test]
fn a_cancelled_query_is_not_answered_and_the_next_one_is() {
    for sql in [ENDLESS, ONE_FUNCTION] {
        let mut server = Server::ready([""; 0]);
        server.batch("CREATE TABLE t (a); INSERT INTO t VALUES (1);");
        let id = server.begin("query", json!({ "sql": sql }));
        assert_eq!(server.receive(A_MOMENT), None);
        let cancelled = Instant::now();
        server.cancel(id);
        assert_eq!(
            server.rows("SELECT a FROM t"),
            json!([[1]]),
            "as the next message"
        );
        assert!(
            cancelled.elapsed() < Duration::from_secs(2),
            "{:?}",
            cancelled.elapsed()
        );
        assert_eq!(server.finish().rest, Vec::<Value>::new());
    }
}

#[test]
fn a_cancelled_batch_leaves_nothing_behind() {
    let folder = Folder::new();
    let path = folder.database("t.db", "CREATE TABLE t (a)");
    let mut server = Server::ready([&path]);
    let sql = format!("INSERT INTO t VALUES (1); INSERT INTO t {ENDLESS};");
    let id = server.begin("batch", json!({ "sql": sql }));
    assert_eq!(server.receive(A_MOMENT), None);
    server.cancel(id);
    assert_eq!(server.rows("SELECT count(*) FROM t"), json!([[0]]));
    server.batch("INSERT INTO t VALUES (2)");
    assert_eq!(Folder::native(&path, "SELECT a FROM t"), ["2"]);
    Folder::assert_whole(&path);
}

#[test]
fn a_waiting_request_can_be_cancelled() {
    let mut server = Server::ready([""; 0]);
    let running = server.begin("query", json!({ "sql": ENDLESS }));
    let first = server.begin("query", json!({ "sql": "SELECT 'first'" }));
    let second = server.begin("query", json!({ "sql": "SELECT 'second'" }));
    assert_eq!(server.receive(A_MOMENT), None);
    server.cancel(first);
    server.cancel(running);
    let reply = server.next();
    assert_eq!(reply["id"], second, "{reply}");
    server.assert_well();
}

#[test]
fn a_cancellation_of_nothing_is_no_matter() {
    let mut server = Server::ready([""; 0]);
    server.cancel(4711);
    let running = server.begin("query", json!({ "sql": ENDLESS }));
    server.cancel(4711);
    assert_eq!(server.receive(A_MOMENT), None, "the wrong id stops nothing");
    server.cancel(running);
    server.assert_well();
}

#[test]
fn ping_is_answered_while_a_query_runs() {
    for sql in [ENDLESS, ONE_FUNCTION] {
        let mut server = Server::ready([""; 0]);
        let running = server.begin("query", json!({ "sql": sql }));
        assert_eq!(server.receive(Duration::from_millis(300)), None);
        let mut best = PATIENCE;
        for _ in 0..5 {
            let asked = Instant::now();
            let reply = server.ask("ping", json!({}));
            assert_eq!(reply["result"], json!({}));
            best = best.min(asked.elapsed());
        }
        assert!(best < Duration::from_millis(200), "{best:?} in {sql}");
        server.cancel(running);
        server.assert_well();
    }
}

#[test]
fn a_long_call_reports_progress_when_asked_to() {
    let mut server = Server::ready(["--timeout", "4s"]);
    let params = json!({
        "name": "sqlarium_query",
        "arguments": { "sql": ENDLESS },
        "_meta": { "progressToken": "p1" },
    });
    let id = server.request("tools/call", params);
    let mut last = f64::MIN;
    let mut reports = 0;
    let reply = loop {
        let message = server.next();
        if message["method"] != "notifications/progress" {
            break message;
        }
        assert_eq!(message["params"]["progressToken"], "p1");
        let progress = message["params"]["progress"].as_f64().expect("a number");
        assert!(progress > last, "{message}");
        last = progress;
        reports += 1;
    };
    assert_eq!(reply["id"], id, "{reply}");
    assert!(
        (1..=4).contains(&reports),
        "{reports} reports in four seconds"
    );
}
