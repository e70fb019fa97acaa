//! How a database is opened: for reading at first, for more when it has to be, and anew when
//! another file has its name.

use std::cell::RefCell;
use std::sync::Arc;

use rusqlite::{Connection, ffi};

use super::{Database, OpenConnection, Role};
use crate::answer::failure::{self, Failure, Status};
use crate::engine::connection::insert_hook::InsertHook;
use crate::engine::connection::{self, Access, stand_in};
use crate::engine::guard::authorizer::Mode;
use crate::engine::schema::lookup;
use crate::engine::statement::errors;
use crate::engine::vfs;

impl Database {
    /// The same database for reading alone, whatever its schema needs of the program that made the
    /// file. It sees what is committed.
    #[must_use]
    pub fn as_source(&self) -> Self {
        self.in_role(Role::Source)
    }

    pub(super) fn in_role(&self, role: Role) -> Self {
        Self {
            role,
            ..Self::new(
                self.file.clone(),
                self.title.clone(),
                &self.settings,
                self.output,
                &self.interrupt,
            )
        }
    }

    /// What happened to the file that a reader has to know; told once.
    pub fn news(&mut self) -> Vec<String> {
        std::mem::take(&mut self.news)
    }

    /// Starts a call: asks the host, opens or upgrades the connection, sets `query_only`.
    pub(super) fn begin(&mut self, want: Access) -> Result<(), Failure> {
        if let Some(interruption) = self.interrupt.start() {
            return Err(failure::interrupted(&interruption));
        }
        self.authorizer.enter(Mode::Trusted);
        vfs::allow_sleep(self.settings.limits.busy_ms);
        let moved = self.has_moved();
        if moved {
            self.leave();
        }
        let begun = self.begin_for(want);
        match &begun {
            Err(failure) if moved && failure.status == Status::NotFound => {
                return Err(Failure::new(
                    Status::NotFound,
                    format!(
                        "{} was deleted or renamed while it was open, and there is no such file now.",
                        self.title
                    ),
                )
                .hint("Put a file back under that name; the next call opens it."));
            }
            Ok(()) if moved => self.news.push(format!(
                "{} was replaced by another file since the last call; this answer is from the new one.",
                self.title
            )),
            _ => {}
        }
        begun
    }

    fn begin_for(&mut self, want: Access) -> Result<(), Failure> {
        // Natively, what is in memory is writable from the start.
        let want_now = if connection::is_in_memory(&self.file) || !self.layers.readonly_open {
            Access::Write
        } else {
            want
        };
        let guarded = want == Access::Read && self.layers.query_only;
        // A new connection only reads at first, which shows what opening for more would put right.
        let mut access = match self.link {
            None if !connection::is_in_memory(&self.file) && self.layers.readonly_open => {
                Access::Read
            }
            _ => want_now,
        };
        // What has to be put right first, which means writing.
        let mut wrong: Option<rusqlite::Error> = None;
        let mut alone = false;
        let failure = loop {
            if let Err(failure) = self.open(access) {
                break match &wrong {
                    Some(wrong) if failure.status == Status::Readonly => self.failure(wrong, "", 0),
                    _ => failure,
                };
            }
            match self.probe() {
                Ok(()) if access == Access::Read && want_now != access => access = want_now,
                Ok(()) => {
                    if wrong.as_ref().is_some_and(is_hot) {
                        self.news.push(format!(
                            "When {} was opened, an unfinished write of a program that had ended in the \
                             middle of it was rolled back.",
                            self.title
                        ));
                    }
                    return self.set_query_only(guarded);
                }
                Err(error) if self.role != Role::Served && is_hot(&error) => {
                    break unfinished(&self.title);
                }
                // Another program died in a transaction, or left a write-ahead log.
                Err(error) if wrong.is_none() && needs_writing(&error) && self.may_upgrade() => {
                    access = Access::Write;
                    wrong = Some(error);
                }
                // A log whose index this host cannot share is used by one alone, or not at all.
                Err(error) if is_without_index(&error, self.link.as_ref()) => {
                    if access == Access::Read || alone {
                        break unshared(&self.title);
                    }
                    alone = true;
                    if let Err(failure) = self.trusted("PRAGMA locking_mode=EXCLUSIVE") {
                        break failure;
                    }
                }
                Err(error) => {
                    let wrong = wrong.filter(|_| cannot_write(&error));
                    break self.failure(wrong.as_ref().unwrap_or(&error), "", 0);
                }
            }
            if self.role != Role::Served
                && let (Some(wrong), Some(link)) = (&wrong, &self.link)
            {
                // Where there is a log, it stays as it is.
                let keep = wrong.sqlite_error_code() != Some(ffi::ErrorCode::CannotOpen);
                let config = rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
                if let Err(error) = link.connection.set_db_config(config, keep) {
                    break self.failure(&error, "", 0);
                }
            }
        };
        self.authorizer.enter(Mode::Nothing);
        Err(failure)
    }

    fn may_upgrade(&self) -> bool {
        !self.settings.readonly
            && self
                .link
                .as_ref()
                .is_some_and(|link| link.access == Access::Read)
    }

    /// Opens the database for `access`, unless it is open for that or more.
    pub(super) fn open(&mut self, access: Access) -> Result<(), Failure> {
        let enough = self
            .link
            .as_ref()
            .is_some_and(|link| link.access == Access::Write || access == Access::Read);
        if enough {
            return Ok(());
        }
        self.link = None;
        let opened = connection::open(
            Some(&self.file),
            access,
            &self.settings.limits,
            &self.authorizer,
            &self.interrupt,
        )
        .and_then(|connection| {
            if self.role != Role::Served {
                stand_in::collations(&connection)?;
            }
            if self.role == Role::Pages {
                stand_in::no_modules(&connection);
            }
            // For the whole process, and never raised again: not within a process of many tests.
            if !cfg!(test) {
                connection::limit_heap(&connection, &self.settings.limits)?;
            }
            Ok(connection)
        });
        let mut connection = opened.map_err(|error| self.failure(&error, "", 0))?;
        if !self.layers.authorizer {
            connection
                .authorizer(
                    None::<fn(rusqlite::hooks::AuthContext<'_>) -> rusqlite::hooks::Authorization>,
                )
                .map_err(|error| self.failure(&error, "", 0))?;
        }
        // SQLite falls back to reading a file that may not be written.
        if access == Access::Write && connection.is_readonly("main").unwrap_or(false) {
            return Err(errors::unwritable(&self.title));
        }
        self.link = Some(OpenConnection {
            followed: RefCell::default(),
            inserted: InsertHook::new(&connection, &self.authorizer),
            connection,
            access,
            query_only: false,
            checked: None,
        });
        Ok(())
    }

    /// What opens a connection for our own use alone.
    pub(super) fn opens_for_us(&self) -> Box<dyn Fn() -> rusqlite::Result<Connection>> {
        let settings = Arc::clone(&self.settings);
        let (file, interrupt) = (self.file.clone(), Arc::clone(&self.interrupt));
        Box::new(move || connection::open_for_us(&file, &settings.limits, &interrupt))
    }

    /// Reads the first page, which shows whether the file can be read at all,
    /// and makes sure that all names of the schema are UTF-8.
    pub(super) fn probe(&mut self) -> rusqlite::Result<()> {
        let Some(link) = &mut self.link else {
            return Ok(());
        };
        let version: i64 = link
            .connection
            .prepare_cached("PRAGMA schema_version")?
            .query_row([], |row| row.get(0))?;
        if link.checked.is_none() {
            connection::limit_cache(&link.connection, &self.settings.limits)?;
        }
        if link.checked != Some(version) {
            lookup::check_names(&link.connection)?;
            link.checked = Some(version);
        }
        Ok(())
    }

    fn set_query_only(&mut self, on: bool) -> Result<(), Failure> {
        if self.link.as_ref().is_none_or(|link| link.query_only == on) {
            return Ok(());
        }
        self.trusted(if on {
            "PRAGMA query_only=ON"
        } else {
            "PRAGMA query_only=OFF"
        })?;
        if let Some(link) = &mut self.link {
            link.query_only = on;
        }
        Ok(())
    }

    /// Whether the open file is no longer the one of its name. A shell's transaction ends first.
    fn has_moved(&self) -> bool {
        let link = self
            .link
            .as_ref()
            .filter(|link| link.connection.is_autocommit());
        link.is_some_and(|link| vfs::has_moved(&link.connection))
    }

    /// Closes what has lost its name; what was written to it is not undone in another file. What its write-ahead log holds goes into the file that it
    /// belongs to: under the name of the log, the file that came after would take it for its own.
    fn leave(&mut self) {
        if self.is_recorded()
            && let Ok(history) = self.history()
        {
            history.replaced(&self.title);
        }
        if let Some(link) = self.link.take().filter(|link| link.access == Access::Write) {
            // In vain if another process reads from it; nothing more can be done then.
            let _ = link
                .connection
                .execute_batch("PRAGMA query_only=OFF; PRAGMA wal_checkpoint(TRUNCATE)");
        }
    }
}

/// Whether the log of an open database cannot be read since this host has no memory for its index.
fn is_without_index(error: &rusqlite::Error, link: Option<&OpenConnection>) -> bool {
    error.sqlite_error_code() == Some(ffi::ErrorCode::CannotOpen)
        && link.is_some_and(|link| !vfs::shares_memory(&link.connection))
}

/// The refusal of a database in WAL mode where its index cannot be shared.
fn unshared(title: &str) -> Failure {
    Failure::new(
        Status::InvalidState,
        format!(
            "{title} is in WAL mode, whose index programs share in memory, and this host cannot share memory."
        ),
    )
    .hint("Open it for writing where nobody else uses it, or switch it with PRAGMA journal_mode=DELETE in another program.")
}

/// Whether a journal has to be rolled back before anything can be read.
fn is_hot(error: &rusqlite::Error) -> bool {
    let error = error.sqlite_error();
    error.is_some_and(|error| error.extended_code == ffi::SQLITE_READONLY_ROLLBACK)
}

/// The refusal of a file that is only read and has a hot journal.
fn unfinished(title: &str) -> Failure {
    Failure::new(
        Status::InvalidState,
        format!(
            "A program ended in the middle of a write to {title}; rolling it back would change the \
             file, which is only read here. Nothing was changed."
        ),
    )
    .hint("Open it once with a program that may write to it, such as sqlite3, then try again.")
}

/// Whether this is how the operating system refuses a write that SQLite tried.
fn cannot_write(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| {
        error.extended_code & 0xff == ffi::SQLITE_READONLY
            || error.extended_code == ffi::SQLITE_IOERR_DELETE
    })
}

/// Whether reading fails because something has to be written first.
fn needs_writing(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqliteFailure(error, _) => {
            matches!(
                error.extended_code,
                ffi::SQLITE_READONLY_ROLLBACK
                    | ffi::SQLITE_READONLY_RECOVERY
                    | ffi::SQLITE_READONLY_CANTINIT
                    | ffi::SQLITE_READONLY_CANTLOCK
            ) || error.extended_code & 0xff == ffi::SQLITE_CANTOPEN
        }
        _ => false,
    }
}
