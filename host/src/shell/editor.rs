//! Lines from a terminal: edited, completed, remembered.

use std::cell::RefCell;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, Helper};

use super::history::History;
use super::{Fed, feed, finish};
use crate::sandbox::bindings::shell::{Completion, Next};
use crate::sandbox::person::ShellRunner;
use crate::terminal;

/// Where a statement or a dot command is awaited, and where the rest of a statement is.
const PROMPT: &str = "sqlarium> ";
const CONTINUE: &str = "   ...> ";

/// How many completions are offered, and how long each may be, in bytes.
const CANDIDATES: usize = 1000;
const CANDIDATE_BYTES: usize = 1000;

/// Asks the guest how a word could continue.
struct Assistant(Rc<RefCell<ShellRunner>>);

impl Completer for Assistant {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        place: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let place = u32::try_from(place).unwrap_or(u32::MAX);
        Ok(match self.0.borrow_mut().complete(line, place) {
            Ok(found) => usable(line, place as usize, found),
            Err(_) => (line.len(), Vec::new()),
        })
    }
}

/// What can be used of a completion at byte `place` of a line: where the word starts, and how
/// it could continue. The guest is trusted with neither.
fn usable(line: &str, place: usize, found: Completion) -> (usize, Vec<String>) {
    let start = line.floor_char_boundary(place.min(found.start as usize));
    let candidates = found.candidates.into_iter();
    // What would drive the terminal cannot be typed either.
    let candidates = candidates.filter(|candidate| {
        candidate.len() <= CANDIDATE_BYTES && !candidate.contains(char::is_control)
    });
    (start, candidates.take(CANDIDATES).collect())
}

impl Hinter for Assistant {
    type Hint = String;
}
impl Highlighter for Assistant {}
impl Validator for Assistant {}
impl Helper for Assistant {}

/// Runs the shell at a terminal.
pub fn run(runner: ShellRunner, remember: bool) -> Result<ExitCode> {
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .history_ignore_space(true)
        .build();
    let mut editor: Editor<Assistant, FileHistory> = Editor::with_config(config)?;
    let history = History::open(remember);
    if let Some(path) = history.path() {
        // A history that cannot be read is no reason not to work.
        let _ = editor.load_history(path);
    }
    let interrupt = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGINT, interrupt.clone())?;
    let runner = Rc::new(RefCell::new(runner));
    editor.set_helper(Some(Assistant(runner.clone())));
    terminal::print(concat!(
        "sqlarium ",
        env!("CARGO_PKG_VERSION"),
        ". Enter \".help\" for usage hints, \".quit\" to leave.\n"
    ))?;
    let code = converse(&mut editor, &runner, &interrupt)?;
    if let Some(path) = history.path() {
        let _ = editor.append_history(path);
    }
    Ok(ExitCode::from(code))
}

fn converse(
    editor: &mut Editor<Assistant, FileHistory>,
    runner: &Rc<RefCell<ShellRunner>>,
    interrupt: &Arc<AtomicBool>,
) -> Result<u8> {
    // The lines of the statement that is being typed.
    let mut typed = String::new();
    let mut prompt = PROMPT;
    loop {
        let text = match editor.readline(prompt) {
            Ok(text) => text,
            Err(ReadlineError::Interrupted) => {
                typed.clear();
                prompt = PROMPT;
                runner.borrow_mut().abandon();
                continue;
            }
            Err(ReadlineError::Eof) => return Ok(finish(&mut runner.borrow_mut(), true)),
            Err(error) => return Err(error.into()),
        };
        if !typed.is_empty() {
            typed.push('\n');
        }
        typed.push_str(&text);
        interrupt.store(false, Ordering::Relaxed);
        // What is pasted, or taken from the history, can be several lines.
        for line in text.split('\n') {
            let fed = feed(
                &mut runner.borrow_mut(),
                line.as_bytes(),
                true,
                Some(interrupt),
            );
            prompt = match fed {
                Fed::Next(Next::Quit(code)) => {
                    let _ = editor.add_history_entry(typed);
                    runner.borrow_mut().close();
                    return Ok(code);
                }
                Fed::Next(Next::More) => CONTINUE,
                Fed::Next(Next::Ready) | Fed::Aborted => PROMPT,
            };
        }
        if prompt == PROMPT {
            // Blank lines are nothing to go back to.
            if !typed.trim().is_empty() {
                let _ = editor.add_history_entry(typed.as_str());
            }
            typed.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(start: u32, candidates: &[&str]) -> (usize, Vec<String>) {
        let candidates = candidates.iter().map(|text| (*text).to_owned()).collect();
        usable("SELECT é FROM x", 9, Completion { start, candidates })
    }

    #[test]
    fn a_word_starts_within_the_line_before_the_cursor() {
        for (start, expected) in [(0, 0), (7, 7), (8, 7), (9, 9), (10, 9), (u32::MAX, 9)] {
            assert_eq!(offer(start, &[]).0, expected, "{start}");
        }
    }

    #[test]
    fn what_would_drive_the_terminal_is_not_offered() {
        let (_, offered) = offer(7, &["id", "\u{1b}[2J", "a\nb", "x\u{9b}1m", "é b", ""]);
        assert_eq!(offered, ["id", "é b", ""]);
    }

    #[test]
    fn a_list_without_end_is_not_shown() {
        let long = "x".repeat(CANDIDATE_BYTES + 1);
        let endless = vec!["x"; 2 * CANDIDATES];
        assert_eq!(offer(7, &[&long]).1.len(), 0);
        assert_eq!(offer(7, &endless).1.len(), CANDIDATES);
    }
}
