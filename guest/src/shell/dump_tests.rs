//! Dumps, written and read back: by this shell, and by SQLite alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rusqlite::Connection;
use rusqlite::types::{Value, ValueRef};

use super::console::Page;
use super::{Next, Shell};
use crate::command::interface::audience::Audience;
use crate::command::interface::context::Context;
use crate::command::interface::toolset::Toolset;
use crate::host::Alone;
use crate::registry::REGISTRY;
use crate::settings::{CommandSettings, EngineLimits, EngineSettings, OutputLimits};

/// A database file of a test's own.
pub(super) struct File(pub(super) PathBuf);

impl File {
    pub(super) fn empty() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("sqlarium-dump-{}-{number}.db", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, "").unwrap();
        Self(path)
    }

    /// Made by SQLite alone.
    fn by_sqlite(sql: &[u8]) -> Self {
        let file = Self::empty();
        let connection = Connection::open(&file.0).unwrap();
        connection
            .execute_batch(std::str::from_utf8(sql).unwrap())
            .unwrap();
        file
    }

    /// Made by our shell, which says nothing about it.
    fn by_us(script: &[u8]) -> Self {
        let file = Self::empty();
        assert_eq!(file.shell(script), "");
        file
    }

    /// What our shell prints.
    pub(super) fn shell(&self, script: &[u8]) -> String {
        let mut context = context_of(self);
        let mut page = Page::new(64 << 20);
        let mut shell = Shell::new(false, None);
        for line in script.split(|&byte| byte == b'\n') {
            if let Next::Quit(_) = shell.feed(line, &mut context, &mut page) {
                break;
            }
        }
        shell.finish(&mut context, &mut page);
        shell.close(&mut context);
        let (text, cut) = page.finish();
        assert!(!cut);
        text
    }

    fn dump(&self) -> String {
        self.shell(b".dump")
    }
}

impl Drop for File {
    fn drop(&mut self) {
        for end in ["db", "db-wal", "db-shm", "db-journal"] {
            let _ = std::fs::remove_file(self.0.with_extension(end));
        }
    }
}

/// What commands work with that are called on a file.
pub(super) fn context_of(file: &File) -> Context {
    let settings = CommandSettings {
        engine: EngineSettings {
            database: file.0.to_str().unwrap().to_owned(),
            title: "shop.db".into(),
            in_memory: false,
            root: true,
            limits: EngineLimits {
                sql_bytes: 32 << 20,
                ..EngineLimits::default()
            },
            ..EngineSettings::default()
        },
        output: OutputLimits {
            text_bytes: 64 << 20,
            reply_bytes: 256 << 20,
            ..OutputLimits::default()
        },
    };
    let audience = Audience::Client(Toolset::all(&REGISTRY));
    Context::new(settings, &Alone, &REGISTRY, audience)
}

/// Rows in which values are equal if they are the same to the bit.
pub(super) fn cells(connection: &Connection, sql: &str) -> Vec<Vec<Value>> {
    let mut statement = connection.prepare(sql).unwrap();
    let width = statement.column_count();
    let rows = statement.query_map([], |row| {
        (0..width)
            .map(|index| {
                Ok(match row.get_ref(index)? {
                    ValueRef::Real(real) => Value::Text(format!("real {:016x}", real.to_bits())),
                    ValueRef::Text(text) => Value::Blob([b"text ", text].concat()),
                    value => value.try_into().unwrap(),
                })
            })
            .collect::<rusqlite::Result<Vec<Value>>>()
    });
    rows.unwrap().map(Result::unwrap).collect()
}

/// All that there is: the schema, what the file says of itself, and every row of every table of its
/// own with its rowid.
fn contents(path: &Path) -> BTreeMap<String, Vec<Vec<Value>>> {
    let connection = Connection::open(path).unwrap();
    let rows = |sql: &str| {
        let mut rows = cells(&connection, sql);
        rows.sort_by_key(|row| format!("{row:?}"));
        rows
    };
    let mut all = BTreeMap::from([
        (
            "schema".to_owned(),
            rows(
                "SELECT type, name, tbl_name, replace(sql, 'IF NOT EXISTS ', '') FROM sqlite_schema",
            ),
        ),
        (
            "settings".to_owned(),
            rows(
                "SELECT * FROM pragma_user_version, pragma_application_id, pragma_page_size, \
                 pragma_auto_vacuum, pragma_encoding",
            ),
        ),
        ("check".to_owned(), rows("PRAGMA integrity_check")),
    ]);
    let mut tables = connection
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0")
        .unwrap();
    let tables = tables.query_map([], |row| row.get::<_, String>(0)).unwrap();
    for table in tables.map(Result::unwrap) {
        let name = table.replace('"', "\"\"");
        let columns = ["_rowid_, *", "*"].into_iter().find(|columns| {
            connection
                .prepare(&format!("SELECT {columns} FROM \"{name}\""))
                .is_ok()
        });
        let columns = columns.unwrap();
        all.insert(table, rows(&format!("SELECT {columns} FROM \"{name}\"")));
    }
    all
}

/// That the dump of a file is the same file again, to our shell and to SQLite.
pub(super) fn comes_back(file: &File) -> String {
    let dump = file.dump();
    let before = contents(&file.0);
    assert_eq!(contents(&File::by_us(dump.as_bytes()).0), before, "{dump}");
    let theirs = File::by_sqlite(dump.as_bytes());
    assert_eq!(contents(&theirs.0), before, "by SQLite: {dump}");
    dump
}

#[test]
fn what_the_file_says_of_itself_comes_back() {
    let dump = comes_back(&File::by_sqlite(
        b"PRAGMA page_size=1024; PRAGMA auto_vacuum=2; PRAGMA encoding='UTF-16le';
        PRAGMA user_version=-7; PRAGMA application_id=1196444487;
        CREATE TABLE t(a); INSERT INTO t VALUES('\xc3\xa9' || char(0, 13, 10) || '''');",
    ));
    assert!(dump.starts_with("PRAGMA encoding='UTF-16le';\nPRAGMA page_size=1024;\n"));
    // What every file is goes without saying.
    let plain = File::by_sqlite(b"CREATE TABLE t(a); INSERT INTO t VALUES(1)").dump();
    assert_eq!(
        plain,
        "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE t(a);\n\
         INSERT INTO \"t\" VALUES(1);\nCOMMIT;\n"
    );
}

#[test]
fn every_row_keeps_its_rowid() {
    for sql in [
        // The first row is gone, and one in the middle.
        "CREATE TABLE docs(body); INSERT INTO docs VALUES('a'), ('b'), ('c'), ('d');
         DELETE FROM docs WHERE rowid IN (1, 3);",
        // No alias of the rowid, though it looks like one.
        "CREATE TABLE d(id INTEGER PRIMARY KEY DESC, body TEXT);
         INSERT INTO d VALUES(10, 'a'), (20, 'b'), (30, 'c'); DELETE FROM d WHERE id = 10;
         CREATE VIRTUAL TABLE f USING fts5(body, content='d'); INSERT INTO f(f) VALUES('rebuild');",
        "CREATE TABLE k(rowid TEXT PRIMARY KEY, _rowid_ INT, n);
         INSERT INTO k VALUES('a', 1, 1), ('b', 2, 2); DELETE FROM k WHERE n = 1;",
        "CREATE TABLE n(a); INSERT INTO n(rowid, a) VALUES(-5, 'a'), (9223372036854775807, 'b'), (0, 'c');",
        "CREATE TABLE g(a INT PRIMARY KEY, b AS (a * 2), c AS (a) STORED); INSERT INTO g VALUES(5), (6);
         DELETE FROM g WHERE a = 5;",
        "CREATE TABLE w(a, b, PRIMARY KEY(b, a)) WITHOUT ROWID; INSERT INTO w VALUES(2, 1), (1, 2);",
        "CREATE TABLE s(id INTEGER PRIMARY KEY AUTOINCREMENT, a); INSERT INTO s VALUES(7, 'a'); DELETE FROM s;",
    ] {
        comes_back(&File::by_sqlite(sql.as_bytes()));
    }
    let hidden =
        File::by_sqlite(b"CREATE TABLE h(rowid, _rowid_, oid); INSERT INTO h VALUES(1, 2, 3)");
    assert!(hidden.dump().contains("rowids of h are not kept"));
}

/// Virtual tables of every kind that SQLite brings.
const VIRTUAL: &str = "
    CREATE TABLE docs(id INTEGER PRIMARY KEY, body TEXT, \"odd \"\"name\" TEXT);
    INSERT INTO docs VALUES(3, 'a red fox', 'x'), (7, 'a blue bird', 'y');
    CREATE VIRTUAL TABLE plain USING fts5(body, note UNINDEXED);
    INSERT INTO plain VALUES('a red fox', 'it''s'), ('gone', ''), ('blue' || char(10) || 'bird', NULL);
    DELETE FROM plain WHERE body = 'gone';
    CREATE VIRTUAL TABLE outside USING fts5(body, content='docs', content_rowid='id');
    INSERT INTO outside(outside) VALUES('rebuild');
    CREATE VIRTUAL TABLE contentless USING fts5(body, content='');
    INSERT INTO contentless(rowid, body) VALUES(5, 'contentless words');
    CREATE VIRTUAL TABLE \"odd 'name\" USING fts5(body, tokenize = \"unicode61\"\r\n, prefix='2 3');
    INSERT INTO \"odd 'name\" VALUES('prefixes');
    CREATE VIRTUAL TABLE old USING fts4(body, content=\"docs\");
    INSERT INTO old(old) VALUES('rebuild');
    CREATE VIRTUAL TABLE older USING fts3(body);
    INSERT INTO older VALUES('three words here');
    CREATE VIRTUAL TABLE vocabulary USING fts5vocab(plain, row);
    CREATE VIRTUAL TABLE places USING rtree(id, x0, x1, +label);
    INSERT INTO places VALUES(3, 0, 5, 'a'), (9, 1, 2, NULL);
    CREATE TRIGGER follow AFTER INSERT ON docs BEGIN
        INSERT INTO outside(rowid, body) VALUES(new.id, new.body);
    END;
    CREATE VIEW found AS SELECT rowid FROM plain;
    CREATE INDEX by_body ON docs(body) WHERE id > 3;
    ANALYZE;";

#[test]
fn virtual_tables_come_back_with_all_that_is_theirs() {
    let file = File::by_sqlite(VIRTUAL.as_bytes());
    let dump = comes_back(&file);
    // The same shell can use them at once, and nothing is left open.
    let asks = "
        SELECT rowid FROM plain('blue'); SELECT rowid FROM outside('fox'); SELECT rowid FROM contentless('words');
        SELECT rowid FROM old WHERE old MATCH 'bird'; SELECT rowid FROM older WHERE older MATCH 'three';
        SELECT id, label FROM places WHERE x0 > 0.5; SELECT count(*) FROM vocabulary;
        INSERT INTO docs VALUES(8, 'green', ''); SELECT rowid FROM outside('green');
        INSERT INTO plain(plain) VALUES('integrity-check');
        DROP TABLE places; SELECT count(*) FROM sqlite_schema WHERE name LIKE 'places%';";
    let again = File::empty();
    assert_eq!(
        again.shell(format!("{dump}{asks}").as_bytes()),
        "3\n3\n5\n7\n1\n9|\n5\n8\n0\n"
    );
    assert!(
        again
            .shell(b"DELETE FROM plain_data;")
            .contains("may not be modified")
    );
}

#[test]
fn vectors_come_back() {
    let file = File::by_us(
        b"CREATE VIRTUAL TABLE v USING vec0(a float[2], kind TEXT, +note TEXT);
        INSERT INTO v(rowid, a, kind, note) VALUES(4, '[1, 2]', 'x', 'n'), (5, '[3, 4]', 'y', NULL), (9, '[9, 9]', 'x', 'm');
        DELETE FROM v WHERE rowid = 4;",
    );
    let dump = comes_back(&file);
    let again = File::by_us(dump.as_bytes());
    assert_eq!(
        again.shell(b"SELECT rowid, note FROM v WHERE a MATCH '[8, 8]' AND k = 1;"),
        "9|m\n"
    );
}

/// What the sqlite3 program writes for such a file: names in single quotes, tables that are made if they
/// are not there, and texts as they are.
#[test]
fn a_dump_of_the_sqlite3_program_is_read() {
    let dump = b"PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
PRAGMA writable_schema=ON;
INSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql)VALUES('table','f','f',0,'CREATE VIRTUAL TABLE f USING fts5(body)');
CREATE TABLE IF NOT EXISTS 'f_data'(id INTEGER PRIMARY KEY, block BLOB);
INSERT INTO f_data VALUES(1,X'021100');
INSERT INTO f_data VALUES(10,X'000000000101010001010101');
INSERT INTO f_data VALUES(137438953473,X'0000001007306361666501020202660305020304040a');
CREATE TABLE IF NOT EXISTS 'f_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS 'f_content'(id INTEGER PRIMARY KEY, c0);
INSERT INTO f_content VALUES(1,'caf\xe9');
CREATE TABLE IF NOT EXISTS 'f_docsize'(id INTEGER PRIMARY KEY, sz BLOB);
INSERT INTO f_docsize VALUES(1,X'01');
CREATE TABLE IF NOT EXISTS 'f_config'(k PRIMARY KEY, v) WITHOUT ROWID;
INSERT INTO f_config VALUES('version',4);
PRAGMA writable_schema=OFF;
COMMIT;
";
    let file = File::by_us(dump);
    assert_eq!(
        file.shell(
            b"SELECT rowid, hex(body) FROM f; SELECT type FROM pragma_table_list('f_data');"
        ),
        "1|636166E9\nshadow\n"
    );
}

#[test]
fn nothing_but_virtual_tables_gets_into_the_schema_by_hand() {
    let row = |values: &str| {
        format!(
            "PRAGMA writable_schema=ON;\nINSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql)VALUES({values});\n\
             PRAGMA writable_schema=OFF;\nSELECT count(*) FROM sqlite_schema;\n"
        )
    };
    for (values, says) in [
        (
            "'table','t','t',2,'CREATE VIRTUAL TABLE t USING fts5(a)'",
            "Only a virtual table",
        ),
        (
            "'table','t','t',0,'CREATE TABLE t(a)'",
            "Only a virtual table",
        ),
        (
            "'view','t','t',0,'CREATE VIEW t AS SELECT 1'",
            "Only a virtual table",
        ),
        (
            "'table','t','u',0,'CREATE VIRTUAL TABLE t USING fts5(a)'",
            "Only a virtual table",
        ),
        (
            "'table','t','t',0,'CREATE VIRTUAL TABLE u USING fts5(a)'",
            "Only a virtual table",
        ),
        (
            "'table','t','t',0,'CREATE VIRTUAL TABLE main.t USING fts5(a)'",
            "Only a virtual table",
        ),
        (
            "'table','t','t',0,'CREATE VIRTUAL TABLE IF NOT EXISTS t USING fts5(a)'",
            "Only a virtual table",
        ),
        (
            "'table','t','t',0,'CREATE VIRTUAL TABLE t USING fts5(a); DROP TABLE x'",
            "one statement",
        ),
        (
            "'table','t','t',0,'CREATE VIRTUAL TABLE t USING fts5(a'",
            "incomplete input",
        ),
        (
            "'table','sqlite_t','sqlite_t',0,'CREATE VIRTUAL TABLE sqlite_t USING fts5(a)'",
            "reserved",
        ),
        (
            "'table','x','x',0,'CREATE VIRTUAL TABLE x USING fts5(a)'",
            "already exists",
        ),
        ("'table','t','t',0,load_extension('t')", "load_extension"),
        ("'table','t','t',0,NULL", "Only a virtual table"),
        ("'table','t'", "column"),
    ] {
        let file = File::by_us(b"CREATE TABLE x(a);");
        let text = file.shell(row(values).as_bytes());
        assert!(
            text.contains(says) && text.ends_with("\n1\n"),
            "{values}: {text}"
        );
    }
    // Nor anything at all, where no dump has begun.
    let file = File::by_us(b"CREATE TABLE x(a);");
    let values = "'table','t','t',0,'CREATE VIRTUAL TABLE t USING fts5(a)'";
    let text = file.shell(
        row(values)
            .replace("PRAGMA writable_schema=ON;\n", "")
            .as_bytes(),
    );
    assert!(text.contains("may not be modified"), "{text}");
    // A transaction that is taken back takes it back too.
    let text = file.shell(
        format!(
            "BEGIN;\n{}ROLLBACK;\nSELECT count(*) FROM sqlite_schema;\n",
            row(values)
        )
        .as_bytes(),
    );
    assert_eq!(text, "2\n1\n");
}

#[test]
fn a_table_whose_module_nobody_has_is_kept_as_it_is() {
    let create = "CREATE VIRTUAL TABLE theirs USING their_module(a, b)";
    let file = File::by_us(
        format!(
            "PRAGMA writable_schema=ON;\nINSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql)\
             VALUES('table','theirs','theirs',0,'{create}');\nPRAGMA writable_schema=OFF;\n\
             CREATE TABLE theirs_data(a);\nINSERT INTO theirs_data VALUES(1);\n"
        )
        .as_bytes(),
    );
    assert!(comes_back(&file).contains(create));
}

#[test]
fn a_table_of_as_many_columns_as_there_can_be_comes_back_with_its_rowids() {
    let columns: Vec<String> = (0..2_000).map(|column| format!("c{column}")).collect();
    let file = File::by_sqlite(
        format!(
            "CREATE TABLE wide({}); INSERT INTO wide(c0, c1999) VALUES('a', 1), ('b', 2), ('c', NULL), ('d', 4);
             UPDATE wide SET rowid = 9 WHERE c0 = 'd'; UPDATE wide SET rowid = -5 WHERE c0 = 'a';
             DELETE FROM wide WHERE c0 = 'b'",
            columns.join(",")
        )
        .as_bytes(),
    );
    let rows = |file: &File| {
        let connection = Connection::open(&file.0).unwrap();
        cells(&connection, "SELECT rowid, c0, c7, c1999 FROM wide")
    };
    let dump = file.dump();
    assert_eq!(
        dump.matches("UPDATE \"wide\" SET rowid=").count(),
        3,
        "{dump}"
    );
    for back in [
        File::by_us(dump.as_bytes()),
        File::by_sqlite(dump.as_bytes()),
    ] {
        assert_eq!(rows(&back), rows(&file));
        assert_eq!(back.dump(), dump);
    }
}

#[test]
fn a_row_of_several_megabytes_comes_back() {
    let file = File::by_sqlite(
        b"CREATE TABLE big(a, b); INSERT INTO big VALUES(randomblob(3000000), \
          replace(hex(zeroblob(1000000)), '00', 'x''' || char(10)));",
    );
    assert!(comes_back(&file).len() > 9_000_000);
}

#[test]
fn a_dump_of_an_old_schema_may_hold_strings_in_double_quotes() {
    let script = "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\n\
        CREATE TABLE t(b CHECK(b IN (\"x\",\"y\")));\nINSERT INTO \"t\" VALUES('x');\n\
        CREATE INDEX i ON t(b) WHERE b=\"x\";\nCOMMIT;\n";
    File::by_us(script.as_bytes());
    let typed = File::empty().shell(b"CREATE TABLE t(b CHECK(b IN (\"x\",\"y\")));\n");
    assert!(typed.contains("no such column"), "{typed}");
}

#[test]
fn an_unfinished_write_that_is_rolled_back_is_told_of_once() {
    let live = File::by_sqlite(
        b"CREATE TABLE t(a); WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 200)
          INSERT INTO t SELECT randomblob(500) FROM n",
    );
    let connection = Connection::open(&live.0).unwrap();
    connection
        .execute_batch("PRAGMA cache_size = 5; BEGIN; UPDATE t SET a = randomblob(600)")
        .unwrap();
    let dead = File::empty();
    let journal = |file: &File| format!("{}-journal", file.0.display());
    std::fs::copy(&live.0, &dead.0).unwrap();
    std::fs::copy(journal(&live), journal(&dead)).unwrap();
    let said = dead.shell(b"SELECT count(*) FROM t;\nSELECT 1;\n");
    assert_eq!(said.matches("was rolled back").count(), 1, "{said}");
}
