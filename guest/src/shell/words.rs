//! The words of a dot command.

/// Words between blanks, `'…'` as it stands, `"…"` and bare words with C's escapes.
pub(super) fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let (word, after) = match first {
            '\'' => {
                let body = &rest[1..];
                let end = body.find('\'').unwrap_or(body.len());
                (body[..end].to_owned(), &body[end..])
            }
            '"' => {
                let body = &rest[1..];
                let end = closing(body);
                (unescape(&body[..end]), &body[end..])
            }
            _ => {
                let end = rest.find(|c: char| c.is_ascii_whitespace());
                let end = end.unwrap_or(rest.len());
                (unescape(&rest[..end]), &rest[end..])
            }
        };
        words.push(word);
        let after = match first {
            '\'' | '"' => after.get(1..).unwrap_or_default(),
            _ => after,
        };
        rest = after.trim_start();
    }
    words
}

/// Where the double quote is that ends a word.
fn closing(body: &str) -> usize {
    let mut escaped = false;
    for (index, byte) in body.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return index,
            _ => {}
        }
    }
    body.len()
}

fn unescape(word: &str) -> String {
    let mut plain = String::with_capacity(word.len());
    let mut rest = word.chars().peekable();
    while let Some(c) = rest.next() {
        let escaped = if c == '\\' { rest.next() } else { None };
        plain.push(match escaped {
            None => c,
            Some('a') => '\u{7}',
            Some('b') => '\u{8}',
            Some('t') => '\t',
            Some('n') => '\n',
            Some('v') => '\u{b}',
            Some('f') => '\u{c}',
            Some('r') => '\r',
            Some(digit @ '0'..='7') => {
                let mut code = digit.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(digit) = rest.peek().and_then(|c| c.to_digit(8)) else {
                        break;
                    };
                    code = code * 8 + digit;
                    rest.next();
                }
                char::from_u32(code & 0xff).unwrap_or('\0')
            }
            Some(other) => other,
        });
    }
    plain
}

/// A truth value as the sqlite3 program reads it; `None` for what is none.
pub(super) fn truth(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "on" | "yes" => Some(true),
        "off" | "no" => Some(false),
        number => number.parse::<i64>().ok().map(|number| number != 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hold_words_together_and_escapes_stand_for_characters() {
        assert_eq!(
            split(r#"  a 'b c\n' "d \"e\"\t" f\055g '' "un closed"#),
            ["a", r"b c\n", "d \"e\"\t", "f-g", "", "un closed"]
        );
        assert!(split("  ").is_empty());
    }

    #[test]
    fn truth_is_a_word_or_a_number() {
        assert_eq!(truth("ON"), Some(true));
        assert_eq!(truth("0"), Some(false));
        assert_eq!(truth("maybe"), None);
    }
}
