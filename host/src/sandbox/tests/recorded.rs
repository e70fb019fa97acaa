//! What a hostile guest can do to the record of calls: nothing but what its own session's lines say.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use super::client::{Host, PRINCIPAL};
use crate::threads::{Entry, Store, principal};

/// One with a database, and one for what is recorded.
fn folders() -> (TempDir, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("shop.db"), "").unwrap();
    (folder, tempfile::tempdir().unwrap())
}

#[test]
fn a_guest_reaches_no_other_principals_threads_by_any_name() {
    let (folder, record) = folders();
    let state = record.path().join("state");
    let entry = Entry {
        at: 1,
        bytes: b"secret".to_vec(),
    };
    let theirs = [("t".to_owned(), vec![entry])];
    let mut store = Store::open(&state).unwrap();
    store.append(principal("other"), &theirs).unwrap();
    let mut host = Host::recorded(folder.path(), record.path());
    let found = host.ask("call threads-names");
    assert_eq!(found, ["mine"; 10].join(" "));
    assert_eq!(host.finish(), Some(0));
    assert_eq!(store.show(principal("other"), "t").unwrap(), [b"secret"]);
    assert_eq!(store.list(Some(principal("other"))).unwrap().len(), 1);
    assert_eq!(store.list(Some(principal(PRINCIPAL))).unwrap().len(), 10);
}

#[test]
fn a_guest_forges_no_line_of_the_audit_and_writes_no_more_than_a_batch_would() {
    let (folder, record) = folders();
    let mut host = Host::recorded(folder.path(), record.path());
    assert_eq!(host.ask("call audit-odd"), "done");
    for misdeed in ["audit", "audit-forever", "audit-twice", "audit-storm"] {
        let answer = host.ask(&format!("call {misdeed}"));
        assert!(answer.contains("the sandbox failed"), "{misdeed}: {answer}");
    }
    assert_eq!(host.finish(), Some(0));
    let audit = fs::read_to_string(record.path().join("audit")).unwrap();
    let lines: Vec<Value> = audit
        .lines()
        .inspect(|line| {
            assert!(
                line.bytes().all(|byte| (0x20..0x7f).contains(&byte)),
                "{line}"
            )
        })
        .map(|line| serde_json::from_str(line).expect(line))
        .collect();
    assert!(lines.iter().all(|line| line["event"] == "call"));
    // Three, one that has no end when the next one begins, and a hundred.
    assert_eq!(lines.len(), 3 + 1 + 100);
    assert_eq!(lines[0]["tool"], "\u{1b}[2J\r\n{\"event\":\"start\"}\n");
    assert_eq!(lines[3]["status"], Value::Null);
    assert_eq!(lines[3]["cut_by"], "fault");
    assert!(
        lines[3].to_string().len() < 80 << 10,
        "names and ids are cut"
    );
}
