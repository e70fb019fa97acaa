//! The shell: on a pipe, at a terminal, and as the tool `run`.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use sqlarium_tests::{ENDLESS, Folder, ONE_FUNCTION, Server, Terminal, finish, sqlarium};

const SHOP: &str = "
    CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price REAL);
    INSERT INTO items VALUES (1, 'lamp', 49.0), (2, 'it''s', NULL), (3, 'a\"b,c', 1e999), (4, 'l1' || char(10) || 'l2', 19.99);
    CREATE INDEX by_name ON items (name);
    CREATE VIEW cheap AS SELECT name, price + 1 FROM items WHERE price < 20;
    CREATE TABLE parts (item REFERENCES items(id), part TEXT);";

/// What a program prints for a script: standard output, standard error, exit code.
fn piped(command: &mut Command, script: &str) -> (String, String, Option<i32>) {
    let file = Folder::new();
    let path = file.path("script");
    fs::write(&path, script).expect("a script");
    let script = fs::File::open(&path).expect("the script");
    let finished = finish(command.stdin(script));
    (finished.stdout, finished.stderr, finished.code)
}

/// What `sqlarium shell` prints.
fn shell(arguments: &[&str], script: &str) -> (String, String, Option<i32>) {
    piped(sqlarium().arg("shell").args(arguments), script)
}

/// Scripts that the two shells have to agree on, each with what makes it hard.
const SCRIPTS: [(&str, &str); 13] = [
    (
        "settings",
        ".nullvalue '<null>'\n.separator \"; \" \"\\n\\n\"\nSELECT * FROM items;\n.headers on\n\
         SELECT * FROM items;\n.show\n.print a \"b  c\" 'd'\n",
    ),
    (
        "looking",
        ".tables\n.tables c%\n.indexes\n.indexes items\n.schema\n.schema items\n.schema --nosys\n.schema pa*\n.lint fkey-indexes\n",
    ),
    (
        "errors",
        "SELECT 1; SELEC 2; SELECT 3;\nSELECT\n 1,\n nocol FROM items;\nINSERT INTO items VALUES (1, 'x', 0);\n\
         SELECT * FROM nowhere;\nSELECT 'far out in the middle of a long line, much further than one would like', bad, 'and on' FROM items;\n\
         .mode nonsense\n.headers\n.headers maybe\n.echo\n.schema a b\nSELECT 4;\n",
    ),
    (
        "statements over lines",
        "SELECT 1,\n2 -- no end ;\n;/* a\n;comment */\n\nSELECT ';' ; SELECT 2\n;\nSELECT 3\n/\nSELECT 4\ngo\nCREATE TRIGGER t\n\
         AFTER INSERT ON parts BEGIN\nSELECT 1;\nEND;\nSELECT count(*) FROM sqlite_schema;\nSELECT 5",
    ),
    (
        "transactions",
        "BEGIN;\nINSERT INTO parts VALUES (1, 'bulb');\n.tables\nSELECT count(*) FROM parts;\nROLLBACK;\n\
         SELECT count(*) FROM parts;\nBEGIN;INSERT INTO parts VALUES (1, 'foot');COMMIT;\nSELECT * FROM parts;\n\
         SAVEPOINT s;\nDELETE FROM parts;\nROLLBACK TO s;\nRELEASE s;\nSELECT count(*) FROM parts;\n",
    ),
    (
        "changes and plans",
        ".changes on\nUPDATE items SET price = 1;\nSELECT 1;\n.changes off\n.eqp on\nSELECT * FROM items WHERE id = 1;\n.eqp off\n\
         EXPLAIN QUERY PLAN SELECT * FROM items;\n",
    ),
    (
        "parameters and echo",
        ".parameter set $a 5\n.parameter set @b hello\n.parameter list\nSELECT $a, @b, :c;\n.parameter unset $a\n.parameter list\n\
         .echo on\nSELECT 2;\n.tables\n.echo off\n# nothing\n",
    ),
    (
        "schemas",
        ".schema sqlite_schema\nCREATE TABLE  short ( a INT,b  TEXT );\nCREATE TABLE long(id INTEGER PRIMARY KEY,\n\
         name TEXT NOT NULL CHECK(length(name) > 0), x, UNIQUE(name, x));\nCREATE VIEW v AS SELECT  1;\n\
         CREATE INDEX i ON long(name, x, lower(name)) WHERE (name IS NOT NULL) AND (x > 3.14159265358);\n.schema\n",
    ),
    (
        "keys without an index",
        "CREATE TABLE a(x REFERENCES items, y REFERENCES a(x));\nCREATE INDEX ax ON a(x);\n.lint fkey-indexes\n\
         .lint fkey -v\n.lint fkey-indexes -groupbyparent\n.lint fkey-indexes -verbose -groupbyparent\n",
    ),
    (
        "plans of triggers",
        "CREATE TABLE e(a);\nCREATE TABLE f(a);\nCREATE TRIGGER t AFTER INSERT ON e BEGIN INSERT INTO f SELECT a FROM e; END;\n\
         .eqp trigger\nINSERT INTO e SELECT a FROM f;\n.eqp on\nINSERT INTO e SELECT a FROM f;\n.tables items parts\n.show x\n",
    ),
    (
        "an end of nothing, and an end with 0",
        "go\n/\nSELECT count(*) FROM items;\nGO\nSELECT bad;\n.exit 0\nSELECT 2;\n",
    ),
    (
        "an end with another code",
        "SELECT count(*) FROM items;\nSELECT bad;\n.exit 3\n",
    ),
    (
        "bail",
        ".bail on\nSELECT count(*) FROM items;\nSELECT bad;\nSELECT 2;\n",
    ),
];

#[test]
fn a_session_on_a_pipe_prints_what_the_sqlite3_program_prints() {
    let Ok(version) = Command::new("sqlite3").arg("--version").output() else {
        eprintln!("there is no sqlite3 program here to compare with");
        return;
    };
    if !version.stdout.starts_with(b"3.40.") {
        return;
    }
    for (name, script) in SCRIPTS {
        let folder = Folder::new();
        let (a, b) = (folder.database("a.db", SHOP), folder.database("b.db", SHOP));
        let ours = shell(&[a.to_str().expect("a path")], script);
        let mut theirs = Command::new("sqlite3");
        theirs.args(["-init", "/dev/null"]).arg(&b);
        let (text, errors, code) = piped(&mut theirs, script);
        let neutral = |text: &str| {
            text.replace(a.to_str().expect("a path"), "FILE")
                .replace(b.to_str().expect("a path"), "FILE")
        };
        assert_eq!(neutral(&ours.0), neutral(&text), "{name}");
        assert_eq!(ours.1, errors, "{name}");
        assert_eq!(ours.2, code, "{name}");
    }
}

#[test]
fn a_session_prints_the_same_where_there_is_nothing_to_compare_with() {
    let (text, errors, code) = shell(
        &[],
        "CREATE TABLE t(a, b);\nINSERT INTO t VALUES (1, 'x'), (NULL, 'it''s');\n.mode box\nSELECT * FROM t;\nSELEC 1;\n",
    );
    assert_eq!(
        text,
        "╭───┬──────╮\n│ a │  b   │\n╞═══╪══════╡\n│ 1 │ x    │\n│   │ it's │\n╰───┴──────╯\n"
    );
    assert_eq!(
        errors,
        "Parse error near line 5: near \"SELEC\": syntax error\n  SELEC 1;\n  ^--- error here\n"
    );
    assert_eq!(code, Some(1));
}

#[test]
fn a_large_result_streams_and_memory_stays_flat() {
    let sql = "SELECT value, hex(randomblob(500)) FROM generate_series(1, 60000);\n";
    let (text, errors, code) = shell(&["--memory", "32M"], sql);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    assert_eq!(text.lines().count(), 60_000);
    assert!(text.len() > 57 << 20);
}

#[test]
fn a_pipe_that_is_closed_early_is_no_error() {
    let mut child = sqlarium()
        .arg("shell")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the shell starts");
    let mut stdin = child.stdin.take().expect("its input");
    stdin
        .write_all(b"SELECT value FROM generate_series(1, 1000000000);\nSELECT 'more';\n")
        .expect("lines");
    drop(stdin);
    let mut start = [0; 10];
    child
        .stdout
        .take()
        .expect("its output")
        .read_exact(&mut start)
        .expect("rows");
    let output = child.wait_with_output().expect("its end");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_statement_that_exceeds_a_budget_is_refused_and_the_shell_continues() {
    let script = format!(
        ".mode line\nCREATE TABLE t(a);\n{ENDLESS};\nSELECT 'still here' AS so;\nINSERT INTO t VALUES (1);\nSELECT count(*) AS n FROM t;\n"
    );
    for (flag, value) in [("--timeout", "300ms"), ("--fuel", "4000000")] {
        let (text, errors, code) = shell(&[flag, value], &script);
        assert!(text.ends_with("so: still here\nn: 1\n"), "{text}");
        assert!(errors.contains(flag), "{errors}");
        assert!(errors.contains("near line 3"), "{errors}");
        assert_eq!(code, Some(1));
    }
}

#[test]
fn an_aborted_statement_rolls_back_its_transaction_and_keeps_the_settings() {
    let script = format!(
        ".mode line\nCREATE TABLE t(a);\nBEGIN;\nINSERT INTO t VALUES (1);\n{ONE_FUNCTION};\nSELECT count(*) AS n FROM t;\n"
    );
    let (text, errors, code) = shell(&["--timeout", "1s"], &script);
    assert!(text.ends_with("n: 0\n"), "{text} {errors}");
    assert!(errors.contains("--timeout"), "{errors}");
    assert!(errors.contains("rolled back"), "{errors}");
    assert_eq!(code, Some(1));
}

#[test]
fn readonly_holds_in_the_shell() {
    let folder = Folder::new();
    let path = folder.database("shop.db", SHOP);
    let before = fs::read(&path).expect("the file");
    let script = "BEGIN;\nDELETE FROM items;\nCOMMIT;\nDROP TABLE items;\nPRAGMA journal_mode=wal;\n.output x\nSELECT count(*) FROM items;\n";
    let (text, errors, code) = shell(&[path.to_str().expect("a path"), "--readonly"], script);
    assert_eq!((text.as_str(), code), ("4\n", Some(1)));
    assert_eq!(errors.matches("--readonly").count(), 4, "{errors}");
    assert_eq!(fs::read(&path).expect("the file"), before);
    assert_eq!(folder.files(), ["shop.db"]);
}

#[test]
fn reading_in_the_shell_changes_nothing() {
    let folder = Folder::new();
    let path = folder.database("shop.db", SHOP);
    let modified = || {
        fs::metadata(&path)
            .and_then(|meta| meta.modified())
            .expect("a time")
    };
    let (before, when) = (fs::read(&path).expect("the file"), modified());
    let script = ".tables\n.schema\nSELECT * FROM items;\nEXPLAIN DELETE FROM items;\n.lint fkey-indexes\n.expert\nSELECT * FROM items WHERE price = 1;\n";
    let (_, errors, code) = shell(&[path.to_str().expect("a path")], script);
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    assert_eq!(
        (fs::read(&path).expect("the file"), modified()),
        (before, when)
    );
    assert_eq!(folder.files(), ["shop.db"]);
}

#[test]
fn dot_commands_reach_the_files_below_the_folder_and_no_others() {
    let folder = Folder::new();
    folder.database("shop.db", SHOP);
    fs::write(folder.path("more.sql"), "SELECT 'read';\nSELEC;\n").expect("a file");
    fs::write(folder.path("there.txt"), "mine").expect("a file");
    fs::create_dir(folder.path("in")).expect("a folder");
    let script = ".read more.sql\n.once in/one.csv\nSELECT 1;\nSELECT 2;\n.output two.txt\nSELECT 3;\n.print 4\n.output\n\
                  .output there.txt\n.once --overwrite there.txt\n.print new\n.output ../out.txt\n.read /etc/passwd\n.output |cat\n.output shop.db\nSELECT 5;\n";
    let mut command = sqlarium();
    command
        .args(["shell", "shop.db"])
        .current_dir(folder.path(""));
    let (text, errors, code) = piped(&mut command, script);
    assert_eq!((text.as_str(), code), ("read\n2\n5\n", Some(1)));
    let read = |name: &str| fs::read_to_string(folder.path(name)).expect(name);
    assert_eq!(read("in/one.csv"), "1\n");
    assert_eq!(read("two.txt"), "3\n4\n");
    assert_eq!(read("there.txt"), "new\n");
    assert!(errors.contains("near line 2: near \"SELEC\""), "{errors}");
    for refused in [
        "there.txt exists",
        "../out.txt",
        "/etc/passwd",
        "cannot start programs",
        "shop.db",
    ] {
        assert!(errors.contains(refused), "{refused} in {errors}");
    }
    assert_eq!(
        folder.files(),
        ["in", "more.sql", "shop.db", "there.txt", "two.txt"]
    );
}

#[test]
fn a_database_is_dumped_imported_into_backed_up_and_restored() {
    let folder = Folder::new();
    folder.database("shop.db", SHOP);
    fs::write(
        folder.path("more.csv"),
        "item,part\r\n1,bulb\r\n1,\"a \"\"b\"\"\"\r\n",
    )
    .expect("a file");
    let script = ".backup before.db\n.import --csv more.csv parts\nSELECT * FROM parts;\n.export parts out.json\n\
                  .output all.sql\n.dump\n.output\nBEGIN;\nDELETE FROM parts;\n.dump parts\nROLLBACK;\n\
                  SELECT count(*) FROM parts;\n.restore before.db\nSELECT count(*) FROM parts;\n.backup before.db\n";
    let mut command = sqlarium();
    command
        .args(["shell", "shop.db"])
        .current_dir(folder.path(""));
    let (text, errors, code) = piped(&mut command, script);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| {
            let told = ["Wrote", "written", "Filled", "Replaced"];
            !told.iter().any(|word| line.contains(word))
        })
        .collect();
    assert_eq!(lines[..2], ["1|bulb", "1|a \"b\""], "{text}{errors}");
    let dump = &lines[2..];
    assert!(dump.contains(&"COMMIT;"), "{text}{errors}");
    assert!(!text.contains("INSERT"), "{text}");
    // Looking at it left the open transaction open.
    assert_eq!(dump[dump.len() - 3..][0], "2", "{text}{errors}");
    assert_eq!(*dump.last().expect("a line"), "0", "{text}{errors}");
    assert!(errors.contains("before.db exists"), "{errors}");
    assert_eq!(code, Some(1));

    let again = folder.path("again.db");
    let connection = rusqlite::Connection::open(&again).expect("a database");
    let sql = fs::read_to_string(folder.path("all.sql")).expect("a dump");
    connection.execute_batch(&sql).expect("SQL that runs");
    drop(connection);
    let parts = Folder::native(&again, "SELECT item || part FROM parts");
    assert_eq!(parts, ["1bulb", "1a \"b\""]);
    let rows: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.path("out.json")).expect("JSON"))
            .expect("JSON");
    assert_eq!(rows[0]["part"], "bulb");
}

#[test]
fn an_agent_runs_shell_lines_and_gets_one_text() {
    let folder = Folder::new();
    let path = folder.database("shop.db", SHOP);
    let mut server = Server::ready([path.to_str().expect("a path")]);
    let input = ".mode csv\nSELECT id FROM items WHERE id < 3;\nSELEC;\n.schema parts";
    let answer = server.call("run", json!({ "input": input }));
    assert!(answer.refused);
    assert_eq!(
        answer.text,
        "1\n2\nParse error near line 3: near \"SELEC\": syntax error\n  SELEC;\n  ^--- error here\n\
         CREATE TABLE parts (item REFERENCES items(id), part TEXT);\n1 error; the other lines ran.\n"
    );
    let answer = server.call("run", json!({ "input": "SELECT 1;", "output": "json" }));
    assert_eq!(answer.object["text"], "1\n");
    assert_eq!(answer.object["errors"], 0);
    assert_eq!(answer.object["ok"], true);
    let lines = ".bail on\nSELEC;\nSELECT 1;";
    let bailed = server.call("run", json!({ "input": lines, "output": "json" }));
    assert_eq!(bailed.object["ok"], false);
    assert_eq!(
        bailed.object["notes"][0],
        "1 error; the lines after it were not run, because of .bail on."
    );
    // The same on the command line: results as sqlite3 prints them, errors apart, and the exit code.
    let mut person = sqlarium();
    let person = finish(person.arg("run").arg(&path).arg(input));
    assert_eq!(
        person.stdout,
        "1\r\n2\r\nCREATE TABLE parts (item REFERENCES items(id), part TEXT);\n"
    );
    assert!(
        person.stderr.starts_with("Parse error near line 3"),
        "{}",
        person.stderr
    );
    assert_eq!(person.code, Some(1));
}

#[test]
fn the_command_run_reads_its_lines_from_a_pipe() {
    let mut command = sqlarium();
    command.args(["run", ":memory:", "-"]);
    let (text, errors, code) = piped(
        &mut command,
        ".mode json\nSELECT 1 AS a;\nSELEC;\n.read -\n",
    );
    assert_eq!(text, "[{\"a\":1}]\n");
    assert!(errors.starts_with("Parse error near line 3: "), "{errors}");
    assert_eq!(code, Some(1));
    // An agent has no standard input.
    let mut server = Server::ready([""; 0]);
    for input in ["-", ".read -"] {
        assert!(server.call("run", json!({ "input": input })).refused);
    }
}

#[test]
fn sql_for_another_database_is_told_of_in_run_too() {
    let mut server = Server::ready([""; 0]);
    for input in ["SHOW TABLES;", "\\dt", "SELECT 1;\nDESCRIBE t;"] {
        let answer = server.call("run", json!({ "input": input }));
        assert!(answer.refused, "{input}: {}", answer.text);
        assert!(answer.text.contains("This is SQLite"), "{}", answer.text);
    }
}

#[test]
fn what_dot_commands_set_ends_with_a_call_of_run_and_so_does_a_transaction() {
    let mut server = Server::ready([""; 0]);
    server.call("run", json!({ "input": ".mode json\nCREATE TABLE t(a);" }));
    let answer = server.call(
        "run",
        json!({ "input": "BEGIN;\nINSERT INTO t VALUES (1);" }),
    );
    assert!(answer.text.contains("rolled back"), "{}", answer.text);
    let answer = server.call("run", json!({ "input": "SELECT count(*) FROM t;" }));
    assert_eq!(answer.text, "0\n");
    // A transaction that was begun here is none of the other tools' business.
    let answer = server.call("exec", json!({ "sql": "INSERT INTO t VALUES (1)" }));
    assert!(!answer.refused, "{}", answer.text);
}

#[test]
fn run_is_bounded_by_the_text_budget_for_an_agent_and_streams_on_the_command_line() {
    let mut server = Server::ready([""; 0]);
    let input = "SELECT value FROM generate_series(1, 100000);\n.print behind";
    let answer = server.call("run", json!({ "input": input }));
    assert!(answer.text.len() <= 48_000, "{}", answer.text.len());
    assert!(
        answer.text.contains("text budget of 48000 bytes, --text"),
        "{}",
        answer.text
    );
    let mut person = sqlarium();
    let person = finish(person.args(["run", ":memory:", input]));
    assert_eq!(person.stdout.lines().count(), 100_001);
}

#[test]
fn a_call_of_run_has_one_budget_and_ends_with_it() {
    let mut server = Server::ready(["--timeout", "300ms"]);
    let input = format!("SELECT 1;\n{ENDLESS};\n{ENDLESS};\nSELECT 2;");
    let started = Instant::now();
    let answer = server.call("run", json!({ "input": input }));
    assert!(started.elapsed() < Duration::from_secs(2));
    assert!(
        answer.refused && answer.text.starts_with("1\n"),
        "{}",
        answer.text
    );
    assert_eq!(
        answer.text.matches("--timeout").count(),
        1,
        "{}",
        answer.text
    );
    assert!(!answer.text.contains("\n2\n"), "{}", answer.text);
}

#[test]
fn at_a_terminal_lines_are_edited_completed_and_remembered() {
    let folder = Folder::new();
    folder.database("shop.db", SHOP);
    let Some(mut terminal) = Terminal::start(&folder, &["shell", "shop.db"], true) else {
        return;
    };
    terminal.wait_for("sqlarium> ");
    // Typed wrongly, and put right with the cursor.
    terminal.keys("ELECT 6 * 8;\u{1}S\u{5}\u{1b}[D\u{7f}7\r");
    terminal.wait_for("42\r\n");
    // A word completed, over two lines.
    terminal.wait_for("sqlarium> ");
    terminal.keys("SELECT count(*)\r");
    terminal.wait_for("   ...> ");
    terminal.keys("FROM chea\t;\r");
    terminal.wait_for("\r\n1\r\n");
    terminal.wait_for("sqlarium> ");
    terminal.keys(".tab\t\r");
    terminal.wait_for("items");
    // An error is red, and no reason to leave.
    terminal.wait_for("sqlarium> ");
    terminal.keys("SELEC;\r");
    terminal.wait_for("\u{1b}[31mParse error: near \"SELEC\": syntax error");
    // The statement of two lines comes back as one.
    terminal.wait_for("sqlarium> ");
    terminal.keys("\u{1b}[A\u{1b}[A\u{1b}[A\r");
    terminal.wait_for("\r\n1\r\n");
    terminal.wait_for("sqlarium> ");
    terminal.keys(".exit 3\r");
    assert_eq!(terminal.end(), Some(3));

    let history = folder.path("state").join("sqlarium/history");
    let mode = fs::metadata(&history)
        .expect("a history")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let history = fs::read_to_string(history).expect("a history");
    assert!(history.contains("SELECT count(*)"), "{history}");
}

#[test]
fn at_a_terminal_ctrl_c_stops_a_statement_and_the_shell_goes_on() {
    let folder = Folder::new();
    let Some(mut terminal) = Terminal::start(&folder, &["shell", "--no-history"], false) else {
        return;
    };
    terminal.wait_for("sqlarium> ");
    terminal.keys(".mode line\r");
    terminal.wait_for("sqlarium> ");
    terminal.keys(&format!("{ENDLESS};\r"));
    thread::sleep(Duration::from_millis(500));
    terminal.keys("\u{3}");
    let shown = terminal.wait_for("Ctrl-C");
    assert!(
        !shown.contains("\u{1b}[31m"),
        "colour against NO_COLOR: {shown:?}"
    );
    terminal.wait_for("sqlarium> ");
    // What was begun is forgotten, what was set is not.
    terminal.keys("SELECT 'half\r");
    terminal.wait_for("   ...> ");
    terminal.keys("\u{3}");
    terminal.wait_for("sqlarium> ");
    terminal.keys("SELECT 7 AS seven;\r");
    terminal.wait_for("seven: 7\r\n");
    terminal.wait_for("sqlarium> ");
    terminal.keys("\u{4}");
    assert_eq!(terminal.end(), Some(0));
    assert!(!folder.path("state").exists());
}
