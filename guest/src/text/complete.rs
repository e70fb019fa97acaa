//! SQLite's own verdict whether a text is one or more whole statements.

use std::ffi::CString;

use rusqlite::ffi;

/// Whether `sql` ends behind the semicolon of a statement, <https://www.sqlite.org/c3ref/complete.html>.
pub(crate) fn is(sql: &str) -> bool {
    let Ok(sql) = CString::new(sql) else {
        return false;
    };
    #[expect(unsafe_code, reason = "rusqlite does not wrap it")]
    // SAFETY: the pointer is that of a string that ends in NUL and outlives the call.
    unsafe {
        ffi::sqlite3_complete(sql.as_ptr()) == 1
    }
}

#[cfg(test)]
mod tests {
    use super::is;

    #[test]
    fn a_semicolon_ends_a_statement_only_where_sqlite_says_so() {
        assert!(is("SELECT 1;"));
        assert!(is("SELECT 1; -- more\n"));
        assert!(is("SELECT 1; /* more */"));
        assert!(!is("SELECT 1"));
        assert!(!is("SELECT ';"));
        assert!(!is("CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1;"));
        assert!(is(
            "CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; END;"
        ));
        assert!(!is("SELECT 1;\0"));
    }
}
