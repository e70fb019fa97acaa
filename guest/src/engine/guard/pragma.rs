//! Which PRAGMA may be read, which may be set, and why the others may not.
//!
//! An allow-list: a pragma that is not in it is refused, so that a new SQLite
//! brings no new way out. Names and effects: <https://www.sqlite.org/pragma.html>.

/// What the part after the name may be.
#[derive(Clone, Copy, Debug)]
enum Value {
    /// Nothing: with a value it is refused, for this reason.
    Refused(&'static str),
    /// What to look at: a name or a number. Reads only.
    Subject,
    /// A setting, by a statement that may write.
    Setting(&'static [&'static str]),
    /// A setting that SQLite ignores or refuses inside a transaction.
    OutsideTransaction(&'static [&'static str]),
}

/// One pragma.
struct Pragma {
    name: &'static str,
    /// Whether it only reads when it has no value.
    bare_reads: bool,
    value: Value,
}

const NO_VALUE: Value = Value::Refused("it takes no value");
const POLICY: Value = Value::Refused("only the owner of the server can set it");
const MEMORY: Value = Value::Refused("the --memory budget of the server limits memory");
const ANY: &[&str] = &[];

const fn reads(name: &'static str, value: Value) -> Pragma {
    Pragma {
        name,
        bare_reads: true,
        value,
    }
}

const fn acts(name: &'static str, value: Value) -> Pragma {
    Pragma {
        name,
        bare_reads: false,
        value,
    }
}

/// Every pragma that is let through in some form, in the order of the alphabet.
const PRAGMAS: &[Pragma] = &[
    reads("analysis_limit", Value::Setting(ANY)),
    reads("application_id", Value::Setting(ANY)),
    reads("auto_vacuum", Value::OutsideTransaction(ANY)),
    reads("automatic_index", POLICY),
    reads(
        "busy_timeout",
        Value::Refused("the --busy-timeout of the server sets how long to wait for a lock"),
    ),
    reads("cache_size", MEMORY),
    reads("cache_spill", MEMORY),
    acts(
        "case_sensitive_like",
        Value::Refused("it would change what LIKE means in later calls; use GLOB, instr() or ="),
    ),
    reads(
        "cell_size_check",
        Value::Refused("it protects against damaged files and stays on"),
    ),
    reads("checkpoint_fullfsync", POLICY),
    reads("collation_list", NO_VALUE),
    reads("compile_options", NO_VALUE),
    reads("data_version", NO_VALUE),
    reads("database_list", NO_VALUE),
    reads("defer_foreign_keys", Value::Setting(ANY)),
    reads("encoding", Value::OutsideTransaction(ANY)),
    reads("foreign_key_check", Value::Subject),
    reads("foreign_key_list", Value::Subject),
    reads("foreign_keys", Value::OutsideTransaction(ANY)),
    reads("freelist_count", NO_VALUE),
    reads("fullfsync", POLICY),
    reads("function_list", NO_VALUE),
    reads("hard_heap_limit", MEMORY),
    reads(
        "ignore_check_constraints",
        Value::Refused("CHECK constraints belong to the schema; change the table instead"),
    ),
    acts("incremental_vacuum", Value::Setting(ANY)),
    reads("index_info", Value::Subject),
    reads("index_list", Value::Subject),
    reads("index_xinfo", Value::Subject),
    reads("integrity_check", Value::Subject),
    // off and memory would leave a damaged file behind if the process dies in a transaction.
    reads(
        "journal_mode",
        Value::OutsideTransaction(&["delete", "truncate", "persist", "wal"]),
    ),
    reads("journal_size_limit", Value::Setting(ANY)),
    reads("legacy_alter_table", Value::Setting(ANY)),
    reads("locking_mode", Value::Refused("locks end with the call")),
    reads("max_page_count", Value::Setting(ANY)),
    reads("mmap_size", MEMORY),
    reads("module_list", NO_VALUE),
    acts("optimize", Value::Setting(ANY)),
    reads("page_count", NO_VALUE),
    reads("page_size", Value::OutsideTransaction(ANY)),
    reads("pragma_list", NO_VALUE),
    reads(
        "query_only",
        Value::Refused("the called tool decides whether it may write"),
    ),
    reads("quick_check", Value::Subject),
    reads("read_uncommitted", POLICY),
    reads("recursive_triggers", Value::Setting(ANY)),
    reads("reverse_unordered_selects", Value::Setting(ANY)),
    reads(
        "schema_version",
        Value::Refused("a wrong value damages the database"),
    ),
    reads("secure_delete", Value::Setting(ANY)),
    acts("shrink_memory", NO_VALUE),
    reads("soft_heap_limit", MEMORY),
    // off would lose or damage data on a power cut.
    reads(
        "synchronous",
        Value::OutsideTransaction(&["normal", "full", "extra", "1", "2", "3", "on"]),
    ),
    reads("table_info", Value::Subject),
    reads("table_list", Value::Subject),
    reads("table_xinfo", Value::Subject),
    reads("temp_store", MEMORY),
    reads("threads", POLICY),
    reads(
        "trusted_schema",
        Value::Refused("the schema of a database file is never trusted"),
    ),
    reads("user_version", Value::Setting(ANY)),
    reads("wal_autocheckpoint", Value::Setting(ANY)),
    acts(
        "wal_checkpoint",
        Value::OutsideTransaction(&["passive", "full", "restart", "truncate"]),
    ),
    reads(
        "writable_schema",
        Value::Refused("change the schema with CREATE, ALTER and DROP only"),
    ),
];

/// What a statement with a pragma may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PragmaAccess {
    /// Only look.
    Read,
    /// Change the database and the harmless settings.
    Write,
    /// The same, within a transaction.
    Transaction,
}

/// Why a pragma is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PragmaRefusal {
    /// It would do no harm in a statement that may write.
    Writes,
    /// It does nothing or fails inside a transaction.
    InTransaction,
    /// It may not be set, for this reason.
    Fixed(&'static str),
    /// It may be set to these values only.
    Choices(&'static [&'static str]),
    /// There is no such pragma, or none that is let through.
    Unknown,
}

/// Judges `PRAGMA name`, `PRAGMA name = value` and `PRAGMA name(value)`.
pub(crate) fn judge(
    name: &str,
    value: Option<&str>,
    reach: PragmaAccess,
) -> Result<(), PragmaRefusal> {
    let Some(pragma) = PRAGMAS
        .iter()
        .find(|pragma| pragma.name.eq_ignore_ascii_case(name))
    else {
        return Err(PragmaRefusal::Unknown);
    };
    let Some(value) = value else {
        return if pragma.bare_reads || reach != PragmaAccess::Read {
            Ok(())
        } else {
            Err(PragmaRefusal::Writes)
        };
    };
    let (choices, outside) = match pragma.value {
        Value::Refused(reason) => return Err(PragmaRefusal::Fixed(reason)),
        Value::Subject => return Ok(()),
        Value::Setting(choices) => (choices, false),
        Value::OutsideTransaction(choices) => (choices, true),
    };
    if !choices.is_empty()
        && !choices
            .iter()
            .any(|choice| choice.eq_ignore_ascii_case(value))
    {
        return Err(PragmaRefusal::Choices(choices));
    }
    match reach {
        PragmaAccess::Read => Err(PragmaRefusal::Writes),
        PragmaAccess::Transaction if outside => Err(PragmaRefusal::InTransaction),
        PragmaAccess::Transaction | PragmaAccess::Write => Ok(()),
    }
}

/// The names of all pragmas that are let through in some form.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    PRAGMAS.iter().map(|pragma| pragma.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pragma_of_the_engine_is_in_the_table_or_refused_as_unknown() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let mut statement = connection
            .prepare("SELECT name FROM pragma_pragma_list")
            .unwrap();
        let engine: Vec<String> = statement
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        for name in names() {
            assert!(
                engine.iter().any(|known| known == name),
                "SQLite has no pragma {name}"
            );
        }
        let unknown: Vec<&String> = engine
            .iter()
            .filter(|name| !names().any(|known| known == name.as_str()))
            .collect();
        // Deprecated, each of them; what a new SQLite adds needs a look before it is let through.
        assert_eq!(
            unknown,
            [
                "count_changes",
                "empty_result_callbacks",
                "full_column_names",
                "short_column_names",
                "temp_store_directory"
            ]
        );
    }

    #[test]
    fn the_table_is_in_the_order_of_the_alphabet() {
        assert!(names().is_sorted());
    }

    #[test]
    fn reading_takes_no_setter() {
        for pragma in PRAGMAS {
            assert_eq!(
                judge(pragma.name, None, PragmaAccess::Read).is_ok(),
                pragma.bare_reads
            );
            let with_value = judge(pragma.name, Some("1"), PragmaAccess::Read).is_ok();
            assert_eq!(
                with_value,
                matches!(pragma.value, Value::Subject),
                "{}",
                pragma.name
            );
        }
    }

    #[test]
    fn names_are_matched_in_any_case() {
        assert_eq!(judge("Table_Info", Some("t"), PragmaAccess::Read), Ok(()));
        assert!(matches!(
            judge("WRITABLE_SCHEMA", Some("1"), PragmaAccess::Write),
            Err(PragmaRefusal::Fixed(_))
        ));
    }

    #[test]
    fn a_journal_that_a_crash_would_not_survive_is_refused() {
        assert_eq!(
            judge("journal_mode", Some("WAL"), PragmaAccess::Write),
            Ok(())
        );
        assert!(matches!(
            judge("journal_mode", Some("off"), PragmaAccess::Write),
            Err(PragmaRefusal::Choices(_))
        ));
        assert!(matches!(
            judge("synchronous", Some("0"), PragmaAccess::Write),
            Err(PragmaRefusal::Choices(_))
        ));
    }
}
