//! Plays a transcript, the demonstration, against a real session.
//!
//! The transcript is data, in the form of those in `tests/transcripts`, where it is a test as well.
//! A line of it is a mark, a blank and a text: `#` a caption, `>` a line to send, `@` the parts
//! (JSON pointers) to show of what is sent and of the reply. All other lines are for the test.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::sandbox::runner::rest;
use crate::sandbox::session::SessionRunner;
use crate::terminal::{CAPTION, print, print_styled};

/// What is played.
const TRANSCRIPT: &str = include_str!("../demo/shop.txt");

/// The owner's notes on the tables that the transcript makes.
const NOTES: &str = include_str!("../demo/notes.toml");

/// The time budget of a call in the transcript, short so that its refusal is soon seen.
pub const TIMEOUT: Duration = Duration::from_secs(1);

/// Prints what an agent sends and what it gets.
///
/// # Errors
///
/// If standard output fails, or the reply to a line is not JSON or cannot be had.
pub fn play(session: &mut SessionRunner) -> Result<ExitCode> {
    session.settings().engine.notes = NOTES.into();
    let (mut caption, mut shown) = ("", "");
    for line in TRANSCRIPT.lines() {
        match line.split_once(' ') {
            Some(("#", text)) => caption = text,
            Some(("@", pointers)) => shown = pointers,
            Some((">", sent)) => {
                print_styled(format_args!("{CAPTION}# {caption}{CAPTION:#}\n\n"))?;
                print(excerpt("->", sent, shown)?)?;
                if let Some(reply) = session.answer(sent.as_bytes(), |_, time| rest(time))? {
                    print(excerpt("<-", &reply, shown)?)?;
                }
            }
            _ => {}
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The parts of a line that are to be shown, those that it has, behind an arrow.
fn excerpt(arrow: &str, line: &str, shown: &str) -> Result<String> {
    let message: Value = serde_json::from_str(line).with_context(|| format!("not JSON: {line}"))?;
    let parts: Vec<String> = shown
        .split(' ')
        .filter_map(|pointer| message.pointer(pointer))
        .map(|part| {
            part.as_str()
                .map_or_else(|| part.to_string(), str::to_owned)
        })
        .collect();
    let text = parts.join("\n");
    Ok(format!(
        "{arrow} {}\n\n",
        text.trim_end().replace('\n', "\n   ")
    ))
}
