//! A lexer for SQL, for what is shown of it: DDL that is indented, the parts of an index.
//!
//! It guards nothing; what a statement may do is the engine's verdict alone.
//! The tokens are those of <https://www.sqlite.org/lang.html>.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// Blanks and line breaks.
    Space,
    /// `-- …` up to the line break, which is not part of it.
    LineComment,
    /// `/* … */`.
    BlockComment,
    /// A keyword, a bare name or a number.
    Word,
    /// A string or a quoted name, quotes included.
    Quoted,
    /// One other character.
    Sign,
}

/// A token and its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    /// What it is.
    pub kind: TokenKind,
    /// As it stands in the SQL.
    pub text: &'a str,
}

impl Token<'_> {
    /// Whether it is this keyword.
    pub(crate) fn is(&self, word: &str) -> bool {
        self.kind == TokenKind::Word && self.text.eq_ignore_ascii_case(word)
    }

    /// Whether it is part of the statement rather than a blank or a comment.
    pub(crate) fn is_code(&self) -> bool {
        !matches!(
            self.kind,
            TokenKind::Space | TokenKind::LineComment | TokenKind::BlockComment
        )
    }
}

/// The tokens of `sql`, which together are all of it.
pub(crate) fn tokens(sql: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let (kind, end) = measure(rest, first);
        let (text, after) = rest.split_at(end);
        tokens.push(Token { kind, text });
        rest = after;
    }
    tokens
}

/// The kind of the token at the start of `rest`, and its length in bytes.
fn measure(rest: &str, first: char) -> (TokenKind, usize) {
    let run = |part: fn(char) -> bool| rest.find(|c| !part(c)).unwrap_or(rest.len());
    match first {
        c if c.is_ascii_whitespace() => (TokenKind::Space, run(|c| c.is_ascii_whitespace())),
        '-' if rest.starts_with("--") => (
            TokenKind::LineComment,
            rest.find('\n').unwrap_or(rest.len()),
        ),
        '/' if rest.starts_with("/*") => (
            TokenKind::BlockComment,
            rest[2..].find("*/").map_or(rest.len(), |end| end + 4),
        ),
        '\'' | '"' | '`' => (TokenKind::Quoted, quoted(rest, first)),
        '[' => (
            TokenKind::Quoted,
            rest.find(']').map_or(rest.len(), |end| end + 1),
        ),
        c if in_word(c) => (TokenKind::Word, run(in_word)),
        c => (TokenKind::Sign, c.len_utf8()),
    }
}

fn in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$' || !c.is_ascii()
}

/// The length of a quoted token, in which a doubled quote stands for one.
fn quoted(rest: &str, quote: char) -> usize {
    let mut at = 1;
    while let Some(end) = rest[at..].find(quote) {
        at += end + 1;
        if !rest[at..].starts_with(quote) {
            return at;
        }
        at += 1;
    }
    rest.len()
}

/// What stands in the first pair of parentheses, split at the commas that are in no other.
pub(crate) struct List<'a> {
    /// Up to the opening parenthesis.
    pub head: Vec<Token<'a>>,
    /// The parts between the commas.
    pub parts: Vec<Vec<Token<'a>>>,
    /// From behind the closing parenthesis on.
    pub tail: Vec<Token<'a>>,
}

/// Takes apart the first list of a statement, if it has one that is closed.
pub(crate) fn list(sql: &str) -> Option<List<'_>> {
    let tokens = tokens(sql);
    let open = tokens.iter().position(|token| token.text == "(")?;
    let mut parts = vec![Vec::new()];
    let mut depth = 0;
    for (index, token) in tokens.iter().enumerate().skip(open + 1) {
        match (token.kind, token.text) {
            (TokenKind::Sign, ")") if depth == 0 => {
                return Some(List {
                    head: tokens[..open].to_vec(),
                    parts,
                    tail: tokens[index + 1..].to_vec(),
                });
            }
            (TokenKind::Sign, ",") if depth == 0 => {
                parts.push(Vec::new());
                continue;
            }
            (TokenKind::Sign, "(") => depth += 1,
            (TokenKind::Sign, ")") => depth -= 1,
            _ => {}
        }
        parts.last_mut()?.push(*token);
    }
    None
}

/// The tokens on one line, single blanks between them, comments left out.
pub(crate) fn flat(tokens: &[Token<'_>]) -> String {
    let mut text = String::new();
    for token in tokens {
        if token.is_code() {
            text.push_str(token.text);
        } else if !text.is_empty() && !text.ends_with(' ') {
            text.push(' ');
        }
    }
    text.truncate(text.trim_end().len());
    text
}

/// `CREATE TABLE` with one column or constraint on each line; other statements as they are.
pub(crate) fn indent(sql: &str) -> String {
    let words: Vec<Token<'_>> = tokens(sql)
        .into_iter()
        .filter(Token::is_code)
        .take(3)
        .collect();
    let table = matches!(words.as_slice(), [create, kind, ..]
        if create.is("CREATE") && (kind.is("TABLE") || kind.is("TEMP") || kind.is("TEMPORARY")));
    let Some(list) = table.then(|| list(sql)).flatten() else {
        return sql.to_owned();
    };
    let mut text: String = list.head.iter().map(|token| token.text).collect();
    text.truncate(text.trim_end().len());
    text.push_str(" (\n");
    let last = list.parts.len() - 1;
    for (index, part) in list.parts.iter().enumerate() {
        indent_part(&mut text, part, index < last);
    }
    text.push(')');
    let tail: String = list.tail.iter().map(|token| token.text).collect();
    if !tail.trim().is_empty() {
        text.push(' ');
        text.push_str(tail.trim());
    }
    text
}

/// One part on a line of its own; its comma stands before the comments that end it.
fn indent_part(text: &mut String, part: &[Token<'_>], comma: bool) {
    let code = part.iter().rposition(Token::is_code).map_or(0, |at| at + 1);
    let mut line = String::from("  ");
    for (index, token) in part.iter().enumerate() {
        match token.kind {
            TokenKind::Space if line.ends_with(' ') => {}
            TokenKind::Space => line.push(' '),
            TokenKind::LineComment => {
                line.push_str(token.text.trim_end());
                line.push_str("\n  ");
            }
            _ => line.push_str(token.text),
        }
        if index + 1 == code && comma {
            line.push(',');
        }
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(sql: &str) -> Vec<(TokenKind, &str)> {
        tokens(sql)
            .into_iter()
            .map(|token| (token.kind, token.text))
            .collect()
    }

    #[test]
    fn tokens_are_what_sqlite_takes_them_for() {
        use TokenKind::{
            BlockComment as B, LineComment as L, Quoted as Q, Sign, Space as S, Word as W,
        };
        assert_eq!(
            kinds("a --x'\n/*,*/'it''s'\"b\"[c,]`d`(1.5)"),
            [
                (W, "a"),
                (S, " "),
                (L, "--x'"),
                (S, "\n"),
                (B, "/*,*/"),
                (Q, "'it''s'"),
                (Q, "\"b\""),
                (Q, "[c,]"),
                (Q, "`d`"),
                (Sign, "("),
                (W, "1"),
                (Sign, "."),
                (W, "5"),
                (Sign, ")"),
            ]
        );
    }

    #[test]
    fn what_is_never_closed_ends_with_the_text() {
        for sql in [
            "'a",
            "\"a",
            "[a",
            "/* a",
            "-- a",
            "`",
            "'a''",
            "/*",
            "äöü'🦀",
        ] {
            assert_eq!(
                tokens(sql)
                    .iter()
                    .map(|token| token.text)
                    .collect::<String>(),
                sql
            );
        }
        assert!(list("CREATE TABLE t(a").is_none());
        assert!(list("CREATE VIEW v AS SELECT 1").is_none());
    }

    #[test]
    fn a_list_is_split_at_its_own_commas_only() {
        let list = list("CREATE INDEX i ON t(lower(a, b), \"c,d\" DESC /* , */) WHERE a").unwrap();
        let parts: Vec<String> = list.parts.iter().map(|part| flat(part)).collect();
        assert_eq!(parts, ["lower(a, b)", "\"c,d\" DESC"]);
        assert_eq!(flat(&list.tail), "WHERE a");
    }

    #[test]
    fn a_table_is_indented_one_column_to_a_line() {
        assert_eq!(
            indent(
                "CREATE TABLE t(a INTEGER PRIMARY KEY,b TEXT DEFAULT 'x,y', CHECK(a > 0 AND b)) STRICT"
            ),
            "CREATE TABLE t (\n  a INTEGER PRIMARY KEY,\n  b TEXT DEFAULT 'x,y',\n  CHECK(a > 0 AND b)\n) STRICT"
        );
    }

    #[test]
    fn a_comment_never_swallows_a_comma() {
        assert_eq!(
            indent("CREATE TABLE t(a INT -- the id\n, b TEXT, -- after\n c)"),
            "CREATE TABLE t (\n  a INT, -- the id\n  b TEXT,\n  -- after\n  c\n)"
        );
    }

    #[test]
    fn indenting_changes_nothing_but_blanks() {
        for sql in [
            "CREATE TABLE t(a INT -- , b\n, \"x\ny\" TEXT DEFAULT 'a  b', PRIMARY KEY(a, b)) WITHOUT ROWID",
            "CREATE TABLE \"weird ( name\" (a)",
            "CREATE TABLE t AS SELECT 1",
            "CREATE VIEW v(a,b) AS SELECT 1,2",
            "CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT f(1,2); END",
        ] {
            let code = |sql: &str| -> Vec<String> {
                tokens(sql)
                    .iter()
                    .filter(|t| t.kind != TokenKind::Space)
                    .map(|t| t.text.to_owned())
                    .collect()
            };
            let mut before = code(sql);
            let mut after = code(&indent(sql));
            // A comma may change places with a comment.
            before.sort();
            after.sort();
            assert_eq!(before, after);
        }
    }
}
