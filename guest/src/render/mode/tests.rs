//! The modes, held to the output of the sqlite3 program.
//!
//! What it printed is in `recorded.txt`, with control characters and stray bytes as escapes. It was
//! built from the shell of 3.53.4 and the library of 3.54.1.
//! The ignored test `record` writes the file anew, with the sqlite3 program on the PATH.

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
    let blobs = vec![Blob(vec![]), Blob(vec![1, 0x1f]), Blob(b"A\x7f\"".to_vec())];
    vec![
        vec![Integer(1), text("x"), Null],
        vec![Null, text(""), text("NULL")],
        vec![Real(2.5), text("it's"), text("a\"b,c")],
        vec![Real(f64::INFINITY), Real(f64::NEG_INFINITY), Real(0.0)],
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
            text("e\u{301}𝛼"),
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
        // Where it differs on purpose.
        let other = |value: &Value| match value {
            Value::Real(number) => {
                number.is_infinite() && matches!(name, "json" | "insert" | "quote")
            }
            Value::BadText(_) => name == "json",
            _ => false,
        };
        rows.retain(|row| !row.iter().any(other));
        let mut columns = ["a", "group", "a \"q\"\n<b>"];
        if name == "line" {
            columns[2] = "a \"q\" <b>";
        }
        add(
            &format!("{name}, without headers"),
            &[&dot, ".headers off"],
            Format {
                headers: false,
                ..format.clone()
            },
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
                nullvalue: format.nullvalue,
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
        for (switch, words) in [("on", true), ("off", false)] {
            let dot = format!("{dot} --wrap 11 --wordwrap {switch}");
            add(
                &format!("{name}, wrapped, between words: {switch}"),
                &[&dot],
                Format {
                    widths: vec![],
                    wrap: 11,
                    word_wrap: words,
                    ..format.clone()
                },
                &columns,
                nasty(),
            );
        }
    }
    for (word, escape, names) in [
        (
            "symbol",
            Escape::Symbol,
            &["list", "csv", "line", "quote", "box"][..],
        ),
        ("off", Escape::Off, &["list", "csv", "line", "quote"]),
    ] {
        for name in names {
            add(
                &format!("{name}, control characters: {word}"),
                &[&format!(".mode {name} --escape {word}")],
                Format {
                    escape,
                    ..Format::named(name).unwrap()
                },
                &[
                    // `line` leaves a name as it is.
                    if *name == "line" { "ab" } else { "a\u{1}b" },
                    "c",
                ],
                vec![
                    vec![text("\u{1}a\u{1f}"), text("\u{7f}\u{85}")],
                    vec![text("l1\nl2"), text("tab\tx")],
                ],
            );
        }
    }
    add(
        "column, a narrow and a wide one",
        &[".mode column", ".width -3 5 20 1"],
        Format {
            widths: vec![-3, 5, 20, 1],
            ..Format::named("column").unwrap()
        },
        &["a", "b", "c", "d"],
        vec![vec![
            Value::Integer(1),
            Value::Integer(2),
            text("3"),
            text("日本"),
        ]],
    );
    add(
        "list, with separators of one's own",
        &[".mode list", ".separator ' <> ' /", ".headers on"],
        Format {
            headers: true,
            column_separator: " <> ".into(),
            row_separator: "/".into(),
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

/// What the sqlite3 program prints.
fn theirs(case: &Case) -> Vec<u8> {
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
    let mut child = Command::new("sqlite3")
        .args(["-init", "/dev/null", "-batch", ":memory:"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(script.as_bytes()).unwrap();
    drop(stdin);
    child.wait_with_output().unwrap().stdout
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
#[ignore = "writes the recording"]
fn record() {
    let mut recording = String::new();
    for case in cases() {
        let printed = shown(&theirs(&case));
        let _ = writeln!(recording, "\u{2042} {}\n{printed}\u{2502}eof", case.name);
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/render/mode/recorded.txt");
    std::fs::write(path, recording).unwrap();
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
fn text_goes_on_behind_a_nul() {
    for (name, escape, shown) in [
        (
            "insert",
            Escape::Ascii,
            "INSERT INTO tab VALUES(replace('a\\0b','\\0',char(0)));\n",
        ),
        ("quote", Escape::Off, "replace('a\\0b','\\0',char(0))\n"),
        ("list", Escape::Ascii, "a^@b\n"),
        ("csv", Escape::Off, "\"a\0b\"\r\n"),
        ("json", Escape::Ascii, "[{\"c\":\"a\\u0000b\"}]\n"),
        ("markdown", Escape::Off, "|  c  |\n|-----|\n| a␀b |\n"),
    ] {
        let format = Format {
            escape,
            ..Format::named(name).unwrap()
        };
        assert_eq!(printed(&format, &text("a\0b")), shown);
    }
}

#[test]
fn a_real_is_read_back_as_it_was() {
    let format = |name| Format::named(name).unwrap();
    for name in [
        "list", "csv", "json", "insert", "quote", "line", "html", "markdown",
    ] {
        let shown = printed(&format(name), &Value::Real(-0.0));
        assert!(shown.contains("-0.0"), "{shown}");
    }
    let infinity = Value::Real(f64::NEG_INFINITY);
    assert_eq!(printed(&format("json"), &infinity), "[{\"c\":-1e999}]\n");
    assert_eq!(printed(&format("quote"), &infinity), "-1e999\n");
    assert_eq!(
        printed(&format("insert"), &infinity),
        "INSERT INTO tab VALUES(-1e999);\n"
    );
}

/// One value in a column of the name `c`.
fn printed(format: &Format, value: &Value) -> String {
    let mut out = Vec::new();
    let mut printer = Printer::new(format, &["c".into()]);
    printer.row(&mut out, std::slice::from_ref(value)).unwrap();
    printer.finish(&mut out).unwrap();
    String::from_utf8(out).unwrap()
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
