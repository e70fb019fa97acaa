use std::io::BufReader;

use super::columns::{ColumnType, names};
use super::records::{Dialect, Problem, Record, Records};

/// The records of a text, read in pieces of every size, which all have to agree.
fn read_as(format: &str, text: &[u8]) -> Result<Vec<Vec<Option<String>>>, (u64, String)> {
    read_in(Dialect::named(format), text)
}

fn read_in(dialect: Dialect, text: &[u8]) -> Result<Vec<Vec<Option<String>>>, (u64, String)> {
    let all = |piece: usize| {
        let input = BufReader::with_capacity(piece, text);
        let mut records = Records::new(input, dialect, 1000);
        let mut record = Record::default();
        let mut rows = Vec::new();
        loop {
            match records.next(&mut record) {
                Ok(true) => rows.push(
                    (0..record.len())
                        .map(|index| record.field(index).map(str::to_owned))
                        .collect(),
                ),
                Ok(false) => return Ok(rows),
                Err(Problem::Malformed { line, what }) => return Err((line, what)),
                Err(Problem::Read(error)) => panic!("{error}"),
            }
        }
    };
    let whole = all(100_000);
    for piece in [1, 2, 3, 7] {
        assert_eq!(all(piece), whole, "in pieces of {piece}");
    }
    whole
}

fn read(text: &str) -> Vec<Vec<Option<String>>> {
    read_as("csv", text.as_bytes()).unwrap()
}

fn row(fields: &[&str]) -> Vec<Option<String>> {
    fields
        .iter()
        .map(|field| (*field != "-").then(|| (*field).to_owned()))
        .collect()
}

#[test]
fn fields_are_split_at_commas_and_records_at_line_breaks_of_either_kind() {
    assert_eq!(
        read("a,b\r\nc,d\ne,f"),
        [row(&["a", "b"]), row(&["c", "d"]), row(&["e", "f"])]
    );
    assert_eq!(read("a\n").len(), 1);
    assert_eq!(read("").len(), 0);
    // A carriage return that no line break follows is data.
    assert_eq!(read("a\rb,c\n"), [row(&["a\rb", "c"])]);
}

#[test]
fn quotes_hold_separators_line_breaks_and_doubled_quotes() {
    assert_eq!(
        read("\"a,b\",\"c\r\nd\",\"e\"\"f\"\r\nx,\"\",\"y\"\r\n"),
        [row(&["a,b", "c\r\nd", "e\"f"]), row(&["x", "", "y"])]
    );
    // A quote within a field that does not start with one is data.
    assert_eq!(read("5\" disk,b\n"), [row(&["5\" disk", "b"])]);
}

#[test]
fn an_empty_field_is_nothing_and_an_empty_string_is_in_quotes() {
    assert_eq!(read("a,,\"\"\n"), [row(&["a", "-", ""])]);
    assert_eq!(read(",\n"), [row(&["-", "-"])]);
    assert_eq!(read("a,\"\""), [row(&["a", ""])]);
    assert_eq!(read("\n\r\na\n"), [row(&["-"]), row(&["-"]), row(&["a"])]);
}

#[test]
fn a_carriage_return_can_end_a_line_too() {
    let old = Dialect {
        end: b'\r',
        ..Dialect::named("csv")
    };
    assert_eq!(
        read_in(old, b"a,b\r1,\"c\nd\"\re,f").unwrap(),
        [row(&["a", "b"]), row(&["1", "c\nd"]), row(&["e", "f"])]
    );
    let (line, what) = read_in(old, b"a\r\"b\rc\"\r\"d").unwrap_err();
    assert_eq!(line, 4);
    assert!(what.contains("never closed"), "{what}");
}

#[test]
fn the_other_dialects_have_separators_of_their_own() {
    assert_eq!(
        read_as("tsv", b"a,b\t\"c\td\"\n").unwrap(),
        [row(&["a,b", "c\td"])]
    );
    assert_eq!(
        read_as("ascii", b"a\x1f\"b\nc\x1ed\x1f\x1e").unwrap(),
        [row(&["a", "\"b\nc"]), row(&["d", "-"])]
    );
}

#[test]
fn a_malformed_record_is_reported_with_its_line() {
    let wrong = |text: &[u8]| read_as("csv", text).unwrap_err();
    let (line, what) = wrong(b"a,b\nc,\"d\n\ne");
    assert_eq!(line, 2);
    assert!(what.contains("never closed"), "{what}");
    let (line, what) = wrong(b"a\nb\n\"c\"d\n");
    assert_eq!(line, 3);
    assert!(what.contains("write each quote twice"), "{what}");
    let (line, what) = wrong(b"a,b\nc,\xe9\n");
    assert_eq!(line, 2);
    assert!(what.starts_with("field 2 is not UTF-8"), "{what}");
    // Together they would be a character, each by itself is none.
    let (_, what) = wrong(b"\xc3,\xa9\n");
    assert!(what.starts_with("field 1 is not UTF-8"), "{what}");
    let (line, what) = wrong(format!("a\n\"{}\n", "x\n".repeat(600)).as_bytes());
    assert_eq!(line, 2);
    assert!(what.contains("closing quote missing"), "{what}");
}

#[test]
fn lines_are_counted_within_quotes_too() {
    let mut records = Records::new(&b"\"a\nb\"\nc\n\nd"[..], Dialect::named("csv"), 1000);
    let mut record = Record::default();
    let mut lines = Vec::new();
    while records.next(&mut record).unwrap() {
        lines.push((record.line, record.is_blank()));
    }
    assert_eq!(lines, [(1, false), (3, false), (4, true), (5, false)]);
}

#[test]
fn only_what_loses_nothing_is_a_number() {
    for (field, kind) in [
        ("0", "INTEGER"),
        ("-12", "INTEGER"),
        ("9223372036854775807", "INTEGER"),
        ("1.50", "REAL"),
        ("-0.5", "REAL"),
        ("123456789012.345", "REAL"),
        ("0.000123456789012345", "REAL"),
        ("0.0001234567890123456", "TEXT"),
        ("007", "TEXT"),
        ("9223372036854775808", "TEXT"),
        ("12345678901234567890123", "TEXT"),
        ("1234567890123.456", "TEXT"),
        ("+1", "TEXT"),
        ("1e5", "TEXT"),
        ("-0", "TEXT"),
        ("-0.0", "TEXT"),
        (".5", "TEXT"),
        ("5.", "TEXT"),
        ("00.5", "TEXT"),
        (" 1", "TEXT"),
        ("1,5", "TEXT"),
        ("", "TEXT"),
        ("-", "TEXT"),
        ("٣", "TEXT"),
        ("0x10", "TEXT"),
        ("NaN", "TEXT"),
    ] {
        assert_eq!(ColumnType::of(field).declared(), kind, "{field}");
    }
    for (fields, kind) in [
        (&[][..], "TEXT"),
        (&["1", "2.5"], "REAL"),
        (&["4.50", "12.00", "7"], "REAL"),
        (&["0.1", "0.25"], "REAL"),
        (&["1.1", "1.10"], "TEXT"),
        (&["1.25", "2.0"], "REAL"),
        (&["1.10", "2.0"], "TEXT"),
        (&["9007199254740993", "0.5"], "TEXT"),
        (&["9007199254740993", "5"], "INTEGER"),
        (&["1", "x"], "TEXT"),
    ] {
        let kinds = fields.iter().map(|field| ColumnType::of(field));
        let joined = kinds.fold(ColumnType::Nothing, ColumnType::join);
        assert_eq!(joined.declared(), kind, "{fields:?}");
    }
}

#[test]
fn names_are_those_of_the_header_and_never_repeat() {
    let header = [
        Some(" id "),
        Some("Name"),
        Some("name"),
        None,
        Some(""),
        Some("name_2"),
    ];
    assert_eq!(
        names(header.into_iter()),
        ["id", "Name", "name_2", "column4", "column5", "name_2_2"]
    );
}
