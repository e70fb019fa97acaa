//! Dot commands that read files and make them.

use std::io::{BufRead as _, Read as _};

use super::redirect::{Redirect, StagedFile};
use super::{LineError, Shell, ShellContext, error};

/// Files that may read one another.
const DEEPEST: usize = 25;

/// `.output`: results go to a file from now on, or to the console again.
pub(super) fn output(
    shell: &mut Shell,
    given: &[String],
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    redirect(shell, given, cx, "output")
}

/// `.once`: the results of the next statement or dot command go to a file.
pub(super) fn once(
    shell: &mut Shell,
    given: &[String],
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    redirect(shell, given, cx, "once")
}

fn redirect(
    shell: &mut Shell,
    given: &[String],
    cx: &mut ShellContext<'_>,
    command: &str,
) -> Result<(), LineError> {
    let replace = |word: &&String| matches!(word.as_str(), "--overwrite" | "-overwrite");
    let names: Vec<&String> = given.iter().filter(|word| !replace(word)).collect();
    shell.close_redirect()?;
    let name = match names.as_slice() {
        [] if command == "output" => return Ok(()),
        [name] if name.as_str() == "stdout" => return Ok(()),
        [name] if name.starts_with('|') => {
            return Err(error("the sandbox cannot start programs; name a file"));
        }
        [name] if !name.starts_with('-') => name.as_str(),
        _ => return Err(LineError::Usage),
    };
    let files = cx.context.engine.files();
    let writer = files.write(name, given.iter().any(|word| replace(&word)))?;
    shell.redirect = Some(Redirect {
        file: StagedFile::new(writer, files),
        name: name.to_owned(),
        // This dot command, and the next line.
        left: (command == "once").then_some(2),
    });
    Ok(())
}

/// `.read`: takes the lines of a file as if they stood here.
pub(super) fn read(
    shell: &mut Shell,
    given: &[String],
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    let [name] = given else {
        return Err(LineError::Usage);
    };
    if name.starts_with('|') {
        return Err(error("the sandbox cannot start programs; name a file"));
    }
    if shell.depth >= DEEPEST {
        return Err(error(format!("input nesting limit ({DEEPEST}) reached")));
    }
    let files = cx.context.engine.files();
    let mut reader = files.read(name)?;
    let limit = cx.context.settings.engine.limits.sql_bytes;
    let line = std::mem::replace(&mut shell.line, 0);
    shell.depth += 1;
    let result = loop {
        let mut bytes = Vec::new();
        let read = reader
            .by_ref()
            .take(limit + 1)
            .read_until(b'\n', &mut bytes);
        match read {
            Err(failed) => break Err(files.failure(&failed).into()),
            Ok(0) => break shell.flush_pending(cx),
            Ok(_) => {}
        }
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        } else if bytes.len() as u64 > limit {
            break Err(error(format!(
                "a line of {name} is longer than {limit} bytes (--memory, --request)"
            )));
        }
        shell.line += 1;
        let errors = shell.errors;
        match shell.take(&bytes, cx) {
            // As in the sqlite3 program, the end of this file.
            Err(LineError::Quit(0)) => break Ok(()),
            Err(refusal) => break Err(refusal),
            Ok(()) => {}
        }
        if shell.errors > errors && (shell.state.bail || shell.stopped(cx)) {
            break Ok(());
        }
    };
    shell.depth -= 1;
    shell.line = line;
    shell.forget();
    result
}
