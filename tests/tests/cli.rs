//! The command line: how it takes arguments, and how it ends.

use std::io::Read;
use std::process::Stdio;
use std::time::Instant;

use serde_json::Value;
use sqlarium_tests::{ENDLESS, Folder, PATIENCE, run, sqlarium};

const SHOP: &str = "
    CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price REAL);
    INSERT INTO items VALUES (1, 'lamp', 49.0), (2, 'pen', NULL), (3, '', 1e999);";

#[test]
fn arguments_come_by_their_places_or_by_their_names() {
    let folder = Folder::new();
    let path = folder.database("shop.db", SHOP);
    let path = path.to_str().expect("a path");
    let sql = "SELECT count(*) FROM items";
    let first = run(["query", path, sql]);
    for arguments in [
        vec!["query", "--db", path, sql],
        vec!["--db", path, "query", sql],
        vec!["query", sql, "--db", path],
    ] {
        assert_eq!(run(&arguments).stdout, first.stdout, "{arguments:?}");
    }
    assert!(first.stdout.contains('3'), "{}", first.stdout);
    for arguments in [
        vec!["query", path, "--sql", sql],
        vec!["query", "--sql", sql, path],
        vec!["query", "--sql", sql, "--db", path],
    ] {
        assert_eq!(run(&arguments).stdout, first.stdout, "{arguments:?}");
    }
    let sql = "DELETE FROM items";
    for flag in ["--dry-run", "--dry_run"] {
        let tried = run(["exec", path, sql, flag]);
        assert!(tried.stdout.contains("Dry run"), "{}", tried.stderr);
    }
    let memory = run(["query", ":memory:", "SELECT 6 * 7"]);
    assert!(
        memory.stdout.contains("42"),
        "{}{}",
        memory.stdout,
        memory.stderr
    );
}

#[test]
fn exit_codes_distinguish_a_refusal_from_wrong_usage() {
    let folder = Folder::new();
    let path = folder.database("shop.db", SHOP);
    let path = path.to_str().expect("a path");
    let missing = folder.path("missing.db");
    let missing = missing.to_str().expect("a path");
    for (arguments, code) in [
        (vec!["query", path, "SELECT 1"], 0),
        (vec!["--help"], 0),
        (vec!["query", "--help"], 0),
        (vec!["--version"], 0),
        (vec!["version"], 0),
        (vec!["query", path, "SELECT * FROM nowhere"], 1),
        (vec!["query", path, "DELETE FROM items"], 1),
        (
            vec!["exec", path, "INSERT INTO items VALUES (1, 'x', 0)"],
            1,
        ),
        (vec!["query", missing, "SELECT 1"], 1),
        (vec!["config", "no-such-client"], 1),
        (vec![], 2),
        (vec!["qurey", path, "SELECT 1"], 2),
        (vec!["query", path], 2),
        (vec!["query", path, "SELECT 1", "more"], 2),
        (vec!["query", path, "SELECT 1", "--limt", "3"], 2),
        (vec!["query", path, "SELECT 1", "--limit", "three"], 2),
        (vec!["query", path, "SELECT 1", "--output", "yaml"], 2),
        (vec!["query", path, "SELECT 1", "--timeout", "soon"], 2),
        (vec!["mcp", "--memory", "lots"], 2),
        (vec!["mcp", "--memory", "1K"], 2),
        (vec!["demo", "--readonly"], 2),
        (vec!["query", path, "SELECT 1", "--root", "/nowhere"], 1),
        (vec!["query", path, "SELECT 1", "--busy-timeout", "0"], 0),
        (vec!["mcp", "--tools", "no-such-tool"], 2),
    ] {
        let finished = run(&arguments);
        assert_eq!(
            finished.code,
            Some(code),
            "{arguments:?}: {}{}",
            finished.stdout,
            finished.stderr
        );
        assert_eq!(
            finished.stderr.is_empty(),
            code == 0,
            "{arguments:?}: {}",
            finished.stderr
        );
        assert!(
            code == 0 || finished.stdout.is_empty(),
            "{arguments:?}: {}",
            finished.stdout
        );
    }
    let typo = run(["qurey", path, "SELECT 1"]).stderr;
    assert!(typo.contains("query"), "{typo}");
}

#[test]
fn a_terminal_sees_colour_unless_no_color_is_set() {
    let on_a_terminal = |arguments: &str, no_color: &str| {
        let line = format!("'{}' {arguments}", sqlarium_tests::binary().display());
        let mut script = std::process::Command::new("script");
        script
            .args(["-qec", &line, "/dev/null"])
            .env("TERM", "xterm")
            .env("NO_COLOR", no_color)
            .stdin(Stdio::null());
        sqlarium_tests::finish(&mut script).stdout
    };
    for arguments in [
        "--help",
        "frobnicate",
        "query missing.db 'SELECT 1'",
        "demo",
    ] {
        let plain = on_a_terminal(arguments, "1");
        assert!(
            plain.contains("sqlarium") || plain.contains("agent"),
            "{plain}"
        );
        assert!(!plain.contains('\x1b'), "{plain:?}");
        let coloured = on_a_terminal(arguments, "");
        assert!(coloured.contains("\x1b["), "{coloured:?}");
    }
}

#[test]
fn completions_know_every_command_and_flag() {
    for shell in ["bash", "zsh", "fish"] {
        let script = run(["completions", shell]);
        assert_eq!(script.code, Some(0), "{}", script.stderr);
        for word in ["mcp", "query", "index-text", "integrity-check", "readonly"] {
            assert!(script.stdout.contains(word), "{word} is not for {shell}");
        }
    }
    let folder = Folder::new();
    let file = folder.path("completions");
    std::fs::write(&file, run(["completions", "bash"]).stdout).expect("written");
    let completed =
        sqlarium_tests::finish(std::process::Command::new("bash").arg("-c").arg(format!(
            "source '{}'; COMP_WORDS=(sqlarium ver) COMP_CWORD=1
        _sqlarium sqlarium ver sqlarium; echo \"${{COMPREPLY[*]}}\"",
            file.display()
        )));
    assert_eq!(completed.stdout, "version\n", "{}", completed.stderr);
}

#[test]
fn output_is_plain_with_and_without_no_color() {
    let folder = Folder::new();
    let path = folder.database("shop.db", SHOP);
    let path = path.to_str().expect("a path");
    for arguments in [
        vec!["--help"],
        vec!["query", path, "SELECT * FROM items"],
        vec!["query", path, "nonsense"],
        vec!["qurey"],
    ] {
        let with = sqlarium_tests::finish(sqlarium().args(&arguments).env_remove("NO_COLOR"));
        let without = sqlarium_tests::finish(sqlarium().args(&arguments).env("NO_COLOR", "1"));
        assert_eq!(
            (&with.stdout, &with.stderr),
            (&without.stdout, &without.stderr)
        );
        assert!(
            !format!("{}{}", without.stdout, without.stderr).contains('\x1b'),
            "{arguments:?}"
        );
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let folder = Folder::new();
    let path = folder.database("shop.db", "CREATE TABLE t (a)");
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 9000)
        SELECT i, hex(randomblob(100)) FROM n";
    let mut child = sqlarium()
        .args([
            "query",
            path.to_str().expect("a path"),
            sql,
            "--limit",
            "9000",
            "--text",
            "4000000",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut first = [0; 100];
    child
        .stdout
        .take()
        .expect("its output")
        .read_exact(&mut first)
        .expect("some output");
    let finished = child.wait_with_output().expect("its end");
    let stderr = String::from_utf8_lossy(&finished.stderr).into_owned();
    assert_eq!(stderr, "");
    assert_eq!(finished.status.code(), Some(0));

    let demo = sqlarium_tests::finish(std::process::Command::new("sh").args([
        "-c",
        &format!("'{}' demo | head -n 1", sqlarium_tests::binary().display()),
    ]));
    assert_eq!((demo.code, demo.stderr.as_str()), (Some(0), ""));
}

#[test]
fn budgets_hold_on_the_command_line_too() {
    let started = Instant::now();
    let finished = run(["query", ":memory:", ENDLESS, "--timeout", "300ms"]);
    assert_eq!(finished.code, Some(1));
    assert!(finished.stderr.contains("--timeout"), "{}", finished.stderr);
    assert!(started.elapsed() < PATIENCE / 10, "{:?}", started.elapsed());
}

#[test]
fn create_makes_a_database_and_never_touches_one_that_is_there() {
    let folder = Folder::new();
    let here = |arguments: &[&str]| {
        sqlarium_tests::finish(sqlarium().current_dir(folder.path("")).args(arguments))
    };
    let made = here(&["create", "new.db"]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert_eq!(folder.files(), ["new.db"]);
    let filled = here(&[
        "batch",
        "new.db",
        "CREATE TABLE t (a); INSERT INTO t VALUES (1);",
    ]);
    assert_eq!(filled.code, Some(0), "{}", filled.stderr);
    let again = here(&["create", "new.db"]);
    assert_eq!(again.code, Some(1), "{}", again.stdout);
    assert_eq!(
        Folder::native(&folder.path("new.db"), "SELECT a FROM t"),
        ["1"]
    );
    // The command line may name a file anywhere.
    let other = Folder::new();
    let away = other.path("away.db");
    let made = here(&["create", away.to_str().expect("a path")]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert_eq!(other.files(), ["away.db"]);
}

#[test]
fn the_demo_shows_what_its_transcript_says() {
    let demo = run(["demo"]);
    assert_eq!(demo.code, Some(0), "{}", demo.stderr);
    assert_eq!(demo.stderr, "");
    let mut rest = demo.stdout.as_str();
    let mut expect = |part: &str| {
        let place = rest.find(part);
        let place = place.unwrap_or_else(|| panic!("{part} is not in {rest}"));
        rest = &rest[place + part.len()..];
    };
    let mut caption = "";
    for line in include_str!("../transcripts/demo/shop.txt").lines() {
        match line.split_once(' ') {
            Some(("#", text)) => caption = text,
            Some((">", _)) => expect(&format!("# {caption}\n\n-> ")),
            Some(("<", reply)) => {
                let reply: Value = serde_json::from_str(reply).expect("JSON");
                if let Some(text) = reply["result"]["content"][0]["text"].as_str() {
                    let indented = text.trim_end().replace('\n', "\n   ");
                    expect(&format!("\n\n<- {indented}\n\n"));
                }
            }
            _ => {}
        }
    }
}

#[test]
fn config_prints_what_each_client_takes() {
    let folder = Folder::new();
    let path = folder.database("my shop.db", SHOP);
    let exe = sqlarium_tests::binary().canonicalize().expect("a path");
    for client in [
        "claude-code",
        "claude-desktop",
        "cursor",
        "vscode",
        "codex",
        "zed",
    ] {
        let told = run(["config", client, path.to_str().expect("a path")]);
        assert_eq!(told.code, Some(0), "{}", told.stderr);
        for part in [
            exe.to_str().expect("a path"),
            path.to_str().expect("a path"),
            "mcp",
        ] {
            assert!(
                told.stdout.contains(part),
                "{part} is not in {}",
                told.stdout
            );
        }
    }
    let flags = [
        "--readonly",
        "--tools",
        "core",
        "--timeout",
        "5s",
        "--root",
        ".",
    ];
    let told = sqlarium_tests::finish(
        sqlarium()
            .current_dir(folder.path(""))
            .args(["config", "codex", "my shop.db"])
            .args(flags),
    );
    let root = folder.path("").canonicalize().expect("a path");
    for part in [
        "\"--readonly\", ",
        "\"--tools\", \"core\"",
        "\"--timeout\", \"5s\"",
        &format!("\"--root\", \"{}\"", root.display()),
    ] {
        assert!(
            told.stdout.contains(part),
            "{part} is not in {}",
            told.stdout
        );
    }
    assert!(!told.stdout.contains("--fuel"), "{}", told.stdout);
    for wrong in [
        ["--tools", "bogus"],
        ["--root", "/nowhere"],
        ["--notes", "/nowhere"],
    ] {
        let told = run(["config", "codex"].iter().chain(&wrong));
        assert_ne!(told.code, Some(0), "{wrong:?}: {}", told.stdout);
    }
    let missing = run(["config", "codex", "nowhere.db"]);
    assert_eq!(missing.code, Some(0));
    assert!(
        missing.stderr.contains("warning: there is no file"),
        "{}",
        missing.stderr
    );
    let typo = run(["config", "claude-dekstop"]);
    assert!(
        typo.stderr.contains("Did you mean claude-desktop?"),
        "{}",
        typo.stderr
    );
}
