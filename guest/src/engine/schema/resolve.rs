//! The table that a name in a call means.

use rusqlite::Connection;

use super::catalogue::{Relation, relations};
use crate::answer::failure::{Failure, Status};
use crate::text::escape::visible;
use crate::text::suggest::did_you_mean;

/// The table that a client means by `name`, or a refusal that offers what is near.
pub(crate) fn find(
    connection: &Connection,
    name: &str,
) -> rusqlite::Result<Result<Relation, Failure>> {
    let all = relations(connection)?;
    // SQLite looks into temp first, then into main.
    let rank = |schema: &str| match schema {
        "temp" => 0,
        "main" => 1,
        _ => 2,
    };
    let lookup = |schema: Option<&str>, name: &str| {
        all.iter()
            .filter(|table| table.name.eq_ignore_ascii_case(name))
            .filter(|table| schema.is_none_or(|schema| table.schema.eq_ignore_ascii_case(schema)))
            .min_by_key(|table| (table.name != name, rank(&table.schema)))
            .cloned()
    };
    let found = lookup(None, name)
        .or_else(|| lookup(None, unquoted(name)?))
        .or_else(|| {
            let (schema, name) = name.split_once('.')?;
            lookup(Some(schema), name).or_else(|| lookup(Some(schema), unquoted(name)?))
        });
    if let Some(table) = found {
        return Ok(Ok(table));
    }
    let names: Vec<&str> = all
        .iter()
        .filter(|table| table.kind != "shadow" && !table.is_internal())
        .map(|table| table.name.as_str())
        .collect();
    let hint = match (did_you_mean(name, names.iter().copied()), names.len()) {
        (Some(near), _) => visible(&near).into_owned(),
        (None, 0) => "The database has no tables.".to_owned(),
        (None, 1..=10) => format!("Tables and views: {}.", visible(&names.join(", "))),
        (None, many) => {
            format!("sqlarium_tables lists the {many} tables and views of the database.")
        }
    };
    let shown: String = name.chars().take(100).collect();
    Ok(Err(Failure::new(
        Status::NotFound,
        format!("There is no table or view {shown:?}."),
    )
    .hint(hint)))
}

/// A name without the quotes that it was sent in.
fn unquoted(name: &str) -> Option<&str> {
    let inner = name.get(1..name.len().checked_sub(1)?)?;
    let pair = (name.chars().next()?, name.chars().last()?);
    matches!(pair, ('"', '"') | ('`', '`') | ('[', ']') | ('\'', '\'')).then_some(inner)
}
