//! What reaches a terminal: control characters of a database are escaped there, and stay as
//! they are in files and pipes.

use std::fs;

use rusqlite::Connection;
use sqlarium_tests::{Folder, Terminal, finish, run, sqlarium};

/// What would change the title of a terminal's window.
const TITLE: &str = "\u{1b}]0;owned\u{7}";

/// A folder with `hostile.db`: a table whose name and one row drive terminals.
fn folder() -> Folder {
    let folder = Folder::new();
    let database = Connection::open(folder.path("hostile.db")).expect("a database");
    database
        .execute_batch(&format!(
            "CREATE TABLE \"t{TITLE}\" (a); CREATE VIEW v AS SELECT a FROM \"t{TITLE}\""
        ))
        .expect("a schema");
    database
        .execute(&format!("INSERT INTO \"t{TITLE}\" VALUES (?1)"), [TITLE])
        .expect("a row");
    folder
}

/// What a terminal shows of a command; `None` where there is no terminal to be had.
fn shown(folder: &Folder, arguments: &[&str]) -> Option<String> {
    Some(Terminal::start(folder, arguments, false)?.rest())
}

#[test]
fn nothing_that_a_command_prints_drives_the_terminal() {
    let folder = folder();
    for arguments in [
        &["dump", "hostile.db"][..],
        &["export", "hostile.db", "v"],
        &["export", "hostile.db", "v", "--format", "json"],
        &["schema", "hostile.db"],
        &["tables", "hostile.db"],
        &["query", "hostile.db", "SELECT a FROM v"],
        &["query", "hostile.db", &format!("SELECT {TITLE}")],
        &[
            "query",
            "hostile.db",
            &format!("SELECT {TITLE}"),
            "--output",
            "json",
        ],
        &["explain", "hostile.db", "SELECT a FROM v"],
    ] {
        let Some(shown) = shown(&folder, arguments) else {
            return;
        };
        assert!(!shown.is_empty(), "{arguments:?} prints nothing");
        let wild = |c: char| c.is_control() && !"\r\n\t".contains(c);
        assert!(!shown.contains(wild), "{arguments:?}: {shown:?}");
    }
}

#[test]
fn what_is_escaped_is_shown_as_it_is_typed() {
    let folder = folder();
    if let Some(shown) = shown(&folder, &["export", "hostile.db", "v"]) {
        assert!(shown.contains("^[]0;owned^G"), "{shown:?}");
    }
}

#[test]
fn completion_offers_no_name_that_drives_the_terminal() {
    let folder = folder();
    let Some(mut terminal) = Terminal::start(&folder, &["shell", "hostile.db"], false) else {
        return;
    };
    terminal.wait_for("sqlarium> ");
    terminal.keys("SELECT * FROM t\t\t;\r");
    terminal.wait_for("no such table: t");
    terminal.keys(".exit\r");
    let shown = terminal.rest();
    assert!(!shown.contains(TITLE), "{shown:?}");
}

#[test]
fn files_and_pipes_get_every_byte() {
    let folder = folder();
    let database = folder.path("hostile.db");
    let database = database.to_str().expect("a path");
    let piped = run(["export", database, "v"]).stdout;
    assert!(piped.contains(TITLE), "{piped:?}");
    let file = folder.path("out.csv");
    let out = fs::File::create(&file).expect("a file");
    let mut command = sqlarium();
    command.args(["export", database, "v"]).stdout(out);
    assert!(command.status().expect("an export").success());
    assert_eq!(fs::read_to_string(&file).expect("the file"), piped);
    let dump = finish(sqlarium().args(["dump", database])).stdout;
    assert!(dump.contains(TITLE), "{dump:?}");
}

/// A statement that takes a good second.
const SLOW: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000000) SELECT count(*) FROM n";

#[test]
fn long_work_shows_at_a_terminal_how_far_it_is_and_nowhere_else() {
    let folder = folder();
    let Some(mut terminal) = Terminal::start(&folder, &["query", "hostile.db", SLOW], true) else {
        return;
    };
    terminal.wait_for("running");
    let shown = terminal.rest();
    assert!(shown.contains("20000000"), "{shown:?}");
    // Nothing of it stays on the screen: its line is cleared before the result.
    assert!(shown.contains("\u{1b}[2K"), "{shown:?}");
    let plain = Terminal::start(&folder, &["query", "hostile.db", SLOW], false).expect("another");
    let plain = plain.rest();
    assert!(
        plain.contains("20000000") && !plain.contains("running"),
        "{plain:?}"
    );
    let database = folder.path("hostile.db");
    let piped = run(["query", database.to_str().expect("a path"), SLOW]);
    assert_eq!(piped.stderr, "");
}

#[test]
fn ctrl_c_ends_a_command_and_says_what_is_left_of_it() {
    let folder = folder();
    let sql = format!(
        "CREATE TABLE u AS {}",
        SLOW.replace("LIMIT 20000000", "").replace("count(*)", "i")
    );
    let Some(mut terminal) = Terminal::start(&folder, &["exec", "hostile.db", &sql], true) else {
        return;
    };
    terminal.wait_for("running");
    terminal.keys("\u{3}");
    let shown = terminal.wait_for("files are as they were.");
    assert!(shown.contains("Stopped by Ctrl-C."), "{shown:?}");
    assert_eq!(terminal.end(), Some(130));
    let database = folder.path("hostile.db");
    assert_eq!(
        Folder::native(
            &database,
            "SELECT count(*) FROM sqlite_schema WHERE name = 'u'"
        ),
        ["0"]
    );
}
