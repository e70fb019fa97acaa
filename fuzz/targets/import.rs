//! Files of CSV, JSON and the like, plain and packed, into a new table or one that is there: all of it or
//! nothing, and what was taken can be written again.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use serde_json::json;
use sqlarium_fuzz::{call, context, files, settings};

/// How the file is called, and what else is said.
const NAMES: [&str; 6] = ["x.csv", "x.tsv", "x.json", "x.jsonl", "x.txt", "x.csv.gz"];

fuzz_target!(|input: &[u8]| -> Corpus {
    let Some((first, content)) = input.split_first() else {
        return Corpus::Reject;
    };
    let files = files();
    let name = NAMES[usize::from(*first) % NAMES.len()];
    files.replace([("shop.db", &b""[..]), (name, content)]);
    let mut context = context(settings());
    let there = first & 0x40 != 0;
    if there {
        let table = "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT NOT NULL, n NUMERIC UNIQUE, g AS (n) STORED)";
        call(&mut context, "exec", &json!({"sql": table}));
    }
    let mut given = json!({"file": name, "table": "t", "no_header": first & 0x20 != 0});
    if first & 0x80 != 0 {
        given["separator"] = ";".into();
    }
    let said = call(&mut context, "import", &given);
    let rows = call(
        &mut context,
        "query",
        &json!({"sql": "SELECT count(*) AS n FROM t", "output": "json"}),
    );
    match &said.failure {
        Some(failure) if there => {
            let none = rows
                .object
                .as_ref()
                .is_some_and(|rows| rows["rows"][0][0] == 0);
            assert!(none, "{failure}, and yet {}", rows.text);
        }
        Some(_) => assert!(rows.failure.is_some(), "{}", rows.text),
        None => {
            assert!(said.text.starts_with("Imported "), "{}", said.text);
            call(
                &mut context,
                "export",
                &json!({"table": "t", "format": "json"}),
            );
        }
    }
    drop(context);
    assert_eq!(files.open_files(), 0, "a file was left open");
    Corpus::Keep
});
