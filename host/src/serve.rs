//! Serves one client on standard input and output, a line at a time.
//!
//! The host does not know what the lines say. It keeps their order, shows those
//! that arrive during a call to an instance that overhears, and sees that every
//! call ends.

use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::log::log;
use crate::sandbox::bindings::server::Overheard;
use crate::sandbox::control::{Control, Stop};
use crate::sandbox::instance::{Outcome, Overhearing, Vessel};
use crate::stdio::{self, Event};

/// Lines, and bytes of lines, that wait while a call runs. Beyond it nothing is
/// read, so that a client that floods has to wait.
const BACKLOG_LINES: usize = 1024;
const BACKLOG_BYTES: usize = 16 << 20;

/// How long whatever still runs may go on after the client has closed its end.
const LINGER: Duration = Duration::from_secs(1);

/// Serves until the client closes its end, says too much, or goes away.
pub fn serve(vessel: &mut Vessel) -> Result<ExitCode> {
    let mut client = Client {
        events: stdio::listen(vessel.budgets().request)?,
        end: None,
        closing: vessel.budgets().closing(),
        longest: vessel.budgets().reply,
    };
    while let Some(line) = client.next_line(vessel.control()) {
        let control = vessel.control().clone();
        let outcome = vessel.handle(&line, |overhearing, time| {
            client.look(&control, overhearing, time)
        });
        client.send_outbox(&control);
        // An answer that crossed with its cancellation is for nobody.
        let reply = match outcome {
            Outcome::Done(reply) => reply,
            Outcome::Cut { last_words, .. } => last_words,
        };
        if let Some(reply) = reply {
            client.send(&reply);
        }
    }
    if matches!(client.end, Some(End::Overlong))
        && let Outcome::Done(reply) = vessel.overlong()
    {
        client.send(&reply);
    }
    vessel.close();
    Ok(match client.end {
        Some(End::Signal(signal)) => ExitCode::from(stdio::exit_code(signal)),
        _ => ExitCode::SUCCESS,
    })
}

/// Why no more lines come.
#[derive(Clone, Copy, Debug)]
enum End {
    Closed(Instant),
    Overlong,
    Signal(i32),
    /// Standard output takes nothing more.
    Gone,
}

struct Client {
    events: Receiver<Event>,
    end: Option<End>,
    /// The sentence for calls that the end of the session cuts short.
    closing: String,
    /// The longest line that is sent, its newline included, in bytes.
    longest: u64,
}

impl Client {
    /// The next line whose turn it is; none if the session is over.
    fn next_line(&mut self, control: &Control) -> Option<Vec<u8>> {
        self.heed_signals();
        if let Some(End::Signal(_) | End::Gone) = self.end {
            return None;
        }
        if let Some(line) = control.pop() {
            return Some(line);
        }
        if self.end.is_some() {
            return None;
        }
        match self.events.recv() {
            Ok(Event::Line(line)) => Some(line),
            Ok(event) => {
                self.end = Some(End::from(event));
                None
            }
            Err(_) => None,
        }
    }

    /// Attends to the client while a call runs: passes on what the call sends,
    /// and hears what the client says, for up to `time` if nothing happens.
    fn look(&mut self, control: &Control, overhearing: &Overhearing<'_>, time: Duration) {
        self.send_outbox(control);
        let until = Instant::now() + time;
        loop {
            self.heed_signals();
            match self.end {
                None => {}
                Some(End::Closed(at)) if at.elapsed() < LINGER => {}
                Some(End::Overlong) => {}
                Some(_) => control.stop(Stop::Closing(self.closing.clone())),
            }
            let (bytes, lines) = control.backlog();
            let full = lines >= BACKLOG_LINES || bytes >= BACKLOG_BYTES;
            let left = until.saturating_duration_since(Instant::now());
            if self.end.is_some() || full {
                // Nothing to hear; the call may still want to be left alone.
                std::thread::sleep(left);
                return;
            }
            match self.events.recv_timeout(left) {
                Ok(Event::Line(line)) => self.overhear(control, overhearing, line),
                Ok(event) => self.end = Some(End::from(event)),
                Err(RecvTimeoutError::Timeout) => return,
                Err(RecvTimeoutError::Disconnected) => self.end = Some(End::Closed(Instant::now())),
            }
            if control.stopped().is_some() {
                return;
            }
        }
    }

    /// A signal comes before all lines that wait.
    fn heed_signals(&mut self) {
        if let Some(signal) = stdio::signalled()
            && !matches!(self.end, Some(End::Gone))
        {
            self.end = Some(End::Signal(signal));
        }
    }

    fn overhear(&mut self, control: &Control, overhearing: &Overhearing<'_>, line: Vec<u8>) {
        match overhearing.judge(&line) {
            Overheard::Later => control.push(line),
            Overheard::Settled(answer) => {
                if let Some(answer) = answer {
                    self.send(&answer);
                }
            }
            Overheard::Cancel => control.stop(Stop::Cancelled),
            Overheard::Withdraw(index) => {
                control.withdraw(index as usize);
            }
        }
    }

    fn send_outbox(&mut self, control: &Control) {
        for line in control.take_outbox() {
            self.write(&line);
        }
    }

    /// Sends a reply, unless it is one that the guest should never have made.
    fn send(&mut self, reply: &str) {
        if reply.len() as u64 >= self.longest || reply.contains('\n') {
            log("the sandbox produced a reply that is too long or not one line");
        } else {
            self.write(reply);
        }
    }

    fn write(&mut self, line: &str) {
        if matches!(self.end, Some(End::Gone)) {
            return;
        }
        if let Err(error) = stdio::write_line(line) {
            log(format_args!("standard output: {error}"));
            self.end = Some(End::Gone);
        }
    }
}

impl From<Event> for End {
    fn from(event: Event) -> Self {
        match event {
            Event::Overlong => Self::Overlong,
            Event::Signal(signal) => Self::Signal(signal),
            Event::Line(_) | Event::Closed => Self::Closed(Instant::now()),
        }
    }
}
