//! The client's lines: the one that is answered, and those that wait for their turn.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::sandbox::client::Lines;

/// A line without its newline.
pub type Line = Vec<u8>;

/// Lines, and bytes of lines, that wait while a call runs. Beyond it nothing is
/// read, so that a client that floods has to wait.
const MAX_LINES: usize = 1024;
const MAX_BYTES: usize = 16 << 20;

/// Kept by the server; the guest reads it.
#[derive(Debug, Default)]
pub struct Queue(Mutex<Lanes>);

#[derive(Debug, Default)]
struct Lanes {
    running: Option<Line>,
    waiting: VecDeque<Line>,
    /// What is waiting, in bytes.
    bytes: usize,
}

impl Queue {
    fn lanes(&self) -> MutexGuard<'_, Lanes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on this line is answered.
    pub fn run(&self, line: Line) {
        self.lanes().running = Some(line);
    }

    /// No line is answered any more.
    pub fn rest(&self) {
        self.lanes().running = None;
    }

    /// Whether no more lines may wait.
    pub fn is_full(&self) -> bool {
        let lanes = self.lanes();
        lanes.waiting.len() >= MAX_LINES || lanes.bytes >= MAX_BYTES
    }

    /// Puts a line at the end.
    pub fn push(&self, line: Line) {
        let mut lanes = self.lanes();
        lanes.bytes += line.len();
        lanes.waiting.push_back(line);
    }

    /// Takes the line whose turn it is.
    pub fn pop(&self) -> Option<Line> {
        self.remove(0)
    }

    /// Takes out the line at `index`.
    pub fn remove(&self, index: usize) -> Option<Line> {
        let mut lanes = self.lanes();
        let line = lanes.waiting.remove(index)?;
        lanes.bytes -= line.len();
        Some(line)
    }
}

impl Lines for Queue {
    fn running(&self) -> Option<Line> {
        self.lanes().running.clone()
    }

    fn queued(&self, index: usize) -> Option<Line> {
        self.lanes().waiting.get(index).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_take_their_turn_in_order_unless_they_are_taken_out() {
        let queue = Queue::default();
        for line in ["a", "b", "c"] {
            queue.push(line.into());
        }
        assert_eq!(queue.remove(1), Some(b"b".to_vec()));
        assert_eq!(queue.remove(2), None);
        assert_eq!(queue.queued(1), Some(b"c".to_vec()));
        assert_eq!(queue.pop(), Some(b"a".to_vec()));
        assert_eq!((queue.pop(), queue.pop()), (Some(b"c".to_vec()), None));
    }

    #[test]
    fn it_is_full_of_many_lines_or_of_long_ones() {
        let queue = Queue::default();
        queue.push(vec![b'x'; MAX_BYTES]);
        assert!(queue.is_full());
        queue.pop();
        assert!(!queue.is_full());
        for _ in 0..MAX_LINES {
            queue.push(Line::new());
        }
        assert!(queue.is_full());
    }
}
