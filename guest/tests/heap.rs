//! SQLite's hard heap limit, which holds for a whole process: one test, in a process of its own.

use sqlarium_guest::answer::failure::Status;
use sqlarium_guest::answer::value::Value;
use sqlarium_guest::engine::Engine;
use sqlarium_guest::engine::statement::params::Params;
use sqlarium_guest::host::Alone;
use sqlarium_guest::settings::{EngineSettings, OutputLimits};

#[test]
fn a_statement_that_needs_too_much_memory_ends_in_a_sentence_and_the_next_call_works() {
    let mut settings = EngineSettings::default();
    settings.limits.memory_bytes = 64 << 20;
    let mut engine = Engine::new(&settings, OutputLimits::default(), &Alone);
    let mut query = |sql: &str| {
        engine
            .database(None)
            .unwrap()
            .query(sql, &Params::None, None)
    };
    let limit = query("PRAGMA hard_heap_limit").unwrap().rows.unwrap().rows;
    assert_eq!(limit, [[Value::Integer(45 << 20)]]);
    // Each value within the limit of one value, all together beyond the heap.
    let sql = "SELECT length(a), length(b), length(c), length(d), length(a || b) FROM
               (SELECT randomblob(14000000) a, randomblob(14000000) b, randomblob(14000000) c, randomblob(14000000) d
                FROM generate_series(1, 2) ORDER BY 1)";
    let failure = query(sql).unwrap_err();
    assert_eq!(failure.status, Status::Full, "{failure}");
    assert!(failure.message.contains("--memory"), "{failure}");
    assert_eq!(
        query("SELECT 1").unwrap().rows.unwrap().rows,
        [[Value::Integer(1)]]
    );
}
