//! "Did you mean": the nearest of a list of names.

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

/// Up to `count` names that `given` may stand for, the likeliest first. None is better than one that
/// was not meant.
pub(crate) fn closest<'a>(
    given: &str,
    names: impl IntoIterator<Item = &'a str>,
    count: usize,
) -> Vec<&'a str> {
    let given = Words::of(given);
    let mut ranked: Vec<(Likeness, &str)> = names
        .into_iter()
        .filter_map(|name| Some((likeness(&given, &Words::of(name))?, name)))
        .collect();
    ranked.sort();
    ranked.dedup_by_key(|(_, name)| *name);
    // Where it is a matter of spelling, nothing else was meant.
    match ranked.first() {
        Some((Likeness::Same, _)) => ranked.retain(|(found, _)| *found == Likeness::Same),
        Some((Likeness::Slips(..), _)) => {
            ranked.retain(|(found, _)| matches!(found, Likeness::Slips(..)));
        }
        _ => {}
    }
    ranked.truncate(count);
    ranked.into_iter().map(|(_, name)| name).collect()
}

/// Whether two names differ in case and in the way words are joined at most.
pub(crate) fn same(name: &str, other: &str) -> bool {
    fold(name) == fold(other)
}

/// Case and the way words are joined make no difference.
fn fold(name: &str) -> String {
    Words::of(name).joined
}

/// How one name may stand for another, the likeliest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Likeness {
    /// They differ in case and joints.
    Same,
    /// One is the plural of the other.
    Plural,
    /// So many slips of the finger, and so many with the plural.
    Slips(usize, usize),
    /// The last words are what is given, and there are so many more: an `order` is a `sales_order`.
    Kind(usize),
    /// The words that are given are among those of the name.
    Within(usize),
    /// The other way round.
    Without(usize),
    /// One begins like the other: `desc`, `description`.
    Start(usize),
}

/// A name in its words, in lower case.
struct Words {
    joined: String,
    /// In the singular.
    words: Vec<String>,
}

impl Words {
    fn of(name: &str) -> Self {
        let mut words: Vec<String> = vec![String::new()];
        let mut small = false;
        // Names of tables come from the database: bounded, so that the comparison is too.
        for c in name.chars().take(128) {
            if matches!(c, '_' | '-' | ' ' | '.') || c.is_uppercase() && small {
                words.push(String::new());
            }
            if !matches!(c, '_' | '-' | ' ' | '.')
                && let Some(word) = words.last_mut()
            {
                word.extend(c.to_lowercase());
            }
            small = c.is_lowercase();
        }
        words.retain(|word| !word.is_empty());
        Self {
            joined: words.concat(),
            words: words.iter().map(|word| singular(word)).collect(),
        }
    }

    fn singular(&self) -> String {
        self.words.concat()
    }
}

fn singular(word: &str) -> String {
    let stem = |end: &str, instead: &str| Some(word.strip_suffix(end)?.to_owned() + instead);
    let found = match word.len() {
        0..=3 => None,
        _ if word.ends_with("ss") => None,
        _ => stem("ies", "y")
            .or_else(|| stem("sses", "ss"))
            .or_else(|| stem("xes", "x"))
            .or_else(|| stem("s", "")),
    };
    found.unwrap_or_else(|| word.to_owned())
}

fn likeness(given: &Words, name: &Words) -> Option<Likeness> {
    if given.joined.is_empty() || name.joined.is_empty() {
        return None;
    }
    let (one, other) = (given.singular(), name.singular());
    if given.joined == name.joined {
        return Some(Likeness::Same);
    }
    if one == other {
        return Some(Likeness::Plural);
    }
    let spelled = strsim::damerau_levenshtein(&given.joined, &name.joined);
    let slips = spelled.min(strsim::damerau_levenshtein(&one, &other));
    let length = |text: &str| text.chars().count();
    let (shorter, longer) = {
        let (a, b) = (length(&given.joined), length(&name.joined));
        (a.min(b), a.max(b))
    };
    let first = |text: &str| text.chars().next();
    let forgiven = match longer {
        0..=2 => 0,
        // In a word so short another first letter makes another word.
        3..=4 if first(&one) != first(&other) => 0,
        3..=7 => 1,
        8..=11 => 2,
        _ => 3,
    };
    if slips <= forgiven {
        return Some(Likeness::Slips(slips, spelled));
    }
    let (few, many) = (&given.words, &name.words);
    let more = many.len().abs_diff(few.len());
    let contains = |all: &[String], some: &[String]| some.iter().all(|word| all.contains(word));
    if many.ends_with(few) {
        return Some(Likeness::Kind(more));
    }
    if contains(many, few) {
        return Some(Likeness::Within(more));
    }
    if contains(few, many) {
        return Some(Likeness::Without(more));
    }
    let begins = one.starts_with(&other) || other.starts_with(&one);
    (begins && shorter >= 3).then_some(Likeness::Start(longer - shorter))
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
    fn what_is_offered_is_what_was_meant_or_nothing() {
        let tables = [
            "order_line",
            "sales_order",
            "customer",
            "category",
            "film_actor",
        ];
        let columns = [
            "customer_id",
            "first_name",
            "description",
            "amount",
            "id",
            "country_id",
        ];
        let functions = [
            "substr",
            "strftime",
            "json_extract",
            "group_concat",
            "abs",
            "max",
        ];
        for (given, names, meant) in [
            ("orders", &tables[..], &["sales_order", "order_line"][..]),
            ("order_lines", &tables, &["order_line"]),
            ("OrderLine", &tables, &["order_line"]),
            ("SalesOrders", &tables, &["sales_order"]),
            ("customers", &tables, &["customer"]),
            ("custmer", &tables, &["customer"]),
            ("cust", &tables, &["customer"]),
            ("tbl_customer", &tables, &["customer"]),
            ("categories", &tables, &["category"]),
            ("actors", &tables, &["film_actor"]),
            ("actor", &tables, &["film_actor"]),
            ("line", &tables, &["order_line"]),
            ("invoices", &tables, &[]),
            ("cars", &tables, &[]),
            ("ale", &tables, &[]),
            ("Country_ID", &columns, &["country_id"]),
            ("county_id", &columns, &["country_id"]),
            ("cuntry_id", &columns, &["country_id"]),
            ("customerId", &columns, &["customer_id"]),
            ("desc", &columns, &["description"]),
            ("account", &columns, &[]),
            ("mount", &columns, &["amount"]),
            ("film_id", &columns, &["id"]),
            ("name", &columns, &["first_name"]),
            ("salary", &columns, &[]),
            ("extract", &functions, &["json_extract"]),
            ("substring", &functions, &["substr"]),
            ("concat", &functions, &["group_concat"]),
            ("sum", &functions, &[]),
            ("gemini", &["claude-code", "cursor", "zed"], &[]),
        ] {
            assert_eq!(closest(given, names.iter().copied(), 3), meant, "{given}");
        }
    }

    #[test]
    fn a_name_is_offered_once() {
        assert_eq!(
            did_you_mean("county_id", ["country_id", "city_id", "country_id"]).as_deref(),
            Some("Did you mean country_id?")
        );
    }

    #[test]
    fn a_very_long_name_is_compared_in_bounded_time() {
        let long = "x".repeat(1 << 20);
        assert_eq!(nearest(&long, NAMES), None);
    }
}
