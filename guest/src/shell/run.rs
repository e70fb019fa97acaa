//! `run`: lines of a shell.

use super::console::{Console, Page, Streams};
use super::{Next, Shell};
use crate::answer::failure::{Failure, interrupted};
use crate::answer::output::Output;
use crate::command::interface::argument::{Shape, required};
use crate::command::interface::arguments::Arguments;
use crate::command::interface::command::{Command, Effect, Group};
use crate::command::interface::context::Context;
use crate::host::Interruption;
use crate::storage::streams::STREAM;
use crate::text::count::count;

/// `run` in the command table.
pub const COMMAND: Command = Command {
    name: "run",
    title: "Run shell lines",
    group: Group::Sql,
    summary: "Run shell lines: SQL and dot commands",
    description: "Run lines as the sqlite3 shell does: SQL statements, BEGIN and COMMIT too, and \
                  dot commands (.mode json, .schema, .expert, .help). Their settings end with the \
                  call; temporary tables and PRAGMAs stay. After an error the next line still \
                  runs; an open transaction is rolled back at the end.",
    arguments: &[required("input", Shape::Text, "The lines.")],
    database: true,
    effect: Effect::MayWrite,
    core: false,
    run,
};

/// Runs the command. The command line prints as it goes, unless JSON is asked for; a client gets one text.
///
/// # Errors
///
/// A database that cannot be named. Errors of the lines are part of the text.
pub fn run(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let database = context.engine.database(arguments.db())?;
    // Of a call that was taken back before it could tell it.
    database.describe_writes(&mut Output::default());
    let mut shell = Shell::new(false, arguments.db());
    let input = arguments.required_text("input");
    // The command line can read the lines from standard input.
    let input = match input {
        STREAM if context.audience.is_person() => ".read -",
        input => input,
    };
    if context.audience.is_person() && !arguments.wants_json() {
        let mut streams = Streams::new(context.host);
        lines(&mut shell, input, context, &mut streams)?;
        return Ok(Output {
            printed: true,
            failed: shell.errors() > 0,
            ..Output::default()
        });
    }
    // Room for what stands below it, and for characters that are shown as escapes.
    let budget = context.settings.output.text_bytes as usize;
    let mut page = Page::new((budget / 4 * 3).saturating_sub(200));
    lines(&mut shell, input, context, &mut page)?;
    let whole = page.is_text();
    let (text, cut) = page.finish();
    let mut output = Output {
        text: Some(text),
        failed: shell.errors() > 0,
        ..Output::default()
    };
    if cut {
        output.notes.push(format!(
            "… more output is not shown (text budget of {budget} bytes, --text): ask for \
             fewer rows with LIMIT, or fewer columns."
        ));
    }
    if !whole && !cut {
        output.notes.push(
            "Bytes that are not UTF-8 are shown as �; hex() and .mode quote show them.".into(),
        );
    }
    if shell.errors() > 0 {
        let errors = shell.errors();
        let rest = if context.engine.interrupt().interruption().is_some() {
            "the lines after it were not run"
        } else if shell.bails() {
            "the lines after it were not run, because of .bail on"
        } else {
            "the other lines ran"
        };
        output
            .notes
            .push(format!("{}; {rest}.", count(errors, "error")));
    }
    output.extra.insert("errors".into(), shell.errors().into());
    context
        .engine
        .database(arguments.db())?
        .describe_writes(&mut output);
    Ok(output)
}

/// # Errors
///
/// If the client took the call back: nobody waits for the rest.
fn lines(
    shell: &mut Shell,
    input: &str,
    context: &mut Context,
    console: &mut dyn Console,
) -> Result<(), Failure> {
    let mut quit = false;
    for line in input.lines() {
        let next = shell.feed(line.as_bytes(), context, console);
        // A call that is to stop is not asked line by line.
        quit = matches!(next, Next::Quit(_)) || context.engine.interrupt().interruption().is_some();
        if quit {
            break;
        }
    }
    if !quit {
        shell.finish(context, console);
    }
    if shell.close(context) {
        let _ = console.complain("A transaction was still open at the end; it was rolled back.");
    }
    let _ = console.flush();
    match context.engine.interrupt().interruption() {
        Some(cancelled @ Interruption::Cancelled) => Err(interrupted(&cancelled)),
        _ => Ok(()),
    }
}
