//! Statements of a shell, one after the other: a transaction may stay open between them.

use std::io;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, Statement, StatementStatus};

use super::Database;
use crate::answer::failure::{Failure, Status};
use crate::answer::value::Value;
use crate::engine::connection::Access;
use crate::engine::guard::authorizer::{Mode, Rule};
use crate::engine::statement::leniency;
use crate::engine::statement::params;
use crate::engine::statement::{self, Unprepared};
use crate::text::{complete, scan};

/// What a statement is handed over to while it runs.
pub trait RowSink {
    /// The columns of a result; before its first row, and also if there is none.
    ///
    /// # Errors
    /// What the output says.
    fn columns(&mut self, names: &[String], explains: ExplainKind) -> io::Result<()>;
    /// A row; answers whether more are wanted.
    ///
    /// # Errors
    /// What the output says.
    fn row(&mut self, values: &[Value]) -> io::Result<bool>;
}

/// What a result explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplainKind {
    /// Nothing: it is data.
    Nothing,
    /// The byte code, by EXPLAIN.
    Code,
    /// The plan, by EXPLAIN QUERY PLAN.
    Plan,
}

/// Where a statement failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// While it was compiled.
    Prepare,
    /// While it ran.
    Step,
}

/// Why a statement failed.
#[derive(Debug)]
pub enum ShellError {
    /// In SQLite's own words.
    Sqlite {
        /// Where.
        phase: Phase,
        /// SQLite's message.
        message: String,
        /// The primary result code.
        code: i32,
        /// Where in the statement, in bytes, if SQLite knows.
        offset: Option<usize>,
    },
    /// By a rule or a budget of ours.
    Refused(Failure),
    /// The output takes nothing more.
    Output(io::Error),
}

/// What a statement did, in SQLite's own counters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Steps of a scan over a whole table.
    pub fullscan_steps: i32,
    /// Sorts.
    pub sorts: i32,
    /// Rows of indexes that were made for this statement alone.
    pub autoindex: i32,
    /// Instructions of the virtual machine.
    pub vm_steps: i32,
    /// How often it was compiled again.
    pub reprepares: i32,
    /// How often it was run.
    pub runs: i32,
    /// Memory of the compiled statement, in bytes.
    pub memory: i32,
}

/// Whether a statement may be of a dump, which makes tables in a transaction and without foreign keys:
/// that is the text of a file.
fn is_dump(connection: &Connection, sql: &str) -> bool {
    !connection.is_autocommit()
        && scan::first_word(sql).eq_ignore_ascii_case("CREATE")
        && connection.db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY) == Ok(false)
}

impl Database {
    /// Whether transactions outlive the call that began them, as a shell needs it.
    pub fn keep_transactions(&mut self, keep: bool) {
        self.keeps = keep;
    }

    /// Whether EXPLAIN QUERY PLAN shows the plans of triggers too.
    pub fn explain_triggers(&mut self, on: bool) {
        self.explains_triggers = on;
    }

    /// Whether a transaction is open.
    pub fn in_transaction(&self) -> bool {
        self.link
            .as_ref()
            .is_some_and(|link| !link.connection.is_autocommit())
    }

    /// Rolls back what is open; answers whether there was anything.
    pub fn roll_back(&mut self) -> bool {
        let open = self.in_transaction();
        let keeps = std::mem::take(&mut self.keeps);
        // Ending a call undoes what is open, and says so.
        let _ = self.end(Ok(()));
        self.keeps = keeps;
        open
    }

    /// Rows changed by the last statement that changed any, and by all of this connection.
    pub fn change_counts(&self) -> (u64, u64) {
        self.link.as_ref().map_or((0, 0), |link| {
            (link.connection.changes(), link.connection.total_changes())
        })
    }

    /// Runs the one statement that `sql` is, binding what `values` has for its parameters and NULL
    /// for the others, and hands its rows to `sink`. A transaction that it begins stays open.
    ///
    /// # Errors
    ///
    /// [`ShellError`].
    pub fn shell(
        &mut self,
        sql: &str,
        values: &[(String, Value)],
        sink: &mut dyn RowSink,
    ) -> Result<Counters, ShellError> {
        let writable = self
            .link
            .as_ref()
            .is_some_and(|link| link.access == Access::Write);
        let mut mode = match (self.settings.readonly, writable) {
            (true, _) => Mode::ShellRead,
            (false, true) => Mode::Shell,
            (false, false) => Mode::Read,
        };
        loop {
            let access = match mode {
                Mode::Shell => Access::Write,
                _ => Access::Read,
            };
            self.begin(access).map_err(ShellError::Refused)?;
            let result = self.attempt(sql, mode, values, sink);
            self.authorizer.enter(Mode::Nothing);
            match result {
                // Nothing was run. With a connection that may write it is another matter.
                Err(None) if mode == Mode::Read => mode = Mode::Shell,
                Err(None) => return Err(ShellError::Refused(internal())),
                Err(Some(shell_error)) => return Err(shell_error),
                Ok(counters) => return Ok(counters),
            }
        }
    }

    /// `Err(None)`: this takes a connection that may write.
    fn attempt(
        &self,
        sql: &str,
        mode: Mode,
        values: &[(String, Value)],
        sink: &mut dyn RowSink,
    ) -> Result<Counters, Option<ShellError>> {
        if mode == Mode::Shell
            && let Some(done) = self.dumped(sql)
        {
            return done.map_err(Some);
        }
        let prepared = self.compile(sql, mode);
        let mut statement = match prepared {
            Ok(statement) => statement,
            Err(unprepared) => {
                let denied = self.authorizer.denial();
                let would = denied.is_some_and(|denial| {
                    matches!(
                        denial.rule,
                        Rule::Writes | Rule::Transaction | Rule::Pragma(_)
                    )
                });
                if would && mode == Mode::Read {
                    return Err(None);
                }
                return Err(Some(self.unprepared_error(unprepared, sql)));
            }
        };
        self.check(&statement, sql)
            .map_err(|failure| Some(ShellError::Refused(failure)))?;
        let seen = self.authorizer.seen();
        // SQLite does not distinguish a query of the journal mode from a change of it.
        let asks = seen.bare_pragma.as_deref() == Some("journal_mode");
        let explains = match statement.is_explain() {
            0 => ExplainKind::Nothing,
            1 => ExplainKind::Code,
            _ => ExplainKind::Plan,
        };
        let writes = explains == ExplainKind::Nothing && !statement.readonly() && !asks;
        match mode {
            Mode::Read if writes => return Err(None),
            Mode::ShellRead if writes => {
                return Err(Some(ShellError::Refused(self.would_write(sql))));
            }
            _ => {}
        }
        let recorded =
            mode == Mode::Shell && explains == ExplainKind::Nothing && self.is_recorded();
        let how = (mode, explains);
        if !recorded || !writes && seen.control.is_none() {
            return self
                .go(&mut statement, sql, how, values, sink)
                .map_err(Some);
        }
        drop(statement);
        self.recorded_in_shell(sql, &seen, || {
            // Compiled again, so that all that it changes is seen.
            let mut statement = self
                .compile(sql, mode)
                .map_err(|unprepared| self.unprepared_error(unprepared, sql))?;
            self.go(&mut statement, sql, how, values, sink)
        })
        .map_err(Some)
    }

    /// Runs a statement that was compiled.
    pub(super) fn go(
        &self,
        statement: &mut Statement<'_>,
        sql: &str,
        (mode, explains): (Mode, ExplainKind),
        values: &[(String, Value)],
        sink: &mut dyn RowSink,
    ) -> Result<Counters, ShellError> {
        params::bind_known(statement, values).map_err(ShellError::Refused)?;
        self.authorizer.run(if explains == ExplainKind::Nothing {
            mode
        } else {
            Mode::Read
        });
        self.drive(statement, explains, sink)
            .map_err(|error| match error {
                StoppedAt::Output(error) => ShellError::Output(error),
                StoppedAt::Sqlite(error) => self.shell_error(&error, Phase::Step, sql),
            })?;
        Ok(Counters::of(statement))
    }

    pub(super) fn compile(&self, sql: &str, mode: Mode) -> Result<Statement<'_>, Unprepared> {
        let mut prepared = self.compile_once(sql, mode);
        // Once for each R-Tree that the statement opens.
        while prepared.is_err() && self.allow_rtree_shadow() {
            prepared = self.compile_once(sql, mode);
        }
        prepared
    }

    fn compile_once(&self, sql: &str, mode: Mode) -> Result<Statement<'_>, Unprepared> {
        self.authorizer.enter(match mode {
            // With EXPLAIN, a write only shows its plan.
            Mode::Read | Mode::ShellRead if super::run::explains(sql) => Mode::Explain,
            mode => mode,
        });
        let connection = self
            .connection()
            .map_err(|_| Unprepared::Sqlite(rusqlite::Error::InvalidQuery))?;
        connection
            .set_db_config(
                DbConfig::SQLITE_DBCONFIG_TRIGGER_EQP,
                self.explains_triggers,
            )
            .map_err(Unprepared::Sqlite)?;
        let compiled = statement::one(connection, sql, &self.authorizer, true);
        match compiled {
            Err(Unprepared::Sqlite(error))
                if leniency::is_string(&error) && is_dump(connection, sql) =>
            {
                self.authorizer.enter(self.authorizer.mode());
                statement::of_file(connection, sql, &self.authorizer)
            }
            compiled => compiled,
        }
    }

    fn drive(
        &self,
        statement: &mut Statement<'_>,
        explains: ExplainKind,
        sink: &mut dyn RowSink,
    ) -> Result<(), StoppedAt> {
        let writes = !statement.readonly();
        let names = |statement: &Statement<'_>| -> Vec<String> {
            let names = statement.column_names();
            names.into_iter().map(ToOwned::to_owned).collect()
        };
        let mut columns = names(statement);
        let mut values = Vec::with_capacity(columns.len());
        let mut told = columns.is_empty();
        let mut wanted = true;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(StoppedAt::Sqlite)? {
            if !told {
                // Another process may have changed the schema since it was compiled.
                columns = names(row.as_ref());
                sink.columns(&columns, explains)
                    .map_err(StoppedAt::Output)?;
                told = true;
            }
            if !wanted || columns.is_empty() {
                continue;
            }
            values.clear();
            for index in 0..columns.len() {
                let value = row.get_ref(index).map_err(StoppedAt::Sqlite)?;
                values.push(Value::from_sqlite(value));
            }
            wanted = sink.row(&values).map_err(StoppedAt::Output)?;
            // A statement that writes goes to its end, or it would not be done.
            if !wanted && !writes {
                break;
            }
        }
        drop(rows);
        if !told {
            sink.columns(&columns, explains)
                .map_err(StoppedAt::Output)?;
        }
        Ok(())
    }

    pub(super) fn unprepared_error(&self, unprepared: Unprepared, sql: &str) -> ShellError {
        match unprepared {
            Unprepared::Sqlite(error) => self.shell_error(&error, Phase::Prepare, sql),
            other => ShellError::Refused(self.unprepared(other, sql, 0)),
        }
    }

    /// SQLite's words where they say it all; ours where a rule or a budget is behind them.
    pub(super) fn shell_error(
        &self,
        error: &rusqlite::Error,
        phase: Phase,
        sql: &str,
    ) -> ShellError {
        use rusqlite::ErrorCode as C;
        let (code, message, offset) = match error {
            rusqlite::Error::SqlInputError {
                error, msg, offset, ..
            } => (error, msg.clone(), usize::try_from(*offset).ok()),
            rusqlite::Error::SqliteFailure(error, Some(message)) => (error, message.clone(), None),
            _ => return ShellError::Refused(self.failure(error, sql, 0)),
        };
        let ours = self.interrupt.interruption().is_some()
            || self.authorizer.denial().is_some()
            || matches!(
                code.code,
                C::OutOfMemory
                    | C::DiskFull
                    | C::TooBig
                    | C::CannotOpen
                    | C::ReadOnly
                    | C::DatabaseBusy
                    | C::SystemIoFailure
                    | C::OperationInterrupted
            );
        if ours {
            return ShellError::Refused(self.failure(error, sql, 0));
        }
        ShellError::Sqlite {
            phase,
            message,
            code: code.extended_code & 0xff,
            offset,
        }
    }
}

enum StoppedAt {
    Sqlite(rusqlite::Error),
    Output(io::Error),
}

impl Counters {
    fn of(statement: &Statement<'_>) -> Self {
        use StatementStatus as S;
        Self {
            fullscan_steps: statement.get_status(S::FullscanStep),
            sorts: statement.get_status(S::Sort),
            autoindex: statement.get_status(S::AutoIndex),
            vm_steps: statement.get_status(S::VmStep),
            reprepares: statement.get_status(S::RePrepare),
            runs: statement.get_status(S::Run),
            memory: statement.get_status(S::MemUsed),
        }
    }
}

fn internal() -> Failure {
    Failure::new(
        Status::Internal,
        "SQLite and sqlarium disagree on whether this statement writes.",
    )
}

/// The statements of `sql`, each with its semicolon, without those that are empty.
pub(crate) fn statements(sql: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut start, mut at) = (0, 0);
    for token in crate::text::lexer::tokens(sql) {
        at += token.text.len();
        if token.text == ";" && complete::is(&sql[start..at]) {
            found.push(&sql[start..at]);
            start = at;
        }
    }
    found.push(&sql[start..]);
    found.retain(|statement| scan::blank(statement) < statement.len());
    found
}

#[cfg(test)]
mod tests {
    use super::statements;

    #[test]
    fn statements_are_separated_as_sqlite_does() {
        assert_eq!(
            statements(
                "SELECT ';'; ; /* ; */ CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; END; x -- y"
            ),
            [
                "SELECT ';';",
                " /* ; */ CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; END;",
                " x -- y"
            ]
        );
        assert!(statements(" -- nothing").is_empty());
    }
}
