//! A terminal with a person at it.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Instant;

use crate::{Folder, PATIENCE, binary};

/// A command at a terminal of its own, made by Python's `pty`.
#[derive(Debug)]
pub struct Terminal {
    child: Child,
    shown: Receiver<Vec<u8>>,
    seen: String,
}

impl Terminal {
    /// Starts `sqlarium` with these arguments in `folder`; `None` where there is no Python to
    /// make a terminal with.
    pub fn start(folder: &Folder, arguments: &[&str], colour: bool) -> Option<Self> {
        let spawn = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)";
        let mut command = Command::new("python3");
        command
            .args(["-c", spawn])
            .arg(binary())
            .args(arguments)
            .current_dir(folder.path(""))
            .env("TERM", "xterm")
            .env("XDG_STATE_HOME", folder.path("state"))
            .env_remove("SQLARIUM_HISTORY")
            .env_remove("NO_COLOR");
        if !colour {
            command.env("NO_COLOR", "1");
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let mut output = child.stdout.take()?;
        let (sender, shown) = channel();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Some(Self {
            child,
            shown,
            seen: String::new(),
        })
    }

    /// Types.
    ///
    /// # Panics
    /// If nobody reads what is typed.
    pub fn keys(&mut self, keys: &str) {
        let stdin = self.child.stdin.as_mut().expect("its keyboard");
        stdin.write_all(keys.as_bytes()).expect("keys");
        stdin.flush().expect("keys");
    }

    /// Waits until `text` is shown; answers what is shown up to it, and forgets that.
    ///
    /// # Panics
    /// If it is not shown in [`PATIENCE`].
    pub fn wait_for(&mut self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.seen.find(text) {
                let rest = self.seen.split_off(at + text.len());
                return std::mem::replace(&mut self.seen, rest);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.shown.recv_timeout(left) {
                Ok(bytes) => self.seen.push_str(&String::from_utf8_lossy(&bytes)),
                Err(_) => panic!("{text:?} is not shown: {:?}", self.seen),
            }
        }
    }

    /// Waits for the end of the command; answers everything that is shown until then.
    pub fn rest(self) -> String {
        let mut shown = self.seen.clone().into_bytes();
        shown.extend(self.shown.iter().flatten());
        String::from_utf8_lossy(&shown).into_owned()
    }

    /// Hangs up; answers the exit code.
    ///
    /// # Panics
    /// If the command cannot be waited for.
    pub fn end(mut self) -> Option<i32> {
        drop(self.child.stdin.take());
        self.child.wait().expect("its end").code()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
