//! The rows that a statement was about to write, as a query.

use crate::engine::schema::fts::plain;
use crate::text::lexer::{Token, tokens};

/// The column that has the rowids of the rows that an UPDATE changes.
pub(super) const UPDATED: &str = "\"sqlarium rowid\"";

/// The rows that a statement was about to write.
pub(super) struct NewRows {
    /// The columns that it names, if it does.
    pub columns: Vec<String>,
    /// VALUES or SELECT.
    pub source: String,
    /// Whether it is an UPDATE; [`UPDATED`] is one more column then.
    pub updates: bool,
}

/// The code of a statement, each token with its place.
struct Code<'a> {
    sql: &'a str,
    tokens: Vec<(usize, Token<'a>)>,
}

impl<'a> Code<'a> {
    fn of(sql: &'a str) -> Self {
        let mut at = 0;
        let mut found = Vec::new();
        for token in tokens(sql) {
            if token.is_code() && (token.text != ";" || !found.is_empty()) {
                found.push((at, token));
            }
            at += token.text.len();
        }
        Self { sql, tokens: found }
    }

    fn get(&self, index: usize) -> Option<Token<'a>> {
        self.tokens.get(index).map(|(_, token)| *token)
    }

    /// The first token from `from` on, in no brackets, that `is` one of these; or the end.
    fn find(&self, from: usize, is: impl Fn(Token<'a>, Option<Token<'a>>) -> bool) -> usize {
        let mut depth = 0_i32;
        (from..self.tokens.len())
            .find(|index| {
                let token = self.tokens[*index].1;
                let found = depth == 0 && (token.text == ";" || is(token, self.get(index + 1)));
                match token.text {
                    "(" => depth += 1,
                    ")" => depth -= 1,
                    _ => {}
                }
                found
            })
            .unwrap_or(self.tokens.len())
    }

    /// The text from one token to another.
    fn text(&self, from: usize, to: usize) -> &'a str {
        let place = |index: usize| self.tokens.get(index).map_or(self.sql.len(), |(at, _)| *at);
        &self.sql[place(from)..place(to)]
    }
}

impl NewRows {
    /// Those of an INSERT or an UPDATE.
    pub(super) fn of(sql: &str) -> Option<Self> {
        let code = Code::of(sql);
        let verb = code.get(0)?;
        if verb.is("INSERT") || verb.is("REPLACE") {
            Self::inserted(&code)
        } else if verb.is("UPDATE") {
            Self::updated(&code)
        } else {
            None
        }
    }

    fn inserted(code: &Code<'_>) -> Option<Self> {
        let mut next = code.find(0, |token, _| token.is("INTO")) + 2;
        if code.get(next)?.text == "." {
            next += 2;
        }
        if code.get(next)?.is("AS") {
            next += 2;
        }
        let mut columns = Vec::new();
        if code.get(next)?.text == "(" {
            let close = (next..code.tokens.len()).find(|at| code.tokens[*at].1.text == ")")?;
            let names = code.tokens[next + 1..close].iter();
            columns = names
                .filter(|(_, token)| token.text != ",")
                .map(|(_, token)| plain(token.text))
                .collect();
            next = close + 1;
        }
        let end = code.find(next, |token, after| {
            token.is("RETURNING")
                || token.is("ON") && after.is_some_and(|after| after.is("CONFLICT"))
        });
        // What an upsert met may be what it makes of a row that is there.
        let upsert = code.tokens[end..].windows(2);
        if { upsert }.any(|pair| pair[0].1.is("DO") && pair[1].1.is("UPDATE")) {
            return None;
        }
        Some(Self {
            columns,
            source: code.text(next, end).to_owned(),
            updates: false,
        })
    }

    fn updated(code: &Code<'_>) -> Option<Self> {
        let first = if code.get(1)?.is("OR") { 3 } else { 1 };
        let set = code.find(first, |token, _| token.is("SET"));
        let ends = ["WHERE", "FROM", "RETURNING", "ORDER", "LIMIT"];
        let part = |token: Token<'_>| ends.iter().any(|end| token.is(end));
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        let mut next = set;
        loop {
            let (name, equals) = (code.get(next + 1)?, code.get(next + 2)?);
            if equals.text != "=" {
                return None;
            }
            let end = code.find(next + 3, |token, _| token.text == "," || part(token));
            columns.push(plain(name.text));
            values.push(code.text(next + 3, end));
            next = end;
            if code.get(end).is_none_or(|token| token.text != ",") {
                break;
            }
        }
        let mut condition = "";
        if let Some(token) = code.get(next) {
            if token.is("FROM") {
                return None;
            }
            if token.is("WHERE") {
                let end = code.find(next + 1, |token, _| part(token));
                condition = code.text(next, end);
            }
        }
        let table = code.text(first, set);
        Some(Self {
            columns,
            source: format!(
                "SELECT {}\n, rowid FROM {table}\n{condition}",
                values.join("\n, ")
            ),
            updates: true,
        })
    }
}
