//! A sentence for SQL that was written for another database, another program or a page of text.
//!
//! SQLite has refused it already; here is only said what does the same in SQLite. So a rule has to
//! fit what SQLite complains of: a word somewhere else in the statement is no reason.

mod rules;

use self::rules::{
    AUTO_KEY, BACKSLASH, BEGINNINGS, COLUMNS, ENCODED, FUNCTIONS, LIMITED, OPTIONS, PLACES, TABLES,
};
use crate::text::lexer::{Token, TokenKind, list, tokens};

/// What SQLite says of the failing statement, with which `sql` begins, and the byte in it where it
/// stumbled, if it says so. The sentence has what is to be done instead.
pub(crate) fn hint(sql: &str, said: &str, offset: Option<usize>) -> Option<String> {
    let mut at = 0;
    let mut code = Vec::new();
    let mut failing = None;
    for token in tokens(sql) {
        if token.is_code() {
            if offset.is_some_and(|offset| (at..at + token.text.len()).contains(&offset)) {
                failing = Some(code.len());
            }
            code.push(token);
        }
        at += token.text.len();
    }
    let missing = |what: &str| said.strip_prefix(what).map(str::to_lowercase);
    if let Some(hint) = wrapping(&code) {
        return Some(hint.to_owned());
    }
    // The words of a rule have to be where SQLite stumbled.
    let around = |words: &[&str]| {
        failing.is_some_and(|failing| {
            (failing.saturating_sub(words.len() - 1)..=failing)
                .any(|start| fits(words, &code[start..]) && start + words.len() > failing)
        })
    };
    if let Some((_, hint)) = ENCODED.iter().find(|(words, _)| around(words)) {
        return Some((*hint).to_owned());
    }
    if let Some(name) = missing("no such function: ") {
        return named(FUNCTIONS, |known| known == name);
    }
    if let Some(name) = missing("no such table: ").or_else(|| missing("unknown database ")) {
        // POSITION('a' IN x) reads like a search in a table.
        let position = ["POSITION", "(", "*", "IN", &name];
        if code
            .iter()
            .enumerate()
            .any(|(at, _)| fits(&position, &code[at..]))
        {
            return named(FUNCTIONS, |known| known == "position");
        }
        return named(TABLES, |known| {
            name == known || known.ends_with('.') && (name.clone() + ".").starts_with(known)
        });
    }
    if let Some(name) = missing("no such column: ") {
        if name.contains(['‘', '’', '“', '”']) {
            return Some(CURLY.to_owned());
        }
        let hint = named(COLUMNS, |known| known == name);
        return hint.or_else(|| argument(&code, failing?));
    }
    if said.starts_with("unknown table option") {
        return Some(sqlite(OPTIONS));
    }
    if !said.starts_with("near ") && !said.starts_with("unrecognized token") {
        return None;
    }
    let begins = BEGINNINGS.iter().find(|(words, _)| fits(words, &code));
    if let Some((_, hint)) = begins {
        return Some(sqlite(hint));
    }
    let failing = failing?;
    let changes = ["UPDATE", "DELETE"];
    if changes.iter().any(|verb| fits(&[*verb], &code))
        && ["ORDER", "LIMIT"].iter().any(|word| code[failing].is(word))
    {
        return Some(sqlite(LIMITED));
    }
    let mut before = code[failing.saturating_sub(2)..failing].iter();
    if before.any(|token| token.text.ends_with("\\'")) {
        return Some(BACKSLASH.to_owned());
    }
    let place = PLACES.iter().find(|(words, _)| around(words));
    place.map(|(_, hint)| sqlite(hint))
}

/// What a CREATE TABLE that SQLite has taken means elsewhere and not in SQLite, which takes any word
/// for the name of a type.
pub(crate) fn unsaid(sql: &str) -> Option<String> {
    const NUMBERS: [&str; 5] = [
        "SERIAL",
        "BIGSERIAL",
        "SMALLSERIAL",
        "AUTO_INCREMENT",
        "IDENTITY",
    ];
    const CONSTRAINTS: [&str; 10] = [
        "CONSTRAINT",
        "PRIMARY",
        "NOT",
        "NULL",
        "UNIQUE",
        "CHECK",
        "DEFAULT",
        "COLLATE",
        "REFERENCES",
        "GENERATED",
    ];
    let list = list(sql)?;
    if !fits(&["CREATE"], &list.head) || !list.head.iter().any(|token| token.is("TABLE")) {
        return None;
    }
    list.parts.iter().find_map(|part| {
        let mut code = part.iter().filter(|token| token.is_code());
        let column = code.next()?;
        let mut typed = code.take_while(|token| !CONSTRAINTS.iter().any(|word| token.is(word)));
        let word = typed.find(|token| NUMBERS.iter().any(|word| token.is(word)))?;
        Some(format!(
            "{} of column {} is no more than the name of a type here and numbers nothing. {}",
            word.text.to_uppercase(),
            column.text,
            sqlite(AUTO_KEY)
        ))
    })
}

/// What SQLite takes for a column and is none: `DATE '2024-01-01'`, `DATEDIFF(day, a, b)`.
fn argument(code: &[Token<'_>], failing: usize) -> Option<String> {
    let literal = PLACES
        .iter()
        .find(|(words, _)| matches!(words, [_, "'" | "#", ..]) && fits(words, &code[failing..]));
    if let Some((_, hint)) = literal {
        return Some(sqlite(hint));
    }
    let mut depth = 0;
    let open = code[..failing].iter().rposition(|token| {
        match token.text {
            ")" => depth += 1,
            "(" if depth == 0 => return true,
            "(" => depth -= 1,
            _ => {}
        }
        false
    })?;
    let function = code.get(open.checked_sub(1)?)?.text.to_lowercase();
    named(FUNCTIONS, |known| known == function)
}

const CURLY: &str = "The SQL has typographic quotation marks: write 'text' and \"name\".";

/// What stands around SQL where it was copied from text.
fn wrapping(code: &[Token<'_>]) -> Option<&'static str> {
    let fenced = |token: &&Token<'_>| token.text.starts_with("```") || token.text == "``";
    match code {
        _ if code.iter().any(|token| fenced(&token)) => {
            Some("The SQL is in a Markdown fence: send what is between the lines of ``` alone.")
        }
        [brace, ..] if brace.text == "{" => Some("The SQL is inside JSON: send the text alone."),
        [tag, ..] if tag.text.starts_with('<') => {
            Some("The SQL is inside a tag: send what stands in it alone.")
        }
        [word, colon, ..] if word.is("SQL") && colon.text.starts_with(':') => {
            Some("The SQL begins with a label: leave it out.")
        }
        [word, verb, ..]
            if ["sql", "sqlite", "sqlite3"]
                .iter()
                .any(|name| word.is(name))
                && ["SELECT", "WITH", "INSERT", "UPDATE", "DELETE", "CREATE"]
                    .iter()
                    .any(|name| verb.is(name)) =>
        {
            Some("The SQL begins with the name of a language, from a Markdown fence: leave it out.")
        }
        [only, rest @ ..]
            if only.kind == TokenKind::Quoted && rest.iter().all(|token| token.text == ";") =>
        {
            Some("The whole SQL is in quotation marks: send it without them.")
        }
        _ => None,
    }
}

/// What stands around SQL of which SQLite only sees that there is more than one statement.
pub(crate) fn wrapped(sql: &str) -> Option<&'static str> {
    let all = tokens(sql);
    let code: Vec<Token<'_>> = all.into_iter().filter(Token::is_code).collect();
    wrapping(&code)
}

/// What SQL that SQLite has run means in other databases, and not in SQLite.
pub(crate) fn misread(sql: &str) -> Option<String> {
    let lower = sql.to_ascii_lowercase();
    if !lower.contains("null") && !lower.contains("cast") {
        return None;
    }
    let all = tokens(sql);
    let code: Vec<Token<'_>> = all.into_iter().filter(Token::is_code).collect();
    let mut condition = false;
    let mut depth = 0_i32;
    let mut casts: Vec<i32> = Vec::new();
    for (at, token) in code.iter().enumerate() {
        let rest = &code[at..];
        match token.text {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        casts.retain(|cast| *cast <= depth);
        if fits(&["CAST", "("], rest) {
            casts.push(depth + 1);
        }
        if [
            "WHERE", "ON", "HAVING", "WHEN", "AND", "OR", "NOT", "FILTER", "SELECT",
        ]
        .iter()
        .any(|word| token.is(word))
        {
            condition = true;
        } else if token.is("SET") {
            condition = false;
        }
        let compares = match token.text {
            "=" => condition || at > 0 && code[at - 1].text == "!",
            ">" => at > 0 && code[at - 1].text == "<",
            _ => false,
        };
        if compares && rest.get(1).is_some_and(|next| next.is("NULL")) {
            return Some(sqlite(
                "a comparison with NULL is never true; x IS NULL and x IS NOT NULL test for it.",
            ));
        }
        let dated = ["DATE", "DATETIME", "TIMESTAMP", "TIME"];
        if casts.contains(&depth)
            && token.is("AS")
            && rest
                .get(1)
                .is_some_and(|next| dated.iter().any(|word| next.is(word)))
        {
            return Some(sqlite(
                "CAST(x AS DATE) gives a number; date(x) gives the day, and datetime(x) the time.",
            ));
        }
    }
    None
}

fn named(rules: &[(&[&str], &str)], is: impl Fn(&str) -> bool) -> Option<String> {
    let rule = rules
        .iter()
        .find(|(names, _)| names.iter().any(|name| is(name)));
    rule.map(|(_, hint)| sqlite(hint))
}

fn sqlite(hint: &str) -> String {
    format!("This is SQLite: {hint}")
}

/// Whether `code` begins with these words: `#` is a number, `'` a quoted text, `*` anything,
/// and `n…` what begins so.
fn fits(words: &[&str], code: &[Token<'_>]) -> bool {
    words.len() <= code.len()
        && words.iter().zip(code).all(|(word, token)| match *word {
            "*" => true,
            "#" => token.text.starts_with(|c: char| c.is_ascii_digit()),
            "'" => token.text.starts_with(['\'', '"']),
            word => match word.strip_suffix('…') {
                Some(start) => token.text.starts_with(start),
                None => token.text.eq_ignore_ascii_case(word),
            },
        })
}

/// The functions that other databases have, for a test.
#[cfg(test)]
pub(crate) fn functions_elsewhere() -> &'static [(&'static [&'static str], &'static str)] {
    FUNCTIONS
}
