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
use crate::sandbox::bindings::shell::Next;
use crate::sandbox::instance::{Outcome, Vessel};

/// Where a statement or a dot command is awaited, and where the rest of a statement is.
const PROMPT: &str = "sqlarium> ";
const CONTINUE: &str = "   ...> ";

/// Asks the guest how a word could go on.
struct Assistant(Rc<RefCell<Vessel>>);

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
            Outcome::Done(found) => {
                let start = usize::try_from(found.start).unwrap_or_default();
                // The guest is not trusted to cut a line where it can be cut.
                (line.floor_char_boundary(start), found.candidates)
            }
            Outcome::Cut { .. } => (line.len(), Vec::new()),
        })
    }
}

impl Hinter for Assistant {
    type Hint = String;
}
impl Highlighter for Assistant {}
impl Validator for Assistant {}
impl Helper for Assistant {}

/// Runs the shell at a terminal.
pub fn run(vessel: Vessel, remember: bool) -> Result<ExitCode> {
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
    #[cfg(unix)]
    signal_hook::flag::register(signal_hook::consts::SIGINT, interrupt.clone())?;
    let vessel = Rc::new(RefCell::new(vessel));
    editor.set_helper(Some(Assistant(vessel.clone())));
    println!(
        "sqlarium {}. Enter \".help\" for usage hints, \".quit\" to leave.",
        env!("CARGO_PKG_VERSION")
    );
    let code = converse(&mut editor, &vessel, &interrupt)?;
    if let Some(path) = history.path() {
        let _ = editor.append_history(path);
    }
    Ok(ExitCode::from(code))
}

fn converse(
    editor: &mut Editor<Assistant, FileHistory>,
    vessel: &Rc<RefCell<Vessel>>,
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
                vessel.borrow_mut().forget();
                continue;
            }
            Err(ReadlineError::Eof) => return Ok(finish(&mut vessel.borrow_mut(), true)),
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
                &mut vessel.borrow_mut(),
                line.as_bytes(),
                true,
                Some(interrupt),
            );
            prompt = match fed {
                Fed::Next(Next::Quit(code)) => {
                    let _ = editor.add_history_entry(typed);
                    vessel.borrow_mut().close();
                    return Ok(code);
                }
                Fed::Next(Next::More) => CONTINUE,
                Fed::Next(Next::Ready) | Fed::Cut => PROMPT,
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
