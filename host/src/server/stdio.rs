//! The client's lines in, bounded before anything is allocated for them, and ours out.

use std::fs::File;
use std::io::ErrorKind::{Interrupted, WouldBlock};
use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::queue::Line;
use crate::log::log;

/// What comes from the client's side.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// A line without its newline.
    Line(Line),
    /// The start of a line that is longer than the budget, and its last bytes.
    Overlong(Line),
    /// The client closed its end.
    Closed,
}

/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;

/// So much is kept of the end of a line that is too long: many clients write there what it answers to.
const END_BYTES: usize = 512;

/// How long the process may take to end in good order after it was asked to. A client that does
/// not read what it is sent would keep it for ever.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// The signal that asked the process to end, or 0.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// The signal that asked the process to end, if one did.
pub fn signalled() -> Option<i32> {
    Some(SIGNAL.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
}

/// Standard input, read where its lines are wanted. Nothing is read that nobody asks for: then the
/// pipe fills, and the client waits.
pub struct Input {
    lines: Lines<File>,
    /// Has something to read once a signal has come.
    signal: PipeReader,
}

impl Input {
    /// Reads lines of at most `limit` bytes, the newline not counted, and catches signals meanwhile.
    pub fn new(limit: u64) -> io::Result<Self> {
        let (signal, wake) = io::pipe()?;
        catch_signals(wake)?;
        let input: OwnedFd = io::stdin().as_fd().try_clone_to_owned()?;
        Ok(Self {
            lines: Lines::new(input.into(), limit),
            signal,
        })
    }

    /// What comes next; none if nothing comes within `time`, for which no time is for ever, or if a
    /// signal comes first.
    pub fn next(&mut self, time: Option<Duration>) -> Option<Event> {
        let until = time.map(|time| Instant::now() + time);
        loop {
            if !self.lines.is_ahead() && !self.wait(until) {
                return None;
            }
            if let Some(event) = self.lines.next() {
                return Some(event);
            }
        }
    }

    /// Waits until there is something to read; false if a signal came or the time is over.
    fn wait(&self, until: Option<Instant>) -> bool {
        let mut watched = [
            PollFd::new(self.lines.input.get_ref(), PollFlags::IN),
            PollFd::new(&self.signal, PollFlags::IN),
        ];
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            // No call takes longer than time can be told.
            let left = left.map(|left| Timespec::try_from(left).unwrap_or_default());
            match poll(&mut watched, left.as_ref()) {
                Ok(0) => return false,
                Ok(_) => return watched[1].revents().is_empty(),
                Err(rustix::io::Errno::INTR) => {}
                // Reading says what is wrong.
                Err(_) => return true,
            }
        }
    }
}

/// Bytes as lines, none longer than the limit.
struct Lines<R> {
    input: BufReader<R>,
    limit: u64,
    /// What is there of a line; one byte more than the limit, and the last ones, if it is too long.
    line: Line,
}

impl<R: Read> Lines<R> {
    fn new(input: R, limit: u64) -> Self {
        Self {
            input: BufReader::with_capacity(CHUNK, input),
            limit,
            line: Line::new(),
        }
    }

    /// Whether something was read that is not handed out yet.
    fn is_ahead(&self) -> bool {
        !self.input.buffer().is_empty()
    }

    /// Takes what was read, or else reads once. None: there is no whole line yet.
    fn next(&mut self) -> Option<Event> {
        match self.take() {
            Ok(event) => event,
            Err(error) if matches!(error.kind(), Interrupted | WouldBlock) => None,
            Err(error) => {
                log(format_args!("standard input: {error}"));
                Some(Event::Closed)
            }
        }
    }

    fn take(&mut self) -> io::Result<Option<Event>> {
        let there = self.input.fill_buf()?;
        let over = there.is_empty();
        if over && self.line.is_empty() {
            return Ok(Some(Event::Closed));
        }
        // One byte for the newline, or for being too long.
        let most = self.limit.saturating_add(1);
        let room = most - most.min(self.line.len() as u64);
        let ended = if room > 0 {
            let read = there.take(room).read_until(b'\n', &mut self.line)?;
            self.input.consume(read);
            self.line.pop_if(|byte| *byte == b'\n').is_some()
        } else {
            let mut rest = there;
            let read = rest.skip_until(b'\n')?;
            let ended = there[..read].ends_with(b"\n");
            let part = &there[..read - usize::from(ended)];
            self.line
                .extend_from_slice(&part[part.len().saturating_sub(END_BYTES)..]);
            let start = usize::try_from(most).unwrap_or(usize::MAX);
            let more = (self.line.len() - start).saturating_sub(END_BYTES);
            self.line.drain(start..start + more);
            self.input.consume(read);
            ended
        };
        // The last line may come without its newline.
        if !ended && !over {
            return Ok(None);
        }
        let line = std::mem::take(&mut self.line);
        Ok(Some(match line.len() as u64 > self.limit {
            true => Event::Overlong(line),
            false => Event::Line(line),
        }))
    }
}

/// Remembers SIGINT and SIGTERM, and wakes who waits for a line; the second one ends the process at once.
fn catch_signals(mut wake: PipeWriter) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            for signal in signals.forever() {
                if signalled().is_some() {
                    std::process::exit(exit_code(signal).into());
                }
                SIGNAL.store(signal, Ordering::SeqCst);
                // A byte that stays: from now on nobody waits.
                let _ = wake.write_all(&[0]);
                thread::spawn(move || {
                    thread::sleep(SHUTDOWN_TIMEOUT);
                    std::process::exit(exit_code(signal).into());
                });
            }
        })?;
    Ok(())
}

/// The exit code of a process that a signal ended, as shells report it.
pub fn exit_code(signal: i32) -> u8 {
    128u8.saturating_add(u8::try_from(signal).unwrap_or(0))
}

/// Writes one line to the client, and its newline, at once.
pub fn write_line(line: &str) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(line.len() + 1);
    bytes.extend_from_slice(line.as_bytes());
    bytes.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&bytes)?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out a piece at each read.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let length = self.1.min(out.len());
            self.0.read(&mut out[..length])
        }
    }

    /// What comes, which is the same in pieces of every size.
    fn events(input: &[u8], limit: u64) -> Vec<Event> {
        let in_pieces = |piece| {
            let mut lines = Lines::new(Pieces(input, piece), limit);
            let mut events = Vec::new();
            while events.last() != Some(&Event::Closed) {
                events.extend(lines.next());
            }
            events
        };
        let whole = in_pieces(usize::MAX);
        for piece in [1, 2, 3, 7, END_BYTES, 8192] {
            assert_eq!(in_pieces(piece), whole, "in pieces of {piece}");
        }
        whole
    }

    #[test]
    fn a_line_of_exactly_the_limit_passes_and_of_a_longer_one_the_start_and_the_end() {
        let events = |input: &[u8]| events(input, 5);
        let line = |line: &[u8]| Event::Line(line.to_vec());
        let overlong = |line: &[u8]| Event::Overlong(line.to_vec());
        assert_eq!(
            events(b"12345\n\n123456789\nmore\n123456"),
            [
                line(b"12345"),
                line(b""),
                overlong(b"123456789"),
                line(b"more"),
                overlong(b"123456"),
                Event::Closed,
            ]
        );
        let long = [b"start", &[b' '; 100_000][..], b"end\n12345"].concat();
        let kept = [b"start ", &[b' '; END_BYTES - 3][..], b"end"].concat();
        assert_eq!(
            events(&long),
            [overlong(&kept), line(b"12345"), Event::Closed]
        );
    }

    #[test]
    fn the_last_line_needs_no_newline() {
        let lines = [&b"a\r"[..], b"b"].map(|line| Event::Line(line.to_vec()));
        assert_eq!(events(b"a\r\nb", 5)[..2], lines);
        assert_eq!(events(b"a\r\nb", 5)[2..], [Event::Closed]);
    }
}
