//! A value, by storage class.

use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, ValueRef};
use serde::{Deserialize, Serialize};

use crate::text::real;

/// One of SQLite's five storage classes, and text that is not UTF-8 kept apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// NULL.
    Null,
    /// INTEGER.
    Integer(i64),
    /// REAL; never NaN, which SQLite stores as NULL.
    Real(f64),
    /// TEXT that is UTF-8.
    Text(String),
    /// TEXT whose bytes are not UTF-8.
    BadText(Vec<u8>),
    /// BLOB.
    Blob(Vec<u8>),
}

impl Value {
    /// What a row holds, by storage class, never by declared type. NUL inside text is kept.
    pub fn from_sqlite(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(integer) => Self::Integer(integer),
            ValueRef::Real(real) => Self::Real(real),
            ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Self::Text(text.to_owned()),
                Err(_) => Self::BadText(bytes.to_vec()),
            },
            ValueRef::Blob(bytes) => Self::Blob(bytes.to_vec()),
        }
    }
}

/// To bind a value, which SQLite copies.
impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(integer) => ValueRef::Integer(*integer),
            Self::Real(real) => ValueRef::Real(*real),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::BadText(bytes) => ValueRef::Text(bytes),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// The text that SQLite makes of a value, also where it is not UTF-8; `None` for NULL.
pub fn text_of(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(real::shown(number)),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
    }
}
