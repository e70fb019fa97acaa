//! A folder for one test.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tempfile::TempDir;

/// A folder that goes away with its value.
#[derive(Debug)]
pub struct Folder(TempDir);

impl Folder {
    /// A new, empty one.
    #[expect(clippy::new_without_default, reason = "it makes a folder on disk")]
    pub fn new() -> Self {
        Self(TempDir::new().expect("a folder for the test"))
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A database in it, filled by native SQLite with `sql`.
    pub fn database(&self, name: &str, sql: &str) -> PathBuf {
        let path = self.path(name);
        let connection = Connection::open(&path).expect("a new database");
        connection.execute_batch(sql).expect(sql);
        connection.close().expect("closed");
        path
    }

    /// The names of its files, sorted.
    pub fn files(&self) -> Vec<String> {
        let entries = self.0.path().read_dir().expect("the folder");
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }

    /// What native SQLite reads in the file: the first column of every row, as text.
    pub fn native(path: &Path, sql: &str) -> Vec<String> {
        let connection = Connection::open(path).expect("the database");
        let mut statement = connection.prepare(sql).expect(sql);
        let text = |row: &rusqlite::Row<'_>| {
            row.get_ref(0).map(|value| match value {
                rusqlite::types::ValueRef::Null => "NULL".to_owned(),
                rusqlite::types::ValueRef::Integer(number) => number.to_string(),
                rusqlite::types::ValueRef::Real(number) => number.to_string(),
                rusqlite::types::ValueRef::Text(bytes) | rusqlite::types::ValueRef::Blob(bytes) => {
                    String::from_utf8_lossy(bytes).into_owned()
                }
            })
        };
        let rows = statement.query_map([], text).expect(sql);
        rows.collect::<Result<_, _>>().expect(sql)
    }

    /// Asserts that native SQLite finds nothing wrong with the file.
    pub fn assert_whole(path: &Path) {
        assert_eq!(Self::native(path, "PRAGMA integrity_check"), ["ok"]);
    }
}
