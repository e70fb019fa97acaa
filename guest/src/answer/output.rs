//! What a command answers, before it is rendered.

use super::value::Value;

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name as SQLite reports it; names may repeat.
    pub name: String,
    /// The declared type of the table column it comes from, upper case, or empty.
    pub declared: String,
}

/// Rows under their columns.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// The columns, also when there are no rows.
    pub columns: Vec<Column>,
    /// The rows, each as long as `columns`.
    pub rows: Vec<Vec<Value>>,
    /// How many rows there are in all, where that is known.
    pub total: Option<u64>,
    /// Whether there are rows beyond `rows`.
    pub more: bool,
    /// The row limit that was in force.
    pub limit: u32,
}

/// What a command answers.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// Sentences that the answer begins with.
    pub warnings: Vec<String>,
    /// The result set, if there is one.
    pub rows: Option<Rows>,
    /// Text to show as it stands: a help page, DDL, a plan.
    pub text: Option<String>,
    /// Rows inserted, updated or deleted, for a command that writes.
    pub changes: Option<u64>,
    /// What was changed besides, and whether that is all there is; a sentence each.
    pub effects: Vec<String>,
    /// Whether a statement made, altered or dropped something of the schema.
    pub defined: bool,
    /// The rowid of the last insert, if there was one.
    pub last_insert_rowid: Option<i64>,
    /// One-line remarks for the reader, such as what was left out and why.
    pub notes: Vec<String>,
    /// Whether the answer was printed already, as it came.
    pub printed: bool,
    /// Whether part of the request failed, which the text explains.
    pub failed: bool,
    /// Members of the JSON form that belong to this command alone.
    pub extra: serde_json::Map<String, serde_json::Value>,
}
