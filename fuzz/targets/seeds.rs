//! Writes what the fuzzers start from: databases of several kinds, and the lines of the
//! transcripts.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use rusqlite::Connection;
use sqlarium_fuzz::{ALONE, JOURNAL, LOG, join};

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

fn main() -> Result<(), Box<dyn Error>> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    databases(&corpus.join("database"))?;
    lines(&corpus.join("lines"))?;
    Ok(())
}

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
