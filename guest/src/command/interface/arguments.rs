//! The arguments of a command: what it takes, and the check of what was given.

use serde_json::{Map, Value};

use super::argument::{Argument, DB, OUTPUT, Shape, accepted};
use super::command::Command;
use crate::answer::failure::{Failure, Status};
use crate::engine::statement::params::exact;
use crate::settings::EngineSettings;
use crate::text::suggest::nearest;

/// Arguments that were found to be what their command takes.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    values: Map<String, Value>,
}

impl Arguments {
    /// Checks what a call gives against what its command takes.
    ///
    /// `null` is the same as nothing. All that is wrong is reported in one failure of status `syntax`.
    pub fn check(
        command: &Command,
        given: &Map<String, Value>,
        settings: &EngineSettings,
    ) -> Result<Self, Failure> {
        let accepted = accepted(command, settings);
        let mut values = Map::new();
        let mut problems = Vec::new();
        for (name, value) in given {
            if value.is_null() {
                continue;
            }
            match accepted.iter().find(|argument| argument.name == name) {
                Some(argument) => match take(argument, value) {
                    Ok(value) => {
                        values.insert(name.clone(), value);
                    }
                    Err(problem) => problems.push(problem),
                },
                None => problems.push(unknown(command, name, &accepted)),
            }
        }
        for argument in &accepted {
            if argument.required && given.get(argument.name).is_none_or(Value::is_null) {
                problems.push(format!(
                    "{} is missing: it takes {}.",
                    argument.name,
                    takes(argument)
                ));
            }
        }
        if problems.is_empty() {
            return Ok(Self { values });
        }
        let message = match problems.as_slice() {
            [one] => one.clone(),
            many => format!("{} arguments are wrong. {}", many.len(), many.join(" ")),
        };
        Err(Failure::new(Status::Syntax, message).hint(summary(command, &accepted)))
    }

    /// The same arguments and one more, unchecked: for a command that calls another, and for tests.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.values.insert(name.to_owned(), value.into());
        self
    }

    /// The text of an argument, if it was given.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name)?.as_str()
    }

    /// The text of an argument that the table says is required; empty otherwise.
    pub fn required_text(&self, name: &str) -> &str {
        self.text(name).unwrap_or_default()
    }

    /// The number of an argument, if it was given.
    pub fn integer(&self, name: &str) -> Option<i64> {
        self.values.get(name)?.as_i64()
    }

    /// Whether a flag was given and is true.
    pub fn flag(&self, name: &str) -> bool {
        self.values
            .get(name)
            .is_some_and(|value| value == &Value::Bool(true))
    }

    /// The array or object of an argument, if it was given.
    pub fn json(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// The database that the call names, if it names one.
    pub fn db(&self) -> Option<&str> {
        self.text(DB.name)
    }

    /// Whether the answer is wanted as JSON.
    pub fn wants_json(&self) -> bool {
        self.text(OUTPUT.name) == Some("json")
    }
}

/// The value as the command will see it, or the sentence that says what is wrong with it.
fn take(argument: &Argument, value: &Value) -> Result<Value, String> {
    let taken = match argument.shape {
        Shape::Text | Shape::InputPath | Shape::OutputPath => value.as_str().map(Value::from),
        Shape::Integer { min, max } => integer(value)
            .filter(|number| (min..=max).contains(number))
            .map(Value::from),
        Shape::Flag => match value {
            Value::Bool(_) => Some(value.clone()),
            Value::String(text) if text == "true" => Some(Value::Bool(true)),
            Value::String(text) if text == "false" => Some(Value::Bool(false)),
            _ => None,
        },
        Shape::Json | Shape::Numbers => match value {
            Value::Array(_) | Value::Object(_) => Some(value.clone()),
            // Some models encode what is nested once more.
            Value::String(text) => {
                let text = match argument.shape {
                    Shape::Json => exact(text),
                    _ => text.into(),
                };
                serde_json::from_str(&text)
                    .ok()
                    .filter(|inner: &Value| inner.is_array() || inner.is_object())
            }
            _ => None,
        },
        Shape::Choice(words) => value
            .as_str()
            .filter(|text| words.contains(text))
            .map(Value::from),
    };
    taken.ok_or_else(|| {
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
    })
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
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// What an argument takes, to end a sentence with.
fn takes(argument: &Argument) -> String {
    match argument.shape {
        Shape::Text => "a string".into(),
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

fn unknown(command: &Command, name: &str, accepted: &[&'static Argument]) -> String {
    if name == DB.name && command.database {
        return "db is refused: only a server started with --root can open other databases.".into();
    }
    let shown: String = name.chars().take(40).collect();
    let mut problem = format!("{} takes no argument {}", command.name, Value::from(shown));
    match nearest(name, accepted.iter().map(|argument| argument.name)) {
        Some(near) => problem.push_str(&format!("; did you mean {near}?")),
        None => problem.push('.'),
    }
    problem
}

/// Everything the command takes, in one line.
fn summary(command: &Command, accepted: &[&'static Argument]) -> String {
    let names: Vec<String> = accepted
        .iter()
        .map(|argument| {
            let must = if argument.required { " (required)" } else { "" };
            format!("{}{must}", argument.name)
        })
        .collect();
    format!("{} takes: {}.", command.name, names.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::registry::REGISTRY;

    fn check(command: &str, given: Value) -> Result<Arguments, Failure> {
        let Value::Object(given) = given else {
            panic!("not an object")
        };
        Arguments::check(
            REGISTRY.find(command).unwrap(),
            &given,
            &EngineSettings::default(),
        )
    }

    fn refusal(command: &str, given: Value) -> String {
        let failure = check(command, given).unwrap_err();
        assert_eq!(failure.status, Status::Syntax);
        failure.to_string()
    }

    #[test]
    fn good_arguments_come_back_by_their_types() {
        let arguments = check(
            "query",
            json!({"sql": "SELECT 1", "params": [1, null], "limit": 5, "output": "json"}),
        )
        .unwrap();
        assert_eq!(arguments.required_text("sql"), "SELECT 1");
        assert_eq!(arguments.json("params"), Some(&json!([1, null])));
        assert_eq!(arguments.integer("limit"), Some(5));
        assert!(arguments.wants_json());
        assert_eq!(arguments.db(), None);
    }

    #[test]
    fn null_is_the_same_as_nothing() {
        let arguments = check(
            "query",
            json!({"sql": "x", "limit": null, "nonsense": null}),
        )
        .unwrap();
        assert_eq!(arguments.integer("limit"), None);
        assert!(refusal("query", json!({"sql": null})).starts_with("sql is missing"));
    }

    #[test]
    fn an_unknown_argument_is_refused_with_the_nearest_name_and_the_whole_list() {
        assert_eq!(
            refusal("query", json!({"sql": "x", "limt": 5})),
            "query takes no argument \"limt\"; did you mean limit? \
             query takes: sql (required), params, limit, output."
        );
        let text = refusal("query", json!({"sql": "x", "zebra": 5}));
        assert!(
            text.starts_with("query takes no argument \"zebra\". query takes:"),
            "{text}"
        );
    }

    #[test]
    fn a_wrong_type_is_a_sentence_that_names_all_three() {
        assert!(
            refusal("query", json!({"sql": 5}))
                .starts_with("sql takes a string, not the number 5.")
        );
        assert!(
            refusal("query", json!({"sql": "x", "limit": "many"}))
                .starts_with("limit takes a whole number from 1, not the string \"many\".")
        );
        assert!(
            refusal("query", json!({"sql": "x", "params": 3}))
                .starts_with("params takes an array or an object, not the number 3.")
        );
        assert!(
            refusal("query", json!({"sql": ["x"]}))
                .starts_with("sql takes a string, not an array.")
        );
        assert!(
            refusal("schema", json!({"indent": "maybe"}))
                .starts_with("indent takes true or false, not the string \"maybe\".")
        );
    }

    #[test]
    fn a_choice_names_its_words_and_the_nearest() {
        assert!(refusal("tables", json!({"output": "jsno"})).starts_with(
            "output takes \"text\" or \"json\", not the string \"jsno\". Did you mean \"json\"?"
        ));
    }

    #[test]
    fn a_number_sent_as_a_string_is_taken_where_an_integer_is_wanted() {
        for limit in [json!("5"), json!(" 5 "), json!(5.0)] {
            let arguments = check("query", json!({"sql": "x", "limit": limit})).unwrap();
            assert_eq!(arguments.integer("limit"), Some(5));
        }
        for limit in [
            json!(1.5),
            json!(-1),
            json!("-1"),
            json!(1e300),
            json!(true),
        ] {
            refusal("query", json!({"sql": "x", "limit": limit}));
        }
    }

    #[test]
    fn params_encoded_once_more_are_taken() {
        let arguments = check("query", json!({"sql": "x", "params": "{\"id\": 1}"})).unwrap();
        assert_eq!(arguments.json("params"), Some(&json!({"id": 1})));
        refusal("query", json!({"sql": "x", "params": "one"}));
        refusal("query", json!({"sql": "x", "params": "1"}));
    }

    #[test]
    fn several_problems_are_reported_together() {
        let text = refusal("query", json!({"params": 3, "limt": 1}));
        assert!(text.starts_with("3 arguments are wrong."), "{text}");
        for part in ["params takes", "did you mean limit?", "sql is missing"] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn what_was_given_is_shown_short_and_on_one_line() {
        let text = refusal("query", json!({"sql": "x", "limit": "\n".repeat(100_000)}));
        assert!(text.len() < 400 && !text.contains('\n'), "{text}");
        let text = refusal("query", json!({"sql": "x", "\u{1b}[31m\n".repeat(9999): 1}));
        assert!(
            text.len() < 500 && !text.contains(['\n', '\u{1b}']),
            "{text}"
        );
    }

    #[test]
    fn db_is_taken_only_with_a_root() {
        assert!(refusal("tables", json!({"db": "x.db"})).contains("--root"));
        let settings = EngineSettings {
            root: true,
            ..EngineSettings::default()
        };
        let Value::Object(given) = json!({"db": "x.db"}) else {
            unreachable!()
        };
        let arguments =
            Arguments::check(REGISTRY.find("tables").unwrap(), &given, &settings).unwrap();
        assert_eq!(arguments.db(), Some("x.db"));
        assert!(refusal("help", json!({"db": "x.db"})).contains("no argument \"db\""));
    }
}
