//! Undoing the last write that was kept.

use serde_json::json;

use super::followed::unrecorded;
use super::{Access, Database};
use crate::answer::failure::{Failure, Status};
use crate::answer::output::Output;
use crate::engine::connection;
use crate::engine::undo::restore;

impl Database {
    /// Undoes the last write, or says why not and leaves everything as it is.
    ///
    /// # Errors
    ///
    /// `invalid_state` if there is none, if it is irreversible, or if later changes are in the way.
    pub fn undo(&mut self) -> Result<Output, Failure> {
        if !self.is_recorded() {
            return Err(unrecorded());
        }
        self.begin(Access::Write)?;
        let result = self.undo_last();
        // What FTS5 and its like remember of the pages is not true any more.
        let forgotten = self.trusted("PRAGMA writable_schema=RESET");
        let result = self.end(result)?;
        forgotten.map(|()| result)
    }

    fn undo_last(&self) -> Result<Output, Failure> {
        let history = self.history()?;
        let fail = |error: rusqlite::Error| self.record_failure(&error);
        let Some(entry) = history.last(&self.title).map_err(fail)? else {
            let dropped = history.dropped().map_err(fail)?;
            return Err(Failure::new(
                Status::InvalidState,
                if dropped > 0 {
                    "There is no write left to undo; older writes were dropped from the record."
                } else {
                    "There is no write to undo: this session has written nothing, or all its \
                     writes were undone."
                },
            ));
        };
        let what = format!("Write {} ({}, {})", entry.number, entry.command, entry.at);
        let refuse = |why: &str| {
            Failure::new(
                Status::InvalidState,
                format!("{what} cannot be undone: {why}. Nothing was changed."),
            )
        };
        if let Some(why) = &entry.irreversible {
            let why = format!("{what} can never be undone: {why}. Nothing was changed.");
            return Err(Failure::new(Status::InvalidState, why)
                .hint("Writes before it cannot be undone either."));
        }
        let images = history.images(entry.number).map_err(fail)?;
        let state = connection::open_for_us(&self.file, &self.settings.limits, &self.interrupt)
            .and_then(|connection| restore::put_back(&connection, &images))
            .map_err(|error| self.failure(&error, "", 0))?
            .map_err(|why| {
                refuse(&why).hint("Check the current state, then correct it with a new write.")
            })?;
        history.undone(entry.number, state).map_err(fail)?;
        let mut output = Output {
            text: Some(format!("{what} was undone: {}.\n", entry.summary)),
            ..Output::default()
        };
        output.extra.insert("undone".into(), json!({
            "number": entry.number, "command": entry.command, "when": entry.at, "changes": entry.summary,
        }));
        Ok(output)
    }
}
