//! Results that go to a file instead.

use std::io::{self, Write};

use std::cell::RefCell;
use std::rc::Rc;

use super::console::Console;
use crate::answer::failure::Failure;
use crate::storage::streams::{Files, Writer};

/// A file that gets its name when it is whole.
pub(super) struct StagedFile {
    /// Until it has its name.
    writer: Option<Writer>,
    files: Files,
}

impl StagedFile {
    /// A file that was started.
    pub(super) fn new(writer: Writer, files: Files) -> Rc<RefCell<Self>> {
        let writer = Some(writer);
        Rc::new(RefCell::new(Self { writer, files }))
    }

    /// Gives it its name.
    ///
    /// # Errors
    /// What the host refuses; the file is gone then.
    pub(super) fn publish(&mut self) -> Result<(), Failure> {
        match self.writer.take() {
            Some(writer) => writer.publish().map_err(|error| self.files.failure(&error)),
            None => Ok(()),
        }
    }
}

impl Write for StagedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.writer {
            Some(writer) => writer.write(bytes),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Where results go.
pub(super) struct Redirect {
    /// The file.
    pub file: Rc<RefCell<StagedFile>>,
    /// Its name.
    pub name: String,
    /// Lines that it is for, this one included; none: all that follow.
    pub left: Option<u8>,
}

impl std::fmt::Debug for Redirect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redirect")
            .field("name", &self.name)
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}

/// The file if there is one, else the console.
pub(super) struct RedirectedOutput<'a> {
    /// The file.
    pub redirect: Option<&'a mut Redirect>,
    /// The console.
    pub console: &'a mut dyn Console,
}

impl RedirectedOutput<'_> {
    /// Whether more rows can be shown.
    pub(super) fn has_room(&self) -> bool {
        self.redirect.is_some() || self.console.has_room()
    }
}

impl Write for RedirectedOutput<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.redirect {
            Some(redirect) => redirect.file.borrow_mut().write(bytes),
            None => self.console.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
