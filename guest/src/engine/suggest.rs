//! "Did you mean": the names nearest to one that does not exist.

use strsim::damerau_levenshtein;

/// How many names are suggested at most.
const MOST: usize = 3;

/// Names longer than this are not compared: the distance takes the product of both lengths.
const LONGEST: usize = 64;

/// The candidates that look like `wanted`, nearest first.
pub fn nearest<'c>(wanted: &str, candidates: impl Iterator<Item = &'c str>) -> Vec<&'c str> {
    if wanted.is_empty() || wanted.len() > LONGEST {
        return Vec::new();
    }
    let wanted = wanted.to_lowercase();
    // One slip in three letters.
    let tolerance = (wanted.chars().count() / 3).max(1);
    let mut scored: Vec<(usize, &str)> = candidates
        .filter(|candidate| candidate.len() <= LONGEST)
        .filter_map(|candidate| {
            let folded = candidate.to_lowercase();
            let distance = damerau_levenshtein(&wanted, &folded);
            let contained = wanted.len() >= 3
                && folded.len() >= 3
                && (folded.contains(&wanted) || wanted.contains(&folded));
            (distance <= tolerance || contained).then_some((distance, candidate))
        })
        .collect();
    scored.sort_by_key(|(distance, _)| *distance);
    scored.dedup_by(|later, earlier| later.1 == earlier.1);
    scored
        .into_iter()
        .take(MOST)
        .map(|(_, candidate)| candidate)
        .collect()
}

/// `a`, `a or b`, `a, b or c`.
pub fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_finds_its_name() {
        let names = ["customers", "orders", "products"];
        assert_eq!(nearest("costumers", names.into_iter()), ["customers"]);
        assert_eq!(nearest("order", names.into_iter()), ["orders"]);
        assert_eq!(nearest("ORDERS", names.into_iter()), ["orders"]);
    }

    #[test]
    fn something_else_finds_nothing() {
        assert!(nearest("weather", ["customers", "orders"].into_iter()).is_empty());
        assert!(nearest("", ["a"].into_iter()).is_empty());
        assert!(nearest(&"x".repeat(1_000), ["a"].into_iter()).is_empty());
    }

    #[test]
    fn names_are_listed_as_a_person_would() {
        assert_eq!(listed(&["a"]), "a");
        assert_eq!(listed(&["a", "b", "c"]), "a, b or c");
    }
}
