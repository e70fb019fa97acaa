//! What `index-text` makes, and that it stays true.

use serde_json::{Value, json};

use crate::answer::failure::Status;
use crate::command::interface::context::Context;
use crate::command::tests::{context, failure, json_of, text};
use crate::settings::EngineSettings;

const DOCS: &str = "
    CREATE TABLE docs(id INTEGER PRIMARY KEY, title TEXT, body VARCHAR(99), n INTEGER, g TEXT AS (title || n));
    INSERT INTO docs(title, body, n) VALUES('Foxes', 'a red fox', 5), ('Dogs', NULL, 6);";

fn made(sql: &str) -> Context {
    let mut context = context(EngineSettings::default());
    text(&mut context, "batch", json!({"sql": sql}));
    context
}

fn run(context: &mut Context, sql: &str) {
    text(context, "batch", json!({"sql": sql}));
}

fn found(context: &mut Context, table: &str, query: &str) -> Vec<Value> {
    let object = json_of(
        context,
        "search",
        json!({"table": table, "query": query, "k": 100}),
    );
    let mut rows: Vec<i64> = object["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row[0].as_i64().unwrap())
        .collect();
    rows.sort();
    rows.into_iter().map(Value::from).collect()
}

/// FTS5's own comparison of the index with the table.
fn assert_true(context: &mut Context, index: &str) {
    run(
        context,
        &format!("INSERT INTO {index}({index}, rank) VALUES('integrity-check', 1)"),
    );
}

#[test]
fn the_text_columns_are_indexed_and_can_be_searched_at_once() {
    let mut context = made(DOCS);
    let object = json_of(&mut context, "index-text", json!({"table": "DOCS"}));
    assert_eq!(object["index"], "docs_fts");
    assert_eq!(object["indexed_columns"], json!(["title", "body"]));
    assert_eq!(object["content_rowid"], "id");
    assert_eq!(object["indexed_rows"], 2);
    assert_eq!(object["notes"].as_array().unwrap().len(), 1, "{object}");
    assert_eq!(found(&mut context, "docs", "fox"), [1]);
    assert_eq!(found(&mut context, "docs_fts", "dogs"), [2]);
}

#[test]
fn every_change_of_the_table_is_a_change_of_the_index() {
    let mut context = made(DOCS);
    json_of(&mut context, "index-text", json!({"table": "docs"}));
    run(
        &mut context,
        "INSERT INTO docs(id, title) VALUES(9, 'Cats'); UPDATE docs SET body = 'a grey fox' WHERE id = 2;
         UPDATE docs SET id = 50 WHERE id = 1; DELETE FROM docs WHERE id = 9;
         INSERT INTO docs(id, title) VALUES(50, 'x') ON CONFLICT DO UPDATE SET title = 'Vixens';",
    );
    assert_eq!(found(&mut context, "docs", "fox"), [2, 50]);
    assert_eq!(found(&mut context, "docs", "grey"), [2]);
    assert_eq!(found(&mut context, "docs", "vixens"), [50]);
    assert!(found(&mut context, "docs", "foxes OR cats OR x").is_empty());
    assert_true(&mut context, "docs_fts");
}

#[test]
fn columns_can_be_named_in_quotes_too_and_generated_ones_with_them() {
    let mut context = made(DOCS);
    let object = json_of(
        &mut context,
        "index-text",
        json!({"table": "docs", "columns": "G, \"n\", g"}),
    );
    assert_eq!(object["indexed_columns"], json!(["g", "n"]));
    assert_eq!(found(&mut context, "docs", "Foxes5"), [1]);
    run(
        &mut context,
        "UPDATE docs SET title = 'Owl', n = 8 WHERE id = 1",
    );
    assert_eq!(found(&mut context, "docs", "Owl8"), [1]);
    assert_true(&mut context, "docs_fts");
}

#[test]
fn the_tokenizer_can_be_chosen() {
    for (tokenizer, query) in [("trigram", "oxe"), ("porter", "foxing")] {
        let mut context = made(DOCS);
        json_of(
            &mut context,
            "index-text",
            json!({"table": "docs", "columns": "title", "tokenizer": tokenizer}),
        );
        assert_eq!(found(&mut context, "docs", query), [1], "{tokenizer}");
    }
}

#[test]
fn a_table_without_an_integer_primary_key_is_indexed_by_its_rowid_with_a_warning() {
    for (declared, rowid) in [
        ("t TEXT", "rowid"),
        ("t TEXT, rowid", "_rowid_"),
        ("t TEXT, k INTEGER PRIMARY KEY DESC", "rowid"),
        ("t TEXT, k INT PRIMARY KEY", "rowid"),
        ("t TEXT, a INTEGER, b INTEGER, PRIMARY KEY(a, b)", "rowid"),
    ] {
        let mut context = made(&format!(
            "CREATE TABLE d({declared}); INSERT INTO d(t) VALUES('one'), ('two');"
        ));
        let object = json_of(&mut context, "index-text", json!({"table": "d"}));
        assert_eq!(object["content_rowid"], rowid, "{declared}");
        assert!(
            object["notes"][1].as_str().unwrap().contains("VACUUM"),
            "{object}"
        );
        run(
            &mut context,
            "DELETE FROM d WHERE t = 'one'; INSERT INTO d(t) VALUES('three')",
        );
        assert_eq!(found(&mut context, "d", "two"), [2], "{declared}");
        assert!(found(&mut context, "d", "one").is_empty());
        assert_true(&mut context, "d_fts");
    }
}

#[test]
fn what_cannot_be_indexed_is_refused_with_a_reason() {
    let mut context = made(&format!(
        "{DOCS} CREATE VIEW v AS SELECT title FROM docs; CREATE VIRTUAL TABLE f USING fts5(t);
         CREATE TABLE w(t TEXT PRIMARY KEY) WITHOUT ROWID; CREATE TABLE numbers(a INTEGER, b);"
    ));
    for (arguments, status, part) in [
        (json!({"table": "v"}), Status::Unsupported, "is a view"),
        (json!({"table": "f"}), Status::Unsupported, "virtual table"),
        (
            json!({"table": "f_data"}),
            Status::Unsupported,
            "belongs to",
        ),
        (json!({"table": "w"}), Status::Unsupported, "WITHOUT ROWID"),
        (
            json!({"table": "numbers"}),
            Status::InvalidState,
            "numbers has: a, b.",
        ),
        (
            json!({"table": "dosc"}),
            Status::NotFound,
            "Did you mean docs?",
        ),
        (
            json!({"table": "docs", "columns": "titel"}),
            Status::NotFound,
            "Did you mean title?",
        ),
    ] {
        let (found, sentence) = failure(&mut context, "index-text", arguments);
        assert_eq!(found, status, "{sentence}");
        assert!(sentence.contains(part), "{sentence}");
    }
}

#[test]
fn nothing_that_is_there_is_touched() {
    let mut context = made(DOCS);
    json_of(&mut context, "index-text", json!({"table": "docs"}));
    let (status, sentence) = failure(&mut context, "index-text", json!({"table": "docs"}));
    assert_eq!(status, Status::InvalidState);
    assert!(
        sentence.contains("The table docs_fts exists already"),
        "{sentence}"
    );
    for sql in [
        "CREATE TABLE docs_FTS_data(x)",
        "CREATE TRIGGER docs_fts_update AFTER INSERT ON docs BEGIN SELECT 1; END",
        "CREATE VIEW docs_fts AS SELECT 1",
    ] {
        let mut context = made(&format!("{DOCS} {sql};"));
        let before = json_of(&mut context, "schema", json!({}))["rows"].clone();
        let (status, sentence) = failure(&mut context, "index-text", json!({"table": "docs"}));
        assert_eq!(status, Status::InvalidState, "{sentence}");
        assert_eq!(json_of(&mut context, "schema", json!({}))["rows"], before);
    }
}

#[test]
fn it_is_a_write_and_refused_where_writing_is() {
    let mut context = context(EngineSettings {
        readonly: true,
        ..EngineSettings::default()
    });
    let (status, _) = failure(&mut context, "index-text", json!({"table": "docs"}));
    assert_eq!(status, Status::NotFound);
    let file = crate::command::tests::File::new(DOCS);
    let mut context = crate::command::tests::context(EngineSettings {
        readonly: true,
        ..file.settings()
    });
    let (status, sentence) = failure(&mut context, "index-text", json!({"table": "docs"}));
    assert_eq!(status, Status::Readonly);
    assert!(sentence.contains("--readonly"), "{sentence}");
}

#[test]
fn hostile_names_go_in_and_come_out() {
    for name in [
        "or'der",
        "a\"b",
        "x; DROP TABLE docs; --",
        "ünï🦀",
        "[x]",
        "new",
    ] {
        let quoted = format!("\"{}\"", name.replace('"', "\"\""));
        let mut context = made(&format!(
            "CREATE TABLE {quoted}(id INTEGER PRIMARY KEY, {quoted} TEXT);
             INSERT INTO {quoted} VALUES(3, 'a fox');"
        ));
        let object = json_of(&mut context, "index-text", json!({"table": name}));
        assert_eq!(object["ok"], true, "{object}");
        run(
            &mut context,
            &format!("UPDATE {quoted} SET {quoted} = 'a dog'"),
        );
        assert_eq!(found(&mut context, name, "dog"), [3]);
        assert!(found(&mut context, name, "fox").is_empty());
    }
}

#[test]
fn a_column_whose_name_fts5_reserves_has_another_in_the_index() {
    let mut context = made(
        "CREATE TABLE docs(id INTEGER PRIMARY KEY, rank TEXT, docs_fts TEXT, rank_ TEXT);
         INSERT INTO docs VALUES(1, 'colonel', 'red', 'x'), (2, 'major', 'blue', 'y');",
    );
    let answer = text(&mut context, "index-text", json!({"table": "docs"}));
    assert!(
        answer.contains("Column rank is called rank__ in the index"),
        "{answer}"
    );
    text(
        &mut context,
        "exec",
        json!({"sql": "UPDATE docs SET rank = 'general' WHERE id = 1"}),
    );
    text(
        &mut context,
        "exec",
        json!({"sql": "DELETE FROM docs WHERE id = 2"}),
    );
    for (query, count) in [("general", 1), ("colonel", 0), ("red", 1), ("blue", 0)] {
        let object = json_of(
            &mut context,
            "search",
            json!({"table": "docs", "query": query}),
        );
        assert_eq!(object["row_count"], count, "{query}: {object}");
    }
}
