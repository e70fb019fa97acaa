//! The configuration that makes an MCP client start sqlarium.
//!
//! Formats and places as the clients' own documentation gives them:
//! Claude Code <https://code.claude.com/docs/en/mcp>,
//! Claude Desktop <https://modelcontextprotocol.io/docs/develop/connect-local-servers>,
//! Cursor <https://cursor.com/docs/mcp>,
//! VS Code <https://code.visualstudio.com/docs/copilot/reference/mcp-configuration>,
//! Codex <https://developers.openai.com/codex/mcp>, Zed <https://zed.dev/docs/ai/mcp>.

use std::env;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// The clients that [`config`] knows.
pub const CLIENTS: [&str; 6] = [
    "claude-code",
    "claude-desktop",
    "cursor",
    "vscode",
    "codex",
    "zed",
];

/// The name under which clients list the server.
const SERVER: &str = "sqlarium";

/// The configuration for `client`: one line that says where it goes, then what
/// to paste there or to run, with absolute paths. Clients start servers in a
/// directory of their own choice, where a relative path would not be found. The
/// `flags` are the server's.
///
/// # Errors
/// If the client is unknown (the message names the nearest one), or if a path
/// is not Unicode, which neither JSON nor TOML can carry.
pub fn config(
    client: &str,
    exe: &Path,
    database: Option<&Path>,
    flags: Vec<String>,
) -> Result<String> {
    let command = unicode(&absolute(exe)?)?;
    let mut arguments = vec!["mcp".to_owned()];
    if let Some(database) = database {
        arguments.push("--db".to_owned());
        // The memory database is no path.
        arguments.push(match database.to_str() {
            Some(":memory:") => ":memory:".to_owned(),
            _ => unicode(&absolute(database)?)?,
        });
    }
    arguments.extend(flags);
    let plain = json!({ "command": command, "args": arguments });
    let (place, body) = match client {
        "claude-code" => ("# Run this in a shell:", claude_code(&command, &arguments)),
        "claude-desktop" => (
            "Add this to claude_desktop_config.json (Settings > Developer > Edit Config) and restart Claude Desktop. \
             It is in ~/Library/Application Support/Claude/ on macOS, in %APPDATA%\\Claude\\ on Windows:",
            servers("mcpServers", plain),
        ),
        "cursor" => (
            "Add this to ~/.cursor/mcp.json, or to .cursor/mcp.json in one project:",
            servers("mcpServers", plain),
        ),
        "vscode" => (
            "Add this to .vscode/mcp.json in the workspace, or to your own mcp.json \
             (command \"MCP: Open User Configuration\"):",
            servers(
                "servers",
                json!({ "type": "stdio", "command": command, "args": arguments }),
            ),
        ),
        "codex" => (
            "# Add this to ~/.codex/config.toml:",
            codex(&command, &arguments),
        ),
        "zed" => (
            "Add this to settings.json (command \"zed: open settings\"; ~/.config/zed/settings.json):",
            servers("context_servers", plain),
        ),
        unknown => {
            let near = nearest(unknown);
            let meant = near.map(|near| format!(" Did you mean {near}?"));
            bail!(
                "There is no configuration for a client {unknown:?}.{} The known clients are {}; \
                 most others take what `sqlarium config cursor` prints.",
                meant.unwrap_or_default(),
                CLIENTS.join(", "),
            )
        }
    };
    Ok(format!("{place}\n\n{body}\n"))
}

/// `claude mcp add`: its own options come before the name, the server's after `--`.
/// Scope `user` is every project of this user; the default would be this directory alone.
fn claude_code(command: &str, arguments: &[String]) -> String {
    let words = [command]
        .into_iter()
        .chain(arguments.iter().map(String::as_str));
    let words: Vec<String> = words.map(shell_word).collect();
    format!(
        "claude mcp add --scope user {SERVER} -- {}",
        words.join(" ")
    )
}

fn servers(key: &str, server: Value) -> String {
    let document = json!({ key: { SERVER: server } });
    // A `Value` with string keys always serialises.
    serde_json::to_string_pretty(&document).unwrap_or_default()
}

fn codex(command: &str, arguments: &[String]) -> String {
    let arguments: Vec<String> = arguments
        .iter()
        .map(|argument| toml_string(argument))
        .collect();
    format!(
        "[mcp_servers.{SERVER}]\ncommand = {}\nargs = [{}]",
        toml_string(command),
        arguments.join(", ")
    )
}

/// One word of a POSIX shell, quoted only where it has to be.
fn shell_word(word: &str) -> String {
    let harmless = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(harmless) {
        word.to_owned()
    } else {
        // Inside single quotes all is literal but the quote: leave, escape it, come back.
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A basic string of TOML 1.0 (<https://toml.io/en/v1.0.0#string>).
fn toml_string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_ascii_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// An absolute path without `.` and, where that is safe to say, without `..`.
/// Symbolic links stay: they are often the stable name of something that moves.
pub fn absolute(path: &Path) -> Result<PathBuf> {
    let path = if path.is_absolute() {
        path.to_owned()
    } else {
        env::current_dir()
            .context("The current folder cannot be found, and an absolute path needs it.")?
            .join(path)
    };
    if path.components().any(|part| part == Component::ParentDir) {
        // Only the file system knows what `..` after a link is.
        return Ok(path.canonicalize().unwrap_or(path));
    }
    Ok(path.components().collect())
}

/// The path as text.
///
/// # Errors
/// If it is not Unicode.
pub fn unicode(path: &Path) -> Result<String> {
    path.to_str().map(str::to_owned).with_context(|| {
        format!(
            "{} is not Unicode, but a client's configuration must be. Rename it.",
            path.display()
        )
    })
}

/// The known client that begins like it, or differs by a slip of the finger.
fn nearest(unknown: &str) -> Option<&'static str> {
    let unknown = unknown.to_lowercase().replace([' ', '_'], "-");
    let begins = |known: &&str| known.starts_with(&unknown) || unknown.starts_with(known);
    let slips = |known: &&str| strsim::damerau_levenshtein(&unknown, known);
    let near = |known: &&str| slips(known) <= known.len().min(unknown.len()) / 4 + 1;
    if unknown.is_empty() {
        return None;
    }
    let known = CLIENTS.into_iter();
    let typed = known.clone().filter(near).min_by_key(slips);
    known.clone().find(begins).or(typed)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const EXE: &str = "/opt/sql tools/bin/sqlarium";
    const DATABASE: &str = "/home/o'neil/my \"best\" data.db";

    fn printed(client: &str) -> String {
        config(
            client,
            Path::new(EXE),
            Some(Path::new(DATABASE)),
            Vec::new(),
        )
        .expect(client)
    }

    /// What follows the line that says where it goes.
    fn body(client: &str) -> String {
        printed(client)
            .split_once("\n\n")
            .expect("a place and a body")
            .1
            .to_owned()
    }

    #[test]
    fn the_json_clients_get_the_server_under_their_own_key() {
        for (client, key) in [
            ("claude-desktop", "mcpServers"),
            ("cursor", "mcpServers"),
            ("vscode", "servers"),
            ("zed", "context_servers"),
        ] {
            let document: Value = serde_json::from_str(&body(client)).expect(client);
            let server = &document[key]["sqlarium"];
            assert_eq!(server["command"], EXE, "{client}");
            assert_eq!(server["args"], json!(["mcp", "--db", DATABASE]), "{client}");
            let kind = if client == "vscode" {
                json!("stdio")
            } else {
                Value::Null
            };
            assert_eq!(server["type"], kind, "{client}");
        }
    }

    #[test]
    fn the_shell_line_survives_a_real_shell() {
        let line = body("claude-code");
        let script = format!("claude() {{ printf '<%s>\\n' \"$@\"; }}\n{line}");
        let shell = Command::new("sh")
            .arg("-c")
            .arg(script)
            .output()
            .expect("a shell");
        let words = String::from_utf8(shell.stdout).expect("text");
        let expected = format!(
            "<mcp>\n<add>\n<--scope>\n<user>\n<sqlarium>\n<-->\n<{EXE}>\n<mcp>\n<--db>\n<{DATABASE}>\n"
        );
        assert_eq!(words, expected);
    }

    #[test]
    fn a_harmless_path_is_not_quoted() {
        let printed = config(
            "claude-code",
            Path::new("/usr/bin/sqlarium"),
            Some(Path::new("/data/shop.db")),
            vec!["--readonly".into()],
        );
        let line = "claude mcp add --scope user sqlarium -- /usr/bin/sqlarium mcp --db /data/shop.db --readonly";
        assert!(printed.expect("a line").contains(line));
    }

    #[test]
    fn the_toml_is_a_table_with_escaped_strings() {
        let expected = "[mcp_servers.sqlarium]\n\
            command = \"/opt/sql tools/bin/sqlarium\"\n\
            args = [\"mcp\", \"--db\", \"/home/o'neil/my \\\"best\\\" data.db\"]\n";
        assert_eq!(body("codex"), expected);
        assert_eq!(
            toml_string("C:\\a\tb\u{1}é\u{7f}"),
            r#""C:\\a\tb\u0001é\u007F""#
        );
    }

    #[test]
    fn without_a_database_there_is_no_flag() {
        for client in CLIENTS {
            let printed = config(client, Path::new(EXE), None, Vec::new()).expect(client);
            assert!(!printed.contains("--db"), "{printed}");
        }
        let memory = config(
            "cursor",
            Path::new(EXE),
            Some(Path::new(":memory:")),
            Vec::new(),
        )
        .expect("memory");
        assert!(memory.contains("\":memory:\""), "{memory}");
    }

    #[test]
    fn relative_paths_become_absolute() {
        let here = env::current_dir().expect("a folder");
        let printed = config(
            "cursor",
            Path::new("./bin/sqlarium"),
            Some(Path::new("shop.db")),
            Vec::new(),
        )
        .expect("cursor");
        for path in [here.join("bin/sqlarium"), here.join("shop.db")] {
            assert!(
                printed.contains(&format!("\"{}\"", path.display())),
                "{printed}"
            );
        }
        let above = absolute(Path::new("..")).expect("a path");
        assert_eq!(
            Some(above.as_path()),
            here.canonicalize().expect("a path").parent()
        );
    }

    #[test]
    fn an_unknown_client_is_answered_with_the_nearest_one() {
        for (typed, meant) in [
            ("claude", "claude-code"),
            ("VSCode", "vscode"),
            ("cusror", "cursor"),
            ("zec", "zed"),
        ] {
            let refusal = config(typed, Path::new(EXE), None, Vec::new())
                .expect_err(typed)
                .to_string();
            assert!(
                refusal.contains(&format!("Did you mean {meant}?")),
                "{refusal}"
            );
        }
    }

    #[test]
    fn a_client_that_is_like_none_is_answered_with_the_list_alone() {
        for typed in ["gemini", "windsurf", "", "red-hat", "copilot"] {
            let refusal = config(typed, Path::new(EXE), None, Vec::new())
                .expect_err(typed)
                .to_string();
            assert!(!refusal.contains("Did you mean"), "{refusal}");
            assert!(
                refusal.contains("The known clients are claude-code,"),
                "{refusal}"
            );
        }
    }

    #[test]
    fn a_path_that_is_not_unicode_is_refused_with_a_sentence() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        let path = Path::new(OsStr::from_bytes(b"/data/\xff.db"));
        let refusal = config("zed", Path::new(EXE), Some(path), Vec::new())
            .expect_err("not Unicode")
            .to_string();
        assert!(refusal.contains("is not Unicode"), "{refusal}");
    }
}
