//! What the guest prints for a person.

use std::io::{self, IsTerminal as _, Write};
use std::time::Instant;

use wasmtime::Result;

use super::State;
use super::bindings::console::{self, Stream};

/// A person's standard output and standard error.
#[derive(Clone, Copy, Debug)]
pub struct Console {
    /// Whether errors are coloured.
    colour: bool,
    /// Whether standard output takes nothing more.
    closed: bool,
}

impl Console {
    /// Those of this process. Colour only on a terminal, and never against `NO_COLOR`,
    /// <https://no-color.org/>.
    pub fn new() -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        Self {
            colour: io::stderr().is_terminal() && !unwanted && !dumb,
            closed: false,
        }
    }

    fn print(&mut self, stream: Stream, bytes: &[u8]) -> bool {
        match stream {
            Stream::Output => {
                let mut out = io::stdout().lock();
                self.closed |= out.write_all(bytes).and_then(|()| out.flush()).is_err();
                !self.closed
            }
            Stream::Errors if self.colour => {
                let mut out = io::stderr().lock();
                let written = out
                    .write_all(b"\x1b[31m")
                    .and_then(|()| out.write_all(bytes))
                    .and_then(|()| out.write_all(b"\x1b[0m"));
                written.is_ok()
            }
            Stream::Errors => io::stderr().lock().write_all(bytes).is_ok(),
        }
    }
}

impl console::Host for State {
    fn print(&mut self, stream: Stream, bytes: Vec<u8>) -> Result<bool> {
        let Some(console) = &mut self.console else {
            return Ok(false);
        };
        let began = Instant::now();
        let heard = console.print(stream, &bytes);
        // Whoever reads a page at a time does not use up the statement's time.
        self.control.pause(began.elapsed());
        Ok(heard)
    }
}
