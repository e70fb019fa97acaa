//! Whether the owner's choices can be served, before any client is.

use crate::command::interface::command::Registry;
use crate::command::interface::toolset::Toolset;
use crate::command::schema::annotate::unmatched;
use crate::engine::Engine;
use crate::host::Host;
use crate::settings::ServerSettings;
use crate::settings::notes::Notes;

/// Whether these settings can be served.
///
/// # Errors
/// A sentence that says why not.
pub fn check(registry: &'static Registry, settings: &ServerSettings) -> Result<(), String> {
    let engine = &settings.command.engine;
    let output = &settings.command.output;
    Toolset::served(registry, &settings.tools, engine)?;
    Notes::read(&engine.notes)?;
    if output.rows > output.max_rows {
        return Err(format!(
            "--rows {} is more than --max-rows {}.",
            output.rows, output.max_rows
        ));
    }
    for (flag, value, least) in [
        ("--max-rows", u64::from(output.max_rows), 1),
        ("--text", u64::from(output.text_bytes), 1_000),
        ("--cell", u64::from(output.cell_chars), 16),
        ("--request", settings.request_bytes, 1_024),
        ("--reply", output.reply_bytes, 64 << 10),
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
pub fn warnings(settings: &ServerSettings, host: &'static dyn Host) -> Vec<String> {
    let mut engine = Engine::new(&settings.command.engine, settings.command.output, host);
    let notes = engine.notes(None);
    if notes.is_empty() {
        return Vec::new();
    }
    engine
        .database(None)
        .and_then(|database| database.inspect(|connection| unmatched(connection, &notes)))
        // Errors of the database are reported when it is used.
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Alone;
    use crate::registry::REGISTRY;
    use crate::settings::OutputLimits;

    #[test]
    fn settings_that_cannot_be_served_are_refused_with_a_sentence() {
        assert_eq!(check(&REGISTRY, &ServerSettings::default()), Ok(()));
        let limited = |output: OutputLimits| {
            let mut settings = ServerSettings::default();
            settings.command.output = output;
            check(&REGISTRY, &settings).unwrap_err()
        };
        let rows = OutputLimits {
            rows: 20_000,
            ..OutputLimits::default()
        };
        assert!(limited(rows).contains("--max-rows"));
        let text = OutputLimits {
            text_bytes: 5,
            ..OutputLimits::default()
        };
        assert!(limited(text).contains("--text 5"));
        let tools = ServerSettings {
            tools: "qery".into(),
            ..ServerSettings::default()
        };
        assert!(
            check(&REGISTRY, &tools)
                .unwrap_err()
                .contains("did you mean query?")
        );
    }

    #[test]
    fn notes_that_cannot_be_read_are_not_served() {
        let noted = |notes: &str| {
            let mut settings = ServerSettings::default();
            settings.command.engine.notes = notes.into();
            settings
        };
        let refused = check(&REGISTRY, &noted("[tables")).unwrap_err();
        assert!(refused.starts_with("--notes: line 1: "), "{refused}");
        // An empty database may get its tables yet.
        let early = noted("[tables.orders]\nnote = 'One for each sale.'");
        assert_eq!(check(&REGISTRY, &early), Ok(()));
        assert!(warnings(&early, &Alone).is_empty());
    }
}
