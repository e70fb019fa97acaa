//! Results that go to a file instead.

use std::io::{self, Write};

use super::console::Console;
use crate::command::status::Failure;

/// A file that gets its name when it is whole.
pub trait Publish: Write {
    /// Gives it its name.
    ///
    /// # Errors
    /// What the host refuses; the file is gone then.
    fn publish(self: Box<Self>) -> Result<(), Failure>;
}

/// Where results go.
pub struct Redirect {
    /// The file.
    pub file: Box<dyn Publish>,
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
pub struct Outlet<'a> {
    /// The file.
    pub redirect: Option<&'a mut Redirect>,
    /// The console.
    pub console: &'a mut dyn Console,
}

impl Outlet<'_> {
    /// Whether more rows can be shown.
    pub fn has_room(&self) -> bool {
        self.redirect.is_some() || self.console.has_room()
    }
}

impl Write for Outlet<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.redirect {
            Some(redirect) => redirect.file.write(bytes),
            None => self.console.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
