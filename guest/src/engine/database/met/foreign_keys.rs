//! What a foreign key met: the row that refers to nothing, or the one that still refers to another.

use super::{NEW, UPDATED, shown};
use crate::answer::value::Value;
use crate::engine::database::Database;
use crate::engine::schema::catalogue::quote;
use crate::text::lexer::tokens;
use crate::text::scan;

/// The columns that refer and those that are referred to, in the order of the key.
struct ForeignKey {
    child: String,
    parent: String,
    columns: Vec<(String, String)>,
}

impl ForeignKey {
    /// An expression for each pair of columns.
    fn each(&self, joint: &str, make: impl Fn(&str, &str) -> String) -> String {
        let made = self.columns.iter().map(|(from, to)| make(from, to));
        made.collect::<Vec<_>>().join(joint)
    }

    /// The columns that refer, as one row value.
    fn referring(&self) -> String {
        format!(
            "({})",
            self.each(", ", |from, _| format!("child.{}", quote(from)))
        )
    }

    /// What the columns that refer hold, to be shown.
    fn referring_shown(&self) -> String {
        self.each(", ", |from, _| shown(&format!("child.{}", quote(from))))
    }

    /// That a row refers to one that was to go.
    fn still_refers(&self, values: &[String]) -> String {
        let (child, parent) = (&self.child, &self.parent);
        let referred = pairs(
            self.columns.iter().map(|(_, to)| format!("{parent}.{to}")),
            values,
        );
        let by: Vec<String> = self
            .columns
            .iter()
            .map(|(from, _)| format!("{child}.{from}"))
            .collect();
        format!(
            "A row of {child} refers to {referred}, by {}.",
            by.join(" and ")
        )
    }
}

/// `a = 1 and b = 2`.
fn pairs(names: impl Iterator<Item = String>, values: &[String]) -> String {
    let each = names
        .zip(values)
        .map(|(name, value)| format!("{name} = {value}"));
    each.collect::<Vec<_>>().join(" and ")
}

impl Database {
    /// What a foreign key of `table`, or one to it, met when `sql` wrote it.
    pub(super) fn met_foreign_key(
        &self,
        table: &str,
        sql: &str,
        values: &[(usize, Value)],
    ) -> Option<String> {
        self.met_parent(table, sql, values).or_else(|| {
            match scan::first_word(sql).to_ascii_uppercase().as_str() {
                "DELETE" => self.met_child_of_deleted(table, sql, values),
                "UPDATE" => self.met_child_of_updated(table, sql, values),
                _ => None,
            }
        })
    }

    /// The new row that refers to nothing.
    fn met_parent(&self, table: &str, sql: &str, values: &[(usize, Value)]) -> Option<String> {
        let (with, named) = self.new_rows(&self.columns(table)?, sql)?;
        let kept = kept(&with, table);
        self.foreign_keys(table, "m.name = ?1")?.iter().find_map(|key| {
            // An INSERT gives no value to a column that it does not name.
            let mut from = key.columns.iter().map(|(from, _)| from);
            let known = match kept {
                None => from.all(|from| named.contains(from)),
                Some(_) => from.any(|from| named.contains(from)),
            };
            if !known {
                return None;
            }
            let new = |column: &str| new(column, &named);
            let equals = |row: &str| key.each(" AND ", |from, to| format!("{row}.{} = {}", quote(to), new(from)));
            // Rows of one statement may refer to each other.
            let among = if key.parent.eq_ignore_ascii_case(table)
                && key.columns.iter().all(|(_, to)| named.contains(to))
            {
                format!(" AND NOT EXISTS (SELECT 1 FROM {NEW} AS other WHERE {})", equals("other"))
            } else {
                String::new()
            };
            let look = format!(
                "{with} SELECT {} FROM {NEW} AS new{} WHERE {} AND NOT EXISTS (SELECT 1 FROM {} AS old \
                 WHERE {}){among} LIMIT 1",
                key.each(", ", |from, _| shown(&new(from))),
                kept.as_deref().unwrap_or_default(),
                key.each(" AND ", |from, _| format!("{} IS NOT NULL", new(from))),
                quote(&key.parent),
                equals("old"),
            );
            let found = self.first(&look, values)?;
            let parent = &key.parent;
            Some(format!(
                "{}, but {parent} has no row with {}.",
                pairs(key.columns.iter().map(|(from, _)| format!("{table}.{from}")), &found),
                pairs(key.columns.iter().map(|(_, to)| to.clone()), &found),
            ))
        })
    }

    /// The row that refers to one which was to be deleted.
    fn met_child_of_deleted(
        &self,
        table: &str,
        sql: &str,
        values: &[(usize, Value)],
    ) -> Option<String> {
        let mut at = 0;
        let mut from = None;
        let mut end = sql.len();
        for token in tokens(sql) {
            match from {
                None if token.is("FROM") => from = Some(at),
                Some(_) if token.is("RETURNING") || token.text == ";" => end = end.min(at),
                _ => {}
            }
            at += token.text.len();
        }
        let gone = format!("WITH {NEW} AS (SELECT * {}\n)", &sql[from?..end]);
        self.foreign_keys(table, TO_TABLE)?.iter().find_map(|key| {
            let look = format!(
                "{gone} SELECT {} FROM {} AS child WHERE {} IN (SELECT {} FROM {NEW}) LIMIT 1",
                key.referring_shown(),
                quote(&key.child),
                key.referring(),
                key.each(", ", |_, to| quote(to)),
            );
            Some(key.still_refers(&self.first(&look, values)?))
        })
    }

    /// The row that refers to a key which was to be changed, and which no other row was to get.
    fn met_child_of_updated(
        &self,
        table: &str,
        sql: &str,
        values: &[(usize, Value)],
    ) -> Option<String> {
        let (with, named) = self.new_rows(&self.columns(table)?, sql)?;
        let kept = kept(&with, table)?;
        self.foreign_keys(table, TO_TABLE)?.iter().find_map(|key| {
            if !key.columns.iter().any(|(_, to)| named.contains(to)) {
                return None;
            }
            let new = |column: &str| new(column, &named);
            let rows = format!("FROM {NEW} AS new{kept}");
            let look = format!(
                "{with} SELECT {} FROM {} AS child WHERE {} IN (SELECT {} {rows} WHERE {}) \
                 AND NOT EXISTS (SELECT 1 {rows} WHERE {}) LIMIT 1",
                key.referring_shown(),
                quote(&key.child),
                key.referring(),
                key.each(", ", |_, to| format!("kept.{}", quote(to))),
                key.each(" OR ", |_, to| format!(
                    "kept.{} IS NOT {}",
                    quote(to),
                    new(to)
                )),
                key.each(" AND ", |from, to| format!(
                    "child.{} = {}",
                    quote(from),
                    new(to)
                )),
            );
            Some(key.still_refers(&self.first(&look, values)?))
        })
    }

    /// The foreign keys for whose table `m` and columns `k` the condition holds; `?1` is `table`.
    fn foreign_keys(&self, table: &str, condition: &str) -> Option<Vec<ForeignKey>> {
        let rows = self.all(
            &format!(
                "SELECT m.name, k.\"table\", k.seq, k.\"from\", coalesce(k.\"to\", \
                 (SELECT name FROM pragma_table_info(k.\"table\") WHERE pk = k.seq + 1)) \
                 FROM sqlite_schema AS m, pragma_foreign_key_list(m.name) AS k \
                 WHERE m.type = 'table' AND {condition} ORDER BY m.name, k.id, k.seq"
            ),
            &[(1, Value::Text(table.to_owned()))],
        )?;
        let mut keys: Vec<ForeignKey> = Vec::new();
        for row in rows {
            let [child, parent, seq, from, to] = row.try_into().ok()?;
            match keys.last_mut() {
                Some(key) if seq != "0" => key.columns.push((from, to)),
                _ => keys.push(ForeignKey {
                    child,
                    parent,
                    columns: vec![(from, to)],
                }),
            }
        }
        Some(keys)
    }
}

/// The keys of any table that refer to the one in question.
const TO_TABLE: &str = "k.\"table\" = ?1 COLLATE NOCASE";

/// Joins the rows that an UPDATE changes, as they are before; none for an INSERT.
fn kept(with: &str, table: &str) -> Option<String> {
    with.contains(UPDATED).then(|| {
        format!(
            " JOIN {} AS kept ON kept.rowid = new.{UPDATED}",
            quote(table)
        )
    })
}

/// What a column holds in the new row.
fn new(column: &str, named: &[String]) -> String {
    let row = if named.iter().any(|name| name == column) {
        "new"
    } else {
        "kept"
    };
    format!("{row}.{}", quote(column))
}
