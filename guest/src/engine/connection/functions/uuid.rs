//! `uuid()`, `uuid_str(X)` and `uuid_blob(X)`.

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;
use uuid::{Builder, Uuid};

use super::{PURE, refuse};

pub(super) fn register(connection: &Connection) -> rusqlite::Result<()> {
    let each_time_another = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function("uuid", 0, each_time_another, |_| {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)
            .map_err(|error| refuse(format!("uuid(): no random bytes are available: {error}")))?;
        Ok(Builder::from_random_bytes(bytes).into_uuid().to_string())
    })?;
    connection.create_scalar_function("uuid_str", 1, PURE, |context| {
        Ok(read(context.get_raw(0)).map(|uuid| uuid.to_string()))
    })?;
    connection.create_scalar_function("uuid_blob", 1, PURE, |context| {
        Ok(read(context.get_raw(0)).map(|uuid| uuid.as_bytes().to_vec()))
    })
}

/// A UUID as a blob of 16 bytes, or as text with or without dashes and braces.
fn read(value: ValueRef<'_>) -> Option<Uuid> {
    match value {
        ValueRef::Blob(bytes) => Uuid::from_slice(bytes).ok(),
        ValueRef::Text(bytes) => Uuid::try_parse_ascii(bytes).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::connection::functions::testing::answer;

    #[test]
    fn a_new_uuid_is_random_and_of_version_4() {
        assert_eq!(
            answer(
                "uuid() GLOB '????????-????-4???-[89ab]???-????????????' AND lower(u) = u AND length(u) = 36
                 FROM (SELECT uuid() AS u)"
            ),
            "1"
        );
        assert_eq!(
            answer("count(DISTINCT uuid()) FROM json_each('[1,2,3,4,5,6,7,8,9]')"),
            "9"
        );
    }

    #[test]
    fn text_and_blob_go_into_each_other() {
        const TEXT: &str = "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'";
        const BLOB: &str = "a0eebc999c0b4ef8bb6d6bb9bd380a11";
        for written in [
            TEXT,
            "'{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}'",
            "'a0eebc999c0b4ef8bb6d6bb9bd380a11'",
            "x'a0eebc999c0b4ef8bb6d6bb9bd380a11'",
        ] {
            assert_eq!(answer(&format!("uuid_str({written})")), TEXT);
            assert_eq!(answer(&format!("uuid_blob({written})")), BLOB);
        }
        for none in ["NULL", "5", "'no uuid'", "x'00'"] {
            assert_eq!(answer(&format!("uuid_str({none})")), "NULL");
            assert_eq!(answer(&format!("uuid_blob({none})")), "NULL");
        }
    }
}
