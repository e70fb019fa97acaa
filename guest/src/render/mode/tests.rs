//! The modes, held to the output of the sqlite3 program 3.40.
//!
//! What it printed is in `recorded.txt`, with control characters and stray bytes as escapes.
//! `SQLARIUM_RECORD=1` with that program on the PATH writes the file anew.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use super::*;
use crate::text::hex;

const RECORDED: &str = include_str!("recorded.txt");

/// A result, how it is to be shown, and the dot commands that ask the sqlite3 program for that.
struct Case {
    name: String,
    dots: Vec<String>,
    format: Format,
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

/// Everything that a mode could trip over. Long cells are here so that `wrap` has work.
fn nasty() -> Vec<Vec<Value>> {
    use Value::{BadText, Blob, Integer, Null, Real};
    let blobs = vec![Blob(vec![]), Blob(vec![0, 1]), Blob(b"A\x7f\"".to_vec())];
    vec![
        vec![Integer(1), text("x"), Null],
        vec![Null, text(""), text("NULL")],
        vec![Real(2.5), text("it's"), text("a\"b,c")],
        vec![Real(f64::INFINITY), Real(f64::NEG_INFINITY), Real(-0.0)],
        vec![Integer(i64::MAX), Integer(i64::MIN), Integer(0)],
        vec![Real(0.1), Real(1e15), Real(1e14)],
        vec![Real(1.0 / 3.0), Real(123_456.789), Real(0.001)],
        vec![Real(19.99), Real(-0.07), Real(1e23)],
        vec![Real(5e-324), Real(f64::MAX), Real(6.02e-11)],
        vec![Real(1e300), Real(3.0), Real(99_999_999_999_999.9)],
        blobs,
        vec![text("l1\nl2\r\nl3"), text("tab\tx"), text("\t|,\t")],
        vec![text("a\n"), text("\nb"), text("a\n\nb\r\n")],
        vec![text("a\rb"), text("\\n\n"), text("\\n\\012\n\\r\r'")],
        vec![
            text("\u{1}a\u{1b}[0m\u{7f}"),
            text("日本語"),
            text("e\u{301}🦀"),
        ],
        vec![text("<&>\"'"), text("a\\b/"), text(" blanks ")],
        vec![BadText(b"a\xffb\xc3".to_vec()), text("a,b"), text("a|b")],
        vec![
            text("the quick brown fox jumps over the lazy dog, and on and on"),
            text("averyveryverylongwordwithoutanyblanks_atall"),
            text("αβγδεζηθικλμνξοπρστυφχψω αβγδε"),
        ],
    ]
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name: &str, dots: &[&str], format: Format, columns: &[&str], rows| {
        cases.push(Case {
            name: name.to_owned(),
            dots: dots.iter().map(ToString::to_string).collect(),
            format,
            columns: columns.iter().map(ToString::to_string).collect(),
            rows,
        });
    };
    for name in NAMES {
        let format = Format::named(name).unwrap();
        let dot = format!(".mode {name}");
        let mut rows = nasty();
        // JSON with bytes that are not UTF-8 differs on purpose.
        let bad = |row: &Vec<Value>| row.iter().any(|v| matches!(v, Value::BadText(_)));
        rows.retain(|row| format.mode != Mode::Json || !bad(row));
        let columns = ["a", "group", "a \"q\"\n<b>"];
        add(
            &format!("{name}, without headers"),
            &[&dot, ".headers off"],
            format.clone(),
            &columns,
            rows.clone(),
        );
        let headed = Format {
            headers: true,
            nullvalue: "<null>".into(),
            table: "order".into(),
            ..format.clone()
        };
        let dot = if name == "insert" {
            ".mode insert order".to_owned()
        } else {
            dot
        };
        add(
            &format!("{name}, with headers and a nullvalue"),
            &[&dot, ".headers on", ".nullvalue <null>"],
            headed.clone(),
            &columns,
            rows,
        );
        add(
            &format!("{name}, rows of one line"),
            &[&dot, ".headers on"],
            Format {
                nullvalue: String::new(),
                ..headed.clone()
            },
            &["id", "id", "quantity in stock", "é"],
            vec![
                vec![Value::Integer(1), text("x"), Value::Null, text("ä")],
                vec![Value::Integer(22), text("yyy"), Value::Real(0.5), text("")],
            ],
        );
        add(
            &format!("{name}, no rows"),
            &[&dot, ".headers on"],
            headed,
            &["a"],
            vec![],
        );
    }
    for name in ["box", "column", "table", "markdown"] {
        let format = Format {
            headers: true,
            widths: vec![7, -12, 0],
            ..Format::named(name).unwrap()
        };
        let dot = format!(".mode {name}");
        let columns = ["a", "a right aligned one", "c"];
        add(
            &format!("{name}, with widths"),
            &[&dot, ".headers on", ".width 7 -12 0"],
            format.clone(),
            &columns,
            nasty(),
        );
        let dot = format!("{dot} --wrap 11 --wordwrap on");
        add(
            &format!("{name}, wrapped between words"),
            &[&dot, ".headers on"],
            Format {
                widths: vec![],
                wrap: 11,
                word_wrap: true,
                ..format
            },
            &columns,
            nasty(),
        );
    }
    add(
        "list, with separators of one's own",
        &[".mode list", ".separator ' <> ' ;", ".headers on"],
        Format {
            headers: true,
            column_separator: " <> ".into(),
            row_separator: ";".into(),
            ..Format::default()
        },
        &["a", "b", "c"],
        nasty(),
    );
    add(
        "csv, with a separator of two characters",
        &[".mode csv", ".separator ab"],
        Format {
            column_separator: "ab".into(),
            ..Format::named("csv").unwrap()
        },
        &["a", "b"],
        vec![vec![text("a,b"), text("cabinet")]],
    );
    cases
}

fn ours(case: &Case) -> Vec<u8> {
    let mut out = Vec::new();
    let mut printer = Printer::new(&case.format, &case.columns);
    for row in &case.rows {
        printer.row(&mut out, row).unwrap();
    }
    printer.finish(&mut out).unwrap();
    out
}

fn digits(bytes: &[u8]) -> String {
    hex::encode(bytes)
}

/// What the sqlite3 program prints; `None` where there is none, or one of another version.
fn theirs(case: &Case) -> Option<Vec<u8>> {
    let expression = |value: &Value| match value {
        Value::Null => "NULL".into(),
        Value::Integer(i64::MIN) => "(-9223372036854775807-1)".into(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) if number.is_infinite() => {
            format!("{}1e999", if *number < 0.0 { "-" } else { "" })
        }
        Value::Real(number) => format!("{number:e}").replacen(
            'e',
            ".0e",
            usize::from(!format!("{number:e}").contains('.')),
        ),
        Value::Text(text) => format!("CAST(x'{}' AS TEXT)", digits(text.as_bytes())),
        Value::BadText(bytes) => format!("CAST(x'{}' AS TEXT)", digits(bytes)),
        Value::Blob(bytes) => format!("x'{}'", digits(bytes)),
    };
    let names: Vec<String> = case
        .columns
        .iter()
        .enumerate()
        .map(|(index, name)| format!("column{} AS \"{}\"", index + 1, name.replace('"', "\"\"")))
        .collect();
    let mut script = case.dots.join("\n");
    let rows: Vec<String> = case
        .rows
        .iter()
        .map(|row| {
            let row: Vec<String> = row.iter().map(expression).collect();
            format!("({})", row.join(","))
        })
        .collect();
    let _ = if rows.is_empty() {
        write!(script, "\nSELECT 1 AS a WHERE 0;\n")
    } else {
        write!(
            script,
            "\nSELECT {} FROM (VALUES {});\n",
            names.join(","),
            rows.join(",")
        )
    };
    let version = Command::new("sqlite3").arg("--version").output().ok()?;
    if !version.stdout.starts_with(b"3.40.") {
        return None;
    }
    let mut child = Command::new("sqlite3")
        .args(["-init", "/dev/null", "-batch", ":memory:"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(script.as_bytes()).ok()?;
    Some(child.wait_with_output().ok()?.stdout)
}

/// As it stands in the recording.
fn shown(bytes: &[u8]) -> String {
    let mut shown = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => shown.push_str("\\\\"),
                '\n' => shown.push('\n'),
                c if c.is_control() => {
                    let _ = write!(shown, "\\u{:04x}", u32::from(c));
                }
                c => shown.push(c),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

#[test]
fn every_mode_prints_what_the_sqlite3_program_was_recorded_to_print() {
    let mut recorded = RECORDED.split("\u{2042} ").skip(1);
    for case in cases() {
        let (name, output) = recorded.next().unwrap().split_once('\n').unwrap();
        assert_eq!(name, case.name);
        let output = output.strip_suffix("\u{2502}eof\n").unwrap();
        let ours = shown(&ours(&case));
        assert!(ours == output, "{name}\n{ours}\n--- recorded:\n{output}");
    }
    assert_eq!(recorded.next(), None);
}

#[test]
fn every_mode_prints_what_the_sqlite3_program_of_this_machine_prints() {
    let mut recording = String::new();
    for case in cases() {
        let Some(theirs) = theirs(&case) else {
            // Not there, or another version; the recording is compared all the same.
            return;
        };
        let _ = writeln!(
            recording,
            "\u{2042} {}\n{}\u{2502}eof",
            case.name,
            shown(&theirs)
        );
        let ours = shown(&ours(&case));
        let theirs = shown(&theirs);
        assert!(
            ours == theirs || std::env::var_os("SQLARIUM_RECORD").is_some(),
            "{}\n{ours}\n--- sqlite3:\n{theirs}",
            case.name
        );
    }
    if std::env::var_os("SQLARIUM_RECORD").is_some() {
        std::fs::write(
            concat!(env!("CARGO_MANIFEST_DIR"), "/src/render/mode/recorded.txt"),
            recording,
        )
        .unwrap();
    }
}

#[test]
fn a_long_result_is_printed_before_it_ends_and_nothing_of_it_is_lost() {
    let format = Format {
        wrap: 0,
        ..Format::named("box").unwrap()
    };
    let mut printer = Printer::new(&format, &["a".into(), "b".into()]);
    let mut out = Vec::new();
    let row = [text(&"x".repeat(1_000)), Value::Integer(7)];
    let mut rows = 0;
    while out.is_empty() {
        printer.row(&mut out, &row).unwrap();
        rows += 1;
        assert!(rows * 1_000 < 2 * HELD);
    }
    let wide = "y".repeat(1_500);
    printer
        .row(&mut out, &[text(&wide), Value::Integer(8)])
        .unwrap();
    printer.finish(&mut out).unwrap();
    let shown = String::from_utf8(out).unwrap();
    assert_eq!(shown.lines().count(), rows + 1 + 4);
    assert!(shown.contains(&format!("│ {wide} │ 8 │\n")));
}

#[test]
fn sql_keeps_a_nul_and_every_other_mode_stops_at_it() {
    let row = [text("a\0b")];
    for (name, shown) in [
        (
            "insert",
            "INSERT INTO \"table\" VALUES(CAST(x'610062' AS TEXT));\n",
        ),
        ("quote", "CAST(x'610062' AS TEXT)\n"),
        ("list", "a\n"),
        ("json", "[{\"c\":\"a\"}]\n"),
    ] {
        let mut out = Vec::new();
        let mut printer = Printer::new(&Format::named(name).unwrap(), &["c".into()]);
        printer.row(&mut out, &row).unwrap();
        printer.finish(&mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), shown);
    }
}

#[test]
fn json_is_json_whatever_the_bytes_are() {
    let mut out = Vec::new();
    let mut printer = Printer::new(&Format::named("json").unwrap(), &["c".into()]);
    for value in [
        Value::BadText(b"a\xff\x01\"".to_vec()),
        Value::Blob(vec![0, 200]),
    ] {
        printer.row(&mut out, &[value]).unwrap();
    }
    printer.finish(&mut out).unwrap();
    let rows: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(rows[0]["c"], "a\u{ff}\u{1}\"");
    assert_eq!(rows[1]["c"], "\0\u{c8}");
}
