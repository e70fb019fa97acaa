//! What dot commands set, and how it outlives an instance.

use serde::{Deserialize, Serialize};

use super::expert::Expert;
use crate::answer::value::Value;
use crate::render::mode::Format;

/// When the plan of a statement is shown before it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Plan {
    /// Never.
    #[default]
    Off,
    /// The plan.
    On,
    /// The plan, and those of the triggers that it would run.
    Trigger,
    /// All of these plans, and the byte code.
    Full,
}

/// Everything that is set.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ShellState {
    /// How rows are printed.
    pub format: Format,
    /// Whether headers were asked for or turned off, so that no mode changes that.
    pub headers_set: bool,
    /// Whether what is read is printed.
    pub echo: bool,
    /// Whether the first error ends it all.
    pub bail: bool,
    /// Whether changes are counted for the reader.
    pub changes: bool,
    /// Whether time and fuel are shown.
    pub timer: bool,
    /// Whether SQLite's counters are shown.
    pub stats: bool,
    /// Whether plans are shown.
    pub plan: Plan,
    /// Whether an EXPLAIN is shown in its own form.
    pub explain: bool,
    /// Whether the next statements are not run, but examined for indexes that would help.
    #[serde(skip)]
    pub expert: Option<Expert>,
    /// Values for parameters, by name.
    pub parameters: Vec<(String, Value)>,
}

impl Default for ShellState {
    fn default() -> Self {
        Self {
            format: Format::default(),
            headers_set: false,
            echo: false,
            bail: false,
            changes: false,
            timer: false,
            stats: false,
            plan: Plan::Off,
            explain: true,
            expert: None,
            parameters: Vec::new(),
        }
    }
}

/// The longest state that a host keeps, in bytes.
const LONGEST: usize = 64 << 10;

impl ShellState {
    /// As text; `open`: a transaction is open, `line`: lines read so far. What is too long to keep is
    /// left out.
    pub(super) fn write(&self, open: bool, line: u64) -> String {
        let text = serde_json::to_string(&(self, open, line)).unwrap_or_default();
        if text.len() <= LONGEST {
            return text;
        }
        let short = Self {
            parameters: Vec::new(),
            ..self.clone()
        };
        let text = serde_json::to_string(&(short, open, line)).unwrap_or_default();
        if text.len() <= LONGEST {
            text
        } else {
            String::new()
        }
    }

    /// What [`ShellState::write`] wrote.
    pub(super) fn read(text: &str) -> Option<(Self, bool, u64)> {
        serde_json::from_str(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_set_comes_back() {
        let mut state = ShellState {
            timer: true,
            ..ShellState::default()
        };
        state.format.select("box");
        state.parameters.push((":a".into(), Value::Blob(vec![1])));
        let (back, open, line) = ShellState::read(&state.write(true, 7)).unwrap();
        assert_eq!(line, 7);
        assert!(open && back.timer);
        assert_eq!(back.format, state.format);
        assert_eq!(back.parameters, state.parameters);
    }

    #[test]
    fn what_is_too_long_to_keep_is_left_out() {
        let mut state = ShellState::default();
        state
            .parameters
            .push((":a".into(), Value::Text("x".repeat(LONGEST))));
        let (back, ..) = ShellState::read(&state.write(false, 0)).unwrap();
        assert!(back.parameters.is_empty());
        assert!(ShellState::read("").is_none());
    }
}
