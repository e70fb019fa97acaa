//! `backup` and `restore`: the whole database, page by page.

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use crate::answer::failure::{Failure, Status};
use crate::answer::output::Output;
use crate::command::interface::argument::{OVERWRITE, Shape, option, required};
use crate::command::interface::arguments::Arguments;
use crate::command::interface::command::{Command, Effect, Group, WRITES};
use crate::command::interface::context::Context;
use crate::engine::database::Database;
use crate::engine::schema::catalogue::{quote, relations};
use crate::host::interrupt::InterruptCheck;
use crate::storage::streams::STREAM;
use crate::text::count::count;

/// `backup` in the command table.
pub(crate) const BACKUP: Command = Command {
    name: "backup",
    title: "Back up",
    group: Group::Files,
    summary: "Copy a snapshot of the database to a new file",
    description: "Copy a snapshot of the database to a new file below the root, while other \
                  processes can use it.",
    arguments: &[
        required("file", Shape::OutputPath, "File to create."),
        OVERWRITE,
    ],
    database: true,
    effect: Effect::Writes {
        destructive: true,
        idempotent: false,
    },
    core: false,
    run: backup,
};

/// `restore` in the command table.
pub(crate) const RESTORE: Command = Command {
    name: "restore",
    title: "Restore",
    group: Group::Files,
    summary: "Replace the whole database with the contents of another file",
    description: "Replace the whole database with another SQLite file below the root, such as a \
                  backup, all or nothing. The current contents go; if there are any, overwrite is \
                  needed. A damaged file is refused.",
    arguments: &[
        required("file", Shape::InputPath, "SQLite file."),
        option("overwrite", Shape::Flag, "Replace what the database holds."),
    ],
    database: true,
    effect: WRITES,
    core: false,
    run: restore,
};

/// How many pages are copied before the host is asked whether to continue.
const PAGES: i32 = 256;

/// Runs `backup`.
pub(crate) fn backup(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let file = arguments.required_text("file");
    no_stream(file, "written to standard output", "dump")?;
    let busy_ms = context.settings.engine.limits.busy_ms;
    let mut staged_database = context
        .engine
        .staged_database(file, arguments.flag(OVERWRITE.name))?;
    let (pages, bytes) = context.engine.database(arguments.db())?.look(|work| {
        let source = work.connection()?;
        // The transaction begins with its first look.
        let size = source.query_row("PRAGMA main.page_size", [], |row| row.get::<_, u32>(0));
        let looked = source.query_row("SELECT count(*) FROM main.sqlite_schema", [], |_| Ok(()));
        let size = looked.and(size).map_err(|error| work.failure(&error, ""))?;
        let pages = staged_database.fill(|to| copy(source, to, work.interrupt(), busy_ms))?;
        Ok((pages, u64::from(size) * u64::from(pages.unsigned_abs())))
    })?;
    staged_database.publish()?;
    let mut output = Output {
        text: Some(format!(
            "Wrote {file} ({}, {})\n",
            count(bytes, "byte"),
            count(pages, "page")
        )),
        ..Output::default()
    };
    output.extra.insert("file".into(), file.into());
    output.extra.insert("bytes".into(), bytes.into());
    Ok(output)
}

/// Runs `restore`.
pub(crate) fn restore(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let file = arguments.required_text("file");
    no_stream(file, "read from standard input", "batch")?;
    if context.settings.engine.readonly {
        return Err(Failure::new(
            Status::Readonly,
            "Cannot replace the database: --readonly refuses every write.",
        ));
    }
    if arguments.db() == Some(file) {
        return Err(Failure::new(
            Status::Syntax,
            format!("{file} is the database itself; name another file."),
        ));
    }
    let busy_ms = context.settings.engine.limits.busy_ms;
    let mut source = readable(context, file)?;
    let what = format!("restore {file}");
    let mut output = Output::default();
    output.notes.extend(check_trees(&mut source, false)?);
    let database = context.engine.database(arguments.db())?;
    let holds = database.inspect(Holds::of)?;
    let pages = source.look(|from| {
        let connection = from.connection()?;
        let theirs = header(connection).map_err(|error| from.failure(&error, ""))?;
        if theirs.pages == 0 {
            return Err(Failure::new(
                Status::Corrupt,
                format!("{file} is empty: it contains no database."),
            ));
        }
        let ours = database.inspect(header)?;
        if ours.journal == "wal" && ours.page_size != theirs.page_size {
            return Err(Failure::new(
                Status::InvalidState,
                format!(
                    "{} is in WAL mode with pages of {} bytes, and {file} has pages of {}; the \
                     page size cannot change in WAL mode.",
                    database.title(),
                    ours.page_size,
                    theirs.page_size
                ),
            )
            .hint("Run PRAGMA journal_mode=DELETE with sqlarium_exec first, then try again."));
        }
        if holds.objects > 0 && !arguments.flag(OVERWRITE.name) {
            return Err(Failure::new(
                Status::InvalidState,
                format!(
                    "{} holds {}, which {file} would replace. Nothing was changed.",
                    database.title(),
                    holds.in_words()
                ),
            )
            .hint("Give overwrite to replace all of it; sqlarium_backup keeps a copy first."));
        }
        database.replace(&what, &mut output, |to, interrupt| {
            copy(connection, to, interrupt, busy_ms)
        })
    })?;
    output.text = Some(format!(
        "Restored {} from {file} ({})\n",
        database.title(),
        count(pages, "page")
    ));
    if holds.objects > 0 {
        output
            .notes
            .push(format!("Replaced: {}.", holds.in_words()));
        output.extra.insert("replaced".into(), holds.as_json());
    }
    output.extra.insert("file".into(), file.into());
    output.extra.insert("pages".into(), pages.into());
    Ok(output)
}

/// Pages up to which the rows of a database are counted: about a second.
const COUNTED: u32 = 100_000;

/// Tables that are named.
const NAMED: usize = 10;

/// What a database holds.
struct Holds {
    objects: u64,
    /// Its tables, with their rows where those are counted.
    tables: Vec<(String, Option<u64>)>,
}

impl Holds {
    fn of(connection: &Connection) -> rusqlite::Result<Self> {
        let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, u32>(0));
        // What is damaged is replaced too, and there is something of it.
        let objects = count("SELECT count(*) FROM main.sqlite_schema").unwrap_or(1);
        let counted = count("PRAGMA main.page_count")? <= COUNTED;
        let own = relations(connection)
            .unwrap_or_default()
            .into_iter()
            .filter(|relation| {
                relation.schema == "main"
                    && matches!(relation.kind.as_str(), "table" | "virtual")
                    && !relation.name.starts_with("sqlite_")
            });
        let rows = |name: &str| count(&format!("SELECT count(*) FROM main.{}", quote(name)));
        let tables = own.map(|relation| {
            // One that this build cannot read has an unknown number of them.
            let rows = if counted {
                rows(&relation.name).ok()
            } else {
                None
            };
            (relation.name, rows.map(u64::from))
        });
        Ok(Self {
            objects: objects.into(),
            tables: tables.collect(),
        })
    }

    fn in_words(&self) -> String {
        if self.tables.is_empty() {
            return count(self.objects, "object");
        }
        let mut named: Vec<String> = self
            .tables
            .iter()
            .take(NAMED)
            .map(|(name, rows)| match rows {
                Some(rows) => format!("{name}: {}", count(*rows, "row")),
                None => name.clone(),
            })
            .collect();
        if self.tables.len() > NAMED {
            named.push("…".into());
        }
        format!(
            "{} ({})",
            count(self.tables.len(), "table"),
            named.join(", ")
        )
    }

    fn as_json(&self) -> serde_json::Value {
        let tables = self.tables.iter();
        tables
            .map(|(name, rows)| (name.clone(), (*rows).into()))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }
}

/// What has to agree between two databases.
struct Header {
    pages: u32,
    page_size: u32,
    journal: String,
}

fn header(connection: &Connection) -> rusqlite::Result<Header> {
    Ok(Header {
        pages: connection.query_row("PRAGMA main.page_count", [], |row| row.get(0))?,
        page_size: connection.query_row("PRAGMA main.page_size", [], |row| row.get(0))?,
        journal: connection.query_row("PRAGMA main.journal_mode", [], |row| {
            crate::engine::schema::catalogue::text(row, 0)
        })?,
    })
}

/// Another database, which can be read as it is.
///
/// # Errors
///
/// As for [`Engine::source`](crate::engine::Engine::source), and `invalid_state` if
/// another program left it in the middle of a transaction and it may not be written here.
pub(crate) fn readable(context: &Context, file: &str) -> Result<Database, Failure> {
    let mut source = context.engine.source(file)?;
    match source.look(|_| Ok(())) {
        Ok(()) => Ok(source),
        // That no file may be named is another matter than that this one is not there.
        Err(failure) if failure.status == Status::NotFound && !context.settings.engine.root => {
            let read = context.engine.files().read(file);
            Err(read
                .err()
                .filter(|refusal| refusal.status == Status::Unsupported)
                .unwrap_or(failure))
        }
        Err(failure) if failure.status == Status::Readonly => Err(Failure::new(
            Status::InvalidState,
            format!(
                "{file} was left in the middle of a transaction; rolling it back needs writing to \
                 the file."
            ),
        )
        .hint("Open it once with a program that can write to it, such as sqlite3.")),
        Err(failure) => Err(failure),
    }
}

/// Refuses `-` for what has to be read and written out of order.
pub(crate) fn no_stream(file: &str, what: &str, instead: &str) -> Result<(), Failure> {
    if file == STREAM {
        return Err(Failure::new(
            Status::Unsupported,
            format!("A database cannot be {what}; name a file."),
        )
        .hint(format!("For SQL text, use {instead}.")));
    }
    Ok(())
}

/// Checks a database that comes from elsewhere: its b-trees have to hold, and its list of free pages
/// unless it is `rebuilt`. What else is wrong with it is answered, as a remark.
pub(crate) fn check_trees(source: &mut Database, rebuilt: bool) -> Result<Option<String>, Failure> {
    let found = source.check_soundness(None, "integrity_check", 100)?;
    let title = source.title();
    if let Some(damage) = found.damage.first() {
        return Err(Failure::new(
            Status::Corrupt,
            format!("{title} is damaged and was not used: {damage}."),
        )
        .hint("sqlarium_integrity_check lists the problems. Use an older backup."));
    }
    if let Some(finding) = found.free.first() {
        if rebuilt {
            return Ok(Some(format!(
                "The list of free pages of {title} does not hold ({finding}); its rows do, and the \
                 new file has a list of its own."
            )));
        }
        // Whoever writes to the copy would write over pages that are in use.
        return Err(Failure::new(
            Status::Corrupt,
            format!(
                "The list of free pages of {title} does not hold, so that the next write could destroy \
                 rows: {finding}. Nothing was changed."
            ),
        )
        .hint("Its rows can be read: sqlarium_migrate makes a sound file of them, which can be restored."));
    }
    Ok(found.others.first().map(|finding| {
        format!(
            "The pages of {title} are sound, but not all that they hold ({finding}); \
             sqlarium_integrity_check lists what is wrong."
        )
    }))
}

/// Copies all pages and answers how many there were. Nothing of `to` is changed unless all are.
pub(crate) fn copy(
    from: &Connection,
    to: &mut Connection,
    interrupt: &InterruptCheck,
    busy_ms: u32,
) -> rusqlite::Result<i32> {
    let backup = Backup::new(from, to)?;
    let mut waited = 0;
    interrupt.phase("copying", "page", None);
    loop {
        let reached = backup.progress();
        let pages = |count: i32| u64::from(count.unsigned_abs());
        if reached.pagecount > 0 {
            let done = pages(reached.pagecount - reached.remaining);
            interrupt.reach(done, pages(reached.pagecount));
        }
        if interrupt.tick() {
            return Err(code(rusqlite::ffi::SQLITE_INTERRUPT));
        }
        match backup.step(PAGES)? {
            StepResult::Done => return Ok(backup.progress().pagecount),
            StepResult::More => waited = 0,
            _ if interrupt.wait(&mut waited, busy_ms) => {}
            _ => return Err(code(rusqlite::ffi::SQLITE_BUSY)),
        }
    }
}

fn code(code: i32) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None)
}

#[cfg(test)]
#[path = "backup_tests.rs"]
mod tests;
