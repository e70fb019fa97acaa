//! The shell, line by line.

use std::sync::atomic::{AtomicU32, Ordering};

use super::console::{Console, Page};
use super::{Next, Shell};
use crate::command::interface::audience::Audience;
use crate::command::interface::context::Context;
use crate::command::interface::toolset::Toolset;
use crate::host::Alone;
use crate::registry::REGISTRY;
use crate::settings::{CommandSettings, EngineSettings};

fn context(engine: EngineSettings) -> Context {
    let settings = CommandSettings {
        engine,
        ..CommandSettings::default()
    };
    Context::new(settings, &Alone, &REGISTRY, Audience::Person)
}

/// What a script prints, errors in between, and the exit code.
fn ran_with(settings: EngineSettings, script: &str) -> (String, u8) {
    said(&mut context(settings), script)
}

fn said(context: &mut Context, script: &str) -> (String, u8) {
    said_bytes(context, script.as_bytes())
}

fn said_bytes(context: &mut Context, script: &[u8]) -> (String, u8) {
    let mut page = Page::new(1 << 20);
    let mut shell = Shell::new(false, None);
    let mut code = None;
    let script = script.strip_suffix(b"\n").unwrap_or(script);
    for line in script.split(|&byte| byte == b'\n') {
        if let Next::Quit(quit) = shell.feed(line, context, &mut page) {
            code = Some(quit);
            break;
        }
    }
    let code = code.unwrap_or_else(|| shell.finish(context, &mut page));
    (page.finish().0, code)
}

fn ran(script: &str) -> String {
    ran_with(EngineSettings::default(), script).0
}

#[test]
fn a_statement_can_take_several_lines_and_a_line_several_statements() {
    assert_eq!(
        ran("SELECT 1,\n  2 -- ; no end\n;SELECT 3; SELECT ';'"),
        "1|2\n3\n;\n"
    );
    assert_eq!(
        ran("/* a\n comment */\nSELECT 1\n/\nSELECT 2\ngo"),
        "1\n2\n"
    );
}

#[test]
fn the_shell_says_what_it_waits_for() {
    let mut context = context(EngineSettings::default());
    let mut page = Page::new(1_000);
    let mut shell = Shell::new(true, None);
    let mut feed = |line: &str| shell.feed(line.as_bytes(), &mut context, &mut page);
    assert_eq!(feed("SELECT '"), Next::More);
    assert_eq!(feed(";';"), Next::Ready);
    assert_eq!(feed("-- nothing"), Next::Ready);
    assert_eq!(feed(".quit"), Next::Quit(0));
}

#[test]
fn an_error_is_shown_with_its_line_and_place_and_the_shell_continues() {
    let (text, code) = ran_with(
        EngineSettings::default(),
        "SELECT 1; SELEC 2; SELECT 3;\nSELECT\n  bad;\nCREATE TABLE t(a UNIQUE);\n\
         INSERT INTO t VALUES (1), (1);\nSELECT 4;",
    );
    assert_eq!(code, 1);
    assert_eq!(
        text,
        "1\nParse error near line 1: near \"SELEC\": syntax error\n  SELEC 2; SELECT 3;\n  ^--- error here\n\
         Parse error near line 2: no such column: bad\n  SELECT   bad;\n           ^--- error here\n\
         Runtime error near line 5: UNIQUE constraint failed: t.a (19)\n4\n"
    );
}

#[test]
fn text_of_a_script_is_taken_byte_for_byte() {
    let mut context = context(EngineSettings::default());
    let script = b"CREATE TABLE t(a);\nINSERT INTO t VALUES('caf\xe9'), ('a\n\xe9''\n'), ('\xc3\xa9'); -- \xe9\n\
        -- \xff\nSELECT typeof(a), hex(a) FROM t;";
    assert_eq!(
        said_bytes(&mut context, script),
        ("text|636166E9\ntext|610AE9270A\ntext|C3A9\n".to_owned(), 0)
    );
}

#[test]
fn bytes_that_no_text_holds_are_refused_with_their_line_and_the_rest_is_run() {
    let mut context = context(EngineSettings::default());
    let script = b"CREATE TABLE t(a);\nINSERT INTO t(a)\nVALUES(caf\xe9);\n.print \xe9\n\
        PRAGMA encoding;\nSELECT count(*) FROM t;";
    let (text, code) = said_bytes(&mut context, script);
    assert_eq!(
        text,
        "Error: line 3: the byte 0xe9 is not UTF-8, and only a text in single quotes can hold it. \
         Convert the script to UTF-8, with iconv for example.\n\
         Error: line 4 is not UTF-8\nUTF-8\n0\n"
    );
    assert_eq!(code, 1);
    let wide = b"PRAGMA encoding='UTF-16le';\nCREATE TABLE u(a);\nINSERT INTO u VALUES('\xe9');";
    let (text, code) = said_bytes(&mut self::context(EngineSettings::default()), wide);
    assert!(
        text.contains("line 3") && text.contains("UTF-16le"),
        "{text}"
    );
    assert_eq!(code, 1);
}

#[test]
fn a_script_in_utf_16_is_named_as_such_and_a_byte_order_mark_is_passed_over() {
    let mut context = context(EngineSettings::default());
    let wide: Vec<u8> = "\u{feff}SELECT 1;\nSELECT 2;\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let (text, code) = said_bytes(&mut context, &wide);
    assert!(
        text.contains("UTF-16") && text.lines().count() == 1,
        "{text}"
    );
    assert_eq!(code, 1);
    assert_eq!(
        said(&mut context, "\u{feff}.print a\nSELECT 1;"),
        ("a\n1\n".to_owned(), 0)
    );
}

#[test]
fn a_text_of_many_lines_takes_no_longer_than_its_length() {
    let text = "x;\n".repeat(200_000);
    let script = format!("SELECT length('{text}');\n/* ; */ -- ;\nSELECT 2 /*\n;*/;");
    assert_eq!(ran(&script), "600000\n2\n");
}

#[test]
fn a_transaction_stays_open_between_lines_and_dot_commands() {
    assert_eq!(
        ran(
            "CREATE TABLE t(a);\nBEGIN;\nINSERT INTO t VALUES (1);\n.tables\nROLLBACK;\n\
             SELECT count(*) FROM t;\nBEGIN;\nINSERT INTO t VALUES (2);\nCOMMIT;\nSELECT a FROM t;"
        ),
        "t\n0\n2\n"
    );
}

#[test]
fn readonly_refuses_every_write_and_takes_transactions() {
    let settings = EngineSettings {
        readonly: true,
        ..EngineSettings::default()
    };
    let (text, code) = ran_with(
        settings,
        "BEGIN;\nSELECT 1;\nCOMMIT;\nCREATE TABLE t(a);\nPRAGMA user_version=3;\n.mode line",
    );
    assert_eq!(code, 1);
    assert!(text.starts_with("1\nError near line 4: "), "{text}");
    assert_eq!(text.matches("--readonly").count(), 2, "{text}");
}

#[test]
fn what_reaches_outside_is_refused_by_the_same_guards_as_everywhere() {
    for sql in [
        "ATTACH 'x.db' AS x;",
        "VACUUM INTO 'x.db';",
        "PRAGMA journal_mode=off;",
        "PRAGMA writable_schema=1;",
        "SELECT load_extension('x');",
    ] {
        let (text, code) = ran_with(EngineSettings::default(), sql);
        assert_eq!(code, 1, "{sql} {text}");
    }
}

#[test]
fn dot_commands_can_be_abbreviated_and_unknown_ones_get_a_suggestion() {
    assert_eq!(
        ran("CREATE TABLE t(a);\n.ta\n.sch t\n"),
        "t\nCREATE TABLE t(a);\n"
    );
    assert!(ran(".tabels").contains("Did you mean .tables?"));
    assert!(ran(".open x.db").contains(".open is not available"));
    assert!(ran(".shell ls").contains("cannot start programs"));
    assert!(ran(".system ls").contains("cannot start programs"));
}

#[test]
fn bail_and_exit_end_the_script_with_their_code() {
    let end = |script| ran_with(EngineSettings::default(), script);
    assert_eq!(end("SELECT 1;\n.exit 3\nSELECT 2;"), ("1\n".into(), 3));
    let (text, code) = end(".bail on\nSELEC;\nSELECT 2;");
    assert_eq!(code, 1);
    assert!(!text.contains("\n2\n"));
}

#[test]
fn parameters_are_bound_by_name_and_what_has_no_value_is_null() {
    assert_eq!(
        ran(
            ".nullvalue -\n.parameter set $a 2+3\n.parameter set @b \"'it''s'\"\n.parameter set :c text\n\
             SELECT $a, @b, :c, :d;\n.parameter list\n.parameter unset $a\n.parameter clear\nSELECT $a;"
        ),
        "5|it's|text|-\n$a 5\n:c 'text'\n@b 'it''s'\n-\n"
    );
}

#[test]
fn expert_names_an_index_that_the_planner_would_use_and_runs_nothing() {
    let text = ran(
        "CREATE TABLE o(id INTEGER PRIMARY KEY, day TEXT, amount);\n.expert\n\
         DELETE FROM o WHERE day = '2025-01-01' AND amount > 3;\n.indexes\n\
         CREATE INDEX d ON o(day);\n.expert\nSELECT * FROM o WHERE id = 1;",
    );
    assert!(
        text.contains("CREATE INDEX o_idx_day_amount ON o(day, amount);"),
        "{text}"
    );
    assert!(
        text.contains("USING INDEX o_idx_day_amount (day=? AND amount>?)"),
        "{text}"
    );
    assert!(
        text.contains("(no new indexes)\n\nSEARCH o USING INTEGER PRIMARY KEY (rowid=?)"),
        "{text}"
    );
}

#[test]
fn a_plan_is_drawn_before_its_statement() {
    assert_eq!(
        ran(
            "CREATE TABLE t(a);\n.eqp on\nSELECT * FROM t;\n.eqp off\nEXPLAIN QUERY PLAN SELECT * FROM t;"
        ),
        "QUERY PLAN\n`--SCAN t\nQUERY PLAN\n`--SCAN t\n"
    );
    assert!(ran("EXPLAIN SELECT 1;").starts_with("addr  opcode         p1"));
    let code = ran("CREATE TABLE t(a);\nEXPLAIN SELECT a FROM t;");
    let operations = code.lines().filter_map(|line| line.get(6..));
    let looped: Vec<&str> = operations
        .skip_while(|line| !line.starts_with("Rewind"))
        .skip(1)
        .take_while(|line| !line.starts_with("Next"))
        .collect();
    assert!(looped.len() > 1, "{code}");
    for line in looped {
        assert!(line.starts_with("  ") && !line.starts_with("   "), "{code}");
    }
}

#[test]
fn changes_stats_timer_and_fuel_are_shown_on_request() {
    let text = ran(
        "CREATE TABLE t(a);\n.changes on\nINSERT INTO t VALUES (1), (2);\n.changes off\n\
                    .stats on\n.timer on\nSELECT 1;\n.fuel",
    );
    assert!(text.contains("changes: 2   total_changes: 2\n"), "{text}");
    assert!(text.contains("Virtual Machine Steps:"), "{text}");
    assert!(text.contains("Run Time: real "), "{text}");
    assert!(text.contains("fuel: 0 of "), "{text}");
}

#[test]
fn a_full_page_ends_the_rows_but_not_the_writes() {
    let mut context = context(EngineSettings::default());
    let mut page = Page::new(100);
    let mut shell = Shell::new(false, None);
    let lines = "CREATE TABLE t(a);\nSELECT value FROM generate_series(1, 1000000000000);\n\
         INSERT INTO t SELECT value FROM generate_series(1, 1000) RETURNING a;";
    for line in lines.lines() {
        shell.feed(line.as_bytes(), &mut context, &mut page);
    }
    assert!(!page.has_room());
    let (text, cut) = page.finish();
    assert!(cut && text.ends_with('\n') && text.len() <= 100);
    let mut page = Page::new(100);
    shell.feed(b"SELECT count(*) FROM t;", &mut context, &mut page);
    assert_eq!(page.finish().0, "1000\n");
}

#[test]
fn settings_outlive_the_instance_and_a_lost_transaction_is_reported() {
    let mut before = context(EngineSettings::default());
    let mut page = Page::new(1_000);
    let mut shell = Shell::new(true, None);
    for line in [".mode box", ".timer on", "BEGIN;"] {
        shell.feed(line.as_bytes(), &mut before, &mut page);
    }
    let saved_state = shell.saved_state(&mut before);
    let mut after = context(EngineSettings::default());
    let mut page = Page::new(1_000);
    let mut shell = Shell::resume(true, &saved_state, &mut page);
    shell.feed(b".show", &mut after, &mut page);
    let (text, _) = page.finish();
    assert!(text.contains("transaction was rolled back"), "{text}");
    assert!(text.contains("mode: box"), "{text}");
}

#[test]
fn words_are_completed_from_the_schema_the_keywords_and_the_dot_commands() {
    let mut context = context(EngineSettings::default());
    let mut page = Page::new(1_000);
    let mut shell = Shell::new(true, None);
    shell.feed(
        b"CREATE TABLE orders(order_day, total);",
        &mut context,
        &mut page,
    );
    let mut complete = |line: &str| {
        let found = super::completion::complete(&shell, line, line.len(), &mut context);
        (found.start, found.candidates)
    };
    let (start, found) = complete("SELECT ord");
    assert_eq!(start, 7);
    assert_eq!(found[..2], ["orders", "order_day"]);
    assert!(found.contains(&"order".to_owned()));
    assert!(complete("SEL").1.contains(&"SELECT".to_owned()));
    assert_eq!(complete(".sch"), (0, vec![".schema".to_owned()]));
    assert_eq!(complete(".schema o"), (8, vec!["orders".to_owned()]));
    assert_eq!(complete(".mode m"), (6, vec!["markdown".to_owned()]));
    assert_eq!(complete("SELECT "), (0, vec![]));
}

#[test]
fn no_width_is_too_wide() {
    let name = "n".repeat(70_000);
    let text = ran(&format!(
        ".mode line\nSELECT 1 AS {name}, 2 AS b;\n.mode column --wrap 0\nSELECT '{name}' AS a, 2;\n\
         CREATE TABLE {name}(a);\nCREATE TABLE b(a);\n.tables\n\
         .parameter set ${name} 1\n.parameter set $b 2\n.parameter list"
    ));
    let ends: Vec<&str> = text
        .lines()
        .map(|line| &line[line.len().saturating_sub(7)..])
        .collect();
    assert!(ends.contains(&"   b: 2"), "{ends:?}");
    assert!(text.contains(&format!("\n{name}  2\n")));
    for widths in ["100000", "-100000"] {
        let text = ran(&format!(".width {widths}\n.mode box\nSELECT 1;\n"));
        assert!(text.lines().all(|line| line.chars().count() == 100_004));
    }
    // A line of two gigabytes, most of which nobody sees.
    let (_, code) = ran_with(
        EngineSettings::default(),
        ".width -2147483648\n.mode box\nSELECT 1;",
    );
    assert_eq!(code, 0);
}

#[test]
fn an_error_far_into_an_explained_statement_is_shown() {
    let text = ran(&format!(
        ".eqp on\nSELECT 1 + {} absent;",
        " ".repeat(70_000)
    ));
    assert!(text.contains("no such column: absent"), "{text}");
}

#[test]
fn what_ends_a_statement_ends_nothing_where_there_is_none() {
    assert_eq!(ran("go\n/\nSELECT 1;\ngo\n  GO\nSELECT 2;"), "1\n2\n");
}

#[test]
fn to_exit_with_0_is_to_exit_like_the_end_of_the_lines() {
    let end = |script: &str| ran_with(EngineSettings::default(), script).1;
    assert_eq!(end("SELECT 1;\n.exit 0"), 0);
    for last in [".exit 0", ".exit", ".quit", ""] {
        assert_eq!(end(&format!("SELEC;\n{last}")), 1);
    }
    assert_eq!(end("SELEC;\n.exit 3"), 3);
}

#[test]
fn usage_ends_with_its_last_word() {
    assert_eq!(ran(".show x"), "Usage: .show\n");
    assert_eq!(
        ran(".schema a b"),
        "Usage: .schema ?--indent? ?--nosys? ?LIKE-PATTERN?\n"
    );
}

#[test]
fn a_dump_takes_several_patterns_and_reports_what_it_omits() {
    let schema = "CREATE TABLE a(x);\nCREATE TABLE b(id INTEGER PRIMARY KEY AUTOINCREMENT);\n\
                  CREATE TABLE c(x);\nINSERT INTO a VALUES (5);\nINSERT INTO b VALUES (7);\n";
    // On the command line, a dump goes straight to the host.
    let dump = |line: &str| {
        let mut context = context(EngineSettings::default());
        context.audience = Audience::Client(Toolset::parse(&REGISTRY, "all").unwrap());
        said(&mut context, &format!("{schema}{line}")).0
    };
    let some = dump(".dump a b");
    assert!(some.contains("TABLE a(") && some.contains("TABLE b(") && !some.contains("TABLE c("));
    assert!(
        dump(".dump --preserve-rowids a").contains("INSERT INTO \"a\"(rowid,\"x\") VALUES(1,5);")
    );
    assert!(dump(".dump --newlines").contains("sqlite_sequence"));
    assert!(!dump(".dump --nosys").contains("sqlite_sequence"));
    assert_eq!(
        dump(".dump --data-only -nosys b"),
        "INSERT INTO \"b\" VALUES(7);\n"
    );
    assert!(dump(".dump d e").contains("No object has a name that matches \"d\" or \"e\"."));
    assert!(dump(".dump --bogus").starts_with("Usage: .dump"));
}

#[test]
fn lint_names_what_has_an_index_too_and_puts_a_parent_s_keys_together() {
    let schema = "CREATE TABLE p(p PRIMARY KEY);\nCREATE TABLE e(a INTEGER PRIMARY KEY);\n\
                  CREATE TABLE c(q REFERENCES p, r REFERENCES p(p), s REFERENCES e);\n\
                  CREATE INDEX cq ON c(q);\n";
    let lint = |options: &str| ran(&format!("{schema}.lint fkey-indexes {options}"));
    let (r, s) = (
        "CREATE INDEX 'c_r' ON 'c'('r'); --> p(p)\n",
        "CREATE INDEX 'c_s' ON 'c'('s'); --> e(a)\n",
    );
    let q = "/* no extra indexes required for c(q) -> p(p) */\n";
    assert_eq!(lint(""), format!("{s}{r}"));
    assert_eq!(lint("-verbose"), format!("{s}{r}{q}"));
    assert_eq!(
        lint("--verbose -group"),
        format!("-- Parent table e\n    {s}-- Parent table p\n    {r}    {q}")
    );
    assert!(lint("-x").starts_with("Usage: .lint"));
}

#[test]
fn expert_shows_what_it_tried_on_request() {
    let text = ran(
        "CREATE TABLE o(day, amount);\n.expert --verbose --sample 50\nSELECT * FROM o WHERE day = 1;",
    );
    assert_eq!(
        text,
        "-- Candidates -----------------------------\nCREATE INDEX o_idx_day ON o(day);\n\n\
         -- Query 1 --------------------------------\nSELECT * FROM o WHERE day = 1;\n\n\
         CREATE INDEX o_idx_day ON o(day);\n\nSEARCH o USING INDEX o_idx_day (day=?)\n\n"
    );
    assert_eq!(
        ran(".expert --sample"),
        "option requires an argument: -sample\n"
    );
    assert_eq!(ran(".expert --sample 101"), "value out of range: 101\n");
    assert_eq!(ran(".expert x"), "unknown option: x\n");
}

#[test]
fn the_plans_of_triggers_are_drawn_if_asked_for() {
    let schema = "CREATE TABLE e(a);\nCREATE TABLE f(a);\n\
                  CREATE TRIGGER tr AFTER INSERT ON e BEGIN INSERT INTO f SELECT a FROM e; END;\n";
    let insert = "INSERT INTO e SELECT a FROM f;";
    let plan = |eqp: &str| ran(&format!("{schema}.eqp {eqp}\n{insert}"));
    let own = "QUERY PLAN\n`--SCAN f\n";
    assert_eq!(plan("on"), own);
    assert_eq!(plan("trigger"), format!("{own}TRIGGER tr\n`--SCAN e\n"));
    assert!(plan("full").starts_with(&format!("{own}TRIGGER tr\n`--SCAN e\naddr ")));
}

#[test]
fn stats_alone_shows_what_sqlite_uses() {
    let text = ran("CREATE TABLE t(a);\n.stats\nSELECT 1;");
    assert!(text.starts_with("Memory Used:  "), "{text}");
    assert!(
        text.contains("\nPage cache hits:  ") && text.ends_with(" bytes\n1\n"),
        "{text}"
    );
}

#[test]
fn the_table_of_the_schema_has_a_schema() {
    let text = ran(".schema sqlite_schema");
    assert!(
        text.starts_with("CREATE TABLE sqlite_schema (\n  type text,\n"),
        "{text}"
    );
    assert_eq!(
        ran("CREATE TABLE t ( a,  b );\n.schema --indent"),
        "CREATE TABLE t (\n  a,\n  b\n);\n"
    );
}

/// A file below the current folder, gone in the end.
struct Scratch(String);

impl Scratch {
    fn new(text: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("sqlarium-shell-{}-{number}.txt", std::process::id());
        std::fs::write(&name, text).unwrap();
        Self(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn import_splits_at_the_separators_in_force_or_at_those_of_an_option() {
    let file = Scratch::new("a;b|c,\"d\"\n1;2|3,\"4/5\"\n");
    let columns = |before: &str, option: &str| {
        let text = ran(&format!(
            "{before}\n.import {option} {} t\n.mode list\nSELECT name FROM pragma_table_info('t');",
            file.0
        ));
        match text.strip_prefix("Created the table") {
            Some(rest) => rest.split_once(".\n").unwrap().1.to_owned(),
            None => text,
        }
    };
    assert_eq!(columns("", ""), "a;b\nc,\"d\"\n");
    assert_eq!(columns(".separator ;", ""), "a\nb|c,\"d\"\n");
    for (before, option) in [(".mode csv", ""), ("", "--csv"), (".mode quote", "-csv")] {
        assert_eq!(columns(before, option), "a;b|c\nd\n");
    }
    assert_eq!(columns(".mode tabs", ""), "a;b|c,\"d\"\n");
    assert_eq!(columns("", "--ascii"), "a;b|c,\"d\"\n1;2|3,\"4/5\"\n");
    assert_eq!(
        columns(".separator ;;", ""),
        "Error: multi-character column separators not allowed for import\n"
    );
    assert_eq!(
        columns(".separator ; \"\"", ""),
        "Error: non-null row separator required for import\n"
    );
}

#[test]
fn without_a_root_no_dot_command_finds_a_file_missing() {
    for line in [".restore /no.db", ".import /no.csv t", ".read /no.sql"] {
        let text = ran(line);
        assert!(
            text.contains("this session has no access to files"),
            "{text}"
        );
        assert!(text.contains("--root"), "{text}");
    }
}

#[test]
fn quit_in_a_file_ends_that_file() {
    let file = Scratch::new("SELECT 1;\n.quit\nSELECT 2;\n");
    assert_eq!(ran(&format!(".read {}\nSELECT 3;", file.0)), "1\n3\n");
}

#[test]
fn rows_for_an_insert_leave_out_what_the_table_computes() {
    let schema = "CREATE TABLE o(id INTEGER PRIMARY KEY, qty INT, total AS (qty * 2) STORED, \"a b\");\n\
                  INSERT INTO o(id, qty, \"a b\") VALUES(1, 2, 'x');\n.mode insert o\n";
    let rows = ran(&format!("{schema}SELECT * FROM o;"));
    assert_eq!(rows, "INSERT INTO o(id,qty,\"a b\") VALUES(1,2,'x');\n");
    // They are read back.
    let back = ran(&format!(
        "{schema}DELETE FROM o;\n{rows}.mode list\nSELECT * FROM o;"
    ));
    assert_eq!(back, "1|2|4|x\n");
    // A table that is not there may store them.
    let other = ran(&format!("{schema}.mode insert other\nSELECT * FROM o;"));
    assert_eq!(other, "INSERT INTO other VALUES(1,2,4,'x');\n");
    let some = ran(&format!("{schema}SELECT id, qty FROM o;"));
    assert_eq!(some, "INSERT INTO o VALUES(1,2);\n");
}
