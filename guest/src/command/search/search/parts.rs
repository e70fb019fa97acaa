//! Words that an index does not hold as words: shorter than the pieces of a trigram index, or of a
//! script that puts no blanks between words.

use crate::engine::schema::catalogue::quote;
use crate::engine::schema::fts::TextIndex;

/// How long the pieces of a trigram index are, in characters.
const PIECE: usize = 3;

/// The words of a query, its operators left out.
pub(super) fn words(query: &str) -> Vec<&str> {
    query
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty() && !["AND", "OR", "NOT", "NEAR"].contains(word))
        .collect()
}

/// Why the index may have missed rows that hold the words, as a remark; none if it has not.
pub(super) fn missed(index: &TextIndex, query: &str) -> Option<String> {
    let words = words(query);
    let what = if index.trigram && words.iter().any(|word| word.chars().count() < PIECE) {
        format!(
            "{} finds no words of fewer than {PIECE} characters",
            index.name
        )
    } else if !index.trigram && words.iter().any(|word| word.chars().any(is_unspaced)) {
        format!(
            "{} takes Chinese, Japanese or Thai text between blanks for one word (the tokenizer trigram does \
             not)",
            index.name
        )
    } else {
        return None;
    };
    Some(format!(
        "{what}, so these are the rows whose text holds all the words as parts, by LIKE, in no order of \
         relevance."
    ))
}

/// Whether a character is of a script that puts no blanks between words.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// The pattern for LIKE that a word is part of.
pub(super) fn pattern(word: &str) -> String {
    // Letters and digits alone, so that none is a wildcard.
    format!("%{word}%")
}

/// Reads the rows whose text holds all words, each a parameter.
pub(super) fn sql(index: &TextIndex, words: &[&str], full: bool) -> String {
    let columns: Vec<String> = index.columns.iter().map(|name| quote(name)).collect();
    let text: Vec<String> = columns
        .iter()
        .map(|name| format!("coalesce({name}, '')"))
        .collect();
    let text = text.join(" || char(10) || ");
    let holds: Vec<String> = (1..=words.len())
        .map(|at| format!("({text}) LIKE ?{at}"))
        .collect();
    let shown = if full {
        columns.join(", ")
    } else {
        format!(
            "substr({text}, max(1, instr(lower({text}), lower(trim(?1, '%'))) - 30), 90) AS snippet"
        )
    };
    format!(
        "SELECT rowid, NULL AS score, {shown} FROM main.{} WHERE {}",
        quote(&index.name),
        holds.join(" AND ")
    )
}
