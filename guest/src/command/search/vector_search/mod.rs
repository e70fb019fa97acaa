//! `vector-search`: the rows whose vectors are nearest to one.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, params_from_iter};
use serde_json::{Value as Json, json};

use crate::answer::failure::{Failure, Status};
use crate::answer::output::Output;
use crate::answer::value::Value;
use crate::command::interface::argument::{Shape, option, required};
use crate::command::interface::arguments::Arguments;
use crate::command::interface::command::{Command, Effect, Group};
use crate::command::interface::context::Context;
use crate::engine::connection::vector::{MOST, Measure, Nearest, Probe, Stored, read};
use crate::engine::schema::catalogue::{Relation, quote, rows};
use crate::engine::schema::columns::{ColumnKind, columns, rowid};
use crate::engine::schema::resolve::find;
use crate::text::escape::visible;
use crate::text::hex;
use crate::text::suggest::closest;

/// `vector-search` in the command table.
pub(crate) const COMMAND: Command = Command {
    name: "vector-search",
    title: "Vector search",
    group: Group::Search,
    summary: "Find the rows whose vectors are nearest to a given vector",
    description: "Find the rows with the nearest vectors, and their distances, by comparing every \
                  row. The column holds blobs of little-endian 32-bit floats or JSON arrays; a \
                  vec0 table works too.",
    arguments: &[
        required("table", Shape::Text, ""),
        required("column", Shape::Text, ""),
        required("vector", Shape::Numbers, ""),
        option(
            "k",
            Shape::Integer {
                min: 1,
                max: i64::MAX,
            },
            "Maximum rows, default 10.",
        ),
        option(
            "measure",
            Shape::Choice(&["cos", "l2", "dot"]),
            "Default cos.",
        ),
    ],
    database: true,
    effect: Effect::Reads,
    core: false,
    run,
};

/// Rows when the call does not say.
const ROWS: u32 = 10;

/// Runs `vector-search`.
pub(crate) fn run(context: &mut Context, arguments: &Arguments) -> Result<Output, Failure> {
    let measure = match arguments.text("measure") {
        Some("l2") => Measure::L2,
        Some("dot") => Measure::Dot,
        _ => Measure::Cosine,
    };
    let numbers = query(arguments.json("vector").unwrap_or(&Json::Null))?;
    let probe = Probe::new(numbers, measure).ok_or_else(|| {
        Failure::new(
            Status::Syntax,
            "vector is all zeros, which has no direction for a cosine distance.",
        )
        .hint("Use measure l2 or dot.")
    })?;
    let most = arguments
        .integer("k")
        .map_or(ROWS, |k| u32::try_from(k).unwrap_or(u32::MAX))
        .min(context.settings.output.max_rows);
    let search = Search {
        table: arguments.required_text("table"),
        column: arguments.required_text("column"),
        probe,
        measure,
        most,
    };
    context
        .engine
        .database(arguments.db())?
        .inspect(|connection| search.run(connection))?
}

/// The vector of the call.
fn query(given: &Json) -> Result<Vec<f32>, Failure> {
    let wrong = |what: &str| {
        Err(Failure::new(Status::Syntax, format!("vector {what}."))
            .hint("Give an array of numbers, or {\"blob\": hex} with 4 bytes for each number."))
    };
    let numbers: Option<Vec<f32>> = match given {
        Json::Array(values) => values
            .iter()
            .map(|value| value.as_f64().map(|number| number as f32))
            .collect(),
        Json::Object(object) if object.len() == 1 => {
            let hex = object
                .get("blob")
                .and_then(Json::as_str)
                .and_then(hex::decode);
            let mut buffer = Vec::new();
            hex.and_then(|bytes| match read(ValueRef::Blob(&bytes), &mut buffer) {
                Stored::Vector(floats) => Some(
                    floats
                        .iter()
                        .map(|float| f32::from_le_bytes(*float))
                        .collect(),
                ),
                _ => None,
            })
        }
        _ => None,
    };
    match numbers {
        None => wrong("is neither an array of numbers nor a blob of 32-bit floats"),
        Some(numbers) if numbers.is_empty() => wrong("is empty"),
        Some(numbers) if numbers.len() > MOST => wrong("has more than 65536 numbers"),
        Some(numbers) if numbers.iter().any(|number| !number.is_finite()) => {
            wrong("contains a number that is not finite as a 32-bit float")
        }
        Some(numbers) => Ok(numbers),
    }
}

struct Search<'a> {
    table: &'a str,
    column: &'a str,
    probe: Probe,
    measure: Measure,
    most: u32,
}

/// What a table's rows are found by, and what is shown of them.
struct Place {
    table: Relation,
    column: String,
    keys: Vec<String>,
    shown: Vec<String>,
}

impl Search<'_> {
    fn run(&self, connection: &Connection) -> rusqlite::Result<Result<Output, Failure>> {
        let place = match self.place(connection)? {
            Ok(place) => place,
            Err(failure) => return Ok(Err(failure)),
        };
        let keys = quoted(&place.keys);
        let name = place.table.quoted();
        let mut statement = connection.prepare(&format!(
            "SELECT {}, {keys} FROM {name}",
            quote(&place.column)
        ))?;
        let mut cursor = statement.query([])?;
        let mut nearest = Nearest::new(self.most as usize);
        let mut buffer = Vec::new();
        let (mut compared, mut nulls, mut undirected) = (0_u64, 0_u64, 0_u64);
        while let Some(row) = cursor.next()? {
            let key = || -> rusqlite::Result<Vec<Value>> {
                (1..=place.keys.len())
                    .map(|at| Ok(Value::from_sqlite(row.get_ref(at)?)))
                    .collect()
            };
            match read(row.get_ref(0)?, &mut buffer) {
                Stored::Nothing => nulls += 1,
                Stored::Vector(floats) if floats.len() == self.probe.dimensions() => {
                    compared += 1;
                    match self.probe.distance(floats) {
                        Some(distance) => nearest.offer(distance, key)?,
                        None => undirected += 1,
                    }
                }
                stored => return Ok(Err(self.unfit(&place, &key()?, stored))),
            }
        }
        drop(cursor);
        let mut output = self.rows_found(connection, &place, nearest.finish())?;
        output.extra.insert("compared".into(), json!(compared));
        output.extra.insert("nulls".into(), json!(nulls));
        if nulls > 0 {
            output.notes.push(format!(
                "{nulls} {} no vector (NULL).",
                if nulls == 1 { "row has" } else { "rows have" }
            ));
        }
        if undirected > 0 {
            output.notes.push(format!(
                "{undirected} {} skipped: the distance is not a number.",
                if undirected == 1 {
                    "row was"
                } else {
                    "rows were"
                }
            ));
        }
        Ok(Ok(output))
    }

    /// The table and the column that are meant.
    fn place(&self, connection: &Connection) -> rusqlite::Result<Result<Place, Failure>> {
        let table = match find(connection, self.table)? {
            Ok(table) => table,
            Err(failure) => return Ok(Err(failure)),
        };
        let refuse = |what: &str, hint: &str| {
            let failure = Failure::new(Status::Unsupported, format!("{} {what}.", table.shown()));
            Ok(Err(failure.hint(hint)))
        };
        if table.kind == "view" {
            return refuse(
                "is a view, whose rows have no rowid",
                "Search the table that it reads.",
            );
        }
        let columns = columns(connection, &table.schema, &table.name)?;
        let visible_names = || {
            columns
                .iter()
                .filter(|column| column.kind != ColumnKind::Hidden)
                .map(|column| column.name.as_str())
        };
        let Some(column) = visible_names().find(|name| name.eq_ignore_ascii_case(self.column))
        else {
            let near = closest(self.column, visible_names(), 3);
            let given: String = self.column.chars().take(100).collect();
            let failure = Failure::new(
                Status::NotFound,
                format!("{} has no column {given:?}.", table.shown()),
            );
            let names = if near.is_empty() {
                visible_names().collect()
            } else {
                near
            };
            return Ok(Err(
                failure.hint(format!("It has: {}.", visible(&names.join(", "))))
            ));
        };
        let column = column.to_owned();
        if table.kind == "virtual" {
            // vec0 has columns of other numbers as well.
            let sql = format!(
                "SELECT vec_type({}) FROM {} LIMIT 1",
                quote(&column),
                table.quoted()
            );
            let kind: rusqlite::Result<String> = connection.query_row(&sql, [], |row| row.get(0));
            if kind.is_ok_and(|kind| kind != "float32") {
                return refuse(
                    "stores int8 or bit vectors in this column, and vector-search compares 32-bit \
                     floats",
                    "Search with SQL: SELECT rowid, distance FROM it WHERE column MATCH ? AND k = \
                     10.",
                );
            }
        }
        let keys: Vec<String> = if table.without_rowid {
            let mut keys: Vec<_> = columns.iter().filter(|column| column.key > 0).collect();
            keys.sort_by_key(|column| column.key);
            keys.into_iter().map(|column| column.name.clone()).collect()
        } else if table.kind == "virtual" {
            vec!["rowid".to_owned()]
        } else {
            rowid(&columns).map(str::to_owned).into_iter().collect()
        };
        if keys.is_empty() {
            return refuse(
                "has columns named rowid, _rowid_ and oid, which hide the rowid of its rows",
                "Search a table without such columns.",
            );
        }
        let shown = visible_names()
            .filter(|name| *name != column && !keys.iter().any(|key| key == name))
            .map(str::to_owned)
            .collect();
        Ok(Ok(Place {
            table,
            column,
            keys,
            shown,
        }))
    }

    /// The refusal of a row whose value cannot be compared.
    fn unfit(&self, place: &Place, key: &[Value], stored: Stored<'_>) -> Failure {
        let key: Vec<String> = key
            .iter()
            .map(|value| crate::render::cell::shown(value, 40))
            .collect();
        let what = match stored {
            Stored::Odd(bytes) => {
                format!("a blob of {bytes} bytes, which is not a whole number of 32-bit floats")
            }
            Stored::NoArray => "text that is not a JSON array of numbers".into(),
            Stored::Number => "a number".into(),
            Stored::Vector(floats) => format!("a vector of {} numbers", floats.len()),
            Stored::Nothing => "nothing".into(),
        };
        let wanted = self.probe.dimensions();
        let failure = Failure::new(
            Status::Constraint,
            format!(
                "The row of {} with {} {} contains {what}, but the vector of this call has \
                 {wanted} numbers.",
                place.table.shown(),
                place.keys.join(", "),
                key.join(", ")
            ),
        );
        failure.hint("Give a vector from the same model, or correct that row.")
    }

    /// The rows that were found, with what else they hold.
    fn rows_found(
        &self,
        connection: &Connection,
        place: &Place,
        found: impl Iterator<Item = (f64, Vec<Value>)>,
    ) -> rusqlite::Result<Output> {
        let condition: Vec<String> = place
            .keys
            .iter()
            .map(|key| format!("{} = ?", quote(key)))
            .collect();
        let shown = if place.shown.is_empty() {
            "NULL".to_owned()
        } else {
            quoted(&place.shown)
        };
        let mut statement = connection.prepare(&format!(
            "SELECT {shown} FROM {} WHERE {}",
            place.table.quoted(),
            condition.join(" AND ")
        ))?;
        let mut listed = Vec::new();
        for (distance, key) in found {
            let mut rows = statement.query(params_from_iter(&key))?;
            let mut row = key.clone();
            row.push(Value::Real(match self.measure {
                Measure::Dot => -distance,
                Measure::Cosine | Measure::L2 => distance,
            }));
            if let Some(found) = rows.next()? {
                for at in 0..place.shown.len() {
                    row.push(Value::from_sqlite(found.get_ref(at)?));
                }
                listed.push(row);
            }
        }
        let measured = if self.measure == Measure::Dot {
            "dot"
        } else {
            "distance"
        };
        let mut columns: Vec<(&str, &str)> =
            place.keys.iter().map(|key| (key.as_str(), "")).collect();
        columns.push((measured, "REAL"));
        columns.extend(place.shown.iter().map(|name| (name.as_str(), "")));
        Ok(Output {
            rows: Some(rows(&columns, listed, self.most)),
            ..Output::default()
        })
    }
}

fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| quote(name)).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests;
