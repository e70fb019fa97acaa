//! `.schema --indent`: a statement squeezed onto one line, or one column to a line if that is long.

use crate::text::lexer::{Kind, Token, tokens};

/// What still is one line, in bytes.
const SHORT: usize = 78;

/// The statement as the sqlite3 program lays it out. Views and triggers stay as they are.
pub fn pretty(sql: &str) -> String {
    let all = tokens(sql);
    let mut words = all.iter().filter(|token| token.is_code());
    let (_create, mut kind) = (words.next(), words.next());
    if kind.is_some_and(|kind| kind.is("TEMP") || kind.is("TEMPORARY")) {
        kind = words.next();
    }
    if kind.is_some_and(|kind| kind.is("VIEW") || kind.is("TRIGGER")) {
        return sql.to_owned();
    }
    let squeezed = squeeze(&all);
    if squeezed.len() <= SHORT {
        squeezed
    } else {
        broken(&tokens(&squeezed))
    }
}

/// Blanks as single ones, and none inside of parentheses next to them.
fn squeeze(tokens: &[Token<'_>]) -> String {
    let mut text = String::new();
    for (index, token) in tokens.iter().enumerate() {
        let before = &tokens[..index];
        match token.kind {
            // The line break that ends a comment has to stay one.
            Kind::Space if is_comment(before.last()) => text.push('\n'),
            Kind::Space if text.is_empty() || text.ends_with('(') => {}
            Kind::Space if token.text.starts_with(['\n', '\r']) => text.push('\n'),
            Kind::Space => text.push(' '),
            _ => {
                if matches!(token.text, "(" | ")") && !is_comment(before.iter().rev().nth(1)) {
                    text.truncate(text.trim_end().len());
                }
                text.push_str(token.text);
            }
        }
    }
    text.truncate(text.trim_end().len());
    text
}

fn is_comment(token: Option<&Token<'_>>) -> bool {
    token.is_some_and(|token| token.kind == Kind::LineComment)
}

/// A line for each part of a list, the parentheses of which end a line and start one.
fn broken(tokens: &[Token<'_>]) -> String {
    let mut text = String::new();
    let mut depth = 0;
    let (mut broke, mut skipping) = (false, false);
    for (index, token) in tokens.iter().enumerate() {
        if std::mem::take(&mut skipping) && token.kind == Kind::Space {
            continue;
        }
        let sign = if token.kind == Kind::Sign {
            token.text
        } else {
            ""
        };
        match sign {
            "(" => depth += 1,
            ")" => {
                depth -= 1;
                if depth == 0 && broke {
                    text.truncate(text.trim_end().len());
                    text.push('\n');
                }
            }
            _ => {}
        }
        let new_line = token.kind == Kind::Space && token.text.contains('\n');
        if !(new_line && depth == 1) {
            text.push_str(token.text);
        }
        let ends = match sign {
            "(" => true,
            "," => !ends_line(&tokens[index + 1..]),
            _ => new_line,
        };
        if depth == 1 && ends {
            text.push_str("\n  ");
            (broke, skipping) = (true, true);
        }
    }
    text
}

/// Whether only blanks or a comment stand before the next line break.
fn ends_line(rest: &[Token<'_>]) -> bool {
    match rest {
        [space, rest @ ..] if space.kind == Kind::Space => {
            space.text.contains('\n') || ends_line(rest)
        }
        [] => true,
        [next, ..] => is_comment(Some(next)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_stays_on_one_line() {
        assert_eq!(
            pretty("CREATE TABLE  t ( a INT,b  TEXT DEFAULT 'x  y' )"),
            "CREATE TABLE t(a INT,b TEXT DEFAULT 'x  y')"
        );
        assert_eq!(
            pretty("CREATE TABLE t(\n  a,\n  b\n)"),
            "CREATE TABLE t(a,\nb)"
        );
        let view = "CREATE TEMP VIEW  v AS  SELECT 1";
        assert_eq!(pretty(view), view);
    }

    #[test]
    fn what_is_long_has_a_line_for_each_column() {
        assert_eq!(
            pretty(
                "CREATE TABLE staff(id INTEGER PRIMARY KEY, name TEXT NOT NULL CHECK(length(name) > 0), x) STRICT"
            ),
            "CREATE TABLE staff(\n  id INTEGER PRIMARY KEY,\n  name TEXT NOT NULL CHECK(length(name) > 0),\n  x\n) STRICT"
        );
    }

    #[test]
    fn a_comment_ends_with_its_line() {
        let sql = "CREATE TABLE t(a INT, -- the id \n b TEXT -- the rest, (whatever that is, in the end\n )";
        assert_eq!(
            pretty(sql),
            "CREATE TABLE t(\n  a INT, -- the id \n  b TEXT -- the rest, (whatever that is, in the end\n)"
        );
    }
}
