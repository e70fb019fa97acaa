//! What SQLite refuses, as a status and a sentence to act on.

use rusqlite::ffi::{self, ErrorCode};

use super::{dialect, vectors};
use crate::answer::failure::{Failure, Status, interrupted};
use crate::engine::guard::authorizer::{Denial, Mode, Rule};
use crate::engine::guard::pragma;
use crate::engine::guard::pragma::PragmaRefusal;
use crate::host::Interruption;
use crate::settings::EngineSettings;
use crate::text::scan;
use crate::text::suggest;

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

/// The failure for a refusal of the gate.
pub(crate) fn denied(denial: &Denial, settings: &EngineSettings) -> Failure {
    let what = &denial.what;
    match &denial.rule {
        Rule::Writes => writes(what, settings),
        Rule::Attach => Failure::new(
            Status::Unsupported,
            format!("This statement would {what}, but a session can only use the files that its \
                     owner granted."),
        )
        .hint(
            "Work with one database at a time, or copy a whole one with sqlarium_backup or sqlarium_migrate; \
             ATTACH and DETACH are not available.",
        ),
        Rule::VacuumInto => Failure::new(
            Status::Unsupported,
            format!("VACUUM INTO would {what}, but no statement may create a file."),
        )
        .hint("Use sqlarium_backup to copy the database, or a plain VACUUM to compact it."),
        Rule::Transaction if matches!(denial.mode, Mode::Batch | Mode::Try) => Failure::new(
            Status::Unsupported,
            "A batch is already one transaction, so BEGIN, COMMIT, ROLLBACK, SAVEPOINT and \
             RELEASE are refused.",
        )
        .hint("Leave these statements out: the batch is committed at its end, or rolled back as a whole."),
        Rule::Transaction => Failure::new(
            Status::Unsupported,
            "A transaction ends with its call, so BEGIN, COMMIT, ROLLBACK, SAVEPOINT and RELEASE \
             are refused.",
        )
        .hint("Give all statements to sqlarium_batch, which runs them in one transaction, all or nothing."),
        Rule::Function => Failure::new(
            Status::Unsupported,
            format!("This statement would {what}, which accesses something outside the database."),
        ),
        Rule::Pages => Failure::new(
            Status::Unsupported,
            format!("This statement would {what}, the pages of the file below all tables."),
        )
        .hint("sqlarium_backup copies the whole file, and sqlarium_stats reports what its pages hold."),
        Rule::Pragma(PragmaRefusal::Writes) if denial.mode == Mode::Try => no_dry_run(what),
        Rule::Pragma(refusal) => refused_pragma(what, refusal, settings),
        Rule::Unknown => Failure::new(
            Status::Unsupported,
            format!("This statement would {what}, which is unknown to this build and therefore \
                     refused."),
        ),
        Rule::Nothing => second(),
    }
}

/// The failure for a statement that writes where writing is refused; `what` is a verb phrase.
pub(crate) fn writes(what: &str, settings: &EngineSettings) -> Failure {
    if settings.readonly {
        Failure::new(
            Status::Readonly,
            format!("This statement would {what}, but the database is served with --readonly."),
        )
        .hint("No tool can write; only the owner of the server can change that.")
    } else {
        Failure::new(
            Status::Readonly,
            format!("This statement would {what}, but this call only reads."),
        )
        .hint("Use sqlarium_exec for one statement that writes, or sqlarium_batch for several.")
    }
}

/// The failure for a write to what the operating system does not let us write.
pub(crate) fn unwritable(title: &str) -> Failure {
    Failure::new(
        Status::Readonly,
        format!("{title} cannot be written: the permissions of the file or its folder forbid it."),
    )
    .hint("Only reading is possible; use sqlarium_query.")
}

/// The failure for a dry run of what no rollback undoes.
pub(crate) fn no_dry_run(what: &str) -> Failure {
    Failure::new(
        Status::Unsupported,
        format!(
            "{what} cannot be used with dry_run, because it cannot be rolled back. Nothing was \
             changed."
        ),
    )
    .hint("Leave it out, or run it without dry_run.")
}

/// The failure for a second statement.
pub(crate) fn second() -> Failure {
    Failure::new(
        Status::Unsupported,
        "The SQL contains more than one statement, but this call runs exactly one; nothing was \
         run.",
    )
    .hint("Send one statement at a time, or several that belong together to sqlarium_batch.")
}

fn refused_pragma(what: &str, refusal: &PragmaRefusal, settings: &EngineSettings) -> Failure {
    match refusal {
        PragmaRefusal::Writes => {
            let failure = writes(&format!("run {what}"), settings);
            Failure {
                hint: failure.hint,
                ..Failure::new(failure.status, failure.message)
            }
        }
        PragmaRefusal::InTransaction => Failure::new(
            Status::InvalidState,
            format!("{what} has no effect inside a transaction, and a batch is one transaction."),
        )
        .hint("Run it alone with sqlarium_exec, before the batch."),
        PragmaRefusal::Fixed(reason) => {
            Failure::new(Status::Unsupported, format!("{what} is refused: {reason}."))
        }
        PragmaRefusal::Choices(choices) => Failure::new(
            Status::Unsupported,
            format!("{what} is refused, because it could lose or damage data."),
        )
        .hint(format!(
            "Allowed values: {}.",
            suggest::alternatives(choices)
        )),
        PragmaRefusal::Unknown => {
            let name = what.strip_prefix("PRAGMA ").unwrap_or(what);
            let name = name.split(" = ").next().unwrap_or(name);
            let failure = Failure::new(Status::NotFound, format!("There is no PRAGMA {name}."));
            match suggest::did_you_mean(name, pragma::names()) {
                Some(near) => failure.hint(near),
                None => failure.hint("PRAGMA pragma_list lists those that SQLite knows."),
            }
        }
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
        .hint("Check that the server was started with the right file."),
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

fn busy(code: i32, about: &ErrorContext<'_>) -> Failure {
    let title = about.title;
    if code == ffi::SQLITE_BUSY_SNAPSHOT {
        return Failure::new(
            Status::Busy,
            format!("Another process wrote to {title} since this transaction began to read."),
        )
        .hint("Try again.");
    }
    let ms = about.settings.limits.busy_ms;
    let waited = if ms.is_multiple_of(1_000) {
        format!("{} s", ms / 1_000)
    } else {
        format!("{ms} ms")
    };
    if code == ffi::SQLITE_PROTOCOL {
        return Failure::new(
            Status::Busy,
            format!(
                "Another process has locked the index of {title}'s write-ahead log and has not \
                 finished it; waited {waited} for it (--busy-timeout)."
            ),
        )
        .hint("Try again when that process has finished its transaction or has ended.");
    }
    // Some locks SQLite does not wait for.
    let waited = if about.waited {
        format!("; waited {waited} for it (--busy-timeout)")
    } else {
        String::new()
    };
    Failure::new(
        Status::Busy,
        format!("{title} is locked by another process{waited}."),
    )
    .hint("Try again when that process has finished its transaction.")
}

fn readonly(code: i32, about: &ErrorContext<'_>) -> Failure {
    let title = about.title;
    let (forbids, mend) = if about.settings.readonly {
        (
            "--readonly forbids",
            "Open the database once with a program that can write to it, such as sqlite3, or \
             start the server without --readonly.",
        )
    } else {
        (
            "the permissions of the file or its folder forbid",
            "Open the database once with a program that can write to it, such as sqlite3.",
        )
    };
    match code {
        ffi::SQLITE_READONLY_ROLLBACK => Failure::new(
            Status::InvalidState,
            format!(
                "Another program left {title} in the middle of a transaction; rolling it back \
                     needs writing, which {forbids}."
            ),
        )
        .hint(mend),
        ffi::SQLITE_READONLY_RECOVERY
        | ffi::SQLITE_READONLY_CANTINIT
        | ffi::SQLITE_READONLY_CANTLOCK => Failure::new(
            Status::InvalidState,
            format!(
                "{title} has a write-ahead log that needs recovery; recovery needs writing, \
                     which {forbids}."
            ),
        )
        .hint(mend),
        ffi::SQLITE_READONLY_DBMOVED => Failure::new(
            Status::InvalidState,
            format!("{title} was moved or replaced while it was open."),
        )
        .hint("Try again: the next call opens the file that has the name then."),
        _ if about.writes => unwritable(title),
        _ => writes("write to the database", about.settings),
    }
}

/// The failure for SQL that does not compile, or for an error while it runs, with what to write
/// instead if it was written for another database.
fn syntax(said: &str, offset: Option<usize>, about: &ErrorContext<'_>) -> Failure {
    let failure = refused(said, offset, about);
    let elsewhere = matches!(failure.status, Status::Syntax | Status::NotFound);
    if failure.hint.is_some() || !elsewhere || about.denial.is_some() {
        return failure;
    }
    let sql = about.sql.get(about.start..).unwrap_or_default();
    let offset = offset.and_then(|offset| offset.checked_sub(about.start));
    match dialect::hint(sql, said, offset) {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn refused(said: &str, offset: Option<usize>, about: &ErrorContext<'_>) -> Failure {
    // Within SQLite a refusal can come back as an ordinary error, from a virtual table for example.
    if let Some(denial) = about.denial {
        return denied(denial, about.settings);
    }
    if let Some(failure) = vectors::failure(said) {
        return failure;
    }
    let place = offset.map(|offset| {
        let (line, column) = scan::position(about.sql, offset);
        if line == 1 {
            format!(" at column {column}")
        } else {
            format!(" at line {line}, column {column}")
        }
    });
    let message = format!("{}{}.", capital(said), place.as_deref().unwrap_or_default());
    let failure = |status| Failure::new(status, message.clone());
    // FTS5 takes a word before a colon or behind a hyphen for a column.
    let matching = offset.is_none()
        && said.starts_with("no such column")
        && scan::words(about.sql).any(|word| word == "match");
    if said.starts_with("no such ") && !matching || said.contains("has no column named") {
        return failure(Status::NotFound);
    }
    if matching
        || said.starts_with("fts5:")
        || said.starts_with("malformed MATCH")
        || said.starts_with("unterminated string")
    {
        return failure(Status::Syntax).hint(
            "In a MATCH, put words with characters other than letters and digits in double quotes \
             inside the string: MATCH '\"well-known\" AND \"c++\"'.",
        );
    }
    if said.eq_ignore_ascii_case("recursion limit") {
        return Failure::new(
            Status::TooBig,
            "The statement nests deeper than SQLite's parser allows.",
        )
        .hint("Use fewer levels of brackets, CASE or subqueries; WITH gives a subquery a name.");
    }
    if said.contains("pattern too complex") {
        return failure(Status::TooBig).hint(
            "A pattern can have at most 5000 characters; use instr(), or FTS5 for words in long \
             texts.",
        );
    }
    if said.contains("subqueries nested too deep") {
        return failure(Status::TooBig).hint("Query the tables that the views read.");
    }
    if said.contains("nested too deep") {
        return failure(Status::TooBig)
            .hint("A trigger fires itself again, directly or through other triggers.");
    }
    if said.starts_with("too many arguments on") {
        return failure(Status::Syntax);
    }
    if said.starts_with("unsupported file format") {
        return Failure::new(
            Status::Corrupt,
            format!(
                "{} has a schema format that this build of SQLite does not know.",
                about.title
            ),
        )
        .hint("It was written by a newer SQLite, or it is damaged.");
    }
    if said.starts_with("Expression tree is too large") {
        return failure(Status::TooBig).hint(
            "Instead of many terms joined by OR, use IN (…); put many values into a table or into params \
             as JSON: IN (SELECT value FROM json_each(?)).",
        );
    }
    if said.contains("too many") || said.contains("stack overflow") {
        return failure(Status::TooBig)
            .hint("Split the statement, or put the values into params or a table.");
    }
    if said.contains("may not be modified") || said.contains("because it is a view") {
        return failure(Status::Readonly).hint(if said.contains("sqlite_") {
            "Change the schema with CREATE, ALTER and DROP only."
        } else {
            "It belongs to a virtual table or is a view: write to the virtual table, or to the \
             table that the view reads."
        });
    }
    if said.contains("already exists") || said.contains("already another") {
        return failure(Status::InvalidState).hint("Drop it first, or use IF NOT EXISTS.");
    }
    if said.contains("within a transaction") || said.contains("inside a transaction") {
        return failure(Status::InvalidState).hint("Run it alone with sqlarium_exec.");
    }
    if said.contains("incomplete input") {
        return failure(Status::Syntax)
            .hint("The statement ends too early: a bracket, a quote or a clause is not closed.");
    }
    failure(Status::Syntax)
}

/// The sentence with a capital letter, unless it starts with a name.
fn capital(said: &str) -> String {
    for start in [
        "no such",
        "near",
        "ambiguous",
        "incomplete",
        "table",
        "unrecognized",
        "wrong number",
        "cannot",
        "triggers",
    ] {
        if said.starts_with(start) {
            let mut characters = said.chars();
            return characters
                .next()
                .map(|first| first.to_uppercase().chain(characters).collect())
                .unwrap_or_default();
        }
    }
    said.to_owned()
}
