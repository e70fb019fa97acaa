//! What the guards refuse, as a status and a sentence to act on.

use crate::answer::failure::{Failure, Status};
use crate::engine::guard::authorizer::{Denial, Mode, Rule};
use crate::engine::guard::pragma;
use crate::engine::guard::pragma::PragmaRefusal;
use crate::settings::EngineSettings;
use crate::text::suggest;

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
