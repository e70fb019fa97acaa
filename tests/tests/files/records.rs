//! Rows in and out.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::json;
use sqlarium_tests::{Folder, finish, run, sqlarium};

use crate::{rooted, text};

#[test]
fn a_new_table_gets_names_and_types_that_lose_nothing() {
    let folder = Folder::new();
    let database = folder.database("shop.db", "");
    fs::write(
        folder.path("people.csv"),
        "\u{feff}id,Name,zip,account,price,when,,name\r\n\
         1,\"Lovelace, Ada\",00712,12345678901234567890123,1.50,+1,x,a\r\n\
         -2,\"two\r\nlines \"\"quoted\"\"\",10115,2,20,1e5,,b\r\n\
         3,,,,,,\"\",\r\n",
    )
    .expect("a file");
    let mut server = rooted(&folder, &database, &[]);
    let answer = server.call(
        "import",
        json!({"file": "people.csv", "table": "people", "output": "json"}),
    );
    assert!(!answer.refused, "{}", answer.text);
    assert_eq!(answer.object["rows_imported"], 3);
    assert_eq!(
        Folder::native(
            &database,
            "SELECT name || ' ' || type FROM pragma_table_info('people')"
        ),
        [
            "id INTEGER",
            "Name TEXT",
            "zip TEXT",
            "account TEXT",
            "price REAL",
            "when TEXT",
            "column7 TEXT",
            "name_2 TEXT"
        ]
    );
    assert_eq!(
        server.rows("SELECT * FROM people"),
        json!([
            [
                1,
                "Lovelace, Ada",
                "00712",
                "12345678901234567890123",
                1.5,
                "+1",
                "x",
                "a"
            ],
            [
                -2,
                "two\r\nlines \"quoted\"",
                "10115",
                "2",
                20.0,
                "1e5",
                null,
                "b"
            ],
            [3, null, null, null, null, null, "", null]
        ])
    );
}

#[test]
fn a_table_that_is_there_is_filled_by_names_or_by_position() {
    let folder = Folder::new();
    let database = folder.database(
        "shop.db",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT NOT NULL, n INTEGER DEFAULT 7, twice AS (n * 2));
         CREATE TABLE log (id); CREATE TRIGGER seen AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.id); END;",
    );
    fs::write(folder.path("named.csv"), "NAME,id\nAda,1\n,2\n").expect("a file");
    fs::write(folder.path("bare.tsv"), "3\tLin\t5\n4\tKay\n").expect("a file");
    let mut server = rooted(&folder, &database, &[]);
    for file in ["named.csv", "bare.tsv"] {
        let answer = server.call("import", json!({"file": file, "table": "t"}));
        assert!(!answer.refused, "{}", answer.text);
        if file == "bare.tsv" {
            assert!(
                answer.text.contains("padded with NULL: line 2"),
                "{}",
                answer.text
            );
        }
    }
    assert_eq!(
        server.rows("SELECT * FROM t"),
        json!([
            [1, "Ada", 7, 14],
            [2, "", 7, 14],
            [3, "Lin", 5, 10],
            [4, "Kay", null, null]
        ])
    );
    assert_eq!(server.rows("SELECT count(*) FROM log"), json!([[4]]));
}

#[test]
fn an_error_in_a_file_is_reported_with_its_line_and_changes_nothing() {
    let folder = Folder::new();
    let database = folder.database("shop.db", "CREATE TABLE t (a INTEGER CHECK (a < 10), b)");
    let mut server = rooted(&folder, &database, &[]);
    for (bytes, line, what) in [
        (&b"a,b\n1,2\n3,4,5\n"[..], "Line 3", "3 fields"),
        (b"a,b\n1,\"2\n", "Line 2", "never closed"),
        (b"a,b\n1,2\n1,\xff\n", "Line 3", "UTF-8"),
        (b"a,b\n1,\"x\"y\n", "Line 2", "write each quote twice"),
    ] {
        fs::write(folder.path("x.csv"), bytes).expect("a file");
        for table in ["t", "u"] {
            let (status, sentence) =
                server.refusal("import", json!({"file": "x.csv", "table": table}));
            assert_eq!(status, "syntax", "{sentence}");
            assert!(
                sentence.contains(line) && sentence.contains(what),
                "{sentence}"
            );
            assert!(sentence.contains("Nothing was imported"), "{sentence}");
        }
    }
    fs::write(folder.path("x.csv"), "a,b\n1,2\n99,4\n").expect("a file");
    let (status, sentence) = server.refusal("import", json!({"file": "x.csv", "table": "t"}));
    assert_eq!(status, "constraint", "{sentence}");
    assert!(sentence.contains("Line 3"), "{sentence}");
    fs::write(folder.path("x.csv"), "").expect("a file");
    let (status, _) = server.refusal("import", json!({"file": "x.csv", "table": "t"}));
    assert_eq!(status, "syntax");
    assert_eq!(server.rows("SELECT count(*) FROM t"), json!([[0]]));
    assert_eq!(
        server.rows("SELECT count(*) FROM sqlite_schema"),
        json!([[1]])
    );
}

#[test]
fn what_is_exported_as_csv_comes_back_as_it_was() {
    let folder = Folder::new();
    let database = folder.database(
        "shop.db",
        "CREATE TABLE t (id INTEGER, a TEXT, b REAL, c TEXT);
         INSERT INTO t VALUES (1, 'x,y \"q\"', 1.5, ''), (2, char(10) || 'z' || char(13, 10), 2.25, NULL),
            (3, '007', NULL, '1e5'), (NULL, ' pad ', -0.5, 'ünïcødé');",
    );
    let mut server = rooted(&folder, &database, &[]);
    for (out, format) in [("t.csv", "csv"), ("t.txt", "csv")] {
        let answer = server.call(
            "export",
            json!({"table": "t", "out": out, "format": format}),
        );
        assert!(!answer.refused, "{}", answer.text);
        let table = out.replace('.', "_");
        let answer = server.call("import", json!({"file": out, "table": table}));
        assert!(!answer.refused, "{}", answer.text);
        let difference = format!(
            "SELECT * FROM (SELECT id, a, b, c FROM t EXCEPT SELECT id, a, b, c FROM {table})"
        );
        assert_eq!(server.rows(&difference), json!([]));
    }
    // The sqlite3 program reads it, too.
    let program = std::process::Command::new("sqlite3")
        .args([
            ":memory:",
            ".mode csv",
            &format!(".import {} t", text(&folder.path("t.csv"))),
        ])
        .arg("SELECT count(*), max(a) FROM t")
        .output();
    if let Ok(output) = program {
        assert!(
            String::from_utf8_lossy(&output.stdout).starts_with("4,"),
            "{output:?}"
        );
    }
}

#[test]
fn a_dash_is_standard_input_and_output() {
    let folder = Folder::new();
    let database = folder.database("shop.db", "");
    let mut child = sqlarium()
        .args(["import", text(&database), "-", "t"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut stdin = child.stdin.take().expect("its input");
    for number in 0..5_000 {
        writeln!(stdin, "{number},0{number}").expect("written");
    }
    drop(stdin);
    let done = child.wait_with_output().expect("ended");
    assert!(done.status.success(), "{done:?}");
    // A first record with numbers is data, in a new table, too.
    assert_eq!(
        Folder::native(&database, "SELECT count(*) FROM t"),
        ["5000"]
    );
    assert_eq!(
        Folder::native(&database, "SELECT type FROM pragma_table_info('t')"),
        ["INTEGER", "TEXT"]
    );
    for arguments in [&["--out", "-"][..], &[]] {
        let shown = run(["export", text(&database), "t"].iter().chain(arguments));
        assert_eq!(shown.code, Some(0), "{}", shown.stderr);
        assert_eq!(shown.stdout.lines().count(), 5_001);
        assert_eq!(shown.stderr, "");
    }
    // Whole, however long it is: a terminal has no text budget.
    let dumped = run(["dump", text(&database), "--text", "1000"]);
    assert_eq!(dumped.stdout.matches("INSERT INTO").count(), 5_000);
    let counted = run(["export", text(&database), "t", "--output", "json"]);
    assert_eq!(counted.code, Some(0));
    assert!(
        counted.stdout.starts_with("{\"ok\":true"),
        "{}",
        counted.stdout
    );
    for command in ["backup", "restore"] {
        let refused = run([command, text(&database), "-"]);
        assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    }
    // A pipe that is closed early is no error.
    let mut child = sqlarium()
        .args(["dump", text(&database)])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    drop(child.stdout.take());
    let done = child.wait_with_output().expect("ended");
    assert_eq!(
        (done.status.code(), done.stderr.as_slice()),
        (Some(0), &b""[..])
    );
}

#[test]
fn a_statement_that_writes_is_not_exported() {
    let folder = Folder::new();
    let database = folder.database("shop.db", "CREATE TABLE t (a); INSERT INTO t VALUES (1);");
    let mut server = rooted(&folder, &database, &[]);
    for sql in [
        "DELETE FROM t RETURNING *",
        "INSERT INTO t VALUES (2) RETURNING a",
    ] {
        let (status, _) = server.refusal("export", json!({"sql": sql, "out": "x.csv"}));
        assert_eq!(status, "readonly");
    }
    assert_eq!(folder.files(), ["shop.db"]);
    let parted = finish(sqlarium().args(["export", text(&database), "t", "--sql", "SELECT 1"]));
    assert_ne!(parted.code, Some(0));
}
