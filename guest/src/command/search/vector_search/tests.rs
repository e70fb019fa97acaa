use super::*;
use crate::command::tests::{context, failure, json_of, text};
use crate::settings::EngineSettings;

const ROWS_SQL: &str = "
    CREATE TABLE docs(id INTEGER PRIMARY KEY, title TEXT, v BLOB);
    INSERT INTO docs VALUES(1, 'east', vec_f32('[1, 0]')), (2, 'north', '[0, 1]'), (3, 'north-east', x'0000803f0000803f'), (4, 'none', NULL);
    CREATE TABLE keyed(k TEXT PRIMARY KEY, v) WITHOUT ROWID; INSERT INTO keyed VALUES('far', '[9, 9]'), ('near', '[1, 1]');
    CREATE VIRTUAL TABLE vecs USING vec0(v float[2]); INSERT INTO vecs(rowid, v) VALUES(7, '[1, 0]'), (8, '[0, 1]');
    CREATE VIRTUAL TABLE bits USING vec0(v bit[8]); INSERT INTO bits(rowid, v) VALUES(1, vec_bit(x'ff'));
    CREATE VIEW seen AS SELECT * FROM docs;";

fn shop() -> Context {
    let mut context = context(EngineSettings::default());
    text(&mut context, "batch", json!({"sql": ROWS_SQL}));
    context
}

fn search(table: &str, vector: Json, more: Json) -> Json {
    let mut arguments = json!({"table": table, "column": "v", "vector": vector});
    for (name, value) in more.as_object().unwrap() {
        arguments[name] = value.clone();
    }
    arguments
}

#[test]
fn the_nearest_come_first_with_what_else_their_rows_hold() {
    let mut context = shop();
    let object = json_of(
        &mut context,
        "vector-search",
        search("docs", json!([2, 0.1]), json!({})),
    );
    assert_eq!(object["columns"].as_array().unwrap().len(), 4, "{object}");
    let titles: Vec<&str> = object["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row[3].as_str().unwrap())
        .collect();
    assert_eq!(titles, ["east", "north-east", "north"]);
    assert_eq!(
        (&object["compared"], &object["nulls"]),
        (&json!(3), &json!(1))
    );
    let shown = text(
        &mut context,
        "vector-search",
        search("docs", json!([2, 0.1]), json!({"k": 1})),
    );
    assert!(
        shown.contains("east")
            && !shown.contains("north")
            && shown.contains("1 row has no vector (NULL)."),
        "{shown}"
    );
}

#[test]
fn every_measure_has_its_order() {
    let mut context = shop();
    for (measure, first) in [("cos", json!(1)), ("l2", json!(1)), ("dot", json!(3))] {
        let object = json_of(
            &mut context,
            "vector-search",
            search("docs", json!([1, 0.2]), json!({"measure": measure})),
        );
        assert_eq!(object["rows"][0][0], first, "{measure}: {object}");
    }
    let dot = json_of(
        &mut context,
        "vector-search",
        search("docs", json!([1, 2]), json!({"measure": "dot", "k": 1})),
    );
    assert_eq!(dot["rows"][0][1], 3.0);
}

#[test]
fn tables_without_rowid_and_of_vec0_are_searched_too_and_a_blob_is_a_vector() {
    let mut context = shop();
    let object = json_of(
        &mut context,
        "vector-search",
        search("keyed", json!([1, 1]), json!({"measure": "l2"})),
    );
    assert_eq!(
        object["rows"],
        json!([["near", 0.0], ["far", 128.0_f64.sqrt() as f32 as f64]])
    );
    let object = json_of(
        &mut context,
        "vector-search",
        search("vecs", json!({"blob": "0000000000000040"}), json!({"k": 1})),
    );
    assert_eq!(object["rows"], json!([[8, 0.0]]));
}

#[test]
fn vectors_of_other_lengths_are_named_on_both_sides() {
    let mut context = shop();
    let (status, sentence) = failure(
        &mut context,
        "vector-search",
        search("docs", json!([1, 2, 3]), json!({})),
    );
    assert_eq!(status, Status::Constraint);
    assert!(sentence.contains("The row of docs with rowid 1 contains a vector of 2 numbers, but the vector of this call has 3 numbers."), "{sentence}");
    for (value, part) in [
        ("x'0102'", "a blob of 2 bytes"),
        ("'north'", "not a JSON array"),
        ("5", "contains a number"),
    ] {
        text(
            &mut context,
            "exec",
            json!({"sql": format!("UPDATE docs SET v = {value} WHERE id = 2")}),
        );
        let (_, sentence) = failure(
            &mut context,
            "vector-search",
            search("docs", json!([1, 2]), json!({})),
        );
        assert!(
            sentence.contains("rowid 2") && sentence.contains(part),
            "{sentence}"
        );
    }
}

#[test]
fn what_cannot_be_searched_says_why() {
    let mut context = shop();
    for (arguments, part) in [
        (search("dcos", json!([1]), json!({})), "Did you mean docs?"),
        (
            json!({"table": "docs", "column": "vv", "vector": [1]}),
            "has no column \"vv\"",
        ),
        (search("seen", json!([1, 2]), json!({})), "is a view"),
        (search("bits", json!([1, 2]), json!({})), "int8 or bit"),
        (search("docs", json!([]), json!({})), "vector is empty"),
        (
            search("docs", json!(["x"]), json!({})),
            "neither an array of numbers",
        ),
        (
            search("docs", json!({"blob": "00"}), json!({})),
            "neither an array of numbers",
        ),
        (
            search("docs", json!({"blob": "zz"}), json!({})),
            "neither an array of numbers",
        ),
        (search("docs", json!([1e300, 1]), json!({})), "not finite"),
        (search("docs", json!([0, 0]), json!({})), "all zeros"),
        (
            search("docs", json!(vec![0.5; 70_000]), json!({})),
            "more than 65536",
        ),
        (
            search("docs", json!([1, 2]), json!({"measure": "manhattan"})),
            "measure",
        ),
    ] {
        let (_, sentence) = failure(&mut context, "vector-search", arguments);
        assert!(sentence.contains(part), "{part}: {sentence}");
    }
}

#[test]
fn a_row_without_direction_is_skipped_and_counted() {
    let mut context = shop();
    text(
        &mut context,
        "exec",
        json!({"sql": "UPDATE docs SET v = '[0, 0]' WHERE id = 1"}),
    );
    let shown = text(
        &mut context,
        "vector-search",
        search("docs", json!([1, 1]), json!({})),
    );
    assert!(shown.contains("1 row was skipped"), "{shown}");
}
