//! The log of a process that serves, on standard error.
//!
//! Whoever reads it may be gone or asleep, which is no reason to fail or to wait: a thread of
//! its own writes the lines, and those that it cannot get rid of are lost.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// How much is logged in the life of the process, in bytes.
const LOG_BYTES: usize = 1 << 20;
/// How long a line may be, in bytes.
const LINE_BYTES: usize = 4 << 10;
/// How many lines may wait to be written.
const QUEUED_LINES: usize = 256;
/// How long the end of the process waits for them.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(200);

static LOG: OnceLock<Log> = OnceLock::new();

/// Logs a sentence. Never fails and never waits.
pub fn log(sentence: impl Display) {
    opened().add(&sentence.to_string());
}

/// Writes a line of another form, its newline included, between those of the log; it does not count
/// against the log's length. Whether somebody reads, so that there is room for it.
pub fn pass_on(line: &[u8]) -> bool {
    opened().send(line.to_vec())
}

fn opened() -> &'static Log {
    LOG.get_or_init(|| {
        // A descriptor of its own: standard error has a lock, which others wait for.
        match io::stderr().as_fd().try_clone_to_owned() {
            Ok(errors) => Log::to(File::from(errors)),
            Err(_) => Log::to(io::sink()),
        }
    })
}

/// Gives what was logged a moment to be written, before the process ends.
pub fn flush() {
    if let Some(log) = LOG.get() {
        log.flush(FLUSH_TIMEOUT);
    }
}

struct Log {
    lines: SyncSender<Vec<u8>>,
    /// How many lines are not written yet.
    queued: Arc<AtomicUsize>,
    /// How many bytes were logged.
    bytes: AtomicUsize,
}

impl Log {
    fn to(mut out: impl Write + Send + 'static) -> Self {
        let (lines, queue) = sync_channel::<Vec<u8>>(QUEUED_LINES);
        let queued = Arc::new(AtomicUsize::new(0));
        let unwritten = queued.clone();
        // Without a thread there is no log.
        let _ = thread::Builder::new().name("log".into()).spawn(move || {
            for line in queue {
                let _ = out.write_all(&line).and_then(|()| out.flush());
                unwritten.fetch_sub(1, Ordering::Release);
            }
        });
        Self {
            lines,
            queued,
            bytes: AtomicUsize::new(0),
        }
    }

    fn add(&self, sentence: &str) {
        let line = line(sentence);
        let before = self.bytes.fetch_add(line.len(), Ordering::Relaxed);
        if before + line.len() <= LOG_BYTES {
            self.send(line.into_bytes());
        } else if before <= LOG_BYTES {
            self.bytes.fetch_add(LOG_BYTES, Ordering::Relaxed);
            let last = "nothing more is logged: the log has reached its longest size";
            self.send(self::line(last).into_bytes());
        }
    }

    fn send(&self, line: Vec<u8>) -> bool {
        self.queued.fetch_add(1, Ordering::Relaxed);
        let sent = self.lines.try_send(line).is_ok();
        if !sent {
            self.queued.fetch_sub(1, Ordering::Relaxed);
        }
        sent
    }

    fn flush(&self, timeout: Duration) {
        let until = Instant::now() + timeout;
        while self.queued.load(Ordering::Acquire) > 0 && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// One line, whatever the sentence holds.
fn line(sentence: &str) -> String {
    let mut line = String::from("sqlarium: ");
    for c in sentence.chars() {
        if c.is_control() {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line.truncate(line.floor_char_boundary(LINE_BYTES - 1));
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    #[derive(Clone, Default)]
    struct Reader(Arc<Mutex<Vec<u8>>>);

    impl Write for Reader {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("bytes").extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_sentence_is_one_line_whatever_it_holds() {
        assert_eq!(line("a\x1b[2J\r\nb é"), "sqlarium: a\\u{1b}[2J\\r\\nb é\n");
        let long = line(&"é".repeat(LINE_BYTES));
        assert!(long.len() <= LINE_BYTES && long.ends_with("é\n"));
    }

    #[test]
    fn the_log_is_bounded_and_says_so() {
        let reader = Reader::default();
        let log = Log::to(reader.clone());
        for _ in 0..2 * LOG_BYTES / LINE_BYTES {
            log.add(&"x".repeat(LINE_BYTES));
            log.flush(PATIENCE);
        }
        let bytes = reader.0.lock().expect("bytes");
        assert!(bytes.len() < LOG_BYTES + LINE_BYTES, "{}", bytes.len());
        assert!(bytes.ends_with(b"longest size\n"));
    }

    #[test]
    fn nobody_waits_for_a_reader_who_is_asleep() {
        struct Asleep;
        impl Write for Asleep {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                loop {
                    thread::park();
                }
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let log = Log::to(Asleep);
        for _ in 0..2 * QUEUED_LINES {
            log.add("nobody reads this");
        }
        log.flush(Duration::from_millis(10));
    }
}
