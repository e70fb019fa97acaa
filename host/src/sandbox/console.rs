//! What the guest prints for a person.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write};
use std::time::Instant;

use wasmtime::Result;

use super::State;
use super::bindings::console::{self, Stream};
use super::imports::attend;

/// A person's standard output and standard error.
#[derive(Clone, Copy, Debug)]
pub struct Console {
    /// Whether errors are coloured.
    colour: bool,
    /// Whether standard output is a terminal, which what is printed must not drive.
    terminal: bool,
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
            terminal: io::stdout().is_terminal(),
            colour: io::stderr().is_terminal() && !unwanted && !dumb,
            closed: false,
        }
    }

    fn print(&mut self, stream: Stream, bytes: &[u8]) -> bool {
        match stream {
            Stream::Output => {
                let mut out = io::stdout().lock();
                let bytes = if self.terminal {
                    tamed(bytes)
                } else {
                    bytes.into()
                };
                self.closed |= out.write_all(&bytes).and_then(|()| out.flush()).is_err();
                !self.closed
            }
            Stream::Errors if self.colour => {
                let mut out = io::stderr().lock();
                let written = out
                    .write_all(b"\x1b[31m")
                    .and_then(|()| out.write_all(&tamed(bytes)))
                    .and_then(|()| out.write_all(b"\x1b[0m"));
                written.is_ok()
            }
            Stream::Errors => io::stderr().lock().write_all(bytes).is_ok(),
        }
    }
}

/// Control characters as a terminal shows them when they are typed, `^[` for an escape; tabs and line
/// breaks stay. What a database holds must not drive the terminal that it is shown on.
fn tamed(bytes: &[u8]) -> Cow<'_, [u8]> {
    let wild = |index: usize| match bytes[index] {
        b'\t' | b'\n' => false,
        b'\r' => bytes.get(index + 1) != Some(&b'\n'),
        0..=0x1f | 0x7f => true,
        // The second byte of a control character of two bytes.
        0x80..=0x9f => index > 0 && bytes[index - 1] == 0xc2,
        _ => false,
    };
    if !(0..bytes.len()).any(wild) {
        return Cow::Borrowed(bytes);
    }
    let mut shown = Vec::with_capacity(bytes.len() + 16);
    for (index, &byte) in bytes.iter().enumerate() {
        match byte {
            _ if !wild(index) => shown.push(byte),
            0x80.. => {
                shown.pop();
                shown.push(b'?');
            }
            _ => shown.extend([b'^', byte ^ 0x40]),
        }
    }
    Cow::Owned(shown)
}

impl console::Host for State {
    async fn print(&mut self, stream: Stream, bytes: Vec<u8>) -> Result<bool> {
        self.in_time()?;
        let Some(console) = &mut self.console else {
            return Ok(false);
        };
        let began = Instant::now();
        let heard = console.print(stream, &bytes);
        // Whoever reads a page at a time does not use up the statement's time.
        self.control.pause(began.elapsed());
        // Who has seen enough is to be heard, however little the guest computes.
        let control = self.control.clone();
        attend(&control).await;
        Ok(heard)
    }
}

#[cfg(test)]
mod tests {
    use super::tamed;

    #[test]
    fn what_a_database_holds_does_not_drive_the_terminal() {
        assert_eq!(tamed("a\tb\r\n│ é".as_bytes()), "a\tb\r\n│ é".as_bytes());
        assert_eq!(
            tamed(b"\x1b[31mred\x07\x7f\r"),
            b"^[[31mred^G^?^M".as_slice()
        );
        assert_eq!(
            tamed("x\u{9b}31m\u{a0}".as_bytes()),
            "x?31m\u{a0}".as_bytes()
        );
    }
}
