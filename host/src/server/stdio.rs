//! The client's lines in, bounded before anything is allocated for them, and ours out.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::queue::Line;
use crate::log::log;

/// What comes from the client's side.
#[derive(Debug)]
pub enum Event {
    /// A line without its newline.
    Line(Line),
    /// The start of a line that is longer than the budget, and its last bytes.
    Overlong(Line),
    /// The client closed its end.
    Closed,
    /// The operating system asks the process to end, with this signal.
    Signal(i32),
}

/// Lines that may be under way between the reader and the server. The reader
/// waits beyond it, then the pipe fills, then the client waits.
const IN_FLIGHT: usize = 16;

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

/// Reads standard input on a thread of its own. `limit` is the longest line in
/// bytes, its newline not counted.
pub fn listen(limit: u64) -> io::Result<Receiver<Event>> {
    let (to, events) = sync_channel(IN_FLIGHT);
    catch_signals(to.clone())?;
    thread::Builder::new()
        .name("stdin".into())
        .spawn(move || read_lines(BufReader::new(io::stdin()), limit, &to))?;
    Ok(events)
}

fn read_lines(mut from: impl BufRead, limit: u64, to: &SyncSender<Event>) {
    loop {
        let mut line = Line::new();
        // One byte for the newline, or for being too long.
        let read = from
            .by_ref()
            .take(limit.saturating_add(1))
            .read_until(b'\n', &mut line);
        let event = match read {
            Ok(0) => Event::Closed,
            Ok(_) if line.last() == Some(&b'\n') => {
                line.pop();
                Event::Line(line)
            }
            Ok(_) if line.len() as u64 > limit => {
                if let Err(error) = skip_rest(&mut from, &mut line) {
                    log(format_args!("standard input: {error}"));
                }
                Event::Overlong(line)
            }
            // The last line may come without its newline.
            Ok(_) => Event::Line(line),
            Err(error) => {
                log(format_args!("standard input: {error}"));
                Event::Closed
            }
        };
        let over = matches!(event, Event::Closed);
        if to.send(event).is_err() || over {
            return;
        }
    }
}

/// Skips the rest of a line, and adds no more than its last bytes to `line`.
fn skip_rest(from: &mut impl BufRead, line: &mut Line) -> io::Result<()> {
    let start = line.len();
    loop {
        let buffer = match from.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            buffer => buffer?,
        };
        let end = buffer.iter().position(|&byte| byte == b'\n');
        let part = &buffer[..end.unwrap_or(buffer.len())];
        line.extend_from_slice(&part[part.len().saturating_sub(END_BYTES)..]);
        let more = (line.len() - start).saturating_sub(END_BYTES);
        line.drain(start..start + more);
        let over = end.is_some() || buffer.is_empty();
        let used = part.len() + usize::from(end.is_some());
        from.consume(used);
        if over {
            return Ok(());
        }
    }
}

/// Passes SIGINT and SIGTERM on; the second one ends the process at once.
fn catch_signals(to: SyncSender<Event>) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            for signal in signals.forever() {
                if signalled().is_some() {
                    std::process::exit(exit_code(signal).into());
                }
                SIGNAL.store(signal, Ordering::SeqCst);
                // To wake whoever waits for a line. Where the queue is full nobody does.
                let _ = to.try_send(Event::Signal(signal));
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

    fn events(input: &[u8], limit: u64) -> Vec<Event> {
        let (to, events) = sync_channel(100);
        read_lines(input, limit, &to);
        drop(to);
        events.iter().collect()
    }

    #[test]
    fn a_line_of_exactly_the_limit_passes_and_of_a_longer_one_the_start_and_the_end() {
        let events = events(b"12345\n\n123456789\nmore\n123456", 5);
        assert!(matches!(&events[0], Event::Line(line) if line == b"12345"));
        assert!(matches!(&events[1], Event::Line(line) if line.is_empty()));
        assert!(matches!(&events[2], Event::Overlong(line) if line == b"123456789"));
        assert!(matches!(&events[3], Event::Line(line) if line == b"more"));
        assert!(matches!(&events[4], Event::Overlong(line) if line == b"123456"));
        assert!(matches!(&events[5], Event::Closed));
        assert_eq!(events.len(), 6);
        let long = [b"start", &[b' '; 100_000][..], b"end\n12345"].concat();
        // As pipes bring it: in pieces, the last of which may be short.
        for piece in [7, END_BYTES, 8192] {
            let (to, events) = sync_channel(100);
            read_lines(BufReader::with_capacity(piece, &long[..]), 5, &to);
            let Ok(Event::Overlong(kept)) = events.try_recv() else {
                panic!("a line that is too long");
            };
            assert_eq!(kept.len(), 6 + END_BYTES, "{piece}");
            assert!(
                kept.starts_with(b"start ") && kept.ends_with(b" end"),
                "{piece}"
            );
            assert!(matches!(events.try_recv(), Ok(Event::Line(line)) if line == b"12345"));
        }
    }

    #[test]
    fn the_last_line_needs_no_newline() {
        let events = events(b"a\r\nb", 5);
        assert!(matches!(&events[0], Event::Line(line) if line == b"a\r"));
        assert!(matches!(&events[1], Event::Line(line) if line == b"b"));
        assert!(matches!(&events[2], Event::Closed));
    }
}
