//! Counts what a transaction changes, statement by statement: rows by table, and the schema
//! between them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use rusqlite::{Connection, ffi};

use super::schema_diff::{Object, objects};
use crate::engine::guard::authorizer::Observed;
use crate::engine::schema::catalogue::{count_rows, is_stop, quote, relations};

/// What became of rows of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Rows that were inserted.
    pub inserted: u64,
    /// Rows that were updated.
    pub updated: u64,
    /// Rows that were deleted.
    pub deleted: u64,
}

impl Counts {
    /// Adds what became of other rows.
    pub(crate) fn add(&mut self, other: Self) {
        self.inserted += other.inserted;
        self.updated += other.updated;
        self.deleted += other.deleted;
    }

    /// All of them together.
    pub(crate) fn sum(self) -> u64 {
        self.inserted + self.updated + self.deleted
    }

    fn count(&mut self, operation: c_int) {
        match operation {
            ffi::SQLITE_INSERT => self.inserted += 1,
            ffi::SQLITE_DELETE => self.deleted += 1,
            _ => self.updated += 1,
        }
    }
}

/// What became of rows by what a statement set off: triggers, and foreign keys that act.
#[derive(Debug)]
pub(crate) struct Nested {
    /// The table.
    pub table: String,
    /// Whether the statement set it off itself, rather than what it set off.
    pub top: bool,
    /// How many.
    pub counts: Counts,
}

/// One piece of what was done.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Rows were changed.
    Rows(BTreeMap<String, Counts>),
    /// The schema was changed.
    Schema {
        /// As it was.
        before: Vec<Object>,
        /// As it is.
        after: Vec<Object>,
        /// How many rows the tables had that were dropped.
        lost: Vec<(String, u64)>,
    },
    /// What the query planner goes by was gathered or dropped.
    Statistics,
}

/// The schema before a statement, and how many rows the tables have that it drops.
type Before = (Vec<Object>, Vec<(String, u64)>);

/// Follows a transaction from statement to statement. It must go before its connection is closed.
#[derive(Debug)]
pub(crate) struct Tally {
    connection: *mut ffi::sqlite3,
    /// From a `Box`; SQLite holds its address, too.
    rows: *mut Rows,
    /// What was there before the statement of the schema that runs, and the rows of what it drops.
    before: Option<Before>,
    steps: Vec<Step>,
    parts: Parts,
}

/// The rows that were changed since the last step.
#[derive(Debug, Default)]
struct Rows {
    counts: Vec<(String, Counts)>,
    /// The name that SQLite gave for a row last, and the place of its counts.
    last: Option<(*const c_char, usize)>,
    /// Those of them that a statement has set off.
    nested: Vec<Nested>,
    /// Rows that were deleted by no trigger and no foreign key.
    deleted: u64,
    /// Tables whose rows go with them, while a statement of the schema runs; all, if it drops none.
    passed_over: Option<BTreeSet<String>>,
    statistics: bool,
}

/// Tables of the query planner's, <https://www.sqlite.org/fileformat2.html#stat1tab>.
const STATISTICS: &str = "sqlite_stat";

impl Rows {
    /// `depth` is how deep in what the statement set off.
    fn changed(&mut self, operation: c_int, name: *const c_char, table: &str, depth: c_int) {
        if table.starts_with("sqlite_") {
            self.statistics |= table.starts_with(STATISTICS);
            return;
        }
        if let Some(over) = &self.passed_over
            && (over.is_empty() || over.iter().any(|owner| belongs(table, owner)))
        {
            return;
        }
        let at = self.counts.iter().rposition(|(known, _)| known == table);
        let at = at.unwrap_or_else(|| {
            self.counts.push((table.to_owned(), Counts::default()));
            self.counts.len() - 1
        });
        self.counts[at].1.count(operation);
        if depth == 0 {
            self.deleted += u64::from(operation == ffi::SQLITE_DELETE);
            self.last = Some((name, at));
            return;
        }
        let top = depth == 1;
        let known = |nested: &&mut Nested| nested.table == table && nested.top == top;
        match self.nested.iter_mut().find(known) {
            Some(nested) => nested.counts.count(operation),
            None => {
                let mut counts = Counts::default();
                counts.count(operation);
                let table = table.to_owned();
                self.nested.push(Nested { table, top, counts });
            }
        }
    }

    /// Forgets what was counted; SQLite's names last until the schema changes at the least.
    fn take(&mut self) -> Vec<(String, Counts)> {
        self.last = None;
        std::mem::take(&mut self.counts)
    }
}

/// Whether a table is `owner` or, by its name, a part of it.
fn belongs(table: &str, owner: &str) -> bool {
    table
        .get(..owner.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(owner))
        && matches!(table.as_bytes().get(owner.len()), None | Some(b'_'))
}

/// What SQLite calls before it changes a row of any table.
#[expect(unsafe_code, reason = "SQLite's C interface")]
unsafe extern "C" fn changes(
    rows: *mut c_void,
    connection: *mut ffi::sqlite3,
    operation: c_int,
    database: *const c_char,
    table: *const c_char,
    _old: ffi::sqlite3_int64,
    _new: ffi::sqlite3_int64,
) {
    // SAFETY: `Tally::start` passes its own rows, which live until the hook is gone; SQLite passes
    // its connection, which may be asked for the depth in here.
    let (rows, depth) = unsafe {
        (
            &mut *rows.cast::<Rows>(),
            ffi::sqlite3_preupdate_depth(connection),
        )
    };
    // Mostly it is the table of the row before.
    if let Some((last, at)) = rows.last
        && last == table
        && depth == 0
    {
        rows.counts[at].1.count(operation);
        rows.deleted += u64::from(operation == ffi::SQLITE_DELETE);
        return;
    }
    // SAFETY: SQLite passes C strings.
    let (database, name) = unsafe { (CStr::from_ptr(database), CStr::from_ptr(table)) };
    if database == c"main"
        && let Ok(name) = name.to_str()
    {
        rows.changed(operation, table, name, depth);
    }
}

impl Tally {
    /// Starts to count. What is compiled from now on deletes row by row, so that all are seen.
    pub(crate) fn start(connection: &Connection) -> Self {
        let rows = Box::into_raw(Box::<Rows>::default());
        // SAFETY: the connection is open; the rows live until `drop` has taken the hook away.
        #[expect(unsafe_code, reason = "SQLite's C interface")]
        let handle = unsafe {
            let handle = connection.handle();
            ffi::sqlite3_preupdate_hook(handle, Some(changes), rows.cast());
            handle
        };
        Self {
            connection: handle,
            rows,
            before: None,
            steps: Vec::new(),
            parts: Parts::default(),
        }
    }

    /// Ends counting.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn stop(mut self, connection: &Connection) -> rusqlite::Result<(Vec<Step>, Parts)> {
        self.settle();
        // The name of a part begins with that of its whole and an underscore.
        let may_be_part = |step: &Step| match step {
            Step::Rows(rows) => rows.keys().any(|table| table.contains('_')),
            _ => false,
        };
        if self.steps.iter().any(may_be_part) {
            self.parts.look(connection)?;
        }
        Ok((
            std::mem::take(&mut self.steps),
            std::mem::take(&mut self.parts),
        ))
    }

    /// What was set off since this was last asked.
    pub(crate) fn nested(&mut self) -> Vec<Nested> {
        std::mem::take(&mut self.rows().nested)
    }

    /// How many rows were deleted since this was last asked, but by what was set off.
    pub(crate) fn deleted(&mut self) -> u64 {
        std::mem::take(&mut self.rows().deleted)
    }

    /// How many steps there are.
    pub(crate) fn steps(&mut self) -> usize {
        self.settle();
        self.steps.len()
    }

    /// Forgets all steps but the first `count`, which were rolled back.
    pub(crate) fn forget(&mut self, count: usize) {
        self.rows().take();
        self.steps.truncate(count);
    }

    /// Before a statement runs that was `seen` while it was prepared.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn before(
        &mut self,
        connection: &Connection,
        seen: &Observed,
    ) -> rusqlite::Result<()> {
        if !seen.ddl {
            return Ok(());
        }
        self.settle();
        self.parts.look(connection)?;
        let before = objects(connection)?;
        let mut lost = Vec::new();
        for table in &seen.drops {
            let stored = |object: &&Object| {
                object.kind == "table" && !object.is_virtual() && object.name == *table
            };
            if before.iter().any(|object| stored(&object)) {
                match count_rows(connection, &format!("main.{}", quote(table))) {
                    Ok(rows) => lost.push((table.clone(), rows)),
                    Err(error) if is_stop(&error) => return Err(error),
                    // Without the file's program it can be dropped, if not read.
                    Err(_) => {}
                }
            }
        }
        self.before = Some((before, lost));
        // The foreign keys that lead to a dropped table act on other tables.
        self.rows().passed_over = Some(seen.drops.clone());
        Ok(())
    }

    /// The schema as it was before all of the transaction, whose statements were not seen alone.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn from(
        &mut self,
        connection: &Connection,
        before: Vec<Object>,
    ) -> rusqlite::Result<()> {
        let after = objects(connection)?;
        if before != after {
            let lost = Vec::new();
            self.steps.insert(
                0,
                Step::Schema {
                    before,
                    after,
                    lost,
                },
            );
        }
        Ok(())
    }

    /// After a statement has run.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn after(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let Some((before, lost)) = self.before.take() else {
            return Ok(());
        };
        self.settle();
        self.rows().passed_over = None;
        let after = objects(connection)?;
        self.parts.look(connection)?;
        if before != after {
            self.steps.push(Step::Schema {
                before,
                after,
                lost,
            });
        }
        Ok(())
    }

    /// Closes the piece of rows that is being counted.
    fn settle(&mut self) {
        let rows = self.rows();
        let counts = rows.take();
        let statistics = std::mem::take(&mut rows.statistics);
        if !counts.is_empty() {
            self.steps.push(Step::Rows(counts.into_iter().collect()));
        }
        if statistics {
            self.steps.push(Step::Statistics);
        }
    }

    fn rows(&mut self) -> &mut Rows {
        // SAFETY: it lives as long as `self`, and SQLite uses it while a statement runs alone.
        #[expect(unsafe_code, reason = "shared with SQLite")]
        unsafe {
            &mut *self.rows
        }
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        // SAFETY: the connection is still open; the rows are from a `Box`, and SQLite's no more.
        #[expect(unsafe_code, reason = "shared with SQLite")]
        unsafe {
            ffi::sqlite3_preupdate_hook(self.connection, None, ptr::null_mut());
            drop(Box::from_raw(self.rows));
        }
    }
}

/// The shadow tables of virtual tables.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts {
    owners: BTreeMap<String, String>,
}

impl Parts {
    /// Adds those of the schema as it is now.
    ///
    /// # Errors
    ///
    /// SQLite's.
    pub(crate) fn look(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        // Most schemas have none, and a look at every table is slow.
        let virtuals = "SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND rootpage = 0";
        if !connection.prepare_cached(virtuals)?.exists([])? {
            return Ok(());
        }
        let all = relations(connection)?;
        let virtuals = || all.iter().filter(|table| table.kind == "virtual");
        for shadow in all
            .iter()
            .filter(|table| table.kind == "shadow" && table.schema == "main")
        {
            let owner = virtuals()
                .filter(|table| {
                    shadow
                        .name
                        .strip_prefix(table.name.as_str())
                        .is_some_and(|rest| rest.starts_with('_'))
                })
                .max_by_key(|table| table.name.len());
            if let Some(owner) = owner {
                self.owners
                    .insert(shadow.name.to_ascii_lowercase(), owner.name.clone());
            }
        }
        Ok(())
    }

    /// The virtual table that a table is a part of.
    pub(crate) fn owner(&self, table: &str) -> Option<&str> {
        self.owners
            .get(&table.to_ascii_lowercase())
            .map(String::as_str)
    }
}
