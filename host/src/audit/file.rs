//! The file of the audit. Several servers append to one, each a whole line at a time.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::fs::{FlockOperation, flock};

/// How many files are kept beside the one that is written.
const KEPT: u32 = 5;
/// How long a server may write to a file that another one has rotated.
const LOOK: Duration = Duration::from_millis(10);
/// How often a server asks whether it may rotate, a millisecond apart, while another one does.
const ATTEMPTS: u32 = 5;

/// A file that is rotated by its size.
pub struct AuditFile {
    path: PathBuf,
    file: File,
    /// The size in bytes beyond which it is rotated; none for what is no ordinary file.
    limit: Option<u64>,
    /// Its size, when last looked at, and what was written since; that alone; and when that was.
    size: u64,
    unseen: u64,
    looked: Instant,
    /// Whether a line was begun and not ended.
    torn: bool,
}

impl AuditFile {
    /// Opens the file, or makes it, readable by its owner alone.
    ///
    /// # Errors
    ///
    /// If it cannot be opened for appending.
    pub fn open(path: &Path, limit: u64) -> Result<Self> {
        let named = || format!("cannot open the audit, {}", path.display());
        let file = open(path).with_context(named)?;
        let metadata = file.metadata().with_context(named)?;
        Ok(Self {
            // A link stays where it is, and what it leads to is rotated.
            path: path.canonicalize().with_context(named)?,
            file,
            limit: metadata.is_file().then_some(limit),
            size: metadata.len(),
            unseen: 0,
            looked: Instant::now(),
            torn: false,
        })
    }

    /// Appends a line, its newline included.
    ///
    /// # Errors
    ///
    /// Those of the system. What was lost stays lost.
    pub fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if let Some(limit) = self.limit {
            let more = line.len() as u64;
            let due = self.unseen > limit / 16 || self.looked.elapsed() > LOOK;
            if due || self.size + more > limit {
                self.look()?;
                if self.size > 0 && self.size + more > limit {
                    self.rotate()?;
                }
            }
        }
        if self.torn {
            self.file.write_all(b"\n")?;
            self.torn = false;
        }
        // In one piece: the system puts it behind whatever others append.
        let written = self.file.write(line)?;
        self.size += written as u64;
        self.unseen += written as u64;
        if written == line.len() {
            return Ok(());
        }
        self.torn = true;
        self.file.write_all(&line[written..])?;
        self.torn = false;
        Ok(())
    }

    /// Finds out how long the file is, and opens the new one if it was rotated.
    fn look(&mut self) -> io::Result<()> {
        if !self.is_there()? {
            self.file = open(&self.path)?;
            self.torn = false;
        }
        self.size = self.file.metadata()?.len();
        self.unseen = 0;
        self.looked = Instant::now();
        Ok(())
    }

    /// Begins a new file, unless another server has. One that would have to wait for long goes on
    /// with the file as it is.
    fn rotate(&mut self) -> io::Result<()> {
        let lock = || flock(&self.file, FlockOperation::NonBlockingLockExclusive).is_ok();
        let mut attempts = 0;
        while !lock() {
            attempts += 1;
            if attempts == ATTEMPTS {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(1));
        }
        let old = self.file.try_clone()?;
        let moved = match self.is_there()? {
            true => self.renumber(),
            false => Ok(()),
        };
        let looked = self.look();
        flock(&old, FlockOperation::Unlock)?;
        moved.and(looked)
    }

    /// Moves each file to the next number.
    fn renumber(&self) -> io::Result<()> {
        for number in (0..KEPT).rev() {
            match fs::rename(self.numbered(number), self.numbered(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether the open file still has its name.
    fn is_there(&self) -> io::Result<bool> {
        let ours = self.file.metadata()?;
        let found = fs::metadata(&self.path);
        Ok(found.is_ok_and(|found| (found.dev(), found.ino()) == (ours.dev(), ours.ino())))
    }

    fn numbered(&self, number: u32) -> PathBuf {
        if number == 0 {
            return self.path.clone();
        }
        let mut path = self.path.as_os_str().to_owned();
        path.push(format!(".{number}"));
        path.into()
    }
}

/// Never waits: not for whoever would read a pipe either.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
}
