//! Which value of `params` goes to which parameter.

use std::collections::BTreeMap;

use super::undo::property::Dice;
use super::*;

/// The row of a query, its values as numbers.
#[track_caller]
fn row(engine: &mut Engine, sql: &str, params: serde_json::Value) -> Vec<i64> {
    let rows = table(query_with(engine, sql, params).unwrap()).rows;
    let number = |value: &Value| match value {
        Value::Integer(number) => *number,
        other => panic!("{sql} gives {other:?}"),
    };
    rows[0].iter().map(number).collect()
}

#[test]
fn a_number_is_a_position_whatever_sign_is_in_front() {
    let mut engine = engine("");
    for sign in ["?", "$", ":", "@"] {
        let sql = |text: &str| text.replace('#', sign);
        let row = |engine: &mut Engine, text: &str, params| row(engine, &sql(text), params);
        assert_eq!(row(&mut engine, "SELECT #2, #1", json!([10, 20])), [20, 10]);
        assert_eq!(
            row(&mut engine, "SELECT #2, #1, #2, #3", json!([10, 20, 30])),
            [20, 10, 20, 30]
        );
        assert_eq!(row(&mut engine, "SELECT #2", json!([10, 20])), [20]);
        assert_eq!(row(&mut engine, "SELECT #2", json!({"2": 20})), [20]);
        assert_eq!(
            row(&mut engine, "SELECT #10, #9", json!({"9": 1, "10": 2})),
            [2, 1]
        );
    }
}

#[test]
fn a_write_changes_the_row_that_the_numbers_say() {
    for (sql, params) in [
        ("UPDATE u SET n=$2 WHERE id=$1", json!([1, 2])),
        ("UPDATE u SET n=:2 WHERE id=:1", json!([1, 2])),
        ("UPDATE u SET n=@2 WHERE id=@1", json!([1, 2])),
        ("UPDATE u SET n=?2 WHERE id=?1", json!([1, 2])),
        ("UPDATE u SET n=? WHERE id=?", json!([2, 1])),
        ("UPDATE u SET n=?3 WHERE id=?2", json!({"2": 1, "3": 2})),
        ("UPDATE u SET n=:n WHERE id=:id", json!({"id": 1, "n": 2})),
    ] {
        let mut engine = engine(
            "CREATE TABLE u(id INTEGER PRIMARY KEY, n INT); INSERT INTO u VALUES(1,0),(2,0)",
        );
        let params = Params::from_json(&params).unwrap();
        engine.database(None).unwrap().exec(sql, &params).unwrap();
        assert_eq!(
            number(&mut engine, "SELECT sum(id * 10 + n) FROM u WHERE n"),
            12,
            "{sql}"
        );
    }
}

#[test]
fn signs_in_strings_names_and_comments_are_no_parameters() {
    let mut engine = engine("");
    let sql = "/* ? $1 */ SELECT ?3 AS \"?\", ? AS [?1] -- ?\n WHERE '$2' <> '?'";
    assert_eq!(row(&mut engine, sql, json!({"3": 30, "4": 40})), [30, 40]);
    assert_eq!(row(&mut engine, sql, json!([0, 0, 30, 40])), [30, 40]);
    assert_eq!(
        row(
            &mut engine,
            "SELECT $a::b(c), ?",
            json!({"a::b(c)": 1, "2": 2})
        ),
        [1, 2]
    );
    assert_eq!(
        row(&mut engine, "SELECT ?, ?1, ?", json!([1, 2])),
        [1, 1, 2]
    );
}

#[test]
fn an_array_is_refused_where_its_order_does_not_say_which_is_meant() {
    let mut engine = engine("");
    for (sql, params, part) in [
        (
            "SELECT :p2, :p1",
            json!([1, 2]),
            "2 parameters, :p2, :p1, and an array has no names to bind them by. Give params as an \
             object: {\"p2\": …, \"p1\": …}.",
        ),
        ("SELECT ?, :x", json!([1, 2]), "{\"1\": …, \"x\": …}"),
        (
            "SELECT ?, $1",
            json!([1, 2]),
            "mixes ? with $1. Number all of them",
        ),
        ("SELECT $2, ?1", json!([1, 2]), "mixes ? with $2."),
        ("SELECT $0", json!([1]), "numbered from 1"),
        (
            "SELECT ?2",
            json!([5]),
            "one parameter, ?2, but params has one value. An array is bound \
             by number, so it takes 2 values here; an object, as {\"2\": value}",
        ),
        (
            "SELECT $2, $1",
            json!([1, 2, 3]),
            "2 parameters, $2, $1, but params has 3 values",
        ),
        (
            "SELECT $2",
            json!({"1": 1}),
            "no value for the parameter $2",
        ),
        (
            "SELECT ?2",
            json!({"3": 1, "2": 1}),
            "a value for \"3\", but",
        ),
    ] {
        refused(query_with(&mut engine, sql, params), Status::Syntax, part);
    }
    assert_eq!(row(&mut engine, "SELECT :only, :only", json!([7])), [7, 7]);
    assert_eq!(row(&mut engine, "SELECT ?2", json!({"1": 1, "2": 2})), [2]);
}

#[test]
fn each_random_parameter_gets_the_value_of_its_number() {
    let mut engine = engine("");
    for seed in 0..2_000 {
        let mut dice = Dice(seed);
        let sign = dice.pick(&["?", "$", ":", "@"]);
        let numbers: Vec<u64> = (0..=dice.below(6)).map(|_| 1 + dice.below(8)).collect();
        let most = *numbers.iter().max().unwrap();
        let written: Vec<String> = numbers.iter().map(|n| format!("{sign}{n}")).collect();
        let sql = format!(
            "SELECT {}",
            written.join(dice.pick(&[", ", "/*?*/,", ", '?', "]))
        );
        let wanted: Vec<i64> = numbers.iter().map(|n| 100 + *n as i64).collect();
        let sql = sql.replace("'?'", "'?' = 0");
        let given = |engine: &mut Engine, params| {
            let mut values = row(engine, &sql, params);
            values.retain(|value| *value != 0);
            values
        };
        let all: Vec<u64> = (1..=most).map(|n| 100 + n).collect();
        assert_eq!(given(&mut engine, json!(all)), wanted, "{sql}");
        let object: BTreeMap<String, u64> =
            numbers.iter().map(|n| (n.to_string(), 100 + n)).collect();
        assert_eq!(given(&mut engine, json!(object)), wanted, "{sql}");
        let (short, long) = (&all[1..], [&all[..], &[0]].concat());
        for wrong in [json!(short), json!(long)] {
            refused(
                query_with(&mut engine, &sql, wrong),
                Status::Syntax,
                "params has",
            );
        }
    }
}
