//! A statement and params for it, as a model may send them.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use serde_json::{Value, json};
use sqlarium_fuzz::{call, context, files, settings};

fuzz_target!(|input: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(input) else {
        return Corpus::Reject;
    };
    let (sql, params) = text.split_once('\n').unwrap_or((text, ""));
    let params = serde_json::from_str(params).unwrap_or_else(|_| Value::from(params));
    let files = files();
    files.replace([("shop.db", &b""[..])]);
    let mut context = context(settings());
    let table = "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, n)";
    call(&mut context, "exec", &json!({ "sql": table }));
    for (command, output) in [("query", "text"), ("exec", "json"), ("explain", "text")] {
        let mut given = json!({"sql": sql, "output": output});
        if command != "explain" {
            given["params"] = params.clone();
        }
        let answer = call(&mut context, command, &given);
        assert!(!answer.text.is_empty());
    }
    drop(context);
    assert_eq!(files.open_files(), 0, "a file was left open");
    Corpus::Keep
});
