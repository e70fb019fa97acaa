//! Nothing but what was granted is read or made, however it is named.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::json;
use sqlarium_tests::{Answer, Folder, Server, run};

use crate::{rooted, text};

const SHOP: &str = "CREATE TABLE t (a); INSERT INTO t VALUES (1), (2);";

/// Everything outside that must never be read or made.
const OUTSIDE: &str = "secret";

#[test]
fn no_name_leads_out_of_the_root() {
    let around = Folder::new();
    fs::write(around.path("secret.csv"), OUTSIDE).expect("a file");
    fs::create_dir(around.path("root")).expect("a folder");
    let inside = |name: &str| around.path("root").join(name);
    let database = around.database("root/shop.db", SHOP);
    fs::write(inside("plain.csv"), "a\n1\n").expect("a file");
    fs::create_dir(inside("folder")).expect("a folder");
    symlink("../secret.csv", inside("link.csv")).expect("a link");
    symlink(around.path("secret.csv"), inside("absolute.csv")).expect("a link");
    symlink("..", inside("up")).expect("a link");
    symlink("plain.csv", inside("near.csv")).expect("a link");
    let made = Command::new("mkfifo").arg(inside("pipe.csv")).status();
    assert!(made.is_ok_and(|status| status.success()), "a pipe");
    fs::hard_link(&database, inside("hard.csv")).expect("a hard link");
    fs::hard_link(around.path("secret.csv"), inside("twin.csv")).expect("a hard link");

    let root = inside("");
    let mut server = Server::ready(["--db", text(&database), "--root", text(&root)]);
    // The served database is open from here on.
    assert_eq!(server.rows("SELECT count(*) FROM t"), json!([[2]]));
    let outside = text(&around.path("secret.csv")).to_owned();
    let names = [
        "../secret.csv",
        "folder/../../secret.csv",
        outside.as_str(),
        "link.csv",
        "absolute.csv",
        "up/secret.csv",
        "near.csv",
        "twin.csv",
        "folder",
        "folder/",
        "plain.csv/",
        "./plain.csv",
        "folder//x.csv",
        "",
        ".",
        "..",
        "/",
        "-",
        "/dev/null",
        "/proc/self/environ",
        "/staged/x.csv",
        "a\0b.csv",
        "plain.csv\0",
        "pipe.csv",
        "shop.db",
        "shop.db-journal",
        "shop.db-wal",
        "shop.db-shm",
        "other.db-wal",
        "hard.csv",
    ];
    for name in names {
        let (status, sentence) = server.refusal("import", json!({"file": name, "table": "u"}));
        assert!(
            ["not_found", "unsupported", "invalid_state", "syntax"].contains(&status.as_str()),
            "{name:?}: {status} {sentence}"
        );
        assert!(
            !sentence.contains(OUTSIDE) || name.contains(OUTSIDE),
            "{sentence}"
        );
        for (command, argument) in [("export", "out"), ("dump", "out"), ("backup", "file")] {
            let mut arguments = json!({"overwrite": true});
            arguments[argument] = name.into();
            if command == "export" {
                arguments["table"] = "t".into();
            }
            // These two are ordinary files that may be replaced.
            if name == "near.csv" || name == "plain.csv" {
                continue;
            }
            // Nothing is no file, where none has to be named: the answer has the text.
            if name.is_empty() && argument == "out" {
                let answer = server.call(command, arguments);
                assert!(!answer.refused, "{command}: {}", answer.text);
                continue;
            }
            let (status, sentence) = server.refusal(command, arguments);
            assert_ne!(status, "internal", "{command} {name:?}: {sentence}");
        }
        if !["folder/", "plain.csv/"].contains(&name) {
            let (status, _) =
                server.refusal("migrate", json!({"source": "shop.db", "destination": name}));
            assert_ne!(status, "internal", "{name:?}");
        }
        let (status, sentence) = server.refusal("restore", json!({"file": name}));
        assert_ne!(status, "internal", "restore {name:?}: {sentence}");
    }
    server.assert_well();
    // The locks are still there after all that: another process is kept out of a transaction.
    assert_eq!(server.rows("SELECT count(*) FROM t"), json!([[2]]));
    assert_eq!(
        fs::read_to_string(around.path("secret.csv")).expect("the file"),
        OUTSIDE
    );
    assert_eq!(around.files(), ["root", "secret.csv"]);
    let mut left: Vec<String> = fs::read_dir(&root)
        .expect("the root")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    left.sort();
    assert_eq!(
        left,
        [
            "absolute.csv",
            "folder",
            "hard.csv",
            "link.csv",
            "near.csv",
            "pipe.csv",
            "plain.csv",
            "shop.db",
            "twin.csv",
            "up"
        ]
    );
    assert_eq!(
        fs::read_to_string(inside("plain.csv")).expect("the file"),
        "a\n1\n"
    );
    Folder::assert_whole(&database);
}

/// The sentence by which a tool, or an argument of it, is said not to be served.
fn not_served(server: &mut Server, command: &str, arguments: serde_json::Value) -> String {
    let params = json!({ "name": format!("sqlarium_{command}"), "arguments": arguments });
    let reply = server.ask("tools/call", params);
    match reply["error"]["message"].as_str() {
        Some(sentence) => sentence.to_owned(),
        None => {
            let answer = Answer::of(&reply);
            assert!(answer.refused, "{command}: {}", answer.text);
            answer.text
        }
    }
}

#[test]
fn without_a_root_no_file_can_be_named() {
    let folder = Folder::new();
    let database = folder.database("shop.db", SHOP);
    fs::write(folder.path("x.csv"), "a\n1\n").expect("a file");
    let mut server = Server::ready(["--db", text(&database)]);
    for (command, arguments) in [
        ("create", json!({"path": "new.db"})),
        ("import", json!({"file": "x.csv", "table": "u"})),
        ("export", json!({"table": "t", "out": "y.csv"})),
        ("dump", json!({"out": "y.sql"})),
        ("backup", json!({"file": "y.db"})),
        ("restore", json!({"file": "y.db"})),
        (
            "migrate",
            json!({"source": "shop.db", "destination": "y.db"}),
        ),
    ] {
        let sentence = not_served(&mut server, command, arguments);
        assert!(sentence.contains("--root"), "{command}: {sentence}");
    }
    assert_eq!(folder.files(), ["shop.db", "x.csv"]);
    assert!(
        server
            .call("export", json!({"table": "t"}))
            .text
            .contains("a\n1\n2\n")
    );
}

#[test]
fn no_existing_file_is_replaced_without_overwrite() {
    let folder = Folder::new();
    let database = folder.database("shop.db", SHOP);
    let mut server = rooted(&folder, &database, &[]);
    for (command, argument, mut arguments) in [
        ("export", "out", json!({"table": "t"})),
        ("dump", "out", json!({})),
        ("backup", "file", json!({})),
    ] {
        fs::write(folder.path("there"), "theirs").expect("a file");
        arguments[argument] = "there".into();
        let (status, sentence) = server.refusal(command, arguments.clone());
        assert_eq!(status, "invalid_state", "{sentence}");
        assert!(sentence.contains("overwrite"), "{sentence}");
        assert_eq!(fs::read(folder.path("there")).expect("the file"), b"theirs");
        arguments["overwrite"] = true.into();
        let answer = server.call(command, arguments);
        assert!(!answer.refused, "{}", answer.text);
        assert_ne!(fs::read(folder.path("there")).expect("the file"), b"theirs");
    }
    for (command, arguments) in [
        ("create", json!({"path": "there"})),
        (
            "migrate",
            json!({"source": "shop.db", "destination": "there"}),
        ),
    ] {
        let (status, _) = server.refusal(command, arguments);
        assert_eq!(status, "invalid_state", "{command}");
    }
    assert_eq!(folder.files(), ["shop.db", "there"]);
}

#[test]
fn a_database_that_another_process_uses_is_not_replaced() {
    let folder = Folder::new();
    let database = folder.database("shop.db", SHOP);
    let other = folder.database("other.db", SHOP);
    let busy = rusqlite::Connection::open(&other).expect("the database");
    busy.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES (3);")
        .expect("a transaction");
    let mut server = rooted(&folder, &database, &[]);
    let (status, sentence) =
        server.refusal("backup", json!({"file": "other.db", "overwrite": true}));
    assert_eq!(status, "busy", "{sentence}");
    busy.execute_batch("COMMIT").expect("committed");
    assert_eq!(Folder::native(&other, "SELECT count(*) FROM t"), ["3"]);
    // Nor is a name taken at which SQLite would find another file's journal.
    fs::write(folder.path("new.db-journal"), "a journal").expect("a file");
    let (status, _) = server.refusal("backup", json!({"file": "new.db"}));
    assert_eq!(status, "busy");
}

#[test]
fn a_server_that_only_reads_makes_no_file() {
    let folder = Folder::new();
    let database = folder.database("shop.db", SHOP);
    fs::write(folder.path("x.csv"), "a\n1\n").expect("a file");
    let mut server = rooted(&folder, &database, &["--readonly"]);
    for (command, arguments) in [
        ("import", json!({"file": "x.csv", "table": "t"})),
        ("export", json!({"table": "t", "out": "y.csv"})),
        ("dump", json!({"out": "y.sql"})),
        ("backup", json!({"file": "y.db"})),
        ("restore", json!({"file": "x.csv"})),
        (
            "migrate",
            json!({"source": "shop.db", "destination": "y.db"}),
        ),
    ] {
        let sentence = not_served(&mut server, command, arguments);
        assert!(sentence.contains("--readonly"), "{command}: {sentence}");
    }
    assert!(!server.call("dump", json!({})).refused);
    assert_eq!(folder.files(), ["shop.db", "x.csv"]);
}

#[test]
fn attach_and_vacuum_into_name_the_command_to_use_instead() {
    let folder = Folder::new();
    let database = folder.database("shop.db", SHOP);
    let mut server = rooted(&folder, &database, &[]);
    for sql in ["ATTACH 'x.db' AS x", "VACUUM INTO 'x.db'"] {
        let (status, sentence) = server.refusal("exec", json!({ "sql": sql }));
        assert_eq!(status, "unsupported", "{sentence}");
        assert!(sentence.contains("sqlarium_backup"), "{sentence}");
    }
    assert_eq!(folder.files(), ["shop.db"]);
}

#[test]
fn a_command_line_can_open_the_files_that_it_names_and_no_others() {
    let folder = Folder::new();
    let other = Folder::new();
    let database = folder.database("shop.db", SHOP);
    let out = other.path("t.csv");
    // An absolute path, and one of the same name as the database.
    let made = run(["export", text(&database), "t", "--out", text(&out)]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert_eq!(
        fs::read_to_string(&out).expect("the file"),
        "a\r\n1\r\n2\r\n"
    );
    let copy = other.path("shop.db");
    let made = run(["backup", text(&database), text(&copy)]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert_eq!(Folder::native(&copy, "SELECT count(*) FROM t"), ["2"]);
    let made = run(["restore", text(&database), text(&copy), "--overwrite"]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let made = run(["import", text(&database), text(&out), "u"]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert_eq!(Folder::native(&database, "SELECT sum(a) FROM u"), ["3"]);
    // Through a link that the command line names, but never over one.
    symlink(&out, folder.path("link.csv")).expect("a link");
    let link = folder.path("link.csv");
    let made = run(["import", text(&database), text(&link), "v"]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    for name in [&link, &folder.path(""), &database] {
        let refused = run([
            "export",
            text(&database),
            "t",
            "--overwrite",
            "--out",
            text(name),
        ]);
        assert_ne!(refused.code, Some(0), "{}", name.display());
    }
    assert!(fs::symlink_metadata(&link).expect("the link").is_symlink());
    for name in ["/dev/null", "/dev/zero"] {
        let refused = run(["import", text(&database), name, "w"]);
        assert_ne!(refused.code, Some(0), "{}", refused.stdout);
        let refused = run(["export", text(&database), "t", "--overwrite", "--out", name]);
        assert_ne!(refused.code, Some(0), "{}", refused.stdout);
    }
    let missing = run([
        "import",
        text(&database),
        text(&folder.path("none.csv")),
        "w",
    ]);
    assert_eq!(missing.code, Some(1));
    assert!(
        missing.stderr.contains("there is no file"),
        "{}",
        missing.stderr
    );
    assert_eq!(other.files(), ["shop.db", "t.csv"]);
    Folder::assert_whole(&database);
}
