//! What was done in a client's thread before, for this server's principal.
//!
//! Entries are opaque bytes of the guest's, which names a thread and never a principal. They are held
//! in memory, and written to the [`store`] by a thread of its own: a call waits for the store only to
//! learn of other servers' entries, and never for more than [`PATIENCE`]. Whatever is wrong with the
//! store is logged once, and this server's own entries are remembered without it.

mod store;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use uuid::Uuid;

use crate::log::log;

pub use self::store::{Entry, Store, Thread};

/// How many entries of a thread are kept: the last ones.
pub const KEPT: usize = 20;
/// The longest entry, in bytes.
pub const ENTRY_BYTES: usize = 4 << 10;
/// The longest id of a thread, in bytes.
pub const NAME_BYTES: usize = 256;

/// The namespace of principals: theirs are the UUIDs of version 5 in it.
const NAMESPACE: Uuid = Uuid::from_u128(0x81fa_4dbc_d1f3_43bb_9658_6ab4_29e7_0fc2);

/// How long a call may wait for the store.
const PATIENCE: Duration = Duration::from_millis(15);
/// How long what was read from the store is taken for what it holds.
const FRESH: Duration = Duration::from_millis(100);
/// The least time between two transactions that nobody waits for.
const PACE: Duration = Duration::from_millis(50);
/// How long nobody waits for a store, and nothing is tried, after the first failure; it doubles with
/// each.
const BACK_OFF: Duration = Duration::from_secs(1);
/// The longest that becomes.
const LONGEST_BACK_OFF: Duration = Duration::from_secs(64);
/// How often threads expire.
const EXPIRY: Duration = Duration::from_secs(3600);
/// How many threads are held in memory.
const HELD: usize = 64;
/// How long the end of the process waits for what is not yet written.
const FLUSH: Duration = Duration::from_millis(200);

/// The principal's key in a store: a UUID of version 5.
pub fn principal(name: &str) -> Uuid {
    Uuid::new_v5(&NAMESPACE, name.as_bytes())
}

/// Where threads are remembered, and whose.
#[derive(Clone, Debug)]
pub struct Options {
    /// The store.
    pub file: PathBuf,
    /// Whose threads these are.
    pub principal: Uuid,
    /// For how long a thread is kept that is not used.
    pub age: Duration,
}

/// The threads of one principal.
pub struct Threads {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
}

/// When to try again what has failed: later each time.
#[derive(Default)]
struct BackOff {
    until: Option<Instant>,
    failures: u32,
}

impl BackOff {
    fn is_over(&self) -> bool {
        self.until.is_none_or(|until| until <= Instant::now())
    }

    fn fail(&mut self) {
        let time = BACK_OFF.saturating_mul(1 << self.failures.min(16));
        self.until = Some(Instant::now() + time.min(LONGEST_BACK_OFF));
        self.failures += 1;
    }
}

/// What an instance of the guest knows of a thread. It starts with nothing.
#[derive(Debug, Default)]
pub struct Known(Option<(String, u64)>);

struct Shared {
    state: Mutex<State>,
    /// There is something for the writer to do.
    work: Condvar,
    /// The writer has done something.
    done: Condvar,
}

#[derive(Default)]
struct State {
    rings: HashMap<String, Ring>,
    /// When the last entry was made, in microseconds since 1970.
    clock: i64,
    /// Numbers each use of a thread and each change of one by others.
    count: u64,
    /// When a call may next wait for the store, after one has waited in vain.
    waiting: BackOff,
    closing: bool,
    closed: bool,
}

/// The last entries of a thread.
#[derive(Default)]
struct Ring {
    entries: VecDeque<Entry>,
    /// How many at the end are not in the store.
    unsaved: usize,
    /// Changes with every entry that is not this server's.
    version: u64,
    /// When the store was last asked.
    asked: Option<Instant>,
    /// Whether somebody waits for the store.
    wanted: bool,
    used: u64,
}

impl Threads {
    /// Those of a principal. The store is opened aside.
    pub fn new(options: Options) -> Self {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            work: Condvar::new(),
            done: Condvar::new(),
        });
        let writer = Writer {
            shared: shared.clone(),
            options,
            store: None,
            trying: BackOff::default(),
            expired: None,
            logged: false,
        };
        let spawned = thread::Builder::new()
            .name("threads".into())
            .spawn(move || writer.run());
        Self {
            shared,
            writer: spawned.map_err(log).ok(),
        }
    }

    /// The last entries of a thread, oldest first, which `known` knows from now on.
    pub fn recall(&self, thread: &str, known: &mut Known) -> Vec<Vec<u8>> {
        let mut state = self.shared.up_to_date(thread);
        let ring = state.ring(thread);
        known.0 = Some((thread.to_owned(), ring.version));
        ring.entries
            .iter()
            .map(|entry| entry.bytes.clone())
            .collect()
    }

    /// Appends an entry to a thread. Whether the thread holds more than `known` and this entry.
    pub fn append(&self, thread: &str, bytes: Vec<u8>, known: &Known) -> bool {
        let mut state = self.shared.state();
        let at = state.tick();
        let ring = state.ring(thread);
        if ring.entries.len() == KEPT {
            ring.entries.pop_front();
        }
        ring.entries.push_back(Entry { at, bytes });
        ring.unsaved = (ring.unsaved + 1).min(KEPT);
        if ring.unsaved == 1 {
            self.shared.work.notify_one();
        }
        drop(state);
        let mut state = self.shared.up_to_date(thread);
        let version = state.ring(thread).version;
        !matches!(&known.0, Some((name, known)) if name == thread && *known == version)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.closing = true;
        self.shared.work.notify_one();
        let until = Instant::now() + FLUSH;
        while self.writer.is_some() && !state.closed {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = wait(&self.shared.done, state, Some(left));
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, once the store was asked for a thread if that is due, and if it answers in time.
    fn up_to_date(&self, thread: &str) -> MutexGuard<'_, State> {
        let mut state = self.state();
        if !state.ring(thread).is_stale() || !state.waiting.is_over() {
            return state;
        }
        let until = Instant::now() + PATIENCE;
        while state.ring(thread).is_stale() {
            let left = until.saturating_duration_since(Instant::now());
            if !state.waiting.is_over() {
                return state;
            }
            if left.is_zero() {
                state.waiting.fail();
                return state;
            }
            state.ring(thread).wanted = true;
            self.work.notify_one();
            state = wait(&self.done, state, Some(left));
        }
        state.waiting = BackOff::default();
        state
    }
}

/// Waits to be notified, for a time at most if there is one.
fn wait<'a>(
    condition: &Condvar,
    state: MutexGuard<'a, State>,
    time: Option<Duration>,
) -> MutexGuard<'a, State> {
    match time {
        Some(time) => {
            let waited = condition.wait_timeout(state, time);
            waited.unwrap_or_else(PoisonError::into_inner).0
        }
        None => condition
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner),
    }
}

impl State {
    /// A time that no other entry of this server has.
    fn tick(&mut self) -> i64 {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let now = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
        self.clock = now.max(self.clock + 1);
        self.clock
    }

    /// A thread, held from now on.
    fn ring(&mut self, thread: &str) -> &mut Ring {
        self.count += 1;
        if !self.rings.contains_key(thread) {
            if self.rings.len() == HELD {
                self.drop_one();
            }
            self.rings.insert(thread.to_owned(), Ring::default());
        }
        let ring = self.rings.get_mut(thread).expect("held");
        ring.used = self.count;
        ring
    }

    /// Drops the thread that was not used for longest, of those that the store has if there are any.
    fn drop_one(&mut self) {
        let oldest = self
            .rings
            .iter()
            .min_by_key(|(_, ring)| (ring.unsaved > 0, ring.used));
        if let Some(name) = oldest.map(|(name, _)| name.clone()) {
            self.rings.remove(&name);
        }
    }

    /// What the store is to be told and asked.
    fn jobs(&self) -> Vec<(String, Vec<Entry>)> {
        let due = |ring: &Ring| ring.wanted || ring.unsaved > 0;
        let rings = self.rings.iter().filter(|(_, ring)| due(ring));
        let unsaved = |ring: &Ring| {
            ring.entries
                .iter()
                .skip(ring.entries.len() - ring.unsaved)
                .cloned()
                .collect()
        };
        rings
            .map(|(name, ring)| (name.clone(), unsaved(ring)))
            .collect()
    }

    /// Takes what the store holds of a thread, with this server's entries up to `until` among it.
    fn take(&mut self, thread: &str, held: Vec<Entry>, until: i64) {
        self.count += 1;
        let version = self.count;
        if let Some(ring) = self.rings.get_mut(thread) {
            ring.take(held, until, version);
        }
    }
}

impl Ring {
    fn is_stale(&self) -> bool {
        self.asked.is_none_or(|at| at.elapsed() > FRESH)
    }

    fn take(&mut self, held: Vec<Entry>, until: i64, version: u64) {
        let unsaved = self.entries.iter().rev().take(self.unsaved);
        let later = unsaved.filter(|entry| entry.at > until).count();
        let mut entries = VecDeque::from(held);
        entries.extend(
            self.entries
                .iter()
                .skip(self.entries.len() - later)
                .cloned(),
        );
        let surplus = entries.len().saturating_sub(KEPT);
        entries.drain(..surplus);
        if entries != self.entries {
            self.entries = entries;
            self.version = version;
        }
        self.unsaved = later;
        self.asked = Some(Instant::now());
        self.wanted = false;
    }
}

/// The thread that has the store.
struct Writer {
    shared: Arc<Shared>,
    options: Options,
    store: Option<Store>,
    /// When the store may next be tried, after it has failed.
    trying: BackOff,
    /// When threads last expired.
    expired: Option<Instant>,
    logged: bool,
}

impl Writer {
    fn run(mut self) {
        let mut paced = Instant::now();
        loop {
            let mut state = self.shared.state();
            // Until there is something to do, and it is time for that.
            let last = loop {
                let wanted = state.rings.values().any(|ring| ring.wanted);
                let unsaved = state.rings.values().any(|ring| ring.unsaved > 0);
                let now = Instant::now();
                let due = match self.trying.until.filter(|until| *until > now) {
                    Some(until) => until,
                    None if wanted => now,
                    None => paced,
                };
                if state.closing || (wanted || unsaved) && due <= now {
                    break state.closing;
                }
                let time = (wanted || unsaved).then(|| due - now);
                state = wait(&self.shared.work, state, time);
            };
            let until = state.clock;
            let jobs = state.jobs();
            drop(state);
            let written = match jobs.is_empty() || !self.trying.is_over() {
                true => Ok(Vec::new()),
                false => self.write(&jobs),
            };
            let shared = self.shared.clone();
            let mut state = shared.state();
            match written {
                Ok(held) => {
                    self.trying = BackOff::default();
                    for ((name, _), held) in jobs.into_iter().zip(held) {
                        state.take(&name, held, until);
                    }
                }
                Err(error) => {
                    self.fail(&error);
                    // Whoever waits does so in vain.
                    state.waiting.fail();
                }
            }
            if last {
                state.closed = true;
            }
            shared.done.notify_all();
            if last {
                return;
            }
            paced = Instant::now() + PACE;
        }
    }

    fn fail(&mut self, error: &anyhow::Error) {
        self.store = None;
        self.trying.fail();
        if !std::mem::replace(&mut self.logged, true) {
            log(format_args!(
                "the state in {} cannot be used: {error:#}; this server remembers its own calls alone",
                self.options.file.display()
            ));
        }
    }

    fn write(&mut self, jobs: &[(String, Vec<Entry>)]) -> anyhow::Result<Vec<Vec<Entry>>> {
        let store = match &mut self.store {
            Some(store) => store,
            none => none.insert(Store::open(&self.options.file)?),
        };
        if self.expired.is_none_or(|at| at.elapsed() > EXPIRY) {
            store.expire(self.options.age)?;
            self.expired = Some(Instant::now());
        }
        store.append(self.options.principal, jobs)
    }
}
