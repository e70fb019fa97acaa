use serde_json::json;

use super::*;
use crate::answer::failure::Status;
use crate::answer::output::Column;
use crate::answer::value::Value;

fn rows(columns: &[&str], rows: Vec<Vec<Value>>) -> Rows {
    Rows {
        columns: columns
            .iter()
            .map(|name| Column {
                name: (*name).into(),
                declared: String::new(),
            })
            .collect(),
        rows,
        limit: 200,
        ..Rows::default()
    }
}

fn shown(rows: Rows, limits: &OutputLimits) -> String {
    let output = Output {
        rows: Some(rows),
        ..Output::default()
    };
    render(
        "ask for fewer columns, page with LIMIT and OFFSET, or use output json.",
        &output,
        limits,
    )
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

#[test]
fn a_table_is_aligned_with_numbers_to_the_right() {
    let rows = rows(
        &["name", "n", "note"],
        vec![
            vec![text("ab"), Value::Integer(5), text("x")],
            vec![text("日本"), Value::Integer(-1200), Value::Null],
        ],
    );
    assert_eq!(
        shown(rows, &OutputLimits::default()),
        "name      n  note\n----  -----  ----\nab        5  x\n日本  -1200  NULL\n(2 rows)\n"
    );
}

#[test]
fn an_empty_result_shows_its_headers() {
    assert_eq!(
        shown(rows(&["a", "b"], vec![]), &OutputLimits::default()),
        "a  b\n-  -\n(0 rows)\n"
    );
}

#[test]
fn columns_of_one_name_are_all_shown() {
    let rows = rows(
        &["id", "id"],
        vec![vec![Value::Integer(1), Value::Integer(2)]],
    );
    assert_eq!(
        shown(rows, &OutputLimits::default()),
        "id  id\n--  --\n 1   2\n(1 row)\n"
    );
}

#[test]
fn the_count_says_that_more_rows_exist_and_how_to_get_them() {
    let mut some = rows(&["a"], vec![vec![Value::Integer(1)]]);
    some.more = true;
    let limits = OutputLimits::default();
    let text = shown(some.clone(), &limits);
    assert!(text.ends_with("(1 row; more rows exist, raise the limit of 200)\n"));
    some.total = Some(7);
    let text = shown(some.clone(), &limits);
    assert!(text.ends_with("(1 of 7 rows; more rows exist, raise the limit of 200)\n"));
    some.limit = limits.max_rows;
    let text = shown(some, &limits);
    assert!(text.ends_with("(1 of 7 rows; more rows exist than --max-rows allows)\n"));
}

#[test]
fn whole_rows_come_up_to_the_budget_and_then_what_is_left() {
    let many = (0..5_000)
        .map(|n| vec![Value::Integer(n), text("twenty characters xx")])
        .collect();
    let page = shown(rows(&["n", "t"], many), &OutputLimits::default());
    assert!(page.len() <= 48_000, "{}", page.len());
    let lines: Vec<&str> = page.lines().collect();
    let shown = lines.len() - 4;
    assert!(shown > 1_000);
    assert!(lines[2..2 + shown].iter().all(|line| line.ends_with("xx")));
    assert_eq!(
        lines[2 + shown],
        format!(
            "… {} more rows not shown (text budget of 48000 bytes, --text): ask for fewer \
             columns, page with LIMIT and OFFSET, or use output json.",
            5_000 - shown
        )
    );
    assert_eq!(lines[3 + shown], "(5000 rows)");
}

#[test]
fn a_long_cell_is_cut_with_how_to_read_the_rest() {
    let page = shown(
        rows(
            &["id", "body"],
            vec![vec![Value::Integer(1), text(&"x".repeat(1 << 20))]],
        ),
        &OutputLimits::default(),
    );
    assert!(page.contains("xxx… (1048576 characters)\n"));
    assert!(page.contains(
        "Text longer than 2000 characters is cut in body: read the rest with substr(body, 2001), or ask for output json."
    ));
    assert!(page.len() < 5_000);
}

#[test]
fn a_row_that_would_not_fit_by_itself_is_cut_harder() {
    let row = || {
        (0..30)
            .map(|_| text(&"y".repeat(5_000)))
            .collect::<Vec<Value>>()
    };
    let names: Vec<String> = (0..30).map(|n| format!("c{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let page = shown(rows(&names, vec![row()]), &OutputLimits::default());
    assert!(page.len() <= 48_000);
    assert!(
        page.contains("(1 row)") && !page.contains("not shown"),
        "{}",
        &page[page.len() - 300..]
    );
    assert!(
        page.contains("is cut in c0 (and 29 other columns)"),
        "{}",
        &page[page.len() - 300..]
    );
}

#[test]
fn one_very_long_cell_does_not_widen_every_row() {
    let mut many: Vec<Vec<Value>> = (0..300)
        .map(|n| vec![Value::Integer(n), text("short"), text("tail")])
        .collect();
    many[7][1] = text(&"z".repeat(1_900));
    let data: usize = 10 + 90 * 2 + 200 * 3 + 299 * 5 + 1_900 + 300 * 4;
    let page = shown(rows(&["n", "body", "t"], many), &OutputLimits::default());
    assert!(page.contains("(300 rows)"));
    // Separators and line ends are five for each row.
    let padding = page.len() - data - 302 * 5;
    assert!(padding <= data + 300, "{padding} for {data}");
}

#[test]
fn hostile_cells_and_names_leave_a_row_a_row() {
    let page = shown(
        rows(
            &["a\nb", "\u{1b}[2J"],
            vec![
                vec![text("x\ny\u{202e}"), text("")],
                vec![Value::Null, text("NULL")],
            ],
        ),
        &OutputLimits::default(),
    );
    assert_eq!(
        page,
        "'a\\nb'        '\\u001b[2J'\n------------  -----------\n\
         'x\\ny\\u202e'  ''\nNULL          'NULL'\n\
         Text in '…' has escapes: \\n is a line break, \\t a tab, \\uXXXX a character that cannot be seen, \
         \\\\ a backslash, '' a quote.\n(2 rows)\n"
    );
}

#[test]
fn hundreds_of_columns_stand_below_each_other() {
    let names: Vec<String> = (0..300).map(|n| format!("c{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let row = (0..300).map(Value::Integer).collect::<Vec<Value>>();
    let page = shown(
        rows(&names, vec![row.clone(), row]),
        &OutputLimits::default(),
    );
    assert!(page.starts_with("-- row 1 --\nc0 = 0\nc1 = 1\n"));
    assert!(page.contains("-- row 2 --\n") && page.ends_with("c299 = 299\n(2 rows)\n"));
    let empty = shown(rows(&names, vec![]), &OutputLimits::default());
    assert!(empty.starts_with("c0\nc1\n") && empty.ends_with("(0 rows)\n"));
}

#[test]
fn two_thousand_columns_with_long_names_stay_within_the_budget() {
    let names: Vec<String> = (0..2_000)
        .map(|n| format!("{n}{}", "n".repeat(60)))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let row = (0..2_000).map(|_| text("value")).collect::<Vec<Value>>();
    let page = shown(rows(&names, vec![row]), &OutputLimits::default());
    assert!(page.len() <= 48_000);
    assert!(page.contains("name the columns that you need"), "{page}");
}

#[test]
fn the_budget_is_in_bytes_whatever_the_alphabet() {
    let budget = OutputLimits::default().text_bytes as usize;
    let many = (0..200).map(|_| vec![text(&"漢".repeat(200))]).collect();
    let page = shown(rows(&["t"], many), &OutputLimits::default());
    assert!(
        (budget - 2_000..=budget).contains(&page.len()),
        "{}",
        page.len()
    );
    assert!(page.contains("more rows not shown"), "{page}");
    let wide = (0..30).map(|_| text(&"漢".repeat(5_000))).collect();
    let names: Vec<String> = (0..30).map(|n| format!("c{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let page = shown(rows(&names, vec![wide]), &OutputLimits::default());
    assert!(page.len() <= budget && page.contains("(1 row)"), "{page}");
}

#[test]
fn the_line_is_a_budget_too_and_escapes_count() {
    let limits = OutputLimits::default();
    let many = (0..5_000).map(|_| vec![text(&"\"".repeat(50))]).collect();
    let page = shown(rows(&["q"], many), &limits);
    let line = serde_json::to_string(&page).unwrap().len();
    assert!((60_000..=65_536 - 1_024).contains(&line), "{line}");
    assert!(page.contains("(budget of 65536 bytes for a line with a result, --text)"));
    let wide = (0..30).map(|_| text(&"\"".repeat(5_000))).collect();
    let names: Vec<String> = (0..30).map(|n| format!("c{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let page = shown(rows(&names, vec![wide]), &limits);
    assert!(
        page.contains("(1 row)") && page.contains("is cut in c0"),
        "{page}"
    );
}

#[test]
fn a_long_name_of_a_column_is_cut_and_leaves_room_for_the_rows() {
    let name = format!("length('{}')", "x".repeat(30_000));
    let many = (0..300).map(|n| vec![Value::Integer(n)]).collect();
    let page = shown(rows(&[&name], many), &OutputLimits::default());
    assert!(page.contains("x…\n") && page.contains("299\n"), "{page}");
    assert!(page.contains("longer than 60 characters are cut: AS gives short ones."));
    assert!(page.ends_with("(300 rows)\n"));
}

#[test]
fn the_reply_budget_holds_for_text_too() {
    let limits = OutputLimits {
        text_bytes: 1_000_000,
        reply_bytes: 100_000,
        ..OutputLimits::default()
    };
    let many = (0..5_000).map(|_| vec![text(&"\"".repeat(50))]).collect();
    let page = shown(rows(&["q"], many), &limits);
    assert!(serde_json::to_string(&page).unwrap().len() < 100_000);
    assert!(page.contains("more rows not shown"));
}

#[test]
fn text_comes_before_rows_and_remarks_after_them() {
    let output = Output {
        text: Some("head\u{7}\n".into()),
        rows: Some(rows(&["a"], vec![])),
        changes: Some(1),
        last_insert_rowid: Some(9),
        notes: vec!["note\nwith break".into()],
        ..Output::default()
    };
    assert_eq!(
        render("use output json.", &output, &OutputLimits::default()),
        "head\\u0007\n\na\n-\nCharacters that cannot be seen are shown as \\uXXXX or \\r, which is not what the text \
         holds; output json and files have it as it is.\n(0 rows)\n1 row changed.\nLast inserted rowid: 9.\nnote\\nwith break\n"
    );
    assert_eq!(
        render(
            "use output json.",
            &Output::default(),
            &OutputLimits::default()
        ),
        "Done.\n"
    );
}

#[test]
fn long_text_ends_with_what_is_left() {
    let output = Output {
        text: Some("line\n".repeat(20_000)),
        ..Output::default()
    };
    let page = render(
        "narrow it with pattern, or use output json.",
        &output,
        &OutputLimits::default(),
    );
    assert!(page.len() <= 48_000);
    assert!(page.ends_with("--text): narrow it with pattern, or use output json.\n"));
}

#[test]
fn a_refusal_is_its_status_and_sentences() {
    let failure = Failure::new(Status::NotFound, "There is no table x.").hint("Did you mean y?");
    assert_eq!(
        refusal(&failure),
        "not_found: There is no table x. Did you mean y?"
    );
    let failure = Failure::new(Status::Syntax, "near \"\u{1b}[31m\"");
    assert_eq!(refusal(&failure), "syntax: near \"\\u001b[31m\"");
    assert_eq!(
        json!(refusal(&failure)).as_str().unwrap().lines().count(),
        1
    );
}
