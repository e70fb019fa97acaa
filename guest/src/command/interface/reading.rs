//! What a client means by the value of an argument: models write numbers, flags and JSON into
//! strings, send a list where one name is wanted, and fill what they do not need with `""`.

use serde_json::Value;

use super::argument::{Argument, Shape};
use crate::engine::schema::fts::plain;
use crate::engine::statement::params::exact;
use crate::text::lexer::tokens;
use crate::text::suggest::nearest;

/// How often a value may be encoded as a string once more.
const ENCODED: usize = 3;

/// Whether a value stands for nothing at all.
pub(super) fn is_absent(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(object) => object.is_empty(),
        _ => false,
    }
}

/// The value as the command will see it, or the sentence that says what is wrong with it. Nothing
/// where it stands for nothing.
pub(super) fn read(argument: &Argument, value: &Value) -> Result<Option<Value>, String> {
    let value = match value {
        // One in a list is that one, unless a list is wanted.
        Value::Array(values) if values.len() == 1 && argument.shape.is_single() => &values[0],
        value => value,
    };
    // What a command needs is for it to refuse, if it is empty; but no file has no name.
    let file = matches!(argument.shape, Shape::InputPath | Shape::OutputPath);
    let absent = if argument.required && !file {
        value.is_null()
    } else {
        is_absent(value) || stands_for_none(argument.shape, value)
    };
    if absent {
        return Ok(None);
    }
    let taken = match argument.shape {
        Shape::Text | Shape::InputPath | Shape::OutputPath => text(value).map(Value::from),
        Shape::Sql => sql(value).map(Value::from),
        Shape::Names => names(value).map(Value::from),
        Shape::Integer { min, max } => integer(value)
            .filter(|number| (min..=max).contains(number))
            .map(Value::from),
        Shape::Flag => flag(value).map(Value::from),
        Shape::Json => json(value),
        Shape::Numbers => json(value).map(numbers),
        Shape::Choice(words) => text(value).and_then(|text| {
            let mut words = words.iter();
            let word = words.find(|word| word.eq_ignore_ascii_case(text.trim()))?;
            Some(Value::from(*word))
        }),
    };
    match taken {
        Some(Value::Array(values)) if values.is_empty() && argument.shape == Shape::Names => {
            Ok(None)
        }
        Some(value) => Ok(Some(value)),
        None => Err(wrong(argument, value)),
    }
}

/// Words that languages have for nothing, where they are no value.
fn stands_for_none(shape: Shape, value: &Value) -> bool {
    let is_text = matches!(
        shape,
        Shape::Text | Shape::Sql | Shape::Names | Shape::InputPath | Shape::OutputPath
    );
    let word = |text: &str| {
        ["null", "none", "undefined"]
            .iter()
            .any(|word| text.trim().eq_ignore_ascii_case(word))
    };
    !is_text && value.as_str().is_some_and(word)
}

/// A string, or a number as it is written.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// SQL as it stands; statements in a list, one after the other.
fn sql(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(statements) => {
            let statements: Option<Vec<&str>> = statements.iter().map(Value::as_str).collect();
            // On lines of their own, or a comment would swallow the semicolon.
            statements.map(|statements| statements.join("\n;\n"))
        }
        _ => None,
    }
}

/// A list, or names with commas between them, in quotes or not.
fn names(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Array(names) => names.iter().map(text).collect(),
        Value::String(list) => match serde_json::from_str(list) {
            Ok(Value::Array(names)) => names.iter().map(text).collect(),
            _ => Some(listed(list)),
        },
        _ => None,
    }
}

fn listed(list: &str) -> Vec<String> {
    let all = tokens(list);
    let names = all.split(|token| token.text == ",").map(|name| {
        let code: Vec<_> = name.iter().filter(|token| token.is_code()).collect();
        match code.as_slice() {
            [one] => plain(one.text),
            _ => {
                let text: String = name.iter().map(|token| token.text).collect();
                text.trim().to_owned()
            }
        }
    });
    names.filter(|name| !name.is_empty()).collect()
}

/// A whole number, however it was written: `5`, `5.0`, `"5"`.
fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| {
            // Beyond 2^53 a float no longer says which integer it means.
            number
                .as_f64()
                .filter(|float| float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_991.0)
                .map(|float| float as i64)
        }),
        Value::String(text) => {
            let text = text.trim();
            let number = || integer(&serde_json::from_str(text).ok()?);
            text.parse().ok().or_else(number)
        }
        _ => None,
    }
}

/// `true`, `"true"`, `"True"`, `1`, `"1"`, `"yes"`.
fn flag(value: &Value) -> Option<bool> {
    let word = match value {
        Value::Bool(truth) => return Some(*truth),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.trim().to_lowercase(),
        _ => return None,
    };
    match word.as_str() {
        "true" | "yes" | "1" => Some(true),
        "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// An array or an object, which models often encode once more.
fn json(value: &Value) -> Option<Value> {
    let mut value = value.clone();
    for _ in 0..ENCODED {
        let Value::String(text) = &value else { break };
        value = serde_json::from_str(&exact(text)).ok()?;
    }
    (value.is_array() || value.is_object()).then_some(value)
}

/// The same with each number that is in a string of its own as a number.
fn numbers(mut value: Value) -> Value {
    for element in value.as_array_mut().into_iter().flatten() {
        if let Value::String(text) = element
            && let Ok(number @ Value::Number(_)) = serde_json::from_str(text.trim())
        {
            *element = number;
        }
    }
    value
}

fn wrong(argument: &Argument, value: &Value) -> String {
    let mut problem = format!(
        "{} takes {}, not {}.",
        argument.name,
        takes(argument),
        describe(value)
    );
    if let (Shape::Choice(words), Some(text)) = (argument.shape, value.as_str())
        && let Some(word) = nearest(text, words.iter().copied())
    {
        problem.push_str(&format!(" Did you mean \"{word}\"?"));
    }
    problem
}

/// What an argument takes, to end a sentence with.
pub(super) fn takes(argument: &Argument) -> String {
    match argument.shape {
        Shape::Text | Shape::Sql => "a string".into(),
        Shape::Names => "names with commas between them, as a string".into(),
        Shape::InputPath | Shape::OutputPath => "the path of a file, as a string".into(),
        Shape::Integer { min, max: i64::MAX } => format!("a whole number from {min}"),
        Shape::Integer { min, max } => format!("a whole number from {min} to {max}"),
        Shape::Flag => "true or false".into(),
        Shape::Json => "an array or an object".into(),
        Shape::Numbers => "an array of numbers".into(),
        Shape::Choice(words) => {
            let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
            words.join(" or ")
        }
    }
}

/// What was given, short enough for a sentence.
fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => {
            let mut start: String = text.chars().take(40).collect();
            if start.len() < text.len() {
                start.push('…');
            }
            format!("the string {}", Value::from(start))
        }
        Value::Array(_) => "an array".into(),
        Value::Object(_) => "an object".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_names_is_split_at_the_commas_that_are_in_no_name() {
        assert_eq!(listed("a, b c ,\"d,e\",, [f]"), ["a", "b c", "d,e", "f"]);
    }
}
