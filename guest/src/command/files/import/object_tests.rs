//! Imports of objects, into new tables and into those that are there.

use super::whole_tests::{imported, refused};

#[test]
fn values_of_json_keep_their_kinds() {
    let (said, rows) = imported(
        "",
        "json",
        b"[{\"a\": 1, \"b\": 1.0, \"c\": \"1\", \"d\": 1, \"e\": [1, {\"x\": \"y\"}], \"f\": true},
           {\"a\": null, \"b\": 2.5, \"d\": \"x\", \"f\": 18446744073709551615}]",
    );
    assert_eq!(
        rows,
        "1,1.0,'1',1,'[1, {\"x\": \"y\"}]',1\nNULL,2.5,NULL,'x',NULL,'18446744073709551615'\n"
    );
    assert!(
        said.contains("a INTEGER, b REAL, c TEXT, d, e TEXT, f."),
        "{said}"
    );
}

#[test]
fn what_an_object_does_not_name_takes_its_default() {
    let table =
        "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT NOT NULL DEFAULT 'd', n REAL DEFAULT 7)";
    let (_, rows) = imported(
        table,
        "json",
        b"[{\"name\":\"x\"},{\"n\":3},{\"n\":null,\"name\":\"y\"},{},{\"id\":9,\"name\":\"z\"}]",
    );
    assert_eq!(
        rows,
        "1,'x',7.0\n2,'d',3.0\n3,'y',NULL\n4,'d',7.0\n9,'z',7.0\n"
    );
    // As many shapes as there are rows.
    let names: Vec<String> = (0..40).map(|at| format!("c{at}")).collect();
    let columns: Vec<String> = names
        .iter()
        .map(|name| format!("{name} DEFAULT 'd'"))
        .collect();
    let objects: Vec<String> = names
        .iter()
        .map(|name| format!("{{\"{name}\":1}}"))
        .collect();
    let (_, rows) = imported(
        &format!("CREATE TABLE t({})", columns.join(", ")),
        "jsonl",
        objects.join("\n").as_bytes(),
    );
    for (at, row) in rows.lines().enumerate() {
        let fields: Vec<&str> = row.split(',').collect();
        for (index, field) in fields.iter().enumerate() {
            assert_eq!(*field, if index == at { "1" } else { "'d'" });
        }
    }
    let said = refused(table, "json", b"[{\"id\":1,\"name\":\"x\"},{\"id\":1}]");
    assert!(said.contains("Object 2 of FILE"), "{said}");
}

#[test]
fn values_of_json_that_a_column_changes_are_said() {
    let table = "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, n REAL)";
    for (bytes, rows, says) in [
        (
            &b"[{\"n\":1},{\"n\":9007199254740993}]"[..],
            "1,NULL,1.0\n2,NULL,9007199254740992.0\n",
            "n REAL: 1 value was stored rounded, with the digits that a real keeps, the first on object 2: '9007199254740993'",
        ),
        (
            b"[{\"name\":1.50}]",
            "1,'1.5',NULL\n",
            "name TEXT: 1 value was a number, stored as text",
        ),
        (b"[{\"name\":true}]", "1,'1',NULL\n", "stored as text"),
        (
            b"[{\"n\":0.12345678901234567890}]",
            "1,NULL,0.12345678901234568\n",
            "stored rounded",
        ),
        (
            b"[{\"n\":0.30000000000000004,\"name\":\"1.50\"}]",
            "1,'1.50',0.30000000000000004\n",
            "",
        ),
        (b"[{\"n\":0.10000000000000001}]", "1,NULL,0.1\n", ""),
    ] {
        let (said, found) = imported(table, "json", bytes);
        assert_eq!(found, rows);
        assert!(said.contains(says), "{said}");
        assert_eq!(said.contains("stored"), !says.is_empty(), "{said}");
    }
    let (said, _) = imported("", "json", b"[{\"a\":9007199254740993.0}]");
    assert!(said.contains("stored rounded"), "{said}");
    let (said, rows) = imported(table, "csv", b"n\n9007199254740993\n");
    assert_eq!(rows, "1,NULL,9007199254740992.0\n");
    assert!(said.contains("stored rounded"), "{said}");
}

#[test]
fn a_list_inside_of_one_object_is_pointed_out() {
    for (bytes, name) in [
        (&b"{\"rows\":[{\"a\":1},{\"a\":2}]}"[..], "rows"),
        (
            b"{\"type\":\"FeatureCollection\",\"features\":[ {\"x\":1}]}",
            "features",
        ),
    ] {
        let (said, _) = imported("", "json", bytes);
        let says = format!("{name} holds a list of objects as one text");
        assert!(said.contains(&says), "{said}");
        assert!(said.contains(&format!("json_each(\"{name}\")")), "{said}");
    }
    let (said, _) = imported("", "json", b"[{\"a\":[{\"x\":1}]},{\"a\":2}]");
    assert!(!said.contains("list of objects"), "{said}");
}
