//! The record of what is written (`--undo`).

use std::hash::{DefaultHasher, Hash, Hasher};

use super::report::{Change, changes, lines};
use super::{Access, Database};
use crate::answer::failure::{Failure, Status};
use crate::answer::output::Output;
use crate::engine::guard::authorizer::Mode;
use crate::engine::statement::params::Params;
use crate::engine::undo::history::{Entry, EntryState, History, NewEntry};
use crate::engine::undo::schema_diff::objects;
use crate::engine::undo::{Step, Summary, statistics};

/// Characters of a write's SQL that are recorded.
const SQL_CHARS: usize = 120;

/// The identity of a write that a client asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct WriteCall<'a> {
    sql: &'a str,
    digest: u64,
}

impl<'a> WriteCall<'a> {
    pub(super) fn new(sql: &'a str, params: &Params) -> Self {
        let mut hasher = DefaultHasher::new();
        sql.hash(&mut hasher);
        if *params != Params::None {
            format!("{params:?}").hash(&mut hasher);
        }
        Self {
            sql,
            digest: hasher.finish(),
        }
    }
}

/// The irreversible writes that the client was warned of. To ask for one again is to
/// confirm it, but in a later call.
#[derive(Debug, Default)]
pub(super) struct WarnedWrites {
    now: Vec<u64>,
    before: Vec<u64>,
}

impl WarnedWrites {
    /// The call ends.
    pub(super) fn end(&mut self) {
        if !self.now.is_empty() {
            self.before = std::mem::take(&mut self.now);
        }
    }
}

impl Database {
    /// Whether what is written is recorded.
    pub(super) fn is_recorded(&self) -> bool {
        self.settings.undo.is_some()
    }

    /// How many bytes of one write are recorded at most; none if nothing is.
    pub(super) fn room(&self) -> Option<u64> {
        let memory = self.settings.limits.memory_bytes;
        self.is_recorded().then_some(memory / 8)
    }

    pub(super) fn history(&self) -> Result<&History, Failure> {
        if let Some(history) = self.history.get() {
            return Ok(history);
        }
        let undo = self.settings.undo.as_ref().ok_or_else(unrecorded)?;
        let room = undo.bytes.min(self.settings.limits.disk_bytes / 4);
        let history =
            History::open(&undo.file, room).map_err(|error| self.record_failure(&error))?;
        Ok(self.history.get_or_init(|| history))
    }

    pub(super) fn record_failure(&self, error: &rusqlite::Error) -> Failure {
        let failure = self.failure(error, "", 0);
        Failure {
            message: format!(
                "The undo record (--undo) could not be used: {}",
                failure.message
            ),
            ..failure
        }
    }

    /// Commits a transaction whose steps are known, and records it.
    pub(super) fn commit_recorded(
        &self,
        call: &WriteCall<'_>,
        steps: &[Step],
        summary: &Summary,
        irreversible: Option<String>,
        output: &mut Output,
    ) -> Result<(), Failure> {
        if steps.is_empty() && irreversible.is_none() {
            return self.trusted("COMMIT");
        }
        let history = self.history()?;
        let mut told = lines(summary);
        told.extend(changes(summary).iter().map(Change::in_short));
        let start: String = call.sql.trim().chars().take(SQL_CHARS).collect();
        let draft = NewEntry {
            database: &self.title,
            command: self.interrupt.command(),
            sql: &start,
            summary: &told.join("; "),
            irreversible: irreversible.as_deref(),
        };
        let (number, dropped) = history
            .add(&draft, steps)
            .map_err(|error| self.record_failure(&error))?;
        if let Err(failure) = self.trusted("COMMIT") {
            // It came to nothing, and so must its entry.
            let _ = history.forget(number);
            return Err(failure);
        }
        history
            .mark(number, EntryState::Done)
            .map_err(|error| self.record_failure(&error))?;
        output.extra.insert("history".into(), number.into());
        if let Some(why) = irreversible {
            output
                .notes
                .push(format!("This write cannot be undone: {why}."));
        }
        if dropped > 0 {
            output.notes.push(format!(
                "The undo record is full: its {dropped} oldest writes were dropped and can no \
                 longer be undone."
            ));
        }
        Ok(())
    }

    /// Lets an irreversible write pass if the client was warned of it before.
    ///
    /// # Errors
    ///
    /// `invalid_state` if it was not; this is the warning.
    pub(super) fn confirm(&self, call: &WriteCall<'_>, why: &str) -> Result<(), Failure> {
        let mut warned = self.warned.borrow_mut();
        let told = warned.before.len();
        warned.before.retain(|digest| *digest != call.digest);
        if warned.before.len() < told {
            return Ok(());
        }
        warned.now.push(call.digest);
        Err(Failure::new(
            Status::InvalidState,
            format!("This write was rolled back, because it could not be undone later: {why}."),
        )
        .hint(
            "Send the same call again to write anyway; then earlier writes cannot be undone \
               either.",
        ))
    }

    /// Notes that the client was warned of an irreversible write.
    pub(super) fn warn(&self, call: &WriteCall<'_>) {
        self.warned.borrow_mut().now.push(call.digest);
    }

    /// What was written to this database, the latest first.
    ///
    /// # Errors
    ///
    /// `unsupported` if nothing is recorded, and whatever else SQLite or a budget refuses.
    pub fn past(&mut self, most: u32) -> Result<(Vec<Entry>, u64), Failure> {
        if !self.is_recorded() {
            return Err(unrecorded());
        }
        self.begin(Access::Write)?;
        let listed = self.recover().and_then(|()| {
            let history = self.history()?;
            history
                .list(&self.title, most)
                .and_then(|entries| Ok((entries, history.dropped()?)))
                .map_err(|error| self.record_failure(&error))
        });
        self.end(listed)
    }

    /// Resolves a write, or an undo, that was aborted during its commit.
    pub(super) fn recover(&self) -> Result<(), Failure> {
        let history = self.history()?;
        let fail = |error: rusqlite::Error| self.record_failure(&error);
        let Some(entry) = history.last(&self.title).map_err(fail)? else {
            return Ok(());
        };
        if !matches!(entry.state, EntryState::InDoubt | EntryState::Undoing) {
            return Ok(());
        }
        let steps = history.steps(entry.number).map_err(fail)?;
        // It is in place if it could be undone.
        let in_place = !steps.is_empty()
            && self
                .revert_all(&steps, || self.trusted("ROLLBACK"))?
                .is_ok();
        let settled = match entry.state {
            _ if in_place => history.mark(entry.number, EntryState::Done),
            EntryState::Undoing => history.mark(entry.number, EntryState::Undone),
            _ if self.never_came(&steps)? => history.forget(entry.number),
            _ => history
                .mark_irreversible(
                    entry.number,
                    "it was aborted during its commit, and other changes hide whether it was \
                     committed",
                )
                .and_then(|()| history.mark(entry.number, EntryState::Done)),
        };
        settled.map_err(fail)
    }

    /// Whether an aborted write left nothing: the database is as it was before it.
    fn never_came(&self, steps: &[Step]) -> Result<bool, Failure> {
        let connection = self.connection()?;
        let fail = |error: rusqlite::Error| self.failure(&error, "", 0);
        self.authorizer.enter(Mode::Trusted);
        match steps.first() {
            None => Ok(false),
            Some(Step::Schema { before, .. }) => Ok(objects(connection).map_err(fail)? == *before),
            Some(Step::Statistics { before, .. }) => {
                Ok(statistics::of(connection).map_err(fail)? == *before)
            }
            Some(Step::Rows { changes, .. }) => {
                self.trusted("BEGIN IMMEDIATE")?;
                let made = changes.make(connection).map_err(fail);
                self.trusted("ROLLBACK")?;
                Ok(made?.is_ok())
            }
        }
    }
}

pub(super) fn unrecorded() -> Failure {
    Failure::new(
        Status::Unsupported,
        "Writes are not recorded: only a server started with --undo records the writes of its \
         session.",
    )
    .hint(
        "Start it as: sqlarium mcp --undo FILE. To see beforehand what a single write would \
           change, use dry_run.",
    )
}

/// Why these steps are irreversible, if they are.
pub(super) fn irreversible(
    steps: &[Step],
    null_keys: impl IntoIterator<Item = String>,
    room: u64,
) -> Option<String> {
    if let Some(table) = null_keys.into_iter().next() {
        return Some(format!(
            "{table} has rows whose primary key is NULL, and changes to such rows are not recorded"
        ));
    }
    let why = steps.iter().find_map(|step| match step {
        Step::Schema {
            inverse: Some(Err(why)),
            ..
        } => Some(why.clone()),
        _ => None,
    });
    let bytes = bytes(steps);
    why.or_else(|| (bytes > room).then(|| too_large(bytes, room)))
}

/// The bytes of the rows that these steps changed.
pub(super) fn bytes(steps: &[Step]) -> u64 {
    let of = |step: &Step| match step {
        Step::Rows { changes, .. } => changes.bytes().len() as u64,
        _ => 0,
    };
    steps.iter().map(of).sum()
}

pub(super) fn too_large(bytes: u64, room: u64) -> String {
    format!(
        "the rows that it changed take {bytes} bytes, more than the {room} bytes kept for one \
             write"
    )
}
