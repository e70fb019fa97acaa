//! Which of the values of a call goes to which parameter of its statement.
//!
//! SQLite numbers the parameters, and tells the name of each, but neither which numbers are used nor
//! that `$1` means the first: to it, that is a name like any other. So the text is read as well.

use rusqlite::Statement;

use crate::answer::failure::{Failure, Status};
use crate::answer::value::Value;
use crate::text::lexer::tokens;
use crate::text::suggest;

/// The parameters of a statement.
#[derive(Debug, Default)]
pub(super) struct Parameters {
    /// Those that the statement uses, by SQLite's number.
    used: Vec<Parameter>,
    /// How many numbers there are, used or not.
    count: usize,
    /// Whether the text has a `?`, numbered or not.
    marked: bool,
}

#[derive(Debug)]
struct Parameter {
    /// SQLite's number.
    index: usize,
    /// As it is written, `?` for one without a number.
    text: String,
    /// Its place in an array; none for a name.
    place: Option<usize>,
}

/// A value for the parameter with SQLite's number.
type Bound<'v> = (usize, &'v Value);

/// The parameters of `statement`, whose text `sql` begins with.
pub(super) fn of(statement: &Statement<'_>, sql: &str) -> Parameters {
    let count = statement.parameter_count();
    if count == 0 {
        return Parameters::default();
    }
    let names: Vec<Option<&str>> = (1..=count)
        .map(|index| statement.parameter_name(index))
        .collect();
    let (bare, marked) = marks(sql, &names);
    let used = (1..)
        .zip(&names)
        .filter_map(|(index, name)| {
            let text = name.or_else(|| bare[index - 1].then_some("?"))?;
            let place = match text.strip_prefix('?') {
                Some(_) => Some(index),
                None => text[1..].parse().ok(),
            };
            Some(Parameter {
                index,
                text: text.to_owned(),
                place,
            })
        })
        .collect();
    Parameters {
        used,
        count,
        marked,
    }
}

/// Which of the parameters is a bare `?`, and whether there is any `?`. SQLite has no name for the
/// bare ones, nor for numbers that are never used; one gets the number behind the highest so far.
fn marks(sql: &str, names: &[Option<&str>]) -> (Vec<bool>, bool) {
    let mut bare = vec![false; names.len()];
    let mut marked = false;
    let mut highest = 0;
    let mut at = 0;
    for token in tokens(sql) {
        let rest = &sql[at..];
        at += token.text.len();
        let number = match token.text.as_bytes() {
            [b'?'] => {
                marked = true;
                let digits = rest[1..].bytes().take_while(u8::is_ascii_digit).count();
                match rest[1..=digits].parse() {
                    Ok(number) => number,
                    Err(_) => {
                        if let Some(bare) = bare.get_mut(highest) {
                            *bare = true;
                        }
                        highest + 1
                    }
                }
            }
            // A name can have signs in it: `$a::b(c)`.
            [b':' | b'@' | b'#'] | [b'$', ..] => {
                let named = |name: &&str| rest.starts_with(*name);
                let longest = names.iter().flatten().filter(|name| named(name));
                let Some(name) = longest.max_by_key(|name| name.len()) else {
                    continue;
                };
                1 + names
                    .iter()
                    .position(|known| known == &Some(*name))
                    .unwrap_or_default()
            }
            _ => continue,
        };
        highest = highest.max(number);
    }
    (bare, marked)
}

impl Parameters {
    /// Takes `values` in the order of their numbers.
    pub(super) fn by_number<'v>(&self, values: &'v [Value]) -> Result<Vec<Bound<'v>>, Failure> {
        let refuse = |message| Failure::new(Status::Syntax, message);
        if let ([only], [value]) = (self.used.as_slice(), values)
            && only.place.is_none()
        {
            return Ok(vec![(only.index, value)]);
        }
        if self.used.iter().any(|one| one.place.is_none()) {
            let key = |one: &Parameter| match one.text.as_str() {
                "?" => one.index.to_string(),
                text => text[1..].to_owned(),
            };
            let names: Vec<String> = self
                .used
                .iter()
                .take(LISTED)
                .map(|one| format!("\"{}\": …", key(one)))
                .collect();
            let message = if values.is_empty() {
                format!("{}, but params has no value.", self.told())
            } else {
                format!(
                    "{}, and an array has no names to bind them by.",
                    self.told()
                )
            };
            let example = names.join(", ");
            return Err(refuse(message).hint(format!("Give params as an object: {{{example}}}.")));
        }
        // SQLite numbers the one, and whoever wrote the SQL the other: to it, the first `$2` is ?1.
        let other = self.used.iter().find(|one| !one.text.starts_with('?'));
        if let (true, Some(other)) = (self.marked, other) {
            let message = format!("The statement mixes ? with {}.", other.text);
            return Err(refuse(message).hint(
                "Number all of them, as ?1, ?2: then it is plain which value goes to which.",
            ));
        }
        let places = self.used.iter().filter_map(|one| one.place);
        let (least, most) = (places.clone().min(), places.max().unwrap_or_default());
        if least == Some(0) {
            return Err(refuse(format!(
                "{}, but parameters are numbered from 1.",
                self.told()
            )));
        }
        if most != values.len() {
            let has = match values.len() {
                0 => "no value".to_owned(),
                1 => "one value".to_owned(),
                count => format!("{count} values"),
            };
            let failure = refuse(format!("{}, but params has {has}.", self.told()));
            return Err(if self.used.is_empty() {
                failure.hint("Leave params out, or write ?1 in the SQL where the value belongs.")
            } else if most == self.used.len() {
                failure.hint("Give params one value per parameter in an array, null for NULL.")
            } else {
                failure.hint(format!(
                    "An array is bound by number, so it takes {most} values here; an object, as \
                     {{\"{most}\": value}}, takes only those that the statement uses."
                ))
            });
        }
        Ok(self
            .used
            .iter()
            .filter_map(|one| Some((one.index, &values[one.place? - 1])))
            .collect())
    }

    /// Takes `values` by their names, which are those of the statement with or without the sign in
    /// front; a bare `?` goes by its number.
    pub(super) fn by_name<'v>(
        &self,
        values: &'v [(String, Value)],
    ) -> Result<Vec<Bound<'v>>, Failure> {
        if self.used.is_empty() && !values.is_empty() {
            return self
                .by_number(std::slice::from_ref(&values[0].1))
                .map(|_| Vec::new());
        }
        let find = |name: &str| values.iter().position(|(key, _)| key == name);
        let mut left = vec![true; values.len()];
        let mut bound = Vec::with_capacity(self.used.len());
        for one in &self.used {
            let number = one.place.map(|place| place.to_string());
            let numbered = match &number {
                Some(number) if one.text == "?" => format!("?{number}"),
                _ => one.text.clone(),
            };
            let found = find(&numbered)
                .or_else(|| find(&numbered[1..]))
                .or_else(|| find(&number?));
            let Some(at) = found else {
                return Err(missing(&numbered, values));
            };
            left[at] = false;
            bound.push((one.index, &values[at].1));
        }
        // A number that the statement passes over may have a value.
        let unused = |key: &str| {
            let number = key.strip_prefix('?').unwrap_or(key).parse();
            number.is_ok_and(|number| {
                (1..=self.count).contains(&number)
                    && self.used.iter().all(|one| one.index != number)
            })
        };
        let mut left = values.iter().zip(left).filter(|(_, left)| *left);
        if let Some(((key, _), _)) = left.find(|((key, _), _)| !unused(key)) {
            let named = self.used.iter().map(|one| one.text.as_str());
            return Err(Failure::new(
                Status::Syntax,
                format!(
                    "params has a value for \"{key}\", but the statement has no such parameter; it \
                     has {}.",
                    listed(named)
                ),
            ));
        }
        Ok(bound)
    }

    /// `The statement has 2 parameters, ?1, ?2`.
    fn told(&self) -> String {
        let all = listed(self.used.iter().map(|one| one.text.as_str()));
        match self.used.len() {
            0 => "The statement has no parameters".to_owned(),
            1 => format!("The statement has one parameter, {all}"),
            count => format!("The statement has {count} parameters, {all}"),
        }
    }
}

fn missing(name: &str, values: &[(String, Value)]) -> Failure {
    let failure = Failure::new(
        Status::Syntax,
        format!("params has no value for the parameter {name}."),
    );
    let keys = values.iter().map(|(key, _)| key.as_str());
    if name.starts_with('?') && !values.is_empty() {
        let key = name.strip_prefix('?').filter(|number| !number.is_empty());
        return failure.hint(format!(
            "A parameter without a name is bound by its number: give an array, or \"{}\" as its key.",
            key.unwrap_or("1")
        ));
    }
    match suggest::nearest(&name[1..], keys) {
        Some(near) => failure.hint(format!("Did you mean {name} instead of \"{near}\"?")),
        None => failure.hint("Give null for NULL."),
    }
}

/// Names that a sentence lists at most.
const LISTED: usize = 20;

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<&str> = names.take(LISTED + 1).collect();
    if names.len() > LISTED {
        names[LISTED] = "…";
    }
    names.join(", ")
}
