//! How a file is written, found out from how it starts where nobody has said it.
//!
//! The crates that do this (`qsv-sniffer`) bring a second reader of CSV and engines for dates and
//! regular expressions, and answer quotes and headers that are not asked for; four separators are
//! less than that.

use super::input::Coding;
use super::json;
use super::records::{Dialect, Record, Records};

/// How much of a file is looked at, in bytes.
pub(super) const SAMPLE: usize = 64 << 10;

/// How many records are looked at.
const RECORDS: usize = 200;

/// What stands between fields where nobody says so, the usual first.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// How a file is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    /// How its text is.
    pub coding: Coding,
    /// Its records; none: objects of JSON.
    pub dialect: Option<Dialect>,
    /// Whether its separator was found out rather than said.
    pub found: bool,
    /// Whether its first line only names the separator, as Excel writes it.
    pub names_separator: bool,
}

/// What is said of a file beforehand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Said<'a> {
    /// The format, by name.
    pub format: Option<&'a str>,
    /// What the file's ending stands for.
    pub ending: &'a str,
    pub separator: Option<u8>,
    /// The byte behind a record.
    pub end: Option<u8>,
}

impl Layout {
    /// That of a file whose text starts with `sample`, which is all of it if it is `whole`.
    pub(super) fn of(sample: &[u8], whole: bool, coding: Coding, said: Said<'_>) -> Self {
        let named = said.format.unwrap_or(said.ending);
        let fields_said = said.separator.is_some() || said.end.is_some();
        let json = named == "json" || said.format.is_none() && json::begins(sample);
        let mut layout = Self {
            coding,
            dialect: None,
            found: false,
            names_separator: false,
        };
        if json && !fields_said {
            return layout;
        }
        let mut dialect = Dialect::named(named);
        if dialect.quotes {
            if said.end.is_none() && returns(sample) {
                dialect.end = b'\r';
            }
            let named = separator_line(sample);
            layout.names_separator = named.is_some();
            let tabs = said.format == Some("tsv");
            if let Some(separator) = named.filter(|_| !tabs) {
                dialect.separator = separator;
            } else if said.separator.is_none() && !tabs {
                dialect.separator = separator(sample, whole, dialect);
                layout.found = dialect.separator != Dialect::named(said.ending).separator;
            }
        }
        dialect.separator = said.separator.unwrap_or(dialect.separator);
        dialect.end = said.end.unwrap_or(dialect.end);
        layout.dialect = Some(dialect);
        layout
    }
}

/// What `sep=;` in the first line names.
fn separator_line(sample: &[u8]) -> Option<u8> {
    let line = sample
        .split(|&byte| byte == b'\n' || byte == b'\r')
        .next()?;
    let line = line
        .strip_prefix(b"\"")
        .and_then(|line| line.strip_suffix(b"\""))
        .unwrap_or(line);
    match line {
        [b's' | b'S', b'e' | b'E', b'p' | b'P', b'=', separator] => Some(*separator),
        _ => None,
    }
}

/// Whether records end with a carriage return and no line feed.
fn returns(sample: &[u8]) -> bool {
    let mut quoted = false;
    let (mut returns, mut feeds) = (false, false);
    for byte in sample {
        match byte {
            b'"' => quoted = !quoted,
            b'\r' if !quoted => returns = true,
            b'\n' if !quoted => feeds = true,
            _ => {}
        }
    }
    if quoted {
        // A quote that is data, or a text that is cut.
        feeds = sample.contains(&b'\n');
        returns = sample.contains(&b'\r');
    }
    returns && !feeds
}

/// The separator that makes the most of the sample: as many records as possible have as many fields
/// as the first. Where two are as good, that with more numbers, then with more fields.
fn separator(sample: &[u8], whole: bool, usual: Dialect) -> u8 {
    let tried = SEPARATORS.into_iter().filter_map(|separator| {
        let dialect = Dialect { separator, ..usual };
        let (alike, numbers, width) = weigh(sample, whole, dialect)?;
        let preferred = separator == usual.separator;
        (width > 1).then_some(((alike, numbers, preferred, width), separator))
    });
    tried
        .max_by_key(|(weight, _)| *weight)
        .map_or(usual.separator, |(_, separator)| separator)
}

/// In a thousand: records like the first, fields that are numbers; and the fields of the first.
fn weigh(sample: &[u8], whole: bool, dialect: Dialect) -> Option<(usize, usize, usize)> {
    let mut records = Records::new(sample, dialect, SAMPLE);
    let mut record = Record::default();
    let mut widths = Vec::new();
    let mut numbers = Vec::new();
    while widths.len() < RECORDS {
        match records.next(&mut record) {
            Ok(true) if record.is_blank() => {}
            Ok(true) => {
                widths.push(record.len());
                let fields = (0..record.len()).filter_map(|index| record.field(index));
                numbers.push(fields.filter(|field| is_figure(field)).count());
            }
            Ok(false) => {
                // The last may be cut.
                if !whole && widths.len() > 1 {
                    widths.pop();
                    numbers.pop();
                }
                break;
            }
            Err(_) if !whole && widths.len() > 1 => break,
            // With another separator this is another text, and this one is none.
            Err(_) => return None,
        }
    }
    let width = *widths.first()?;
    let alike = widths.iter().filter(|&&other| other == width).count();
    let fields: usize = widths.iter().sum();
    let figures: usize = numbers.iter().sum();
    Some((alike * 1000 / widths.len(), figures * 1000 / fields, width))
}

/// Whether a field is a number, with a decimal comma too.
fn is_figure(field: &str) -> bool {
    let field = field.trim().trim_start_matches('-');
    !field.is_empty()
        && field
            .bytes()
            .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b','))
        && field.bytes().filter(|b| matches!(b, b'.' | b',')).count() < 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(text: &str) -> Layout {
        let said = Said {
            format: None,
            ending: "csv",
            separator: None,
            end: None,
        };
        Layout::of(text.as_bytes(), true, Coding::default(), said)
    }

    #[test]
    fn the_separator_is_found_out() {
        for (text, separator) in [
            ("a,b,c\n1,2,3\n", ','),
            ("a;b;c\n1;2;3\n", ';'),
            ("a;b\n1,5;2,5\n3,5;4,5\n", ';'),
            ("a\tb\n1\t2\n", '\t'),
            ("a|b\n1|2\n", '|'),
            ("a;b;c", ';'),
            ("a;b\n1;2\n\n3\n", ';'),
            ("name,note\nx,\"a;b;c\"\ny,\"d;e\"\n", ','),
            ("\"a;1\",b\n\"c;2\",d\n", ','),
            ("name;age\n\"Doe, J\";5\n\"Roe, K\";6\n", ';'),
            ("Last, First;Age\nDoe, John;5\nRoe, Jane;6\n", ';'),
            ("when,what\n2024-01-01 10:00:00,\"a|b\"\n", ','),
            ("note\nHello, world\nfoo\n", ','),
            ("one\n1\n2\n", ','),
            ("", ','),
            ("sep=;\na;b\n", ';'),
            ("sep=|\r\na,b\r\n", '|'),
        ] {
            let dialect = layout(text).dialect.unwrap();
            assert_eq!(char::from(dialect.separator), separator, "{text:?}");
        }
    }

    #[test]
    fn the_end_of_a_line_is_found_out() {
        for (text, end) in [
            ("id,name\r1,Ada\r2,Bob\r", b'\r'),
            ("id,name\r\n1,Ada\r\n", b'\n'),
            ("id,name\n1,A\rda\n", b'\n'),
            ("id,name\r1,\"A\nda\"\r", b'\r'),
            ("id,name\n1,\"A\rda\"\n", b'\n'),
            ("a", b'\n'),
        ] {
            assert_eq!(layout(text).dialect.unwrap().end, end, "{text:?}");
        }
    }

    #[test]
    fn what_is_said_decides() {
        let said = |format, ending, separator| {
            let said = Said {
                format,
                ending,
                separator,
                end: None,
            };
            Layout::of(b"{\"a\":1;2}\n", true, Coding::default(), said)
        };
        assert_eq!(said(None, "csv", None).dialect, None);
        assert_eq!(
            said(None, "csv", Some(b';')).dialect.unwrap().separator,
            b';'
        );
        assert_eq!(
            said(Some("csv"), "json", None).dialect.unwrap().separator,
            b';'
        );
        assert_eq!(
            said(Some("tsv"), "csv", None).dialect.unwrap().separator,
            b'\t'
        );
        assert_eq!(
            said(Some("ascii"), "csv", None).dialect.unwrap().separator,
            0x1f
        );
        assert_eq!(said(Some("json"), "csv", None).dialect, None);
    }
}
