//! `.parameter`: values for the parameters of statements.

use std::io::Write;

use super::{Refusal, Scene, Shell, statement};
use crate::answer::value::Value;
use crate::render::mode::{Escape, as_literal};
use crate::text::pad::left;

/// Runs the dot command.
pub fn run(shell: &mut Shell, given: &[String], scene: &mut Scene<'_>) -> Result<(), Refusal> {
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    match given.as_slice() {
        ["clear"] => shell.state.parameters.clear(),
        ["init"] => {}
        ["list"] => {
            let mut listed: Vec<(String, String)> = shell
                .state
                .parameters
                .iter()
                .map(|(name, value)| {
                    let literal = as_literal(value, Escape::Off);
                    (name.clone(), String::from_utf8_lossy(&literal).into_owned())
                })
                .collect();
            listed.sort();
            let width = listed.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
            let mut out = shell.out(scene);
            for (name, value) in listed {
                writeln!(out, "{} {value}", left(&name, width))?;
            }
        }
        ["set", name, value] => {
            let value = evaluate(shell, value, scene)?;
            let parameters = &mut shell.state.parameters;
            parameters.retain(|(known, _)| known != name);
            parameters.push(((*name).to_owned(), value));
        }
        ["unset", name] => shell.state.parameters.retain(|(known, _)| known != name),
        _ => return Err(Refusal::Usage),
    }
    Ok(())
}

/// The value of an SQL expression; what is none is text.
fn evaluate(shell: &mut Shell, text: &str, scene: &mut Scene<'_>) -> Result<Value, Refusal> {
    let rows = statement::collect(shell, &format!("SELECT ({text}\n)"), scene);
    match rows {
        Ok(rows) => Ok(rows
            .into_iter()
            .next()
            .and_then(|row| row.into_iter().next())
            .unwrap_or(Value::Null)),
        Err(Refusal::Said(_)) => Ok(Value::Text(text.to_owned())),
        Err(refusal) => Err(refusal),
    }
}
