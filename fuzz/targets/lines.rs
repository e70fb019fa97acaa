//! Lines that are not what they should be, for a session over a small database.

#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use sqlarium_fuzz::{HOST, files, is_message, settings};
use sqlarium_guest::host::Interruption;
use sqlarium_guest::protocol::Session;
use sqlarium_guest::registry::REGISTRY;

/// What is served.
const DATABASE: &str = "
    CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, k REAL);
    INSERT INTO t VALUES (1, 'one', 1.5), (2, 'two', NULL), (3, 'three', 9e999);";

fuzz_target!(|input: &[u8]| {
    let files = files();
    static SERVED: OnceLock<Vec<u8>> = OnceLock::new();
    let served = SERVED.get_or_init(|| {
        let connection = rusqlite::Connection::open("shop.db").expect("a database");
        connection.execute_batch(DATABASE).expect("filled");
        drop(connection);
        files.bytes_of("shop.db").expect("its bytes")
    });
    files.replace([("shop.db", served.as_slice())]);
    // The first byte says how it was started.
    let (first, input) = input.split_first().unwrap_or((&0, &[]));
    let mut settings = settings();
    settings.strict = first & 1 != 0;
    settings.command.engine.readonly = first & 2 != 0;
    if first & 4 != 0 {
        settings.tools = "select".into();
    }
    let limit = settings.command.output.reply_bytes;
    let mut session = Session::new(settings.clone(), Vec::new(), &HOST, &REGISTRY);
    for line in input.split(|byte| *byte == b'\n') {
        HOST.begin();
        let mut replies = vec![session.answer(line)];
        if first & 16 != 0 {
            // Another instance hears it, as if this one were at work.
            let mut other = Session::new(settings.clone(), line.to_vec(), &HOST, &REGISTRY);
            other.triage(line);
            let reason = Interruption::Stopped("Stopped: \"enough\".".into());
            replies.push(other.interrupted(line, &reason));
        }
        replies.push((first & 8 != 0).then(|| session.overlong(line)));
        for reply in replies.into_iter().flatten() {
            assert!((reply.len() as u64) < limit);
            assert!(is_message(&reply), "{reply}");
        }
    }
    drop(session);
    assert_eq!(files.open_files(), 0, "a file was left open");
});
