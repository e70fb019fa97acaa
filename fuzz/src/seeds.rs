//! What the fuzzers start from: databases of several kinds, the lines of the transcripts, files, scripts.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use crate::{ALONE, JOURNAL, LOG, join};
use rusqlite::Connection;

/// A bit of everything, and not much of it.
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
    CREATE VIRTUAL TABLE boxes USING rtree(id, x0, x1, y0, y1);
    INSERT INTO boxes VALUES (1, 0, 5, 0, 5), (2, 1, 2, 3, 4);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 12)
        INSERT INTO t SELECT i, i % 11, 'name ' || i, zeroblob(i * 60) FROM n;
    INSERT INTO child VALUES (1), (2);
    COMMIT;";

/// Writes all of them below `corpus`.
///
/// # Errors
///
/// What the operating system or SQLite refuses.
pub fn write(corpus: &Path) -> Result<(), Box<dyn Error>> {
    databases(&corpus.join("database"))?;
    lines(&corpus.join("lines"))?;
    for (target, inputs) in [
        ("import", FILES),
        ("script", SCRIPTS),
        ("params", PARAMS),
        ("undo", WRITES),
    ] {
        let folder = corpus.join(target);
        fs::create_dir_all(&folder)?;
        for (index, input) in inputs.iter().enumerate() {
            fs::write(folder.join(format!("seed-{index}")), input)?;
        }
    }
    Ok(())
}

/// Files to import; the first byte says how.
const FILES: &[&[u8]] = &[
    b"\x00id,name,n\n1,Ada,2\n2,\"x\"\"y\n\",\n",
    b"\x01id;name;n\r\n1;Ada;2\r\n",
    b"\x00id,name\r1,Ada\r2,Bob\r",
    b"\x01sep=|\nid|name|n\n1|\"\"|007\n",
    b"\x02[{\"id\": 1, \"name\": \"Ada\"}, {\"n\": [1, {\"a\": null}], \"id\": 1.5e3}]",
    b"\x03{\"id\":1,\"n\":true}\n{\"name\":\"\\u0041\\n\"}\n",
    b"\x04\xff\xfei\0d\0,\0n\0\n\x001\0,\x002\0\n\0",
    b"\x05\x1f\x8b\x08\0\0\0\0\0\0\x03",
    b"\x08a\x1fb\x1e1\x1f2\x1e",
];

/// Lines of a shell.
const SCRIPTS: &[&[u8]] = &[
    b"CREATE TABLE t(a INTEGER PRIMARY KEY DESC, b TEXT, c AS (a + 1) STORED);\nINSERT INTO t(a, b) VALUES(1, 'x'), (5, x'00ff'), (3, 0.1);\nDELETE FROM t WHERE a = 1;",
    b"CREATE VIRTUAL TABLE f USING fts5(body, content='');\nINSERT INTO f(rowid, body) VALUES(5, 'some words');",
    b"CREATE TABLE \"odd \"\"name\"(x, y, PRIMARY KEY(y, x)) WITHOUT ROWID;\nINSERT INTO \"odd \"\"name\" VALUES(1e999, 'caf\xe9'), (-0.0, 'a' || char(0, 13));\nANALYZE;",
    b"CREATE VIRTUAL TABLE r USING rtree(id, x0, x1, +n);\nINSERT INTO r VALUES(9, 1, 2, 'a');\nCREATE VIEW v AS SELECT * FROM r;\nPRAGMA user_version=7;",
    b"PRAGMA writable_schema=ON;\nINSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql)VALUES('table','f','f',0,'CREATE VIRTUAL TABLE f USING fts5(body)');\nCREATE TABLE f_data(id INTEGER PRIMARY KEY, block BLOB);\nINSERT INTO f_data VALUES(1,x'0102');\nPRAGMA writable_schema=OFF;\nSELECT * FROM f;",
    b"BEGIN;\nCREATE TABLE t(a);\nCREATE TRIGGER g AFTER INSERT ON t BEGIN DELETE FROM t WHERE a = new.a; END;\nROLLBACK;",
];

/// A statement, and its params on the next line.
const PARAMS: &[&[u8]] = &[
    b"SELECT $1, :a, ?, ?2\n[1, \"a\", null, 2.5]",
    b"UPDATE t SET name = :name WHERE id = $id\n{\"name\": \"x\", \"$id\": 1}",
    b"INSERT INTO t VALUES (?, ?, ?)\n\"[7, {\\\"blob\\\": \\\"00ff\\\"}, true]\"",
    b"SELECT ?2\n{\"2\": 5}",
];

/// Writes, two bytes each.
const WRITES: &[&[u8]] = &[
    b"\x00\x01\x01\x02\x02\x03",
    b"\x03\x00\x04\x01\x05\x02\x06\x03\x07\x04",
    b"\x08\x00\x09\x01\x0a\x02\x0b\x03\x0c\x04\x0d\x05\x0e\x06\x0f\x07",
];

fn databases(folder: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    let path = env::temp_dir().join(format!("sqlarium-seed-{}.db", std::process::id()));
    let beside = |end: &str| format!("{}-{end}", path.display());
    let kinds = [
        ("small-pages", "PRAGMA page_size = 512", ALONE),
        ("large-pages", "PRAGMA page_size = 4096", ALONE),
        (
            "utf-16",
            "PRAGMA page_size = 512; PRAGMA encoding = 'UTF-16le'",
            ALONE,
        ),
        (
            "auto-vacuum",
            "PRAGMA page_size = 512; PRAGMA auto_vacuum = full",
            ALONE,
        ),
        ("statistics", "PRAGMA page_size = 1024", ALONE),
        ("empty", "", ALONE),
        ("journal", "PRAGMA page_size = 512", JOURNAL),
        (
            "log",
            "PRAGMA page_size = 512; PRAGMA journal_mode = wal",
            LOG,
        ),
    ];
    for (name, first, kind) in kinds {
        let _ = fs::remove_file(&path);
        let connection = Connection::open(&path)?;
        if !first.is_empty() {
            connection.execute_batch(&format!("{first}; {ORDINARY}"))?;
        }
        if name == "statistics" {
            connection.execute_batch("ANALYZE; DELETE FROM t WHERE id > 6")?;
        }
        let change = "UPDATE t SET data = zeroblob(500), name = name || 'x'";
        let input = match kind {
            JOURNAL => {
                // Writes into the file before it commits.
                let sql =
                    format!("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN; {change};");
                connection.execute_batch(&sql)?;
                join(kind, &fs::read(&path)?, &fs::read(beside("journal"))?)
            }
            LOG => {
                connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?;
                connection.execute_batch(change)?;
                join(kind, &fs::read(&path)?, &fs::read(beside("wal"))?)
            }
            _ => join(kind, &fs::read(&path)?, &[]),
        };
        drop(connection);
        println!("{name}: {} bytes", input.len());
        fs::write(folder.join(name), input)?;
    }
    fs::remove_file(&path)?;
    Ok(())
}

/// One input for each transcript: all that its client says.
fn lines(folder: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    let transcripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/transcripts");
    for group in fs::read_dir(transcripts)? {
        let group = group?.path();
        for transcript in fs::read_dir(&group)? {
            let transcript = transcript?.path();
            let mut input = vec![0];
            for line in fs::read_to_string(&transcript)?.lines() {
                if let Some(sent) = line.strip_prefix("> ") {
                    input.extend_from_slice(sent.as_bytes());
                    input.push(b'\n');
                }
            }
            let stem = |path: &Path| {
                path.file_stem()
                    .map(|stem| stem.to_string_lossy().into_owned())
            };
            let (Some(group), Some(name)) = (stem(&group), stem(&transcript)) else {
                continue;
            };
            fs::write(folder.join(format!("{group}-{name}")), input)?;
        }
    }
    Ok(())
}
