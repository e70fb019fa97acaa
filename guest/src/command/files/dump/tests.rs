use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::literal::{literal, real};
use crate::render::mode::Escape;

#[test]
fn reals_come_back_with_every_bit() {
    let connection = Connection::open_in_memory().unwrap();
    let mut numbers = vec![
        0.0,
        -0.0,
        1.0,
        0.1,
        -2.5,
        1e15,
        1e16,
        123_456_789.123_456_79,
        1e22,
        1e23,
        9_007_199_254_740_993.0,
        f64::MAX,
        f64::MIN_POSITIVE,
        5e-324,
        1e-310,
        -1e-310,
        1e-290,
        1e300,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..20_000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let number = f64::from_bits(state);
        if !number.is_nan() {
            numbers.push(number);
        }
    }
    for number in numbers {
        let sql = format!("SELECT {}", real(number));
        let back: f64 = connection.query_row(&sql, [], |row| row.get(0)).unwrap();
        assert_eq!(back.to_bits(), number.to_bits(), "{number:e} as {sql}");
    }
}

#[test]
fn a_real_is_short_where_that_is_exact() {
    for (number, sql) in [(1.0, "1.0"), (-2.5, "-2.5"), (0.1, "1.0000000000000001e-1")] {
        assert_eq!(real(number), sql);
    }
}

#[test]
fn text_is_written_unchanged_unless_a_line_reader_would_change_it() {
    let shown = |value: ValueRef<'_>| {
        let mut out = Vec::new();
        literal(&mut out, value, Escape::Off).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert_eq!(shown(ValueRef::Text(b"it's\n'")), "'it''s\n'''");
    assert_eq!(shown(ValueRef::Text(b"")), "''");
    assert_eq!(
        shown(ValueRef::Text(b"a\0b")),
        "replace('a\\0b','\\0',char(0))"
    );
    assert_eq!(
        shown(ValueRef::Text(b"'\\r\\r1\r\n\0")),
        "replace(replace('''\\r\\r1\\r2\n\\0','\\0',char(0)),'\\r2',char(13))"
    );
    assert_eq!(shown(ValueRef::Text(b"\xff")), "CAST(x'ff' AS TEXT)");
    assert_eq!(shown(ValueRef::Blob(b"\x00\xab")), "x'00ab'");
    assert_eq!(shown(ValueRef::Integer(i64::MIN)), "-9223372036854775808");
    assert_eq!(shown(ValueRef::Null), "NULL");
}
