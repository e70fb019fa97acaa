//! An MCP server on a pipe.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::run::wait;
use crate::{PATIENCE, sqlarium};

/// A running server. Dropping it kills it.
#[derive(Debug)]
pub struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    errors: Arc<Mutex<String>>,
    last_id: u64,
}

/// The result of a tool call.
#[derive(Debug)]
pub struct Answer {
    /// Its text blocks, joined.
    pub text: String,
    /// Whether it is a refusal (`isError`).
    pub refused: bool,
    /// Its structured content, where that was asked for.
    pub object: Value,
}

/// A server that has ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// The messages that it sent after the last one that was read.
    pub rest: Vec<Value>,
    /// What it wrote to standard error.
    pub stderr: String,
    /// How long it ran on after its input was closed.
    pub elapsed: Duration,
}

impl Server {
    /// Starts `sqlarium mcp` with these arguments.
    pub fn start<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Self {
        Self::spawn(sqlarium().arg("mcp").args(arguments))
    }

    /// Starts a command line of one's own.
    ///
    /// # Panics
    /// If it does not start; as all methods here, also if the server writes what is no line of UTF-8.
    pub fn spawn(command: &mut Command) -> Self {
        Self::spawn_with_errors(command, Stdio::piped())
    }

    /// The same with a standard error of one's own, which is only read if it is a new pipe.
    ///
    /// # Panics
    /// As [`Server::spawn`].
    pub fn spawn_with_errors(command: &mut Command, errors: Stdio) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .expect("the server starts");
        let (sender, lines) = channel();
        let mut stdout = BufReader::new(child.stdout.take().expect("its output"));
        thread::spawn(move || {
            let mut bytes = Vec::new();
            while stdout
                .read_until(b'\n', &mut bytes)
                .is_ok_and(|count| count > 0)
            {
                let line = String::from_utf8_lossy(&bytes).into_owned();
                bytes.clear();
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let errors = Arc::new(Mutex::new(String::new()));
        let copy = Arc::clone(&errors);
        let stderr = child.stderr.take();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            let Some(mut stderr) = stderr else { return };
            while let Ok(count @ 1..) = stderr.read(&mut bytes) {
                copy.lock()
                    .expect("errors")
                    .push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        let stdin = child.stdin.take();
        Self {
            child,
            stdin,
            lines,
            errors,
            last_id: 0,
        }
    }

    /// Starts a server and shakes hands with it.
    pub fn ready<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Self {
        let mut server = Self::start(arguments);
        let reply = server.initialize();
        assert_eq!(reply["result"]["serverInfo"]["name"], "sqlarium", "{reply}");
        server
    }

    /// Sends `initialize` and, after its reply, `notifications/initialized`.
    pub fn initialize(&mut self) -> Value {
        let client = json!({ "name": "tests", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let reply = self.ask("initialize", params);
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        reply
    }

    /// Writes bytes as they are. A server that has gone away is not an error here.
    pub fn write(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("its input is open");
        // A broken pipe shows in what comes back, or does not.
        let _ = stdin.write_all(bytes).and_then(|()| stdin.flush());
    }

    /// Sends one message.
    pub fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// Sends a request and returns its id.
    pub fn request(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// The next message, or `None` if there is none within `patience` or ever again.
    pub fn receive(&self, patience: Duration) -> Option<Value> {
        match self.lines.recv_timeout(patience) {
            Ok(line) => Some(message(&line)),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }

    /// The next message.
    ///
    /// # Panics
    /// If there is none in [`PATIENCE`].
    pub fn next(&self) -> Value {
        self.receive(PATIENCE).unwrap_or_else(|| {
            panic!(
                "the server says nothing; its standard error: {:?}",
                self.stderr()
            )
        })
    }

    /// Sends a request and waits for its reply, which has to be the next message.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        let reply = self.next();
        assert_eq!(reply["id"], id, "{reply}");
        reply
    }

    /// Sends a call of a command's tool and returns its id.
    pub fn begin(&mut self, command: &str, arguments: Value) -> u64 {
        let tool = format!("sqlarium_{}", command.replace('-', "_"));
        self.request(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        )
    }

    /// Takes back a request.
    pub fn cancel(&mut self, id: u64) {
        let params = json!({ "requestId": id, "reason": "changed my mind" });
        self.send(
            &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }),
        );
    }

    /// Calls a command's tool; its reply has to be the next message.
    pub fn call(&mut self, command: &str, arguments: Value) -> Answer {
        let id = self.begin(command, arguments);
        let reply = self.next();
        assert_eq!(reply["id"], id, "{reply}");
        Answer::of(&reply)
    }

    /// The rows of a query that works, as JSON.
    pub fn rows(&mut self, sql: &str) -> Value {
        let answer = self.call("query", json!({ "sql": sql, "output": "json" }));
        assert!(!answer.refused, "{sql}: {}", answer.text);
        answer.object["rows"].clone()
    }

    /// Runs statements that work.
    pub fn batch(&mut self, sql: &str) {
        let answer = self.call("batch", json!({ "sql": sql }));
        assert!(!answer.refused, "{sql}: {}", answer.text);
    }

    /// The status and the sentences of a call that is refused.
    pub fn refusal(&mut self, command: &str, mut arguments: Value) -> (String, String) {
        arguments["output"] = json!("json");
        let answer = self.call(command, arguments.clone());
        assert!(
            answer.refused,
            "{command} {arguments} was not refused: {}",
            answer.text
        );
        let part = |name| answer.object[name].as_str().unwrap_or_default().to_owned();
        (
            part("status"),
            format!("{} {}", part("message"), part("hint")),
        )
    }

    /// Asserts that the server still works.
    pub fn assert_well(&mut self) {
        assert_eq!(self.rows("SELECT 6 * 7"), json!([[42]]));
    }

    /// Closes its input and waits for its end.
    ///
    /// # Panics
    /// If it does not end in [`PATIENCE`].
    pub fn finish(mut self) -> Ended {
        self.stdin = None;
        self.ended()
    }

    /// Waits for its end, its input still open.
    ///
    /// # Panics
    /// If it does not end in [`PATIENCE`].
    pub fn ended(&mut self) -> Ended {
        let started = Instant::now();
        let code = wait(&mut self.child, started + PATIENCE);
        let elapsed = started.elapsed();
        let rest = self.lines.iter().map(|line| message(&line)).collect();
        let stderr = self.stderr();
        let code =
            code.unwrap_or_else(|| panic!("the server did not end in {PATIENCE:?}: {stderr}"));
        Ended {
            code,
            rest,
            stderr,
            elapsed,
        }
    }

    /// What it wrote to standard error so far.
    pub fn stderr(&self) -> String {
        self.errors.lock().expect("errors").clone()
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Answer {
    /// Reads a reply to `tools/call`.
    ///
    /// # Panics
    /// If it is no tool result.
    pub fn of(reply: &Value) -> Self {
        let result = &reply["result"];
        let content = result["content"]
            .as_array()
            .unwrap_or_else(|| panic!("no tool result: {reply}"));
        let texts: Vec<&str> = content
            .iter()
            .filter_map(|block| block["text"].as_str())
            .collect();
        let text = texts.join("\n");
        Self {
            refused: result["isError"] == true,
            object: match result.get("structuredContent") {
                Some(object) => object.clone(),
                // Where a line has room for one form alone, it is the text.
                None => serde_json::from_str(&text).unwrap_or_default(),
            },
            text,
        }
    }
}

/// Every line on standard output is one JSON-RPC message and ends with a line feed alone.
fn message(line: &str) -> Value {
    let body = line
        .strip_suffix('\n')
        .unwrap_or_else(|| panic!("no line feed after {line:?}"));
    assert!(!body.ends_with('\r'), "a carriage return in {line:?}");
    let message: Value =
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error} in {line:?}"));
    for part in message.as_array().unwrap_or(&vec![message.clone()]) {
        assert_eq!(part["jsonrpc"], "2.0", "{line}");
    }
    message
}
