//! Counts of things, in words.

/// The number and what there is of it: `1 row`, `2 rows`, `0 indexes`, `3 entries`.
pub(crate) fn count(number: impl TryInto<u64>, noun: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    if number == 1 {
        return format!("1 {noun}");
    }
    let consonant = |stem: &str| !stem.ends_with(['a', 'e', 'i', 'o', 'u']);
    match noun.strip_suffix('y') {
        Some(stem) if consonant(stem) => format!("{number} {stem}ies"),
        _ if noun.ends_with(['s', 'x']) || noun.ends_with("ch") => format!("{number} {noun}es"),
        _ => format!("{number} {noun}s"),
    }
}

/// A number with a comma after each three digits.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_number_is_read_in_groups_of_three() {
        for (number, said) in [
            (0, "0"),
            (999, "999"),
            (2_000, "2,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), said);
        }
    }

    #[test]
    fn one_thing_is_not_many() {
        for (number, noun, said) in [
            (0, "row", "0 rows"),
            (1, "row", "1 row"),
            (2, "index", "2 indexes"),
            (1, "index", "1 index"),
            (3, "entry", "3 entries"),
            (3, "foreign key", "3 foreign keys"),
            (3, "match", "3 matches"),
        ] {
            assert_eq!(count(number, noun), said);
        }
    }
}
