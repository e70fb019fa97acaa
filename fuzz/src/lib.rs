//! The guest natively, over files in memory, for what the fuzzers make up.

#[cfg(fuzzing)]
pub use environment::*;

pub mod seeds;

/// Kinds of companions that a database of an input can have; see [`split`].
pub const ALONE: u8 = 0;
/// A rollback journal.
pub const JOURNAL: u8 = 1;
/// A write-ahead log.
pub const LOG: u8 = 2;

/// Takes an input apart: one byte says what lies beside the database; if something
/// does, the next four say how long the database is.
pub fn split(input: &[u8]) -> Option<(&[u8], Option<(&'static str, &[u8])>)> {
    let (kind, rest) = input.split_first()?;
    let end = match kind % 3 {
        JOURNAL => "shop.db-journal",
        LOG => "shop.db-wal",
        _ => return Some((rest, None)),
    };
    let (length, rest) = rest.split_first_chunk()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (database, beside) = rest.split_at_checked(length)?;
    Some((database, Some((end, beside))))
}

/// Puts an input together.
pub fn join(kind: u8, database: &[u8], beside: &[u8]) -> Vec<u8> {
    let mut input = vec![kind];
    if kind != ALONE {
        let length = u32::try_from(database.len()).expect("a small database");
        input.extend(length.to_le_bytes());
    }
    input.extend_from_slice(database);
    input.extend_from_slice(beside);
    input
}

#[cfg(fuzzing)]
mod environment {
    use std::sync::Once;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    use sqlarium_guest::answer::failure::Status;
    use sqlarium_guest::command::interface::audience::Audience;
    use sqlarium_guest::command::interface::context::Context;
    use sqlarium_guest::command::interface::toolset::Toolset;
    use sqlarium_guest::command::invoke::{Answer, invoke};
    use sqlarium_guest::engine::vfs;
    use sqlarium_guest::host::{Host, Interruption, Verdict};
    use sqlarium_guest::registry::REGISTRY;
    use sqlarium_guest::settings::{EngineLimits, EngineSettings, ServerSettings};
    use sqlarium_guest::storage::memory::Memory;

    /// Checks, one for each thousand of SQLite's instructions, after which a call has to stop.
    const CHECKS: u64 = 60;

    /// A host that stops a call after a fixed amount of work, so that every run is the same.
    #[derive(Debug, Default)]
    pub struct Patient(AtomicU64);

    impl Patient {
        /// A new call begins.
        pub fn begin(&self) {
            self.0.store(0, Ordering::Relaxed);
        }
    }

    /// The one host.
    pub static HOST: Patient = Patient(AtomicU64::new(0));

    impl Host for Patient {
        fn check(&self) -> Verdict {
            match self.0.fetch_add(1, Ordering::Relaxed) {
                checks if checks < CHECKS => Ok(Duration::ZERO),
                _ => Err(Interruption::Stopped("Stopped: enough.".into())),
            }
        }
        fn notify(&self, line: &str) {
            assert!(is_message(line), "{line}");
        }
        fn save_state(&self, state: &[u8]) {
            assert!(state.len() <= 64 << 10);
        }
    }

    /// Whether a line is one JSON-RPC message, or a batch of them.
    pub fn is_message(line: &str) -> bool {
        let one = |message: &serde_json::Value| message["jsonrpc"] == "2.0";
        !line.contains('\n')
            && match serde_json::from_str(line) {
                Ok(serde_json::Value::Array(batch)) => !batch.is_empty() && batch.iter().all(one),
                Ok(message) => one(&message),
                Err(_) => false,
            }
    }

    /// The files, which SQLite takes for those of the operating system.
    pub fn files() -> &'static Memory {
        static REGISTERED: Once = Once::new();
        let files = Memory::shared();
        REGISTERED.call_once(|| {
            vfs::register(c"fuzzing", files, |_| {}, true).expect("a file layer");
        });
        files
    }

    /// Calls a command as a client does, and looks at what must never come of it.
    pub fn call(context: &mut Context, name: &str, given: &serde_json::Value) -> Answer {
        HOST.begin();
        let command = REGISTRY.find(name).expect(name);
        context.engine.interrupt().begin(None);
        let answer = invoke(command, given.as_object().expect("an object"), context);
        context.engine.interrupt().end();
        if let Some(failure) = &answer.failure {
            assert_ne!(failure.status, Status::Internal, "{failure}");
        }
        answer
    }

    /// What a command works with, on the one file.
    pub fn context(settings: ServerSettings) -> Context {
        let tools = Toolset::all(&REGISTRY);
        Context::new(settings.command, &HOST, &REGISTRY, Audience::Client(tools))
    }

    /// What the owner chose: a file, and little of everything.
    pub fn settings() -> ServerSettings {
        let mut settings = ServerSettings::default();
        settings.command.engine = EngineSettings {
            database: "shop.db".into(),
            title: "shop.db".into(),
            in_memory: false,
            root: true,
            limits: EngineLimits {
                memory_bytes: 48 << 20,
                busy_ms: 10,
                ..EngineLimits::default()
            },
            ..EngineSettings::default()
        };
        settings
    }
}
