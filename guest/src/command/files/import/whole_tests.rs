//! Whole imports: files as people have them, into tables of every kind.

use std::io::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use crate::answer::failure::Status;
use crate::command::tests::{File, context, failure, json_of, text};

/// A file below the current folder, gone in the end.
struct Scratch(String);

impl Scratch {
    fn new(ending: &str, bytes: &[u8]) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("sqlarium-import-{}-{number}.{ending}", std::process::id());
        std::fs::write(&name, bytes).unwrap();
        Self(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn arguments(scratch: &Scratch, mut more: Value) -> Value {
    more["file"] = scratch.0.as_str().into();
    more["table"] = "t".into();
    more
}

/// What an import into `t` says, and the rows of `t` as SQL writes them.
fn imported_with(sql: &str, ending: &str, bytes: &[u8], more: Value) -> (String, String) {
    let (file, scratch) = (File::new(sql), Scratch::new(ending, bytes));
    let mut context = context(file.settings());
    let said = text(&mut context, "import", arguments(&scratch, more));
    let rows = json!({"table": "t", "format": "quote"});
    let rows = text(&mut context, "export", rows);
    (said.replace(&scratch.0, "FILE"), rows)
}

pub(super) fn imported(sql: &str, ending: &str, bytes: &[u8]) -> (String, String) {
    imported_with(sql, ending, bytes, json!({}))
}

/// What a refused import says; `t` is as it was.
pub(super) fn refused(sql: &str, ending: &str, bytes: &[u8]) -> String {
    let (file, scratch) = (File::new(sql), Scratch::new(ending, bytes));
    let mut context = context(file.settings());
    let (_, said) = failure(&mut context, "import", arguments(&scratch, json!({})));
    let left = rusqlite::Connection::open(file.path())
        .and_then(|connection| {
            connection.query_row("SELECT (SELECT count(*) FROM t)", [], |row| row.get(0))
        })
        .unwrap_or(0);
    assert_eq!(left, 0, "{said}");
    assert!(said.contains("Nothing was imported"), "{said}");
    said.replace(&scratch.0, "FILE")
}

#[test]
fn the_same_rows_come_of_a_file_however_it_is_written() {
    let wide = |text: &str| -> Vec<u8> {
        format!("\u{feff}{text}")
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect()
    };
    let packed = |bytes: &[u8]| {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    };
    let array = b"[{\"id\": 1, \"name\": \"Ada\"},\n {\"id\": 2, \"name\": null}]";
    for (ending, bytes, says) in [
        ("csv", b"id,name\n1,Ada\n2,\n".to_vec(), ""),
        (
            "csv",
            b"id;name\r\n1;Ada\r\n2;\r\n".to_vec(),
            "split at semicolons",
        ),
        ("csv", b"id\tname\n1\tAda\n2\t\n".to_vec(), "split at tabs"),
        ("txt", b"id|name\n1|Ada\n2|\n".to_vec(), "split at '|'"),
        ("tsv", b"id\tname\n1\tAda\n2\t\n".to_vec(), ""),
        ("tsv", b"id,name\n1,Ada\n2,\n".to_vec(), "split at commas"),
        ("csv", b"id,name\r1,Ada\r2,\r".to_vec(), "carriage returns"),
        (
            "csv",
            b"sep=;\r\nid;name\r\n1;Ada\r\n2;\r\n".to_vec(),
            "split at semicolons",
        ),
        ("csv", b"\xef\xbb\xbfid,name\n1,Ada\n2,\n".to_vec(), ""),
        (
            "csv",
            wide("id\tname\r\n1\tAda\r\n2\t\r\n"),
            "converted from UTF-16LE, split at tabs",
        ),
        ("json", array.to_vec(), ""),
        ("csv", array.to_vec(), ""),
        (
            "jsonl",
            b"{\"id\":1,\"name\":\"Ada\"}\n{\"id\":2}\n".to_vec(),
            "",
        ),
        (
            "ndjson.gz",
            packed(b"{\"name\":\"Ada\",\"id\":1}\n{\"id\":2}\n"),
            "unpacked by gzip",
        ),
        (
            "csv",
            packed(&wide("id,name\n1,Ada\n2,\n")),
            "unpacked by gzip, converted",
        ),
    ] {
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        let (said, rows) = imported("", ending, &bytes);
        let swapped = said.contains("columns name TEXT, id INTEGER");
        assert!(
            swapped || said.contains("columns id INTEGER, name TEXT."),
            "{shown}: {said}"
        );
        assert_eq!(
            rows,
            if swapped {
                "'Ada',1\nNULL,2\n"
            } else {
                "1,'Ada'\n2,NULL\n"
            },
            "{shown}"
        );
        assert!(said.contains(says), "{shown}: {said}");
        let (said, rows) = imported("CREATE TABLE t(id INTEGER, name TEXT)", ending, &bytes);
        assert_eq!(rows, "1,'Ada'\n2,NULL\n", "{shown}");
        assert!(said.contains("Filled the columns"), "{said}");
    }
}

#[test]
fn the_separator_that_is_named_decides() {
    let bytes = b"a;b,c\n1;2,3\n";
    let (_, rows) = imported_with("", "csv", bytes, json!({"separator": ";"}));
    assert_eq!(rows, "1,'2,3'\n");
    let (_, rows) = imported_with("", "csv", bytes, json!({"separator": "tab"}));
    assert_eq!(rows, "'1;2,3'\n");
    let (file, scratch) = (File::new(""), Scratch::new("csv", bytes));
    let mut context = context(file.settings());
    let wrong = arguments(&scratch, json!({"separator": ", "}));
    assert_eq!(failure(&mut context, "import", wrong).0, Status::Syntax);
}

#[test]
fn a_header_never_becomes_a_row() {
    const TABLE: &str = "CREATE TABLE t(id INTEGER, name TEXT, age INTEGER)";
    let (_, rows) = imported(TABLE, "csv", b" NAME ,id\nAda,1\n");
    assert_eq!(rows, "1,'Ada',NULL\n");
    for (bytes, says) in [
        (
            &b"id,name,zip\n1,Ada,0123\n"[..],
            "Line 1 of FILE: t has no column \"zip\"",
        ),
        (b"id,nmae,age\n1,Ada,3\n", "Did you mean name?"),
        (b"idd,nam,agee\n", "Did you mean id?"),
        (
            b"number,who,years\n1,Ada,3\n",
            "t has the columns id, name, age",
        ),
        (b"id,name,age,id\n1,Ada,3,1\n", "named twice"),
        (b"id,name,age,more\n1,Ada,3,1\n", "\"more\""),
    ] {
        let said = refused(TABLE, "csv", bytes);
        assert!(said.contains(says), "{said}");
    }
    let said = refused(TABLE, "json", b"[{\"id\":1},{\"nmae\":2}]");
    assert!(
        said.contains("Did you mean name?") && !said.contains("no_header"),
        "{said}"
    );
    // What is data stays data.
    let (said, rows) = imported(TABLE, "csv", b"1,Ada,36\n2,Bob,40\n");
    assert_eq!(rows, "1,'Ada',36\n2,'Bob',40\n");
    assert!(said.contains("imported as data"), "{said}");
    let (_, rows) = imported_with(TABLE, "csv", b"1,name,3\n", json!({"no_header": true}));
    assert_eq!(rows, "1,'name',3\n");
}

#[test]
fn what_is_not_stored_as_it_stands_is_said() {
    let (said, rows) = imported(
        "CREATE TABLE t(id INTEGER, zip INT, big NUMERIC, any, note TEXT)",
        "csv",
        b"id,zip,big,any,note\n1,\"\",9223372036854775808,5,007\n2,0123,1.50,x,1\nx,5,1e3,,\"\"\n",
    );
    assert_eq!(
        rows,
        "1,'',9.2233720368547758e+18,'5','007'\n2,123,1.5,'x','1'\n'x',5,1000,NULL,''\n"
    );
    for says in [
        "id INTEGER: 1 value was no number, stored as text, the first on line 4: 'x'.",
        "zip INT: 1 value was no number, stored as text, the first on line 2: ''.",
        "zip INT: 1 value was stored without the zeros in front, the first on line 3: '0123'.",
        "big NUMERIC: 1 value was too long for an integer",
        "any: 1 value was stored as text, since the column has no type",
    ] {
        assert!(said.contains(says), "{says}: {said}");
    }
}

#[test]
fn columns_that_the_table_computes_are_left_out() {
    for kind in ["STORED", "VIRTUAL"] {
        let table = format!(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, qty INT, total AS (qty * 2) {kind});
             INSERT INTO t VALUES(1, 4), (2, NULL);"
        );
        for (ending, more) in [
            ("csv", json!({})),
            ("json", json!({})),
            ("csv", json!({"no_header": true})),
        ] {
            let (file, scratch) = (File::new(&table), Scratch::new(ending, b""));
            let mut context = context(file.settings());
            let mut arguments = more.clone();
            arguments["table"] = "t".into();
            arguments["out"] = scratch.0.as_str().into();
            arguments["overwrite"] = true.into();
            text(&mut context, "export", arguments);
            text(&mut context, "exec", json!({"sql": "DELETE FROM t"}));
            let said = text(&mut context, "import", self::arguments(&scratch, more));
            assert!(said.contains("the table computes it: total"), "{said}");
            let rows = text(
                &mut context,
                "export",
                json!({"table": "t", "format": "quote"}),
            );
            assert_eq!(rows, "1,4,8\n2,NULL,NULL\n");
        }
        // As SQL they do not come at all.
        let file = File::new(&table);
        let mut context = context(file.settings());
        let sql = text(
            &mut context,
            "export",
            json!({"table": "t", "format": "insert"}),
        );
        text(&mut context, "exec", json!({"sql": "DELETE FROM t"}));
        text(&mut context, "batch", json!({"sql": sql}));
        let rows = text(
            &mut context,
            "export",
            json!({"table": "t", "format": "quote"}),
        );
        assert_eq!(rows, "1,4,8\n2,NULL,NULL\n", "{sql}");
    }
}

#[test]
fn a_row_that_is_refused_is_named_with_its_value() {
    let table = "CREATE TABLE t(id INTEGER PRIMARY KEY, n INT NOT NULL, code TEXT UNIQUE CHECK(length(code) < 4)) STRICT";
    for (bytes, says) in [
        (
            &b"id,n,code\n1,2,abc\n2,,x\n"[..],
            &["Line 3 of FILE", "n is NULL"][..],
        ),
        (b"id,n,code\n1,2,abc\n2,x,x\n", &["Line 3", "n is 'x'"]),
        (
            b"id,n,code\n1,2,abc\n2,3,abc\n",
            &["Line 3", "code is 'abc'"],
        ),
        (b"id,n,code\n1,2,abc\n1,3,d\n", &["Line 3", "id is '1'"]),
        (b"id,n,code\n1,2,abcd\n", &["Line 2"]),
    ] {
        let said = refused(table, "csv", bytes);
        assert!(says.iter().all(|says| said.contains(says)), "{said}");
    }
}

#[test]
fn what_cannot_be_read_is_refused_with_the_line() {
    for (ending, bytes, says) in [
        (
            "csv",
            &b"a,b\n1,caf\xe9\n"[..],
            "Line 2 of FILE: field 2 is not UTF-8",
        ),
        ("csv", b"\xff\xfea\0,\0b", "UTF-16"),
        (
            "csv.gz",
            b"\x1f\x8b\x08\0\0\0\0\0\0\x03xx",
            "damaged or cut",
        ),
        (
            "json",
            b"[{\"a\":1},\n{\"a\":}]",
            "Line 2 of FILE: this is not JSON",
        ),
        ("json", b"[[1]]", "Line 1 of FILE: an object"),
        ("json", b"a,b\n", "Line 1 of FILE: an object"),
        ("csv", b"a,b\n1,2,3\n", "Line 2 of FILE: 3 fields"),
    ] {
        let said = refused("", ending, bytes);
        assert!(said.contains(says), "{said}");
    }
}

#[test]
fn a_header_may_stand_below_empty_lines() {
    let rows = "1,'x'\n2,NULL\n";
    for bytes in [
        &b"\n\r\na,b\n1,x\n\n2,\n"[..],
        b"\xef\xbb\xbf\n\na;b\n1;x\n2;\n",
        b"\n\nb,a\nx,1\n,2\n",
    ] {
        for table in ["", "CREATE TABLE t(a INTEGER, b TEXT)"] {
            let swapped = bytes.starts_with(b"\n\nb") && table.is_empty();
            let (said, found) = imported(table, "csv", bytes);
            let expected = if swapped { "'x',1\nNULL,2\n" } else { rows };
            assert_eq!(found, expected, "{said}");
        }
    }
    let (file, scratch) = (File::new(""), Scratch::new("csv", b"\n\n\n"));
    let arguments = arguments(&scratch, json!({}));
    let (_, said) = failure(&mut context(file.settings()), "import", arguments);
    assert!(said.contains("no records"), "{said}");
    // Where nothing is a header, an empty line is a NULL of a table of one column.
    let (_, found) = imported_with(
        "CREATE TABLE t(a)",
        "csv",
        b"\n\n5\n",
        json!({"no_header": true}),
    );
    assert_eq!(found, "NULL\nNULL\n'5'\n");
}

#[test]
fn a_file_that_unpacks_to_very_much_ends_with_a_sentence() {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..60 {
        packer.write_all(&[b'x'; 1 << 20]).unwrap();
    }
    let said = refused("", "csv.gz", &packer.finish().unwrap());
    assert!(said.contains("the record is longer than"), "{said}");
}

#[test]
fn the_answer_says_what_was_filled_with_what() {
    let (file, scratch) = (File::new(""), Scratch::new("csv", b"id;x\n1;2.5\n"));
    let mut context = context(file.settings());
    let object = json_of(&mut context, "import", arguments(&scratch, json!({})));
    assert_eq!(object["column_names"], json!(["id", "x"]));
    assert_eq!(object["column_types"], json!(["INTEGER", "REAL"]));
    assert_eq!(object["rows_imported"], 1);
}

#[test]
fn a_first_record_with_a_number_or_a_date_is_data_and_names_are_names() {
    for (bytes, rows) in [
        (
            &b"1,Ada,0123\n2,Bob,0456\n"[..],
            "1,'Ada','0123'\n2,'Bob','0456'\n",
        ),
        (b"1\n2\n", "1\n2\n"),
        (b"1.5;x\n2.5;y\n", "1.5,'x'\n2.5,'y'\n"),
        (b"2024-01-01,x\n", "'2024-01-01','x'\n"),
        (b"x,-1\n", "'x',-1\n"),
    ] {
        let (said, found) = imported("", "csv", bytes);
        assert_eq!(found, rows);
        assert!(said.contains("imported as data, because"), "{said}");
        assert!(said.contains("import it again with header"), "{said}");
    }
    for (bytes, columns) in [
        (
            &b"country,2019,2020\nUS,1,2\n"[..],
            "country TEXT, 2019 INTEGER",
        ),
        (b",name,age\n0,Ada,3\n", "column1 INTEGER, name TEXT"),
        (b"id,2fa\n1,x\n", "id INTEGER, 2fa TEXT"),
        (b"id\n1\n", "id INTEGER"),
    ] {
        let (said, _) = imported("", "csv", bytes);
        assert!(said.contains(columns), "{said}");
        assert!(!said.contains("as data"), "{said}");
    }
    let said = imported_with("", "csv", b"x,1\ny,2\n", json!({"header": true}));
    assert_eq!(said.1, "'y',2\n", "{}", said.0);
    let both = json!({"header": true, "no_header": true});
    let (file, scratch) = (File::new(""), Scratch::new("csv", b"a\n"));
    let refused = failure(
        &mut context(file.settings()),
        "import",
        arguments(&scratch, both),
    );
    assert!(refused.1.contains("exclude each other"), "{}", refused.1);
}

#[test]
fn a_file_of_one_column_is_said_to_be_one_where_a_mark_could_split_it() {
    for (bytes, says) in [
        (&b"a:b:c\n1:2:3\n"[..], Some("split at ':'")),
        (b"a^b\n1^2\n", Some("split at '^'")),
        (b"a~b\n1~2\n", Some("split at '~'")),
        (b"at\n10:30\n11:45\n", None),
        (b"a:b\n1\n", None),
        (b"a:b\n", None),
        (b"a,b:c\n1,2:3\n", None),
    ] {
        let (said, _) = imported("", "csv", bytes);
        match says {
            Some(says) => assert!(said.contains(says), "{said}"),
            None => assert!(!said.contains("one column"), "{said}"),
        }
    }
}

#[test]
fn spaces_in_the_header_are_told_from_those_of_values() {
    for table in ["", "CREATE TABLE t(id INTEGER, name TEXT)"] {
        let (said, rows) = imported(table, "csv", b"id, name\n1, Ada\n");
        assert_eq!(rows, "1,' Ada'\n");
        assert!(said.contains("those around values were kept"), "{said}");
    }
}

#[test]
fn a_key_that_is_no_integer_is_named() {
    let said = refused(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, n)",
        "csv",
        b"id,n\nx1,Ada\n",
    );
    assert!(said.contains("There id is 'x1'."), "{said}");
    let (said, _) = imported("CREATE TABLE t(a ANY) STRICT", "csv", b"a\n4\n\"\"\n");
    assert!(said.contains("a ANY: 1 value was stored as text"), "{said}");
}

#[test]
fn records_that_replace_rows_or_are_left_out_are_told_of() {
    let bytes = b"id,a\n1,x\n1,y\n2,z\n";
    for sql in [
        "CREATE TABLE t(id INTEGER PRIMARY KEY ON CONFLICT REPLACE, a)",
        "CREATE TABLE t(id INTEGER PRIMARY KEY ON CONFLICT IGNORE, a)",
        "CREATE TABLE t(id, a); CREATE TRIGGER g BEFORE INSERT ON t WHEN new.a = 'y' BEGIN SELECT RAISE(IGNORE); END",
    ] {
        let (said, _) = imported(sql, "csv", bytes);
        assert!(
            said.contains("t has 2 rows more than before, not 3"),
            "{said}"
        );
    }
    let (said, _) = imported(
        "CREATE TABLE t(id, a); INSERT INTO t VALUES(9, 9)",
        "csv",
        bytes,
    );
    assert!(!said.contains("than before"), "{said}");
}
