//! The columns of a new table: names from a header, types from what the fields look like.

use std::collections::HashSet;

use super::records::{Cell, Record};
use super::report::Form;

/// What all fields of a column can be stored as without losing anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ColumnType {
    /// There were none that hold anything.
    #[default]
    Nothing,
    /// Whole numbers of 64 bits, written as SQLite would write them.
    Integer {
        /// Whether some have more digits than a real keeps.
        long: bool,
    },
    /// Those, and decimals of no more than 15 digits.
    Real {
        /// How many digits all of them have after the point; none if they differ.
        decimals: Option<usize>,
        /// Whether some end in a zero, which a number does not keep.
        padded: bool,
    },
    /// Values of JSON that are not all of one kind: any column with a type would change some.
    Mixed,
    /// Anything else: with zeros or a plus in front, an exponent, too many digits, zeros at
    /// the end of some.
    Text,
}

impl ColumnType {
    /// What a value that has a type could be, next to the others.
    pub(super) fn with(self, cell: Cell<'_>) -> Self {
        let other = match cell {
            Cell::Null => return self,
            Cell::Integer(_) => Self::Integer { long: false },
            Cell::Real(_) => Self::Real {
                decimals: None,
                padded: false,
            },
            Cell::Text(_) => Self::Text,
        };
        match self {
            Self::Nothing => other,
            same if same == other => same,
            _ => Self::Mixed,
        }
    }

    /// What one field could be.
    pub(super) fn of(field: &str) -> Self {
        let digits = field.strip_prefix('-').unwrap_or(field);
        let (whole, fraction) = match digits.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (digits, None),
        };
        let numeric = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let plain = numeric(whole) && (whole == "0" || !whole.starts_with('0'));
        let figures = |fraction: &str| {
            let zeros = fraction.len() - fraction.trim_start_matches('0').len();
            match whole {
                "0" => fraction.len() - zeros,
                whole => whole.len() + fraction.len(),
            }
        };
        match fraction {
            None if plain
                && field != "-0"
                && let Ok(number) = field.parse::<i64>() =>
            {
                Self::Integer {
                    long: number.unsigned_abs() > 1 << 53,
                }
            }
            Some(fraction)
                if plain
                    && numeric(fraction)
                    && figures(fraction) <= 15
                    && !(field.starts_with('-') && field.parse() == Ok(0.0)) =>
            {
                Self::Real {
                    decimals: Some(fraction.len()),
                    // A single one is how a whole number is written as a real.
                    padded: fraction.len() > 1 && fraction.ends_with('0'),
                }
            }
            _ => Self::Text,
        }
    }

    /// What has to hold both. Amounts of money are numbers, but in a column of 1.1, 1.10 and
    /// 2.0, which are no amounts, a number would make one of two.
    pub(super) fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Text | Self::Mixed, _) | (_, Self::Text | Self::Mixed) => Self::Text,
            (
                Self::Real { decimals, padded },
                Self::Real {
                    decimals: others,
                    padded: too,
                },
            ) => {
                let (decimals, padded) = (decimals.filter(|_| decimals == others), padded || too);
                if decimals.is_none() && padded {
                    Self::Text
                } else {
                    Self::Real { decimals, padded }
                }
            }
            (Self::Real { .. }, Self::Integer { long: true })
            | (Self::Integer { long: true }, Self::Real { .. }) => Self::Text,
            (real @ Self::Real { .. }, _) | (_, real @ Self::Real { .. }) => real,
            (Self::Integer { long }, Self::Integer { long: too }) => {
                Self::Integer { long: long || too }
            }
            (whole @ Self::Integer { .. }, _) | (_, whole @ Self::Integer { .. }) => whole,
            (Self::Nothing, Self::Nothing) => Self::Nothing,
        }
    }

    /// The declared type.
    pub(super) fn declared(self) -> &'static str {
        match self {
            Self::Integer { .. } => "INTEGER",
            Self::Real { .. } => "REAL",
            Self::Mixed => "",
            Self::Nothing | Self::Text => "TEXT",
        }
    }
}

/// Whether a first record is rather data than names: it holds a number or a date. Years beside a text are
/// names, as in tables with a column for each.
pub(super) fn looks_like_data(record: &Record) -> bool {
    let fields = || (0..record.len()).filter_map(|index| record.field(index));
    let year = |field: &str| field.len() == 4 && ["19", "20"].contains(&&field[..2]);
    let (values, texts): (Vec<&str>, Vec<&str>) = fields().partition(|field| is_value(field));
    !values.is_empty() && (texts.is_empty() || !values.into_iter().all(year))
}

/// Whether it is a number, or starts as a date does.
fn is_value(field: &str) -> bool {
    let date = |bytes: &[u8]| {
        let digit = |at: usize| bytes[at].is_ascii_digit();
        bytes[4] == b'-' && bytes[7] == b'-' && [0, 1, 2, 3, 5, 6, 8, 9].into_iter().all(digit)
    };
    Form::of(field) != Form::NoNumber || field.as_bytes().get(..10).is_some_and(date)
}

/// Looks for what a file whose records have one field could be split at.
pub(super) struct Split {
    /// The mark, and how often it stands in each record.
    marks: Vec<(u8, usize)>,
    records: usize,
}

impl Split {
    const MARKS: [u8; 6] = [b':', b'^', b'~', b'#', 0x01, 0x1f];

    /// After the first record.
    pub(super) fn of(record: &Record) -> Self {
        let text = record.field(0).unwrap_or_default();
        let marks = Self::MARKS.map(|mark| (mark, times(text, mark)));
        Self {
            marks: marks.into_iter().filter(|(_, times)| *times > 0).collect(),
            records: 1,
        }
    }

    /// After another.
    pub(super) fn compare(&mut self, record: &Record) {
        if let Some(text) = record.field(0) {
            self.marks
                .retain(|&(mark, before)| times(text, mark) == before);
            self.records += 1;
        }
    }

    /// What stands equally often in all of them.
    pub(super) fn found(&self) -> Option<u8> {
        let best = self.marks.iter().max_by_key(|(_, times)| *times);
        best.filter(|_| self.records > 1).map(|&(mark, _)| mark)
    }
}

fn times(text: &str, mark: u8) -> usize {
    text.bytes().filter(|&byte| byte == mark).count()
}

/// Names for columns: those of the header, numbered where they are missing or repeat.
pub(super) fn names<'a>(header: impl Iterator<Item = Option<&'a str>>) -> Vec<String> {
    let mut seen = HashSet::new();
    let wanted: Vec<String> = header
        .enumerate()
        .map(|(index, name)| {
            // A NUL would end the SQL.
            let name = name.unwrap_or_default().trim().replace('\0', "");
            if name.is_empty() {
                format!("column{}", index + 1)
            } else {
                name
            }
        })
        .collect();
    wanted
        .into_iter()
        .map(|name| {
            let mut unique = name.clone();
            let mut number = 1;
            while !seen.insert(unique.to_ascii_lowercase()) {
                number += 1;
                unique = format!("{name}_{number}");
            }
            unique
        })
        .collect()
}
