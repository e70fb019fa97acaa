//! What sqlite-vec refuses. To SQLite its errors are those of any statement; and where it prints
//! a limit, it prints what happens to lie next to it, so that the limits are told here.

use crate::answer::failure::{Failure, Status};

/// `SQLITE_VEC_VEC0_K_MAX` of sqlite-vec.
const MOST_ROWS: u32 = 4096;
/// `SQLITE_VEC_VEC0_MAX_DIMENSIONS`.
const MOST_DIMENSIONS: u32 = 8192;

/// How the sentences begin with which it refuses a value.
const VALUES: [&str; 25] = [
    "Dimension mismatch for ",
    "Inserted vector for the ",
    "Updated vector for the ",
    "Query vector ",
    "UNIQUE constraint failed on ",
    "Expected integer for INTEGER metadata column ",
    "Expected float for FLOAT metadata column ",
    "Expected text for TEXT metadata column ",
    "Expected 0 or 1 for BOOLEAN metadata column ",
    "Only integers are allows for primary key values on ",
    "k value in knn queries must be ",
    "A LIMIT or 'k = ?' constraint is required ",
    "Only LIMIT or 'k =?' can be provided",
    "UPDATE on partition key columns are ",
    "A value was provided for the hidden ",
    "slice 'start' index must be ",
    "slice 'end' index must be ",
    "Error reading 1st vector: ",
    "Error reading 2nd vector: ",
    "Vector type mistmatch. ",
    "Vector dimension mistmatch. ",
    "zero-length vectors are not supported",
    "Zero length vectors are not supported",
    "invalid float32 vector BLOB length",
    "JSON array parsing error: ",
];

/// The failure for an error of sqlite-vec's that is about a value; none for any other.
pub(super) fn failure(said: &str) -> Option<Failure> {
    let refuse = |message: String| Some(Failure::new(Status::Constraint, message));
    let provided = |text: &str| {
        let (_, rest) = text.split_once("provided ")?;
        let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
        Some(number)
    };
    if said.starts_with("k value in knn query too large") {
        let k = provided(said)?;
        return refuse(format!(
            "k is {k}, but a vec0 table answers with {MOST_ROWS} rows at most."
        ))
        .map(|failure| failure.hint(format!("Ask for k = {MOST_ROWS} or less.")));
    }
    if said.contains("Dimension on vector column too large") {
        let dimensions = provided(said)?;
        return refuse(format!(
            "The vector has {dimensions} dimensions, but a column of vec0 has {MOST_DIMENSIONS} \
             at most."
        ));
    }
    let value = VALUES.iter().any(|start| said.starts_with(start))
        || said.contains("was declared with a TEXT primary key, but");
    if value {
        let said = said
            .replace("mistmatch", "mismatch")
            .replace("postive", "positive")
            .replace("columns are not supported", "columns is not supported")
            .replace("are allows for", "are allowed for");
        return refuse(format!("{}.", said.trim_end_matches(['.', ' '])));
    }
    None
}
