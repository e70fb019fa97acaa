//! What the steps of a transaction come to in the end, for a reader.

use std::collections::{BTreeMap, BTreeSet};

use super::schema_diff::{Difference, Object};
use super::tally::{Counts, Parts, Step};

/// What was changed, by table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    /// Rows of ordinary tables.
    pub tables: BTreeMap<String, Counts>,
    /// Virtual tables whose own tables were changed: their rows cannot be counted.
    pub virtuals: BTreeSet<String>,
    /// What was made, dropped and altered, over all steps.
    pub schema: Difference,
    /// Tables that have another name: as they were, and as they are.
    pub renamed: Vec<(Object, Object)>,
    /// Tables that were dropped, and others made in their place.
    pub replaced: Vec<Object>,
    /// Tables that were made and dropped again.
    pub passing: Vec<Object>,
    /// The rows that were there before, of tables that were dropped.
    pub lost: BTreeMap<String, u64>,
    /// Whether the query planner goes by other numbers.
    pub statistics: bool,
}

/// A table on its way through the steps.
#[derive(Default)]
struct TableHistory {
    /// Its name before the first step; none for one that was made on the way.
    origin: Option<String>,
    counts: Counts,
}

/// The tables, by the names that they have at some step.
#[derive(Default)]
struct TableHistories(BTreeMap<String, TableHistory>);

impl TableHistories {
    /// A table that no step has made was there before.
    fn of(&mut self, name: &str) -> &mut TableHistory {
        self.0
            .entry(name.to_owned())
            .or_insert_with(|| TableHistory {
                origin: Some(name.to_owned()),
                ..TableHistory::default()
            })
    }

    fn end(&mut self, name: &str) -> TableHistory {
        self.of(name);
        self.0.remove(name).unwrap_or_default()
    }
}

impl Summary {
    /// Sums up the steps of one transaction. The virtual tables and their parts are those that
    /// `parts` knows.
    pub(crate) fn new(steps: &[Step], parts: &Parts) -> Self {
        let mut summary = Self::default();
        let mut lives = TableHistories::default();
        let mut ends: Option<(&[Object], &[Object])> = None;
        for step in steps {
            match step {
                Step::Rows(rows) => {
                    for (table, counts) in rows {
                        match parts.owner(table) {
                            Some(owner) => _ = summary.virtuals.insert(owner.to_owned()),
                            None => lives.of(table).counts.add(*counts),
                        }
                    }
                }
                Step::Schema {
                    before,
                    after,
                    lost,
                } => {
                    let first = ends.map_or(before.as_slice(), |(first, _)| first);
                    ends = Some((first, after));
                    summary.pass(&Difference::new(before, after), lost, &mut lives);
                }
                Step::Statistics => summary.statistics = true,
            }
        }
        if let Some((_, last)) = ends {
            // What is gone is told as that.
            let is_there = |name: &String| last.iter().any(|object| object.name == *name);
            summary.virtuals.retain(is_there);
        }
        let (first, last) = ends.unwrap_or_default();
        summary.schema = Difference::new(first, last);
        summary.conclude(first, last, lives);
        let shown = |object: &Object| {
            parts.owner(&object.name).is_none() && parts.owner(&object.table).is_none()
        };
        summary.schema.made.retain(shown);
        summary.schema.dropped.retain(shown);
        summary.schema.altered.retain(|(object, _)| shown(object));
        summary
    }

    /// Follows the tables through one statement of the schema.
    fn pass(&mut self, change: &Difference, lost: &[(String, u64)], lives: &mut TableHistories) {
        if let Some((old, new)) = change.rename() {
            let life = lives.end(&old.name);
            lives.0.insert(new.name.clone(), life);
            return;
        }
        let tables = |all: &[Object]| all.iter().filter(|o| o.kind == "table").cloned().collect();
        let dropped: Vec<Object> = tables(&change.dropped);
        for table in dropped {
            let TableHistory { origin, counts } = lives.end(&table.name);
            match origin {
                Some(origin) => {
                    let rows = lost.iter().find(|(name, _)| *name == table.name);
                    let rows = rows.map_or(0, |(_, rows)| *rows) + counts.deleted;
                    self.lost
                        .insert(origin, rows.saturating_sub(counts.inserted));
                }
                None => self.passing.push(table),
            }
        }
        let made: Vec<Object> = tables(&change.made);
        for table in made {
            lives.0.insert(table.name, TableHistory::default());
        }
    }

    /// What became of the tables; their names alone do not show it.
    fn conclude(&mut self, first: &[Object], last: &[Object], lives: TableHistories) {
        let find = |all: &[Object], name: &str| {
            all.iter()
                .find(|o| o.kind == "table" && o.name == name)
                .cloned()
        };
        let mut dropped = self.lost.clone();
        let schema = &mut self.schema;
        schema.made.retain(|object| object.kind != "table");
        schema.dropped.retain(|object| object.kind != "table");
        for (name, TableHistory { origin, mut counts }) in lives.0 {
            let object = find(last, &name);
            match (origin, object) {
                (None, Some(object)) => match dropped.remove(&name) {
                    Some(rows) => {
                        counts.deleted += rows;
                        self.replaced.push(object);
                    }
                    None => schema.made.push(object),
                },
                (Some(origin), Some(object)) if origin != name => {
                    let old = find(first, &origin);
                    self.renamed.extend(old.map(|old| (old, object)));
                }
                _ => {}
            }
            if counts != Counts::default() {
                self.tables.insert(name, counts);
            }
        }
        let gone = dropped.keys().filter_map(|name| find(first, name));
        schema.dropped.extend(gone);
        schema.made.sort_by_key(|object| object.kind != "table");
        schema.dropped.sort_by_key(|object| object.kind != "table");
        let renamed = self.renamed.iter().map(|(_, new)| new);
        let known: Vec<&Object> = renamed.chain(&schema.made).chain(&self.replaced).collect();
        schema
            .altered
            .retain(|(_, now)| !known.iter().any(|object| object.is(now)));
        let passing = self.passing.clone();
        self.passing.retain(|object| {
            !passing.iter().any(|table| {
                let rest = object.name.strip_prefix(&table.name);
                table.is_virtual() && rest.is_some_and(|rest| rest.starts_with('_'))
            })
        });
    }

    /// Whether nothing is different in the end.
    pub(crate) fn is_empty(&self) -> bool {
        let same = Self {
            passing: self.passing.clone(),
            ..Self::default()
        };
        *self == same
    }
}
