//! Budgets, cancellation, and what works afterwards.

use std::time::Instant;

use super::*;

const ENDLESS: &str =
    "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

#[test]
fn a_query_without_end_is_stopped_and_the_next_call_works() {
    let reason = "The call ran for 60 s, the time budget (--timeout).";
    let host = Stern::new(100, Some(Interruption::Stopped(reason.into())));
    let mut engine = Engine::new(&EngineSettings::default(), OutputLimits::default(), host);
    for sql in [
        ENDLESS,
        "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b",
    ] {
        let failure = refused(query(&mut engine, sql), Status::Interrupted, reason);
        assert!(!failure.cancelled);
        host.relent();
        assert_eq!(number(&mut engine, "SELECT 1"), 1);
        *host.interruption.lock().unwrap() = Some(Interruption::Stopped(reason.into()));
        host.checks.store(0, Ordering::Relaxed);
    }
}

#[test]
fn a_cancelled_call_is_marked_as_such() {
    let host = Stern::new(50, Some(Interruption::Cancelled));
    let mut engine = Engine::new(&EngineSettings::default(), OutputLimits::default(), host);
    let failure = refused(
        query(&mut engine, ENDLESS),
        Status::Interrupted,
        "cancelled",
    );
    assert!(failure.cancelled);
    // As long as the host says so, nothing is even started.
    assert!(query(&mut engine, "SELECT 1").unwrap_err().cancelled);
    host.relent();
    assert_eq!(number(&mut engine, "SELECT 1"), 1);
}

#[test]
fn a_write_that_is_stopped_leaves_nothing_behind() {
    let host = Stern::new(u32::MAX, Some(Interruption::Stopped("Enough.".into())));
    let mut engine = Engine::new(&EngineSettings::default(), OutputLimits::default(), host);
    batch(&mut engine, "CREATE TABLE t(a); INSERT INTO t VALUES (1)").unwrap();
    let stern = |sql: &str, whole: bool, engine: &mut Engine| {
        // From the tenth check on; the counter starts again.
        host.checks.store(u32::MAX - 10, Ordering::Relaxed);
        let result = if whole {
            batch(engine, sql)
        } else {
            exec(engine, sql)
        };
        refused(result, Status::Interrupted, "Enough.");
        host.checks.store(0, Ordering::Relaxed);
    };
    let endless = ENDLESS.replace("SELECT count(*) FROM n", "INSERT INTO t SELECT i FROM n");
    stern(&endless, false, &mut engine);
    assert_eq!(number(&mut engine, "SELECT count(*) FROM t"), 1);
    stern(
        &format!("INSERT INTO t VALUES (2); {endless}"),
        true,
        &mut engine,
    );
    assert_eq!(number(&mut engine, "SELECT count(*) FROM t"), 1);
    exec(&mut engine, "INSERT INTO t VALUES (2)").unwrap();
    assert_eq!(value(&mut engine, "PRAGMA integrity_check"), text("ok"));
}

#[test]
fn our_own_looks_stop_too() {
    let host = Stern::new(50, Some(Interruption::Stopped("Enough.".into())));
    let mut engine = Engine::new(&EngineSettings::default(), OutputLimits::default(), host);
    let failure = engine
        .database(None)
        .unwrap()
        .inspect(|connection| connection.query_row(ENDLESS, [], |_| Ok(())))
        .unwrap_err();
    assert_eq!(
        (failure.status, failure.message.as_str()),
        (Status::Interrupted, "Enough.")
    );
}

/// A host that lets a call run and says for how long it has.
struct Clock(Instant);

impl Host for Clock {
    fn check(&self) -> Verdict {
        Ok(self.0.elapsed())
    }
}

#[test]
fn a_long_call_reports_progress_about_once_a_second() {
    let host: &Clock = Box::leak(Box::new(Clock(Instant::now())));
    let mut engine = Engine::new(&EngineSettings::default(), OutputLimits::default(), host);
    let told: Arc<Mutex<Vec<(Duration, Progress)>>> = Arc::default();
    let list = Arc::clone(&told);
    let count = move |elapsed, progress: &Progress| {
        list.lock().unwrap().push((elapsed, progress.clone()));
    };
    engine.interrupt().begin(Some(Box::new(count)), TO_A_CLIENT);
    while host.0.elapsed() < Duration::from_millis(2_300) {
        query(
            &mut engine,
            "SELECT sum(value) FROM generate_series(1, 200000)",
        )
        .unwrap();
    }
    engine.interrupt().end();
    query(
        &mut engine,
        "SELECT sum(value) FROM generate_series(1, 200000)",
    )
    .unwrap();
    let told = told.lock().unwrap();
    assert_eq!(told.len(), 2, "{told:?}");
    let (first, second) = (&told[0], &told[1]);
    assert!(first.0 >= TO_A_CLIENT && second.0 >= first.0 + TO_A_CLIENT);
    // Rows that were given.
    assert!(first.1.done > 0 && second.1.done > first.1.done, "{told:?}");
    assert_eq!((first.1.unit, first.1.total), ("row", None));
}

#[test]
fn a_lock_is_waited_for_and_named() {
    let folder = Folder::new();
    let path = folder.database("shop.db", "CREATE TABLE t(a)");
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let host = Stern::new(u32::MAX, None);
    let mut engine = Engine::new(&on_file(&path), OutputLimits::default(), host);
    refused(
        query(&mut engine, "SELECT * FROM t"),
        Status::Busy,
        "shop.db is locked by another process; waited 5 s for it (--busy-timeout).",
    );
    assert_eq!(host.waited_ms.load(Ordering::Relaxed), 5_000);
    refused(
        exec(&mut engine, "INSERT INTO t VALUES (1)"),
        Status::Busy,
        "--busy-timeout",
    );
    refused(
        batch(&mut engine, "INSERT INTO t VALUES (1)"),
        Status::Busy,
        "--busy-timeout",
    );
    other.execute_batch("COMMIT").unwrap();
    exec(&mut engine, "INSERT INTO t VALUES (1)").unwrap();
}

#[test]
fn a_reader_elsewhere_does_not_stop_a_reader_here_but_a_commit() {
    let folder = Folder::new();
    let path = folder.database("shop.db", "CREATE TABLE t(a); INSERT INTO t VALUES (1)");
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN; SELECT * FROM t").unwrap();
    let mut engine = open(&path);
    assert_eq!(number(&mut engine, "SELECT count(*) FROM t"), 1);
    refused(
        exec(&mut engine, "INSERT INTO t VALUES (2)"),
        Status::Busy,
        "locked",
    );
    refused(
        batch(&mut engine, "INSERT INTO t VALUES (2)"),
        Status::Busy,
        "Nothing was changed",
    );
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(number(&mut engine, "SELECT count(*) FROM t"), 1);
    exec(&mut engine, "INSERT INTO t VALUES (2)").unwrap();
}

#[test]
fn waiting_for_a_lock_ends_with_a_cancellation() {
    let folder = Folder::new();
    let path = folder.database("shop.db", "CREATE TABLE t(a)");
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let host = Stern::new(4, Some(Interruption::Cancelled));
    let mut engine = Engine::new(&on_file(&path), OutputLimits::default(), host);
    assert!(query(&mut engine, "SELECT * FROM t").unwrap_err().cancelled);
    assert!(host.waited_ms.load(Ordering::Relaxed) < 500);
}

#[test]
fn a_value_over_the_limit_is_too_big() {
    let mut settings = EngineSettings::default();
    settings.limits.memory_bytes = 64 << 20;
    let mut engine = engine_with(settings, "");
    for sql in [
        "SELECT zeroblob(17000000)",
        "SELECT printf('%.*c', 20000000, 'x')",
    ] {
        refused(query(&mut engine, sql), Status::TooBig, "16777216 bytes");
    }
    assert_eq!(
        number(&mut engine, "SELECT length(zeroblob(16000000))"),
        16_000_000
    );
}

#[test]
fn sql_beyond_the_limits_of_the_parser_is_refused() {
    let mut settings = EngineSettings::default();
    settings.limits.sql_bytes = 100_000;
    let mut engine = engine_with(settings, "CREATE TABLE t(a)");
    let deep = format!("SELECT {}1", "1+".repeat(1_000));
    refused(
        query(&mut engine, &deep),
        Status::TooBig,
        "maximum depth 1000",
    );
    let nested = format!("SELECT {}1{}", "(".repeat(3_000), ")".repeat(3_000));
    assert!(matches!(
        query(&mut engine, &nested).unwrap_err().status,
        Status::TooBig | Status::Syntax
    ));
    let nested = format!(
        "{}SELECT 1{}",
        "SELECT * FROM (".repeat(2_000),
        ")".repeat(2_000)
    );
    query(&mut engine, &nested).unwrap_err();
    let long = format!("SELECT '{}'", "x".repeat(100_001));
    refused(batch(&mut engine, &long), Status::TooBig, "--request");
    let compound = vec!["SELECT 1"; 600].join(" UNION ALL ");
    refused(
        query(&mut engine, &compound),
        Status::TooBig,
        "too many terms",
    );
    let many = format!("SELECT {}", vec!["1"; 2_001].join(","));
    refused(
        query(&mut engine, &many),
        Status::TooBig,
        "too many columns",
    );
    assert_eq!(number(&mut engine, "SELECT 1"), 1);
}

#[test]
fn triggers_that_set_each_other_off_come_to_an_end() {
    let mut engine = engine(
        "CREATE TABLE t(a);
         CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO t VALUES (new.a + 1); END;",
    );
    exec(&mut engine, "PRAGMA recursive_triggers = ON").unwrap();
    refused(
        exec(&mut engine, "INSERT INTO t VALUES (1)"),
        Status::TooBig,
        "Triggers nested too deep",
    );
    assert_eq!(number(&mut engine, "SELECT count(*) FROM t"), 0);
}
