//! Standard input and output as files, for a command line that names them `-`.

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::{Device, ErrorCode, Handle, Result};
use crate::terminal::Escaper;

/// How much is read at once, in bytes, and how many such pieces may wait.
const PIECE: usize = 64 << 10;
const PIECES: usize = 4;

/// How long a read waits for input, so that the time limit of the call holds.
const PATIENCE: Duration = Duration::from_millis(20);

/// What is read once, however often it is opened: what one handle leaves, the next one gets.
struct Source {
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: Vec<u8>,
    /// How much of the piece was read.
    at: usize,
    ended: bool,
}

/// That of this process.
static STANDARD_INPUT: LazyLock<Arc<Mutex<Source>>> = LazyLock::new(|| Source::of(io::stdin()));

impl Source {
    /// Reads `input` on a thread, which ends with it or with the process.
    fn of(input: impl Read + Send + 'static) -> Arc<Mutex<Self>> {
        let (sender, pieces) = sync_channel(PIECES);
        thread::spawn(move || read_pieces(input, &sender));
        Arc::new(Mutex::new(Self {
            pieces,
            piece: Vec::new(),
            at: 0,
            ended: false,
        }))
    }

    /// Waits for more, if all there was is read.
    fn fill(&mut self) -> Result<()> {
        if self.at < self.piece.len() || self.ended {
            return Ok(());
        }
        match self.pieces.recv_timeout(PATIENCE) {
            Ok(Ok(piece)) => {
                self.piece = piece;
                self.at = 0;
                Ok(())
            }
            Ok(Err(_)) => Err(ErrorCode::Io),
            Err(RecvTimeoutError::Timeout) => Err(ErrorCode::Busy),
            Err(RecvTimeoutError::Disconnected) => {
                self.ended = true;
                Ok(())
            }
        }
    }

    fn take(&mut self, buffer: &mut [u8]) -> Result<usize> {
        self.fill()?;
        let rest = &self.piece[self.at..];
        let there = rest.len().min(buffer.len());
        buffer[..there].copy_from_slice(&rest[..there]);
        self.at += there;
        Ok(there)
    }
}

fn read_pieces(mut input: impl Read, sender: &SyncSender<io::Result<Vec<u8>>>) {
    loop {
        let mut piece = vec![0; PIECE];
        let read = match input.read(&mut piece) {
            Ok(0) => return,
            Ok(length) => {
                piece.truncate(length);
                Ok(piece)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let failed = read.is_err();
        if sender.send(read).is_err() || failed {
            return;
        }
    }
}

/// Standard input, byte after byte.
pub struct Input {
    source: Arc<Mutex<Source>>,
    offset: u64,
}

impl Input {
    /// Reads from where the last one of these stopped.
    pub fn open() -> Self {
        Self::on(&STANDARD_INPUT)
    }

    fn on(source: &Arc<Mutex<Source>>) -> Self {
        Self {
            source: source.clone(),
            offset: 0,
        }
    }
}

impl Handle for Input {
    /// As much as there is; nothing at the end, and busy while there is nothing yet.
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        if offset != self.offset {
            return Err(ErrorCode::Invalid);
        }
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        let there = source.take(buffer)?;
        self.offset += there as u64;
        Ok(there)
    }

    fn write(&mut self, _offset: u64, _data: &[u8]) -> Result<()> {
        Err(ErrorCode::ReadOnly)
    }

    fn truncate(&mut self, _size: u64) -> Result<()> {
        Err(ErrorCode::ReadOnly)
    }

    /// Unknown before the end.
    fn size(&mut self) -> Result<u64> {
        Err(ErrorCode::Invalid)
    }

    fn device(&mut self) -> Device {
        Device::PRIVATE
    }

    fn is_read_only(&self) -> bool {
        true
    }
}

/// Standard output, byte after byte; a terminal gets control characters escaped.
pub struct Output {
    offset: u64,
    escaper: Escaper,
    /// Set when its reader has gone.
    closed: Arc<AtomicBool>,
}

impl Output {
    /// Writes nothing yet.
    pub fn open(closed: Arc<AtomicBool>) -> Self {
        Self {
            offset: 0,
            escaper: Escaper::for_stream(&io::stdout()),
            closed,
        }
    }

    fn check(&self, done: io::Result<()>) -> Result<()> {
        Ok(done.inspect_err(|error| {
            if error.kind() == io::ErrorKind::BrokenPipe {
                self.closed.store(true, Ordering::Relaxed);
            }
        })?)
    }
}

impl Handle for Output {
    fn read(&mut self, _offset: u64, _buffer: &mut [u8]) -> Result<usize> {
        Err(ErrorCode::Invalid)
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> Result<()> {
        if offset != self.offset {
            return Err(ErrorCode::Invalid);
        }
        let shown = self.escaper.escape(data);
        self.check(io::stdout().lock().write_all(&shown))?;
        self.offset += data.len() as u64;
        Ok(())
    }

    fn truncate(&mut self, _size: u64) -> Result<()> {
        Err(ErrorCode::Invalid)
    }

    fn size(&mut self) -> Result<u64> {
        Ok(self.offset)
    }

    fn device(&mut self) -> Device {
        Device::PRIVATE
    }

    fn publish(&mut self, _replace: bool) -> Result<()> {
        self.check(io::stdout().lock().flush())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_handle_leaves_the_next_one_gets() {
        let source = Source::of(&b"one two three"[..]);
        let read = |input: &mut Input, length| loop {
            let mut data = vec![0; length];
            match input.read(input.offset, &mut data) {
                Err(ErrorCode::Busy) => {}
                read => {
                    data.truncate(read.expect("input"));
                    return data;
                }
            }
        };
        for expected in [&b"one "[..], b"two "] {
            assert_eq!(read(&mut Input::on(&source), 4), expected);
        }
        let mut last = Input::on(&source);
        assert_eq!(read(&mut last, 100), b"three");
        assert_eq!(read(&mut last, 100), b"");
        assert_eq!(
            read(&mut Input::on(&source), 100),
            b"",
            "the end stays the end"
        );
    }

    #[test]
    fn input_is_read_from_its_start_only() {
        let mut input = Input::on(&Source::of(&b"text"[..]));
        assert_eq!(input.read(1, &mut [0; 3]), Err(ErrorCode::Invalid));
    }
}
