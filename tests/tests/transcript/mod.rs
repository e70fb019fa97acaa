//! Transcripts: what a client sends and what it gets, as text files under `tests/transcripts`.
//!
//! ```text
//! # What this shows; a comment.
//! % --strict --tools version
//! > {"jsonrpc":"2.0","id":1,"method":"ping"}
//! < {"jsonrpc":"2.0","id":1,"result":{}}
//! \> \xEF\xBB\xBF{"jsonrpc":"2.0","id":2,"method":"ping"}\r
//! < {"jsonrpc":"2.0","id":2,"result":{}}
//! ```
//!
//! `%` holds flags of `sqlarium mcp`. `>` is a line that is sent, `\>` one with the escapes
//! `\xHH`, `\r`, `\\`; `*N` before the text repeats it, or the part between « and »: `>*3 a«x»`
//! sends `axxx`. `~ N` waits for N milliseconds, for what was sent to be under way. `<` is a
//! line that comes back before the next one is sent, compared as JSON, without what differs
//! from run to run. Nothing else may come back, and the server ends with code 0 when its
//! input does. `@` is for `sqlarium demo`: what it shows of the lines that follow.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// A line that is sent, and what comes back.
#[derive(Debug)]
pub struct Step {
    /// How long to wait before it is sent.
    pub pause: Duration,
    /// The bytes, without the newline.
    pub sent: Vec<u8>,
    /// The replies, oldest first.
    pub replies: Vec<Value>,
    /// Where the step stands in the file, counted from 0: its own line and those of its replies.
    pub lines: std::ops::Range<usize>,
}

/// One file.
#[derive(Debug)]
pub struct Transcript {
    /// Its name: `folder/file`.
    pub name: String,
    /// Flags for `sqlarium mcp`.
    pub flags: Vec<String>,
    /// What happens.
    pub steps: Vec<Step>,
}

/// The directory of all transcripts.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("transcripts")
}

/// Every transcript, in the order of their names.
pub fn all() -> Result<Vec<Transcript>> {
    let root = root();
    let mut found = Vec::new();
    for folder in fs::read_dir(&root).context("tests/transcripts")? {
        let folder = folder?.path();
        if !folder.is_dir() {
            continue;
        }
        for file in fs::read_dir(&folder)? {
            let path = file?.path();
            if path.extension().is_some_and(|extension| extension == "txt") {
                let name = path
                    .strip_prefix(&root)?
                    .with_extension("")
                    .display()
                    .to_string();
                found.push(read(&path, name.clone()).with_context(|| name)?);
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn read(path: &Path, name: String) -> Result<Transcript> {
    let text = fs::read_to_string(path)?;
    let mut transcript = Transcript {
        name,
        flags: Vec::new(),
        steps: Vec::new(),
    };
    let mut pause = Duration::ZERO;
    for (index, line) in text.lines().enumerate() {
        let at = || format!("line {}", index + 1);
        if let Some(flags) = line.strip_prefix("% ") {
            transcript
                .flags
                .extend(flags.split_whitespace().map(str::to_owned));
        } else if let Some(millis) = line.strip_prefix("~ ") {
            pause = Duration::from_millis(millis.parse().with_context(at)?);
        } else if let Some(sent) = line.strip_prefix('>') {
            transcript.steps.push(Step {
                pause: std::mem::take(&mut pause),
                sent: repeated(sent).with_context(at)?.into_bytes(),
                replies: Vec::new(),
                lines: index..index + 1,
            });
        } else if let Some(sent) = line.strip_prefix("\\>") {
            transcript.steps.push(Step {
                pause: std::mem::take(&mut pause),
                sent: unescape(&repeated(sent).with_context(at)?).with_context(at)?,
                replies: Vec::new(),
                lines: index..index + 1,
            });
        } else if let Some(reply) = line.strip_prefix("< ") {
            let step = transcript
                .steps
                .last_mut()
                .with_context(|| format!("line {}: no line was sent", index + 1))?;
            step.replies
                .push(serde_json::from_str(reply).with_context(at)?);
            step.lines.end = index + 1;
        } else if !line.is_empty() && !line.starts_with(['#', '@']) {
            bail!("line {}: {line:?} is neither sent nor received", index + 1);
        }
    }
    Ok(transcript)
}

/// The text after the mark and its blank, repeated if `*N` stands at the mark.
fn repeated(text: &str) -> Result<String> {
    let Some(text) = text.strip_prefix('*') else {
        return Ok(text.strip_prefix(' ').unwrap_or(text).to_owned());
    };
    let (count, text) = text
        .split_once(' ')
        .context("a blank belongs behind the count")?;
    let count = count.parse()?;
    let marked = text
        .split_once('«')
        .and_then(|(before, rest)| Some((before, rest.split_once('»')?)));
    Ok(match marked {
        Some((before, (part, after))) => format!("{before}{}{after}", part.repeat(count)),
        None => text.repeat(count),
    })
}

fn unescape(text: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        match rest {
            [b'\\', tail @ ..] => (bytes.push(b'\\'), rest = tail).1,
            [b'r', tail @ ..] => (bytes.push(b'\r'), rest = tail).1,
            [b'x', high, low, tail @ ..] => {
                let digits = [*high, *low];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits)?, 16)?);
                rest = tail;
            }
            _ => bail!("an unknown escape"),
        }
    }
    Ok(bytes)
}
