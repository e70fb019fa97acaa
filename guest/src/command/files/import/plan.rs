//! Which columns of a table are filled, and from which fields.

use super::columns::{ColumnType, names};
use super::records::Record;
use super::report::Form;
use super::{Job, MOST_COLUMNS};
use crate::answer::failure::{Failure, Status};
use crate::engine::database::work::Work;
use crate::engine::schema::catalogue::quote;
use crate::engine::schema::columns::{ColumnKind, TableColumn, columns};
use crate::text::suggest::{did_you_mean, nearest};

/// What SQLite does with text in a column, <https://www.sqlite.org/datatype3.html#type_affinity>.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Affinity {
    /// It stays.
    Text,
    /// It becomes a number if it is one.
    Number,
    /// It stays, next to numbers that stay too.
    None,
}

impl Affinity {
    fn of(column: &TableColumn) -> Self {
        let declared = column.declared.to_ascii_uppercase();
        if column.is_text() {
            Self::Text
        } else if !declared.contains("INT") && (declared.is_empty() || declared.contains("BLOB")) {
            Self::None
        } else {
            Self::Number
        }
    }
}

/// A column that is filled.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub name: String,
    /// Its declared type.
    pub declared: String,
    pub affinity: Affinity,
    /// Whether a field that is empty is stored as '', NULL being refused.
    pub fills: bool,
    /// The field it is filled from.
    pub from: usize,
}

/// An existing table.
pub(super) struct Target {
    columns: Vec<TableColumn>,
}

impl Target {
    /// The table or view of this name, if there is one.
    pub(super) fn find(work: Work<'_>, table: &str) -> Result<Option<Self>, Failure> {
        let columns =
            columns(work.connection()?, "main", table).map_err(|error| work.failure(&error, ""))?;
        Ok((!columns.is_empty()).then_some(Self { columns }))
    }

    fn column(&self, name: &str) -> Option<usize> {
        let find = |name: &str| {
            let same = |column: &TableColumn| column.name.eq_ignore_ascii_case(name);
            self.columns.iter().position(same)
        };
        find(name).or_else(|| find(name.trim()))
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    fn filled(&self, at: usize, from: usize) -> Column {
        let column = &self.columns[at];
        Column {
            name: column.name.clone(),
            declared: column.declared.clone(),
            affinity: Affinity::of(column),
            fills: column.not_null && column.is_text(),
            from,
        }
    }

    /// Where each field goes, by the columns' place in the table. Of fields for all of
    /// them, those of generated columns are left out; of fewer, there are none.
    fn by_place(&self, width: usize) -> Vec<usize> {
        if width == self.columns.len() {
            return (0..width).collect();
        }
        let plain = |at: &usize| self.columns[*at].kind == ColumnKind::Plain;
        (0..self.columns.len()).filter(plain).collect()
    }
}

/// Which columns are filled, and from what.
pub(super) struct Plan {
    pub columns: Vec<Column>,
    /// How many fields a record has at most.
    pub width: usize,
    /// Columns in the file that the table computes.
    pub computed: Vec<String>,
    /// Whether the first record was a header.
    pub headed: bool,
    /// Whether the table is to be made.
    pub new: bool,
}

impl Plan {
    /// The statement that makes the table.
    pub(super) fn create(&self, table: &str) -> String {
        let columns: Vec<String> = self
            .columns
            .iter()
            .map(|column| format!("{} {}", quote(&column.name), column.declared))
            .map(|column| column.trim_end().to_owned())
            .collect();
        format!("CREATE TABLE {}({})", quote(table), columns.join(", "))
    }

    /// The statement that adds a row.
    pub(super) fn insert(&self, table: &str) -> String {
        let names: Vec<String> = self
            .columns
            .iter()
            .map(|column| quote(&column.name))
            .collect();
        let places: Vec<String> = (1..=names.len()).map(|at| format!("?{at}")).collect();
        format!(
            "INSERT INTO {}({}) VALUES({})",
            quote(table),
            names.join(", "),
            places.join(", ")
        )
    }

    /// A new table with these columns.
    pub(super) fn make<'n>(
        header: impl Iterator<Item = Option<&'n str>>,
        kinds: &[ColumnType],
        headed: bool,
    ) -> Self {
        let columns: Vec<Column> = names(header)
            .into_iter()
            .zip(kinds)
            .enumerate()
            .map(|(from, (name, kind))| Column {
                name,
                declared: kind.declared().to_owned(),
                affinity: match kind {
                    ColumnType::Integer { .. } | ColumnType::Real { .. } => Affinity::Number,
                    _ => Affinity::Text,
                },
                fills: false,
                from,
            })
            .collect();
        Self {
            width: columns.len(),
            columns,
            computed: Vec::new(),
            headed,
            new: true,
        }
    }

    fn of(target: &Target, fields: &[usize], headed: bool) -> Self {
        let (mut columns, mut computed) = (Vec::new(), Vec::new());
        for (from, &at) in fields.iter().enumerate() {
            if target.columns[at].kind == ColumnKind::Plain {
                columns.push(target.filled(at, from));
            } else if target.columns[at].kind != ColumnKind::Hidden {
                computed.push(target.columns[at].name.clone());
            }
        }
        Self {
            columns,
            width: fields.len(),
            computed,
            headed,
            new: false,
        }
    }
}

impl Job<'_> {
    /// How records of fields go into an existing table. `second` is the record behind the first.
    pub(super) fn fit(
        &self,
        target: &Target,
        first: &Record,
        second: Option<&Record>,
    ) -> Result<Plan, Failure> {
        let given: Vec<&str> = (0..first.len())
            .map(|index| first.field(index).unwrap_or_default())
            .collect();
        if self.headed {
            let known = given.iter().any(|name| target.column(name).is_some());
            if known || self.looks_like_names(target, &given, second) {
                return self.fit_names(target, first.line, &given);
            }
        }
        let plan = Plan::of(target, &target.by_place(given.len()), false);
        Ok(plan)
    }

    /// How fields with names go into it.
    ///
    /// # Errors
    ///
    /// A name that is no column, with the nearest that is, or one that comes twice.
    pub(super) fn fit_names(
        &self,
        target: &Target,
        line: u64,
        given: &[impl AsRef<str>],
    ) -> Result<Plan, Failure> {
        let mut fields = Vec::new();
        for name in given.iter().map(AsRef::as_ref) {
            let Some(at) = target.column(name) else {
                let all: Vec<&str> = target.names().collect();
                let near = did_you_mean(name, target.names());
                let hint = format!(
                    "{}{} has the columns {}. Rename the column in the file or add it to the table \
                     (ALTER TABLE … ADD COLUMN){}.",
                    near.map(|near| format!("{near} ")).unwrap_or_default(),
                    self.table,
                    all.join(", "),
                    if self.is_json() {
                        ""
                    } else {
                        "; if the line is data, use no_header"
                    }
                );
                let what = format!("{} has no column {name:?}", self.table);
                return Err(self.malformed(line, &what).hint(hint));
            };
            if fields.contains(&at) {
                let name = &target.columns[at].name;
                return Err(self.malformed(line, &format!("the column {name} is named twice")));
            }
            fields.push(at);
        }
        let plan = Plan::of(target, &fields, !self.is_json());
        if plan.columns.is_empty() {
            return Err(Failure::new(
                Status::Syntax,
                format!("No column of {} is filled by {}.", self.table, self.shown()),
            ));
        }
        Ok(plan)
    }

    /// Whether a record is a header, though it shares no name with the table: all of its fields are
    /// nearly columns, or one is a text where the next record has the number that the column wants.
    fn looks_like_names(&self, target: &Target, given: &[&str], second: Option<&Record>) -> bool {
        let near = |name: &&str| {
            ColumnType::of(name) == ColumnType::Text && nearest(name, target.names()).is_some()
        };
        if !given.is_empty() && given.iter().all(near) {
            return true;
        }
        let Some(second) = second else { return false };
        let fields = target.by_place(given.len());
        given
            .iter()
            .zip(fields)
            .enumerate()
            .any(|(index, (name, at))| {
                Affinity::of(&target.columns[at]) == Affinity::Number
                    && Form::of(name) == Form::NoNumber
                    && !name.is_empty()
                    && second
                        .field(index)
                        .is_some_and(|value| Form::of(value) != Form::NoNumber)
            })
    }

    /// Refuses what is wider than a table.
    pub(super) fn check_width(&self, line: u64, width: usize) -> Result<(), Failure> {
        if width > MOST_COLUMNS {
            let what =
                format!("{width} fields, but a table can have at most {MOST_COLUMNS} columns");
            return Err(self.malformed(line, &what));
        }
        Ok(())
    }
}
