//! Plain files, as streams: [`Reader`] for an existing one, [`Writer`] for a new one.
//!
//! A name is what the owner granted: a path below the root, or what the
//! command names, `-` being standard input and output. What a [`Writer`] makes
//! has no name until [`Writer::publish`], and is gone if that is never called.

use std::fmt;
use std::io::{self, BufRead, Read, Write};
use std::sync::Arc;

use super::{ErrorCode, File, OpenOptions, Role, Storage};
use crate::answer::failure::{Failure, Status, interrupted};
use crate::host::interrupt::InterruptCheck;
use crate::settings::EngineSettings;

/// The name of standard input, and of standard output.
pub(crate) const STREAM: &str = "-";

/// What a private file is called in sentences.
const SPOOL: &str = "A temporary copy";

/// How much is read or written at once, in bytes.
const PIECE: usize = 64 << 10;

/// How long to wait for a standard input that has nothing yet, in milliseconds.
const WAIT_MS: u32 = 50;

/// The plain files of a session.
#[derive(Clone)]
pub struct Files {
    settings: Arc<EngineSettings>,
    interrupt: Arc<InterruptCheck>,
    storage: &'static dyn Storage,
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Files").finish_non_exhaustive()
    }
}

impl Files {
    /// The files of `storage`.
    pub fn new(
        settings: Arc<EngineSettings>,
        interrupt: Arc<InterruptCheck>,
        storage: &'static dyn Storage,
    ) -> Self {
        Self {
            settings,
            interrupt,
            storage,
        }
    }

    /// Opens an existing file.
    ///
    /// # Errors
    ///
    /// `not_found` if it is not there or not granted, and whatever the host refuses.
    pub fn read(&self, name: &str) -> Result<Reader, Failure> {
        let file = self
            .open(name, Role::Plain, OpenOptions::default())
            .map_err(|code| self.refusal(name, Verb::Read, code))?;
        Ok(Reader {
            file,
            name: name.to_owned(),
            files: self.clone(),
            offset: 0,
            buffer: vec![0; PIECE],
            at: 0,
            filled: 0,
            ended: false,
        })
    }

    /// Starts a file. What has the name already is replaced only if `replace` says so.
    ///
    /// # Errors
    ///
    /// `invalid_state` if the name is taken, `readonly`, and whatever the host refuses.
    pub fn write(&self, name: &str, replace: bool) -> Result<Writer, Failure> {
        self.may_write(name)?;
        let options = OpenOptions {
            read_write: true,
            create: true,
            exclusive: !replace,
            ..OpenOptions::default()
        };
        let file = self
            .open(name, Role::Staged, options)
            .map_err(|code| self.refusal(name, Verb::Write, code))?;
        Ok(Writer {
            file,
            name: name.to_owned(),
            files: self.clone(),
            replace,
            offset: 0,
            buffer: Vec::with_capacity(PIECE),
        })
    }

    /// A private file that is gone when it is dropped.
    ///
    /// # Errors
    ///
    /// Whatever the host refuses.
    pub fn spool(&self) -> Result<Spool, Failure> {
        let options = OpenOptions {
            read_write: true,
            create: true,
            delete_on_close: true,
            ..OpenOptions::default()
        };
        let storage = self.storage;
        let file = storage
            .open("", Role::Temporary, options)
            .map_err(|code| self.refusal(SPOOL, Verb::Write, code))?;
        Ok(Spool {
            writer: Some(Writer {
                file,
                name: SPOOL.to_owned(),
                files: self.clone(),
                replace: false,
                offset: 0,
                buffer: Vec::with_capacity(PIECE),
            }),
            reader: None,
        })
    }

    /// Refuses to make a file where nothing may be written. Standard output is no file.
    ///
    /// # Errors
    ///
    /// `readonly`.
    pub fn may_write(&self, name: &str) -> Result<(), Failure> {
        if self.settings.readonly && name != STREAM {
            return Err(Failure::new(
                Status::Readonly,
                format!(
                    "{name} cannot be created: --readonly refuses every write, including new \
                     files."
                ),
            )
            .hint("Leave the file name out to get the text in the answer."));
        }
        Ok(())
    }

    fn open(
        &self,
        name: &str,
        role: Role,
        options: OpenOptions,
    ) -> Result<Box<dyn File>, ErrorCode> {
        // An empty name would be a temporary file.
        if name.is_empty() {
            return Err(ErrorCode::NotFound);
        }
        self.storage.open(name, role, options)
    }

    /// The failure for what the host refused.
    pub fn refusal(&self, name: &str, verb: Verb, code: ErrorCode) -> Failure {
        let done = verb.done();
        let limits = &self.settings.limits;
        match code {
            ErrorCode::Denied if !self.settings.root => Failure::new(
                Status::Unsupported,
                format!("{name} cannot be {done}: this session has no access to files."),
            )
            .hint("Only a server started with --root FOLDER can read and create files below it."),
            ErrorCode::Denied => Failure::new(
                Status::NotFound,
                format!(
                    "{name} cannot be {done}: it is not an ordinary file below the root, or it \
                     belongs to a database in use."
                ),
            )
            .hint(
                "Give a relative path, such as \"data/july.csv\": no \".\" or \"..\", no symbolic or hard link, \
                 device or pipe, no -journal, -wal or -shm.",
            ),
            ErrorCode::NotFound => match verb {
                Verb::Read => Failure::new(Status::NotFound, format!("There is no file {name}."))
                    .hint("Check the path; it is relative to the root."),
                Verb::Write => Failure::new(
                    Status::NotFound,
                    format!("{name} cannot be created: its folder does not exist."),
                ),
            },
            ErrorCode::Exists => Failure::new(
                Status::InvalidState,
                format!("{name} exists already and was not changed."),
            )
            .hint("Choose another name, or use overwrite if the command has that option."),
            ErrorCode::ReadOnly => Failure::new(
                Status::Readonly,
                format!("{name} cannot be {done}: the permissions of the file or its folder \
                         forbid it."),
            ),
            ErrorCode::Full => Failure::new(
                Status::Full,
                format!(
                    "No space is left: the disk or the budget of {} bytes for growth of files \
                     (--disk) is exhausted; {name} was not created.",
                    limits.disk_bytes
                ),
            )
            .hint("Write less at once: fewer rows, columns or tables."),
            ErrorCode::Busy => Failure::new(
                Status::Busy,
                format!("{name} cannot be {done}: it is a database in use, or the journal of \
                         another database lies beside it."),
            )
            .hint("Choose another name, or try again when no process uses it."),
            ErrorCode::CannotInit
            | ErrorCode::Unsupported
            | ErrorCode::Invalid
            | ErrorCode::Io => Failure::new(
                Status::Io,
                format!("The operating system reported a failure on {name}; it was not {done}."),
            ),
        }
    }

    /// The failure for an error that a [`Reader`] or a [`Writer`] gave.
    pub fn failure(&self, error: &io::Error) -> Failure {
        error
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<Failure>())
            .cloned()
            .unwrap_or_else(|| Failure::new(Status::Io, format!("{error}.")))
    }

    /// Asks the host whether to continue.
    fn tick(&self) -> io::Result<()> {
        if self.interrupt.tick() {
            return Err(self.halted());
        }
        Ok(())
    }

    fn halted(&self) -> io::Error {
        io::Error::other(interrupted(&self.interrupt.halted()))
    }

    fn error(&self, name: &str, verb: Verb, code: ErrorCode) -> io::Error {
        io::Error::other(self.refusal(name, verb, code))
    }
}

/// What was to be done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// To read it.
    Read,
    /// To make it.
    Write,
}

impl Verb {
    fn done(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "created",
        }
    }
}

/// A file that is read from its start to its end. [`Files::failure`] explains its errors.
pub struct Reader {
    file: Box<dyn File>,
    name: String,
    files: Files,
    /// Where the next piece starts.
    offset: u64,
    buffer: Vec<u8>,
    at: usize,
    filled: usize,
    ended: bool,
}

impl Reader {
    /// How many bytes were handed out.
    pub fn position(&self) -> u64 {
        self.offset - (self.filled - self.at) as u64
    }

    /// The size in bytes, if it is known before the end.
    pub fn size(&mut self) -> Option<u64> {
        self.file.size().ok()
    }

    fn refill(&mut self) -> io::Result<()> {
        let mut waited = 0;
        loop {
            self.files.tick()?;
            match self.file.read(self.offset, &mut self.buffer) {
                Ok(length) => {
                    self.at = 0;
                    self.filled = length;
                    self.offset += length as u64;
                    self.ended = length == 0;
                    return Ok(());
                }
                // Only standard input; what there is of time is the call's budget.
                Err(ErrorCode::Busy) => {
                    if !self.files.interrupt.wait(&mut waited, u32::MAX) {
                        return Err(self.files.halted());
                    }
                    waited = waited.min(WAIT_MS);
                }
                Err(code) => return Err(self.files.error(&self.name, Verb::Read, code)),
            }
        }
    }
}

impl Read for Reader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let there = self.fill_buf()?;
        let length = there.len().min(out.len());
        out[..length].copy_from_slice(&there[..length]);
        self.consume(length);
        Ok(length)
    }
}

impl BufRead for Reader {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at >= self.filled && !self.ended {
            self.refill()?;
        }
        Ok(&self.buffer[self.at..self.filled])
    }

    fn consume(&mut self, length: usize) {
        self.at = (self.at + length).min(self.filled);
    }
}

/// A file that is being created. [`Files::failure`] explains its errors.
pub struct Writer {
    file: Box<dyn File>,
    name: String,
    files: Files,
    replace: bool,
    offset: u64,
    buffer: Vec<u8>,
}

impl Writer {
    /// How many bytes were written.
    pub fn position(&self) -> u64 {
        self.offset + self.buffer.len() as u64
    }

    /// Gives the file its name, all of it at once. What [`Files::write`] said about
    /// replacing holds for what has come to be there since, too.
    ///
    /// # Errors
    ///
    /// As for [`Files::write`]; the file is gone then.
    pub fn publish(mut self) -> io::Result<()> {
        self.push()?;
        self.file
            .publish(self.replace)
            .map_err(|code| self.files.error(&self.name, Verb::Write, code))
    }

    fn push(&mut self) -> io::Result<()> {
        self.files.tick()?;
        self.file
            .write(self.offset, &self.buffer)
            .map_err(|code| self.files.error(&self.name, Verb::Write, code))?;
        self.offset += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

impl Write for Writer {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if self.buffer.len() >= PIECE {
            self.push()?;
        }
        let length = data.len().min(PIECE - self.buffer.len());
        self.buffer.extend_from_slice(&data[..length]);
        Ok(length)
    }

    fn write_all(&mut self, mut data: &[u8]) -> io::Result<()> {
        while data.len() > PIECE - self.buffer.len() {
            let written = self.write(data)?;
            data = &data[written..];
        }
        self.buffer.extend_from_slice(data);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.push()
    }
}

/// A private file: written, then read from its start.
pub struct Spool {
    writer: Option<Writer>,
    reader: Option<Reader>,
}

impl Spool {
    /// Reads it from its start. What was written is all there is from now on.
    ///
    /// # Errors
    ///
    /// Whatever the host refuses.
    pub fn read(&mut self) -> io::Result<&mut Reader> {
        if let Some(mut writer) = self.writer.take() {
            writer.push()?;
            self.reader = Some(Reader {
                file: writer.file,
                name: writer.name,
                files: writer.files,
                offset: 0,
                buffer: vec![0; PIECE],
                at: 0,
                filled: 0,
                ended: false,
            });
        }
        let reader = self.reader.as_mut().ok_or(io::ErrorKind::NotFound)?;
        (reader.offset, reader.at, reader.filled, reader.ended) = (0, 0, 0, false);
        Ok(reader)
    }
}

impl Write for Spool {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let writer = self.writer.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        writer.write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.as_mut().map_or(Ok(()), Writer::flush)
    }
}

#[cfg(test)]
mod tests;
