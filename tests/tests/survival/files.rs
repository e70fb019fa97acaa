//! Databases that are broken, odd, or made to do harm: every command that reads is tried on
//! each.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Value, json};
use sqlarium_tests::{Folder, PATIENCE, Server};

use crate::{Dice, form, text};

/// The budget of one call.
const TIMEOUT: Duration = Duration::from_millis(250);

/// On a machine that is busy with other tests.
const SLACK: Duration = Duration::from_secs(4);

/// A bit of everything.
const ORDINARY: &str = "
    BEGIN;
    CREATE TABLE t (id INTEGER PRIMARY KEY, k INTEGER, name TEXT UNIQUE, data BLOB, CHECK (k < 1000));
    CREATE INDEX by_k ON t (k, name DESC) WHERE k > 3;
    CREATE TABLE child (t INTEGER REFERENCES t (id), twice INTEGER AS (t * 2) STORED) STRICT;
    CREATE TABLE pairs (a, b, PRIMARY KEY (a, b)) WITHOUT ROWID;
    CREATE VIEW totals AS SELECT k, count(*) AS n FROM t GROUP BY k;
    CREATE TRIGGER added AFTER INSERT ON t BEGIN INSERT INTO pairs VALUES (new.id, new.k); END;
    CREATE VIRTUAL TABLE words USING fts5(body);
    INSERT INTO words VALUES ('some words to find'), ('others');
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 60)
        INSERT INTO t SELECT i, i % 11, 'name ' || i, zeroblob(i * 30) FROM n;
    COMMIT;";

/// What every file is asked. Its tables are asked for their rows and columns besides.
const QUESTIONS: [(&str, &str); 9] = [
    ("query", "PRAGMA integrity_check"),
    ("query", "SELECT * FROM sqlite_schema"),
    ("query", "SELECT count(*), sum(length(data)) FROM t"),
    ("query", "SELECT * FROM words WHERE words MATCH 'words'"),
    ("explain", "SELECT name FROM t WHERE k = 5 ORDER BY name"),
    ("tables", ""),
    ("schema", ""),
    ("indexes", ""),
    ("databases", ""),
];

/// Asks all of a server for the file, which has to live through it; how many answers were
/// refusals.
fn read_all(what: &str, path: &Path) -> (u32, u32) {
    let timeout = format!("{}ms", TIMEOUT.as_millis());
    let mut server = Server::ready(["--timeout", &timeout, "--busy-timeout", "200ms", text(path)]);
    let (mut asked, mut refused) = (0, 0);
    let mut ask = |command: &str, arguments: Value| {
        let started = Instant::now();
        let id = server.begin(command, arguments.clone());
        let reply = server.receive(PATIENCE);
        let reply = reply.unwrap_or_else(|| panic!("{what}: {command} {arguments}: silence"));
        assert_eq!(reply["id"], id, "{what}: {reply}");
        let answer = sqlarium_tests::Answer::of(&reply);
        let elapsed = started.elapsed();
        assert!(
            elapsed < TIMEOUT + SLACK,
            "{what}: {command} took {elapsed:?}"
        );
        assert!(
            !answer.text.trim().is_empty(),
            "{what}: {command} says nothing"
        );
        for bad in ["the sandbox failed", "internal:", "panicked"] {
            assert!(
                !answer.text.contains(bad),
                "{what}: {command} {arguments}: {}",
                answer.text
            );
        }
        // What a terminal would act on is escaped in text for reading.
        let looked_at = arguments["output"] != "json";
        let acting = |c: char| {
            let bidirectional = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            looked_at && (bidirectional || c.is_control() && c != '\n' && c != '\t')
        };
        assert!(
            !answer.text.contains(acting),
            "{what}: {command} {arguments}: {:?}",
            answer.text
        );
        asked += 1;
        refused += u32::from(answer.refused);
        answer
    };
    for (command, sql) in QUESTIONS {
        let arguments = if sql.is_empty() {
            json!({})
        } else {
            json!({ "sql": sql })
        };
        ask(command, arguments);
    }
    let names = ask(
        "query",
        json!({ "sql": "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') LIMIT 18", "output": "json" }),
    );
    for name in names.object["rows"].as_array().unwrap_or(&Vec::new()) {
        if let Some(name) = name[0].as_str() {
            ask("describe", json!({ "table": name }));
            let quoted = name.replace('"', "\"\"");
            ask(
                "query",
                json!({ "sql": format!("SELECT * FROM \"{quoted}\"") }),
            );
        }
    }
    assert_eq!(server.ask("ping", json!({}))["result"], json!({}), "{what}");
    assert_eq!(server.finish().code, Some(0), "{what}");
    (asked, refused)
}

/// Reads all of many files, each of which stays as it is.
fn read_files(files: impl IntoIterator<Item = (String, PathBuf)>) {
    let (mut count, mut asked, mut refused) = (0, 0, 0);
    for (what, path) in files {
        let before = fs::read(&path).expect(&what);
        let (more, no) = read_all(&what, &path);
        assert!(
            fs::read(&path).expect(&what) == before,
            "{what}: reading changed the file"
        );
        count += 1;
        asked += more;
        refused += no;
    }
    println!("{count} files, {asked} calls, {refused} refused");
    assert!(refused < asked, "nothing was read");
}

#[test]
fn files_that_end_too_early() {
    let folder = Folder::new();
    let whole = fs::read(folder.database("whole.db", ORDINARY)).expect("the file");
    let path = folder.path("short.db");
    let mut lengths = vec![
        0, 1, 15, 16, 17, 99, 100, 101, 511, 512, 4095, 4096, 4097, 8192,
    ];
    let mut dice = Dice(11);
    lengths.extend((0..form(8, 400)).map(|_| dice.below(whole.len() as u64)));
    read_files(lengths.into_iter().map(|length| {
        fs::write(&path, &whole[..usize::try_from(length).expect("a length")]).expect("a file");
        (format!("the first {length} bytes"), path.clone())
    }));
}

#[test]
fn files_with_flipped_bits() {
    let folder = Folder::new();
    let whole = fs::read(folder.database("whole.db", ORDINARY)).expect("the file");
    let path = folder.path("flipped.db");
    let mut dice = Dice(12);
    read_files((0..form(40, 3000)).map(|n| {
        let mut bytes = whole.clone();
        // Half of them where it hurts: the header, the schema, and the start of every page.
        for _ in 0..=dice.below(20) {
            let at = match n % 2 {
                0 => dice.below(bytes.len() as u64),
                _ => dice.below(bytes.len() as u64 / 4096) * 4096 + dice.below(120),
            };
            let at = usize::try_from(at).expect("a place");
            // Its magic string has to stay, or it is no database at all.
            if at >= 16 {
                bytes[at] ^= 1 << dice.below(8);
            }
        }
        fs::write(&path, bytes).expect("a file");
        (format!("the {n}th with flipped bits"), path.clone())
    }));
}

#[test]
fn files_of_every_kind() {
    let folder = Folder::new();
    let mut files = Vec::new();
    for (name, first) in [
        ("UTF-16 little-endian", "PRAGMA encoding = 'UTF-16le'"),
        ("UTF-16 big-endian", "PRAGMA encoding = 'UTF-16be'"),
        ("pages of 512 bytes", "PRAGMA page_size = 512"),
        ("pages of 65536 bytes", "PRAGMA page_size = 65536"),
        ("auto-vacuum", "PRAGMA auto_vacuum = full"),
        ("incremental vacuum", "PRAGMA auto_vacuum = incremental"),
        ("an old format", "PRAGMA legacy_file_format = on"),
        ("a log", "PRAGMA journal_mode = wal"),
    ] {
        files.push((
            name.to_owned(),
            folder.database(name, &format!("{first}; {ORDINARY}")),
        ));
    }
    files.push(("reserved bytes".into(), reserved_bytes(&folder, "reserved")));
    for (name, bytes) in [
        ("zeros", vec![0; 8192]),
        ("text", b"name,age\nAda,36\n".repeat(400)),
        ("an image", [&b"\x89PNG\r\n\x1a\n"[..], &[7; 5000]].concat()),
        ("noise", noise()),
    ] {
        let path = folder.path(name);
        fs::write(&path, bytes).expect("a file");
        files.push((name.into(), path));
    }
    let tables: String = (0..1000)
        .map(|n| format!("CREATE TABLE t{n} (a, b);"))
        .collect();
    files.push((
        "1,000 tables".into(),
        folder.database("tables", &format!("BEGIN; {tables} COMMIT;")),
    ));
    let columns = (0..2000)
        .map(|n| format!("c{n}"))
        .collect::<Vec<_>>()
        .join(",");
    let sql = format!("CREATE TABLE t ({columns}); INSERT INTO t (c0) VALUES (1);");
    files.push(("2,000 columns".into(), folder.database("columns", &sql)));
    read_files(files);
}

/// A database whose pages end in 32 bytes that SQLite leaves alone, as those of extensions that
/// encrypt or checksum pages do.
fn reserved_bytes(folder: &Folder, name: &str) -> PathBuf {
    const PAGE: u16 = 1024;
    const RESERVED: u8 = 32;
    let path = folder.database(name, "PRAGMA page_size = 1024; PRAGMA user_version = 7;");
    // An empty database determines the form of new pages: byte 20 is how many bytes they reserve
    // (https://www.sqlite.org/fileformat2.html), and the cells of the first one, of which there
    // are none, start where these do.
    let mut bytes = fs::read(&path).expect("the file");
    assert_eq!(bytes.len(), usize::from(PAGE));
    bytes[20] = RESERVED;
    bytes[105..107].copy_from_slice(&(PAGE - u16::from(RESERVED)).to_be_bytes());
    fs::write(&path, bytes).expect("the file");
    let connection = Connection::open(&path).expect("the database");
    connection.execute_batch(ORDINARY).expect("filled");
    drop(connection);
    let bytes = fs::read(&path).expect("the file");
    assert_eq!((bytes[20], bytes.len() > 20_000), (RESERVED, true));
    for page in bytes.chunks(usize::from(PAGE)) {
        assert_eq!(
            page[page.len() - usize::from(RESERVED)..],
            [0; RESERVED as usize]
        );
    }
    Folder::assert_whole(&path);
    path
}

#[test]
fn reserved_bytes_are_left_alone() {
    let folder = Folder::new();
    let path = reserved_bytes(&folder, "reserved.db");
    // Whoever reserved them keeps something there.
    let mut bytes = fs::read(&path).expect("the file");
    for page in bytes.chunks_mut(1024) {
        page[992..].fill(0xa5);
    }
    fs::write(&path, bytes).expect("the file");
    let sql = "SELECT group_concat(id || name || hex(data)) FROM (SELECT * FROM t ORDER BY id)";
    // All of it is one long text.
    let mut server = Server::ready(["--text", "1000000", text(&path)]);
    assert_eq!(server.rows(sql)[0][0], *Folder::native(&path, sql)[0]);
    server.batch("UPDATE t SET data = x'01' || data WHERE id = 40; DELETE FROM t WHERE id = 41;");
    assert_eq!(server.rows("PRAGMA integrity_check"), json!([["ok"]]));
    assert_eq!(server.rows(sql)[0][0], *Folder::native(&path, sql)[0]);
    drop(server);
    Folder::assert_whole(&path);
    let bytes = fs::read(&path).expect("the file");
    assert_eq!(bytes[20], 32);
    let kept = bytes.chunks(1024).filter(|page| page[992..] == [0xa5; 32]);
    assert!(
        kept.count() > bytes.len() / 1024 / 2,
        "they were written over"
    );
}

fn noise() -> Vec<u8> {
    let mut dice = Dice(13);
    (0..2000).flat_map(|_| dice.roll().to_le_bytes()).collect()
}

#[test]
fn names_that_are_made_to_be_misread() {
    let folder = Folder::new();
    let path = folder.path("names.db");
    let connection = Connection::open(&path).expect("a database");
    for name in [
        "it's",
        "say \"no\"",
        "[brackets]",
        "back`tick",
        "two\nlines",
        "carriage\rreturn",
        "tab\tand bell\u{7}",
        "\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7}",
        "right\u{202e}to left\u{202c}",
        "zero\u{200b}width\u{feff}",
        "; DROP TABLE t; --",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
        "%s%n %d",
        "../../etc/passwd",
        "",
        " ",
        "naïve 数据 🗄️",
        "\u{9b}31m and \u{85}",
    ] {
        let quoted = name.replace('"', "\"\"");
        let value = name.replace('\'', "''");
        connection
            .execute_batch(&format!(
                "CREATE TABLE \"{quoted}\" (\"{quoted}\" TEXT DEFAULT '{value}', other);
                 CREATE INDEX \"{quoted} i\" ON \"{quoted}\" (\"{quoted}\");
                 INSERT INTO \"{quoted}\" (other) VALUES (1);"
            ))
            .expect(name);
    }
    drop(connection);
    read_files([("hostile names".to_owned(), path)]);
}

#[test]
fn schemas_that_lie() {
    let folder = Folder::new();
    let mut files = Vec::new();
    let long = "x".repeat(100_000);
    let deep = "(".repeat(900) + &")".repeat(900);
    for (n, change) in [
        "UPDATE sqlite_schema SET sql = 'CREATE TABLE t (' WHERE name = 't'".to_owned(),
        "UPDATE sqlite_schema SET sql = '' WHERE name = 't'".into(),
        "UPDATE sqlite_schema SET sql = NULL WHERE name = 't'".into(),
        "UPDATE sqlite_schema SET sql = 'DROP TABLE t' WHERE name = 't'".into(),
        "UPDATE sqlite_schema SET sql = 'CREATE TABLE t (a); DELETE FROM pairs' WHERE name = 't'".into(),
        "UPDATE sqlite_schema SET sql = x'00ff00ff' WHERE name = 't'".into(),
        "UPDATE sqlite_schema SET rootpage = 1 WHERE name = 't'".into(),
        "UPDATE sqlite_schema SET rootpage = 999999 WHERE name = 't'".into(),
        "UPDATE sqlite_schema SET rootpage = -5 WHERE name = 't'".into(),
        "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'by_k') WHERE name = 't'".into(),
        "UPDATE sqlite_schema SET type = 'view' WHERE name = 't'".into(),
        "UPDATE sqlite_schema SET name = 'sqlite_schema' WHERE name = 't'".into(),
        "UPDATE sqlite_schema SET name = NULL, tbl_name = 7 WHERE name = 'pairs'".into(),
        "UPDATE sqlite_schema SET sql = 'CREATE VIEW totals AS SELECT * FROM totals' WHERE name = 'totals'".into(),
        "UPDATE sqlite_schema SET sql = 'CREATE VIEW totals AS SELECT load_extension(''x''), writefile(''x'', 1), randomblob(1000000000)' WHERE name = 'totals'".into(),
        format!("UPDATE sqlite_schema SET sql = 'CREATE VIEW totals AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n /* {long} */' WHERE name = 'totals'"),
        format!("UPDATE sqlite_schema SET sql = 'CREATE VIEW totals AS SELECT {deep}' WHERE name = 'totals'"),
        "UPDATE sqlite_schema SET sql = 'CREATE VIRTUAL TABLE words USING fts5(body, content=''t'', tokenize=''x'')' WHERE name = 'words'".into(),
        "UPDATE sqlite_schema SET sql = 'CREATE VIRTUAL TABLE words USING csv(filename=''/etc/passwd'')' WHERE name = 'words'".into(),
        "UPDATE sqlite_schema SET sql = 'CREATE TABLE words_data (id INTEGER PRIMARY KEY, block BLOB, more)' WHERE name = 'words_data'".into(),
        "UPDATE words_data SET block = x'ffffffffffffffffffffffffffffffff'".into(),
        "UPDATE words_data SET block = zeroblob(100000)".into(),
        "INSERT INTO sqlite_schema SELECT * FROM sqlite_schema".into(),
        "DELETE FROM sqlite_schema WHERE name LIKE 'words\\_%' ESCAPE '\\'".into(),
    ]
    .iter()
    .enumerate()
    {
        let path = folder.database(&format!("{n}.db"), ORDINARY);
        let connection = Connection::open(&path).expect("the database");
        let sql = format!("PRAGMA writable_schema = ON; {change};");
        connection.execute_batch(&sql).expect(change);
        drop(connection);
        files.push((change.chars().take(120).collect(), path));
    }
    let views: String = (1..60)
        .map(|n| format!("CREATE VIEW v{n} AS SELECT a.x FROM v{0} a, v{0} b;", n - 1))
        .collect();
    let sql = format!("CREATE VIEW v0 AS SELECT 1 AS x; {views}");
    files.push((
        "views that double".into(),
        folder.database("views.db", &sql),
    ));
    let mutual = "CREATE VIEW a AS SELECT * FROM b; CREATE VIEW b AS SELECT * FROM a;";
    files.push((
        "views in a circle".into(),
        folder.database("circle.db", mutual),
    ));
    read_files(files);
}

#[test]
fn journals_and_logs_that_belong_to_another_file() {
    let folder = Folder::new();
    let other = folder.database("other.db", ORDINARY);
    let native = Connection::open(&other).expect("the database");
    native
        .execute_batch("PRAGMA cache_size = 5; BEGIN; UPDATE t SET data = zeroblob(3000);")
        .expect("begun");
    let journal = fs::read(folder.path("other.db-journal")).expect("a journal");
    drop(native);
    let native = Connection::open(&other).expect("the database");
    native
        .execute_batch("PRAGMA journal_mode = wal; UPDATE t SET data = zeroblob(2000);")
        .expect("written");
    let log = fs::read(folder.path("other.db-wal")).expect("a log");
    drop(native);
    assert!(
        journal.len() > 512 && log.len() > 4096,
        "{} and {}",
        journal.len(),
        log.len()
    );

    let mut dice = Dice(17);
    let mut read = 0;
    for n in 0..form(8, 100) {
        for (end, bytes) in [("journal", &journal), ("wal", &log)] {
            let name = format!("{n}-{end}.db");
            let mode = if end == "wal" { "wal" } else { "delete" };
            let sql =
                format!("PRAGMA journal_mode = {mode}; {ORDINARY} DELETE FROM t WHERE id > 9;");
            let path = folder.database(&name, &sql);
            let mut bytes = bytes.clone();
            match n {
                0 => {}
                1 => bytes.truncate(600),
                2 => bytes.truncate(31),
                3 => bytes.clear(),
                _ => {
                    for _ in 0..4 {
                        let at = usize::try_from(dice.below(bytes.len() as u64)).expect("a place");
                        bytes[at] ^= 1 << dice.below(8);
                    }
                }
            }
            let copy = folder.path(&format!("native-{name}"));
            for path in [&path, &copy] {
                if path == &copy {
                    fs::copy(folder.path(&name), path).expect("a copy");
                }
                fs::write(format!("{}-{end}", text(path)), &bytes).expect("a file");
            }
            // Native SQLite has to think the same of it, whatever that is.
            let expected = standing(|sql| {
                let connection = Connection::open(&copy).expect("the copy");
                let mut statement = connection.prepare(sql).ok()?;
                let row = |row: &rusqlite::Row<'_>| row.get::<_, Option<String>>(0);
                let rows = statement.query_map([], row).ok()?;
                rows.collect::<Result<Vec<_>, _>>().ok()
            });
            let mut server = Server::ready([text(&path)]);
            let found = standing(|sql| {
                let answer = server.call("query", json!({ "sql": sql, "output": "json" }));
                let rows = answer.object["rows"]
                    .as_array()
                    .filter(|_| !answer.refused)?;
                Some(
                    rows.iter()
                        .map(|row| row[0].as_str().map(str::to_owned))
                        .collect(),
                )
            });
            drop(server);
            assert_eq!(found, expected, "{name}");
            read += u32::from(
                found
                    .iter()
                    .flatten()
                    .any(|rows| *rows == [Some("ok".into())]),
            );
            read_all(&name, &path);
        }
    }
    println!("{read} of them are whole");
    assert!(read > 0, "none could be read");
}

/// What a database holds, as text; nothing where it cannot be read.
fn standing(
    mut query: impl FnMut(&str) -> Option<Vec<Option<String>>>,
) -> Vec<Option<Vec<Option<String>>>> {
    [
        "PRAGMA integrity_check(1)",
        "SELECT sql FROM sqlite_schema ORDER BY rowid",
        "SELECT id || ' ' || k || ' ' || name || ' ' || length(data) FROM t NOT INDEXED ORDER BY id",
        "SELECT a || ' ' || b FROM pairs ORDER BY 1",
        "SELECT body FROM words WHERE words MATCH 'words'",
    ]
    .map(&mut query)
    .into()
}
