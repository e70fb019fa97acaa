//! A value, by storage class.

use rusqlite::types::ValueRef;
use serde::{Deserialize, Serialize};

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
