//! The arguments of a command: what it takes, and the check of what was given.

use serde_json::{Map, Value};

use super::argument::{Argument, DB, OUTPUT, Shape, accepted};
use super::command::Command;
use super::reading::{is_absent, read, takes};
use crate::answer::failure::{Failure, Status};
use crate::settings::EngineSettings;
use crate::text::suggest::{nearest, same};

/// Arguments that were found to be what their command takes.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    values: Map<String, Value>,
}

impl Arguments {
    /// Checks what a call gives against what its command takes.
    ///
    /// `null` is the same as nothing, and so is `""` for what can be left out. All that is wrong is reported in one failure of
    /// status `syntax`.
    pub fn check(
        command: &Command,
        given: &Map<String, Value>,
        settings: &EngineSettings,
        person: bool,
    ) -> Result<Self, Failure> {
        let accepted = accepted(command, settings, person);
        let mut values = Map::new();
        let mut problems = Vec::new();
        let mut strangers = Vec::new();
        let mut seen = Vec::new();
        for (name, value) in given {
            let exact = accepted.iter().find(|argument| argument.name == name);
            // `dryRun` can mean nothing else than `dry_run`.
            let meant = || accepted.iter().find(|argument| same(argument.name, name));
            let Some(argument) = exact.or_else(meant) else {
                if !is_absent(value) {
                    strangers.push(name.as_str());
                }
                continue;
            };
            match read(argument, value) {
                Ok(None) => continue,
                Ok(Some(_)) if seen.contains(&argument.name) => {
                    problems.push(format!("{} is given twice.", argument.name));
                }
                Ok(Some(value)) => _ = values.insert(argument.name.to_owned(), value),
                Err(problem) => problems.push(problem),
            }
            seen.push(argument.name);
        }
        let missing: Vec<&Argument> = accepted
            .iter()
            .copied()
            .filter(|argument| argument.required && !seen.contains(&argument.name))
            .collect();
        for name in &strangers {
            // One that is missing may be there under another name.
            let meant = match (missing.as_slice(), strangers.as_slice()) {
                ([missing], [_]) => Some(missing.name),
                _ => None,
            };
            problems.push(unknown(command, name, &accepted, meant));
        }
        for argument in missing {
            problems.push(format!(
                "{} is missing: it takes {}.",
                argument.name,
                takes(argument)
            ));
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

    /// The names that an argument lists, if it was given.
    pub fn names(&self, name: &str) -> Option<Vec<String>> {
        let names = self.values.get(name)?.as_array()?.iter();
        Some(names.filter_map(Value::as_str).map(str::to_owned).collect())
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

fn unknown(
    command: &Command,
    name: &str,
    accepted: &[&'static Argument],
    meant: Option<&str>,
) -> String {
    if name == DB.name && command.database {
        return "db is refused: only a server started with --root can open other databases.".into();
    }
    if let Some(argument) = command
        .arguments
        .iter()
        .find(|argument| argument.name == name)
    {
        return match argument.shape {
            Shape::InputPath => {
                format!("{name} is refused: only a server started with --root reads files.")
            }
            _ => format!(
                "{name} is refused: only a server started with --root, and without --readonly, makes files."
            ),
        };
    }
    let shown: String = name.chars().take(40).collect();
    let mut problem = format!("{} takes no argument {}", command.name, Value::from(shown));
    let near = nearest(name, accepted.iter().map(|argument| argument.name));
    match near.or(meant) {
        Some(near) => problem.push_str(&format!("; did you mean {near}?")),
        None => problem.push('.'),
    }
    problem
}

/// Whether a call wants its answer as JSON, whatever else is wrong with it.
pub fn wants_json(given: &Map<String, Value>) -> bool {
    let output = given.get(OUTPUT.name).map(|value| read(&OUTPUT, value));
    output == Some(Ok(Some("json".into())))
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
            false,
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
            refusal("query", json!({"sql": {"x": 1}}))
                .starts_with("sql takes a string, not an object.")
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
        let text = refusal("query", json!({"sql": "x", "limit": "a\n".repeat(100_000)}));
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
            Arguments::check(REGISTRY.find("tables").unwrap(), &given, &settings, false).unwrap();
        assert_eq!(arguments.db(), Some("x.db"));
        assert!(refusal("help", json!({"db": "x.db"})).contains("no argument \"db\""));
    }
}
