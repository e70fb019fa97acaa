//! Random schemas and writes: after undo, all is as before the write, rowids included.
//!
//! `SQLARIUM_UNDO_CASES` says how many cases, `SQLARIUM_UNDO_SEED` which is the first: 10,000 of
//! them take some minutes.

use super::{contents, recorded_in, undo};
use crate::engine::tests::*;

/// Random numbers that a seed repeats (<https://prng.di.unimi.it/splitmix64.c>).
pub(in crate::engine::tests) struct Dice(pub(in crate::engine::tests) u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    pub(in crate::engine::tests) fn below(&mut self, count: u64) -> u64 {
        self.next() % count
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    pub(in crate::engine::tests) fn pick<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// Tables with keys of every kind; `id` is a column of each, `v` another, that writes address.
const TABLES: [(&str, &str); 12] = [
    ("text_key", "id TEXT PRIMARY KEY, v"),
    ("composite", "id, v, w, PRIMARY KEY (id, w)"),
    ("int_key", "id INT PRIMARY KEY, v UNIQUE"),
    ("descending", "id INTEGER PRIMARY KEY DESC, v"),
    ("alias", "id INTEGER PRIMARY KEY, v UNIQUE"),
    ("counted", "id INTEGER PRIMARY KEY AUTOINCREMENT, v"),
    ("no_rowid", "id, v, PRIMARY KEY (id)) WITHOUT ROWID --"),
    ("no_case", "id TEXT PRIMARY KEY COLLATE NOCASE, v"),
    (
        "no_key",
        "id, v, twice AS (v || v), stored AS (length(v)) STORED",
    ),
    ("parent", "id INTEGER PRIMARY KEY, v"),
    (
        "child",
        "id INTEGER REFERENCES parent ON DELETE CASCADE ON UPDATE CASCADE, v",
    ),
    (
        "orphan",
        "id INTEGER REFERENCES parent ON DELETE SET NULL ON UPDATE SET NULL, v",
    ),
];

/// What may stand on the tables.
const MORE: [&str; 8] = [
    "CREATE INDEX by_v ON no_key(v, id)",
    "CREATE UNIQUE INDEX part ON composite(v) WHERE w > 40",
    "CREATE INDEX by_length ON text_key(length(v))",
    "CREATE TABLE log(what); CREATE TRIGGER logged AFTER DELETE ON alias BEGIN INSERT INTO log VALUES(old.v); END",
    "CREATE TRIGGER copied AFTER INSERT ON int_key BEGIN INSERT INTO no_key VALUES(new.id, new.v); END",
    "CREATE VIRTUAL TABLE words USING fts5(body, prefix='1')",
    "CREATE VIRTUAL TABLE boxes USING rtree(id, x0, x1)",
    "CREATE VIRTUAL TABLE points USING vec0(v float[3], label text)",
];

/// What another program has made, with a function and a collation of its own and texts in double
/// quotes. Undo knows pages alone, so that it need not understand any of it.
const FOREIGN: &str = r#"
    CREATE TABLE quoted(id INTEGER PRIMARY KEY, v CHECK(v <> "none"), w DEFAULT "some");
    CREATE TABLE theirs(id, v, n TEXT UNIQUE COLLATE NOCASE, w AS (their_word(v)));
    CREATE INDEX by_word ON theirs(their_word(v)); CREATE INDEX some ON quoted(v) WHERE w = "some";
    CREATE VIEW broken AS SELECT * FROM gone;
    CREATE TRIGGER told AFTER INSERT ON theirs BEGIN SELECT their_word("x"); END;
    INSERT INTO quoted SELECT value, value, value FROM generate_series(1, 50);
    INSERT INTO theirs SELECT value, value, value FROM generate_series(1, 50);"#;

/// Makes the tables of [`FOREIGN`] as their program does.
fn foreign(connection: &Connection) {
    use rusqlite::config::DbConfig;
    use rusqlite::functions::FunctionFlags;
    for config in [
        DbConfig::SQLITE_DBCONFIG_DQS_DDL,
        DbConfig::SQLITE_DBCONFIG_DQS_DML,
    ] {
        connection.set_db_config(config, true).unwrap();
    }
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection
        .create_scalar_function("their_word", 1, flags, |call| {
            call.get::<rusqlite::types::Value>(0)
        })
        .unwrap();
    connection.execute_batch(FOREIGN).unwrap();
    // An order of its own, which happens to be NOCASE.
    let rename = "PRAGMA writable_schema = ON;
        UPDATE sqlite_schema SET sql = replace(sql, 'NOCASE', 'their_order') WHERE name = 'theirs';
        PRAGMA writable_schema = RESET;";
    connection.execute_batch(rename).unwrap();
}

/// Rows of any length, some of them on pages of their own; keys are numbers, texts and NULL.
fn insert(dice: &mut Dice, table: &str) -> String {
    let verb = dice.pick(&["INSERT", "INSERT OR IGNORE", "INSERT OR REPLACE", "REPLACE"]);
    let count = if dice.one_in(4) {
        1 + dice.below(200)
    } else {
        1 + dice.below(5)
    };
    let length = dice.pick(&["3", "30", "300", "abs(random() % 4000)"]);
    let key = dice.pick(&[
        "NULL",
        "value",
        "value * 7",
        "'k' || value",
        "'K' || value",
        "abs(random() % 500)",
    ]);
    let start = dice.below(300);
    format!(
        "{verb} INTO {table}(id, v) SELECT {key}, hex(randomblob({length})) FROM generate_series({start}, {})",
        start + count - 1
    )
}

/// One statement, or several of a batch. Not all of them can succeed.
fn write(dice: &mut Dice) -> String {
    let mut tables: Vec<&str> = TABLES.iter().map(|(name, _)| *name).collect();
    tables.extend(["quoted", "theirs"]);
    let table = dice.pick(&tables);
    let (n, m) = (dice.below(300), dice.below(60));
    match dice.below(37) {
        0..=7 => insert(dice, table),
        8 | 9 => format!(
            "UPDATE {table} SET v = v || '{n}' WHERE rowid % 3 = {}",
            n % 3
        ),
        10 => format!("UPDATE {table} SET v = hex(randomblob({n})) || id"),
        11 => format!("UPDATE OR REPLACE {table} SET id = {n} WHERE id = {m} OR v < '5'"),
        12 => format!("UPDATE {table} SET id = upper(id)"),
        13 | 14 => format!("DELETE FROM {table} WHERE id BETWEEN {m} AND {n}"),
        15 => format!("DELETE FROM {table}"),
        16 => format!("ALTER TABLE {table} ADD COLUMN more{m} DEFAULT {n}"),
        17 => format!("ALTER TABLE {table} RENAME TO renamed{m}"),
        18 => format!("ALTER TABLE {table} RENAME COLUMN v TO v{m}"),
        19 => format!(
            "ALTER TABLE {table} DROP COLUMN {}",
            dice.pick(&["v", "w", "twice"])
        ),
        20 => format!("DROP TABLE {table}"),
        21 => format!(
            "DROP {}",
            dice.pick(&[
                "INDEX by_v",
                "INDEX part",
                "TRIGGER logged",
                "TABLE words",
                "TABLE boxes",
                "TABLE points",
                "INDEX by_word",
                "INDEX some",
                "VIEW broken",
                "TRIGGER told"
            ])
        ),
        22 => format!("CREATE TABLE copy{m} AS SELECT * FROM {table}"),
        23 => format!("CREATE INDEX i{m} ON {table}(v, id)"),
        24 => format!("CREATE VIEW w{m} AS SELECT * FROM {table}"),
        25 => "REINDEX".into(),
        26 => "ANALYZE".into(),
        27 => "VACUUM".into(),
        28 => format!("PRAGMA user_version = {n}"),
        29 => format!("PRAGMA incremental_vacuum({m})"),
        30 => format!(
            "INSERT INTO words SELECT 'a{n} b' || value || ' c' FROM generate_series(1, {})",
            m + 1
        ),
        31 => dice
            .pick(&[
                "DELETE FROM words WHERE words MATCH 'c'",
                "INSERT INTO words(words) VALUES('optimize')",
                "INSERT INTO words(words) VALUES('rebuild')",
                "UPDATE words SET body = 'other'",
            ])
            .into(),
        32 => format!(
            "INSERT OR REPLACE INTO boxes SELECT value, value, value + {m} FROM generate_series(1, {n})"
        ),
        33 | 34 => format!(
            "INSERT INTO points(v, label) SELECT '[' || value || ', {n}, {m}]', 'x' || value FROM generate_series(1, {})",
            m + 1
        ),
        35 => dice
            .pick(&[
                "DELETE FROM points WHERE rowid % 2",
                "UPDATE points SET label = 'y'",
                "DELETE FROM points",
            ])
            .into(),
        _ => dice
            .pick(&[
                "DELETE FROM boxes WHERE x0 > 20",
                "UPDATE boxes SET x0 = -x0",
            ])
            .into(),
    }
}

/// A statement that changes few pages, if any.
fn small(dice: &mut Dice) -> String {
    let table = dice.pick(&[
        "text_key",
        "descending",
        "counted",
        "no_case",
        "parent",
        "orphan",
    ]);
    let (from, to) = (dice.pick(&["A", "B"]), dice.pick(&["C", "D"]));
    format!(
        "UPDATE {table} SET v = replace(v, '{from}', '{to}') WHERE id IN (SELECT id FROM {table} LIMIT 3)"
    )
}

/// A database in one of the journal modes, of any page size and with any auto-vacuum.
fn case(dice: &mut Dice, folder: &Folder, number: u64) -> (Engine, String) {
    let (size, vacuum) = (512 << dice.below(4), dice.below(3));
    let mode = dice.pick(&["delete", "truncate", "persist", "wal", "memory"]);
    let mut schema = format!("PRAGMA page_size = {size}; PRAGMA auto_vacuum = {vacuum}; ");
    if mode != "memory" {
        schema.push_str(&format!("PRAGMA journal_mode = {mode}; "));
    }
    let mut tables = String::new();
    for (name, columns) in TABLES {
        tables.push_str(&format!("CREATE TABLE {name}({columns}\n);\n"));
    }
    for sql in MORE {
        if dice.one_in(2) {
            tables.push_str(&format!("{sql};\n"));
        }
    }
    for (name, _) in TABLES {
        tables.push_str(&format!(
            "{};\n",
            insert(dice, name).replacen("INSERT INTO", "INSERT OR IGNORE INTO", 1)
        ));
    }
    let settings = if mode == "memory" {
        recording_in(EngineSettings::default())
    } else {
        let path = folder.file(&format!("{number}.db"));
        let connection = Connection::open(&path).unwrap();
        rusqlite::vtab::series::load_module(&connection).unwrap();
        connection.execute_batch(&schema).unwrap();
        if dice.one_in(3) {
            foreign(&connection);
        }
        recording_in(on_file(&path))
    };
    let mut engine = Engine::new(&settings, OutputLimits::default(), &Alone);
    if mode == "memory" {
        for pragma in schema.split_terminator("; ") {
            exec(&mut engine, pragma).unwrap();
        }
    }
    for sql in crate::engine::database::shell::statements(&tables) {
        // Rows that a key or a reference does not admit are left out.
        let _ = exec(&mut engine, sql);
    }
    (
        engine,
        format!("{mode}, pages of {size}, auto_vacuum {vacuum}"),
    )
}

fn recording_in(settings: EngineSettings) -> EngineSettings {
    EngineSettings {
        undo: recorded_in(":memory:"),
        ..settings
    }
}

fn state(engine: &mut Engine) -> Vec<String> {
    let database = engine.database(None).unwrap();
    database.inspect(contents).unwrap()
}

pub(super) fn number_from(variable: &str, otherwise: u64) -> u64 {
    let text = std::env::var(variable);
    text.map_or(otherwise, |text| text.parse().expect("a number"))
}

#[test]
fn whatever_is_written_is_undone_exactly() {
    let folder = Folder::new();
    let first = number_from("SQLARIUM_UNDO_SEED", 1);
    let mut undone = 0;
    for seed in first..first + number_from("SQLARIUM_UNDO_CASES", 150) {
        let mut dice = Dice(seed);
        let (mut engine, how) = case(&mut dice, &folder, seed);
        let mut states = vec![state(&mut engine)];
        let mut writes = Vec::new();
        for _ in 0..=dice.below(4) {
            let sql = if dice.one_in(4) {
                let several: Vec<String> = (0..=dice.below(4)).map(|_| write(&mut dice)).collect();
                several.join("; ")
            } else {
                write(&mut dice)
            };
            let done = if sql.contains("; ") {
                batch(&mut engine, &sql)
            } else {
                exec(&mut engine, &sql)
            };
            let Some(number) = done
                .ok()
                .and_then(|output| output.extra.get("write").cloned())
            else {
                assert_eq!(
                    &state(&mut engine),
                    states.last().unwrap(),
                    "seed {seed}: {how}: {sql}"
                );
                continue;
            };
            writes.push(format!("{number}: {sql}"));
            states.push(state(&mut engine));
        }
        states.pop();
        for before in states.iter().rev().take(writes.len()) {
            let sql = writes.join("\n");
            writes.pop();
            let done = undo(&mut engine);
            assert!(done.is_ok(), "seed {seed}: {how}: {sql}: {done:?}");
            let after = state(&mut engine);
            let differs = before.iter().zip(&after).find(|(one, other)| one != other);
            assert_eq!(
                (before.len(), differs),
                (after.len(), None),
                "seed {seed}: {how}: {sql}"
            );
            undone += 1;
        }
    }
    assert!(undone > 0);
}

#[test]
fn what_others_write_between_is_never_damaged() {
    let folder = Folder::new();
    let first = number_from("SQLARIUM_UNDO_SEED", 1);
    for seed in first..first + number_from("SQLARIUM_UNDO_CASES", 150) / 3 {
        let mut dice = Dice(!seed);
        let (mut engine, how) = case(&mut dice, &folder, seed);
        let path = folder.file(&format!("{seed}.db"));
        if !path.exists() {
            continue;
        }
        let other = Connection::open(&path).unwrap();
        rusqlite::vtab::series::load_module(&other).unwrap();
        other.execute_batch("PRAGMA foreign_keys = ON").unwrap();
        let (sql, meddle) = (write(&mut dice), write(&mut dice));
        let written = exec(&mut engine, &sql);
        // It reads what it is to forget.
        let _ = contents(&other);
        let meddled = dice.one_in(3) || other.execute_batch(&meddle).is_err();
        let before = contents(&other).unwrap();
        let done = undo(&mut engine);
        // A new connection: FTS5 checks its index by what it remembers of it.
        let after = contents(&Connection::open(&path).unwrap()).unwrap();
        let told = format!("seed {seed}: {how}: {sql}; {meddle}: {meddled}: {written:?}: {done:?}");
        if done.is_err() {
            assert_eq!(before, after, "{told}");
        }
        assert_eq!(
            after.last().map(String::as_str),
            Some("Text([111, 107])"),
            "{told}"
        );
        assert_eq!(after, state(&mut engine), "{told}");
        let read = contents(&other).unwrap();
        assert_eq!(after[..after.len() - 1], read[..read.len() - 1], "{told}");
        let astray = other
            .prepare("PRAGMA foreign_key_check")
            .unwrap()
            .exists([])
            .unwrap_or(true);
        assert!(!astray, "{told}");
    }
}

#[test]
fn writes_are_undone_in_any_order_or_not_at_all() {
    let folder = Folder::new();
    let first = number_from("SQLARIUM_UNDO_SEED", 1);
    let (mut early, mut refused) = (0, 0);
    for seed in first..first + number_from("SQLARIUM_UNDO_CASES", 150) / 2 {
        let mut dice = Dice(seed.wrapping_mul(0x1_0001));
        let (mut engine, how) = case(&mut dice, &folder, seed);
        let before = state(&mut engine);
        let mut writes = Vec::new();
        for _ in 0..2 + dice.below(4) {
            let sql = if dice.one_in(3) {
                write(&mut dice)
            } else {
                small(&mut dice)
            };
            let done = exec(&mut engine, &sql).ok();
            let number = done.and_then(|output| output.extra.get("write")?.as_i64());
            writes.extend(number.map(|number| (number, sql)));
        }
        let told = format!("seed {seed}: {how}: {writes:?}");
        for _ in 0..3 {
            if writes.is_empty() {
                break;
            }
            let at = dice.below(writes.len() as u64) as usize;
            let now = state(&mut engine);
            match engine.database(None).unwrap().undo(Some(writes[at].0)) {
                Ok(_) => {
                    early += u32::from(at + 1 < writes.len());
                    writes.remove(at);
                    let whole = state(&mut engine);
                    assert_eq!(whole.last(), now.last(), "{told}");
                }
                Err(failure) => {
                    refused += 1;
                    assert!(at + 1 < writes.len(), "{told}: {failure}");
                    assert_eq!(state(&mut engine), now, "{told}");
                }
            }
        }
        for (number, _) in writes.iter().rev() {
            let done = engine.database(None).unwrap().undo(Some(*number));
            assert!(done.is_ok(), "{told}: {number}: {done:?}");
        }
        let after = state(&mut engine);
        let differs = before.iter().zip(&after).find(|(one, other)| one != other);
        assert_eq!((before.len(), differs), (after.len(), None), "{told}");
    }
    assert!(early > 0 && refused > 0, "{early} {refused}");
}
