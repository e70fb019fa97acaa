//! The server is killed in the middle of a stream of writes, at any moment.

use std::time::{Duration, Instant};

use serde_json::json;
use sqlarium_tests::{Answer, Folder, Server};

use crate::ledger::{BANK, assert_balanced, logged, transfer};
use crate::{Dice, form, text};

/// Calls that are sent before the first reply is read: few enough for the pipe.
const SENT_AHEAD: u64 = 100;

#[test]
fn after_a_kill_every_answered_write_is_in_a_file_with_a_rollback_journal() {
    stream_of_writes("delete");
}

#[test]
fn after_a_kill_every_answered_write_is_in_a_file_with_a_write_ahead_log() {
    stream_of_writes("wal");
}

fn stream_of_writes(mode: &str) {
    let folder = Folder::new();
    let path = folder.database("bank.db", &format!("PRAGMA journal_mode = {mode}; {BANK}"));
    let mut dice = Dice(3);
    let (mut answered_in_all, mut unanswered) = (0, 0);
    for _ in 0..form(25, 200) {
        let first = logged(&path, "sqlarium");
        let mut server = Server::ready([text(&path)]);
        for n in first..first + SENT_AHEAD {
            server.begin("batch", json!({ "sql": transfer("sqlarium", n) }));
        }
        let killed_at = Instant::now() + Duration::from_micros(dice.below(120_000));
        let mut answered = first;
        while let Some(left) = killed_at.checked_duration_since(Instant::now()) {
            if let Some(reply) = server.receive(left) {
                let answer = Answer::of(&reply);
                assert!(!answer.refused, "{}", answer.text);
                answered += 1;
            }
        }
        // SIGKILL, wherever it is.
        drop(server);
        // Half of the time another server is the first to come upon what was left.
        if dice.below(2) == 0 {
            let mut server = Server::ready([text(&path)]);
            let sql = "SELECT sum(balance) FROM accounts";
            assert_eq!(server.rows(sql), json!([[4000]]));
        }
        assert_balanced(&path);
        let there = logged(&path, "sqlarium");
        assert!(
            (answered..=first + SENT_AHEAD).contains(&there),
            "{answered} were answered and {there} are there"
        );
        answered_in_all += answered - first;
        unanswered += there - answered;
    }
    println!("{mode}: {answered_in_all} answered, {unanswered} committed and not answered");
    assert!(
        answered_in_all > 100,
        "only {answered_in_all} were answered"
    );
}
