//! Files in memory that fail on demand, for tests, fuzzing and examples.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use super::{
    Device, ErrorCode, File, LockAction, LockLevel, OpenOptions, Result, Role, Storage, SyncMode,
};

type Bytes = Arc<Mutex<Vec<u8>>>;

/// How large a file can get, in bytes: a damaged one may ask for more than there is.
const FILE_BYTES: u64 = 64 << 20;

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Opening it.
    Open,
    /// Reading.
    Read,
    /// Writing or cutting.
    Write,
    /// Syncing.
    Sync,
    /// Measuring.
    Size,
    /// Taking a lock.
    Lock,
    /// Removing it.
    Delete,
    /// Looking for it.
    Exists,
}

/// Which deeds fail, and how.
#[derive(Debug)]
struct Fault {
    deed: Operation,
    /// How many succeed before that; negative: it has begun.
    after: AtomicI64,
    error: ErrorCode,
}

#[derive(Debug, Default)]
struct MemoryState {
    files: Mutex<BTreeMap<String, Bytes>>,
    fault: Mutex<Option<Fault>>,
    opened: Mutex<Vec<(String, Role, OpenOptions)>>,
    open: AtomicUsize,
    read_only: bool,
    lone_reader: bool,
}

/// Named files, shared by all clones.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    state: Arc<MemoryState>,
}

fn guard<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no test panics while it holds this")
}

impl Memory {
    /// A copy as it would be found after a crash now; read-only if asked for.
    pub fn after_crash(&self, read_only: bool) -> Self {
        let files = guard(&self.state.files);
        let copy = |bytes: &Bytes| Arc::new(Mutex::new(guard(bytes).clone()));
        let files = files
            .iter()
            .map(|(name, bytes)| (name.clone(), copy(bytes)))
            .collect();
        Self {
            state: Arc::new(MemoryState {
                files: Mutex::new(files),
                read_only,
                ..MemoryState::default()
            }),
        }
    }

    /// Files whose readers of a write-ahead log are told to index it in their own memory, as
    /// the host tells them where there is no `-shm`.
    #[cfg(fuzzing)]
    pub fn without_index() -> Self {
        Self {
            state: Arc::new(MemoryState {
                lone_reader: true,
                ..MemoryState::default()
            }),
        }
    }

    /// The files of the process: databases and plain files alike.
    #[cfg(fuzzing)]
    pub fn shared() -> &'static Self {
        static FILES: std::sync::OnceLock<Memory> = std::sync::OnceLock::new();
        FILES.get_or_init(Self::without_index)
    }

    /// What is in a file, if it is there.
    #[cfg(fuzzing)]
    pub fn bytes_of(&self, name: &str) -> Option<Vec<u8>> {
        let files = guard(&self.state.files);
        files.get(name).map(|bytes| guard(bytes).clone())
    }

    /// Forgets all files but these.
    #[cfg(fuzzing)]
    pub fn replace<'a>(&self, files: impl IntoIterator<Item = (&'a str, &'a [u8])>) {
        let bytes = |bytes: &[u8]| Arc::new(Mutex::new(bytes.to_vec()));
        *guard(&self.state.files) = files
            .into_iter()
            .map(|(name, content)| (name.to_owned(), bytes(content)))
            .collect();
        guard(&self.state.opened).clear();
    }

    /// Lets every `deed` after the next `after` fail with `error`.
    pub fn fail(&self, deed: Operation, after: i64, error: ErrorCode) {
        *guard(&self.state.fault) = Some(Fault {
            deed,
            after: AtomicI64::new(after),
            error,
        });
    }

    /// No more failures; answers whether there were any.
    pub fn heal(&self) -> bool {
        guard(&self.state.fault)
            .take()
            .is_some_and(|fault| fault.after.into_inner() < 0)
    }

    /// Puts a file there.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        let bytes = Arc::new(Mutex::new(bytes.to_vec()));
        guard(&self.state.files).insert(name.to_owned(), bytes);
    }

    /// What is in a file, if it is there.
    pub fn get(&self, name: &str) -> Option<Vec<u8>> {
        guard(&self.state.files)
            .get(name)
            .map(|bytes| guard(bytes).clone())
    }

    /// The size of a file, if it is there.
    pub fn size_of(&self, name: &str) -> Option<usize> {
        guard(&self.state.files)
            .get(name)
            .map(|bytes| guard(bytes).len())
    }

    /// Everything that was opened so far.
    pub fn opened(&self) -> Vec<(String, Role, OpenOptions)> {
        guard(&self.state.opened).clone()
    }

    /// How many files are open.
    pub fn open_files(&self) -> usize {
        self.state.open.load(Ordering::SeqCst)
    }
}

impl MemoryState {
    fn attempt(&self, deed: Operation) -> Result<()> {
        match &*guard(&self.fault) {
            Some(fault)
                if fault.deed == deed && fault.after.fetch_sub(1, Ordering::SeqCst) <= 0 =>
            {
                Err(fault.error)
            }
            _ => Ok(()),
        }
    }
}

impl Storage for Memory {
    fn open(&self, name: &str, role: Role, options: OpenOptions) -> Result<Box<dyn File>> {
        self.state.attempt(Operation::Open)?;
        if name.contains("..") {
            return Err(ErrorCode::Denied);
        }
        guard(&self.state.opened).push((name.to_owned(), role, options));
        let mut files = guard(&self.state.files);
        if role == Role::Staged {
            if options.exclusive && files.contains_key(name) {
                return Err(ErrorCode::Exists);
            }
            self.state.open.fetch_add(1, Ordering::SeqCst);
            return Ok(Box::new(MemoryFile {
                bytes: Bytes::default(),
                state: self.state.clone(),
                read_only: false,
                staged: Some(name.to_owned()),
            }));
        }
        let bytes = match files.get(name) {
            _ if name.is_empty() => Bytes::default(),
            Some(bytes) => bytes.clone(),
            None if options.create && !self.state.read_only => {
                files.entry(name.to_owned()).or_default().clone()
            }
            // As the host does for a reader of a missing log.
            None if role == Role::Wal => Bytes::default(),
            None => return Err(ErrorCode::NotFound),
        };
        self.state.open.fetch_add(1, Ordering::SeqCst);
        let read_only = !name.is_empty() && (self.state.read_only || !options.read_write);
        Ok(Box::new(MemoryFile {
            bytes,
            state: self.state.clone(),
            read_only,
            staged: None,
        }))
    }

    fn delete(&self, name: &str, _durable: bool) -> Result<()> {
        self.state.attempt(Operation::Delete)?;
        if self.state.read_only {
            return Err(ErrorCode::ReadOnly);
        }
        guard(&self.state.files)
            .remove(name)
            .map(drop)
            .ok_or(ErrorCode::NotFound)
    }

    fn exists(&self, name: &str, _writable: bool) -> Result<bool> {
        self.state.attempt(Operation::Exists)?;
        Ok(self.size_of(name).is_some_and(|size| size > 0))
    }
}

struct MemoryFile {
    bytes: Bytes,
    state: Arc<MemoryState>,
    read_only: bool,
    /// The name that it gets when it is published.
    staged: Option<String>,
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        self.state.open.fetch_sub(1, Ordering::SeqCst);
    }
}

impl MemoryFile {
    /// Lets `change` alter the file, which reaches up to `end` then.
    fn change(&mut self, end: u64, change: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        self.state.attempt(Operation::Write)?;
        if self.read_only {
            return Err(ErrorCode::ReadOnly);
        }
        if end > FILE_BYTES {
            return Err(ErrorCode::Full);
        }
        change(&mut guard(&self.bytes));
        Ok(())
    }
}

impl File for MemoryFile {
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        self.state.attempt(Operation::Read)?;
        let bytes = guard(&self.bytes);
        let rest = bytes.get(offset as usize..).unwrap_or_default();
        let there = rest.len().min(buffer.len());
        buffer[..there].copy_from_slice(&rest[..there]);
        Ok(there)
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> Result<()> {
        let end = offset.saturating_add(data.len() as u64);
        self.change(end, |bytes| {
            let (from, to) = (offset as usize, offset as usize + data.len());
            if bytes.len() < to {
                bytes.resize(to, 0);
            }
            bytes[from..to].copy_from_slice(data);
        })
    }

    fn truncate(&mut self, size: u64) -> Result<()> {
        self.change(size, |bytes| bytes.resize(size as usize, 0))
    }

    fn sync(&mut self, _mode: SyncMode) -> Result<()> {
        self.state.attempt(Operation::Sync)
    }

    fn size(&mut self) -> Result<u64> {
        self.state.attempt(Operation::Size)?;
        Ok(guard(&self.bytes).len() as u64)
    }

    fn lock(&mut self, _level: LockLevel) -> Result<()> {
        self.state.attempt(Operation::Lock)
    }

    fn unlock(&mut self, _level: LockLevel) -> Result<()> {
        Ok(())
    }

    fn check_reserved(&mut self) -> Result<bool> {
        Ok(false)
    }

    fn device(&mut self) -> Device {
        Device {
            sector_size: 4096,
            characteristics: 0,
            shared_memory: self.state.lone_reader,
            direct_io: false,
        }
    }

    fn is_read_only(&self) -> bool {
        self.read_only
    }

    fn publish(&mut self, replace: bool) -> Result<()> {
        let name = self.staged.clone().ok_or(ErrorCode::Invalid)?;
        let mut files = guard(&self.state.files);
        if files.contains_key(&name) && !replace {
            return Err(ErrorCode::Exists);
        }
        files.insert(name, self.bytes.clone());
        self.staged = None;
        self.read_only = true;
        Ok(())
    }

    fn shm_map(&mut self, _region: u32, _buffer: &mut [u8], _extend: bool) -> Result<bool> {
        Err(match self.state.lone_reader {
            true => ErrorCode::CannotInit,
            false => ErrorCode::Unsupported,
        })
    }

    fn shm_lock(&mut self, _slot: u32, _count: u32, _action: LockAction) -> Result<()> {
        match self.state.lone_reader {
            true => Ok(()),
            false => Err(ErrorCode::Unsupported),
        }
    }

    fn shm_barrier(&mut self) {}

    fn shm_unmap(&mut self, _delete: bool) -> Result<()> {
        Ok(())
    }
}
