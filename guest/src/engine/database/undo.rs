//! Undoing a write that was kept.

use std::rc::Rc;

use serde_json::json;

use super::recorded::{record_failure, unrecorded};
use super::{Access, Database};
use crate::answer::failure::{Failure, Status};
use crate::answer::output::Output;
use crate::engine::undo::history::{Entry, History};
use crate::engine::undo::restore;

impl Database {
    /// Undoes the write of that number, otherwise the last one that was not undone; or says why not
    /// and leaves everything as it is.
    ///
    /// # Errors
    ///
    /// `invalid_state` if there is none, if it is irreversible, or if later changes are in the way.
    pub fn undo(&mut self, write: Option<i64>) -> Result<Output, Failure> {
        if !self.is_recorded() {
            return Err(unrecorded());
        }
        self.begin(Access::Write)?;
        let result = self.take_back(write);
        // What FTS5 and its like remember of the pages is not true any more.
        let forgotten = self.trusted("PRAGMA writable_schema=RESET");
        let result = self.end(result)?;
        forgotten.map(|()| result)
    }

    fn take_back(&self, write: Option<i64>) -> Result<Output, Failure> {
        let (history, _) = self.look_back()?;
        let entry = match write {
            Some(number) => self.wanted(history, number)?,
            None => self.last(history)?,
        };
        let what = name(&entry);
        if let Some(why) = &entry.irreversible {
            let why = format!("{what} can never be undone: {why}. Nothing was changed.");
            return Err(Failure::new(Status::InvalidState, why)
                .hint("Writes before it cannot be undone either."));
        }
        let (record, number) = (Rc::clone(history), entry.number);
        let follower = history.follower(number);
        if let Some(later) = &follower
            && history.is_overwritten(number).map_err(record_failure)?
        {
            return Err(in_the_way(&entry, Some(later)));
        }
        let Some(images) = history.images(number) else {
            return Err(Failure::new(Status::Internal, "The record has no pages."));
        };
        let undoing = move |states| record.undoing(number, states);
        let state = (self.opens_for_us())()
            .and_then(|connection| restore::put_back(&connection, &images, undoing))
            .map_err(|error| self.failure(&error, "", 0))?
            .map_err(|conflict| {
                let ours = history.leads_to(number, conflict.state);
                in_the_way(&entry, follower.as_ref().filter(|_| ours))
            })?;
        history.look(&self.title, state);
        let mut output = Output {
            text: Some(format!("{what} was undone: {}.\n", entry.summary)),
            ..Output::default()
        };
        output.extra.insert("undone".into(), json!({
            "number": entry.number, "command": entry.command, "when": entry.at, "changes": entry.summary,
        }));
        Ok(output)
    }

    fn last(&self, history: &History) -> Result<Entry, Failure> {
        if let Some(entry) = history.last(&self.title) {
            return Ok(entry);
        }
        Err(Failure::new(
            Status::InvalidState,
            if history.dropped() > 0 {
                "There is no write left to undo; older writes were dropped from the record."
            } else {
                "There is no write to undo: this session has written nothing, or all its writes \
                 were undone."
            },
        ))
    }

    fn wanted(&self, history: &History, number: i64) -> Result<Entry, Failure> {
        let refuse = |why: String| Failure::new(Status::InvalidState, why);
        match history.find(number) {
            Some(entry) if entry.database != self.title => Err(refuse(format!(
                "{} was made to {}, not to {}.",
                name(&entry),
                entry.database,
                self.title
            ))
            .hint("Name that database in db.")),
            Some(entry) if entry.undone => Err(refuse(format!(
                "{} was undone already. Nothing was changed.",
                name(&entry)
            ))),
            Some(entry) => Ok(entry),
            None if history.was_dropped(number) => Err(refuse(format!(
                "Write {number} can no longer be undone: it was dropped from the record, which was \
                 full (--undo-memory)."
            ))),
            None => Err(Failure::new(
                Status::NotFound,
                format!("This session has no write {number}."),
            )
            .hint("sqlarium_history lists the writes.")),
        }
    }
}

/// The refusal for what came later: a write of this session, or one by somebody else.
fn in_the_way(entry: &Entry, later: Option<&Entry>) -> Failure {
    let refuse = |why: String| {
        let what = name(entry);
        Failure::new(
            Status::InvalidState,
            format!("{what} cannot be undone: {why}. Nothing was changed."),
        )
    };
    let Some(later) = later else {
        return refuse(
            "the database was written to since, by another connection or by a call that was \
             aborted"
                .into(),
        )
        .hint("Check the current state, then correct it with a new write.");
    };
    let what = name(later);
    match &later.irreversible {
        Some(why) => refuse(format!("{what} came later and can never be undone: {why}")),
        None => refuse(format!("{what} came later and is in the way"))
            .hint(format!("Undo write {} first.", later.number)),
    }
}

/// A write, for a sentence.
fn name(entry: &Entry) -> String {
    format!("Write {} ({}, {})", entry.number, entry.command, entry.at)
}
