//! `.parameter`: values for the parameters of statements.

use std::io::Write;

use super::{LineError, Shell, ShellContext, statement};
use crate::answer::value::Value;
use crate::render::mode::{Escape, as_literal};
use crate::text::pad::left;

/// Runs the dot command.
pub(super) fn run(
    shell: &mut Shell,
    given: &[String],
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    match given.as_slice() {
        ["clear"] => shell.state.parameters.clear(),
        ["init"] => {}
        ["list"] => {
            let mut listed: Vec<(String, Vec<u8>)> = shell
                .state
                .parameters
                .iter()
                .map(|(name, value)| (name.clone(), as_literal(value, Escape::Off)))
                .collect();
            listed.sort();
            let width = listed.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
            let mut out = shell.out(cx);
            for (name, value) in listed {
                write!(out, "{} ", left(&name, width))?;
                out.write_all(&value)?;
                writeln!(out)?;
            }
        }
        ["set", name, value] => {
            let value = evaluate(shell, value, cx)?;
            let parameters = &mut shell.state.parameters;
            parameters.retain(|(known, _)| known != name);
            parameters.push(((*name).to_owned(), value));
        }
        ["unset", name] => shell.state.parameters.retain(|(known, _)| known != name),
        _ => return Err(LineError::Usage),
    }
    Ok(())
}

/// The value of an SQL expression; what is none is text.
fn evaluate(shell: &mut Shell, text: &str, cx: &mut ShellContext<'_>) -> Result<Value, LineError> {
    let rows = statement::collect(shell, &format!("SELECT ({text}\n)"), cx);
    match rows {
        Ok(rows) => Ok(rows
            .into_iter()
            .next()
            .and_then(|row| row.into_iter().next())
            .unwrap_or(Value::Null)),
        Err(LineError::Said(_)) => Ok(Value::Text(text.to_owned())),
        Err(refusal) => Err(refusal),
    }
}
