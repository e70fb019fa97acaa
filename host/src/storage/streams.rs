//! Standard input and output as files, for a person's command that names them `-`.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use super::{Device, ErrorCode, Handle, Result};

/// How much is read at once, in bytes, and how many such pieces may wait.
const PIECE: usize = 64 << 10;
const PIECES: usize = 4;

/// How long a read waits for input, so that the budget of time is kept.
const PATIENCE: Duration = Duration::from_millis(20);

/// Standard input, from its start and byte after byte.
pub struct Input {
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: Vec<u8>,
    /// How much of the piece was read.
    at: usize,
    offset: u64,
    ended: bool,
}

impl Input {
    /// Starts to read. What one of these has read is lost to the next.
    pub fn open() -> Self {
        let (sender, pieces) = sync_channel(PIECES);
        // It ends with the process, or when nobody listens to what it has read.
        thread::spawn(move || listen(io::stdin().lock(), &sender));
        Self {
            pieces,
            piece: Vec::new(),
            at: 0,
            offset: 0,
            ended: false,
        }
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
}

fn listen(mut input: impl Read, sender: &SyncSender<io::Result<Vec<u8>>>) {
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

impl Handle for Input {
    /// As much as there is; nothing at the end, and busy while there is nothing yet.
    fn read(&mut self, offset: u64, length: usize) -> Result<Vec<u8>> {
        if offset != self.offset {
            return Err(ErrorCode::Invalid);
        }
        self.fill()?;
        let rest = &self.piece[self.at..];
        let data = rest[..rest.len().min(length)].to_vec();
        self.at += data.len();
        self.offset += data.len() as u64;
        Ok(data)
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

/// Standard output, byte after byte.
pub struct Output {
    offset: u64,
    /// Set when whoever reads it has gone.
    closed: Arc<AtomicBool>,
}

impl Output {
    /// Writes nothing yet.
    pub fn open(closed: Arc<AtomicBool>) -> Self {
        Self { offset: 0, closed }
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
    fn read(&mut self, _offset: u64, _length: usize) -> Result<Vec<u8>> {
        Err(ErrorCode::Invalid)
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> Result<()> {
        if offset != self.offset {
            return Err(ErrorCode::Invalid);
        }
        self.check(io::stdout().lock().write_all(data))?;
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
