//! SQL functions that SQLite itself is without, by the names that its own extensions give them.
//!
//! All of them look at their arguments alone, so a schema may use them.

mod regexp;
mod uuid;

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

/// The same answer to the same arguments, always.
const PURE: FunctionFlags = FunctionFlags::SQLITE_UTF8
    .union(FunctionFlags::SQLITE_DETERMINISTIC)
    .union(FunctionFlags::SQLITE_INNOCUOUS);

/// Makes the functions known on a connection.
///
/// # Errors
///
/// What SQLite says, which can only be that memory is used up.
pub(super) fn register(connection: &Connection) -> rusqlite::Result<()> {
    regexp::register(connection)?;
    uuid::register(connection)
}

/// The refusal of a call, by a sentence.
fn refuse(sentence: impl Into<String>) -> rusqlite::Error {
    rusqlite::Error::UserFunctionError(sentence.into().into())
}

#[cfg(test)]
mod testing {
    use rusqlite::Connection;
    use rusqlite::types::Value;

    /// What the functions answer, as SQLite quotes it; or the error.
    pub(super) fn answer(expression: &str) -> String {
        let connection = Connection::open_in_memory().unwrap();
        super::register(&connection).unwrap();
        let asked = connection.query_row(&format!("SELECT {expression}"), [], |row| {
            row.get::<_, Value>(0)
        });
        match asked {
            Ok(Value::Null) => "NULL".into(),
            Ok(Value::Integer(number)) => number.to_string(),
            Ok(Value::Real(number)) => format!("{number:?}"),
            Ok(Value::Text(text)) => format!("'{text}'"),
            Ok(Value::Blob(bytes)) => crate::text::hex::encode(&bytes),
            Err(error) => format!("error: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    #[test]
    fn a_schema_that_is_not_trusted_may_use_them() {
        let connection = Connection::open_in_memory().unwrap();
        super::register(&connection).unwrap();
        connection
            .execute_batch(
                "PRAGMA trusted_schema=OFF;
                 CREATE TABLE t(a CHECK(a REGEXP '^[a-z]+$'), u DEFAULT (uuid()));
                 CREATE INDEX i ON t(uuid_str(a));
                 INSERT INTO t(a) VALUES('abc');",
            )
            .unwrap();
        connection
            .execute("INSERT INTO t(a) VALUES('ABC')", [])
            .unwrap_err();
    }
}
