//! The built component, unchanged, in a host that is not ours: `tests/hosts/minimal.py`, which
//! has what `docs/hosts.md` calls a minimal host and nothing else.

use std::path::Path;
use std::process::Command;

use serde_json::json;
use sqlarium_tests::{ENDLESS, ONE_FUNCTION, Server, clients, component};

/// What that host says of a call that takes longer than it allows.
const OUT_OF_TIME: &str = "Stopped: a call may take 1 s here. Ask for less.";

#[test]
fn the_component_serves_unchanged_in_a_minimal_host() {
    let Some(installed) = clients() else { return };
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).join("hosts/minimal.py");
    let mut server = Server::spawn(
        Command::new("python3")
            .env("PYTHONPATH", installed.join(".venv"))
            .arg(host)
            .arg(component()),
    );

    let hello = server.initialize();
    assert_eq!(hello["result"]["serverInfo"]["name"], "sqlarium");
    let list = server.ask("tools/list", json!({}));
    let tools = list["result"]["tools"].as_array().expect("tools");
    assert!(tools.iter().any(|tool| tool["name"] == "sqlarium_query"));

    server.batch("CREATE TABLE t (a); INSERT INTO t VALUES (1), (2), (3)");
    assert_eq!(server.rows("SELECT sum(a) FROM t"), json!([[6]]));

    // Asked to stop, it stops in good order...
    let (status, sentence) = server.refusal("query", json!({ "sql": ENDLESS }));
    assert_eq!(status, "interrupted");
    assert!(sentence.contains(OUT_OF_TIME), "{sentence}");
    assert_eq!(server.stderr(), "");

    // ... and where it cannot, it is killed, and a fresh instance answers for it.
    let deaf = format!("UPDATE t SET a = ({ONE_FUNCTION})");
    let (status, sentence) = server.refusal("exec", json!({ "sql": deaf }));
    assert_eq!(status, "interrupted");
    assert!(sentence.contains(OUT_OF_TIME), "{sentence}");
    assert_eq!(server.stderr().matches("aborted").count(), 1);

    // What was committed is there, and the session goes on.
    assert_eq!(server.rows("SELECT sum(a) FROM t"), json!([[6]]));
    let ended = server.finish();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}
