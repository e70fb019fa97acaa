//! Where a shell prints.

use std::io::{self, Write};

use crate::host::{Host, Stream};

/// Results by [`Write`], and errors apart from them.
pub trait Console: Write {
    /// Prints an error on a line of its own, behind everything printed so far.
    ///
    /// # Errors
    /// If nobody listens any more.
    fn complain(&mut self, message: &str) -> io::Result<()>;
    /// Whether more rows can be shown.
    fn has_room(&self) -> bool;
}

/// What is gathered before it goes to the host, in bytes.
const CHUNK: usize = 64 << 10;

/// The standard output and standard error of the process, without bounds.
pub struct Streams {
    host: &'static dyn Host,
    buffer: Vec<u8>,
}

impl Streams {
    /// Those of the host.
    pub fn new(host: &'static dyn Host) -> Self {
        Self {
            host,
            buffer: Vec::new(),
        }
    }

    fn pass_on(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() || self.host.print(Stream::Output, &self.buffer) {
            self.buffer.clear();
            Ok(())
        } else {
            self.buffer.clear();
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }
}

impl Write for Streams {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // One cell may be more than the host takes at once.
        for piece in bytes.chunks(CHUNK) {
            self.buffer.extend_from_slice(piece);
            if self.buffer.len() >= CHUNK {
                self.pass_on()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pass_on()
    }
}

impl Console for Streams {
    fn complain(&mut self, message: &str) -> io::Result<()> {
        self.pass_on()?;
        // Standard error that nobody reads stops nothing.
        for piece in format!("{message}\n").as_bytes().chunks(CHUNK) {
            self.host.print(Stream::Errors, piece);
        }
        Ok(())
    }

    fn has_room(&self) -> bool {
        true
    }
}

/// One text with the errors in it, up to a budget.
#[derive(Debug)]
pub struct Page {
    text: Vec<u8>,
    /// Bytes that it may still take.
    room: usize,
    /// Whether anything had to be left out.
    cut: bool,
}

impl Page {
    /// A page of at most `room` bytes.
    pub fn new(room: usize) -> Self {
        Self {
            text: Vec::new(),
            room,
            cut: false,
        }
    }

    /// Whether all of it is UTF-8, so that it can be shown as it is.
    pub fn is_text(&self) -> bool {
        std::str::from_utf8(&self.text).is_ok()
    }

    /// What was printed, whole lines of it, and whether that is not all.
    pub fn finish(mut self) -> (String, bool) {
        if self.cut {
            let end = self.text.iter().rposition(|&byte| byte == b'\n');
            self.text.truncate(end.map_or(0, |end| end + 1));
        }
        // Rows of CSV end as RFC 4180 has it, which a reader of text has no use for.
        let text = String::from_utf8_lossy(&self.text).replace("\r\n", "\n");
        (text, self.cut)
    }
}

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = if self.cut {
            0
        } else {
            bytes.len().min(self.room)
        };
        self.text.extend_from_slice(&bytes[..taken]);
        self.room -= taken;
        self.cut |= taken < bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Console for Page {
    fn complain(&mut self, message: &str) -> io::Result<()> {
        writeln!(self, "{message}")
    }

    fn has_room(&self) -> bool {
        !self.cut
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Notes how long the pieces are that it is to print.
    struct Printer(Mutex<Vec<usize>>);

    impl Host for Printer {
        fn print(&self, _stream: Stream, bytes: &[u8]) -> bool {
            self.0.lock().unwrap().push(bytes.len());
            true
        }
    }

    #[test]
    fn a_long_text_goes_to_the_host_in_pieces() {
        let printer: &'static Printer = Box::leak(Box::new(Printer(Mutex::default())));
        let mut streams = Streams::new(printer);
        let long = "x".repeat(10 << 20);
        streams.write_all(long.as_bytes()).unwrap();
        streams.complain(&long).unwrap();
        let pieces = printer.0.lock().unwrap();
        assert!(pieces.iter().all(|&piece| piece <= 1 << 20));
        assert_eq!(pieces.iter().sum::<usize>(), 2 * long.len() + 1);
    }
}
