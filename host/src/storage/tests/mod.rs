//! The rules of the storage, each on its own, and SQLite itself over it: the
//! guest's VFS runs natively on it, beside another process with native SQLite.

#![expect(
    unsafe_code,
    reason = "the tests stand in for the guest and its memory"
)]

mod files;
mod limits;
mod locking;
mod memory;
mod names;
mod quota;
mod readonly;
mod sandbox;
mod wal;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::SystemTime;

use rusqlite::Connection;
use rusqlite::fallible_iterator::FallibleIterator as _;

use super::*;

const READ: OpenOptions = OpenOptions {
    read_write: false,
    create: false,
    exclusive: false,
    delete_on_close: false,
};
const WRITE: OpenOptions = OpenOptions {
    read_write: true,
    ..READ
};
const CREATE: OpenOptions = OpenOptions {
    create: true,
    ..WRITE
};
const MIB: u64 = 1 << 20;

/// A storage that serves `directory/shop.db`.
fn serving(directory: &Path, readonly: bool, disk_bytes: u64) -> Storage {
    let database = Served::File {
        name: "shop.db".into(),
        path: directory.join("shop.db"),
        readonly,
    };
    Storage::new(
        Grants {
            database,
            files: Vec::new(),
            record: None,
            root: None,
        },
        disk_bytes,
    )
    .unwrap()
}

/// A storage that serves a database in memory, and the files below `root`.
fn with_root(root: &Path, readonly: bool, disk_bytes: u64) -> Storage {
    let database = Served::Memory {
        name: "memory".into(),
    };
    let root = Some(Root {
        directory: root.to_owned(),
        readonly,
    });
    let grants = Grants {
        database,
        record: None,
        files: Vec::new(),
        root,
    };
    Storage::new(grants, disk_bytes).unwrap()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Every file in a folder: its bytes and when they were last changed.
fn contents(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let entry = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.unwrap().path();
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        (path.clone(), (fs::read(&path).unwrap(), modified))
    };
    fs::read_dir(folder).unwrap().map(entry).collect()
}

/// Another process with native SQLite.
struct Native {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Native {
    fn open(path: &Path) -> Self {
        Self::start("SQLARIUM_TEST_DATABASE", path)
    }

    /// Not native at all: reads `directory/shop.db` through the storage, as a
    /// user whom permissions hold back.
    fn unprivileged_reader(directory: &Path) -> Self {
        Self::start("SQLARIUM_TEST_DIRECTORY", directory)
    }

    fn start(variable: &str, path: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "storage::tests::another_process",
                "--ignored",
                "--nocapture",
            ])
            .env(variable, path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (
            child.stdin.take().unwrap(),
            BufReader::new(child.stdout.take().unwrap()),
        );
        Self {
            child,
            input,
            output,
        }
    }

    /// Starts a statement, without waiting for it.
    fn begin(&mut self, sql: &str) {
        writeln!(self.input, "{sql}").unwrap();
    }

    /// Waits for the answer: the first column of the last row, or the result code.
    fn answer(&mut self) -> std::result::Result<String, i32> {
        let mut line = String::new();
        while !line.starts_with('@') {
            line.clear();
            assert_ne!(
                self.output.read_line(&mut line).unwrap(),
                0,
                "the other process has ended"
            );
        }
        match line[1..].trim_end_matches('\n').split_once(' ') {
            Some(("failed", code)) => Err(code.parse().unwrap()),
            Some(("done", value)) => Ok(value.to_owned()),
            other => panic!("{other:?}"),
        }
    }

    fn try_sql(&mut self, sql: &str) -> std::result::Result<String, i32> {
        self.begin(sql);
        self.answer()
    }

    fn sql(&mut self, sql: &str) -> String {
        self.try_sql(sql)
            .unwrap_or_else(|code| panic!("{sql}: {code}"))
    }

    /// Ends it without letting it close anything.
    fn crash(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Lets it close its database and end.
    fn close(self) {
        let Self {
            mut child,
            input,
            output,
        } = self;
        drop(input);
        assert!(child.wait().unwrap().success());
        drop(output);
    }
}

/// Runs the statements of a line and answers the first column of the last row.
fn run(connection: &Connection, sql: &str) -> rusqlite::Result<String> {
    let mut last = String::new();
    let mut batch = rusqlite::Batch::new(connection, sql);
    while let Some(mut statement) = batch.next()? {
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if columns > 0 {
                last = match row.get(0)? {
                    rusqlite::types::Value::Null => String::new(),
                    rusqlite::types::Value::Integer(number) => number.to_string(),
                    rusqlite::types::Value::Real(number) => number.to_string(),
                    rusqlite::types::Value::Text(text) => text,
                    rusqlite::types::Value::Blob(blob) => format!("{} bytes", blob.len()),
                };
            }
        }
    }
    Ok(last)
}

fn code(error: &rusqlite::Error) -> i32 {
    match error {
        rusqlite::Error::SqliteFailure(error, _) => error.extended_code,
        other => panic!("{other}"),
    }
}

/// What [`Native`] runs: no test by itself.
#[test]
#[ignore = "the other process of the tests beside it"]
fn another_process() {
    let connection = if let Some(directory) = std::env::var_os("SQLARIUM_TEST_DIRECTORY") {
        // SAFETY: this process runs nothing but this test.
        unsafe {
            if libc::geteuid() == 0 {
                assert_eq!(libc::setuid(65534), 0);
            }
        }
        sandbox::Sandbox::new(&serving(Path::new(&directory), true, MIB)).read("shop.db")
    } else if let Some(path) = std::env::var_os("SQLARIUM_TEST_DATABASE") {
        Connection::open(path).unwrap()
    } else {
        return;
    };
    connection.busy_timeout(std::time::Duration::ZERO).unwrap();
    for line in std::io::stdin().lines() {
        match run(&connection, &line.unwrap()) {
            Ok(value) => println!("\n@done {value}"),
            Err(error) => println!("\n@failed {}", code(&error)),
        }
    }
}
