//! Real MCP clients against the real server: each lists the tools, calls a
//! query and reads an error. `tests/clients/setup` installs them.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use sqlarium_tests::{binary, clients, finish};

/// Runs one of the scripts against the server and checks what it saw.
fn converses(script: &[&str], protocol: Option<&str>) {
    let Some(folder) = clients() else { return };
    let interpreter = if script[0].ends_with(".py") {
        "python3"
    } else {
        "node"
    };
    let mut command = Command::new(interpreter);
    command
        .current_dir(&folder)
        .env("PYTHONPATH", folder.join(".venv"))
        .args(script);
    let finished = finish(command.arg(binary()).arg("mcp"));
    assert_eq!(finished.code, Some(0), "{script:?}: {}", finished.stderr);
    let saw: Value = serde_json::from_str(&finished.stdout).expect("a line of JSON");
    assert_eq!(saw["protocol"].as_str(), protocol, "{saw}");
    let tools = saw["tools"].as_array().expect("tools");
    for tool in [
        "sqlarium_query",
        "sqlarium_exec",
        "sqlarium_batch",
        "sqlarium_tables",
    ] {
        assert!(
            tools.iter().any(|name| name == tool),
            "{tool} is not in {saw}"
        );
    }
    let text = |name: &str| saw[name].as_str().expect(name).to_owned();
    assert!(
        text("text").contains("answer") && text("text").contains("42"),
        "{saw}"
    );
    assert_eq!(saw["failed"], false, "{saw}");
    assert!(text("error").contains("nowhere"), "{saw}");
    assert_eq!(saw["refused"], true, "{saw}");
}

/// Runs the Inspector's command line against the server.
fn inspector(folder: &Path, era: &str, method: &[&str]) -> (Option<i32>, Value) {
    let mut command = Command::new(folder.join("node_modules/.bin/mcp-inspector"));
    command
        .args(["--cli", "--protocol-era", era, "--format", "json"])
        .args(method);
    let finished = finish(command.arg("--").arg(binary()).arg("mcp"));
    let answer = serde_json::from_str(&finished.stdout)
        .unwrap_or_else(|_| panic!("{era} {method:?}: {}{}", finished.stdout, finished.stderr));
    (finished.code, answer)
}

/// The Inspector exits with 0 when all is well, 5 when the tool refused and,
/// being strict with the list, with something else when a schema has a flaw.
fn inspects(era: &str) {
    let Some(folder) = clients() else { return };
    let (code, list) = inspector(&folder, era, &["--method", "tools/list", "--strict"]);
    assert_eq!(code, Some(0), "{list}");
    let tools = list["result"]["tools"].as_array().expect("tools");
    assert!(
        tools.iter().any(|tool| tool["name"] == "sqlarium_query"),
        "{list}"
    );

    let call = [
        "--method",
        "tools/call",
        "--tool-name",
        "sqlarium_query",
        "--tool-args-json",
    ];
    let (code, answer) = inspector(
        &folder,
        era,
        &[&call[..], &[r#"{"sql":"SELECT 6 * 7"}"#]].concat(),
    );
    assert_eq!(code, Some(0), "{answer}");
    assert!(answer.to_string().contains("42"), "{answer}");

    let (code, answer) = inspector(
        &folder,
        era,
        &[&call[..], &[r#"{"sql":"SELECT * FROM nowhere"}"#]].concat(),
    );
    assert_eq!(code, Some(5), "{answer}");
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(answer.to_string().contains("nowhere"), "{answer}");
}

#[test]
fn the_inspector_works_in_the_legacy_era() {
    inspects("legacy");
}

#[test]
fn the_inspector_works_in_the_modern_era() {
    inspects("modern");
}

#[test]
fn the_python_sdk_works_in_mode_legacy() {
    converses(&["python.py", "legacy"], Some("2025-11-25"));
}

#[test]
fn the_python_sdk_works_in_mode_auto() {
    converses(&["python.py", "auto"], Some("2026-07-28"));
}

#[test]
fn the_python_sdk_works_pinned_to_2026_07_28() {
    converses(&["python.py", "2026-07-28"], Some("2026-07-28"));
}

#[test]
fn the_typescript_sdk_1_works() {
    // It does not tell which revision was agreed on.
    converses(&["typescript1.mjs"], None);
}

#[test]
fn the_typescript_sdk_2_works_by_default() {
    converses(&["typescript2.mjs", "default"], Some("2025-11-25"));
}

#[test]
fn the_typescript_sdk_2_works_in_mode_auto() {
    converses(&["typescript2.mjs", "auto"], Some("2026-07-28"));
}

#[test]
fn the_typescript_sdk_2_works_pinned_to_2026_07_28() {
    converses(&["typescript2.mjs", "2026-07-28"], Some("2026-07-28"));
}
