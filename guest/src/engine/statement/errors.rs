//! What SQLite refuses, as a status and a sentence to act on.

use rusqlite::ffi::{self, ErrorCode};

use crate::answer::failure::{Failure, Status, stopped};
use crate::engine::guard::authorizer::{Denial, Mode, Rule};
use crate::engine::guard::pragma;
use crate::engine::guard::pragma::Refusal;
use crate::host::Verdict;
use crate::settings::Settings;
use crate::text::scan;
use crate::text::suggest;

/// What is known about the statement that failed.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances<'a> {
    /// The owner's choices.
    pub settings: &'a Settings,
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
    /// Why the pulse stopped, if it did.
    pub verdict: &'a Verdict,
    /// What the gate refused, if it did.
    pub denial: Option<&'a Denial>,
}

/// The failure for a refusal of the gate.
pub fn denied(denial: &Denial, settings: &Settings) -> Failure {
    let what = &denial.what;
    match &denial.rule {
        Rule::Writes => writes(what, settings),
        Rule::Attach => Failure::new(
            Status::Unsupported,
            format!("This statement would {what}, and a session only has the files its owner granted."),
        )
        .hint(
            "Work with one database at a time, or copy a whole one with sqlarium_backup or sqlarium_migrate; \
             ATTACH and DETACH are not available.",
        ),
        Rule::VacuumInto => Failure::new(
            Status::Unsupported,
            format!("VACUUM INTO would {what}, and no statement may create a file."),
        )
        .hint("sqlarium_backup makes a copy, and a plain VACUUM is allowed where writing is."),
        Rule::Transaction if matches!(denial.mode, Mode::Batch | Mode::Try) => Failure::new(
            Status::Unsupported,
            "A batch is one transaction already, so it takes no BEGIN, COMMIT, ROLLBACK, SAVEPOINT or RELEASE.",
        )
        .hint("Leave these statements out: the batch is committed at its end, or rolled back as a whole."),
        Rule::Transaction => Failure::new(
            Status::Unsupported,
            "No transaction outlives a call, so BEGIN, COMMIT, ROLLBACK, SAVEPOINT and RELEASE are refused.",
        )
        .hint("Give all statements to sqlarium_batch, which runs them in one transaction, all or nothing."),
        Rule::Function => Failure::new(
            Status::Unsupported,
            format!("This statement would {what}, which reaches outside of the database."),
        ),
        Rule::Pragma(Refusal::Writes) if denial.mode == Mode::Try => untried(what),
        Rule::Pragma(refusal) => refused_pragma(what, refusal, settings),
        Rule::Unknown => Failure::new(
            Status::Unsupported,
            format!("This statement would {what}, which this build does not know and so does not allow."),
        ),
        Rule::Nothing => second(),
    }
}

/// The failure for a statement that writes where writing is refused; `what` is a verb phrase.
pub fn writes(what: &str, settings: &Settings) -> Failure {
    if settings.readonly {
        Failure::new(
            Status::Readonly,
            format!("This statement would {what}, and the database is served with --readonly."),
        )
        .hint("Nothing can be written here, by any tool; only the owner of the server can change that.")
    } else {
        Failure::new(
            Status::Readonly,
            format!("This statement would {what}, and this call only reads."),
        )
        .hint("Use sqlarium_exec for one statement that writes, or sqlarium_batch for several.")
    }
}

/// The failure for a write to what the operating system does not let us write.
pub fn unwritable(title: &str) -> Failure {
    Failure::new(
        Status::Readonly,
        format!("{title} cannot be written: the file or its folder does not allow it."),
    )
    .hint("Only reading is possible; use sqlarium_query.")
}

/// The failure for a dry run of what no rollback undoes.
pub fn untried(what: &str) -> Failure {
    Failure::new(
        Status::Unsupported,
        format!(
            "{what} cannot be tried with dry_run: it would not be rolled back. Nothing was changed."
        ),
    )
    .hint("Leave it out, or run it without dry_run.")
}

/// The failure for a second statement.
pub fn second() -> Failure {
    Failure::new(
        Status::Unsupported,
        "The SQL holds more than one statement, and this call runs exactly one; nothing was run.",
    )
    .hint("Send one statement at a time, or several that belong together to sqlarium_batch.")
}

fn refused_pragma(what: &str, refusal: &Refusal, settings: &Settings) -> Failure {
    match refusal {
        Refusal::Writes => {
            let failure = writes(&format!("run {what}"), settings);
            Failure {
                hint: failure.hint,
                ..Failure::new(failure.status, failure.message)
            }
        }
        Refusal::InTransaction => Failure::new(
            Status::InvalidState,
            format!("{what} does not take effect inside a transaction, which a batch is."),
        )
        .hint("Run it alone with sqlarium_exec, before the batch."),
        Refusal::Fixed(reason) => {
            Failure::new(Status::Unsupported, format!("{what} is refused: {reason}."))
        }
        Refusal::Choices(choices) => Failure::new(
            Status::Unsupported,
            format!("{what} is refused, because data could be lost or damaged by it."),
        )
        .hint(format!("It takes {}.", suggest::alternatives(choices))),
        Refusal::Unknown => {
            let name = what.strip_prefix("PRAGMA ").unwrap_or(what);
            let name = name.split(" = ").next().unwrap_or(name);
            let failure =
                Failure::new(Status::NotFound, format!("There is no pragma {name} here."));
            match suggest::did_you_mean(name, pragma::names()) {
                Some(near) => failure.hint(near),
                None => failure.hint("PRAGMA pragma_list lists those that SQLite knows."),
            }
        }
    }
}

/// The failure for an error of SQLite's, without suggestions of names.
pub fn from_sqlite(error: &rusqlite::Error, about: &Circumstances<'_>) -> Failure {
    if let Some(failure) = stopped(about.verdict) {
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
            format!("SQLite could not be asked: {other}."),
        ),
    }
}

/// The failure for a NUL byte in the SQL.
pub fn nul() -> Failure {
    Failure::new(
        Status::Syntax,
        "The SQL holds a NUL byte, behind which SQLite would read nothing.",
    )
    .hint("Remove it; text that holds a NUL can be bound with params.")
}

/// The failure for SQL without a statement.
pub fn empty() -> Failure {
    Failure::new(
        Status::Syntax,
        "The SQL holds no statement, only white space or comments.",
    )
}

fn from_code(error: ffi::Error, said: &str, about: &Circumstances<'_>) -> Failure {
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
                "The disk, the budget of {} bytes by which files may grow (--disk), or PRAGMA \
                 max_page_count is full.",
                limits.disk_bytes
            ),
        )
        .hint("Write or sort less at once, or delete rows that are not needed."),
        ErrorCode::TooBig => Failure::new(
            Status::TooBig,
            format!(
                "A string, blob or row exceeds the limit of {} bytes (a quarter of --memory), or the SQL that of {} bytes (--request).",
                limits.memory_bytes / 4,
                limits.request_bytes
            ),
        )
        .hint("Handle the value in parts, for example with substr()."),
        ErrorCode::DatabaseCorrupt => Failure::new(
            Status::Corrupt,
            format!("{title} is damaged: {said}."),
        )
        .hint("PRAGMA integrity_check says more; a backup is the way back."),
        ErrorCode::NotADatabase => Failure::new(
            Status::Corrupt,
            format!("{title} is not an SQLite database, or it is encrypted."),
        )
        .hint("Check that the server was started with the right file."),
        ErrorCode::CannotOpen => Failure::new(
            Status::NotFound,
            format!("{title} cannot be opened: there is no such file, it may not be read, or it is a link."),
        )
        .hint("Check the name; a database that is not there is never created by reading or writing."),
        ErrorCode::SystemIoFailure if error.extended_code == ffi::SQLITE_IOERR_DELETE => {
            Failure::new(
                Status::Io,
                format!("A journal beside {title} cannot be removed: its folder does not allow it."),
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
            "The schema changed again and again while the statement was prepared.",
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
            format!("SQLite reports a fault within sqlarium: {said} (code {}).", error.extended_code),
        ),
        _ => Failure::new(
            Status::Internal,
            format!("SQLite reports {said} (code {}).", error.extended_code),
        ),
    }
}

fn constraint(code: i32, said: &str) -> Failure {
    let failure = Failure::new(Status::Constraint, format!("{}.", capital(said)));
    match code {
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => failure.hint(
            "A row refers to one that does not exist, or is itself referred to; \
             PRAGMA foreign_key_list(table) shows the references of a table.",
        ),
        ffi::SQLITE_CONSTRAINT_UNIQUE
        | ffi::SQLITE_CONSTRAINT_PRIMARYKEY
        | ffi::SQLITE_CONSTRAINT_ROWID => {
            failure.hint("There is such a row already; update it, or use INSERT … ON CONFLICT.")
        }
        ffi::SQLITE_CONSTRAINT_NOTNULL => failure.hint("Give the column a value."),
        ffi::SQLITE_CONSTRAINT_TRIGGER => failure.hint("A trigger of the schema refused it."),
        _ => failure,
    }
}

fn busy(code: i32, about: &Circumstances<'_>) -> Failure {
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
                "Another process keeps the index of {title}'s write-ahead log locked and unfinished; \
                 waited {waited} for it (--busy-timeout)."
            ),
        )
        .hint("Try again when that process has finished its transaction, or has been ended.");
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

fn readonly(code: i32, about: &Circumstances<'_>) -> Failure {
    let title = about.title;
    let (forbids, mend) = if about.settings.readonly {
        (
            "--readonly forbids",
            "Open the database once with a program that may write, such as sqlite3, or start the server without --readonly.",
        )
    } else {
        (
            "the file or its folder does not allow",
            "Open the database once with a program that may write there, such as sqlite3.",
        )
    };
    match code {
        ffi::SQLITE_READONLY_ROLLBACK => Failure::new(
            Status::InvalidState,
            format!("Another program left {title} in the middle of a transaction, and undoing it means writing, which {forbids}."),
        )
        .hint(mend),
        ffi::SQLITE_READONLY_RECOVERY | ffi::SQLITE_READONLY_CANTINIT | ffi::SQLITE_READONLY_CANTLOCK => Failure::new(
            Status::InvalidState,
            format!("{title} has a write-ahead log that needs recovery, and that means writing, which {forbids}."),
        )
        .hint(mend),
        ffi::SQLITE_READONLY_DBMOVED => Failure::new(
            Status::InvalidState,
            format!("{title} was moved or replaced while it was open."),
        )
        .hint("Restart the server."),
        _ if about.writes => unwritable(title),
        _ => writes("write to the database", about.settings),
    }
}

/// The failure for SQL that does not compile, or for an error while it runs.
fn syntax(said: &str, offset: Option<usize>, about: &Circumstances<'_>) -> Failure {
    // Within SQLite a refusal can come back as an ordinary error, from a virtual table for example.
    if let Some(denial) = about.denial {
        return denied(denial, about.settings);
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
            "In a MATCH, words with other characters than letters and digits belong in double quotes within \
             the string: MATCH '\"well-known\" AND \"c++\"'.",
        );
    }
    if said.eq_ignore_ascii_case("recursion limit") {
        return Failure::new(
            Status::TooBig,
            "The statement nests deeper than SQLite's parser goes here.",
        )
        .hint("Use fewer levels of brackets, CASE or subqueries; WITH names a subquery once.");
    }
    if said.contains("pattern too complex") {
        return failure(Status::TooBig).hint(
            "A pattern may have 5000 characters; use instr(), or FTS5 for words in long texts.",
        );
    }
    if said.contains("nested too deep") {
        return failure(Status::TooBig)
            .hint("A trigger sets itself off again, directly or through others.");
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
        .hint("It was made by a newer SQLite, or it is damaged.");
    }
    if said.starts_with("Expression tree is too large")
        || said.contains("too many")
        || said.contains("stack overflow")
    {
        return failure(Status::TooBig)
            .hint("Split the statement, or put the values into params or a table.");
    }
    if said.contains("may not be modified") || said.contains("because it is a view") {
        return failure(Status::Readonly).hint(if said.contains("sqlite_") {
            "The schema is only changed by CREATE, ALTER and DROP."
        } else {
            "It belongs to a virtual table or is a view: write to the virtual table, or to the table below the view."
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
