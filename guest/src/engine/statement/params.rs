//! The values that a call binds to its statement's parameters.
//!
//! A JSON array binds by number: `?` in their order, `?2`, `$2`, `:2` and `@2` to the second value.
//! An object binds `:name`, `@name` and `$name`, its keys with or without that prefix, and numbers by
//! `"1"`. What goes to which is found by [`super::parameters`]. A value is bound by its JSON type:
//!
//! | JSON | SQLite |
//! |---|---|
//! | `null` | NULL |
//! | `true`, `false` | 1, 0 |
//! | a number without point or exponent | INTEGER, exact to 64 bits |
//! | any other number | REAL |
//! | a string | TEXT, whatever it looks like |
//! | `{"blob": "00ff"}` | BLOB, from hexadecimal digits |
//! | `{"integer": "9223372036854775807"}` | INTEGER, for a client whose numbers are not exact |
//! | `{"real": "Infinity"}` | REAL, `-Infinity` too |
//! | `[0.5, 1, …]` | BLOB: a vector of 32-bit floats, little-endian |

use std::borrow::Cow;

use rusqlite::Statement;
use serde_json::Value as Json;

use super::parameters;
use crate::answer::failure::{Failure, Status};
use crate::answer::value::Value;
use crate::text::hex;

/// The objects that are values.
const VALUES: [&str; 3] = ["blob", "integer", "real"];

/// What is bound to a statement.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Params {
    /// Nothing.
    #[default]
    None,
    /// By position.
    Positional(Vec<Value>),
    /// By name, prefix and all as they were given.
    Named(Vec<(String, Value)>),
}

impl Params {
    /// Reads the `params` argument of a call.
    ///
    /// # Errors
    ///
    /// `syntax`, with a sentence that names the value that cannot be bound and the forms that can.
    pub fn from_json(json: &Json) -> Result<Self, Failure> {
        match json {
            Json::Null => Ok(Self::None),
            // An object in a list of its own, which is no value.
            Json::Array(values)
                if matches!(values.as_slice(), [Json::Object(members)]
                    if !members.keys().any(|kind| VALUES.contains(&kind.as_str()))) =>
            {
                Self::from_json(&values[0])
            }
            Json::Array(values) => values
                .iter()
                .enumerate()
                .map(|(index, value)| bindable(value, &format!("number {}", index + 1)))
                .collect::<Result<_, _>>()
                .map(Self::Positional),
            Json::Object(members) => members
                .iter()
                .map(|(name, value)| Ok((name.clone(), bindable(value, name)?)))
                .collect::<Result<_, _>>()
                .map(Self::Named),
            // Models often encode the argument once too often.
            Json::String(text) => match serde_json::from_str(&exact(text)) {
                Ok(inner @ (Json::Array(_) | Json::Object(_))) => Self::from_json(&inner),
                _ => Err(shape()),
            },
            Json::Bool(_) | Json::Number(_) => Err(shape()),
        }
    }

    /// Binds to `statement`, whose text `sql` begins with; every parameter gets a value, and every
    /// value a parameter.
    ///
    /// # Errors
    ///
    /// `syntax`, with a sentence that names what is missing or left over.
    pub fn bind(&self, statement: &mut Statement<'_>, sql: &str) -> Result<(), Failure> {
        for (index, value) in self.bound(statement, sql)? {
            bind_one(statement, index, value)?;
        }
        Ok(())
    }

    /// Which value goes to which of SQLite's numbers.
    ///
    /// # Errors
    ///
    /// As for [`Params::bind`].
    pub(crate) fn bound(
        &self,
        statement: &Statement<'_>,
        sql: &str,
    ) -> Result<Vec<(usize, &Value)>, Failure> {
        let parameters = parameters::of(statement, sql);
        match self {
            Self::None => parameters.by_number(&[]),
            Self::Positional(values) => parameters.by_number(values),
            Self::Named(values) => parameters.by_name(values),
        }
    }
}

/// Binds what `values` has by name to `statement`, as a shell does; what it has not stays NULL.
///
/// # Errors
///
/// `too_big`, for a value that exceeds SQLite's limit.
pub fn bind_known(
    statement: &mut Statement<'_>,
    values: &[(String, Value)],
) -> Result<(), Failure> {
    for index in 1..=statement.parameter_count() {
        let name = statement
            .parameter_name(index)
            .map_or_else(|| format!("?{index}"), str::to_owned);
        if let Some((_, value)) = values.iter().find(|(known, _)| *known == name) {
            bind_one(statement, index, value)?;
        }
    }
    Ok(())
}

fn bind_one(statement: &mut Statement<'_>, index: usize, value: &Value) -> Result<(), Failure> {
    statement.raw_bind_parameter(index, value).map_err(|error| {
        Failure::new(
            Status::TooBig,
            format!("The value of parameter {index} cannot be bound: {error}."),
        )
    })
}

fn shape() -> Failure {
    Failure::new(
        Status::Syntax,
        "params takes an array of values for ?, ?1 or $1, or an object of values for :name.",
    )
    .hint("Give for example [1, \"a\"] or {\"name\": \"a\"}.")
}

/// The text of `params` with each integer among the values that no number of 64 bits holds as
/// `{"integer": "its digits"}`, so that reading it does not make another number of it.
pub fn exact(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let (mut exact, mut done, mut at) = (String::new(), 0, 0);
    let mut depth = 0_usize;
    while at < bytes.len() {
        let start = at;
        match bytes[at] {
            b'"' => {
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b'-' | b'0'..=b'9' => {
                let part =
                    |byte: &u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                at += bytes[at..].iter().take_while(|byte| part(byte)).count();
                let number = &text[start..at];
                let whole = !number.contains(['.', 'e', 'E']);
                if whole && depth == 1 && number.len() > 18 && number.parse::<i64>().is_err() {
                    exact.push_str(&text[done..start]);
                    exact.push_str("{\"integer\":\"");
                    exact.push_str(number);
                    exact.push_str("\"}");
                    done = at;
                }
            }
            other => {
                match other {
                    b'[' | b'{' => depth += 1,
                    b']' | b'}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                at += 1;
            }
        }
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    exact.push_str(&text[done..]);
    Cow::Owned(exact)
}

/// One value of `params`; `place` names it in a refusal.
fn bindable(json: &Json, place: &str) -> Result<Value, Failure> {
    let refuse = |message: String| Failure::new(Status::Syntax, message);
    match json {
        Json::Null => Ok(Value::Null),
        Json::Bool(truth) => Ok(Value::Integer(i64::from(*truth))),
        Json::String(text) => Ok(Value::Text(text.clone())),
        Json::Number(number) => {
            if let Some(integer) = number.as_i64() {
                Ok(Value::Integer(integer))
            } else if number.is_u64() {
                Err(too_large(&number.to_string(), place))
            } else {
                Ok(Value::Real(number.as_f64().unwrap_or_default()))
            }
        }
        Json::Array(elements) => vector(elements).ok_or_else(|| {
            refuse(format!(
                "The value of params, {place}, is an array that contains something other than \
                 numbers."
            ))
            .hint("An array of numbers is a vector; send other JSON as a string.")
        }),
        Json::Object(members) => {
            let mut all = members.iter();
            let digits = |text: &str| {
                let digits = text.strip_prefix('-').unwrap_or(text);
                !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
            };
            if let (1, Some(Json::String(text))) = (members.len(), members.get("integer"))
                && digits(text)
                && text.parse::<i64>().is_err()
            {
                return Err(too_large(text, place));
            }
            let value = match (all.next(), all.next()) {
                (Some((kind, Json::String(text))), None) => match kind.as_str() {
                    "blob" => hex::decode(text).map(Value::Blob),
                    "integer" => text.parse().ok().map(Value::Integer),
                    "real" => real(text).map(Value::Real),
                    _ => None,
                },
                _ => None,
            };
            value.ok_or_else(|| {
                refuse(format!(
                    "The value of params, {place}, is an object that cannot be bound."
                ))
                .hint(
                    "The objects that can be bound are {\"blob\": \"<hex>\"}, {\"integer\": \
                         \"<digits>\"} and {\"real\": \"Infinity\"}; send other JSON as a string.",
                )
            })
        }
    }
}

fn too_large(number: &str, place: &str) -> Failure {
    let shown: String = number.chars().take(40).collect();
    Failure::new(
        Status::Syntax,
        format!("The value {shown} of params, {place}, does not fit SQLite's 64-bit integers."),
    )
    .hint("Send it as a string to store text, or with a decimal point to store a real.")
}

/// A vector: its elements as 32-bit floats, little-endian.
fn vector(elements: &[Json]) -> Option<Value> {
    let mut bytes = Vec::with_capacity(elements.len() * 4);
    for element in elements {
        // Narrowing is what a vector of 32-bit floats means.
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the format is 32 bits wide"
        )]
        let narrow = element.as_f64()? as f32;
        bytes.extend_from_slice(&narrow.to_le_bytes());
    }
    Some(Value::Blob(bytes))
}

/// A real from its digits or from the name of an infinity.
fn real(text: &str) -> Option<f64> {
    match text {
        "Infinity" | "+Infinity" | "inf" | "Inf" => Some(f64::INFINITY),
        "-Infinity" | "-inf" | "-Inf" => Some(f64::NEG_INFINITY),
        _ => text.parse().ok().filter(|real: &f64| real.is_finite()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_beyond_64_bits_are_kept_digit_by_digit() {
        assert_eq!(
            exact(
                r#"[9223372036854775808,-9223372036854775809,1e30,1.5,"18446744073709551616\\\"1"]"#
            ),
            r#"[{"integer":"9223372036854775808"},{"integer":"-9223372036854775809"},1e30,1.5,"18446744073709551616\\\"1"]"#
        );
        for text in [
            "[9223372036854775807,-9223372036854775808,0.1234567890123456789]",
            "[[18446744073709551616,0]]",
            r#"{"a":{"integer":18446744073709551616}}"#,
            "18446744073709551616",
            "",
        ] {
            assert_eq!(exact(text), text);
        }
    }

    #[test]
    fn an_integer_beyond_64_bits_is_refused_and_not_rounded() {
        for text in [
            "[18446744073709551616]",
            "[9223372036854775808]",
            r#"{"a": -9223372036854775809}"#,
        ] {
            let params = Params::from_json(&Json::from(text));
            let sentence = params.unwrap_err().to_string();
            assert!(
                sentence.contains("does not fit SQLite's 64-bit integers"),
                "{sentence}"
            );
        }
    }
}
