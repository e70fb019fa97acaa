use serde_json::json;

use crate::answer::failure::Status;
use crate::command::tests::{File, context, failure, json_of, text};

const SQL: &str =
    "CREATE TABLE t(a INTEGER, b TEXT); INSERT INTO t VALUES (1, 'x,y'), (2, ''), (3, NULL);
    CREATE TABLE none(a, b);";

#[test]
fn a_table_or_a_statement_is_exported_and_one_of_the_two_has_to_be_given() {
    let file = File::new(SQL);
    let mut context = context(file.settings());
    assert_eq!(
        text(&mut context, "export", json!({"table": "t"})),
        "a,b\n1,\"x,y\"\n2,\"\"\n3,\n"
    );
    assert_eq!(
        text(
            &mut context,
            "export",
            json!({"sql": "SELECT a FROM t WHERE a > 1", "format": "json"})
        ),
        "[{\"a\":2},\n{\"a\":3}]\n"
    );
    for arguments in [json!({}), json!({"table": "t", "sql": "SELECT 1"})] {
        let (status, _) = failure(&mut context, "export", arguments);
        assert_eq!(status, Status::Syntax);
    }
}

#[test]
fn no_rows_are_still_a_file_that_a_program_reads() {
    let file = File::new(SQL);
    let mut context = context(file.settings());
    assert_eq!(
        text(&mut context, "export", json!({"table": "none"})),
        "a,b\n"
    );
    assert_eq!(
        text(
            &mut context,
            "export",
            json!({"table": "none", "format": "json"})
        ),
        "[]\n"
    );
}

#[test]
fn nothing_is_left_out_behind_a_nul() {
    let file = File::new(SQL);
    let mut context = context(file.settings());
    let sql = "SELECT 'a' || char(0) || 'b' AS t";
    for (format, expected) in [
        ("json", "[{\"t\":\"a\\u0000b\"}]\n"),
        ("csv", "t\n\"a\0b\"\n"),
        ("tabs", "t\n\"a\0b\"\n"),
        ("line", "t: a\0b\n"),
        ("markdown", "|  t  |\n|-----|\n| a␀b |\n"),
    ] {
        let object = json_of(
            &mut context,
            "export",
            json!({"sql": sql, "format": format}),
        );
        assert_eq!(object["text"], expected, "{format}");
    }
}

#[test]
fn a_value_that_would_come_back_as_another_is_told() {
    let file = File::new(SQL);
    let mut context = context(file.settings());
    for (sql, format, told) in [
        ("SELECT x'41' AS a, x'42' AS b", "csv", "1 in a, 1 in b"),
        ("SELECT x'41' AS a, 'a' AS b", "json", "1 in a."),
        ("SELECT CAST(x'e9' AS TEXT) AS a", "json", "1 in a."),
        ("SELECT CAST(x'e9' AS TEXT) AS a", "csv", "1 in a."),
        ("SELECT CAST(x'e9' AS TEXT)", "insert", ""),
        ("SELECT x'41'", "insert", ""),
        ("SELECT x'41'", "quote", ""),
    ] {
        let arguments = json!({"sql": sql, "format": format});
        let object = json_of(&mut context, "export", arguments);
        let notes = object["notes"].to_string();
        assert_eq!(notes.contains("keep them"), !told.is_empty(), "{notes}");
        assert!(notes.contains(told), "{notes}");
    }
}

#[test]
fn a_cell_of_markdown_stays_one_cell() {
    let file = File::new(SQL);
    let mut context = context(file.settings());
    let sql = "SELECT 'x|y' || char(10) || 'z' || char(13, 10) AS \"a|b\"";
    assert_eq!(
        text(
            &mut context,
            "export",
            json!({"sql": sql, "format": "markdown"})
        ),
        "|     a\\|b      |\n|---------------|\n| x\\|y<br>z<br> |\n"
    );
    let sql = r"SELECT 'C:\new\|d\\' AS a";
    assert_eq!(
        text(
            &mut context,
            "export",
            json!({"sql": sql, "format": "markdown"})
        ),
        "|       a       |\n|---------------|\n| C:\\new\\\\\\|d\\\\ |\n"
    );
}

#[test]
fn a_real_comes_back_as_it_was() {
    let file = File::new(SQL);
    let mut context = context(file.settings());
    let sql = "SELECT 0.1 + 0.2 AS a, 9007199254740993.0 AS b, a * -1 AS c FROM (SELECT 0.0 AS a)";
    assert_eq!(
        text(&mut context, "export", json!({"sql": sql})),
        "a,b,c\n0.30000000000000004,9007199254740992.0,-0.0\n"
    );
    let sql = "SELECT 1e999 AS a, -1e999 AS b";
    assert_eq!(
        text(&mut context, "export", json!({"sql": sql})),
        "a,b\n1e999,-1e999\n"
    );
}

#[test]
fn a_first_row_that_does_not_fit_leaves_an_empty_list() {
    let file = File::new(SQL);
    let mut context = context(file.settings());
    let arguments = json!({"sql": "SELECT hex(zeroblob(40000))", "format": "json"});
    let object = json_of(&mut context, "export", arguments);
    assert_eq!(object["text"], "[]\n");
    assert_eq!(object["more"], true);
}

#[test]
fn output_that_does_not_fit_is_cut_at_a_row_and_reported() {
    let file = File::new(
        "CREATE TABLE t(a); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 50000)
         INSERT INTO t SELECT i FROM n",
    );
    let mut context = context(file.settings());
    let object = json_of(
        &mut context,
        "export",
        json!({"table": "t", "format": "json"}),
    );
    assert_eq!(object["more"], true);
    let rows: serde_json::Value =
        serde_json::from_str(object["text"].as_str().unwrap()).expect("whole rows");
    assert_eq!(object["rows_written"], rows.as_array().unwrap().len());
    let shown = text(&mut context, "export", json!({"table": "t"}));
    assert!(shown.contains("give out"), "{shown}");
}

#[test]
fn what_would_write_is_refused_by_the_engine() {
    let file = File::new(SQL);
    let mut context = context(file.settings());
    for sql in [
        "DELETE FROM t",
        "DELETE FROM t RETURNING a",
        "PRAGMA user_version = 5",
    ] {
        let (status, sentence) = failure(&mut context, "export", json!({ "sql": sql }));
        assert_eq!(status, Status::Readonly, "{sql}: {sentence}");
    }
    let (status, _) = failure(
        &mut context,
        "export",
        json!({"sql": "SELECT 1; DELETE FROM t"}),
    );
    assert_eq!(status, Status::Unsupported);
    let (status, _) = failure(&mut context, "export", json!({"table": "nowhere"}));
    assert_eq!(status, Status::NotFound);
}

#[test]
fn what_an_answer_cannot_show_is_sql_that_makes_it_or_told_of() {
    let file = File::new(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b);
         INSERT INTO t VALUES(1, 'x' || char(1) || 'y' || char(39), 'p\\u0001q'),
           (2, char(27) || '[31m' || char(0, 13), char(0x202e) || 'a' || char(0xe0001) || '\\'),
           (3, 'two' || char(10) || 'lines', cast(x'636166e9' AS TEXT)), (4, x'00ff', 1.5)",
    );
    let mut context = context(file.settings());
    let values = |connection: &rusqlite::Connection| -> Vec<String> {
        let sql = "SELECT quote(cast(a AS BLOB)) || typeof(a) || quote(cast(b AS BLOB)) || typeof(b) \
                   FROM t ORDER BY id";
        let mut statement = connection.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let expected = values(&rusqlite::Connection::open(file.path()).unwrap());
    for (command, arguments) in [
        ("dump", json!({})),
        ("export", json!({"table": "t", "format": "insert"})),
    ] {
        let shown = text(&mut context, command, arguments);
        assert!(!shown.contains("cannot be seen"), "{shown}");
        let copy = rusqlite::Connection::open_in_memory().unwrap();
        if command == "export" {
            copy.execute_batch("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b)")
                .unwrap();
        }
        copy.execute_batch(&shown).unwrap();
        assert_eq!(values(&copy), expected, "{shown}");
    }
    for format in ["csv", "tabs", "line", "html", "markdown"] {
        let shown = text(
            &mut context,
            "export",
            json!({"table": "t", "format": format}),
        );
        assert!(
            shown.contains("cannot be seen are shown as \\uXXXX"),
            "{shown}"
        );
    }
}

#[test]
fn the_rows_that_an_answer_counts_are_those_that_it_shows() {
    let file = File::new(
        "CREATE TABLE z(id INTEGER PRIMARY KEY, a);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
         INSERT INTO z SELECT i, replace(printf('%50c', 'x'), ' ', iif(i < 5, 'x', char(iif(i % 2, 1, 34)))) FROM n",
    );
    for text_bytes in [1_000, 48_000] {
        for format in ["csv", "tabs", "insert", "quote", "json"] {
            let mut context = context(file.settings());
            context.settings.output.text_bytes = text_bytes;
            let shown = text(
                &mut context,
                "export",
                json!({"table": "z", "format": format}),
            );
            assert!(!shown.contains("not shown"), "{format}: {shown}");
            let (before, _) = shown.rsplit_once(" shown; more rows exist").unwrap();
            let (_, said) = before.rsplit_once('\n').unwrap();
            let said: usize = said.split(' ').next().unwrap().parse().unwrap();
            let holds = |id: &usize| {
                let starts = [
                    "\n#,",
                    "\n#\t",
                    "(#,",
                    "\"id\":#,",
                    "\n#|",
                    "\n# ",
                    "\n\"#\"",
                ];
                let mut starts = starts
                    .iter()
                    .map(|start| start.replace('#', &id.to_string()));
                starts.any(|start| shown.contains(&start))
            };
            let last = (1..=3_000).rev().find(holds).unwrap();
            assert_eq!(last, said, "{format} {text_bytes}: {shown}");
            if format == "json" {
                assert!(shown.contains("}]\n"), "{shown}");
            }
        }
    }
}
