//! Every command, as data: the only list.
//!
//! `tools/list`, the schemas, the command line, `help` and the reference come from it.

use super::arguments::{Argument, Arguments, Shape};
use super::output::Output;
use super::status::Failure;
use super::{
    Context, about, analyze, batch, capabilities, checkpoint, create, databases, ddl, describe,
    exec, explain, index_text, indexes, integrity, query, search, stats, tables,
};

/// What a command does to data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Changes nothing, by the engine's own guard.
    Reads,
    /// Changes data, or makes files.
    Writes {
        /// Whether something that was there can be gone afterwards.
        destructive: bool,
        /// Whether the same call again changes nothing more.
        idempotent: bool,
    },
}

/// What commands are listed under, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Running SQL.
    Sql,
    /// What is in the database.
    Schema,
    /// Full-text search.
    Search,
    /// Databases as files.
    Files,
    /// The health of a database.
    Maintenance,
    /// The server itself.
    About,
    /// The three tools of `--tools select`.
    Select,
}

impl Group {
    /// The heading.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sql => "Read and write",
            Self::Schema => "Schema",
            Self::Search => "Search",
            Self::Files => "Files",
            Self::Maintenance => "Maintenance",
            Self::About => "About",
            Self::Select => "Select",
        }
    }
}

/// What runs a command.
pub type Run = fn(&mut Context, &Arguments) -> Result<Output, Failure>;

/// One command: a tool for a model, a subcommand for a person.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// Its name on the command line: lower case, words joined by dashes.
    pub name: &'static str,
    /// Its name for people who look at a list of tools.
    pub title: &'static str,
    /// What it is listed under.
    pub group: Group,
    /// One line for people.
    pub summary: &'static str,
    /// What a model has to know to use it well: what it does, its limits, what it refuses.
    pub description: &'static str,
    /// What it takes, besides the common `db` and `output`.
    pub arguments: &'static [Argument],
    /// Whether it needs a database.
    pub database: bool,
    /// What it does to data.
    pub effect: Effect,
    /// Whether `--tools core` serves it.
    pub core: bool,
    /// What runs it.
    pub run: Run,
}

/// The command of this name.
pub fn find(name: &str) -> Option<&'static Command> {
    TABLE.iter().find(|command| command.name == name)
}

/// The name under which MCP serves a command.
pub fn tool_name(command: &Command) -> String {
    match command.group {
        Group::Select => command.name.to_owned(),
        _ => format!("sqlarium_{}", command.name.replace('-', "_")),
    }
}

const fn required(name: &'static str, shape: Shape, summary: &'static str) -> Argument {
    Argument {
        name,
        summary,
        shape,
        required: true,
        positional: true,
    }
}

const fn positional(name: &'static str, shape: Shape, summary: &'static str) -> Argument {
    Argument {
        name,
        summary,
        shape,
        required: false,
        positional: true,
    }
}

const fn option(name: &'static str, shape: Shape, summary: &'static str) -> Argument {
    Argument {
        name,
        summary,
        shape,
        required: false,
        positional: false,
    }
}

const PARAMS: Argument = option(
    "params",
    Shape::Json,
    "Values for :name, as {\"name\": 5}; for ?1, ?2 an array [5]. A blob is {\"blob\": hex}.",
);

const PATTERN: Argument = positional(
    "pattern",
    Shape::Text,
    "LIKE pattern for names; * stands for %.",
);

const LIMIT: Argument = option(
    "limit",
    Shape::Integer {
        min: 1,
        max: i64::MAX,
    },
    "Rows at most.",
);

const WRITES: Effect = Effect::Writes {
    destructive: true,
    idempotent: false,
};

/// Every command, in the order of every list.
pub static TABLE: [Command; 20] = [
    Command {
        name: "query",
        title: "Query",
        group: Group::Sql,
        summary: "Run one statement that reads",
        description: "Run one SQL statement that reads (SELECT, WITH, VALUES, EXPLAIN, a PRAGMA \
                      that asks) and get its rows. Whatever would write is refused: use exec. \
                      Give values through params, not inside the SQL. Without limit 200 rows \
                      come, and never more than 10000; what is left is said: page with LIMIT \
                      and OFFSET. Text output cuts long cells and shows the start of blobs; \
                      output json has them whole.",
        arguments: &[
            required("sql", Shape::Text, "One statement."),
            PARAMS,
            LIMIT,
        ],
        database: true,
        effect: Effect::Reads,
        core: true,
        run: query::run,
    },
    Command {
        name: "exec",
        title: "Execute",
        group: Group::Sql,
        summary: "Run one statement that writes",
        description: "Run one SQL statement that writes (INSERT, UPDATE, DELETE, CREATE, ALTER, \
                      DROP) and commit it. Answers with the number of changed rows, the last \
                      rowid, and the rows of RETURNING. Several statements: use batch. Refused: \
                      ATTACH, VACUUM INTO, extensions.",
        arguments: &[required("sql", Shape::Text, "One statement."), PARAMS],
        database: true,
        effect: WRITES,
        core: true,
        run: exec::run,
    },
    Command {
        name: "batch",
        title: "Batch",
        group: Group::Sql,
        summary: "Run several statements, all or nothing",
        description: "Run several SQL statements, separated by semicolons, in one transaction: \
                      all of them or, at the first error, none. No BEGIN, COMMIT or params.",
        arguments: &[required("sql", Shape::Text, "The statements.")],
        database: true,
        effect: WRITES,
        core: true,
        run: batch::run,
    },
    Command {
        name: "tables",
        title: "Tables",
        group: Group::Schema,
        summary: "List tables and views with their row counts",
        description: "List tables and views: kind, number of columns and rows (≥ where counting \
                      would take long; none for views). Shadow tables of FTS and R-Tree are left \
                      out.",
        arguments: &[PATTERN],
        database: true,
        effect: Effect::Reads,
        core: true,
        run: tables::tables,
    },
    Command {
        name: "describe",
        title: "Describe",
        group: Group::Schema,
        summary: "Describe one table or view",
        description: "Describe one table or view: columns with type, NOT NULL, default, primary \
                      key, generated or hidden; indexes, foreign keys, triggers, row count.",
        arguments: &[required("table", Shape::Text, "Its name, unquoted.")],
        database: true,
        effect: Effect::Reads,
        core: true,
        run: describe::describe,
    },
    Command {
        name: "schema",
        title: "Schema",
        group: Group::Schema,
        summary: "Print the CREATE statements",
        description: "The CREATE statements of tables, views, indexes and triggers, as stored.",
        arguments: &[
            PATTERN,
            option("indent", Shape::Flag, "One column on each line."),
        ],
        database: true,
        effect: Effect::Reads,
        core: true,
        run: ddl::run,
    },
    Command {
        name: "indexes",
        title: "Indexes",
        group: Group::Schema,
        summary: "List indexes with their columns",
        description: "List indexes: table, columns, whether unique or partial, and whether made \
                      by CREATE INDEX, UNIQUE or PRIMARY KEY. The pattern is for index or table \
                      names.",
        arguments: &[PATTERN],
        database: true,
        effect: Effect::Reads,
        core: false,
        run: indexes::run,
    },
    Command {
        name: "databases",
        title: "Databases",
        group: Group::Schema,
        summary: "Show the served database: size, encoding, journal mode",
        description: "The served database: title, size in bytes, page size, encoding, journal \
                      mode, whether it is read-only.",
        arguments: &[],
        database: true,
        effect: Effect::Reads,
        core: false,
        run: databases::run,
    },
    Command {
        name: "explain",
        title: "Explain",
        group: Group::Schema,
        summary: "Show how a statement would run, without running it",
        description: "The query plan of one SQL statement, as a tree: which tables are scanned, \
                      which indexes are used. Nothing is run, so a statement that writes may be \
                      given.",
        arguments: &[required("sql", Shape::Text, "One statement.")],
        database: true,
        effect: Effect::Reads,
        core: true,
        run: explain::run,
    },
    Command {
        name: "search",
        title: "Search",
        group: Group::Search,
        summary: "Search text, best matches first",
        description: "Full-text search over FTS5: rowid, score (bm25, more is better) and a snippet \
                      with **matches** marked. The query is FTS5's: words, \"phrases\", AND OR NOT, \
                      pre*, column : word; one that FTS5 cannot read is searched for by its words.",
        arguments: &[
            required("query", Shape::Text, ""),
            positional(
                "table",
                Shape::Text,
                "FTS5 table, or the table it indexes; default: the only one.",
            ),
            option(
                "k",
                Shape::Integer {
                    min: 1,
                    max: i64::MAX,
                },
                "Matches at most, default 10.",
            ),
            option("full", Shape::Flag, "Whole columns, not a snippet."),
        ],
        database: true,
        effect: Effect::Reads,
        core: true,
        run: search::run,
    },
    Command {
        name: "index-text",
        title: "Index text",
        group: Group::Search,
        summary: "Make a full-text index of a table, kept current by triggers",
        description: "Make an FTS5 table <table>_fts over text columns of a table, with triggers that \
                      keep it current, in one transaction. The text stays in the table. Nothing \
                      existing is replaced.",
        arguments: &[
            required("table", Shape::Text, ""),
            option(
                "columns",
                Shape::Text,
                "Names with commas; default: all text columns.",
            ),
            option(
                "tokenizer",
                Shape::Choice(&index_text::TOKENIZERS),
                "porter: English stems; trigram: parts of words.",
            ),
        ],
        database: true,
        effect: Effect::Writes {
            destructive: false,
            idempotent: false,
        },
        core: false,
        run: index_text::run,
    },
    Command {
        name: "create",
        title: "Create database",
        group: Group::Files,
        summary: "Make a new, empty database file",
        description: "Make a new, empty database file below the owner's root. An existing file \
                      is never touched. Needs a server started with --root.",
        arguments: &[required("path", Shape::Text, "Relative to the root.")],
        database: false,
        effect: Effect::Writes {
            destructive: false,
            idempotent: false,
        },
        core: false,
        run: create::run,
    },
    Command {
        name: "checkpoint",
        title: "Checkpoint",
        group: Group::Maintenance,
        summary: "Move the write-ahead log into the database file",
        description: "Move the write-ahead log (WAL) into the database file and empty it. Tells how \
                      many frames (pages) were in the log and how many are in the file, and whether \
                      another connection was in the way (busy).",
        arguments: &[option(
            "mode",
            Shape::Choice(&checkpoint::MODES),
            "passive waits for nobody.",
        )],
        database: true,
        effect: Effect::Writes {
            destructive: false,
            idempotent: true,
        },
        core: false,
        run: checkpoint::run,
    },
    Command {
        name: "integrity-check",
        title: "Check integrity",
        group: Group::Maintenance,
        summary: "Check the file, its indexes, constraints and foreign keys",
        description: "Check that pages, indexes, constraints and foreign keys hold: ok, or the first \
                      100 problems. Reads everything.",
        arguments: &[
            positional("table", Shape::Text, "Only this one."),
            option("quick", Shape::Flag, "Without comparing indexes."),
        ],
        database: true,
        effect: Effect::Reads,
        core: false,
        run: integrity::run,
    },
    Command {
        name: "analyze",
        title: "Analyze",
        group: Group::Maintenance,
        summary: "Gather statistics for the query planner",
        description: "Run ANALYZE, so that the query planner chooses better, and show what it \
                      gathered.",
        arguments: &[positional("table", Shape::Text, "Only this one.")],
        database: true,
        effect: Effect::Writes {
            destructive: false,
            idempotent: true,
        },
        core: false,
        run: analyze::run,
    },
    Command {
        name: "stats",
        title: "Statistics",
        group: Group::Maintenance,
        summary: "Show sizes, pages and settings, and what each table takes",
        description: "The database in numbers, each explained: size, pages, free pages, journal mode, \
                      cache; then pages and bytes of each table and its indexes, if the database has \
                      128 MiB or less.",
        arguments: &[option(
            "full",
            Shape::Flag,
            "Measure tables of a larger one too.",
        )],
        database: true,
        effect: Effect::Reads,
        core: false,
        run: stats::run,
    },
    Command {
        name: "capabilities",
        title: "Capabilities",
        group: Group::About,
        summary: "Tell what this build of SQLite can do, by trying it",
        description: "What this SQLite can do: full-text search, R-Tree, JSON, math functions \
                      and more, each tried out when asked. A name that is not known answers no.",
        arguments: &[positional(
            "name",
            Shape::Text,
            "One of them, such as fts5.",
        )],
        database: false,
        effect: Effect::Reads,
        core: false,
        run: capabilities::capabilities,
    },
    Command {
        name: "functions",
        title: "Functions",
        group: Group::About,
        summary: "List the SQL functions",
        description: "The SQL functions that can be called: name, kind (scalar, aggregate, \
                      window) and numbers of arguments.",
        arguments: &[PATTERN],
        database: true,
        effect: Effect::Reads,
        core: false,
        run: capabilities::functions,
    },
    Command {
        name: "version",
        title: "Version",
        group: Group::About,
        summary: "Tell the versions of sqlarium, SQLite and MCP",
        description: "The versions of sqlarium and of SQLite, and the MCP revisions spoken.",
        arguments: &[],
        database: false,
        effect: Effect::Reads,
        core: false,
        run: about::version,
    },
    Command {
        name: "help",
        title: "Help",
        group: Group::About,
        summary: "Explain the commands, or one of them",
        description: "What the commands do and take; with topic, one of them.",
        arguments: &[
            positional("topic", Shape::Text, "A command."),
            option("markdown", Shape::Flag, "The whole reference as Markdown."),
        ],
        database: false,
        effect: Effect::Reads,
        core: false,
        run: about::help,
    },
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_name_is_there_once_and_leads_to_its_command() {
        let names: HashSet<&str> = TABLE.iter().map(|command| command.name).collect();
        assert_eq!(names.len(), TABLE.len());
        for command in &TABLE {
            assert_eq!(find(command.name).unwrap().title, command.title);
        }
        assert!(find("nonsense").is_none());
    }

    #[test]
    fn the_commands_of_the_design_are_all_there() {
        let names: Vec<&str> = TABLE.iter().map(|command| command.name).collect();
        assert_eq!(
            names,
            [
                "query",
                "exec",
                "batch",
                "tables",
                "describe",
                "schema",
                "indexes",
                "databases",
                "explain",
                "search",
                "index-text",
                "create",
                "checkpoint",
                "integrity-check",
                "analyze",
                "stats",
                "capabilities",
                "functions",
                "version",
                "help"
            ]
        );
    }

    #[test]
    fn arguments_are_named_once_and_never_like_a_common_one() {
        for command in &TABLE {
            let mut seen = HashSet::from(["db", "output"]);
            for argument in command.arguments {
                assert!(
                    seen.insert(argument.name),
                    "{} {}",
                    command.name,
                    argument.name
                );
            }
        }
    }

    #[test]
    fn a_required_argument_can_be_given_by_position_and_comes_first() {
        for command in &TABLE {
            let positions: Vec<bool> = command
                .arguments
                .iter()
                .filter(|a| a.positional)
                .map(|a| a.required)
                .collect();
            assert!(positions.is_sorted_by(|a, b| a >= b), "{}", command.name);
            assert!(
                command
                    .arguments
                    .iter()
                    .all(|a| a.positional || !a.required)
            );
        }
    }

    #[test]
    fn a_command_that_reads_says_so_and_no_other() {
        let writers: Vec<&str> = TABLE
            .iter()
            .filter(|c| c.effect != Effect::Reads)
            .map(|c| c.name)
            .collect();
        assert_eq!(
            writers,
            [
                "exec",
                "batch",
                "index-text",
                "create",
                "checkpoint",
                "analyze"
            ]
        );
    }
}
