//! What SQLite refuses, as a status and a sentence to act on.

use rusqlite::ffi::{self, ErrorCode};

use self::locks::{busy, readonly};
pub(crate) use self::refusals::{denied, no_dry_run, second, unwritable, writes};
use self::syntax::{capital, syntax};
use crate::answer::failure::{Failure, Status, interrupted};
use crate::engine::guard::authorizer::Denial;
use crate::host::Interruption;
use crate::settings::EngineSettings;
use crate::text::scan;

mod locks;
mod refusals;
mod syntax;

/// What is known about the statement that failed.
#[derive(Clone, Debug)]
pub(crate) struct ErrorContext<'a> {
    /// The owner's choices.
    pub settings: &'a EngineSettings,
    /// What the database is called.
    pub title: &'a str,
    /// The whole SQL text of the call.
    pub sql: &'a str,
    /// Whether the connection writes, as far as it is up to us.
    pub writes: bool,
    /// Whether a lock was waited for.
    pub waited: bool,
    /// Where in `sql` the statement starts, in bytes.
    pub start: usize,
    /// Why the call has to end, if the host said so.
    pub interruption: Option<Interruption>,
    /// What the gate refused, if it did.
    pub denial: Option<&'a Denial>,
}

impl ErrorContext<'_> {
    /// Whether the statement is an ALTER.
    fn alters(&self) -> bool {
        let sql = self.sql.get(self.start..).unwrap_or_default();
        scan::first_word(sql).eq_ignore_ascii_case("ALTER")
    }
}

/// The failure for an error of SQLite's, without suggestions of names.
pub(crate) fn from_sqlite(error: &rusqlite::Error, about: &ErrorContext<'_>) -> Failure {
    if let Some(failure) = about.interruption.as_ref().map(interrupted) {
        return failure;
    }
    match error {
        rusqlite::Error::SqlInputError { msg, offset, .. } => {
            let offset = about.start + usize::try_from(*offset).unwrap_or_default();
            syntax(msg, Some(offset), about)
        }
        rusqlite::Error::SqliteFailure(code, message) => {
            let said = message.as_deref().unwrap_or_default();
            from_code(*code, said, about)
        }
        rusqlite::Error::NulError(_) => nul(),
        other => Failure::new(
            Status::Internal,
            format!("A call to SQLite failed: {other}."),
        ),
    }
}

/// The failure for a NUL byte in the SQL.
pub(crate) fn nul() -> Failure {
    Failure::new(
        Status::Syntax,
        "The SQL contains a NUL byte, and SQLite would ignore everything after it.",
    )
    .hint("Remove it; text that contains a NUL can be bound with params.")
}

/// The failure for SQL without a statement.
pub(crate) fn empty() -> Failure {
    Failure::new(
        Status::Syntax,
        "The SQL contains no statement, only white space or comments.",
    )
}

fn from_code(error: ffi::Error, said: &str, about: &ErrorContext<'_>) -> Failure {
    let title = about.title;
    let limits = &about.settings.limits;
    match error.code {
        ErrorCode::AuthorizationForStatementDenied => match about.denial {
            Some(denial) => denied(denial, about.settings),
            None => Failure::new(Status::Unsupported, format!("SQLite refused the statement: {said}.")),
        },
        ErrorCode::ConstraintViolation if said == "constraint failed" && about.alters() => {
            Failure::new(
                Status::Constraint,
                "A row that is there already does not satisfy the new constraint; nothing was changed.",
            )
            .hint("SELECT the rows for which it does not hold, and correct or delete them first.")
        }
        ErrorCode::ConstraintViolation => constraint(error.extended_code, said),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => busy(error.extended_code, about),
        ErrorCode::ReadOnly => readonly(error.extended_code, about),
        ErrorCode::OperationInterrupted => {
            Failure::new(Status::Interrupted, "The statement was interrupted.")
        }
        ErrorCode::OutOfMemory => Failure::new(
            Status::Full,
            format!(
                "The statement needs more memory than the budget of {} bytes (--memory) allows.",
                limits.memory_bytes
            ),
        )
        .hint("Handle fewer or smaller values at once."),
        ErrorCode::DiskFull => Failure::new(
            Status::Full,
            format!(
                "No space is left: the disk, the budget of {} bytes for growth of files (--disk) \
                 or PRAGMA max_page_count is exhausted.",
                limits.disk_bytes
            ),
        )
        .hint("Write or sort less at once, or delete rows that are not needed."),
        ErrorCode::TooBig => Failure::new(
            Status::TooBig,
            format!(
                "A string, blob or row exceeds the limit of {} bytes (a quarter of --memory), or the SQL that of {} bytes (--request, or an eighth of --memory if that is more).",
                limits.memory_bytes / 4,
                limits.sql_bytes
            ),
        )
        .hint("Handle the value in parts, for example with substr()."),
        ErrorCode::DatabaseCorrupt if is_a_limit(said) => Failure::new(
            Status::TooBig,
            format!(
                "The schema of {title} goes beyond a limit of this build ({}); the file is not damaged.",
                said.strip_prefix("malformed database schema ").unwrap_or(said)
            ),
        )
        .hint("A program whose SQLite has larger limits can read it."),
        ErrorCode::DatabaseCorrupt => Failure::new(
            Status::Corrupt,
            format!("{title} is damaged: {said}."),
        )
        .hint("PRAGMA integrity_check lists the problems; a backup can be restored."),
        ErrorCode::NotADatabase => Failure::new(
            Status::Corrupt,
            format!("{title} is not a SQLite database, or it is encrypted."),
        )
        .hint("Check that it is the right file."),
        ErrorCode::CannotOpen => Failure::new(
            Status::NotFound,
            format!("{title} cannot be opened: there is no such file, it may not be read, or it is a link."),
        )
        .hint("Check the name; reading or writing never creates a missing database."),
        ErrorCode::SystemIoFailure if error.extended_code == ffi::SQLITE_IOERR_DELETE => {
            Failure::new(
                Status::Io,
                format!("A journal of {title} cannot be removed: the permissions of its folder \
                         forbid it."),
            )
        }
        ErrorCode::SystemIoFailure => Failure::new(
            Status::Io,
            format!("The operating system reported a failure on {title}: {said} (code {}).", error.extended_code),
        ),
        ErrorCode::TypeMismatch => Failure::new(
            Status::Constraint,
            format!("A value has the wrong type for its column: {said}."),
        )
        .hint("A rowid, or an INTEGER PRIMARY KEY, takes whole numbers only."),
        ErrorCode::SchemaChanged => Failure::new(
            Status::InvalidState,
            "The schema kept changing while the statement was prepared.",
        )
        .hint("Try again."),
        ErrorCode::OperationAborted => Failure::new(
            Status::InvalidState,
            format!("The statement was aborted: {said}."),
        ),
        ErrorCode::FileLockingProtocolFailed => busy(error.extended_code, about),
        ErrorCode::PermissionDenied => Failure::new(
            Status::Io,
            format!("{title} may not be accessed: {said}."),
        ),
        ErrorCode::Unknown => syntax(said, None, about),
        ErrorCode::InternalMalfunction | ErrorCode::ApiMisuse | ErrorCode::ParameterOutOfRange => Failure::new(
            Status::Internal,
            format!("SQLite reports an internal error of sqlarium: {said} (code {}).", error.extended_code),
        ),
        _ => Failure::new(
            Status::Internal,
            format!("SQLite reports {said} (code {}).", error.extended_code),
        ),
    }
}

/// Whether SQLite could not read a schema only because it was too much for it.
fn is_a_limit(said: &str) -> bool {
    said.starts_with("malformed database schema")
        && [
            "Expression tree is too large",
            "Recursion limit",
            "stack overflow",
            "too big",
            "too many",
            "too deep",
        ]
        .iter()
        .any(|limit| said.contains(limit))
}

fn constraint(code: i32, said: &str) -> Failure {
    let failure = Failure::new(Status::Constraint, format!("{}.", capital(said)));
    match code {
        // ON DELETE RESTRICT comes as a trigger of SQLite's own.
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY | ffi::SQLITE_CONSTRAINT_TRIGGER
            if said.starts_with("FOREIGN KEY") => failure.hint(
            "A row refers to a row that does not exist, or another row still refers to it; PRAGMA \
             foreign_key_list(table) shows the foreign keys of a table.",
        ),
        ffi::SQLITE_CONSTRAINT_UNIQUE
        | ffi::SQLITE_CONSTRAINT_PRIMARYKEY
        | ffi::SQLITE_CONSTRAINT_ROWID => {
            failure.hint("Such a row exists already; update it, or use INSERT … ON CONFLICT.")
        }
        ffi::SQLITE_CONSTRAINT_NOTNULL => failure.hint("Give the column a value."),
        ffi::SQLITE_CONSTRAINT_TRIGGER => failure.hint("A trigger of the schema refused it."),
        _ => failure,
    }
}
