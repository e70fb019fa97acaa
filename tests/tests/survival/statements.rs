//! SQL that is made to take all time, all memory or all attention.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sqlarium_tests::{PATIENCE, Server};

use crate::form;

/// The budget of one statement.
const TIMEOUT: Duration = Duration::from_millis(500);

/// What may come on top of a budget, or between a question and its answer; more on a machine
/// that is busy with other tests.
fn slack() -> Duration {
    Duration::from_secs(form(3, 1))
}

const COUNT: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";

/// Each with a name.
fn statements() -> Vec<(&'static str, String)> {
    let functions = "(SELECT 1 FROM pragma_function_list)";
    let nested = |open: &str, inner: &str, close: &str, depth: usize| {
        format!(
            "SELECT {}{inner}{}",
            open.repeat(depth),
            close.repeat(depth)
        )
    };
    let listed = |item: &dyn Fn(usize) -> String, count: usize, between: &str| {
        (1..=count).map(item).collect::<Vec<_>>().join(between)
    };
    let views = (1..20).map(|n| format!("v{n} AS (SELECT a.x FROM v{0} a, v{0} b)", n - 1));
    vec![
        ("a cartesian product", format!("SELECT count(*) FROM {functions} a, {functions} b, {functions} c, {functions} d")),
        ("endless recursion", format!("{COUNT} SELECT count(*) FROM n")),
        ("endless recursion of large rows", "WITH RECURSIVE n(i, t) AS (SELECT 1, zeroblob(100000) UNION ALL SELECT i + 1, t FROM n) SELECT max(length(t)) FROM (SELECT * FROM n ORDER BY t)".into()),
        ("a string that doubles", "WITH RECURSIVE n(s) AS (SELECT 'x' UNION ALL SELECT s || s FROM n) SELECT max(length(s)) FROM n".into()),
        ("a gigabyte of zeros", "SELECT zeroblob(1000000000)".into()),
        ("a gigabyte of zeros in hex", "SELECT hex(zeroblob(1000000000))".into()),
        ("a gigabyte printed", "SELECT length(printf('%.*c', 1000000000, 'x'))".into()),
        ("many megabytes printed", "SELECT length(printf('%.*c', 60000000, 'x'))".into()),
        ("a wide number", "SELECT length(printf('%2000000000d', 1)), length(printf('%.2000000000f', 1.5))".into()),
        ("a slow replacement", "SELECT length(replace(hex(zeroblob(15000000)), '0', 'abc'))".into()),
        ("a slow search", sqlarium_tests::ONE_FUNCTION.into()),
        ("endless randomness", format!("{COUNT} SELECT sum(length(randomblob(10000000))) FROM n")),
        ("a LIKE of many wildcards", "SELECT printf('%.*c', 40000, 'a') LIKE '%' || replace(printf('%.*c', 20000, 'x'), 'x', 'a%') || 'b'".into()),
        ("a GLOB of many wildcards", "SELECT printf('%.*c', 40000, 'a') GLOB '*' || replace(printf('%.*c', 20000, 'x'), 'x', 'a*') || 'b'".into()),
        ("very deep parentheses", nested("(", "1", ")", 5000)),
        ("deep parentheses", nested("(", "1", ")", 180)),
        ("a very long sum", format!("SELECT {}", listed(&|_| "1".into(), 30_000, "+"))),
        ("deep cases", nested("CASE WHEN 1 THEN ", "1", " END", 150)),
        ("deep subqueries", nested("(SELECT ", "1", ")", 150)),
        ("deep negations", nested("NOT ", "1", "", 50_000)),
        ("deep calls", nested("abs(", "1", ")", 900)),
        ("deep JSON", format!("SELECT json('{}{}')", "[".repeat(900), "]".repeat(900))),
        ("very deep JSON", format!("SELECT json_extract('{}{}', '$')", "[".repeat(100_000), "]".repeat(100_000))),
        ("very many parameters", format!("SELECT {}", listed(&|n| format!("?{n}"), 30_000, ","))),
        ("a parameter of a high number", "SELECT ?999999999".into()),
        ("a giant list", format!("SELECT 1 IN ({})", listed(&|n| n.to_string(), 130_000, ","))),
        ("a product of JSON lists", format!("SELECT count(*) FROM json_each('[{0}]') a, json_each('[{0}]') b", listed(&|_| "1".into(), 100_000, ","))),
        ("very many selects", listed(&|_| "SELECT 1".into(), 5000, " UNION ALL ")),
        ("very many columns", format!("SELECT {}", listed(&|n| n.to_string(), 32_000, ","))),
        ("a join of very many tables", format!("SELECT 1 FROM {}", listed(&|n| format!("(SELECT 1) t{n}"), 200, ","))),
        ("an expansion of common tables", format!("WITH v0(x) AS (SELECT 1), {} SELECT count(*) FROM v19", views.collect::<Vec<_>>().join(", "))),
        ("a large sort", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 30000000) SELECT i, randomblob(50) AS r FROM n ORDER BY r LIMIT 3".into()),
        ("an endless list in one row", format!("{COUNT} SELECT group_concat(i) FROM n")),
        ("an endless JSON list in one row", format!("{COUNT} SELECT json_group_array(i) FROM n")),
        ("an endless window", format!("{COUNT} SELECT sum(i) OVER (ORDER BY i ROWS BETWEEN 1000 PRECEDING AND CURRENT ROW) FROM n LIMIT 1")),
        ("very many rows", format!("{COUNT} SELECT i, hex(zeroblob(10000)) FROM n")),
        ("nearly a megabyte of comment", format!("SELECT /*{}*/ 1", "x".repeat(900_000))),
        ("nearly a megabyte of string", format!("SELECT length('{}')", "x".repeat(900_000))),
    ]
    .into_iter()
    .chain(searches())
    .collect()
}

/// Words that all begin alike, in `rows` rows of `words`.
fn words(rows: usize, words: usize) -> String {
    format!(
        "CREATE VIRTUAL TABLE docs USING fts5(title, body);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {rows}),
             m(j) AS (SELECT 1 UNION ALL SELECT j + 1 FROM m LIMIT {words})
         INSERT INTO docs SELECT 'a ' || i, (SELECT group_concat('a ab abc' || ((i + j) % 97), ' ') FROM m) FROM n;"
    )
}

/// Full-text queries, each with a name.
fn searches() -> Vec<(&'static str, String)> {
    let search = |query: &str| {
        format!(
            "SELECT count(*), max(length), min(rank) FROM (
                SELECT length(highlight(docs, 1, '<', '>')) AS length, rank FROM docs
                WHERE docs MATCH '{query}' LIMIT -1 OFFSET 0)"
        )
    };
    let repeated = |what: &str, count: usize, between: &str| vec![what; count].join(between);
    vec![
        ("a full-text query of many words", search(&repeated("a", 100_000, " "))),
        ("a full-text query of many alternatives", search(&repeated("ab*", 50_000, " OR "))),
        ("a full-text query of many exceptions", search(&repeated("ab*", 50_000, " NOT "))),
        ("a full-text query of deep brackets", search(&format!("{}a{}", "(".repeat(100_000), ")".repeat(100_000)))),
        ("a full-text query of deep alternatives", search(&format!("{}a{}", "(a OR ".repeat(200), ")".repeat(200)))),
        ("a full-text query of a long phrase", search(&format!("\"{}\"", repeated("a", 100_000, " ")))),
        ("a full-text query of near words", search(&format!("NEAR({}, 1000000)", repeated("a", 60, " ")))),
        ("a full-text query of near phrases", search(&format!("NEAR({}, 1000000)", repeated("\"a ab\"", 5000, " ")))),
        ("a full-text query of all prefixes", search(&repeated("a*", 60, " AND "))),
        ("a full-text query that is joined", "SELECT count(*) FROM docs a, docs b, docs c WHERE a.docs MATCH 'a*' AND b.docs MATCH 'ab*' AND c.docs MATCH 'a'".into()),
        ("snippets of everything", "SELECT sum(length(s)) FROM (SELECT snippet(docs, 1, '<', '>', '…', 64) AS s FROM docs WHERE docs MATCH 'a* OR ab*' LIMIT -1 OFFSET 0)".into()),
        ("a full-text query that is malformed", search("a AND (b OR NEAR(\"")),
    ]
}

#[test]
fn every_statement_ends_within_its_budget_and_pings_are_answered_meanwhile() {
    let mut server = server();
    let (mut slowest_ping, mut slowest) = (Duration::ZERO, Duration::ZERO);
    for (name, sql) in statements() {
        let started = Instant::now();
        let call = server.begin("query", json!({ "sql": sql }));
        thread::sleep(Duration::from_millis(30));
        let asked = Instant::now();
        let ping = server.request("ping", json!({}));
        let (mut answered, mut ponged) = (None, None);
        while answered.is_none() || ponged.is_none() {
            let reply = server.receive(PATIENCE);
            let reply = reply.unwrap_or_else(|| panic!("{name}: silence, {}", server.stderr()));
            if reply["id"] == call {
                answered = Some((started.elapsed(), sentence(name, &reply)));
            } else if reply["id"] == ping {
                ponged = Some(asked.elapsed());
            } else {
                panic!("{name}: {reply}");
            }
        }
        let (elapsed, said) = answered.expect("an answer");
        let pong = ponged.expect("a pong");
        println!(
            "{name}: {elapsed:.2?}, ping {pong:.1?}: {}",
            said.chars()
                .take(100)
                .collect::<String>()
                .replace('\n', " ")
        );
        assert!(elapsed < TIMEOUT + slack(), "{name} took {elapsed:?}");
        assert!(pong < slack(), "{name} kept a ping for {pong:?}");
        slowest_ping = slowest_ping.max(pong);
        slowest = slowest.max(elapsed);
        server.assert_well();
    }
    println!("the slowest statement took {slowest:.2?}, the slowest ping {slowest_ping:.1?}");
}

#[test]
fn every_statement_can_be_cancelled() {
    let mut server = server();
    let mut slowest = Duration::ZERO;
    for (name, sql) in statements() {
        let call = server.begin("query", json!({ "sql": sql }));
        thread::sleep(Duration::from_millis(60));
        let asked = Instant::now();
        server.cancel(call);
        let next = server.begin("query", json!({ "sql": "SELECT 'next'" }));
        loop {
            let reply = server.receive(PATIENCE);
            let reply = reply.unwrap_or_else(|| panic!("{name}: silence, {}", server.stderr()));
            if reply["id"] == next {
                assert!(sentence(name, &reply).contains("next"), "{name}: {reply}");
                break;
            }
            // It may have ended before it was cancelled.
            assert_eq!(reply["id"], call, "{name}: {reply}");
            sentence(name, &reply);
        }
        let elapsed = asked.elapsed();
        slowest = slowest.max(elapsed);
        assert!(
            elapsed < slack(),
            "{name}: the next answer took {elapsed:?}"
        );
    }
    println!("the slowest answer after a cancellation took {slowest:.1?}");
}

fn server() -> Server {
    let timeout = format!("{}ms", TIMEOUT.as_millis());
    let mut server = Server::ready(["--timeout", &timeout, "--memory", "128M", "--disk", "256M"]);
    for call in 0..20 {
        // Each well within the budget of a call.
        let sql = words(10, 300);
        let sql = if call == 0 {
            sql
        } else {
            sql.split_once(';').expect("two").1.to_owned()
        };
        server.batch(&sql);
    }
    let found = server.rows("SELECT count(*) FROM docs WHERE docs MATCH 'ab*'");
    assert_eq!(found, json!([[200]]));
    server
}

/// What the model is told: something, and nothing that only a developer could use.
fn sentence(name: &str, reply: &Value) -> String {
    let result = &reply["result"];
    let said = result["content"][0]["text"].as_str();
    let said = said.unwrap_or_else(|| panic!("{name}: {reply}"));
    assert!(!said.trim().is_empty(), "{name}: {reply}");
    assert!(!said.starts_with("internal"), "{name}: {said}");
    assert!(!said.contains("the sandbox failed"), "{name}: {said}");
    said.to_owned()
}
