//! Plays the guest's demonstration against a real session.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::sandbox::instance::{Outcome, Vessel, rest};
use crate::terminal::{CAPTION, print, print_styled};

/// The time budget of a call in the demonstration, short so that its refusal is soon seen.
pub const TIMEOUT: Duration = Duration::from_secs(1);

/// Prints what an agent sends and what it gets.
pub fn play(vessel: &mut Vessel) -> Result<ExitCode> {
    let notes = done(vessel.run(rest, async |live, _, _| {
        let (bindings, store) = live.exports();
        bindings.sqlarium_sandbox_demo().call_notes(store).await
    }))?;
    vessel.settings().notes = notes;
    let scenes = done(vessel.run(rest, async |live, _, _| {
        let (bindings, store) = live.exports();
        bindings.sqlarium_sandbox_demo().call_scenes(store).await
    }))?;
    for scene in scenes {
        print_styled(format_args!("{CAPTION}# {}{CAPTION:#}\n\n", scene.caption))?;
        print(format_args!("{}\n\n", tell(vessel, &scene.line)?))?;
        let reply = match vessel.handle(scene.line.as_bytes(), rest) {
            Outcome::Done(reply) => reply,
            Outcome::Cut { last_words, .. } => last_words,
        };
        if let Some(reply) = reply {
            print(format_args!("{}\n\n", tell(vessel, &reply)?))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn tell(vessel: &mut Vessel, line: &str) -> Result<String> {
    done(vessel.run(rest, async |live, _, _| {
        let (bindings, store) = live.exports();
        bindings
            .sqlarium_sandbox_demo()
            .call_tell(store, line)
            .await
    }))
}

fn done<T>(outcome: Outcome<T>) -> Result<T> {
    match outcome {
        Outcome::Done(value) => Ok(value),
        Outcome::Cut { reason, .. } => bail!(reason.unwrap_or_default()),
    }
}
