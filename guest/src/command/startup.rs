//! Whether what the owner chose can be served, before anything is.

use super::schema::annotate::astray;
use super::spec::command::Registry;
use super::spec::toolset::Toolset;
use crate::engine::Engine;
use crate::host::Host;
use crate::settings::Settings;
use crate::settings::notes::Notes;

/// Whether these settings can be served.
///
/// # Errors
/// A sentence that says why not.
pub fn check(registry: &'static Registry, settings: &Settings) -> Result<(), String> {
    Toolset::served(registry, settings)?;
    if settings.readonly && settings.record.is_some() {
        return Err(
            "--undo records writes, but --readonly refuses them: give only one of the two.".into(),
        );
    }
    Notes::read(&settings.notes)?;
    let limits = &settings.limits;
    if limits.rows > limits.max_rows {
        return Err(format!(
            "--rows {} is more than --max-rows {}.",
            limits.rows, limits.max_rows
        ));
    }
    for (flag, value, least) in [
        ("--max-rows", u64::from(limits.max_rows), 1),
        ("--text", u64::from(limits.text_chars), 1_000),
        ("--cell", u64::from(limits.cell_chars), 16),
        ("--request", limits.request_bytes, 1_024),
        ("--reply", limits.reply_bytes, 64 << 10),
    ] {
        if value < least {
            return Err(format!(
                "{flag} {value} is too small: give {least} or more."
            ));
        }
    }
    Ok(())
}

/// What is odd about settings that can be served, a sentence each: notes on what is not there.
pub fn warnings(settings: &Settings, host: &'static dyn Host) -> Vec<String> {
    let mut engine = Engine::new(settings, host);
    let notes = engine.notes(None);
    if notes.is_empty() {
        return Vec::new();
    }
    engine
        .database(None)
        .and_then(|database| database.inspect(|connection| astray(connection, &notes)))
        // Whatever is wrong with the database is said when it is used.
        .unwrap_or_default()
}
