//! Random databases through dumps, and random rows through exports and imports: the same again, or told.
//! `SQLARIUM_ROUND_TRIPS` says how many of each.

use rusqlite::Connection;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use serde_json::{Map, json};

use super::dump_tests::{File, cells, comes_back, context_of};
use crate::command::interface::context::Context;
use crate::command::invoke::{Answer, invoke};
use crate::registry::REGISTRY;

/// Numbers that are as good as random, and the same each time.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    fn bytes(&mut self) -> Vec<u8> {
        const PIECES: [&[u8]; 22] = [
            b"a",
            b"'",
            b"\"",
            b",",
            b";",
            b"|",
            b"\t",
            b"\n",
            b"\r",
            b"\r\n",
            b"\\",
            b"\\r",
            b"\0",
            b" ",
            b"--",
            b"/*",
            b"{\"",
            b"1",
            b"0.5",
            "é🦀".as_bytes(),
            "\u{feff}".as_bytes(),
            b"NULL",
        ];
        let length = self.below(6);
        (0..length)
            .flat_map(|_| self.one(&PIECES).to_vec())
            .collect()
    }

    fn value(&mut self, utf8: bool) -> Cell {
        match self.below(9) {
            0 => Cell::Value(Value::Null),
            1 => Cell::Value(Value::Integer(self.next() as i64)),
            2 => Cell::Value(Value::Integer(*self.one(&[
                0,
                1,
                -1,
                i64::MAX,
                i64::MIN,
                1 << 53,
            ]))),
            // NaN is NULL to SQLite.
            3 => Cell::Value(Value::Real(f64::from_bits(self.next()))),
            4 => Cell::Value(Value::Real(*self.one(&[
                0.0,
                -0.0,
                1.0,
                0.1,
                1e15,
                1e16,
                1e300,
                5e-324,
                2.2e-308,
                f64::INFINITY,
                f64::NEG_INFINITY,
                0.1 + 0.2,
                9_007_199_254_740_993.0,
            ]))),
            5 => Cell::Value(Value::Blob(
                self.next().to_le_bytes()[..self.below(9)].to_vec(),
            )),
            6 if !utf8 => Cell::Text([self.bytes(), vec![0xe9, 0xff]].concat()),
            _ => Cell::Text(self.bytes()),
        }
    }
}

/// How many cases there are.
fn cases() -> usize {
    let number = std::env::var("SQLARIUM_ROUND_TRIPS").ok();
    number.and_then(|text| text.parse().ok()).unwrap_or(60)
}

enum Cell {
    Value(Value),
    Text(Vec<u8>),
}

impl rusqlite::ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Value(value) => value.into(),
            Self::Text(bytes) => ValueRef::Text(bytes),
        }))
    }
}

const TYPES: [&str; 7] = [
    "",
    "INTEGER",
    "REAL",
    "TEXT",
    "BLOB",
    "NUMERIC",
    "VARCHAR(3)",
];

/// Fills a table with what it takes of random rows.
fn fill(connection: &Connection, table: &str, columns: usize, dice: &mut Dice, utf8: bool) {
    let places = vec!["?"; columns].join(",");
    let mut insert = connection
        .prepare(&format!("INSERT OR IGNORE INTO {table} VALUES({places})"))
        .unwrap();
    for _ in 0..dice.below(12) {
        let row: Vec<Cell> = (0..columns).map(|_| dice.value(utf8)).collect();
        // What a constraint refuses is not part of the database.
        let _ = insert.execute(rusqlite::params_from_iter(&row));
    }
}

#[test]
fn any_database_is_the_same_again_after_a_dump() {
    const NAMES: [&str; 8] = [
        "t",
        "\"odd \"\"'name\"",
        "\"two\nlines\"",
        "\"select\"",
        "[b ; c]",
        "\"é🦀\"",
        "\"--\"",
        "rowid",
    ];
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for _ in 0..cases() {
        let file = File::empty();
        let connection = Connection::open(&file.0).unwrap();
        let wide = dice.below(5) == 0;
        if wide {
            connection
                .execute_batch("PRAGMA encoding='UTF-16le'")
                .unwrap();
        }
        for name in NAMES {
            if dice.below(2) == 0 {
                continue;
            }
            let columns = 1 + dice.below(4);
            let mut parts: Vec<String> = (0..columns)
                .map(|at| format!("c{at} {}", dice.one(&TYPES)))
                .collect();
            let mut end = "";
            match dice.below(6) {
                0 => parts[0] = "c0 INTEGER PRIMARY KEY".into(),
                1 => parts[0] = "c0 INTEGER PRIMARY KEY DESC".into(),
                2 => {
                    parts[0] = "c0 BLOB PRIMARY KEY".into();
                    end = " WITHOUT ROWID";
                }
                3 => parts.push("g AS (typeof(c0)) STORED".into()),
                4 => parts.push("\"g \"\"\" AS (quote(c0))".into()),
                _ => {}
            }
            connection
                .execute_batch(&format!("CREATE TABLE {name}({}){end}", parts.join(", ")))
                .unwrap();
            fill(&connection, name, columns, &mut dice, wide);
            if end.is_empty() && dice.below(2) == 0 {
                let _ = connection.execute(
                    &format!("DELETE FROM {name} WHERE abs(random()) % 3 = 0"),
                    [],
                );
            }
        }
        drop(connection);
        comes_back(&file);
    }
}

fn call(context: &mut Context, name: &str, arguments: serde_json::Value) -> Answer {
    let command = REGISTRY.find(name).unwrap();
    let arguments: Map<_, _> = arguments.as_object().unwrap().clone();
    invoke(command, &arguments, context)
}

/// Whether a line is about this column.
fn is_named(notes: &str, name: &str) -> bool {
    let about = |line: &str| line.split([' ', ':']).next() == Some(name);
    notes.lines().any(about)
}

#[test]
fn rows_that_are_exported_and_imported_are_the_same_or_it_is_told() {
    const NAMES: [&str; 4] = ["alpha", "beta", "gamma", "delta"];
    let mut dice = Dice(0x1234_5678_9abc_def1);
    let out = format!("sqlarium-round-{}", std::process::id());
    let mut exact = 0;
    for case in 0..cases() {
        let file = File::empty();
        let connection = Connection::open(&file.0).unwrap();
        let parts: Vec<String> = NAMES
            .iter()
            .map(|name| format!("{name} {}", dice.one(&TYPES)))
            .collect();
        connection
            .execute_batch(&format!(
                "CREATE TABLE t(id INTEGER PRIMARY KEY, {})",
                parts.join(", ")
            ))
            .unwrap();
        let places = "?,?,?,?";
        for _ in 0..1 + dice.below(6) {
            let row: Vec<Cell> = (0..4).map(|_| dice.value(case % 2 == 0)).collect();
            connection
                .execute(
                    &format!("INSERT INTO t({}) VALUES({places})", NAMES.join(",")),
                    rusqlite::params_from_iter(&row),
                )
                .unwrap();
        }
        let rows = |connection: &Connection| cells(connection, "SELECT * FROM t ORDER BY id");
        let before = rows(&connection);
        drop(connection);
        let mut context = context_of(&file);
        let format = *dice.one(&["csv", "tabs", "json", "insert"]);
        let name = format!("{out}.{}", if format == "tabs" { "tsv" } else { format });
        let said = call(
            &mut context,
            "export",
            json!({"table": "t", "out": name, "format": format, "overwrite": true}),
        );
        assert_eq!(said.failure, None);
        let mut told = said.text;
        call(&mut context, "exec", json!({"sql": "DELETE FROM t"}));
        let refused = if format == "insert" {
            assert_eq!(file.shell(format!(".read {name}").as_bytes()), "");
            false
        } else {
            let said = call(&mut context, "import", json!({"file": name, "table": "t"}));
            told.push_str(&said.text);
            said.failure.is_some()
        };
        let text = std::fs::read(&name).unwrap();
        let shown = String::from_utf8_lossy(&text).into_owned();
        std::fs::remove_file(&name).unwrap();
        if refused {
            assert!(told.contains("not UTF-8"), "{told}\n{shown}");
            continue;
        }
        // Not the list of all columns.
        let notes: Vec<&str> = told
            .lines()
            .filter(|line| !line.starts_with("Filled"))
            .collect();
        let notes = notes.join("\n");
        let after = rows(&Connection::open(&file.0).unwrap());
        assert_eq!(after.len(), before.len(), "{told}\n{shown}");
        for (index, name) in std::iter::once(&"id").chain(&NAMES).enumerate() {
            for (before, after) in before.iter().zip(&after) {
                let same = before[index] == after[index];
                assert!(
                    same || notes.contains(&format!(" in {name}")) || is_named(&notes, name),
                    "{format} {parts:?}: {:?} became {:?}, and nobody said so: {told}\n{shown}",
                    before[index],
                    after[index]
                );
            }
        }
        exact += usize::from(before == after);
    }
    assert!(exact > cases() / 5, "{exact}");
}
