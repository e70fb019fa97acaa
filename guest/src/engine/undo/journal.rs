//! The list of a session's writes in a file, so that the next instance knows what one knew that was
//! cut off. It is a list of changes, one to a line: a line is written as a whole or not at all.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::history::Write;
use super::pages::Page;
use crate::storage::{self, File};

/// How long the file may get before it is written anew, and how much longer than it was then, in bytes.
const GROWTH: u64 = 256 << 10;

/// How much is read at a time, in bytes.
const PIECE: usize = 1 << 20;

/// A change to the list.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Change<'a> {
    /// A write is new, or different; its pages stay.
    Write(Cow<'a, Write>),
    /// The pages of a write.
    Pages(i64, Cow<'a, [Page]>),
    /// A write is not in the list any more.
    Gone(i64),
    /// So many were dropped for others, the last with this number.
    Dropped(u64, i64),
}

/// The file.
pub(super) struct Journal {
    file: Box<dyn File>,
    end: u64,
    /// Where it is to be written anew.
    limit: u64,
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").finish_non_exhaustive()
    }
}

impl Journal {
    /// Reads a file; `apply` hears of the changes, in order.
    ///
    /// # Errors
    ///
    /// The storage's.
    pub(super) fn open(
        mut file: Box<dyn File>,
        mut apply: impl FnMut(Change<'static>),
    ) -> storage::Result<Self> {
        let mut text = vec![0; file.size()? as usize];
        for (piece, at) in text.chunks_mut(PIECE).zip((0..).step_by(PIECE)) {
            file.read(at, piece)?;
        }
        let mut end = 0;
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let Ok(changes) = serde_json::from_slice::<Vec<Change<'static>>>(line) else {
                break;
            };
            if line.last() != Some(&b'\n') {
                break;
            }
            changes.into_iter().for_each(&mut apply);
            end += line.len() as u64;
        }
        Ok(Self {
            file,
            end,
            limit: end + GROWTH,
        })
    }

    /// Adds changes. If there are many, or the last ones could not be written, all is written anew
    /// from `whole`, which has these in it.
    ///
    /// # Errors
    ///
    /// The storage's; the file is as before then.
    pub(super) fn add<'a>(
        &mut self,
        changes: &[Change<'_>],
        whole: impl FnOnce() -> Vec<Change<'a>>,
    ) -> storage::Result<()> {
        if self.end < self.limit {
            let line = line(changes);
            let added = self.file.write(self.end, &line);
            match added {
                Ok(()) => self.end += line.len() as u64,
                Err(_) => self.limit = 0,
            }
            return added;
        }
        let mut line = line(&whole());
        let length = line.len() as u64;
        // It ends what is read, whatever is behind it.
        line.push(b'\n');
        self.file.write(0, &line)?;
        self.end = length;
        // What the next line does not cover must not be read behind it.
        let cut = self.file.truncate(length);
        self.limit = cut.map_or(0, |()| 2 * length + GROWTH);
        Ok(())
    }
}

fn line(changes: &[Change<'_>]) -> Vec<u8> {
    let mut line = serde_json::to_vec(changes).unwrap_or_default();
    line.push(b'\n');
    line
}
