//! What `search` finds and shows, through the command as a client calls it.

use serde_json::{Value, json};

use super::in_quotes;
use crate::answer::failure::Status;
use crate::command::interface::context::Context;
use crate::command::tests::{context, failure, json_of, text};
use crate::settings::EngineSettings;

const DOCS: &str = "
    CREATE TABLE docs(id INTEGER PRIMARY KEY, title TEXT, body TEXT);
    INSERT INTO docs VALUES
        (1, 'Foxes', 'The quick brown fox jumps over the lazy dog. A fox again: fox.'),
        (2, 'Dogs', 'A dog sleeps, far away from any fox, in a well-known place by the river, and \
            it goes on sleeping for as long as one looks at it, which is quite long indeed.'),
        (3, 'C++', 'Programming in C++ and AT&T assembler');
    CREATE VIRTUAL TABLE docs_fts USING fts5(title, body, content='docs', content_rowid='id');
    INSERT INTO docs_fts(docs_fts) VALUES('rebuild');";

fn made(sql: &str) -> Context {
    let mut context = context(EngineSettings::default());
    text(&mut context, "batch", json!({"sql": sql}));
    context
}

fn rowids(object: &Value) -> Vec<i64> {
    let rows = object["rows"].as_array().unwrap();
    rows.iter().map(|row| row[0].as_i64().unwrap()).collect()
}

#[test]
fn the_best_match_comes_first_and_its_words_are_marked() {
    let mut context = made(DOCS);
    let object = json_of(&mut context, "search", json!({"query": "fox"}));
    assert_eq!(rowids(&object), [1, 2]);
    let rows = &object["rows"];
    assert!(rows[0][1].as_f64() > rows[1][1].as_f64(), "{object}");
    assert!(
        rows[0][2].as_str().unwrap().contains("brown **fox** jumps"),
        "{object}"
    );
    assert_eq!(object["table"], "docs_fts");
    assert!(object.get("notes").is_none(), "{object}");
    // The order is that of bm25.
    let plain = json_of(
        &mut context,
        "query",
        json!({"sql": "SELECT rowid, -bm25(docs_fts) FROM docs_fts('fox') ORDER BY bm25(docs_fts)"}),
    );
    for row in [0, 1] {
        assert_eq!(plain["rows"][row][0], rows[row][0]);
        assert_eq!(plain["rows"][row][1], rows[row][1]);
    }
}

#[test]
fn a_snippet_is_short_and_full_has_the_whole_columns() {
    let mut context = made(DOCS);
    let short = json_of(
        &mut context,
        "search",
        json!({"query": "title:dogs OR river"}),
    );
    assert_eq!(rowids(&short), [2]);
    let full = json_of(
        &mut context,
        "search",
        json!({"query": "river dogs", "full": true}),
    );
    assert_eq!(full["columns"][2]["name"], "title");
    assert_eq!(full["rows"][0][2], "**Dogs**");
    let body = full["rows"][0][3].as_str().unwrap();
    assert!(body.starts_with("A dog sleeps") && body.ends_with("quite long indeed."));
    assert!(body.contains("the **river**,"), "{body}");
    assert!(short["rows"][0][2].as_str().unwrap().len() < body.len());
}

#[test]
fn k_is_ten_unless_it_is_given_and_what_is_left_is_counted() {
    let mut context = made(
        "CREATE VIRTUAL TABLE f USING fts5(t);
         INSERT INTO f SELECT 'word ' || value FROM generate_series(1, 25);",
    );
    let object = json_of(&mut context, "search", json!({"query": "word"}));
    assert_eq!(
        (object["row_count"].as_u64(), object["total"].as_u64()),
        (Some(10), Some(25))
    );
    let object = json_of(&mut context, "search", json!({"query": "word", "k": 3}));
    assert_eq!(
        (object["row_count"].as_u64(), object["more"].as_bool()),
        (Some(3), Some(true))
    );
    let (status, _) = failure(&mut context, "search", json!({"query": "word", "k": 0}));
    assert_eq!(status, Status::Syntax);
}

#[test]
fn a_query_that_fts5_cannot_read_is_explained_and_searched_for_by_its_words() {
    let mut context = made(DOCS);
    for (query, words, found) in [
        ("well-known", "\"well-known\"", 2),
        ("C++", "\"C++\"", 3),
        ("AT&T", "\"AT&T\"", 3),
        ("fox AND", "\"fox\"", 1),
        (
            "(well-known OR AT&T) NOT",
            "\"(well-known\" OR \"AT&T)\"",
            3,
        ),
        ("\"lazy dog", "\"lazy\" \"dog\"", 1),
        ("\"lazy dog\" AND a-fo*", "\"lazy dog\" AND \"a-fo\"*", 1),
        ("nowhere: fox", "\"nowhere:\" \"fox\"", 0),
        ("(assembler", "\"(assembler\"", 3),
        ("* fox 'quick'", "\"fox\" \"'quick'\"", 1),
    ] {
        let object = json_of(&mut context, "search", json!({"query": query}));
        assert_eq!(object["ok"], true, "{query}: {object}");
        assert_eq!(object["match"], words, "{query}");
        let note = object["notes"][0].as_str().unwrap();
        assert!(
            note.starts_with("FTS5 cannot parse this query (") && note.ends_with(words),
            "{note}"
        );
        if found > 0 {
            assert_eq!(rowids(&object)[0], found, "{query}");
        } else {
            assert_eq!(object["row_count"], 0, "{query}");
            assert!(
                object["notes"][1]
                    .as_str()
                    .unwrap()
                    .contains("Nothing matches")
            );
        }
    }
    for query in [
        "fox NOT lazy",
        "fo*",
        "NEAR(quick fox)",
        "\"lazy dog\"",
        "body : fox",
    ] {
        let object = json_of(&mut context, "search", json!({"query": query}));
        assert_eq!(object["match"], query);
        assert!(object["row_count"].as_u64() > Some(0), "{query}");
        assert!(object.get("notes").is_none(), "{query}: {object}");
    }
}

#[test]
fn quoting_leaves_no_character_with_a_meaning() {
    assert_eq!(in_quotes("a b\"c - * d:e \"\""), "\"a\" \"b\"\"c\" \"d:e\"");
    assert_eq!(in_quotes(" -- \"\" OR"), "");
    assert_eq!(in_quotes("AND a OR NOT b NOT"), "\"a\" OR \"b\"");
}

#[test]
fn an_empty_query_is_refused() {
    for query in ["", "  \n"] {
        let (status, sentence) = failure(&mut made(DOCS), "search", json!({"query": query}));
        assert_eq!(status, Status::Syntax);
        assert!(sentence.starts_with("query is empty"), "{sentence}");
    }
}

#[test]
fn the_table_may_be_the_index_or_the_table_that_it_indexes() {
    let mut context = made(&format!(
        "{DOCS} CREATE VIRTUAL TABLE other USING fts5(t); CREATE TABLE plain(x);
         CREATE VIRTUAL TABLE four USING fts4(t);"
    ));
    for table in ["docs_fts", "DOCS", "main.docs", "\"docs\""] {
        let object = json_of(
            &mut context,
            "search",
            json!({"query": "fox", "table": table}),
        );
        assert_eq!(object["table"], "docs_fts", "{object}");
    }
    let mut refused = |table: Value, part: &str| {
        let (status, sentence) = failure(
            &mut context,
            "search",
            json!({"query": "fox", "table": table}),
        );
        assert!(sentence.contains(part), "{sentence}");
        status
    };
    assert_eq!(
        refused(Value::Null, "one of: docs_fts, other."),
        Status::Syntax
    );
    assert_eq!(
        refused(json!("plain"), "plain has no full-text index"),
        Status::NotFound
    );
    assert_eq!(refused(json!("four"), "FTS3 or FTS4"), Status::Unsupported);
    assert_eq!(
        refused(json!("dosc"), "Did you mean docs?"),
        Status::NotFound
    );
    text(
        &mut context,
        "exec",
        json!({"sql": "CREATE VIRTUAL TABLE second USING fts5(body, content=docs)"}),
    );
    let (status, sentence) = failure(
        &mut context,
        "search",
        json!({"query": "fox", "table": "docs"}),
    );
    assert_eq!(status, Status::Syntax);
    assert!(sentence.contains("docs_fts, second"), "{sentence}");
}

#[test]
fn without_an_index_the_hint_is_index_text() {
    let (status, sentence) = failure(
        &mut made("CREATE TABLE t(x)"),
        "search",
        json!({"query": "fox"}),
    );
    assert_eq!(status, Status::NotFound);
    assert!(sentence.contains("sqlarium_index_text"), "{sentence}");
}

#[test]
fn a_contentless_table_gives_rowids_and_scores_and_says_so() {
    let mut context = made(
        "CREATE VIRTUAL TABLE less USING fts5(t, content='');
         INSERT INTO less(rowid, t) VALUES(7, 'a fox'), (8, 'a dog'), (9, 'a cat');",
    );
    let object = json_of(
        &mut context,
        "search",
        json!({"query": "fox", "full": true}),
    );
    assert_eq!(object["columns"].as_array().unwrap().len(), 2);
    assert_eq!(rowids(&object), [7]);
    assert!(object["notes"][0].as_str().unwrap().contains("contentless"));
}

#[test]
fn an_index_out_of_sync_still_finds_rows_and_shows_how_to_rebuild_it() {
    let mut context = made(&format!("{DOCS} DELETE FROM docs WHERE id = 1;"));
    let object = json_of(&mut context, "search", json!({"query": "lazy"}));
    assert_eq!(rowids(&object), [1]);
    assert_eq!(object["columns"].as_array().unwrap().len(), 2, "{object}");
    let note = object["notes"][0].as_str().unwrap();
    assert!(note.contains("out of sync with docs"), "{note}");
    let mend = note
        .split("with INSERT")
        .nth(1)
        .unwrap()
        .trim_end_matches('.');
    text(
        &mut context,
        "exec",
        json!({"sql": format!("INSERT{mend}")}),
    );
    let object = json_of(&mut context, "search", json!({"query": "lazy"}));
    assert_eq!(object["row_count"], 0);
}

#[test]
fn hostile_names_of_tables_and_columns_do_no_harm() {
    let mut context = made(
        "CREATE VIRTUAL TABLE \"f') --\"\"\" USING fts5(\"a'), (\"\"b\", 'order');
         INSERT INTO \"f') --\"\"\" VALUES('a fox', 'none');",
    );
    for full in [true, false] {
        let object = json_of(
            &mut context,
            "search",
            json!({"query": "fox", "full": full}),
        );
        assert_eq!(object["rows"][0][2], "a **fox**", "{object}");
    }
}

#[test]
fn what_fts5_would_take_for_its_own_language_is_searched_for_as_words() {
    let mut context = made(DOCS);
    for (query, used) in [
        ("AND", "\"AND\""),
        ("*sleeps", "\"sleeps\""),
        ("\"fox", "\"fox\""),
    ] {
        let object = json_of(&mut context, "search", json!({ "query": query }));
        assert_eq!(object["match"], used, "{query}");
    }
    for query in ["*", "\"", "!!!", "--", "{", "fox\0"] {
        let (status, sentence) = failure(&mut context, "search", json!({ "query": query }));
        assert_eq!(status, Status::Syntax, "{query}: {sentence}");
        assert!(sentence.starts_with("query "), "{sentence}");
    }
}

#[test]
fn an_index_that_takes_no_phrases_is_searched_word_by_word() {
    let mut context = made(
        "CREATE VIRTUAL TABLE f USING fts5(x, detail=none); INSERT INTO f VALUES ('foo bar'), ('foo');",
    );
    let object = json_of(&mut context, "search", json!({"query": "foo-bar"}));
    assert_eq!(object["match"], "\"foo\" \"bar\"");
    assert_eq!(rowids(&object), [1]);
}

#[test]
fn an_index_without_its_table_still_finds_matching_rows() {
    let mut context = made(DOCS);
    text(&mut context, "exec", json!({"sql": "DROP TABLE docs"}));
    let object = json_of(&mut context, "search", json!({"query": "fox"}));
    assert_eq!(rowids(&object), [1, 2]);
    let notes = object["notes"].to_string();
    assert!(notes.contains("docs, which cannot be read"), "{notes}");
}

#[test]
fn words_that_an_index_does_not_hold_are_found_as_parts_of_its_text() {
    for (tokenizer, text, query) in [
        ("trigram", "日本の首都は東京です", "東京"),
        ("trigram", "a red fox", "ed"),
        ("unicode61", "日本の首都は東京です", "東京"),
        ("unicode61", "我们在北京学习数据库", "数据库 北京"),
        ("unicode61", "データベースの索引", "索引"),
    ] {
        let mut context = made(&format!(
            "CREATE VIRTUAL TABLE f USING fts5(body, tokenize='{tokenizer}');
             INSERT INTO f VALUES('other'), ('{text}');"
        ));
        for full in [true, false] {
            let object = json_of(
                &mut context,
                "search",
                json!({"query": query, "full": full}),
            );
            assert_eq!(rowids(&object), [2], "{tokenizer} {query}: {object}");
            assert!(
                object["notes"][0].as_str().unwrap().contains("by LIKE"),
                "{object}"
            );
        }
    }
    // A word that is not there is not searched for within others.
    let mut context =
        made("CREATE VIRTUAL TABLE f USING fts5(body); INSERT INTO f VALUES('about')");
    let object = json_of(&mut context, "search", json!({"query": "ab"}));
    assert_eq!(object["row_count"], 0);
}
