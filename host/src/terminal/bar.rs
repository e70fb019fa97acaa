//! How far a person's command is, at a terminal.

use std::env;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;

use super::Escaper;

/// How many characters of a phase are shown.
const PHASE: usize = 50;

/// How often it is drawn anew where nothing is heard.
const TICK: Duration = Duration::from_millis(200);

/// A line on standard error that goes when the command ends, or prints.
#[derive(Debug)]
pub struct Bar {
    began: Instant,
    phase: String,
    bar: Option<ProgressBar>,
}

impl Bar {
    /// One that shows nothing yet; none where nobody would see it as it is meant.
    pub fn new() -> Option<Self> {
        let plain = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || env::var_os("TERM").is_none_or(|term| term == "dumb");
        (io::stderr().is_terminal() && !plain).then(|| Self {
            began: Instant::now(),
            phase: String::new(),
            bar: None,
        })
    }

    /// Shows what the guest says of itself, as `notify` of `wit/control.wit` has it; what is no such line is
    /// not shown.
    pub fn show(&mut self, line: &str) {
        let Ok(said) = serde_json::from_str::<Value>(line) else {
            return;
        };
        let (Some(phase), Some(done), Some(unit)) = (
            said["phase"].as_str(),
            said["done"].as_u64(),
            said["unit"].as_str(),
        ) else {
            return;
        };
        let total = said["total"].as_u64();
        let phase: String = phase.chars().take(PHASE).collect();
        if phase != self.phase {
            self.clear();
            self.phase = phase;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
            let bar = bar.with_elapsed(self.began.elapsed());
            bar.enable_steady_tick(TICK);
            bar
        });
        if let Some(total) = total {
            bar.set_length(total);
        }
        bar.set_style(style(total.is_some(), done > 0, unit));
        bar.set_message(match self.phase.as_str() {
            "" => "running".to_owned(),
            phase => shown(phase),
        });
        bar.set_position(done);
    }

    /// Takes it away.
    pub fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.clear();
    }
}

/// What the guest says, so that it drives no terminal.
fn shown(text: &str) -> String {
    let escaped = Escaper::for_terminal().escape(text.as_bytes()).into_owned();
    String::from_utf8_lossy(&escaped).replace(['\n', '\t'], " ")
}

/// How it is shown, by what is known.
fn style(total: bool, counts: bool, unit: &str) -> ProgressStyle {
    let unit: String = unit
        .chars()
        .filter(char::is_ascii_lowercase)
        .take(10)
        .collect();
    let template = match (total, counts) {
        (true, _) => format!(
            "{{msg}} {{wide_bar}} {{human_pos}} of {{human_len}} {unit}s, {{per_sec}}, {{eta}} left"
        ),
        (false, true) => {
            format!("{{spinner}} {{msg}} {{human_pos}} {unit}s, {{per_sec}}, {{elapsed}}")
        }
        (false, false) => "{spinner} {msg} {elapsed}".to_owned(),
    };
    ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar() -> Bar {
        Bar {
            began: Instant::now(),
            phase: String::new(),
            bar: None,
        }
    }

    #[test]
    fn what_is_no_progress_is_not_shown() {
        for line in [
            "",
            "x",
            "[]",
            "{}",
            r#"{"phase":1,"done":2,"unit":"row"}"#,
            r#"{"phase":"x","done":-1,"unit":"row"}"#,
        ] {
            let mut bar = bar();
            bar.show(line);
            assert!(bar.bar.is_none(), "{line}");
        }
    }

    #[test]
    fn a_phase_drives_no_terminal_and_templates_hold_whatever_is_said() {
        assert_eq!(shown("a\u{1b}[31m\nb"), "a^[[31m b");
        for unit in ["row", "{msg}", "", "\u{1b}", "pagepagepagepage"] {
            for (total, counts) in [(true, true), (false, true), (false, false)] {
                let _ = style(total, counts, unit);
            }
        }
        let mut bar = bar();
        bar.show(r#"{"phase":"copying {eta}","done":5,"total":3,"unit":"page"}"#);
        bar.show(r#"{"phase":"checking","done":0,"total":null,"unit":"row"}"#);
        assert_eq!(bar.phase, "checking");
    }
}
