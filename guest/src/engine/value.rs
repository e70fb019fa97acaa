//! A value, by storage class.

/// One of SQLite's five storage classes, and text that is not UTF-8 kept apart.
#[derive(Clone, Debug, PartialEq)]
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
