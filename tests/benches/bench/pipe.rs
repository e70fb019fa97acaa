//! A process that answers each line with a line.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sqlarium_tests::sqlarium;

use crate::native;

/// One candidate.
pub struct Pipe {
    /// What the report calls it.
    pub name: String,
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    tools: Option<Tools>,
    last_id: u64,
}

/// What an MCP server calls its tools, by what they do.
#[derive(Clone, Copy)]
pub struct Tools {
    pub query: &'static str,
    pub exec: &'static str,
    pub insert: &'static str,
    /// The argument that takes the statement.
    pub sql: &'static str,
    /// Whether `limit` says how many rows are wanted.
    pub limits: bool,
}

/// Those of sqlarium.
pub const OURS: Tools = Tools {
    query: "sqlarium_query",
    exec: "sqlarium_exec",
    insert: "sqlarium_exec",
    sql: "sql",
    limits: true,
};

/// What one exchange took, and what came of it.
pub struct Took {
    /// The process's time on processors.
    pub cpu: Duration,
    /// From the request's first byte to the reply's last.
    pub wall: Duration,
    pub reply: String,
}

impl Pipe {
    /// Starts a process; an MCP server if it has tools.
    pub fn start(name: &str, command: &mut Command, tools: Option<Tools>) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let mut pipe = Self {
            name: name.to_owned(),
            stdin: child.stdin.take().expect("its input"),
            stdout: BufReader::new(child.stdout.take().expect("its output")),
            child,
            tools,
            last_id: 0,
        };
        if tools.is_some() {
            pipe.initialize();
        }
        pipe
    }

    /// sqlarium with these flags, and with limits that no benchmark reaches.
    pub fn sqlarium(flags: &[&str], database: &str) -> Self {
        let name = format!("sqlarium {}", flags.join(" "));
        let mut command = sqlarium();
        command
            .args(["mcp", "--timeout", "10m", "--disk", "4G", "--db", database])
            .args(flags);
        Self::start(name.trim_end(), &mut command, Some(OURS))
    }

    /// Native SQLite in a process of its own.
    pub fn native(database: &str) -> Self {
        let program = std::env::current_exe().expect("the benchmark's own path");
        let mut command = Command::new(program);
        command.args([native::WORD, database]);
        Self::start("native", &mut command, None)
    }

    fn initialize(&mut self) {
        let client = json!({ "name": "bench", "version": "1" });
        self.ask(
            "initialize",
            &json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client }),
        );
        let line = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        writeln!(self.stdin, "{line}").expect("a line");
    }

    /// Sends a request, and reads up to its reply.
    pub fn ask(&mut self, method: &str, params: &Value) -> Took {
        self.last_id += 1;
        let request =
            json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params });
        let mut took = self.exchange(&request.to_string());
        // A notification may come first.
        while !took.reply.contains("\"id\"") {
            took.reply.clear();
            self.stdout.read_line(&mut took.reply).expect("a line");
        }
        took
    }

    /// Calls a tool.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Took {
        let took = self.ask(
            "tools/call",
            &json!({ "name": tool, "arguments": arguments }),
        );
        assert!(
            !took.reply.contains("\"isError\":true") && !took.reply.contains("\"error\":{"),
            "{}: {tool} {arguments}: {:.300}",
            self.name,
            took.reply
        );
        took
    }

    /// Sends a line, and reads one.
    pub fn exchange(&mut self, line: &str) -> Took {
        let before = self.cpu();
        let started = Instant::now();
        self.stdin
            .write_all(format!("{line}\n").as_bytes())
            .expect("a line");
        let mut reply = String::new();
        self.stdout.read_line(&mut reply).expect("a line");
        let wall = started.elapsed();
        assert!(
            reply.ends_with('\n'),
            "{} is gone after {line:.300}",
            self.name
        );
        Took {
            cpu: self.cpu().saturating_sub(before),
            wall,
            reply,
        }
    }

    /// Runs a statement that writes.
    pub fn exec(&mut self, sql: &str) -> Took {
        match self.tools {
            Some(tools) => self.call(tools.exec, &json!({ tools.sql: sql })),
            None => self.exchange(&json!(sql).to_string()),
        }
    }

    /// Runs a query; its rows as JSON.
    pub fn query(&mut self, sql: &str) -> (Took, Value) {
        let Some(tools) = self.tools else {
            let took = self.exchange(&json!(sql).to_string());
            let rows = serde_json::from_str(&took.reply).expect("rows");
            return (took, rows);
        };
        let took = self.call(tools.query, &json!({ tools.sql: sql, "output": "json" }));
        let reply: Value = serde_json::from_str(&took.reply).expect("JSON");
        let rows = reply["result"]["structuredContent"]["rows"].clone();
        (took, rows)
    }

    /// Runs a query, up to a thousand of whose rows are shown as text.
    pub fn show(&mut self, sql: &str) -> Took {
        let tools = self.tools.expect("an MCP server");
        let mut arguments = json!({ tools.sql: sql });
        if tools.limits {
            arguments["limit"] = json!(1000);
        }
        self.call(tools.query, &arguments)
    }

    /// Inserts rows.
    pub fn insert(&mut self, sql: &str) {
        let tools = self.tools.expect("an MCP server");
        self.call(tools.insert, &json!({ tools.sql: sql }));
    }

    /// What all threads of the process have had of processors.
    pub fn cpu(&self) -> Duration {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).expect("Linux");
        let time = |task: fs::DirEntry| {
            let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse::<u64>().ok()
        };
        let nanoseconds = tasks.filter_map(|task| time(task.ok()?)).sum();
        Duration::from_nanos(nanoseconds)
    }

    /// A line of `/proc/…/FILE`, in KiB.
    pub fn memory(&self, file: &str, line: &str) -> f64 {
        let text = fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).expect("Linux");
        let found = text.lines().find_map(|text| text.strip_prefix(line));
        let number = found.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
        number.unwrap_or_else(|| panic!("no {line} in {file}"))
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
