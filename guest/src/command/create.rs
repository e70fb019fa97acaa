//! `create`.

use rusqlite::{Connection, OpenFlags};

use super::Context;
use super::arguments::{Arguments, Shape, required};
use super::output::Output;
use super::status::{Failure, Status};
use super::table::{Command, Effect, Group};

/// `create` in the command table.
pub const COMMAND: Command = Command {
    name: "create",
    title: "Create database",
    group: Group::Files,
    summary: "Make a new, empty database file",
    description: "Make a new, empty database file below the owner's root. An existing file \
                  is never touched. Needs a server started with --root.",
    arguments: &[required("path", Shape::Text, "Relative to the root.")],
    database: false,
    effect: Effect::Writes {
        destructive: false,
        idempotent: false,
    },
    core: false,
    run,
};

/// Runs `create`.
pub fn run(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let path = arguments.required_text("path");
    let settings = &context.settings;
    if !settings.root {
        return Err(Failure::new(
            Status::Unsupported,
            "No database can be made: the server was started without --root.",
        )
        .hint("Its owner has to start it with --root and a folder for new databases."));
    }
    if settings.readonly {
        return Err(Failure::new(
            Status::Readonly,
            "No database can be made: the server was started with --readonly.",
        ));
    }
    // Also judges whether the path is one below the root.
    let database = context.engine.database(Some(path))?;
    match database.inspect(|connection| connection.query_row("PRAGMA page_count", [], |_| Ok(()))) {
        Err(failure) if failure.status == Status::NotFound => {}
        Err(failure) if failure.cancelled || failure.status == Status::Interrupted => {
            return Err(failure);
        }
        // Whatever is wrong with it, it is there.
        Ok(()) | Err(_) => return Err(exists(path)),
    }
    database.close();
    make(path)?;
    let mut output = Output {
        text: Some(format!("{path} is made; it is empty.\n")),
        ..Output::default()
    };
    output.extra.insert("db".into(), path.into());
    output.notes.push("The other tools take it as db.".into());
    Ok(output)
}

/// Makes the file, unless it came to be in the meantime.
fn make(path: &str) -> Result<(), Failure> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let made = Connection::open_with_flags(path, flags).and_then(|connection| {
        let pages: i64 = connection.query_row("PRAGMA page_count", [], |row| row.get(0))?;
        if pages == 0 {
            // Writes the header, and nothing if another process was faster.
            connection.execute_batch("BEGIN IMMEDIATE; COMMIT")?;
        }
        Ok(pages == 0)
    });
    match made {
        Ok(true) => Ok(()),
        Ok(false) => Err(exists(path)),
        Err(error) => Err(Failure::new(
            match error.sqlite_error_code() {
                Some(rusqlite::ErrorCode::DiskFull) => Status::Full,
                Some(rusqlite::ErrorCode::DatabaseBusy) => Status::Busy,
                Some(rusqlite::ErrorCode::ReadOnly) => Status::Readonly,
                Some(rusqlite::ErrorCode::CannotOpen) => Status::NotFound,
                _ => Status::Io,
            },
            format!("{path} cannot be made: {error}."),
        )
        .hint("Its folder has to be there below the root, and writable.")),
    }
}

fn exists(path: &str) -> Failure {
    Failure::new(
        Status::InvalidState,
        format!("{path} exists already, and is left as it is."),
    )
    .hint("Choose another path, or work with it by giving it as db.")
}
