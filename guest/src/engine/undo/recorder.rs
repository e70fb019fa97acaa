//! Records a write just before it is committed, so that no write is there without its record.

use std::cell::RefCell;
use std::rc::Rc;

use super::capture::{BeforeCommit, Commit, Irreversible, unkept};
use super::history::{History, NewEntry};

/// Characters of a write's SQL that are kept.
const SQL_CHARS: usize = 120;

/// A write on its way to its record.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) history: Rc<History>,
    /// Whether a write that could not be undone is refused.
    pub(crate) required: bool,
    /// The database, by its title.
    pub(crate) database: String,
    /// The command.
    pub(crate) command: String,
    /// The beginning of the write's SQL.
    pub(crate) sql: RefCell<String>,
    /// Whether it replaces everything.
    pub(crate) replaces: bool,
    pub(crate) outcome: RefCell<Outcome>,
}

/// What became of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// Its number, if it was recorded.
    pub(crate) number: Option<i64>,
    /// Why it cannot be undone, if it cannot.
    pub(crate) irreversible: Option<Irreversible>,
    /// How many older writes were dropped for it.
    pub(crate) dropped: u64,
    /// Whether it was refused for that.
    pub(crate) refused: bool,
    /// Whether it left everything as it was.
    pub(crate) same: bool,
    /// The state that it was to lead to.
    pub(crate) state: Option<u64>,
}

impl Recorder {
    /// The SQL goes on with another statement.
    pub(crate) fn add_sql(&self, statement: &str) {
        let mut sql = self.sql.borrow_mut();
        let room = SQL_CHARS.saturating_sub(sql.chars().count());
        let separator = if sql.is_empty() { "" } else { " " };
        sql.extend(separator.chars().chain(statement.trim().chars()).take(room));
    }

    /// Records what is about to be committed, unless nothing is different; whether it may be.
    /// `around` is told when that begins and ends.
    pub(crate) fn before_commit(self: &Rc<Self>, around: impl Fn(bool) + 'static) -> BeforeCommit {
        let this = Rc::clone(self);
        Box::new(move |commit| {
            // A commit is not interrupted half-way.
            around(true);
            let may = this.record(commit);
            around(false);
            may
        })
    }

    fn record(&self, commit: Commit) -> bool {
        if let Ok(images) = &commit.images
            && images.are_all_the_same()
        {
            // That undoes nothing, whether it is known or not.
            let mut outcome = self.outcome.borrow_mut();
            outcome.state = Some(commit.state.1);
            outcome.same = true;
            self.history.go_on(&self.database, commit.state);
            return true;
        }
        self.put_down(commit)
    }

    /// The same for a write that no commit has told of.
    pub(crate) fn put_down(&self, commit: Commit) -> bool {
        let mut outcome = self.outcome.borrow_mut();
        outcome.state = Some(commit.state.1);
        outcome.irreversible = commit.images.as_ref().err().cloned();
        if !(self.required && outcome.irreversible.is_some()) {
            let sql = self.sql.borrow();
            let entry = NewEntry {
                database: &self.database,
                command: &self.command,
                sql: &sql,
            };
            if let Some(number) = outcome.number.take() {
                // Its commit goes on behind where it seemed to end.
                self.history.forget(number);
            }
            match self.history.add(&entry, commit.state, commit.images) {
                Ok((number, dropped)) => {
                    outcome.number = Some(number);
                    outcome.dropped += dropped;
                }
                Err(error) => outcome.irreversible = Some(unkept(error)),
            }
        }
        outcome.refused = self.required && outcome.irreversible.is_some();
        !outcome.refused
    }
}
