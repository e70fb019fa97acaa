//! One command line, run to its end.

use std::ffi::OsStr;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::{PATIENCE, binary};

/// A process that has ended.
#[derive(Debug)]
pub struct Finished {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
    /// How long it ran.
    pub elapsed: Duration,
}

/// The binary, without arguments or input.
pub fn sqlarium() -> Command {
    let mut command = Command::new(binary());
    command.stdin(Stdio::null());
    command
}

/// Runs `sqlarium` with these arguments and no input.
pub fn run<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Finished {
    finish(sqlarium().args(arguments))
}

/// Runs a command to its end, both outputs captured.
///
/// # Panics
/// If it does not start, or does not end in [`PATIENCE`].
pub fn finish(command: &mut Command) -> Finished {
    let started = Instant::now();
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the process starts");
    let stdout = drain(child.stdout.take().expect("its output"));
    let stderr = drain(child.stderr.take().expect("its errors"));
    let code = wait(&mut child, started + PATIENCE);
    let elapsed = started.elapsed();
    Finished {
        code: code.unwrap_or_else(|| panic!("{command:?} did not end in {PATIENCE:?}")),
        stdout: stdout.join().expect("its output"),
        stderr: stderr.join().expect("its errors"),
        elapsed,
    }
}

/// The exit code, or `None` if the process had to be killed at `deadline`.
pub(crate) fn wait(child: &mut Child, deadline: Instant) -> Option<Option<i32>> {
    loop {
        if let Some(status) = child.try_wait().expect("the process's status") {
            return Some(status.code());
        }
        if Instant::now() >= deadline {
            child.kill().expect("killed");
            child.wait().expect("buried");
            return None;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn drain(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).expect("a pipe");
        String::from_utf8(bytes).expect("UTF-8")
    })
}
