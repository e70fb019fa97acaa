//! Local time is that of the owner, whose time zone the process has.

use std::process::Command;

use serde_json::{Value, json};
use sqlarium_tests::{Folder, Server, binary, finish, sqlarium};

/// Where this test, started once more, writes what native SQLite says in another time zone.
const NATIVE: &str = "SQLARIUM_TEST_NATIVE";

/// Zones on both sides of Greenwich, with odd offsets, with summer time in either half of the year, and by a rule.
const ZONES: [&str; 9] = [
    "UTC",
    "Asia/Tokyo",
    "Asia/Kathmandu",
    "America/New_York",
    "America/St_Johns",
    "Australia/Lord_Howe",
    "Europe/London",
    "Africa/Casablanca",
    "CET-1CEST,M3.5.0,M10.5.0/3",
];

/// Many instants, the same on each run: in the time of SQLite's own table of local time, and in all of its years.
const SQL: &str = "
    WITH RECURSIVE random(i, x) AS (
        SELECT 1, 12345 UNION ALL SELECT i + 1, (x * 1103515245 + 12345) % 2147483648 FROM random WHERE i < 400),
    instant(t) AS (SELECT x FROM random UNION ALL SELECT x * 146 - 62000000000 FROM random)
    SELECT group_concat(t || ' ' || datetime(t, 'unixepoch', 'localtime') || ' '
        || datetime(t, 'unixepoch', 'utc'), char(10)) FROM instant";

#[test]
fn local_time_is_that_of_native_sqlite_in_any_zone_and_year() {
    if let Ok(path) = std::env::var(NATIVE) {
        let connection = rusqlite::Connection::open_in_memory().expect("a database");
        let text: String = connection
            .query_row(SQL, [], |row| row.get(0))
            .expect("local times");
        return std::fs::write(path, text).expect("written");
    }
    let folder = Folder::new();
    for zone in ZONES {
        let path = folder.path("native");
        let test = "local_time_is_that_of_native_sqlite_in_any_zone_and_year";
        let this = std::env::current_exe().expect("this test");
        let native = finish(
            Command::new(this)
                .args(["--exact", test])
                .env("TZ", zone)
                .env(NATIVE, &path),
        );
        assert_eq!(native.code, Some(0), "{}", native.stdout);
        let right = std::fs::read_to_string(&path).expect("what it wrote");

        let ours = finish(
            sqlarium()
                .args(["query", ":memory:", SQL, "--output", "json"])
                .env("TZ", zone),
        );
        let ours: Value = serde_json::from_str(&ours.stdout).expect("JSON");
        let ours = ours["rows"][0][0].as_str().expect("a text");
        assert_eq!(ours.lines().count(), 800);
        for (ours, right) in ours.lines().zip(right.lines()) {
            assert_eq!(ours, right, "in {zone}");
        }
    }
}

#[test]
fn the_zone_in_a_clients_configuration_is_the_servers() {
    let mut command = Command::new(binary());
    let mut server = Server::spawn(command.arg("mcp").env("TZ", "JST-9"));
    server.initialize();
    server.batch(
        "CREATE TABLE t(at TEXT DEFAULT (datetime(0, 'unixepoch', 'localtime')), b); INSERT INTO t(b) VALUES(1)",
    );
    assert_eq!(
        server.rows(
            "SELECT at, datetime(at, 'utc'), unixepoch(CURRENT_TIMESTAMP) - unixepoch() < 5 FROM t"
        ),
        json!([["1970-01-01 09:00:00", "1970-01-01 00:00:00", 1]])
    );
    let stats = server.call("stats", json!({}));
    let said = "+09:00  what the modifier localtime adds to UTC";
    assert!(stats.text.contains(said), "{}", stats.text);
    assert_eq!(server.finish().stderr, "");
}

#[test]
fn a_zone_that_the_machine_does_not_know_is_said_to_be_utc() {
    let sql = "SELECT datetime(0, 'unixepoch', 'localtime')";
    let ask = |zone| finish(sqlarium().args(["query", ":memory:", sql]).env("TZ", zone));
    for unknown in ["Nowhere/City", ":Nowhere/City", "Tokio"] {
        let answer = ask(unknown);
        assert!(answer.stdout.contains("1970-01-01 00:00:00"), "{unknown}");
        assert!(
            answer.stderr.contains("local time is UTC"),
            "{}",
            answer.stderr
        );
    }
    for known in ["", "UTC", "UTC0", "JST-9", "<+03>-3", "GMT"] {
        assert_eq!(ask(known).stderr, "", "{known}");
    }
}
