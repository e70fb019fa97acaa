//! What a dump writes into the schema by hand, read back by a shell.
//!
//! A dump, the sqlite3 program's as ours, puts a virtual table into `sqlite_schema` as it is and writes
//! the tables that hold its contents like any other; making it would make those anew, and some
//! contents cannot be read through it at all. Of `PRAGMA writable_schema` this needs one kind of row,
//! and no more is taken: SQLite itself has to find the statement of the row well formed.

use std::cell::Cell;

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;

use super::Database;
use super::shell::{Counters, Phase, ShellError};
use crate::answer::failure::{Failure, Status};
use crate::engine::guard::authorizer::{Mode, Observed};
use crate::engine::schema::catalogue::text;
use crate::engine::statement;
use crate::text::lexer::{TokenKind, tokens};

/// How far into a statement it is told apart from others, in bytes.
const HEAD: usize = 200;

/// A table that ANALYZE of some builds makes, and others may not.
const SAMPLES: [&str; 2] = [
    "CREATE TABLE IF NOT EXISTS sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
    "CREATE TABLE IF NOT EXISTS sqlite_stat3(tbl,idx,neq,nlt,ndlt,sample)",
];

/// How far a dump has come that is being read.
#[derive(Debug, Default)]
pub(super) struct Dumped {
    /// Whether it has said that it writes into the schema.
    open: Cell<bool>,
    /// Whether it has done so, and SQLite does not know it yet.
    changed: Cell<bool>,
}

/// A statement of a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step<'s> {
    /// `PRAGMA writable_schema=ON`.
    Open,
    /// `PRAGMA writable_schema=OFF`.
    Close,
    /// `INSERT INTO sqlite_schema(…)VALUES…`, from VALUES on.
    VirtualTable(&'s str),
    /// One of [`SAMPLES`].
    Samples(&'static str),
}

impl<'s> Step<'s> {
    fn of(sql: &'s str) -> Option<Self> {
        let head = &sql[..sql.floor_char_boundary(HEAD)];
        let code: Vec<_> = tokens(head)
            .into_iter()
            .filter(|token| token.is_code() && token.text != ";")
            .collect();
        let begins = |words: &[&str]| {
            code.len() >= words.len()
                && words
                    .iter()
                    .zip(&code)
                    .all(|(word, token)| token.text.eq_ignore_ascii_case(word))
        };
        const ROW: [&str; 12] = [
            "(", "type", ",", "name", ",", "tbl_name", ",", "rootpage", ",", "sql", ")", "VALUES",
        ];
        let into = |table: &str| {
            let words: Vec<&str> = ["INSERT", "INTO", table].into_iter().chain(ROW).collect();
            begins(&words)
        };
        if code.len() == 4 && begins(&["PRAGMA", "writable_schema", "=", "ON"]) {
            return Some(Self::Open);
        }
        if code.len() == 4
            && ["OFF", "RESET"]
                .iter()
                .any(|value| begins(&["PRAGMA", "writable_schema", "=", value]))
        {
            return Some(Self::Close);
        }
        if into("sqlite_schema") || into("sqlite_master") {
            let values = code[ROW.len() + 2].text;
            let start = values.as_ptr().addr() - sql.as_ptr().addr();
            return Some(Self::VirtualTable(&sql[start..]));
        }
        let flat: String = code.iter().map(|token| token.text).collect();
        SAMPLES
            .into_iter()
            .find(|samples| samples.replace(' ', "") == flat)
            .map(Self::Samples)
    }
}

impl Database {
    /// Takes a statement that only a dump has; `None` for any other.
    pub(super) fn dumped(&self, sql: &str) -> Option<Result<Counters, ShellError>> {
        let step = Step::of(sql)?;
        let state = &self.dumped;
        if !state.open.get() && step != Step::Open {
            return None;
        }
        Some(match step {
            Step::Open => {
                state.open.set(true);
                Ok(Counters::default())
            }
            Step::Close => {
                state.open.set(false);
                if !state.changed.take() {
                    return Some(Ok(Counters::default()));
                }
                self.by_hand(sql, |connection| {
                    // Every connection reads the schema again, this one too.
                    let version: i64 =
                        connection.query_row("PRAGMA main.schema_version", [], |row| row.get(0))?;
                    let next = version.wrapping_add(1);
                    connection.execute_batch(&format!("PRAGMA main.schema_version={next}"))
                })
            }
            Step::VirtualTable(values) => self.virtual_table(values).and_then(|(name, create)| {
                state.changed.set(true);
                self.by_hand(sql, |connection| {
                    let sql = "INSERT INTO main.sqlite_schema(type, name, tbl_name, rootpage, sql) \
                               VALUES('table', ?1, ?1, 0, ?2)";
                    connection.execute(sql, [&name, &create]).map(|_| ())
                })
            }),
            Step::Samples(create) => {
                self.by_hand(sql, |connection| connection.execute_batch(create))
            }
        })
    }

    /// The name of a virtual table and the statement that makes it, both as they will be in the schema.
    fn virtual_table(&self, values: &str) -> Result<(String, String), ShellError> {
        let failed = |error| self.unprepared_error(error, values);
        let mut statement = self.compile(values, Mode::Read).map_err(failed)?;
        let mut row = None;
        let mut rows = statement.raw_query();
        let read = |error: &rusqlite::Error| self.shell_error(error, Phase::Step, values);
        while let Some(found) = rows.next().map_err(|error| read(&error))? {
            let whole = row.is_none()
                && found.get_ref(3).map_err(|error| read(&error))? == ValueRef::Integer(0);
            let column = |index| text(found, index).map_err(|error| read(&error));
            if !whole || column(0)? != "table" || column(1)? != column(2)? {
                return Err(refused());
            }
            row = Some((column(1)?, column(4)?));
        }
        drop(rows);
        let (name, create) = row.ok_or_else(refused)?;
        let code: Vec<_> = tokens(&create)
            .into_iter()
            .filter(|token| token.is_code())
            .take(5)
            .collect();
        let well_formed = matches!(code.as_slice(), [one, two, three, named, using]
            if one.is("CREATE") && two.is("VIRTUAL") && three.is("TABLE")
                && matches!(named.kind, TokenKind::Word | TokenKind::Quoted)
                && using.is("USING"));
        if !well_formed {
            return Err(refused());
        }
        // SQLite's own verdict, under which name it would be made, and on everything behind.
        self.authorizer.enter(Mode::Explain);
        let connection = self.connection().map_err(ShellError::Refused)?;
        statement::one(connection, &create, &self.authorizer, true)
            .map_err(|error| self.unprepared_error(error, &create))?;
        if self.authorizer.seen().made.as_deref() != Some(&name) {
            return Err(refused());
        }
        Ok((name, create))
    }

    /// Writes what SQLite otherwise keeps for itself.
    fn by_hand(
        &self,
        sql: &str,
        write: impl FnOnce(&Connection) -> rusqlite::Result<()>,
    ) -> Result<Counters, ShellError> {
        let seen = Observed {
            ddl: true,
            schema: true,
            ..Observed::default()
        };
        let run = || {
            let connection = self.connection().map_err(ShellError::Refused)?;
            let switch = |on: bool| {
                connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, !on)?;
                connection.set_db_config(DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, on)
            };
            self.authorizer.enter(Mode::Trusted);
            let written = switch(true).and_then(|_| write(connection));
            switch(false)
                .and(written)
                .map(|()| Counters::default())
                .map_err(|error| self.shell_error(&error, Phase::Step, sql))
        };
        if self.is_recorded() {
            self.recorded_in_shell(sql, &seen, run)
        } else {
            run()
        }
    }
}

fn refused() -> ShellError {
    ShellError::Refused(
        Failure::new(
            Status::Unsupported,
            "Only a virtual table, as a dump writes it, can be put into the schema.",
        )
        .hint("Change the schema with CREATE, ALTER and DROP."),
    )
}

#[cfg(test)]
mod tests {
    use super::Step;

    #[test]
    fn only_what_a_dump_writes_is_told_apart() {
        assert_eq!(Step::of("PRAGMA writable_schema=ON;"), Some(Step::Open));
        assert_eq!(Step::of("PRAGMA writable_schema=OFF;"), Some(Step::Close));
        for schema in ["sqlite_schema", "sqlite_master"] {
            let sql = format!(
                "INSERT INTO {schema}(type,name,tbl_name,rootpage,sql)VALUES('table','f','f',0,'é');"
            );
            assert_eq!(
                Step::of(&sql),
                Some(Step::VirtualTable("VALUES('table','f','f',0,'é');"))
            );
        }
        for sql in [
            "PRAGMA writable_schema",
            "PRAGMA writable_schema=1",
            "PRAGMA temp.writable_schema=ON",
            "INSERT INTO sqlite_schema VALUES('table','f','f',0,'x')",
            "INSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql) SELECT 1",
            "INSERT INTO t VALUES('PRAGMA writable_schema=ON')",
            "CREATE TABLE sqlite_stat4(a)",
            "",
        ] {
            assert_eq!(Step::of(sql), None, "{sql}");
        }
    }
}
