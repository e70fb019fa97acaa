//! The little that is read of SQL text here: where a statement starts, and where in it something stands.
//! What a statement does is SQLite's own verdict, never read from the text.

/// The length of the white space and comments that `sql` starts with, as SQLite's tokenizer sees them.
pub(crate) fn blank(sql: &str) -> usize {
    let mut rest = sql;
    loop {
        let trimmed = rest.trim_start_matches([' ', '\t', '\n', '\u{c}', '\r', '\u{feff}', ';']);
        let after = if let Some(comment) = trimmed.strip_prefix("--") {
            comment.find('\n').map_or("", |end| &comment[end + 1..])
        } else if let Some(comment) = trimmed.strip_prefix("/*") {
            comment.find("*/").map_or("", |end| &comment[end + 2..])
        } else {
            return sql.len() - trimmed.len();
        };
        rest = after;
    }
}

/// The first word of `sql` behind white space and comments.
pub(crate) fn first_word(sql: &str) -> &str {
    let start = &sql[blank(sql)..];
    let end = start
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(start.len());
    &start[..end]
}

/// The line and the column, both from 1, of the byte at `offset`; columns count characters.
pub(crate) fn position(sql: &str, offset: usize) -> (usize, usize) {
    let before = &sql[..sql.floor_char_boundary(offset)];
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (line, before[start..].chars().count() + 1)
}

/// The words of `sql` that could be names, in lower case, quoted ones included.
pub(crate) fn words(sql: &str) -> impl Iterator<Item = String> {
    sql.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'))
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_of_both_kinds_come_before_a_statement() {
        assert_eq!(
            first_word("  -- one\n/* two\n */ ;\u{feff}EXPLAIN SELECT 1"),
            "EXPLAIN"
        );
        assert_eq!(first_word("-- only a comment"), "");
        assert_eq!(first_word("/* never closed"), "");
        assert_eq!(first_word("explain"), "explain");
    }

    #[test]
    fn a_position_counts_characters_within_its_line() {
        assert_eq!(position("SELECT 1", 7), (1, 8));
        assert_eq!(position("SELECT\n 'é', x", 14), (2, 7));
        assert_eq!(position("é", 1), (1, 1));
    }
}
