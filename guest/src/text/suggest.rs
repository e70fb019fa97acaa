//! "Did you mean": the nearest of a list of names.

/// How alike two names must be, from 0 to 1, for one to be offered for the other.
const ALIKE: f64 = 0.72;

/// How many names are offered at most.
const OFFERED: usize = 3;

/// The name among `names` that `given` most likely stands for, if any is near enough.
pub(crate) fn nearest<'a>(
    given: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    closest(given, names, 1).pop()
}

/// `Did you mean a, b or c?`, where any of the names is near enough to `given`.
pub(crate) fn did_you_mean<'a>(
    given: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let near = closest(given, names, OFFERED);
    (!near.is_empty()).then(|| format!("Did you mean {}?", alternatives(&near)))
}

/// `a`, `a or b`, `a, b or c`.
pub(crate) fn alternatives(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// Up to `count` names that `given` may stand for, the likeliest first.
pub(crate) fn closest<'a>(
    given: &str,
    names: impl IntoIterator<Item = &'a str>,
    count: usize,
) -> Vec<&'a str> {
    // Names of tables come from the database: bounded, so that the comparison is too.
    let given = fold(given);
    let mut scored: Vec<(f64, &str)> = names
        .into_iter()
        .map(|name| (likeness(&given, &fold(name)), name))
        .filter(|(score, _)| *score >= ALIKE)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    scored.truncate(count);
    scored.into_iter().map(|(_, name)| name).collect()
}

/// Whether two names differ in case and in the way words are joined at most.
pub(crate) fn same(name: &str, other: &str) -> bool {
    fold(name) == fold(other)
}

/// Case and the way words are joined make no difference.
fn fold(name: &str) -> String {
    name.chars()
        .take(128)
        .filter(|c| !matches!(c, '_' | '-' | ' '))
        .flat_map(char::to_lowercase)
        .collect()
}

fn likeness(given: &str, name: &str) -> f64 {
    if given.is_empty() || name.is_empty() {
        return 0.0;
    }
    if given == name {
        return 1.0;
    }
    // "customer" for "customers", "order" for "open_orders".
    let (short, long) = if given.len() < name.len() {
        (given, name)
    } else {
        (name, given)
    };
    if short.chars().count() >= 3 && long.contains(short) {
        return 0.9 + 0.09 * short.len() as f64 / long.len() as f64;
    }
    strsim::normalized_damerau_levenshtein(given, name).max(strsim::jaro_winkler(given, name) - 0.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 5] = ["sql", "params", "limit", "output", "pattern"];

    #[test]
    fn a_slip_of_the_finger_finds_the_name() {
        assert_eq!(nearest("limt", NAMES), Some("limit"));
        assert_eq!(nearest("Limit", NAMES), Some("limit"));
        assert_eq!(nearest("parameters", NAMES), Some("params"));
        assert_eq!(nearest("sqll", NAMES), Some("sql"));
    }

    #[test]
    fn a_stranger_finds_nothing() {
        assert_eq!(nearest("zebra", NAMES), None);
        assert_eq!(nearest("", NAMES), None);
        assert_eq!(nearest("'; DROP TABLE x; --", NAMES), None);
    }

    #[test]
    fn a_part_of_a_name_finds_it_and_the_likeliest_comes_first() {
        let tables = ["orders", "order_lines", "customers", "order"];
        assert_eq!(closest("ordr", tables, 2), ["order", "orders"]);
        assert_eq!(nearest("customer", tables), Some("customers"));
    }

    #[test]
    fn suggestions_are_joined_in_plain_english() {
        let names = ["orders", "order_lines", "customers", "order"];
        assert_eq!(
            did_you_mean("ordrs", names).as_deref(),
            Some("Did you mean orders or order?")
        );
        assert_eq!(did_you_mean("zebra", names), None);
        assert_eq!(alternatives(&["a", "b", "c"]), "a, b or c");
        assert_eq!(alternatives(&["a"]), "a");
    }

    #[test]
    fn joining_words_otherwise_makes_no_difference() {
        assert_eq!(
            nearest("integrity_check", ["integrity-check"]),
            Some("integrity-check")
        );
    }

    #[test]
    fn a_very_long_name_is_compared_in_bounded_time() {
        let long = "x".repeat(1 << 20);
        assert_eq!(nearest(&long, NAMES), None);
    }
}
