//! Serves one client on standard input and output, a line at a time.
//!
//! The host does not know what the lines say. A line goes one way: from standard input ([`stdio`]) into
//! the queue ([`queue`]) to the session, whose reply is written. Lines that arrive during a call are
//! shown to an instance that triages, and every call ends.

mod queue;
mod stdio;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use anyhow::Result;

use self::queue::{Line, Queue};
use self::stdio::{Event, Input};
use crate::log::log;
use crate::sandbox::bindings::server::Triaged;
use crate::sandbox::budget::Stop;
use crate::sandbox::client::Client;
use crate::sandbox::session::{SessionRunner, Triage};

/// Notifications that may wait to be passed on to the client.
const MAX_UNSENT: usize = 64;

/// How long a running call may continue after the client has closed its end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// Serves until the client closes its end or goes away.
///
/// # Errors
///
/// If standard input cannot be read, or if the sandbox has no reply for a client that waits for one.
pub fn serve(mut session: SessionRunner) -> Result<ExitCode> {
    let queue = Arc::new(Queue::default());
    let (notifications, outbox) = sync_channel(MAX_UNSENT);
    session.connect(Client {
        lines: queue.clone(),
        notifications: Some(notifications),
    });
    let mut server = Server {
        input: Input::new(session.budgets().request)?,
        queue: queue.clone(),
        outbox,
        end: None,
        closing: session.budgets().closing(),
    };
    while let Some(line) = server.next_line(session.triage()) {
        queue.run(line.clone());
        let reply = session.answer(&line, |triage, time| server.attend(triage, time));
        queue.rest();
        server.send_notifications();
        if let Some(reply) = reply? {
            server.send(&reply);
        }
    }
    session.close();
    match server.end {
        Some(End::Signal(signal)) => Ok(ExitCode::from(stdio::exit_code(signal))),
        Some(End::Failed(error)) => Err(error),
        Some(End::Closed(_) | End::Gone) | None => Ok(ExitCode::SUCCESS),
    }
}

/// Why no more lines come.
#[derive(Debug)]
enum End {
    Closed(Instant),
    Signal(i32),
    /// Standard output takes nothing more.
    Gone,
    /// The client would wait for ever.
    Failed(anyhow::Error),
}

struct Server {
    input: Input,
    queue: Arc<Queue>,
    /// What a call sends while it runs.
    outbox: Receiver<String>,
    end: Option<End>,
    /// The sentence for calls that the end of the session cuts short.
    closing: String,
}

impl Server {
    /// The next line whose turn it is; none if the session is over.
    fn next_line(&mut self, triage: &Triage) -> Option<Line> {
        loop {
            self.heed_signals();
            match self.end {
                None | Some(End::Closed(_)) => {}
                Some(End::Signal(_) | End::Gone | End::Failed(_)) => return None,
            }
            if let Some(line) = self.queue.pop() {
                return Some(line);
            }
            if self.end.is_some() {
                return None;
            }
            match self.input.next(None) {
                Some(Event::Line(line)) => return Some(line),
                Some(event) => self.take(event, triage),
                None => {}
            }
        }
    }

    /// Attends to the client while a call runs: passes on what the call sends, and looks at the
    /// lines that arrive, for up to `time` if nothing happens. Says if the call has to end.
    fn attend(&mut self, triage: &Triage, time: Duration) -> Option<Stop> {
        self.send_notifications();
        let until = Instant::now() + time;
        loop {
            self.heed_signals();
            match &self.end {
                None => {}
                Some(End::Closed(at)) if at.elapsed() < SHUTDOWN_TIMEOUT => {}
                Some(_) => return Some(Stop::Closing(self.closing.clone())),
            }
            let left = until.saturating_duration_since(Instant::now());
            if self.end.is_some() || self.queue.is_full() {
                // Nothing to read; the call may still want to be left alone.
                std::thread::sleep(left);
                return None;
            }
            match self.input.next(Some(left)) {
                None => return None,
                Some(Event::Line(line)) => match triage.triage(&line) {
                    Triaged::Defer => self.queue.push(line),
                    Triaged::Handled(reply) => {
                        if let Some(reply) = reply {
                            self.send(&reply);
                        }
                    }
                    Triaged::CancelRunning => return Some(Stop::Cancelled),
                    Triaged::CancelQueued(index) => drop(self.queue.remove(index as usize)),
                },
                Some(event) => self.take(event, triage),
            }
        }
    }

    /// Takes what is no line.
    fn take(&mut self, event: Event, triage: &Triage) {
        match event {
            Event::Line(_) => {}
            Event::Overlong(head) => match triage.overlong(&head) {
                Ok(reply) => self.send(&reply),
                Err(error) => self.end = Some(End::Failed(error)),
            },
            Event::Closed => self.end = Some(End::Closed(Instant::now())),
        }
    }

    /// A signal comes before all lines that wait.
    fn heed_signals(&mut self) {
        if let Some(signal) = stdio::signalled()
            && !matches!(self.end, Some(End::Gone | End::Failed(_)))
        {
            self.end = Some(End::Signal(signal));
        }
    }

    fn send_notifications(&mut self) {
        while let Ok(line) = self.outbox.try_recv() {
            self.send(&line);
        }
    }

    fn send(&mut self, line: &str) {
        if matches!(self.end, Some(End::Gone)) {
            return;
        }
        if let Err(error) = stdio::write_line(line) {
            log(format_args!("standard output: {error}"));
            self.end = Some(End::Gone);
        }
    }
}
