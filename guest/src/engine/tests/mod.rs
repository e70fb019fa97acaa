//! The engine as its callers see it.

mod barriers;
mod batches;
mod budgets;
mod depth;
mod dialects;
mod dry_runs;
mod effects;
mod errors;
mod explained;
mod files;
mod guards;
mod layers;
mod met;
mod params;
mod quoting;
mod reads;
mod rows;
mod schemas;
mod undo;
mod vectors;
mod writes;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::Connection;
use serde_json::json;

use super::statement::params::Params;
use super::*;
use crate::answer::output::{Output, Rows};
use crate::answer::value::Value;
use crate::host::interrupt::{Progress, TO_A_CLIENT};
use crate::host::{Alone, Interruption, Verdict};
use crate::settings::Undo;

/// An engine on a private database in memory, prepared by `sql`.
fn engine(sql: &str) -> Engine {
    engine_with(EngineSettings::default(), sql)
}

fn engine_with(settings: EngineSettings, sql: &str) -> Engine {
    engine_within(settings, OutputLimits::default(), sql)
}

fn engine_within(settings: EngineSettings, output: OutputLimits, sql: &str) -> Engine {
    let mut engine = Engine::new(&settings, output, &Alone);
    if !sql.is_empty() {
        engine.database(None).unwrap().batch(sql).unwrap();
    }
    engine
}

fn query(engine: &mut Engine, sql: &str) -> Result<Output, Failure> {
    engine.database(None)?.query(sql, &Params::None, None)
}

fn query_with(
    engine: &mut Engine,
    sql: &str,
    params: serde_json::Value,
) -> Result<Output, Failure> {
    let params = Params::from_json(&params)?;
    engine.database(None)?.query(sql, &params, None)
}

fn exec(engine: &mut Engine, sql: &str) -> Result<Output, Failure> {
    engine.database(None)?.exec(sql, &Params::None)
}

fn batch(engine: &mut Engine, sql: &str) -> Result<Output, Failure> {
    engine.database(None)?.batch(sql)
}

fn explain(engine: &mut Engine, sql: &str) -> Result<Output, Failure> {
    engine.database(None)?.explain(sql, &Params::None)
}

fn table(output: Output) -> Rows {
    output.rows.expect("a result set")
}

/// The only value of the only row of a query.
#[track_caller]
fn value(engine: &mut Engine, sql: &str) -> Value {
    let rows = table(query(engine, sql).unwrap()).rows;
    assert_eq!((rows.len(), rows[0].len()), (1, 1), "{sql} gives {rows:?}");
    rows[0][0].clone()
}

#[track_caller]
fn number(engine: &mut Engine, sql: &str) -> i64 {
    match value(engine, sql) {
        Value::Integer(number) => number,
        other => panic!("{sql} gives {other:?}"),
    }
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

#[track_caller]
fn refused(result: Result<Output, Failure>, status: Status, part: &str) -> Failure {
    let failure = result.expect_err("a refusal");
    assert_eq!(failure.status, status, "{failure}");
    assert!(
        failure.to_string().contains(part),
        "{failure:?} does not say {part:?}"
    );
    failure
}

/// A folder of a test's own.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("sqlarium-engine-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A database file, made by `sql` through SQLite itself.
    fn database(&self, name: &str, sql: &str) -> PathBuf {
        let path = self.file(name);
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(sql).unwrap();
        connection.close().unwrap();
        path
    }

    /// What SQLite itself reads from a file.
    fn number(path: &Path, sql: &str) -> i64 {
        let connection = Connection::open(path).unwrap();
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn on_file(path: &Path) -> EngineSettings {
    let name = path.to_str().unwrap().to_owned();
    EngineSettings {
        database: name,
        title: "shop.db".into(),
        in_memory: false,
        ..EngineSettings::default()
    }
}

fn open(path: &Path) -> Engine {
    Engine::new(&on_file(path), OutputLimits::default(), &Alone)
}

/// A host that interrupts from the n-th check on, until a test resets it.
struct Stern {
    checks: AtomicU32,
    patience: u32,
    interruption: Mutex<Option<Interruption>>,
    waited_ms: AtomicU32,
}

impl Stern {
    fn new(patience: u32, interruption: Option<Interruption>) -> &'static Self {
        Box::leak(Box::new(Self {
            checks: AtomicU32::new(0),
            patience,
            interruption: Mutex::new(interruption),
            waited_ms: AtomicU32::new(0),
        }))
    }

    fn relent(&self) {
        *self.interruption.lock().unwrap() = None;
    }
}

impl Host for Stern {
    fn check(&self) -> Verdict {
        if self.checks.fetch_add(1, Ordering::Relaxed) < self.patience {
            return Ok(Duration::ZERO);
        }
        match self.interruption.lock().unwrap().clone() {
            Some(interruption) => Err(interruption),
            None => Ok(Duration::ZERO),
        }
    }
    fn wait(&self, ms: u32) -> Verdict {
        self.waited_ms.fetch_add(ms, Ordering::Relaxed);
        self.check()
    }
}
