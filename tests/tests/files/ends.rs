//! Budgets and kills in the middle of it, and memory that stays flat.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use sqlarium_tests::{Folder, Server, finish, sqlarium};

use crate::{rooted, text};

/// Enough rows to be cut in the middle of.
const ROWS: &str = "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 60000)
        INSERT INTO t SELECT i, hex(randomblob(40)) FROM n;";

/// The calls that make `new`, each with what else it needs.
fn makers() -> Vec<(&'static str, Value)> {
    vec![
        ("export", json!({"table": "t", "out": "new"})),
        ("dump", json!({"out": "new"})),
        ("backup", json!({"file": "new"})),
        (
            "migrate",
            json!({"source": "other.db", "destination": "new"}),
        ),
    ]
}

fn csv(path: &Path, rows: u32) {
    let mut text = String::from("id,v\n");
    for number in 0..rows {
        text.push_str(&format!("{number},some text for {number}\n"));
    }
    fs::write(path, text).expect("a file");
}

#[test]
fn an_aborted_call_leaves_no_file() {
    let folder = Folder::new();
    let database = folder.database("shop.db", ROWS);
    fs::copy(&database, folder.path("other.db")).expect("a copy");
    for fuel in [30_000, 270_000, 1_300_000, 2_700_000] {
        for (command, arguments) in makers() {
            let mut server = rooted(&folder, &database, &["--fuel", &fuel.to_string()]);
            let id = server.begin(command, arguments);
            let reply = server.next();
            assert_eq!(reply["id"], id, "{reply}");
            drop(server);
            let made = folder.path("new");
            if reply["result"]["isError"] == true {
                assert!(!made.exists(), "{command} with {fuel}");
            } else if command == "backup" || command == "migrate" {
                Folder::assert_whole(&made);
            }
            let _ = fs::remove_file(made);
            assert_eq!(
                folder.files(),
                ["other.db", "shop.db"],
                "{command} with {fuel}"
            );
        }
    }
    for (command, arguments) in makers() {
        for budget in [["--disk", "300K"], ["--timeout", "1ms"]] {
            let mut server = rooted(&folder, &database, &budget);
            let (status, sentence) = server.refusal(command, arguments.clone());
            let (expected, flag) = match budget[0] {
                "--disk" => ("full", "--disk"),
                _ => ("interrupted", "--timeout"),
            };
            assert_eq!(status, expected, "{command}: {sentence}");
            assert!(sentence.contains(flag), "{command}: {sentence}");
            drop(server);
            assert_eq!(
                folder.files(),
                ["other.db", "shop.db"],
                "{command} {budget:?}"
            );
        }
    }
}

#[test]
fn a_process_that_is_killed_leaves_no_file() {
    let folder = Folder::new();
    let database = folder.database("shop.db", ROWS);
    fs::copy(&database, folder.path("other.db")).expect("a copy");
    for (command, arguments) in makers() {
        for milliseconds in [5, 20, 60] {
            let mut server = rooted(&folder, &database, &[]);
            server.begin(command, arguments.clone());
            thread::sleep(Duration::from_millis(milliseconds));
            // Dropping it kills it.
            drop(server);
            let made = folder.path("new");
            if made.exists() && (command == "backup" || command == "migrate") {
                Folder::assert_whole(&made);
            }
            let _ = fs::remove_file(&made);
            assert_eq!(folder.files(), ["other.db", "shop.db"], "{command}");
        }
    }
}

#[test]
fn an_aborted_import_or_restore_changes_nothing() {
    let folder = Folder::new();
    let database = folder.database(
        "shop.db",
        "CREATE TABLE old (a); INSERT INTO old VALUES (1);",
    );
    folder.database("other.db", ROWS);
    csv(&folder.path("x.csv"), 50_000);
    let look = "SELECT group_concat(name) FROM sqlite_schema";
    for (command, arguments) in [
        ("import", json!({"file": "x.csv", "table": "t"})),
        ("restore", json!({"file": "other.db", "overwrite": true})),
    ] {
        for fuel in [30_000, 130_000, 500_000, 1_000_000] {
            let mut server = rooted(&folder, &database, &["--fuel", &fuel.to_string()]);
            let answer = server.call(command, arguments.clone());
            drop(server);
            // Whoever opens it next rolls back what was left.
            Folder::assert_whole(&database);
            let found = Folder::native(&database, look);
            let expected = match (answer.refused, command) {
                (true, _) => "old",
                (false, "import") => "old,t",
                (false, _) => "t",
            };
            assert_eq!(found, [expected], "{command} with {fuel}: {}", answer.text);
            fs::remove_file(&database).expect("removed");
            folder.database(
                "shop.db",
                "CREATE TABLE old (a); INSERT INTO old VALUES (1);",
            );
        }
    }
}

#[test]
fn a_long_import_reports_progress_and_can_be_cancelled() {
    let folder = Folder::new();
    let database = folder.database("shop.db", "");
    csv(&folder.path("x.csv"), 3_000_000);
    let mut server = rooted(&folder, &database, &[]);
    let arguments = json!({"file": "x.csv", "table": "t"});
    let id = server.request(
        "tools/call",
        json!({"name": "sqlarium_import", "arguments": arguments, "_meta": {"progressToken": "p"}}),
    );
    let progress = server.next();
    assert_eq!(progress["method"], "notifications/progress", "{progress}");
    assert_eq!(progress["params"]["progressToken"], "p");
    server.cancel(id);
    server.assert_well();
    assert_eq!(
        server.rows("SELECT count(*) FROM sqlite_schema"),
        json!([[0]])
    );
}

/// The most memory that a process has had, in KiB.
fn peak(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .unwrap_or_default()
}

#[cfg(target_os = "linux")]
#[test]
fn memory_stays_flat_however_much_is_imported_and_exported() {
    let folder = Folder::new();
    let mut peaks = Vec::new();
    for megabytes in [20, 200] {
        let database = folder.database(&format!("{megabytes}.db"), "");
        let mut child = sqlarium()
            .args([
                "import",
                text(&database),
                "-",
                "t",
                "--timeout",
                "10m",
                "--disk",
                "4G",
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("started");
        let mut stdin = child.stdin.take().expect("its input");
        let line = format!("12345,{},6.5\n", "x".repeat(80));
        let block = line.repeat(10_000);
        let mut left: usize = megabytes << 20;
        let mut most = 0;
        while left > 0 {
            stdin.write_all(block.as_bytes()).expect("written");
            left = left.saturating_sub(block.len());
            most = most.max(peak(child.id()));
        }
        drop(stdin);
        while child.try_wait().expect("its status").is_none() {
            most = most.max(peak(child.id()));
            thread::sleep(Duration::from_millis(20));
        }
        peaks.push(most);
        // And out again.
        let mut child = sqlarium()
            .args(["export", text(&database), "t", "--timeout", "10m"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        let mut stdout = child.stdout.take().expect("its output");
        let mut out = fs::File::create(folder.path("out.csv")).expect("a file");
        std::io::copy(&mut stdout, &mut out).expect("copied");
        assert!(child.wait().expect("ended").success());
        let size = fs::metadata(folder.path("out.csv"))
            .expect("the file")
            .len();
        assert!(size as usize >= megabytes << 20, "{size}");
        fs::remove_file(&database).expect("removed");
    }
    let (few, many) = (peaks[0], peaks[1]);
    assert!(
        few > 0 && many < few + (48 << 10),
        "{few} KiB and {many} KiB"
    );
}

#[test]
fn a_new_file_is_as_private_as_the_one_that_it_replaces() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let database = folder.database("shop.db", "CREATE TABLE t (a)");
    let out = folder.path("t.csv");
    fs::write(&out, "old").expect("a file");
    fs::set_permissions(&out, fs::Permissions::from_mode(0o600)).expect("private");
    let made = finish(sqlarium().args([
        "export",
        text(&database),
        "t",
        "--overwrite",
        "--out",
        text(&out),
    ]));
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let mode = fs::metadata(&out).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let fresh = folder.path("fresh.csv");
    let script = format!(
        "umask 077; exec {} export {} t --out {}",
        text(&sqlarium_tests::binary()),
        text(&database),
        text(&fresh)
    );
    let made = finish(Command::new("sh").args(["-c", &script]));
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let mode = fs::metadata(&fresh).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let _ = Server::ready(["--db", text(&database)]);
}
