//! `capabilities` and `functions`: what the running engine can do, as it shows itself.

use std::sync::Arc;

use rusqlite::Connection;

use crate::answer::failure::{Failure, Status};
use crate::answer::output::Output;
use crate::answer::value::Value;
use crate::command::interface::argument::{PATTERN, Shape, positional};
use crate::command::interface::arguments::Arguments;
use crate::command::interface::command::{Command, Effect, Group};
use crate::command::interface::context::Context;
use crate::engine::connection;
use crate::engine::connection::Access;
use crate::engine::guard::authorizer::{Authorizer, Mode};
use crate::engine::schema::catalogue::{quote, rows, text};
use crate::engine::schema::pattern::Pattern;
use crate::host::interrupt::InterruptCheck;
use crate::text::suggest::did_you_mean;

/// `capabilities` in the command table.
pub(crate) const CAPABILITIES: Command = Command {
    name: "capabilities",
    title: "Capabilities",
    group: Group::About,
    summary: "Show which SQLite features this build has, by testing each",
    description: "Show which features this SQLite has: full-text search, R-Tree, JSON, math and \
                  more, each tested by using it. An unknown name answers no.",
    arguments: &[positional(
        "name",
        Shape::Text,
        "One feature, such as fts5.",
    )],
    database: false,
    effect: Effect::Reads,
    core: false,
    run: capabilities,
};

/// `functions` in the command table.
pub(crate) const FUNCTIONS: Command = Command {
    name: "functions",
    title: "Functions",
    group: Group::About,
    summary: "List the SQL functions",
    description: "List the SQL functions: name, kind (scalar, aggregate, window) and argument \
                  counts.",
    arguments: &[PATTERN],
    database: true,
    effect: Effect::Reads,
    core: false,
    run: functions,
};

/// Something the engine may be able to do.
struct Capability {
    name: &'static str,
    what: &'static str,
    /// SQL that makes what the question needs.
    setup: &'static str,
    /// A question that answers 1 if it is there.
    probe: &'static str,
    /// Whether the guards have a say in it, and not SQLite alone.
    guarded: bool,
}

const fn ask(name: &'static str, what: &'static str, probe: &'static str) -> Capability {
    Capability {
        name,
        what,
        setup: "",
        probe,
        guarded: false,
    }
}

const fn make(
    name: &'static str,
    what: &'static str,
    setup: &'static str,
    probe: &'static str,
) -> Capability {
    Capability {
        name,
        what,
        setup,
        probe,
        guarded: false,
    }
}

/// Everything that is asked about, in the order of the alphabet.
const KNOWN: &[Capability] = &[
    Capability {
        name: "attach",
        what: "ATTACH of another database",
        setup: "ATTACH ':memory:' AS a",
        probe: "SELECT 1",
        guarded: true,
    },
    ask(
        "csv",
        "csv virtual table",
        "SELECT 1 FROM pragma_module_list WHERE name = 'csv'",
    ),
    make(
        "dbstat",
        "dbstat: pages of each table",
        "CREATE TABLE t(x)",
        "SELECT count(*) > 0 FROM dbstat",
    ),
    make(
        "foreign_keys",
        "foreign key enforcement",
        "CREATE TABLE p(x INTEGER PRIMARY KEY); CREATE TABLE c(x REFERENCES p DEFERRABLE INITIALLY DEFERRED)",
        "SELECT foreign_keys = 1 FROM pragma_foreign_keys",
    ),
    make(
        "fts3",
        "full-text search, version 3",
        "CREATE VIRTUAL TABLE f USING fts3(t); INSERT INTO f VALUES('a red fox')",
        "SELECT count(*) = 1 FROM f WHERE f MATCH 'fox'",
    ),
    make(
        "fts4",
        "full-text search, version 4",
        "CREATE VIRTUAL TABLE f USING fts4(t); INSERT INTO f VALUES('a red fox')",
        "SELECT count(*) = 1 FROM f WHERE f MATCH 'fox'",
    ),
    make(
        "fts5",
        "full-text search, version 5",
        "CREATE VIRTUAL TABLE f USING fts5(t); INSERT INTO f VALUES('a red fox')",
        "SELECT bm25(f) IS NOT NULL FROM f WHERE f MATCH 'fox'",
    ),
    make(
        "fts5_trigram",
        "full-text search for substrings",
        "CREATE VIRTUAL TABLE f USING fts5(t, tokenize = 'trigram'); INSERT INTO f VALUES('foxes')",
        "SELECT count(*) = 1 FROM f WHERE f MATCH 'oxe'",
    ),
    ask(
        "generate_series",
        "generate_series(start, stop, step)",
        "SELECT count(*) = 3 FROM generate_series(1, 3)",
    ),
    make(
        "generated_columns",
        "generated columns",
        "CREATE TABLE t(a, b AS (a + 1)); INSERT INTO t VALUES(1)",
        "SELECT b = 2 FROM t",
    ),
    make(
        "geopoly",
        "polygons in an R-Tree",
        "CREATE VIRTUAL TABLE g USING geopoly(n); \
         INSERT INTO g(_shape) VALUES('[[0,0],[1,0],[1,1],[0,1],[0,0]]')",
        "SELECT geopoly_area(_shape) = 1.0 FROM g",
    ),
    ask(
        "icu",
        "case and collation of non-ASCII text",
        "SELECT lower('Ä') = 'ä'",
    ),
    ask(
        "json",
        "JSON functions",
        "SELECT json_extract('{\"a\":[1,2]}', '$.a[1]') = 2",
    ),
    ask(
        "jsonb",
        "binary JSON",
        "SELECT typeof(jsonb('[1]')) = 'blob'",
    ),
    Capability {
        name: "load_extension",
        what: "loadable extensions",
        setup: "",
        probe: "SELECT load_extension('x') IS NULL",
        guarded: true,
    },
    ask(
        "math",
        "math functions",
        "SELECT sqrt(16.0) = 4.0 AND pi() > 3.14",
    ),
    ask(
        "percentile",
        "median and percentiles",
        "SELECT median(value) = 2 FROM json_each('[1,2,9]')",
    ),
    ask("regexp", "REGEXP", "SELECT 'abc' REGEXP 'b.'"),
    make(
        "returning",
        "RETURNING",
        "CREATE TABLE t(a); INSERT INTO t VALUES(1) RETURNING a",
        "SELECT count(*) = 1 FROM t",
    ),
    make(
        "rtree",
        "R-Tree",
        "CREATE VIRTUAL TABLE r USING rtree(id, a, b); INSERT INTO r VALUES(1, 0, 5)",
        "SELECT count(*) = 1 FROM r WHERE a <= 3 AND b >= 3",
    ),
    ask(
        "soundex",
        "soundex(text)",
        "SELECT soundex('Robert') = 'R163'",
    ),
    make(
        "stat4",
        "ANALYZE with histograms",
        "CREATE TABLE t(a); CREATE INDEX i ON t(a); \
         INSERT INTO t SELECT value % 7 FROM json_each('[1,2,3,4,5,6,7,8,9]'); ANALYZE",
        "SELECT count(*) > 0 FROM sqlite_stat4",
    ),
    make(
        "strict",
        "STRICT tables",
        "CREATE TABLE t(a INTEGER) STRICT; INSERT OR IGNORE INTO t VALUES(1)",
        "SELECT strict = 1 FROM pragma_table_list WHERE name = 't'",
    ),
    ask("uuid", "uuid()", "SELECT length(uuid()) = 36"),
    make(
        "vec0",
        "vec0 tables of sqlite-vec",
        "CREATE VIRTUAL TABLE v USING vec0(e float[2]); INSERT INTO v(rowid, e) VALUES(1, '[1, 0]'), (2, '[0, 1]')",
        "SELECT rowid = 2 FROM v WHERE e MATCH '[0.1, 1]' AND k = 1",
    ),
    ask(
        "vector_functions",
        "vector functions of sqlite-vec",
        "SELECT abs(vec_distance_cosine('[1, 0]', '[0, 1]') - 1.0) < 1e-6",
    ),
    ask(
        "window_functions",
        "window functions",
        "SELECT max(n) = 2 FROM (SELECT row_number() OVER (ORDER BY value) AS n FROM json_each('[5,6]'))",
    ),
];

/// Runs `capabilities`.
pub(crate) fn capabilities(
    context: &mut Context,
    arguments: &Arguments,
) -> Result<Output, Failure> {
    let listed: Vec<&Capability>;
    let mut notes = Vec::new();
    let mut results = Vec::new();
    if let Some(name) = arguments.text("name") {
        let folded = name.to_lowercase().replace(['-', ' '], "_");
        listed = KNOWN
            .iter()
            .filter(|capability| capability.name == folded)
            .collect();
        if listed.is_empty() {
            let shown: String = name.chars().take(100).collect();
            results.push(row(&shown, false, "unknown feature"));
            notes.extend(did_you_mean(&folded, KNOWN.iter().map(|c| c.name)));
        }
    } else {
        listed = KNOWN.iter().collect();
    }
    for capability in listed {
        let there = is_there(context, capability)?;
        results.push(row(capability.name, there, capability.what));
    }
    let columns = [
        ("capability", "TEXT"),
        ("available", "TEXT"),
        ("what", "TEXT"),
    ];
    Ok(Output {
        rows: Some(rows(&columns, results, u32::MAX)),
        notes,
        ..Output::default()
    })
}

fn row(name: &str, there: bool, what: &str) -> Vec<Value> {
    let there = if there { "yes" } else { "no" };
    [name, there, what]
        .map(|text| Value::Text(text.into()))
        .to_vec()
}

/// Tries it, on a private database in memory that is guarded like the served one.
fn is_there(context: &Context, capability: &Capability) -> Result<bool, Failure> {
    let authorizer = Authorizer::new();
    let interrupt = Arc::new(InterruptCheck::new(context.host));
    let connection = connection::open(
        None,
        Access::Write,
        &context.settings.engine.limits,
        &authorizer,
        &interrupt,
    )
    .map_err(|error| {
        Failure::new(
            Status::Internal,
            format!("Could not open a database in memory: {error}."),
        )
    })?;
    authorizer.enter(if capability.guarded {
        Mode::Write
    } else {
        Mode::Trusted
    });
    Ok(answers(&connection, capability))
}

fn answers(connection: &Connection, capability: &Capability) -> bool {
    let asked = connection.execute_batch(capability.setup).and_then(|()| {
        connection.query_row(capability.probe, [], |row| row.get::<_, Option<bool>>(0))
    });
    matches!(asked, Ok(Some(true)))
}

/// Runs `functions`.
pub(crate) fn functions(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let most = context.settings.output.max_rows;
    let pattern = arguments.text("pattern").map(str::to_owned);
    context
        .engine
        .database(arguments.db())?
        .inspect(|connection| list_functions(connection, pattern.as_deref(), most))
}

fn list_functions(
    connection: &Connection,
    pattern: Option<&str>,
    most: u32,
) -> rusqlite::Result<Output> {
    let pattern = pattern.map(Pattern::new);
    // One line for each function, however many forms it has; -> and the like are operators.
    let mut statement = connection.prepare(
        "SELECT name,
                CASE min(type) WHEN 's' THEN 'scalar' WHEN 'a' THEN 'aggregate' ELSE 'window' END,
                group_concat(CASE WHEN narg < 0 THEN 'any' ELSE narg END, ', ')
         FROM (SELECT DISTINCT name, type, narg FROM pragma_function_list
               WHERE name GLOB '[a-z_]*' ORDER BY name, narg)
         GROUP BY name, type ORDER BY name",
    )?;
    let mut cursor = statement.query([])?;
    let mut listed = Vec::new();
    while let Some(row) = cursor.next()? {
        let name = text(row, 0)?;
        let wanted = pattern
            .as_ref()
            .is_none_or(|pattern| pattern.matches(&name));
        if wanted && !is_refused(connection, &name) {
            listed.push(vec![
                Value::Text(name),
                Value::Text(text(row, 1)?),
                Value::Text(text(row, 2)?),
            ]);
        }
    }
    let columns = [
        ("function", "TEXT"),
        ("kind", "TEXT"),
        ("arguments", "TEXT"),
    ];
    Ok(Output {
        rows: Some(rows(&columns, listed, most)),
        ..Output::default()
    })
}

/// Whether the guards refuse every call of a function.
fn is_refused(connection: &Connection, name: &str) -> bool {
    // SQLite asks the guard as soon as it has found a form of the function, so try several.
    (0..=3).any(|count| {
        let arguments = vec!["NULL"; count].join(", ");
        let called = connection.prepare(&format!("SELECT {}({arguments})", quote(name)));
        // SQLite has no code of its own for this refusal.
        called.is_err_and(|error| error.to_string().contains("not authorized to use function"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(mode: Mode) -> Connection {
        let authorizer = Authorizer::new();
        let interrupt = Arc::new(InterruptCheck::new(&crate::host::Alone));
        let limits = crate::settings::EngineLimits::default();
        let connection =
            connection::open(None, Access::Write, &limits, &authorizer, &interrupt).unwrap();
        authorizer.enter(mode);
        connection
    }

    fn there(name: &str) -> bool {
        let capability = KNOWN
            .iter()
            .find(|capability| capability.name == name)
            .unwrap();
        let mode = if capability.guarded {
            Mode::Write
        } else {
            Mode::Trusted
        };
        answers(&connection(mode), capability)
    }

    #[test]
    fn what_the_build_has_answers_yes_and_what_it_has_not_answers_no() {
        for name in [
            "fts5",
            "fts5_trigram",
            "rtree",
            "geopoly",
            "json",
            "jsonb",
            "math",
            "dbstat",
            "stat4",
            "generate_series",
            "percentile",
            "regexp",
            "uuid",
            "window_functions",
            "foreign_keys",
            "strict",
            "vec0",
            "vector_functions",
        ] {
            assert!(there(name), "{name}");
        }
        for name in ["attach", "load_extension", "icu", "csv"] {
            assert!(!there(name), "{name}");
        }
    }

    #[test]
    fn the_answer_comes_from_the_engine() {
        // The same question, of a connection that was not given the module or the functions.
        let bare = Connection::open_in_memory().unwrap();
        for name in ["generate_series", "vec0", "vector_functions"] {
            let one = KNOWN.iter().find(|one| one.name == name).unwrap();
            assert!(!answers(&bare, one), "{name}");
            assert!(answers(&connection(Mode::Trusted), one), "{name}");
        }
    }

    #[test]
    fn the_list_is_in_order_and_each_name_is_there_once() {
        assert!(KNOWN.is_sorted_by(|a, b| a.name < b.name));
    }

    #[test]
    fn functions_are_listed_once_with_their_arguments() {
        let connection = connection(Mode::Inspect);
        let rows = list_functions(&connection, Some("su%"), 99)
            .unwrap()
            .rows
            .unwrap();
        let lines: Vec<String> = rows
            .rows
            .iter()
            .map(|row| {
                let cells: Vec<String> = row
                    .iter()
                    .map(|value| crate::render::cell::shown(value, 99))
                    .collect();
                cells.join("|")
            })
            .collect();
        assert!(
            lines.contains(&"substr|scalar|2, 3".to_owned()),
            "{lines:?}"
        );
        assert!(
            lines
                .iter()
                .any(|line| line.starts_with("sum|") && line.ends_with("|1")),
            "{lines:?}"
        );
    }

    #[test]
    fn a_function_that_would_be_refused_is_not_listed() {
        let connection = connection(Mode::Inspect);
        let rows = list_functions(&connection, None, 9_999)
            .unwrap()
            .rows
            .unwrap();
        let has = |name: &str| {
            rows.rows
                .iter()
                .any(|row| row[0] == Value::Text(name.into()))
        };
        assert!(has("abs") && has("json_extract"));
        assert!(!has("fts3_tokenizer") && !has("load_extension"));
    }
}
