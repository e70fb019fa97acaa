//! What a person sees: results on standard output, complaints on standard error.
//!
//! Styles reach a terminal only, and none where `NO_COLOR` is set, <https://no-color.org>.

use std::fmt::Display;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

/// The name that every complaint begins with.
const NAME: Style = AnsiColor::Red.on_default().bold();
/// What introduces something else.
pub const CAPTION: Style = Style::new().bold();

/// Prints a result as it stands; whoever closed the pipe has seen enough.
///
/// # Errors
///
/// If standard output fails in another way than by being closed.
pub fn print(text: impl Display) -> io::Result<()> {
    write(io::stdout().lock(), text)
}

/// The same for text with styles in it.
///
/// # Errors
///
/// As [`print`].
pub fn print_styled(text: impl Display) -> io::Result<()> {
    write(anstream::stdout().lock(), text)
}

fn write(mut out: impl Write, text: impl Display) -> io::Result<()> {
    match write!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

/// Says on standard error what is wrong.
pub fn complain(sentence: impl Display) {
    // There is nobody left to tell if this fails.
    let _ = writeln!(
        anstream::stderr().lock(),
        "{NAME}sqlarium:{NAME:#} {sentence}"
    );
}
