//! The dot commands: their names, what they take, and which one a word stands for.

use std::io::Write;

use super::{
    LineError, Shell, ShellContext, commands, error, expert, files, lint, listings, parameter, set,
    words,
};
use crate::text::suggest::nearest;

/// Runs a dot command; its words come without its name.
type Run = fn(&mut Shell, &[String], &mut ShellContext<'_>) -> Result<(), LineError>;

/// One dot command.
pub(super) struct Dot {
    /// Its name.
    pub name: &'static str,
    /// The least number of letters that stand for it.
    least: usize,
    /// What it takes.
    takes: &'static str,
    /// What it does; a line for each thing to know.
    help: &'static str,
    run: Run,
}

impl Dot {
    /// How to call it, as a refusal.
    fn usage(&self) -> LineError {
        LineError::Said(format!("Usage: {}", self.call()))
    }

    fn call(&self) -> String {
        format!(".{} {}", self.name, self.takes).trim_end().into()
    }
}

const fn dot(
    name: &'static str,
    least: usize,
    takes: &'static str,
    help: &'static str,
    run: Run,
) -> Dot {
    Dot {
        name,
        least,
        takes,
        help,
        run,
    }
}

/// Every dot command. The first whose name starts as the word does is meant, if the word is long enough.
pub(super) static DOTS: &[Dot] = &[
    dot(
        "backup",
        3,
        "?--overwrite? ?main? FILE",
        "Backup the database to FILE\n\
         --overwrite  Replace an existing file",
        commands::backup,
    ),
    dot(
        "bail",
        3,
        "on|off",
        "Stop after hitting an error.  Default OFF",
        set::bail,
    ),
    dot(
        "changes",
        3,
        "on|off",
        "Show number of rows changed by SQL",
        set::changes,
    ),
    dot(
        "databases",
        2,
        "",
        "List names and files of the databases",
        listings::databases,
    ),
    dot(
        "dump",
        1,
        "?OPTIONS? ?OBJECTS?",
        "Render database content as SQL\n\
         OBJECTS            LIKE patterns for the names of objects to render\n\
         --data-only        Output only INSERT statements\n\
         --newlines         Allow unescaped newline characters in output (always on)\n\
         --nosys            Omit system tables (ex: \"sqlite_stat1\")\n\
         --preserve-rowids  Include ROWID values in the output",
        commands::dump_sql,
    ),
    dot(
        "echo",
        1,
        "on|off",
        "Turn command echo on or off",
        set::echo,
    ),
    dot(
        "eqp",
        2,
        "on|off|trigger|full",
        "Show the query plan of each statement before it runs\n\
         trigger  Show the plans of its triggers too\n\
         full     Show the bytecode too",
        set::eqp,
    ),
    dot(
        "exit",
        3,
        "?CODE?",
        "Exit this program with return-code CODE",
        set::exit,
    ),
    dot(
        "explain",
        4,
        "?on|off|auto?",
        "Change the EXPLAIN formatting mode.  Default: auto",
        set::explain,
    ),
    dot(
        "expert",
        4,
        "?OPTIONS?",
        "Suggest indexes for the next statements instead of running them\n\
         --verbose   Show the indexes that were tried too\n\
         --sample N  Accepted and ignored: run ANALYZE to gather statistics",
        expert::turn_on,
    ),
    dot(
        "export",
        4,
        "?OPTIONS? TABLE FILE",
        "Write the rows of TABLE into FILE\n\
         --csv --json --tabs --markdown --insert --quote --line --html  Format; default: by file extension\n\
         --no-header  Omit column names\n\
         --overwrite  Replace an existing file",
        commands::export,
    ),
    dot(
        "fuel",
        1,
        "",
        "Show the fuel used by the last statement, and the budget",
        set::fuel,
    ),
    dot(
        "headers",
        1,
        "on|off",
        "Turn display of headers on or off",
        set::headers,
    ),
    dot("help", 3, "?PATTERN?", "Show help text for PATTERN", help),
    dot(
        "import",
        2,
        "?OPTIONS? FILE TABLE",
        "Import data from FILE into TABLE\n\
         --csv --tsv --ascii  Format; default: by the current separators\n\
         --skip N             Skip the first N records\n\
         --no-header          The first record is data\n\
         -v                   Print a summary",
        commands::import,
    ),
    dot(
        "indexes",
        1,
        "?LIKE-PATTERN?",
        "Show names of indexes of matching tables",
        listings::indexes,
    ),
    dot(
        "lint",
        3,
        "fkey-indexes ?OPTIONS?",
        "Report foreign keys whose columns have no index\n\
         -verbose        List those that have one too\n\
         -groupbyparent  Group the report by parent table",
        lint::run,
    ),
    dot(
        "mode",
        1,
        "MODE ?OPTIONS?",
        "Set output mode\n\
         MODE is one of: ascii box column csv html insert json line list\n\
         markdown qbox quote table tabs tcl\n\
         --wrap N       Wrap output lines to no longer than N characters\n\
         --wordwrap B   Wrap or not at word boundaries per B (on/off)\n\
         --ww           Shorthand for \"--wordwrap 1\"\n\
         --quote        Quote output text as SQL literals\n\
         --noquote      Do not quote output text\n\
         --escape E     Show control characters by E (off, ascii, symbol)\n\
         TABLE          The name of SQL table used for \"insert\" mode",
        set::mode,
    ),
    dot(
        "nullvalue",
        1,
        "STRING",
        "Use STRING in place of NULL values",
        set::nullvalue,
    ),
    dot(
        "once",
        2,
        "?--overwrite? FILE",
        "Output for the next SQL command only to FILE\n\
         --overwrite  Replace an existing file",
        files::once,
    ),
    dot(
        "output",
        1,
        "?--overwrite? ?FILE?",
        "Send output to FILE or stdout if FILE is omitted\n\
         --overwrite  Replace an existing file",
        files::output,
    ),
    dot(
        "parameter",
        1,
        "CMD ...",
        "Manage SQL parameter bindings\n\
         clear           Erase all bindings\n\
         init            Does nothing: bindings need no table\n\
         list            List the current parameter bindings\n\
         set NAME VALUE  Given parameter NAME a value of VALUE\n\
         unset NAME      Remove NAME",
        parameter::run,
    ),
    dot("print", 3, "STRING...", "Print literal STRING", set::print),
    dot("quit", 1, "", "Exit this program", set::quit),
    dot("read", 3, "FILE", "Read input from FILE", files::read),
    dot(
        "restore",
        3,
        "?main? FILE",
        "Restore content of the database from FILE",
        commands::restore,
    ),
    dot(
        "schema",
        3,
        "?--indent? ?--nosys? ?LIKE-PATTERN?",
        "Show the CREATE statements matching PATTERN\n\
         --indent             One column per line\n\
         --nosys              Omit objects whose names start with \"sqlite_\"",
        listings::schema,
    ),
    dot(
        "separator",
        3,
        "COL ?ROW?",
        "Change the column and row separators",
        set::separator,
    ),
    dot(
        "show",
        3,
        "",
        "Show the current values for various settings",
        set::show,
    ),
    dot(
        "stats",
        2,
        "?on|off?",
        "Show SQLite's counters after each statement, or its memory use now",
        set::stats,
    ),
    dot(
        "tables",
        2,
        "?TABLE?",
        "List names of tables matching LIKE pattern TABLE",
        listings::tables,
    ),
    dot(
        "timer",
        3,
        "on|off",
        "Show time and fuel after each statement",
        set::timer,
    ),
    dot(
        "width",
        1,
        "NUM1 NUM2 ...",
        "Set minimum column widths for columnar output",
        set::width,
    ),
];

/// What the sqlite3 program has and a sandbox has not: why, and what to use.
const REFUSED: &[(&str, &str)] = &[
    ("archive", "the sandbox cannot open archive files"),
    (
        "auth",
        "the authorizer is part of the sandbox and cannot be traced",
    ),
    ("binary", "results are always printed unchanged"),
    (
        "cd",
        "the sandbox has no current folder; name files by their path",
    ),
    ("check", "it is only for tests of the sqlite3 program"),
    ("clone", "it would create another database; use .backup"),
    ("connection", "a shell has one connection to one database"),
    (
        "dbconfig",
        "only the owner of the database can change the configuration",
    ),
    ("dbinfo", "use .databases or PRAGMA statements"),
    (
        "excel",
        "the sandbox cannot start programs; use .mode csv and .once FILE",
    ),
    ("filectrl", "the host manages files outside the sandbox"),
    ("fullschema", "use .schema and SELECT * FROM sqlite_stat1"),
    (
        "imposter",
        "change the schema with CREATE, ALTER and DROP only",
    ),
    (
        "limit",
        "the budgets are fixed when the shell starts; see sqlarium shell --help",
    ),
    (
        "load",
        "extensions cannot be loaded; the functions command lists what is built in",
    ),
    ("log", "there is no log"),
    (
        "nonce",
        "there is no safe mode to suspend: the sandbox is always on",
    ),
    (
        "open",
        "a shell works on the database it was started with; start another with sqlarium shell FILE",
    ),
    ("progress", "Ctrl-C, --timeout and --fuel end a statement"),
    ("prompt", "the prompts cannot be changed"),
    (
        "recover",
        "it is not built in; PRAGMA integrity_check reports the damage",
    ),
    ("save", "use .backup FILE"),
    (
        "scanstats",
        "SQLite is built without it; use .stats on or .eqp on",
    ),
    ("selftest", "use PRAGMA integrity_check"),
    ("session", "change sets are not supported"),
    ("sha3sum", "it is not built in"),
    ("shell", "the sandbox cannot start programs"),
    ("system", "the sandbox cannot start programs"),
    ("testcase", "it is only for tests of the sqlite3 program"),
    ("testctrl", "it is only for tests of the sqlite3 program"),
    ("timeout", "--busy-timeout sets how long to wait for a lock"),
    ("trace", "use .echo on"),
    ("vfsinfo", "the host manages files outside the sandbox"),
    ("vfslist", "the host manages files outside the sandbox"),
    ("vfsname", "the host manages files outside the sandbox"),
];

/// The dot command that a word stands for.
fn find(word: &str) -> Option<&'static Dot> {
    let folded = if word == "indices" { "indexes" } else { word };
    DOTS.iter()
        .find(|dot| dot.name == folded)
        .or_else(|| {
            DOTS.iter()
                .find(|dot| word.len() >= dot.least && dot.name.starts_with(word))
        })
        .filter(|_| !word.is_empty())
}

/// Runs the dot command of a line that comes without its dot.
pub(super) fn run(
    shell: &mut Shell,
    line: &str,
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    let words = words::split(line);
    let (name, rest) = match words.split_first() {
        Some((name, rest)) => (name.as_str(), rest),
        None => ("", &[][..]),
    };
    if let Some(dot) = find(name) {
        return (dot.run)(shell, rest, cx).map_err(|refusal| match refusal {
            LineError::Usage => dot.usage(),
            refusal => refusal,
        });
    }
    if let Some((name, why)) = REFUSED
        .iter()
        .find(|(refused, _)| !name.is_empty() && refused.starts_with(name))
    {
        return Err(error(format!(".{name} is not available: {why}.")));
    }
    let shown: String = name.chars().take(40).collect();
    let hint = match nearest(&shown, DOTS.iter().map(|dot| dot.name)) {
        Some(near) => format!(" Did you mean .{near}?"),
        None => String::new(),
    };
    Err(error(format!(
        "unknown command \".{shown}\".{hint} Enter \".help\" for help."
    )))
}

fn help(shell: &mut Shell, words: &[String], cx: &mut ShellContext<'_>) -> Result<(), LineError> {
    let mut out = shell.out(cx);
    let Some(pattern) = words.first() else {
        for dot in DOTS {
            let first = dot.help.lines().next().unwrap_or_default();
            writeln!(out, "{:<24} {first}", dot.call())?;
        }
        return Ok(());
    };
    let pattern = pattern.trim_start_matches('.');
    let found: Vec<&Dot> = match find(pattern) {
        Some(dot) => vec![dot],
        None => DOTS
            .iter()
            .filter(|dot| {
                dot.name.contains(pattern)
                    || dot.help.to_lowercase().contains(&pattern.to_lowercase())
            })
            .collect(),
    };
    if found.is_empty() {
        writeln!(out, "Nothing matches '{pattern}'")?;
    }
    for dot in found {
        let mut lines = dot.help.lines();
        let first = lines.next().unwrap_or_default();
        writeln!(out, "{:<24} {first}", dot.call())?;
        for line in lines {
            writeln!(out, "   {line}")?;
        }
    }
    Ok(())
}
