//! What the guest prints for a person.

use std::io::{self, Write};
use std::time::Instant;

use anstyle::{AnsiColor, Style};
use wasmtime::Result;

use super::attend;
use crate::sandbox::bindings::console::{self, Stream};
use crate::sandbox::store::StoreData;
use crate::terminal::Escaper;
use crate::terminal::bar::Bar;

/// How a terminal shows errors.
const ERROR: Style = AnsiColor::Red.on_default();

/// A person's standard output and standard error.
#[derive(Debug)]
pub struct Console {
    output: Escaper,
    errors: Escaper,
    /// Whether standard output takes nothing more.
    closed: bool,
    /// How far the command is, where somebody sees it.
    bar: Option<Bar>,
}

impl Console {
    /// Those of this process; `bar` shows how far a command is.
    pub fn new(bar: bool) -> Self {
        Self {
            output: Escaper::for_stream(&io::stdout()),
            errors: Escaper::for_stream(&io::stderr()),
            closed: false,
            bar: bar.then(Bar::new).flatten(),
        }
    }

    /// Shows how far the command is.
    pub fn show(&mut self, line: &str) {
        if let Some(bar) = &mut self.bar {
            bar.show(line);
        }
    }

    fn print(&mut self, stream: Stream, bytes: &[u8]) -> bool {
        if let Some(bar) = &mut self.bar {
            bar.clear();
        }
        match stream {
            Stream::Output => {
                let mut out = io::stdout().lock();
                let bytes = self.output.escape(bytes);
                self.closed |= out.write_all(&bytes).and_then(|()| out.flush()).is_err();
                !self.closed
            }
            Stream::Errors => {
                let mut styles = anstream::stderr();
                let written = write!(styles, "{ERROR}")
                    .and_then(|()| io::stderr().write_all(&self.errors.escape(bytes)))
                    .and_then(|()| write!(styles, "{ERROR:#}"));
                written.is_ok()
            }
        }
    }
}

impl console::Host for StoreData {
    async fn print(&mut self, stream: Stream, bytes: Vec<u8>) -> Result<bool> {
        self.in_time()?;
        let Some(console) = &mut self.console else {
            return Ok(false);
        };
        let began = Instant::now();
        let heard = console.print(stream, &bytes);
        // Whoever reads a page at a time does not use up the statement's time.
        self.budget.pause(began.elapsed());
        // Who has seen enough is to be heard, however little the guest computes.
        let budget = self.budget.clone();
        attend(&budget).await;
        Ok(heard)
    }
}
