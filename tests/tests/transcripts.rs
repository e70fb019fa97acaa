//! Plays every transcript against the built binary. `BLESS=1` rewrites the expected side.
//!
//! The binary is `$SQLARIUM_BIN`, or `sqlarium` in the directory that holds this test's own.

mod transcript;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::{Value, json};

use transcript::Transcript;

/// How long an answer may take; generous, for a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long silence has to last to count as such while the expected side is written.
const SILENCE: Duration = Duration::from_millis(400);

fn main() -> Result<ExitCode> {
    let arguments = Arguments::from_args();
    let bless = std::env::var_os("BLESS").is_some_and(|value| value == "1");
    let transcripts = transcript::all()?;
    ensure!(
        transcripts.len() >= 60,
        "only {} transcripts were found",
        transcripts.len()
    );
    let mut trials: Vec<Trial> = transcripts
        .into_iter()
        .map(|transcript| {
            Trial::test(transcript.name.clone(), move || {
                let run = if bless {
                    rewrite(&transcript)
                } else {
                    play(&transcript)
                };
                run.map_err(|error| Failed::from(format!("{error:#}")))
            })
        })
        .collect();
    // What no transcript can say, since it differs from run to run.
    trials.push(Trial::test("progress/rises-until-the-call-ends", || {
        progress_rises_until_the_call_ends().map_err(|error| Failed::from(format!("{error:#}")))
    }));
    Ok(libtest_mimic::run(&arguments, trials).exit_code())
}

/// Sends each line and checks what comes back before the next one.
fn play(transcript: &Transcript) -> Result<()> {
    let mut server = Server::start(&transcript.flags)?;
    for step in &transcript.steps {
        let at = format!("{}:{}", transcript.name, step.lines.start + 1);
        std::thread::sleep(step.pause);
        server.send(&step.sent).with_context(|| at.clone())?;
        for expected in &step.replies {
            let reply = server
                .receive(PATIENCE)?
                .with_context(|| format!("{at}: no answer; expected {expected}"))?;
            ensure!(
                reply == *expected,
                "{at}:\n  expected {expected}\n  received {reply}"
            );
        }
    }
    let rest = server.close()?;
    ensure!(
        rest.is_empty(),
        "{}: nobody expected {}",
        transcript.name,
        Value::from(rest)
    );
    Ok(())
}

/// Sends each line and writes down what comes back.
fn rewrite(transcript: &Transcript) -> Result<()> {
    let path = transcript::root().join(format!("{}.txt", transcript.name));
    let text = fs::read_to_string(&path)?;
    let lines: Vec<&str> = text.lines().collect();
    let mut written = String::new();
    let mut server = Server::start(&transcript.flags)?;
    let mut index = 0;
    for step in &transcript.steps {
        for line in &lines[index..=step.lines.start] {
            written += &format!("{line}\n");
        }
        index = step.lines.end;
        std::thread::sleep(step.pause);
        server.send(&step.sent)?;
        // What has an id is most likely answered, if late on a busy machine.
        let asks = step.sent.windows(5).any(|window| window == b"\"id\":");
        let mut silence = if asks { 8 * SILENCE } else { SILENCE };
        while let Some(reply) = server.receive(silence)? {
            silence = SILENCE;
            written += &format!("< {reply}\n");
        }
    }
    for reply in server.close()? {
        written += &format!("< {reply}\n");
    }
    for line in &lines[index..] {
        written += &format!("{line}\n");
    }
    fs::write(&path, written)?;
    Ok(())
}

/// A long call reports progress to a client that gave a token, until it is cancelled.
fn progress_rises_until_the_call_ends() -> Result<()> {
    let endless =
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t";
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "sqlarium_query", "arguments": {"sql": endless}, "_meta": {"progressToken": 0},
    }});
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
    let mut server = Server::start(&[])?;
    server.send(call.to_string().as_bytes())?;
    let mut last = 0.0;
    for _ in 0..2 {
        let line = server.receive(PATIENCE)?.context("no progress")?;
        ensure!(
            line["method"] == "notifications/progress",
            "not progress: {line}"
        );
        ensure!(
            line["params"]["progressToken"] == 0,
            "another token: {line}"
        );
        let value = line["params"]["progress"].as_f64().context("a number")?;
        ensure!(value > last && value >= 1.0, "{value} follows {last}");
        last = value;
    }
    server.send(cancel.to_string().as_bytes())?;
    server.send(ping.to_string().as_bytes())?;
    // A line that was on its way may still come before the ping is answered.
    let mut lines = Vec::new();
    while lines.last().is_none_or(|line: &Value| line["id"] != 2) {
        lines.push(server.receive(PATIENCE)?.context("no answer to the ping")?);
    }
    ensure!(
        lines.len() <= 2,
        "progress of a call that was taken back: {lines:?}"
    );
    let rest = server.close()?;
    ensure!(rest.is_empty(), "nobody expected {}", Value::from(rest));
    Ok(())
}

/// A running server.
struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<String>,
}

impl Server {
    fn start(flags: &[String]) -> Result<Self> {
        let binary = binary()?;
        let mut child = Command::new(&binary)
            .arg("mcp")
            .args(flags)
            .arg(":memory:")
            .current_dir(transcript::root())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .with_context(|| binary.display().to_string())?;
        let input = child.stdin.take();
        let output = child.stdout.take().context("a pipe")?;
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            let mut lines = BufReader::new(output).split(b'\n');
            while let Some(Ok(line)) = lines.next() {
                // What is not UTF-8 fails to be JSON later.
                if sender
                    .send(String::from_utf8_lossy(&line).into_owned())
                    .is_err()
                {
                    break;
                }
            }
        });
        Ok(Self {
            child,
            input,
            output: receiver,
        })
    }

    fn send(&mut self, line: &[u8]) -> Result<()> {
        let input = self.input.as_mut().context("closed")?;
        input.write_all(&[line, b"\n"].concat())?;
        Ok(input.flush()?)
    }

    /// The next line, as JSON; nothing if none comes for so long, or ever.
    fn receive(&self, patience: Duration) -> Result<Option<Value>> {
        match self.output.recv_timeout(patience) {
            Ok(line) => {
                ensure!(!line.contains('\r'), "a carriage return in {line}");
                let mut value =
                    serde_json::from_str(&line).with_context(|| format!("not JSON: {line}"))?;
                normalise(&mut value);
                Ok(Some(value))
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(None),
        }
    }

    /// Ends the input; the server has to end by itself, with code 0. Answers what it still says.
    fn close(mut self) -> Result<Vec<Value>> {
        drop(self.input.take());
        let mut rest = Vec::new();
        while let Some(value) = self.receive(PATIENCE)? {
            rest.push(value);
        }
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait()? {
                ensure!(status.success(), "the server ended with {status}");
                return Ok(rest);
            }
            if Instant::now() > until {
                bail!("the server did not end when its input did");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A failed test must not leave a process behind; one that has ended cannot be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn binary() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("SQLARIUM_BIN") {
        return Ok(path.into());
    }
    let own = std::env::current_exe()?;
    let name = format!("sqlarium{}", std::env::consts::EXE_SUFFIX);
    own.ancestors()
        .map(|directory| directory.join(&name))
        .find(|path| path.is_file())
        .context("there is no sqlarium beside the tests: run `cargo build --release` first, or set SQLARIUM_BIN")
}

/// Takes out of a reply what differs from run to run or from release to release: times, fuel,
/// the version and the instructions, where they have the form that they should have.
fn normalise(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(normalise),
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                match (name.as_str(), &member) {
                    ("elapsed_ms" | "fuel" | "peak_memory", Value::Number(_)) => *member = 0.into(),
                    ("instructions", Value::String(text)) if !text.is_empty() => {
                        *member = "*".into()
                    }
                    ("version", Value::String(text)) if is_version(text) => *member = "*".into(),
                    // The JSON form of a result, as text.
                    ("text", Value::String(text)) if text.starts_with('{') => {
                        if let Ok(mut object) = serde_json::from_str::<Value>(text) {
                            normalise(&mut object);
                            *member = object.to_string().into();
                        }
                    }
                    _ => normalise(member),
                }
            }
        }
        _ => {}
    }
}

fn is_version(text: &str) -> bool {
    text.split('.').count() == 3 && text.starts_with(|c: char| c.is_ascii_digit())
}
