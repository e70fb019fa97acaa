//! Rows that leave out columns which have a default: what an object does not name takes it.

use rusqlite::Statement;
use rusqlite::types::Null;

use super::plan::{Column, Plan};
use super::records::{Cell, Record};
use crate::answer::failure::Failure;
use crate::engine::database::work::Work;

/// How many statements are kept: objects of one file have few shapes.
const KEPT: usize = 16;

/// A statement for each set of columns that were left out.
#[derive(Default)]
pub(super) struct Inserts<'w> {
    kept: Vec<Insert<'w>>,
    oldest: usize,
}

struct Insert<'w> {
    /// For each column, whether it is named.
    named: Vec<bool>,
    sql: String,
    statement: Statement<'w>,
}

impl<'w> Inserts<'w> {
    /// Adds a row of those columns that the record has, or that have no default.
    pub(super) fn add(
        &mut self,
        work: Work<'w>,
        plan: &Plan,
        table: &str,
        record: &Record,
    ) -> Result<(), Failure> {
        let named = |column: &Column| !column.has_default || record.has(column.from);
        let shape: Vec<bool> = plan.columns.iter().map(named).collect();
        let at = match self.kept.iter().position(|insert| insert.named == shape) {
            Some(at) => at,
            None => self.prepare(work, plan.insert(table, named), shape)?,
        };
        let insert = &mut self.kept[at];
        let columns = plan.columns.iter().filter(|column| named(column));
        for (index, column) in columns.enumerate() {
            match record.cell(column.from) {
                Cell::Text(text) => insert.statement.raw_bind_parameter(index + 1, text),
                Cell::Integer(number) => insert.statement.raw_bind_parameter(index + 1, number),
                Cell::Real(number) => insert.statement.raw_bind_parameter(index + 1, number),
                Cell::Null => insert.statement.raw_bind_parameter(index + 1, Null),
            }
            .map_err(|error| work.failure(&error, &insert.sql))?;
        }
        insert
            .statement
            .raw_execute()
            .map_err(|error| work.failure(&error, &insert.sql))?;
        Ok(())
    }

    fn prepare(&mut self, work: Work<'w>, sql: String, named: Vec<bool>) -> Result<usize, Failure> {
        let insert = Insert {
            named,
            statement: work.write(&sql)?,
            sql,
        };
        if self.kept.len() < KEPT {
            self.kept.push(insert);
            return Ok(self.kept.len() - 1);
        }
        let at = self.oldest;
        self.kept[at] = insert;
        self.oldest = (at + 1) % KEPT;
        Ok(at)
    }
}
