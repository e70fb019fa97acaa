//! The host in a process of its own: this test executable, started again, serves on its
//! standard streams what it is told to.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use crate::audit::{self, Audit};
use crate::budgets::Budgets;
use crate::sandbox::Sandbox;
use crate::sandbox::bindings::types::{EngineSettings, ServerSettings};
use crate::sandbox::config::config;
use crate::sandbox::image::copied;
use crate::sandbox::runner::Record;
use crate::sandbox::session::SessionRunner;
use crate::storage::{Grants, Root, Served, Storage, crash_point};
use crate::threads::{self, Threads};

/// Which component is served.
const COMPONENT_VARIABLE: &str = "SQLARIUM_TEST_COMPONENT";
/// The folder of the served database, `shop.db`.
const FOLDER_VARIABLE: &str = "SQLARIUM_TEST_FOLDER";
/// A folder below which others may be named, if any.
const ROOT_VARIABLE: &str = "SQLARIUM_TEST_ROOT";
/// A folder in which calls are recorded, if they are: `audit`, and `state` for [`PRINCIPAL`].
const RECORD_VARIABLE: &str = "SQLARIUM_TEST_RECORD";

/// Whose threads the host under test remembers.
pub const PRINCIPAL: &str = "me";

/// Longer than anything takes that is not stuck, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(60);

/// The budgets of the host under test.
pub fn budgets() -> Budgets {
    Budgets {
        request: 1 << 20,
        reply: 1 << 20,
        timeout: Duration::from_millis(700),
        memory: 64 << 20,
        disk: 64 << 20,
        busy_timeout: Duration::from_millis(100),
        ..Budgets::default()
    }
}

/// What the other process runs: no test by itself.
#[test]
#[ignore = "the other process of the tests beside it"]
fn another_process() {
    let Some(folder) = env::var_os(FOLDER_VARIABLE) else {
        return;
    };
    crash_point::arm();
    let sandbox = match env::var(COMPONENT_VARIABLE).as_deref() {
        Ok("hostile") => {
            let (engine, component) = copied(&config(), sqlarium_hostile::COMPONENT).unwrap();
            Sandbox::with_component(engine, &component)
        }
        _ => Sandbox::new(),
    };
    let sandbox = sandbox.unwrap();
    let budgets = budgets();
    let storage = Storage::new(
        Grants {
            database: Served::File {
                name: "shop.db".into(),
                path: Path::new(&folder).join("shop.db"),
                readonly: false,
            },
            record: None,
            files: Vec::new(),
            root: env::var_os(ROOT_VARIABLE).map(|directory| Root {
                directory: directory.into(),
                readonly: false,
            }),
        },
        budgets.disk,
    );
    let settings = settings(&budgets);
    let record = env::var_os(RECORD_VARIABLE);
    let settings = ServerSettings {
        audit: record.is_some(),
        threads: record.is_some(),
        ..settings
    };
    let mut session = SessionRunner::new(sandbox, settings, budgets, storage.unwrap());
    if let Some(folder) = record {
        session.record(recorded_in(Path::new(&folder)));
    }
    // After what the test runner says by itself.
    println!("\n@ready");
    let code = crate::server::serve(session);
    // Before the test runner says more.
    std::process::exit(match code {
        Ok(code) if code == std::process::ExitCode::SUCCESS => 0,
        _ => 1,
    });
}

fn recorded_in(folder: &Path) -> Record {
    let audit = Audit::open(&audit::Options {
        file: folder.join("audit"),
        size: 1 << 20,
        sql: true,
    });
    let threads = Threads::new(threads::Options {
        file: folder.join("state"),
        principal: threads::principal(PRINCIPAL),
        age: Duration::from_secs(3600),
    });
    Record {
        audit: Some(Arc::new(audit.unwrap())),
        threads: Some(Arc::new(threads)),
    }
}

/// The settings of the host under test.
pub fn settings(budgets: &Budgets) -> ServerSettings {
    ServerSettings {
        engine: EngineSettings {
            database: "shop.db".into(),
            title: "shop.db".into(),
            in_memory: false,
            readonly: false,
            root: true,
            notes: String::new(),
            undo: None,
            limits: budgets.into(),
        },
        output: budgets.into(),
        request_bytes: budgets.request,
        tools: "all".into(),
        strict: false,
        audit: false,
        threads: false,
    }
}

/// A host at work, and the client's end of it.
pub struct Host {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Host {
    /// Serves the hostile guest the database in `folder`, and what is below `root`.
    pub fn hostile(folder: &Path, root: Option<&Path>) -> Self {
        Self::start(&mut Self::command("hostile", folder, root, None))
    }

    /// Serves the hostile guest the database in `folder`, and records its calls in `record`.
    pub fn recorded(folder: &Path, record: &Path) -> Self {
        let mut command = Self::command("hostile", folder, None, None);
        Self::start(command.env(RECORD_VARIABLE, record))
    }

    /// Serves the real guest the database in `folder`, and dies at a call of its storage.
    pub fn doomed(folder: &Path, death: &str) -> Self {
        Self::start(Self::command("guest", folder, None, None).env(crash_point::VARIABLE, death))
    }

    /// The command line; `tracer` is one that runs others, with its arguments.
    pub fn command(
        component: &str,
        folder: &Path,
        root: Option<&Path>,
        tracer: Option<Vec<OsString>>,
    ) -> Command {
        let mut words = tracer.unwrap_or_default();
        words.push(env::current_exe().unwrap().into());
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .args(["--exact", "sandbox::tests::client::another_process"])
            .args(["--ignored", "--nocapture"])
            .env(COMPONENT_VARIABLE, component)
            .env(FOLDER_VARIABLE, folder);
        if let Some(root) = root {
            command.env(ROOT_VARIABLE, root);
        }
        command
    }

    pub fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (to, lines) = channel();
        thread::spawn(move || {
            let said = output.lines().map_while(Result::ok);
            for line in said.skip_while(|line| line != "@ready").skip(1) {
                if to.send(line).is_err() {
                    return;
                }
            }
        });
        Self {
            input: child.stdin.take(),
            child,
            lines,
        }
    }

    /// Says a line. A host that is gone shows in what comes back.
    pub fn say(&mut self, line: &str) {
        let _ = writeln!(self.input.as_mut().unwrap(), "{line}");
    }

    /// The next line, or none if the host is gone or says nothing for so long.
    pub fn hear(&self, patience: Duration) -> Option<String> {
        self.lines.recv_timeout(patience).ok()
    }

    /// Says a line and hears the answer.
    pub fn ask(&mut self, line: &str) -> String {
        self.say(line);
        self.hear(PATIENCE)
            .unwrap_or_else(|| panic!("no answer to {line:.60}"))
    }

    /// Closes its input and waits for its end: the exit code.
    pub fn finish(mut self) -> Option<i32> {
        drop(self.input.take());
        self.ended()
    }

    /// Waits for its end: the exit code, if it was not a signal.
    pub fn ended(&mut self) -> Option<i32> {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(started.elapsed() < PATIENCE, "the host does not end");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A field of its status, in bytes.
    pub fn memory(&self, field: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with(field)).unwrap();
        let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        kilobytes << 10
    }

    /// How many entries a list of its own has: `fd` or `maps`.
    pub fn count(&self, list: &str) -> usize {
        let path = format!("/proc/{}/{list}", self.pid());
        match fs::read_dir(&path) {
            Ok(entries) => entries.count(),
            Err(_) => fs::read_to_string(path).unwrap().lines().count(),
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
