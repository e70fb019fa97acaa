//! What a server records of its calls: threads for the client, the audit for the owner.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use sqlarium_tests::{Folder, ONE_FUNCTION, Server, binary, finish, sqlarium};

/// The flags that remember the threads of a principal.
fn remembering(state: &Path, principal: &str) -> [OsString; 4] {
    let words: [OsString; 4] = [
        "--state".into(),
        state.into(),
        "--principal".into(),
        principal.into(),
    ];
    words
}

/// The flags that audit.
fn audited(audit: &Path) -> [OsString; 2] {
    ["--audit".into(), audit.into()]
}

/// The result of a call of `query` in a thread.
fn call(server: &mut Server, thread: &str, arguments: Value) -> Value {
    let params = json!({
        "_meta": {"sqlarium/thread": thread},
        "name": "sqlarium_query",
        "arguments": arguments,
    });
    server.ask("tools/call", params)["result"].clone()
}

fn calls(result: &Value) -> Vec<Value> {
    let calls = &result["_meta"]["sqlarium/session"]["calls"];
    calls
        .as_array()
        .unwrap_or_else(|| panic!("{result}"))
        .clone()
}

/// The lines of an audit, each of which is JSON in printable ASCII.
fn lines(audit: &Path) -> Vec<Value> {
    let text = fs::read_to_string(audit).expect("the audit");
    let whole = |line: &str| {
        assert!(
            line.bytes().all(|byte| (0x20..0x7f).contains(&byte)),
            "{line}"
        );
        serde_json::from_str(line).expect(line)
    };
    text.lines().map(whole).collect()
}

#[test]
fn two_servers_of_two_principals_share_a_store_and_keep_every_threads_last_calls() {
    let folder = Folder::new();
    let state = folder.path("state");
    let last = |name: &str| -> Vec<String> {
        (980..1_000)
            .map(|number| format!("{name}{number}"))
            .collect()
    };
    let names = |calls: &[Value]| -> Vec<String> {
        let name = |call: &Value| call["arguments"][0].as_str().expect("a name").to_owned();
        calls.iter().map(name).collect()
    };
    thread::scope(|scope| {
        for principal in ["alice", "bob"] {
            let state = &state;
            scope.spawn(move || {
                let mut server = Server::ready(remembering(state, principal));
                let mut result = Value::Null;
                for number in 0..1_000 {
                    // Refused, and called all the same.
                    let arguments = json!({ format!("{principal}{number}"): 1 });
                    result = call(&mut server, "t", arguments);
                }
                assert_eq!(names(&calls(&result)), last(principal));
                assert_eq!(server.finish().code, Some(0));
            });
        }
    });
    for principal in ["alice", "bob"] {
        let shown = finish(
            sqlarium()
                .args(["threads", "show", "t", "--json"])
                .args(remembering(&state, principal)),
        );
        let shown: Value = serde_json::from_str(&shown.stdout).expect("JSON");
        assert_eq!(shown["threadId"], "t");
        assert_eq!(
            names(shown["calls"].as_array().expect("calls")),
            last(principal)
        );
    }
}

#[test]
fn a_thread_goes_on_in_the_next_server_and_not_for_another_principal() {
    let folder = Folder::new();
    let state = folder.path("state");
    let mut server = Server::ready(remembering(&state, "alice"));
    call(
        &mut server,
        "t",
        json!({"sql": "SELECT 'secret'", "limit": 1}),
    );
    assert_eq!(server.finish().code, Some(0));
    let mut server = Server::ready(remembering(&state, "alice"));
    // On a busy machine the file may come later than the first answer, which does not wait for it.
    let found = (0..15)
        .map(|_| {
            thread::sleep(Duration::from_millis(20));
            calls(&call(&mut server, " t\n", json!({})))
        })
        .find(|found| found[0]["arguments"] == json!(["limit", "sql"]))
        .expect("what the first server did");
    assert_eq!(found[0]["tool"], "sqlarium_query");
    assert_eq!(found[0]["arguments"], json!(["limit", "sql"]));
    let mut other = Server::ready(remembering(&state, "bob"));
    assert_eq!(calls(&call(&mut other, "t", json!({}))).len(), 1);
    for file in folder.files() {
        let bytes = fs::read(folder.path(&file)).expect("a file");
        assert!(
            !bytes.windows(6).any(|window| window == b"secret"),
            "{file}"
        );
    }
}

#[test]
fn without_a_principal_or_a_thread_nothing_is_remembered() {
    let folder = Folder::new();
    let state = folder.path("state");
    let mut server = Server::ready(["--state".into(), state.clone().into_os_string()]);
    assert_eq!(call(&mut server, "t", json!({}))["_meta"], Value::Null);
    assert!(server.finish().stderr.contains("--principal"));
    let mut server = Server::ready(remembering(&state, "  "));
    assert_eq!(call(&mut server, "t", json!({}))["_meta"], Value::Null);
    drop(server);
    assert!(!state.exists());
    let mut server = Server::spawn(
        sqlarium()
            .args(["mcp", "--state"])
            .arg(&state)
            .env("SQLARIUM_PRINCIPAL", "alice"),
    );
    assert_eq!(call(&mut server, " ", json!({}))["_meta"], Value::Null);
    let long = "x".repeat(900_000);
    assert_eq!(call(&mut server, &long, json!({}))["_meta"], Value::Null);
    assert_eq!(calls(&call(&mut server, "t", json!({}))).len(), 1);
}

#[test]
fn a_call_that_is_aborted_is_remembered_and_has_its_line() {
    let folder = Folder::new();
    let (state, audit) = (folder.path("state"), folder.path("audit"));
    let words = remembering(&state, "alice")
        .into_iter()
        .chain(audited(&audit));
    let mut server = Server::ready(words.chain(["--timeout".into(), "300ms".into()]));
    let result = call(&mut server, "t", json!({ "sql": ONE_FUNCTION }));
    assert_eq!(result["isError"], true);
    assert_eq!(calls(&result).len(), 1);
    assert_eq!(
        calls(&call(&mut server, "t", json!({"sql": "SELECT 1"}))).len(),
        2
    );
    let lines = lines(&audit);
    assert_eq!(lines[1]["cut_by"], "timeout");
    for member in ["status", "rows", "changes"] {
        assert_eq!(lines[1][member], Value::Null, "{member}");
    }
    assert!(lines[1]["ms"].as_f64().expect("a time") >= 300.0);
    assert_eq!(lines[2]["status"], "ok");
}

#[test]
fn the_audit_has_a_line_for_the_start_and_for_each_call() {
    let folder = Folder::new();
    let shop = folder.database("shop.db", "CREATE TABLE t (a)");
    let audit = folder.path("audit");
    let words = audited(&audit)
        .into_iter()
        .chain(["--db".into(), shop.clone().into_os_string()]);
    let mut server = Server::ready(words);
    server.call(
        "query",
        json!({"sql": "SELECT :a UNION SELECT 2", "params": {"a": "secret"}}),
    );
    server.call("exec", json!({"sql": "INSERT INTO t VALUES (1), (2), (3)"}));
    server.refusal("query", json!({"sql": "SELEKT"}));
    server.ask("tools/call", json!({"name": "no_tool", "arguments": {}}));
    server.ask("tools/list", json!({}));
    assert_eq!(server.finish().code, Some(0));
    let lines = lines(&audit);
    assert_eq!(lines.len(), 5);
    assert_eq!(lines[0]["event"], "start");
    assert_eq!(lines[0]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(
        lines[0]["component"].as_str().map(str::len),
        Some("sha256:".len() + 64)
    );
    assert_eq!(lines[0]["database"], shop.display().to_string());
    assert_eq!(lines[0]["budgets"]["timeout_ms"], 60_000);
    let members = |index: usize| -> Vec<&Value> {
        ["tool", "status", "rows", "changes", "cut_by"]
            .iter()
            .map(|name| &lines[index][name])
            .collect()
    };
    assert_eq!(
        json!(members(1)),
        json!(["sqlarium_query", "ok", 2, 0, null])
    );
    assert_eq!(
        json!(members(2)),
        json!(["sqlarium_exec", "ok", 0, 3, null])
    );
    assert_eq!(
        json!(members(3)),
        json!(["sqlarium_query", "syntax", 0, 0, null])
    );
    assert_eq!(
        json!(members(4)),
        json!(["no_tool", "not_found", 0, 0, null])
    );
    let arguments = lines[1]["arguments"].as_object().expect("arguments");
    assert_eq!(arguments.keys().collect::<Vec<_>>(), ["params", "sql"]);
    assert!(lines[1]["fuel"].as_u64() > Some(0) && lines[1]["bytes"].as_u64() > Some(50));
    let text = fs::read_to_string(&audit).expect("the audit");
    assert!(!text.contains("secret") && !text.contains("SELEKT"));
}

#[test]
fn statements_stand_in_the_audit_where_the_owner_wants_that_and_break_nothing() {
    let folder = Folder::new();
    let audit = folder.path("audit");
    let mut server = Server::ready(audited(&audit).into_iter().chain(["--audit-sql".into()]));
    let odd =
        "SELECT '\r\n\u{1b}[2J\u{7f}\u{9b}\u{202e}\u{2028}\"\\é\u{1f512}{\"event\":\"start\"}\n'";
    for _ in 0..3 {
        server.ask(
            "tools/call",
            json!({
                "_meta": {"threadId": odd},
                "name": "sqlarium_query",
                "arguments": {"sql": odd, odd: odd},
            }),
        );
    }
    server.ask("tools/call", json!({"name": odd}));
    server.finish();
    let lines = lines(&audit);
    assert_eq!(lines.len(), 5);
    assert_eq!(
        (&lines[1]["sql"], &lines[1]["thread"]),
        (&json!(odd), &json!(odd))
    );
    assert_eq!(lines[4]["tool"], odd);
}

#[test]
fn a_record_that_cannot_be_written_stops_nothing_and_is_told_once() {
    let folder = Folder::new();
    let audit = folder.path("audit");
    let server = Server::ready(audited(&audit));
    assert_eq!(server.finish().code, Some(0));
    // It is longer than any file may be: 16 MiB or 32, by the unit of the shell.
    let file = fs::OpenOptions::new().write(true).open(&audit);
    file.and_then(|file| file.set_len(40 << 20))
        .expect("longer");
    let script = r#"ulimit -f 32768; exec "$0" "$@""#;
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(binary()).arg("mcp");
    let mut server = Server::spawn(command.args(audited(&audit)));
    server.initialize();
    for _ in 0..3 {
        assert!(!server.call("query", json!({"sql": "SELECT 1"})).refused);
    }
    let stats = server.call("stats", json!({}));
    let told = "The audit lacks 4 lines that could not be written";
    assert!(stats.text.contains(told), "{}", stats.text);
    let stderr = server.finish().stderr;
    assert_eq!(stderr.matches("line of the audit").count(), 1, "{stderr}");
}

#[test]
fn an_audit_that_nobody_reads_on_standard_error_stops_nothing() {
    let mut server = Server::ready(["--audit", "-"]);
    server.call("query", json!({"sql": "SELECT 1"}));
    let stderr = server.finish().stderr;
    let lines: Vec<Value> = stderr
        .lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect();
    assert_eq!(lines.len(), 2);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let mut server =
        Server::spawn_with_errors(sqlarium().args(["mcp", "--audit", "-"]), writer.into());
    server.initialize();
    for _ in 0..1_000 {
        server.call("query", json!({"sql": "SELECT 1"}));
    }
    let stats = server.call("stats", json!({}));
    assert!(
        stats.text.contains("nobody reads standard error"),
        "{}",
        stats.text
    );
    drop(reader);
    assert_eq!(server.finish().code, Some(0));
}

#[test]
fn what_a_client_could_reach_is_no_place_for_the_record() {
    let folder = Folder::new();
    let shop = folder.database("shop.db", "CREATE TABLE t (a)");
    fs::create_dir(folder.path("root")).expect("a folder");
    fs::hard_link(&shop, folder.path("other")).expect("a link");
    let wal = folder.path("shop.db-wal");
    for flag in ["--state", "--audit"] {
        for file in [&shop, &folder.path("other"), &wal, &folder.path("root/new")] {
            let refused = finish(
                sqlarium()
                    .args(["mcp", "--principal", "alice", "--db"])
                    .arg(&shop)
                    .arg("--root")
                    .arg(folder.path("root"))
                    .arg(flag)
                    .arg(file),
            );
            assert_eq!(refused.code, Some(1), "{}", file.display());
            assert!(refused.stderr.contains(flag), "{}", refused.stderr);
        }
    }
    Folder::assert_whole(&shop);
    assert_eq!(folder.files(), ["other", "root", "shop.db"]);
}

#[test]
fn an_owner_lists_shows_and_forgets_threads() {
    let folder = Folder::new();
    let state = folder.path("state");
    let odd = "o\u{1b}[2J\u{202e}dd";
    for principal in ["alice", "bob"] {
        let mut server = Server::ready(remembering(&state, principal));
        call(&mut server, "t", json!({"sql": "SELECT 1"}));
        call(&mut server, odd, json!({"sql": "SELECT 1"}));
        server.finish();
    }
    let threads = |words: &[&str]| {
        let mut command = sqlarium();
        command
            .arg("threads")
            .args(words)
            .arg("--state")
            .arg(&state);
        finish(command.env_remove("SQLARIUM_PRINCIPAL"))
    };
    let listed = threads(&["list"]).stdout;
    assert_eq!(listed.lines().count(), 5, "{listed}");
    assert!(listed.contains(r"o\u{1b}[2J\u{202e}dd"), "{listed}");
    let listed = threads(&["list", "--json", "--principal", "alice"]).stdout;
    assert!(
        listed
            .trim_end()
            .bytes()
            .all(|byte| (0x20..0x7f).contains(&byte))
    );
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    assert_eq!(listed.as_array().map(Vec::len), Some(2));
    assert!(
        listed
            .as_array()
            .expect("threads")
            .iter()
            .any(|thread| thread["threadId"] == odd)
    );
    let shown = threads(&["show", "t", "--principal", "bob"]).stdout;
    assert!(shown.ends_with("Z  sqlarium_query  sql\n"), "{shown}");
    // Whose is not said, or there is none.
    assert!(threads(&["forget", "t"]).stderr.contains("--principal"));
    assert!(threads(&["show", "u"]).stderr.contains("no thread u"));
    let forgotten = threads(&["forget", "t", "--principal", "bob"]);
    assert_eq!(
        (forgotten.code, &*forgotten.stdout),
        (Some(0), "Forgot t.\n")
    );
    assert_eq!(threads(&["list"]).stdout.lines().count(), 4);
    assert!(
        finish(sqlarium().args(["threads", "list"]))
            .stderr
            .contains("--state")
    );
}
